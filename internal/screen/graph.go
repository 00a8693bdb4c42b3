package screen

import (
	"strings"
	"unicode"

	"leslie/internal/graph"
	"leslie/thread"
)

// This file draws how threads belong together: a tree for each objective, and below a
// thread what else it has to do with others.

// Graph is the view of a graph.
type Graph struct {
	graph.Graph

	Width   int // of the terminal in cells; 0 for lines as long as they have to be
	Colours bool
	ASCII   bool // for a terminal that shows nothing else; other characters become ?
}

// GraphRow is one line of a drawn graph.
type GraphRow struct {
	Text string
	// Thread is the thread that the line is about, "" for an objective's. First: the line is
	// the thread's own, and no further one about its relations.
	Thread thread.ThreadID
	First  bool
}

// Draw draws the graph, one thread a line with further lines for its relations.
func (v Graph) Draw() []GraphRow {
	d := &graphDrawing{Graph: v, edges: v.Of(), status: map[thread.ThreadID]string{}, signs: treeSigns{"├─ ", "└─ ", "│  "}}
	if v.ASCII {
		d.signs = treeSigns{"|- ", "`- ", "|  "}
	}
	for _, t := range v.Threads {
		d.status[t.ID] = statusWord(t)
		d.statusCells = max(d.statusCells, cells(statusLabel(t)))
	}
	for i, group := range v.Groups() {
		if i > 0 {
			d.add(nil, "", false)
		}
		d.heading(group)
		d.idCells = 0
		d.measure(group.Roots, 1)
		d.trees(group.Roots, "")
	}
	return d.rows
}

// treeSigns draw a tree: before a thread, before the last of its siblings, and what goes on
// beside what is below a thread.
type treeSigns struct{ branch, last, beside string }

// graphDrawing is a graph in the making.
type graphDrawing struct {
	Graph
	rows   []GraphRow
	signs  treeSigns
	edges  map[thread.ThreadID][]graph.Edge
	status map[thread.ThreadID]string
	// The widths of columns: of ids with what is before them, and of statuses.
	idCells, statusCells int
}

// maxIndent is how many cells the signs before an id may take.
func (d *graphDrawing) maxIndent() int {
	if d.Width <= 0 {
		return 1 << 20
	}
	return d.Width / 2
}

// maxID is up to how wide the column of ids gets.
func (d *graphDrawing) maxID() int {
	if d.Width <= 0 {
		return 60
	}
	return d.Width / 2
}

func (d *graphDrawing) measure(trees []*graph.Tree, depth int) {
	for _, t := range trees {
		wide := min(3*depth, d.maxIndent()) + cells(d.plainText(string(t.ID)))
		d.idCells = max(d.idCells, min(wide, d.maxID()))
		d.measure(t.Children, depth+1)
	}
}

func (d *graphDrawing) add(l line, id thread.ThreadID, first bool) {
	if d.Width > 0 && l.cells() > d.Width {
		l = l.wrap(d.Width)[0]
	}
	text := l.render(d.Colours)
	if d.ASCII {
		text = strings.ReplaceAll(text, "…", "~")
	}
	d.rows = append(d.rows, GraphRow{text, id, first})
}

// plainText is a text from outside as it may be drawn.
func (d *graphDrawing) plainText(text string) string {
	if text = visible(text); !d.ASCII {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, text)
}

func (d *graphDrawing) heading(g graph.Group) {
	if g.Objective == nil {
		d.add(line{{"Threads elsewhere", bold}}, "", false)
		return
	}
	about := "  " + d.plainText(string(g.Objective.ID)) + ", " + string(g.Objective.Status)
	title := d.plainText(g.Objective.Title)
	if d.Width > 0 {
		title = cut(title, max(d.Width-cells(about), 8))
	}
	d.add(line{{title, bold}, {about, dim}}, "", false)
	if len(g.Roots) == 0 {
		d.add(line{{"  no threads", dim}}, "", false)
	}
}

func (d *graphDrawing) trees(trees []*graph.Tree, indent string) {
	for i, t := range trees {
		sign, below := d.signs.branch, d.signs.beside
		if i == len(trees)-1 {
			sign, below = d.signs.last, "   "
		}
		d.thread(t, indent+sign)
		next := indent + below
		d.relations(t, next)
		d.trees(t.Children, next)
	}
}

// shortIndent is an indent that leaves room for what follows it.
func (d *graphDrawing) shortIndent(indent string) string {
	return cutStart(indent, d.maxIndent())
}

// thread draws a thread's own line.
func (d *graphDrawing) thread(t *graph.Tree, indent string) {
	indent = d.shortIndent(indent)
	id := d.plainText(string(t.ID))
	if d.Width > 0 {
		id = cut(id, max(d.Width-cells(indent)-d.statusCells-gapCells, 4))
	}
	status := statusLabel(t.Thread)
	gap := max(d.idCells-cells(indent)-cells(id), 0) + gapCells
	l := line{{indent, dim}, {id, plain}, {strings.Repeat(" ", gap), plain}, {status, statusStyle(t.Thread)}}
	about := d.about(t)
	if len(about) > 0 {
		l = append(l, span{strings.Repeat(" ", d.statusCells-cells(status)+gapCells), plain})
	}
	left := d.Width - l.cells()
	for _, s := range about {
		if d.Width > 0 {
			s.text = cut(s.text, max(left, 0))
			left -= cells(s.text)
		}
		l = append(l, s)
	}
	d.add(l, t.ID, true)
}

// about is what follows a thread's status: its title, who has it, its run.
func (d *graphDrawing) about(t *graph.Tree) (out line) {
	if t.Title != "" {
		out = append(out, span{d.plainText(t.Title), plain})
	}
	var notes []string
	if t.Holder != "" {
		notes = append(notes, d.plainText(t.Holder))
	}
	if t.Run != "" && t.Run != thread.RunEnded {
		notes = append(notes, "run "+string(t.Run))
	}
	if len(notes) > 0 {
		out = append(out, span{" (" + strings.Join(notes, ", ") + ")", dim})
	}
	return out
}

// relations draws what a thread has to do with others, a line or more for each kind.
func (d *graphDrawing) relations(t *graph.Tree, indent string) {
	if len(t.Children) > 0 {
		indent += d.signs.beside
	} else {
		indent += "   "
	}
	begin := line{{d.shortIndent(indent), dim}}
	edges := d.edges[t.ID]
	for len(edges) > 0 {
		n := 1
		for n < len(edges) && verbOf(edges[n]) == verbOf(edges[0]) {
			n++
		}
		l := line{{verbOf(edges[0]) + " ", dim}}
		for i, e := range edges[:n] {
			if i > 0 {
				l = append(l, span{", ", dim})
			}
			l = append(l, d.relation(e)...)
		}
		rows := []line{l}
		if d.Width > 0 {
			rows = l.flow(max(d.Width-begin.cells(), 8))
		}
		for _, row := range rows {
			d.add(append(append(line{}, begin...), row...), t.ID, false)
		}
		edges = edges[n:]
	}
}

// verbOf is what the relation of a thread to another is called.
func verbOf(e graph.Edge) string {
	switch {
	case e.Kind == graph.DependsOn:
		return "depends on"
	case e.Kind == graph.Reference:
		return "reads"
	case e.Pending():
		return "merge pending from"
	}
	return "merged"
}

// relation is the other thread of a relation, with what there is to say about it.
func (d *graphDrawing) relation(e graph.Edge) line {
	other, note := e.To, ""
	switch e.Kind {
	case graph.DependsOn:
		note = d.status[e.To]
	case graph.Reference:
		note = string(e.Binding)
	default:
		other = e.From
	}
	l := line{{d.plainText(string(other)), plain}}
	if note != "" {
		l = append(l, span{" (" + note, dim})
	}
	switch {
	case e.Unresolved:
		l = append(l, span{", ", dim}, span{"unresolved", red})
	case e.Stale > 0:
		l = append(l, span{", ", dim}, span{"stale", magenta.strong()}, span{": " + many(e.Stale, "file"), dim})
	}
	if note != "" {
		l = append(l, span{")", dim})
	}
	return l
}

func statusWord(t graph.Thread) string {
	if t.Missing() {
		return "missing"
	}
	return string(t.Status)
}

func statusLabel(t graph.Thread) string {
	if t.Ready {
		return statusWord(t) + ", ready"
	}
	return statusWord(t)
}

func statusStyle(t graph.Thread) style {
	switch {
	case t.Missing():
		return red
	case t.Ready:
		return blue
	}
	return StatusCell(t.Status).style
}
