package thread

import (
	"bytes"
	"slices"
	"time"
)

// This file decides which threads are ready to be worked on, and what holds the others
// back: what a thread depends on, and what the threads above it depend on.

// Hold is one reason why a thread is not ready.
type Hold struct {
	// On is not terminated, and Of depends on it: the thread itself or one above it.
	On     ThreadID `json:"threadId"`
	Status Status   `json:"status"`
	Of     ThreadID `json:"dependant"`
}

// Readiness answers which threads of a State are ready. It keeps what threads with the
// same parent have in common, so use one for many threads, until the State changes.
//
// What a thread above depends on holds the threads below back, too, with two exceptions:
// a dependency that is itself below that thread, as when a parent waits for its children,
// and one that waits, however indirectly, for the thread that it would hold back.
type Readiness struct {
	state    *State
	open     ThreadID                   // counts as not terminated, "" for none
	above    map[ThreadID][]Hold        // see holdsBelow
	needs    map[Hold]map[ThreadID]bool // see neededBy
	nodes    map[ThreadID]*node         // see node
	children map[ThreadID][]ThreadID    // of every thread, nil until somebody asks
}

// Readiness returns one for the State as it is.
func (s *State) Readiness() *Readiness {
	return &Readiness{state: s, above: map[ThreadID][]Hold{}, needs: map[Hold]map[ThreadID]bool{}, nodes: map[ThreadID]*node{}}
}

// node is what this file asks about a thread, read from its line: decoding all of it takes longer.
type node struct {
	status    Status
	parent    ThreadID // "" for none
	dependsOn []ThreadID
}

// node returns a thread of the State, nil for one that is not there.
func (r *Readiness) node(id ThreadID) *node {
	n, known := r.nodes[id]
	if known {
		return n
	}
	if line, there := r.state.Threads.line([]byte(id)); there {
		parent, _ := parentIn(line)
		n = &node{statusIn(line), ThreadID(parent), dependenciesIn(line)}
	}
	r.nodes[id] = n
	return n
}

// parentIn returns the parent in a thread's line. Ids have no escapes.
func parentIn(line []byte) (parent []byte, ok bool) {
	if !bytes.Contains(line, []byte(`parentId":"`)) {
		return nil, false
	}
	return field(line, "parentId")
}

// Ready reports whether a thread can be offered at this time: it is active and unclaimed,
// nothing holds it back, its code is not still being made, and a person does not work there.
func (r *Readiness) Ready(t Thread, now time.Time) bool {
	if t.Status != Active || t.Held(now) != nil {
		return false
	}
	if t.Unmade() != nil || t.PersonsCheckout() {
		return false
	}
	return len(r.Holds(t)) == 0
}

// Holds returns what holds a thread back, its own dependencies first.
func (r *Readiness) Holds(t Thread) []Hold { return r.holds(t.ID, t.ParentID, t.DependsOn) }

// free is Ready for an active thread's line; ok is false if the record has to be decoded.
func (r *Readiness) free(line Line) (ready, ok bool) {
	if holds(line.JSON, "claim") || bytes.Contains(line.JSON, []byte(`"code":[`)) {
		return false, false
	}
	return len(r.holdsLine(line)) == 0, true
}

func (r *Readiness) holdsLine(line Line) []Hold {
	parent, _ := parentIn(line.JSON)
	return r.holds(ThreadID(line.ID), ThreadID(parent), dependenciesIn(line.JSON))
}

func (r *Readiness) holds(id, parent ThreadID, on []ThreadID) []Hold {
	out := r.holdsOwn(id, on)
	if parent == "" {
		return out
	}
	for _, h := range r.holdsBelow(parent) {
		if !r.waitsFor(h, id, parent) {
			out = append(out, h)
		}
	}
	return out
}

// holdsOwn returns which of a thread's dependencies are not terminated.
func (r *Readiness) holdsOwn(id ThreadID, on []ThreadID) (out []Hold) {
	for _, dependency := range on {
		line, there := r.state.Threads.line([]byte(dependency))
		if !there {
			continue // archived
		}
		if status := statusIn(line); !status.Terminated() || dependency == r.open {
			out = append(out, Hold{On: dependency, Status: status, Of: id})
		}
	}
	return out
}

// holdsBelow returns what a thread and those above it wait for outside of their own
// trees. A thread that has ended waits for nothing.
func (r *Readiness) holdsBelow(id ThreadID) []Hold {
	if out, known := r.above[id]; known {
		return out
	}
	r.above[id] = nil
	t := r.node(id)
	if t == nil {
		return nil
	}
	var out []Hold
	if !t.status.Terminated() {
		out = slices.DeleteFunc(r.holdsOwn(id, t.dependsOn), func(h Hold) bool { return r.isBelow(h.On, id) })
	}
	if t.parent != "" {
		out = append(out, r.holdsBelow(t.parent)...)
	}
	r.above[id] = out
	return out
}

// parentOf returns the parent of a thread, "" for none.
func (r *Readiness) parentOf(id ThreadID) ThreadID {
	if t := r.node(id); t != nil {
		return t.parent
	}
	return ""
}

func (r *Readiness) isBelow(id, top ThreadID) bool {
	for id = r.parentOf(id); id != "" && id != top; {
		id = r.parentOf(id)
	}
	return id == top
}

// waitsFor reports whether what holds back a thread waits itself for that thread, or for
// one between it and the dependant.
func (r *Readiness) waitsFor(h Hold, id, parent ThreadID) bool {
	needed := r.neededBy(h)
	for id != h.Of && id != "" {
		if needed[id] {
			return true
		}
		id, parent = parent, r.parentOf(parent)
	}
	return false
}

// neededBy returns what has to end before a dependency can: what it depends on, what the
// threads above it depend on, its children, and so on. The children of the dependant and
// of the threads above that are not among them: they are what is held back.
func (r *Readiness) neededBy(h Hold) map[ThreadID]bool {
	if needed, known := r.needs[h]; known {
		return needed
	}
	apart := map[ThreadID]bool{}
	for id := h.Of; id != ""; id = r.parentOf(id) {
		apart[id] = true
	}
	needed := map[ThreadID]bool{}
	for next := []ThreadID{h.On}; len(next) > 0; {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		t := r.node(id)
		if needed[id] || t == nil || t.status.Terminated() && id != r.open {
			continue
		}
		needed[id] = true
		if !apart[id] {
			next = append(next, r.childrenOf(id)...)
		}
		for up := t; up != nil; up = r.node(up.parent) {
			next = append(next, up.dependsOn...)
		}
	}
	r.needs[h] = needed
	return needed
}

func (r *Readiness) childrenOf(id ThreadID) []ThreadID {
	if r.children == nil {
		r.children = map[ThreadID][]ThreadID{}
		for _, line := range r.state.Threads.Lines() {
			if parent, ok := parentIn(line.JSON); ok {
				r.children[ThreadID(parent)] = append(r.children[ThreadID(parent)], ThreadID(line.ID))
			}
		}
	}
	return r.children[id]
}

// dependenciesIn returns the dependencies in a thread's line. The ids are quoted strings
// without escapes.
func dependenciesIn(line []byte) (out []ThreadID) {
	const key = "dependsOn"
	if !bytes.Contains(line, []byte(key+`":[`)) {
		return nil
	}
	rest, _ := MemberOf(line, key)
	rest = bytes.TrimPrefix(rest, []byte("["))
	for len(rest) > 0 && rest[0] == '"' {
		end := bytes.IndexByte(rest[1:], '"') + 1
		if end < 1 {
			return out
		}
		out = append(out, ThreadID(rest[1:end]))
		rest = bytes.TrimPrefix(rest[end+1:], []byte(","))
	}
	return out
}

// LostDependencies returns the threads of the State on which a thread depends and that ended without being completed:
// it begins without their work.
func (s *State) LostDependencies(t Thread) (lost []Thread) {
	for _, id := range t.DependsOn {
		if on, there := s.Threads.Peek(string(id)); there && on.Status.Terminated() && on.Status != Completed {
			lost = append(lost, on)
		}
	}
	return lost
}

// Ready is Readiness.Ready for one thread.
func (s *State) Ready(t Thread, now time.Time) bool { return s.Readiness().Ready(t, now) }

// ReadyFor is Ready for an actor, whose own claim is no obstacle.
func (s *State) ReadyFor(t Thread, now time.Time, actor string) bool {
	if held := t.Held(now); held != nil && held.Holder == actor {
		t.Claim = nil
	}
	return s.Ready(t, now)
}

// MadeReady returns the threads that are ready because a thread has terminated: those
// that it held back, in the order ByTurn.
func (s *State) MadeReady(ended Thread, now time.Time) []ThreadID {
	before, after := s.Readiness(), s.Readiness()
	before.open = ended.ID
	ready := &beginning{order: ByTurn}
	for _, line := range s.Threads.Lines() {
		if statusIn(line.JSON) != Active || !slices.ContainsFunc(before.holdsLine(line), func(h Hold) bool { return h.On == ended.ID }) {
			continue
		}
		if t, _ := s.Threads.Peek(line.ID); after.Ready(t, now) {
			ready.add(line)
		}
	}
	ids := []ThreadID{}
	for _, t := range ready.result(s).Threads {
		ids = append(ids, t.ID)
	}
	return ids
}
