//go:build unix

package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// This file reads the journal as docs/internals/store.md describes it, and replays it.

// Operation is a line of the journal.
type Operation struct {
	Seq       int64     `json:"seq"`
	ID        string    `json:"id"`
	Time      time.Time `json:"time"`
	As        string    `json:"as"`
	Actor     string    `json:"actor"`
	Command   string    `json:"command"`
	ThreadID  string    `json:"threadId"`
	RequestID string    `json:"requestId"`
	Changes   []Change  `json:"changes"`
	Archived  []Change  `json:"archived"`
}

// Change is what an operation did to one record.
type Change struct {
	Record string          `json:"record"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
	// Same names the members that the operation does not change: they are null on both
	// sides.
	Same []string `json:"same"`
}

// complete returns one side of the change with the members in Same filled in from the
// record before.
func (c Change) complete(side, was json.RawMessage) json.RawMessage {
	if len(c.Same) == 0 || none(side) {
		return side
	}
	all := map[string]json.RawMessage{}
	if json.Unmarshal(was, &all) != nil {
		return side
	}
	dec := json.NewDecoder(bytes.NewReader(side))
	_, _ = dec.Token() // {
	out := []byte("{")
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return side
		}
		if key, _ := name.(string); slices.Contains(c.Same, key) {
			value = all[key]
		}
		out = fmt.Appendf(out, "%q:%s,", name, value)
	}
	return append(bytes.TrimSuffix(out, []byte(",")), '}')
}

func (c Change) makes() bool { return none(c.Before) && !none(c.After) }

func none(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// Made reports whether an operation created a record.
func (op Operation) Made(record string) bool {
	for _, c := range op.Changes {
		if c.Record == record && c.makes() {
			return true
		}
	}
	return false
}

// ReadJournal reads the operations from an offset of the file on, and returns the offset
// of the next ones.
func ReadJournal(name string, from int64) (ops []Operation, next int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, from, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, from, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, from, err
	}
	ops, err = parseJournal(data)
	return ops, from + int64(len(data)), err
}

// parseJournal parses lines. A kill during a write leaves an incomplete line; the
// complete line of the same operation must follow it.
func parseJournal(data []byte) (ops []Operation, err error) {
	var torn []byte
	for raw := range bytes.Lines(data) {
		var op Operation
		whole := json.Unmarshal(raw, &op) == nil && raw[len(raw)-1] == '\n'
		switch {
		case !whole && torn == nil:
			torn = bytes.TrimSuffix(raw, []byte("\n"))
			continue
		case !whole || !begins(raw, torn):
			return ops, fmt.Errorf("the journal has an incomplete line: %.200s", raw)
		}
		torn, ops = nil, append(ops, op)
	}
	if torn != nil {
		err = fmt.Errorf("the journal ends with an incomplete line: %.200s", torn)
	}
	return ops, err
}

// begins reports whether torn is the beginning of a line. Who writes the line again may
// have done the steps that it named: it then lacks them.
func begins(line, torn []byte) bool {
	steps, sum := []byte(`"pending":[`), []byte(`"sum":`)
	same := 0
	for same < min(len(line), len(torn)) && line[same] == torn[same] {
		same++
	}
	rest := torn[same:]
	named := bytes.HasPrefix(rest, steps[1:]) || bytes.HasPrefix(steps[1:], rest)
	return len(rest) == 0 || named && same > 0 && bytes.HasPrefix(line[same-1:], sum)
}

// Model is the result of replaying operations: records by their names.
type Model struct {
	Seq      int64
	Live     map[string]json.RawMessage
	Archived map[string]json.RawMessage
	Claims   map[string]Claim
	Requests map[string]int64 // request id -> its operation
}

// NewModel returns the model of a store without operations.
func NewModel() *Model {
	return &Model{Live: map[string]json.RawMessage{}, Archived: map[string]json.RawMessage{}, Claims: map[string]Claim{}, Requests: map[string]int64{}}
}

// Apply applies an operation and returns what is wrong with it: a number that is not the
// next, a change of a different record, a claim on a claimed thread, a request that was
// carried out before.
func (m *Model) Apply(op Operation) (problems []string) {
	say := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("operation %d (%s, %s by %s): ", op.Seq, op.ID, op.Command, op.Actor)+fmt.Sprintf(format, args...))
	}
	if op.Seq != m.Seq+1 {
		say("it follows operation %d", m.Seq)
	}
	m.Seq = op.Seq
	if op.RequestID != "" {
		if was := m.Requests[op.RequestID]; was != 0 {
			say("request %s was carried out by operation %d", op.RequestID, was)
		}
		m.Requests[op.RequestID] = op.Seq
	}
	was := map[string]json.RawMessage{}
	for _, c := range op.Changes {
		is := m.Live[c.Record]
		was[c.Record] = is
		c.Before, c.After = c.complete(c.Before, is), c.complete(c.After, is)
		if string(is) != string(c.Before) && !(none(is) && none(c.Before)) {
			say("it changes %s from a value that it did not have: an operation before it is lost", c.Record)
		}
		if problem := m.Follow(op, c); problem != "" {
			say("%s", problem)
		}
		if none(c.After) {
			delete(m.Live, c.Record)
		} else {
			m.Live[c.Record] = c.After
		}
	}
	for _, c := range op.Archived {
		m.Archived[c.Record] = c.complete(c.After, was[c.Record])
	}
	return problems
}

// LastDeadline returns the last deadline of the open approval requests.
func (m *Model) LastDeadline() (last time.Time) {
	for name, raw := range m.Live {
		var g struct {
			Status   string
			Deadline time.Time
		}
		if strings.HasPrefix(name, "approvals/") && json.Unmarshal(raw, &g) == nil && g.Status == "open" && g.Deadline.After(last) {
			last = g.Deadline
		}
	}
	return last
}

// Claim is the claim on a thread.
type Claim struct {
	Holder string    `json:"holder"`
	Until  time.Time `json:"until"`
}

// Follow tracks the claims, and returns a problem if an operation claims a thread that
// another actor holds.
func (m *Model) Follow(op Operation, c Change) string {
	id, is := strings.CutPrefix(c.Record, "threads/")
	if !is {
		return ""
	}
	var t struct {
		Claim *Claim `json:"claim"`
	}
	_ = json.Unmarshal(c.After, &t) // parsed before
	was, held := m.Claims[id]
	if t.Claim == nil {
		delete(m.Claims, id)
		return ""
	}
	m.Claims[id] = *t.Claim
	if held && was.Holder != t.Claim.Holder && op.Time.Before(was.Until) && op.Time.Before(t.Claim.Until) {
		return fmt.Sprintf("%s claims %s, which %s holds until %s", t.Claim.Holder, id, was.Holder, was.Until.Format(time.RFC3339Nano))
	}
	return ""
}

// Statuses returns the expected status of every thread.
func (m *Model) Statuses() map[string]string {
	out := map[string]string{}
	for _, records := range []map[string]json.RawMessage{m.Archived, m.Live} { // live records win
		for name, raw := range records {
			var t struct{ Status string }
			if id, is := strings.CutPrefix(name, "threads/"); is && json.Unmarshal(raw, &t) == nil {
				out[id] = t.Status
			}
		}
	}
	return out
}

// Differing compares records with those that the operations make.
func (m *Model) Differing(got map[string]json.RawMessage) (problems []string) {
	want := m.Live
	for _, name := range Sorted(want) {
		if now, there := got[name]; !there {
			problems = append(problems, name+" is in the journal and not in the state")
		} else if string(now) != string(want[name]) {
			problems = append(problems, fmt.Sprintf("%s is not what the journal says: %s instead of %s", name, now, want[name]))
		}
	}
	for _, name := range Sorted(got) {
		if _, there := want[name]; !there {
			problems = append(problems, name+" is in the state and not in the journal")
		}
	}
	return problems
}
