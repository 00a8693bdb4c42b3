//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// This file lists the threads, references, merges, approvals and operations that a
// command can name, as they were a moment ago.

// snapshot lists ids in the state file. Some may not exist any more when a row uses them,
// so the rows allow the codes for that.
type snapshot struct {
	objectives []string // not done
	threads    []threadInfo
	references []string
	approvals  []string // open, and some that are decided
	open       []string
	merges     []string
	unseen     []string // injections
	questions  []string // open
	comments   []string // open
}

type threadInfo struct {
	ID, Status  string
	Checkpoints []string
	Claimed     bool // the claim may have expired
}

// scenarioPrefixes are the prefixes of the scenarios' threads, which the rows do not use.
const scenarioPrefixes = "group- rollback- branch- undo-"

func openToRows(id string) bool {
	first, _, _ := strings.Cut(id, "-")
	return !slices.Contains(strings.Fields(scenarioPrefixes), first+"-")
}

// sharedSnapshot is the snapshot that all workers share.
type sharedSnapshot struct {
	mu       sync.Mutex
	at       time.Time
	snapshot *snapshot
	ops      []string // the newest operations of the rows
}

const freshFor = 300 * time.Millisecond

// now returns the snapshot, at most freshFor old.
func (st *sharedSnapshot) now(p *project) *snapshot {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.snapshot != nil && time.Since(st.at) < freshFor {
		return st.snapshot
	}
	data, err := os.ReadFile(p.path(stateFile))
	if err == nil {
		var sc *snapshot
		if sc, err = snapshotOf(data); err == nil {
			st.snapshot = sc
		}
	}
	if err != nil && st.snapshot == nil {
		st.snapshot = &snapshot{}
	}
	st.at = time.Now()
	return st.snapshot
}

// state is the state file as docs/store.md describes it.
type state struct {
	Revision   int64                      `json:"revision"`
	Operation  operation                  `json:"operation"`
	Objectives map[string]json.RawMessage `json:"objectives"`
	Threads    map[string]json.RawMessage `json:"threads"`
	References map[string]json.RawMessage `json:"references"`
	Approvals  map[string]json.RawMessage `json:"approvals"`
	Merges     map[string]json.RawMessage `json:"merges"`
	Questions  map[string]json.RawMessage `json:"questions"`
	Comments   map[string]json.RawMessage `json:"comments"`
}

// records returns all records by name.
func (s state) records() map[string]json.RawMessage {
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

func snapshotOf(data []byte) (*snapshot, error) {
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("the state's file: %w", err)
	}
	var sc snapshot
	for _, name := range sortedKeys(s.records()) {
		table, id, _ := strings.Cut(name, "/")
		var r struct {
			Status, State, From, ThreadID, Target string
			DoneAt                                any
			Checkpoints                           []struct{ CheckpointID string }
			Claim                                 any
			Injections                            []struct {
				InjectionID string
				Seen        any
			}
		}
		_ = json.Unmarshal(s.records()[name], &r)
		switch {
		case table == "threads" && openToRows(id):
			t := threadInfo{ID: id, Status: r.Status, Claimed: r.Claim != nil}
			for _, c := range r.Checkpoints {
				t.Checkpoints = append(t.Checkpoints, c.CheckpointID)
			}
			sc.threads = append(sc.threads, t)
			for _, i := range r.Injections {
				if i.Seen == nil {
					sc.unseen = append(sc.unseen, i.InjectionID)
				}
			}
		case table == "objectives" && id != "scenarios":
			sc.objectives = append(sc.objectives, id)
		case table == "references":
			sc.references = append(sc.references, id)
		case table == "approvals":
			sc.approvals = append(sc.approvals, id)
			if r.Status == "open" {
				sc.open = append(sc.open, id)
			}
		case table == "questions" && r.Status == "open":
			sc.questions = append(sc.questions, id)
		case table == "comments" && r.State == "open":
			sc.comments = append(sc.comments, id)
		case table == "merges" && openToRows(r.Target):
			sc.merges = append(sc.merges, id)
		}
	}
	return &sc, nil
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

const maxOperations = 300

// note records an operation that a row made, for undo.
func (st *sharedSnapshot) note(id string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ops = append(st.ops, id); len(st.ops) > 2*maxOperations {
		st.ops = slices.Clone(st.ops[maxOperations:])
	}
}

// operation draws one of the newest operations, or "".
func (st *sharedSnapshot) operation(r *rand.Rand) string {
	st.mu.Lock()
	defer st.mu.Unlock()
	back := min(len(st.ops), maxOperations)
	if r.IntN(2) == 0 {
		back = min(back, 15)
	}
	if back == 0 {
		return ""
	}
	return st.ops[len(st.ops)-1-r.IntN(back)]
}
