package views

import (
	"context"
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/graph"
	"leslie/thread"
	"leslie/warnings"
)

// This file collects how threads belong together.

// GraphRequest asks how threads belong together.
type GraphRequest struct {
	Objective string // only its threads, and those that they have to do with; "": all
	All       bool   // archived threads, too
}

// GraphResult says how threads belong together.
type GraphResult struct {
	graph.Graph
	Revision thread.Revision `json:"revision"`
}

// Graph returns how threads belong together: parents, dependencies, references and whether
// they are stale, merges that were made and those that are pending. What an archived thread
// has to do with others is left out without All. Errors: T601, T105, those of reading.
func Graph(c *app.Call, in GraphRequest) (*GraphResult, error) {
	c.ReadOnly()
	var b *graphBuilder
	v, err := c.View(func(s *thread.State) (err error) {
		b, err = collectGraph(c, s, in)
		return err
	})
	if err == nil {
		err = b.compare()
	}
	if err != nil {
		return nil, err
	}
	return &GraphResult{Graph: b.Graph, Revision: v.Revision}, nil
}

// graphBuilder collects a graph from one State.
type graphBuilder struct {
	graph.Graph
	c      *app.Call
	state  *thread.State
	ready  *thread.Readiness
	in     GraphRequest
	list   []thread.Thread                         // those that it is about, as they are recorded
	found  map[thread.ThreadID]bool                // the threads of the graph, with those outside
	inner  map[thread.ThreadID]bool                // those that it is about
	frozen map[thread.ReferenceID]thread.Reference // those that may be stale
}

// collectGraph returns what the State knows of a graph. Errors: T601, T105, those of
// reading the archive.
func collectGraph(c *app.Call, s *thread.State, in GraphRequest) (*graphBuilder, error) {
	b := &graphBuilder{
		Graph: graph.Graph{Objectives: []graph.Objective{}, Threads: []graph.Thread{}, Edges: []graph.Edge{}},
		c:     c, state: s, ready: s.Readiness(), in: in, found: map[thread.ThreadID]bool{}, inner: map[thread.ThreadID]bool{}, frozen: map[thread.ReferenceID]thread.Reference{},
	}
	f := thread.Filter{All: in.All}
	if in.Objective != "" {
		o, err := s.Objective(in.Objective)
		if err != nil {
			return nil, err
		}
		f.Objective = o.ID
	}
	threads, err := s.List(f)
	if err != nil {
		return nil, err
	}
	b.list = threads
	for _, t := range threads {
		b.add(t, false)
		b.inner[t.ID] = true
	}
	b.objectives(f.Objective)
	refs := s.AllReferences()
	if in.All {
		if refs, err = s.ReferencesWithArchived(); err != nil {
			return nil, err
		}
	}
	for _, t := range threads {
		b.ofThread(t)
	}
	if in.Objective != "" {
		err = b.intoObjective()
	}
	b.references(refs)
	b.pending()
	graph.Sort(b.Edges)
	return b, err
}

// objectives adds the objectives that the graph has threads of, or the one that was asked
// for.
func (b *graphBuilder) objectives(only thread.ObjectiveID) {
	used := map[thread.ObjectiveID]bool{only: true}
	for _, t := range b.Threads {
		used[t.ObjectiveID] = true
	}
	counts, _ := b.state.AllCounts()
	for _, o := range b.state.ObjectivesInOrder() {
		if used[o.ID] {
			b.Objectives = append(b.Objectives, graph.Objective{ID: o.ID, Title: o.Title, Status: o.Status(counts[o.ID])})
		}
	}
}

func (b *graphBuilder) add(t thread.Thread, outside bool) {
	now := b.c.Now()
	node := graph.Thread{ID: t.ID, ObjectiveID: t.ObjectiveID, Title: t.Title, Status: t.Status, Executor: t.Executor, Outside: outside, Ready: b.ready.Ready(t, now)}
	if held := t.Held(now); held != nil {
		node.Holder = held.Holder
	}
	if run := t.LastRun(); run != nil {
		if node.Run = run.Phase; app.LastRunOf(b.c, t).Killed {
			node.Run = "killed"
		}
	}
	b.Threads = append(b.Threads, node)
	b.found[t.ID] = true
}

// code.OfThread adds what a thread's record says about others. A spawn is no merge.
func (b *graphBuilder) ofThread(t thread.Thread) {
	if t.ParentID != "" {
		b.edge(graph.Edge{Kind: graph.Parent, From: t.ID, To: t.ParentID})
	}
	for _, id := range t.DependsOn {
		b.edge(graph.Edge{Kind: graph.DependsOn, From: t.ID, To: id})
	}
	last := map[thread.ThreadID]thread.Revision{}
	var sources []thread.ThreadID
	for _, share := range t.Shared {
		if share.How == "spawn" {
			continue
		}
		if last[share.With] == 0 {
			sources = append(sources, share.With)
		}
		last[share.With] = max(last[share.With], share.At)
	}
	for _, id := range sources {
		b.edge(graph.Edge{Kind: graph.Merge, From: id, To: t.ID, At: last[id]})
	}
}

// intoObjective adds what threads of other objectives say about those of the graph.
func (b *graphBuilder) intoObjective() error {
	others, err := b.state.List(thread.Filter{All: b.in.All})
	for _, t := range others {
		if !b.inner[t.ID] {
			b.ofThread(t)
		}
	}
	return err
}

func (b *graphBuilder) references(refs []thread.Reference) {
	for _, ref := range refs {
		e := graph.Edge{Kind: graph.Reference, From: ref.From, To: ref.Target, RefID: ref.ID, Binding: ref.Binding, Unresolved: !ref.Resolved}
		if b.edge(e) && ref.Binding == thread.Frozen && ref.Resolved {
			b.frozen[ref.ID] = ref
		}
	}
}

func (b *graphBuilder) pending() {
	for _, m := range b.state.MergesOf("") {
		for _, id := range m.Sources {
			b.edge(graph.Edge{Kind: graph.Merge, From: id, To: m.Target, MergeID: m.ID})
		}
	}
}

// edge adds an edge of a thread that the graph is about, with the thread at its other end.
// It returns false for one that is left out.
func (b *graphBuilder) edge(e graph.Edge) bool {
	other := e.To
	if b.inner[e.To] {
		other = e.From
	} else if !b.inner[e.From] {
		return false
	}
	if !b.found[other] && !b.outside(other, e.Kind) {
		return false
	}
	b.Edges = append(b.Edges, e)
	return true
}

// outside adds a thread that the graph is not about. Only a reference may name one that
// does not exist.
func (b *graphBuilder) outside(id thread.ThreadID, kind graph.Kind) bool {
	if t, ok := b.state.Threads.Peek(string(id)); ok {
		b.add(t, true)
		return true
	}
	exists := b.state.Exists(id)
	switch {
	case exists && b.in.All:
		t, err := b.state.Thread(string(id))
		if err != nil {
			return false
		}
		b.add(t, true)
		return true
	case exists || kind != graph.Reference:
		return false
	}
	b.Threads = append(b.Threads, graph.Thread{ID: id, Outside: true})
	b.found[id] = true
	return true
}

// compare finds what has changed in the targets of frozen references. What cannot be read
// is not stale: reference show says what is wrong with it. Errors: T904.
func (b *graphBuilder) compare() error {
	var refs []thread.Reference
	var targets []thread.ThreadID
	for _, e := range b.Edges {
		if ref, ok := b.frozen[e.RefID]; ok {
			refs, targets = append(refs, ref), append(targets, ref.Target)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	slices.Sort(targets)
	stale := make([]int, len(refs))
	err := b.c.ReadConsistent(func() error {
		code.SeveralAtOnce(len(refs), func(i int) {
			if paths, err := b.c.Store().ChangedSince(b.c.Context(), refs[i]); err == nil {
				stale[i] = len(paths)
			}
		})
		if b.c.Context().Err() != nil {
			return codes.Interrupted.Wrap(context.Cause(b.c.Context()))
		}
		return nil
	}, slices.Compact(targets)...)
	if b.c.StoreWarned(warnings.FilesPending) {
		return err
	}
	found := map[thread.ReferenceID]int{}
	for i, ref := range refs {
		found[ref.ID] = stale[i]
	}
	for i := range b.Edges {
		b.Edges[i].Stale = found[b.Edges[i].RefID]
	}
	return err
}
