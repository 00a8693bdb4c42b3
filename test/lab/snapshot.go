//go:build unix

package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Snapshot lists the ids in a state file that a command can name. Some may not exist any more
// when a command uses them, so the table allows the codes for that.
type Snapshot struct {
	Objectives []string // not done
	Threads    []Thread
	References []string
	Approvals  []string // open, and some that are decided
	Open       []string // approvals
	Merges     []string
	Unseen     []string // injections
	Questions  []string // open
	Comments   []string // open
}

// Thread is what a snapshot has of a thread.
type Thread struct {
	ID, Status  string
	Checkpoints []string
	Claimed     bool // the claim may have expired
}

// State is a state file as docs/internals/store.md describes it.
type State struct {
	Revision   int64                      `json:"revision"`
	Objectives map[string]json.RawMessage `json:"objectives"`
	Threads    map[string]json.RawMessage `json:"threads"`
	References map[string]json.RawMessage `json:"references"`
	Approvals  map[string]json.RawMessage `json:"approvals"`
	Merges     map[string]json.RawMessage `json:"merges"`
	Questions  map[string]json.RawMessage `json:"questions"`
	Comments   map[string]json.RawMessage `json:"comments"`
}

// ReadState reads a state file.
func ReadState(name string) (s State, err error) {
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, fmt.Errorf("the state's file: %w", err)
	}
	return s, nil
}

// Records returns all records by name.
func (s State) Records() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for table, records := range map[string]map[string]json.RawMessage{
		"objectives": s.Objectives, "threads": s.Threads, "references": s.References, "approvals": s.Approvals, "merges": s.Merges,
		"questions": s.Questions, "comments": s.Comments,
	} {
		for id, raw := range records {
			out[table+"/"+id] = raw
		}
	}
	return out
}

// scenarioPrefixes are the prefixes of the threads of soak's scenarios, which no drawn line names.
const scenarioPrefixes = "group- rollback- branch- undo-"

func drawn(id string) bool {
	first, _, _ := strings.Cut(id, "-")
	return !slices.Contains(strings.Fields(scenarioPrefixes), first+"-")
}

// snapshot lists what a state has.
func (s State) snapshot() *Snapshot {
	out := &Snapshot{}
	records := s.Records()
	for _, name := range Sorted(records) {
		var r record
		_ = json.Unmarshal(records[name], &r)
		table, id, _ := strings.Cut(name, "/")
		out.add(table, id, r)
	}
	return out
}

// record has the members of records that a snapshot looks at.
type record struct {
	Status, State, Target string
	Checkpoints           []struct{ CheckpointID string }
	Claim                 any
	Injections            []struct {
		InjectionID string
		Seen        any
	}
}

func (s *Snapshot) add(table, id string, r record) {
	switch {
	case table == "threads" && drawn(id):
		t := Thread{ID: id, Status: r.Status, Claimed: r.Claim != nil}
		for _, c := range r.Checkpoints {
			t.Checkpoints = append(t.Checkpoints, c.CheckpointID)
		}
		s.Threads = append(s.Threads, t)
		for _, i := range r.Injections {
			if i.Seen == nil {
				s.Unseen = append(s.Unseen, i.InjectionID)
			}
		}
	case table == "objectives" && id != "scenarios":
		s.Objectives = append(s.Objectives, id)
	case table == "references":
		s.References = append(s.References, id)
	case table == "approvals":
		s.Approvals = append(s.Approvals, id)
		if r.Status == "open" {
			s.Open = append(s.Open, id)
		}
	case table == "questions" && r.Status == "open":
		s.Questions = append(s.Questions, id)
	case table == "comments" && r.State == "open":
		s.Comments = append(s.Comments, id)
	case table == "merges" && drawn(r.Target):
		s.Merges = append(s.Merges, id)
	}
}

// Sorted returns the names in a map in their order.
func Sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Sight is the snapshot that all workers share: read again when it is older than Fresh.
type Sight struct {
	Name  string // of the state file
	Fresh time.Duration

	mu   sync.Mutex
	at   time.Time
	last *Snapshot
}

// Now returns the snapshot.
func (s *Sight) Now() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && time.Since(s.at) < s.Fresh {
		return s.last
	}
	state, err := ReadState(s.Name)
	if err == nil || s.last == nil { // without a state there is nothing to draw
		s.last = state.snapshot()
	}
	s.at = time.Now()
	return s.last
}
