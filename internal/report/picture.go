package report

import (
	"fmt"

	"leslie/internal/app"
	"leslie/internal/graph"
	"leslie/thread"
)

// This file lays a graph out: each objective's threads as trees from left to right, a
// parent in the middle of its children. What else threads have to do with each other
// crosses the trees as curves.

// Sizes of the picture, in pixels.
const (
	boxWidth, boxHeight = 190, 44
	columnGap, rowGap   = 70, 12
	headingHeight       = 34
	margin              = 12
)

// largest is up to how many threads are drawn.
const largest = 2000

// picture is a graph with places.
type picture struct {
	Width, Height int
	Nodes         []node
	Edges         []curve
	Headings      []heading
	Left          string // why there is none
}

type node struct {
	X, Y            int
	Status          thread.Status
	ID, Text, Words string
}

type curve struct {
	Class, Path, Words string
	Tip                bool
}

type heading struct {
	Y    int
	Text string
}

// layout is a picture in the making.
type layout struct {
	picture
	next  int // where the next thread without children comes
	at    map[thread.ThreadID]node
	depth int
}

// draw returns the picture of a graph.
func draw(g graph.Graph) picture {
	switch {
	case len(g.Threads) == 0:
		return picture{Left: "There are no threads."}
	case len(g.Threads) > largest:
		return picture{Left: count(len(g.Threads), "thread") + " are too many to draw: leslie report --objective draws those of one objective."}
	}
	l := &layout{at: map[thread.ThreadID]node{}, next: margin}
	for _, group := range g.Groups() {
		if len(group.Roots) == 0 {
			continue
		}
		title := "Threads elsewhere"
		if group.Objective != nil {
			title = app.Cut(group.Objective.Title, 80)
		}
		l.Headings = append(l.Headings, heading{l.next + 16, title})
		l.next += headingHeight
		for _, t := range group.Roots {
			l.place(t, 0)
		}
		l.next += rowGap
	}
	for _, e := range g.Edges {
		l.edge(e)
	}
	l.Width = 2*margin + (l.depth+1)*boxWidth + l.depth*columnGap + columnGap // the last gap is for curves
	l.Height = l.next
	return l.picture
}

// place places a tree and returns where its root is.
func (l *layout) place(t *graph.Tree, depth int) int {
	l.depth = max(l.depth, depth)
	y := l.next
	if len(t.Children) == 0 {
		l.next += boxHeight + rowGap
	} else {
		first := l.place(t.Children[0], depth+1)
		last := first
		for _, child := range t.Children[1:] {
			last = l.place(child, depth+1)
		}
		y = (first + last) / 2
	}
	n := node{X: margin + depth*(boxWidth+columnGap), Y: y, Status: t.Status, ID: string(t.ID), Text: label(t.Thread)}
	if t.Missing() {
		n.Status, n.Text = "missing", "missing"
	}
	n.Words = n.ID + ": " + n.Text
	if t.Title != "" && t.Title != n.ID {
		n.Words = n.ID + ", " + t.Title + ": " + n.Text
		n.Text = t.Title
	}
	l.Nodes = append(l.Nodes, n)
	l.at[t.ID] = n
	return y
}

// edge draws an edge. A parent's goes from its right to the left of the child; any other
// one from side to side, a little lower, so that both can be seen.
func (l *layout) edge(e graph.Edge) {
	from, known := l.at[e.From]
	to, both := l.at[e.To]
	if !known || !both {
		return
	}
	c := curve{Class: "e-" + string(e.Kind), Words: from.ID + " " + verb(e) + " " + to.ID, Tip: true}
	middle := boxHeight / 2
	if e.Kind == graph.Parent {
		x1, y1, x2, y2 := to.X+boxWidth, to.Y+middle, from.X, from.Y+middle
		half := (x1 + x2) / 2
		c.Path, c.Tip = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, half, y1, half, y2, x2, y2), false
		l.Edges = append(l.Edges, c)
		return
	}
	if e.Binding == thread.Frozen {
		c.Class += " frozen"
	}
	if e.Troubled() {
		c.Class += " trouble"
	}
	if e.Pending() {
		c.Class += " pending"
	}
	low := middle + 11
	switch {
	case from.X < to.X:
		x1, x2 := from.X+boxWidth, to.X
		c.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, from.Y+low, x1+columnGap/2, from.Y+low, x2-columnGap/2, to.Y+low, x2, to.Y+low)
	case from.X > to.X:
		x1, x2 := from.X, to.X+boxWidth
		c.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, from.Y+low, x1-columnGap/2, from.Y+low, x2+columnGap/2, to.Y+low, x2, to.Y+low)
	default:
		x := from.X + boxWidth
		out := x + columnGap*3/4
		c.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x, from.Y+low, out, from.Y+low, out, to.Y+low, x, to.Y+low)
	}
	l.Edges = append(l.Edges, c)
}

// verb is what a thread has to do with the other, in words.
func verb(e graph.Edge) string {
	switch e.Kind {
	case graph.Parent:
		return "is a child of"
	case graph.Merge:
		if e.Pending() {
			return "waits to be merged into"
		}
		return "was merged into"
	}
	return e.Words()
}
