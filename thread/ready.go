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
	open     ThreadID            // counts as not terminated, "" for none
	above    map[ThreadID][]Hold // see holdsBelow
	needs    map[Hold][]ThreadID // see neededBelow
	nodes    map[ThreadID]*node  // see node
	children bool                // nodes know their children
	search   int                 // the last one of neededBelow
}

// Readiness returns one for the State as it is.
func (s *State) Readiness() *Readiness {
	return &Readiness{state: s, above: map[ThreadID][]Hold{}, needs: map[Hold][]ThreadID{}, nodes: map[ThreadID]*node{}}
}

// node is what this file asks about a thread, read from its line: decoding all of it takes longer.
type node struct {
	id        ThreadID
	status    Status
	parent    ThreadID // "" for none
	dependsOn []ThreadID

	linked bool // up and on are known
	up     *node
	on     []*node
	below  []*node // its children, see withChildren
	needed int     // the last search that came here
}

// node returns a thread of the State, nil for one that is not there.
func (r *Readiness) node(id ThreadID) *node {
	if n, known := r.nodes[id]; known || id == "" {
		return n
	}
	line, there := r.state.Threads.line([]byte(id))
	if !there {
		r.nodes[id] = nil
		return nil
	}
	return r.read(Line{ID: string(id), JSON: line})
}

// known is node for a thread's line.
func (r *Readiness) known(line Line) *node {
	if n := r.nodes[ThreadID(line.ID)]; n != nil {
		return n
	}
	return r.read(line)
}

// read reads a thread's line.
func (r *Readiness) read(line Line) *node {
	n := &node{id: ThreadID(line.ID)}
	for name, value := range eachMember(line.JSON) {
		switch string(name) {
		case "parentId":
			parent, _ := textOf(value)
			n.parent = ThreadID(parent)
		case "status":
			word, _ := textOf(value)
			n.status = statusOf(word)
		case "dependsOn":
			n.dependsOn = idsIn(value)
		}
	}
	if n.status == "" { // of another form
		t := decode[Thread](line.JSON)
		n.status, n.parent, n.dependsOn = t.Status, t.ParentID, t.DependsOn
	}
	r.nodes[n.id] = n
	return n
}

// link finds what a thread's line names.
func (r *Readiness) link(n *node) {
	if n.linked {
		return
	}
	n.linked, n.up = true, r.node(n.parent)
	for _, id := range n.dependsOn {
		if on := r.node(id); on != nil {
			n.on = append(n.on, on)
		}
	}
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
	t := r.known(line)
	return len(r.holdsOwn(t.id, t.dependsOn)) == 0 &&
		!slices.ContainsFunc(r.holdsBelow(t.parent), func(h Hold) bool { return !r.waitsFor(h, t.id, t.parent) }), true
}

func (r *Readiness) holdsLine(line Line) []Hold {
	t := r.known(line)
	return r.holds(t.id, t.parent, t.dependsOn)
}

func (r *Readiness) holds(id, parent ThreadID, on []ThreadID) []Hold {
	out := r.holdsOwn(id, on)
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
		t := r.node(dependency)
		if t == nil {
			continue // archived
		}
		if !t.status.Terminated() || dependency == r.open {
			out = append(out, Hold{On: dependency, Status: t.status, Of: id})
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

func (r *Readiness) isBelow(id, top ThreadID) bool { return r.below(r.node(id), top) }

// below reports whether a thread is below another.
func (r *Readiness) below(t *node, top ThreadID) bool {
	for ; t != nil; t = t.up {
		if t.parent == top {
			return true
		}
		r.link(t)
	}
	return false
}

// waitsFor reports whether what holds back a thread waits itself for that thread, or for
// one between it and the dependant.
func (r *Readiness) waitsFor(h Hold, id, parent ThreadID) bool {
	needed := r.neededBelow(h)
	for id != h.Of && id != "" {
		if slices.Contains(needed, id) {
			return true
		}
		id, parent = parent, r.parentOf(parent)
	}
	return false
}

// neededBelow returns those threads below the dependant of a hold that have to end before what it depends on
// can: nearly always none. What has to end before a thread are its dependencies, those of the threads above it,
// its children, and so on. The children of the dependant and of the threads above that are not among them:
// they are what is held back.
func (r *Readiness) neededBelow(h Hold) []ThreadID {
	if needed, known := r.needs[h]; known {
		return needed
	}
	r.withChildren()
	var needed []ThreadID
	dependant := r.node(h.Of)
	r.search++
	for next := []*node{r.node(h.On)}; len(next) > 0; {
		t := next[len(next)-1]
		next = next[:len(next)-1]
		if t == nil || t.needed == r.search || t.status.Terminated() && t.id != r.open {
			continue
		}
		t.needed = r.search
		if r.below(t, h.Of) {
			needed = append(needed, t.id)
		}
		if t != dependant && !r.below(dependant, t.id) {
			next = append(next, t.below...)
		}
		for up := t; up != nil; up = up.up {
			r.link(up)
			next = append(next, up.on...)
		}
	}
	r.needs[h] = needed
	return needed
}

// withChildren has each thread know its children.
func (r *Readiness) withChildren() {
	if r.children {
		return
	}
	r.children = true
	lines := r.state.Threads.Lines()
	all := make([]*node, len(lines))
	for i, line := range lines {
		all[i] = r.known(line)
	}
	for _, child := range all {
		if r.link(child); child.up != nil {
			child.up.below = append(child.up.below, child)
		}
	}
}

// idsIn returns the ids of a list: quoted strings without escapes.
func idsIn(list []byte) (out []ThreadID) {
	rest := bytes.TrimPrefix(list, []byte("["))
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
