package thread

import (
	"bytes"
	"maps"
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
	open     ThreadID           // counts as not terminated, "" for none
	nodes    map[ThreadID]*node // see node
	children bool               // nodes know their children
	search   int                // the last one of neededBelow
}

// Readiness returns one for the State as it is.
func (s *State) Readiness() *Readiness {
	return &Readiness{state: s, nodes: map[ThreadID]*node{}}
}

// node is what this file asks about a thread, read from its line: decoding all of it takes longer.
type node struct {
	id        ThreadID
	status    Status
	parent    ThreadID // "" for none
	dependsOn []ThreadID

	linked bool    // up and on are known; without what is archived
	up     *node   // its parent
	on     []*node // what it depends on
	below  []*node // its children, see withChildren

	holdsBelow []*hold // see Readiness.holdsBelow
	asked      bool    // holdsBelow is known
	needed     int     // the last search that came here
	above      int     // the last search for whose dependant it is above that, or that itself
}

// hold is a Hold while others are looked for.
type hold struct {
	on, of *node
	needed []*node // see neededBelow
	asked  bool    // needed is known
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
	return r.read(Line{ID: string(id), JSON: line}, &node{})
}

// known is node for a thread's line.
func (r *Readiness) known(line Line) *node {
	if n := r.nodes[ThreadID(line.ID)]; n != nil {
		return n
	}
	return r.read(line, &node{})
}

// read reads a thread's line into a node.
func (r *Readiness) read(line Line, n *node) *node {
	n.id = ThreadID(line.ID)
	rest, ok := bytes.CutPrefix(line.JSON, []byte("{"))
	for more := true; ok && more; {
		var name, value []byte
		name, value, rest, ok = cutMember(rest)
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
		more = n.status == "" || bytes.Contains(rest, []byte(`Id":"`)) || bytes.Contains(rest, []byte(`On":[`))
		rest = bytes.TrimPrefix(rest, []byte(","))
	}
	if n.status == "" { // of another form
		t := decode[Thread](line.JSON)
		n.status, n.parent, n.dependsOn = t.Status, t.ParentID, t.DependsOn
	}
	r.nodes[n.id] = n
	return n
}

// link finds what a thread's line names.
func (r *Readiness) link(n *node) *node {
	if n.linked {
		return n
	}
	n.linked, n.up = true, r.node(n.parent)
	n.on = make([]*node, 0, len(n.dependsOn))
	for _, id := range n.dependsOn {
		if on := r.node(id); on != nil {
			n.on = append(n.on, on)
		}
	}
	return n
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
func (r *Readiness) Holds(t Thread) []Hold {
	return r.holds(&node{id: t.ID, status: t.Status, parent: t.ParentID, dependsOn: t.DependsOn})
}

// free is Ready for a thread's line; ok is false if the record has to be decoded.
func (r *Readiness) free(line Line) (ready, ok bool) {
	t := r.known(line)
	if t.status != Active {
		return false, true
	}
	if holds(line.JSON, "claim") || bytes.Contains(line.JSON, []byte(`code":[`)) {
		return false, false
	}
	return !slices.ContainsFunc(r.link(t).on, r.waits) &&
		!slices.ContainsFunc(r.holdsBelow(t.up), func(h *hold) bool { return !r.waitsFor(h, t) }), true
}

func (r *Readiness) holdsLine(line Line) []Hold { return r.holds(r.known(line)) }

func (r *Readiness) holds(t *node) (out []Hold) {
	add := func(h *hold) { out = append(out, Hold{On: h.on.id, Status: h.on.status, Of: h.of.id}) }
	for _, h := range r.holdsOwn(t) {
		add(h)
	}
	for _, h := range r.holdsBelow(t.up) {
		if !r.waitsFor(h, t) {
			add(h)
		}
	}
	return out
}

// waits reports whether what depends on a thread has to wait for it.
func (r *Readiness) waits(on *node) bool { return !on.status.Terminated() || on.id == r.open }

// holdsOwn returns which of a thread's dependencies are not terminated.
func (r *Readiness) holdsOwn(t *node) (out []*hold) {
	for _, on := range r.link(t).on {
		if r.waits(on) {
			out = append(out, &hold{on: on, of: t})
		}
	}
	return out
}

// holdsBelow returns what a thread and those above it wait for outside of their own
// trees. A thread that has ended waits for nothing.
func (r *Readiness) holdsBelow(t *node) []*hold {
	if t == nil {
		return nil
	}
	if t.asked {
		return t.holdsBelow
	}
	t.asked = true
	if !t.status.Terminated() {
		t.holdsBelow = slices.DeleteFunc(r.holdsOwn(t), func(h *hold) bool { return r.below(h.on, t.id) })
	}
	t.holdsBelow = append(t.holdsBelow, r.holdsBelow(r.link(t).up)...)
	return t.holdsBelow
}

func (r *Readiness) isBelow(id, top ThreadID) bool { return r.below(r.node(id), top) }

// below reports whether a thread is below another.
func (r *Readiness) below(t *node, top ThreadID) bool {
	for ; t != nil; t = r.link(t).up {
		if t.parent == top {
			return true
		}
	}
	return false
}

// waitsFor reports whether what holds back a thread waits itself for that thread, or for
// one between it and the dependant.
func (r *Readiness) waitsFor(h *hold, t *node) bool {
	needed := r.neededBelow(h)
	for ; len(needed) > 0 && t != nil && t.id != h.of.id; t = r.link(t).up {
		if slices.ContainsFunc(needed, func(n *node) bool { return n.id == t.id }) {
			return true
		}
	}
	return false
}

// neededBelow returns those threads below the dependant of a hold that have to end before what it depends on
// can: nearly always none. What has to end before a thread are its dependencies, those of the threads above it,
// its children, and so on. The children of the dependant and of the threads above that are not among them:
// they are what is held back.
func (r *Readiness) neededBelow(h *hold) []*node {
	if h.asked {
		return h.needed
	}
	h.asked = true
	r.withChildren()
	r.search++
	for up := h.of; up != nil; up = r.link(up).up {
		up.above = r.search
	}
	for next := []*node{h.on}; len(next) > 0; {
		t := next[len(next)-1]
		next = next[:len(next)-1]
		if t.needed == r.search || !r.waits(t) {
			continue
		}
		t.needed = r.search
		if r.below(t, h.of.id) {
			h.needed = append(h.needed, t)
		}
		if t.above != r.search {
			next = append(next, t.below...)
		}
		for up := t; up != nil; up = r.link(up).up {
			next = append(next, r.link(up).on...)
		}
	}
	return h.needed
}

// withChildren has each thread know its children.
func (r *Readiness) withChildren() {
	if r.children {
		return
	}
	r.children = true
	lines := r.state.Threads.Lines()
	all, fresh := make([]*node, len(lines)), make([]node, len(lines))
	nodes := make(map[ThreadID]*node, len(lines))
	maps.Copy(nodes, r.nodes)
	r.nodes = nodes
	for i, line := range lines {
		if all[i] = r.nodes[ThreadID(line.ID)]; all[i] == nil {
			all[i] = r.read(line, &fresh[i])
		}
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
