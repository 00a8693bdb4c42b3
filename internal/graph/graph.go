package graph

import (
	"slices"

	"leslie/thread"
)

// Graph is threads of some objectives, and how they belong together.
type Graph struct {
	Objectives []Objective `json:"objectives"`
	Threads    []Thread    `json:"threads"`
	Edges      []Edge      `json:"edges"`
}

// Objective is an objective with threads in the graph.
type Objective struct {
	ID     thread.ObjectiveID     `json:"objectiveId"`
	Title  string                 `json:"title"`
	Status thread.ObjectiveStatus `json:"status"`
}

// Thread is a thread of the graph.
type Thread struct {
	ID          thread.ThreadID    `json:"threadId"`
	ObjectiveID thread.ObjectiveID `json:"objectiveId,omitempty"`
	Title       string             `json:"title,omitempty"`
	Status      thread.Status      `json:"status,omitempty"` // "": there is no such thread
	Executor    thread.Executor    `json:"executor,omitempty"`
	// Outside: the graph is not about it, but has an edge to or from it.
	Outside bool `json:"outside,omitempty"`
	// Ready: it is active and unclaimed, and all that it depends on has ended.
	Ready  bool            `json:"ready,omitempty"`
	Holder string          `json:"holder,omitempty"` // of its claim
	Run    thread.RunPhase `json:"run,omitempty"`    // of its agent
}

// Missing reports whether there is no such thread.
func (t Thread) Missing() bool { return t.Status == "" }

// Kind says how two threads belong together.
type Kind string

// The kinds. An edge reads as a sentence: From has the parent To, depends on To, refers to
// To, was or is to be merged into To.
const (
	Parent    Kind = "parent"
	DependsOn Kind = "depends_on"
	Reference Kind = "reference"
	Merge     Kind = "merge"
)

// Edge is a relation between two threads of the graph.
type Edge struct {
	Kind Kind            `json:"kind"`
	From thread.ThreadID `json:"from"`
	To   thread.ThreadID `json:"to"`

	// Of a reference. Stale is how many files of a frozen one's target have changed since;
	// Unresolved: its target could not be read.
	RefID      thread.ReferenceID `json:"refId,omitempty"`
	Binding    thread.Binding     `json:"binding,omitempty"`
	Stale      int                `json:"stale,omitempty"`
	Unresolved bool               `json:"unresolved,omitempty"`

	// Of a merge: the pending one, or the revision of the last that was made.
	MergeID thread.MergeID  `json:"mergeId,omitempty"`
	At      thread.Revision `json:"at,omitempty"`
}

// Sort orders edges by their kinds; those of one kind stay in their order.
func Sort(edges []Edge) {
	kinds := []Kind{Parent, DependsOn, Reference, Merge}
	slices.SortStableFunc(edges, func(a, b Edge) int { return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind) })
}

// Pending reports whether the edge is a merge that has not been made yet.
func (e Edge) Pending() bool { return e.Kind == Merge && e.MergeID != "" }

// Troubled reports whether somebody should look at a reference: its target has changed
// since, or could not be read.
func (e Edge) Troubled() bool { return e.Stale > 0 || e.Unresolved }

// Tree is a thread with its children.
type Tree struct {
	Thread
	Children []*Tree
}

// Group is an objective with the trees of its threads. The last one of Groups may have
// none: it has the threads that are outside of the graph.
type Group struct {
	Objective *Objective
	Roots     []*Tree
}

// Groups returns the threads as trees, in their order. A thread whose parent is not in the
// graph, or has another objective, is a root; so is one thread of a circle of parents,
// which only damage can make.
func (g Graph) Groups() []Group {
	nodes := make(map[thread.ThreadID]*Tree, len(g.Threads))
	for _, t := range g.Threads {
		nodes[t.ID] = &Tree{Thread: t}
	}
	parents := g.parents(nodes)
	groups, at := make([]Group, 0, len(g.Objectives)+1), map[thread.ObjectiveID]int{}
	for i := range g.Objectives {
		at[g.Objectives[i].ID] = i
		groups = append(groups, Group{Objective: &g.Objectives[i]})
	}
	var outside Group
	for _, t := range g.Threads {
		n := nodes[t.ID]
		place, known := at[t.ObjectiveID]
		switch parent := parents[t.ID]; {
		case parent != nil:
			parent.Children = append(parent.Children, n)
		case known && !t.Outside:
			groups[place].Roots = append(groups[place].Roots, n)
		default:
			outside.Roots = append(outside.Roots, n)
		}
	}
	if len(outside.Roots) > 0 {
		groups = append(groups, outside)
	}
	return groups
}

// parents returns the parent of each thread that has one in the graph, without circles.
func (g Graph) parents(nodes map[thread.ThreadID]*Tree) map[thread.ThreadID]*Tree {
	of := map[thread.ThreadID]*Tree{}
	for _, e := range g.Edges {
		child, parent := nodes[e.From], nodes[e.To]
		if e.Kind != Parent || child == nil || parent == nil || child.Outside || parent.Outside || child.ObjectiveID != parent.ObjectiveID {
			continue
		}
		above := parent
		for above != nil && above != child {
			above = of[above.ID]
		}
		if above == nil && of[child.ID] == nil {
			of[child.ID] = parent
		}
	}
	return of
}

// Of returns the relations that a thread has to others, without its parent, in the order
// of the kinds: what it depends on, what it refers to, what was merged into it.
func (g Graph) Of() map[thread.ThreadID][]Edge {
	of := map[thread.ThreadID][]Edge{}
	for _, e := range g.Edges {
		switch e.Kind {
		case Parent:
		case Merge:
			of[e.To] = append(of[e.To], e)
		default:
			of[e.From] = append(of[e.From], e)
		}
	}
	for _, edges := range of {
		Sort(edges)
	}
	return of
}
