package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// This file writes a store as docs/internals/store.md describes it, without leslie's own code:
// each operation to the journal, live records to the state, archived ones to the
// archive. It streams, so that a store of any size needs little memory. `leslie doctor`
// then checks it.

// operation is one line of the journal.
type operation struct {
	Seq      int64           `json:"seq"`
	ID       string          `json:"id"`
	Time     time.Time       `json:"time"`
	As       string          `json:"as"`
	Actor    string          `json:"actor"`
	Command  string          `json:"command"`
	ThreadID string          `json:"threadId,omitempty"`
	Params   json.RawMessage `json:"params,omitempty"`
	Changes  []change        `json:"changes"`
	Archived []change        `json:"archived,omitempty"`
}

type change struct {
	Record string `json:"record"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

type archivedLine struct {
	Record string `json:"record"`
	Value  any    `json:"value"`
	Seq    int64  `json:"seq"`
}

// writer creates one store.
type writer struct {
	plan       plan
	dir        string // the store's folder
	journal    *bufio.Writer
	archive    *bufio.Writer
	seq        int64
	objectives []objectiveRecord // as they now stand
	place      map[string]int    // of an objective among them
	spawned    []int64           // the operation that made each thread
	changed    []int64           // the last one that changed it
	references []referenceRecord
	last       []byte // the newest operation
}

// makeStore fills the empty store of the project at dir.
func makeStore(dir string, p plan) error {
	w := &writer{
		plan: p, dir: filepath.Join(dir, ".leslie"), place: map[string]int{},
		spawned: make([]int64, p.threads()), changed: make([]int64, p.threads()),
	}
	journal, err := os.Create(filepath.Join(w.dir, "operations.jsonl"))
	if err != nil {
		return err
	}
	archive, err := os.Create(filepath.Join(w.dir, "archive.jsonl"))
	if err != nil {
		return err
	}
	w.journal, w.archive = bufio.NewWriter(journal), bufio.NewWriter(archive)
	for _, step := range []func() error{w.operations, w.journal.Flush, w.archive.Flush, journal.Close, archive.Close, w.folders, w.state} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// operations writes the store's operations in their order.
func (w *writer) operations() error {
	for n := range w.plan.objectives() {
		o := w.plan.objective(n)
		w.objectives, w.place[o.ID] = append(w.objectives, o), n
		if err := w.record("objective create", "", by{o.CreatedAt, "user", "ann"}, change{"objectives/" + o.ID, nil, o}); err != nil {
			return err
		}
	}
	for n := range w.plan.threads() {
		if err := w.spawn(n); err != nil {
			return err
		}
	}
	for n := range w.plan.references() {
		r := w.plan.reference(n, w.seq+1)
		w.references = append(w.references, r)
		if err := w.record("reference", r.From, r.Created, change{"references/" + r.ID, nil, r}); err != nil {
			return err
		}
	}
	for n := range w.plan.operations {
		if err := w.touch(w.plan.archived + n%w.plan.live); err != nil {
			return err
		}
	}
	return nil
}

// spawn writes the operations of one thread, up to its status.
func (w *writer) spawn(n int) error {
	w.spawned[n], w.changed[n] = w.seq+1, w.seq+1
	t := w.plan.thread(n, w.seq+1)
	if err := w.record("spawn", t.ID, t.Created, change{"threads/" + t.ID, nil, t}); err != nil {
		return err
	}
	if n < w.plan.archived {
		return w.archiveThread(n, t)
	}
	if status := w.plan.status(n); status != "active" {
		return w.moveTo(n, t, status)
	}
	return nil
}

func (w *writer) moveTo(n int, t threadRecord, status string) error {
	w.changed[n] = w.seq + 1
	now := t
	now.Status, now.Updated, now.Revision = status, at(w.seq+1), w.seq+1
	return w.record(action(status), t.ID, t.Created, change{"threads/" + t.ID, t, now})
}

func (w *writer) archiveThread(n int, t threadRecord) error {
	if err := w.moveTo(n, t, "completed"); err != nil {
		return err
	}
	seq := w.seq + 1
	was := w.plan.thread(n, w.spawned[n])
	was.Status, was.Updated, was.Revision = "completed", at(w.changed[n]), w.changed[n]
	kept := was
	kept.Status, kept.Updated, kept.Revision = "archived", at(seq), seq
	o := &w.objectives[w.place[t.ObjectiveID]]
	before := *o
	o.Archived, o.Revision = o.Archived+1, seq
	line, err := sealed(archivedLine{"threads/" + t.ID, kept, seq})
	if err != nil {
		return err
	}
	if _, err := w.archive.Write(line); err != nil {
		return err
	}
	return w.write(operation{Command: "archive", ThreadID: t.ID, Changes: []change{
		{"objectives/" + o.ID, before, *o}, {"threads/" + t.ID, was, nil},
	}, Archived: []change{{"threads/" + t.ID, nil, kept}}}, t.Created)
}

// touch writes an operation that only changes a thread's update time.
func (w *writer) touch(n int) error {
	was := w.threadNow(n)
	w.changed[n] = w.seq + 1
	return w.record("update", was.ID, was.Created, change{"threads/" + was.ID, was, w.threadNow(n)})
}

func (w *writer) threadNow(n int) threadRecord {
	t := w.plan.thread(n, w.spawned[n])
	t.Status, t.Updated, t.Revision = w.plan.status(n), at(w.changed[n]), w.changed[n]
	return t
}

func (w *writer) record(command, thread string, who by, c change) error {
	return w.write(operation{Command: command, ThreadID: thread, Changes: []change{c}}, who)
}

func (w *writer) write(op operation, who by) error {
	w.seq++
	op.Seq, op.ID, op.Time, op.As, op.Actor = w.seq, idOf("op-", int(w.seq)), at(w.seq), who.As, who.Actor
	op.Params = json.RawMessage(`{"operands":["` + op.ThreadID + `"]}`)
	body, err := plainJSON(op)
	if err != nil {
		return err
	}
	w.last = body
	_, err = w.journal.Write(seal(body))
	return err
}

// folders creates the threads' folders; every second one has a plan.
func (w *writer) folders() error {
	for n := range w.plan.threads() {
		folder := filepath.Join(w.dir, "threads", threadID(n))
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		if n%2 == 0 {
			if err := os.WriteFile(filepath.Join(folder, "plan.md"), []byte("# Plan\n\n- [ ] "+threadID(n)+"\n"), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// state writes the state file in one pass, and then its checksum.
func (w *writer) state() error {
	head := fmt.Sprintf(`{"version":"3.0","revision":%d,"checksum":"crc32c:`, w.seq)
	f, err := os.Create(filepath.Join(w.dir, "thread_relations.json"))
	if err != nil {
		return err
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	out := bufio.NewWriterSize(f, 1<<16)
	s := &stateWriter{out: out, sum: sum}
	s.text(head)
	_, _ = out.WriteString("00000000")
	s.text("\",\n\"operation\":" + string(w.last) + ",\n")
	s.table("objectives", len(w.objectives), func(n int) (string, any) { return w.objectives[n].ID, w.objectives[n] })
	live := w.plan.archived
	s.table("threads", w.plan.live, func(n int) (string, any) { return threadID(live + n), w.threadNow(live + n) })
	s.table("references", len(w.references), func(n int) (string, any) { return w.references[n].ID, w.references[n] })
	s.text("\"approvals\":{\n},\n\"merges\":{\n},\n\"questions\":{\n},\n\"comments\":{\n},\n\"quarantined\":[],\n\"pending\":null\n}\n")
	if s.err == nil {
		s.err = out.Flush()
	}
	if s.err == nil {
		_, s.err = f.WriteAt(fmt.Appendf(nil, "%08x", sum.Sum32()), int64(len(head)))
	}
	if s.err != nil {
		return s.err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return copyFile(filepath.Join(w.dir, "thread_relations.json"), filepath.Join(w.dir, "thread_relations.json.bak"))
}

// stateWriter writes the bytes that the checksum covers.
type stateWriter struct {
	out *bufio.Writer
	sum interface{ Write([]byte) (int, error) }
	err error
}

func (s *stateWriter) text(text string) {
	if s.err == nil {
		_, _ = s.sum.Write([]byte(text))
		_, s.err = s.out.WriteString(text)
	}
}

// table writes n records, ordered by id.
func (s *stateWriter) table(name string, n int, record func(int) (id string, value any)) {
	order := make([]int, n)
	ids := make([]string, n)
	for i := range order {
		order[i] = i
		ids[i], _ = record(i)
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(ids[a], ids[b]) })
	s.text("\"" + name + "\":{\n")
	for i, k := range order {
		id, value := record(k)
		body, err := plainJSON(value)
		if err != nil {
			s.err = err
			return
		}
		comma := ","
		if i == n-1 {
			comma = ""
		}
		s.text("\"" + id + "\":" + string(body) + comma + "\n")
	}
	s.text("},\n")
}

// sealed encodes a value as a line with its checksum.
func sealed(v any) ([]byte, error) {
	body, err := plainJSON(v)
	return seal(body), err
}

func seal(body []byte) []byte {
	open := body[:len(body)-1]
	return fmt.Appendf(nil, `%s,"sum":"crc32c:%08x"}`+"\n", open, crc32.Checksum(open, crc32.MakeTable(crc32.Castagnoli)))
}

func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
