package graph

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"leslie/internal/fact"
	"leslie/thread"
)

// This file draws a graph as a Mermaid flowchart, https://mermaid.js.org/syntax/flowchart.html.

// paint is how a status looks: a fill, a border and a text that can be read on it, whatever
// is around it.
type paint struct {
	name               string
	fill, stroke, text string
}

// paints are the paints of the statuses, and the one of what is missing.
func paints() map[thread.Status]paint {
	return map[thread.Status]paint{
		thread.Active:       {"active", "#dbeafe", "#1d4ed8", "#172554"},
		thread.Suspended:    {"suspended", "#fef3c7", "#b45309", "#451a03"},
		thread.WaitingHuman: {"waiting", "#ffedd5", "#c2410c", "#431407"},
		thread.Completed:    {"completed", "#dcfce7", "#15803d", "#052e16"},
		thread.Cancelled:    {"cancelled", "#f3f4f6", "#6b7280", "#374151"},
		thread.Archived:     {"archived", "#f3f4f6", "#9ca3af", "#4b5563"},
		"":                  {"missing", "#fee2e2", "#b91c1c", "#450a0a"},
	}
}

// numbered gives threads short names, because no language takes every id.
func (g Graph) numbered() map[thread.ThreadID]string {
	names := make(map[thread.ThreadID]string, len(g.Threads))
	for i, t := range g.Threads {
		names[t.ID] = "t" + strconv.Itoa(i+1)
	}
	return names
}

// edges are the edges whose ends both have names.
func (g Graph) edges(names map[thread.ThreadID]string) (out []Edge) {
	for _, e := range g.Edges {
		if names[e.From] != "" && names[e.To] != "" {
			out = append(out, e)
		}
	}
	return out
}

// label is what a thread's box says, without its title.
func (t Thread) label() string {
	switch {
	case t.Missing():
		return "missing"
	case t.Ready:
		return string(t.Status) + ", ready"
	}
	return string(t.Status)
}

// Mermaid returns the graph as a Mermaid flowchart. Titles are escaped: they can neither
// end their label nor add a line, a link or markup.
func (g Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TB\n")
	names := g.numbered()
	for i, group := range g.Groups() {
		if group.Objective != nil {
			fmt.Fprintf(&b, "  subgraph o%d[\"%s\"]\n", i+1, mermaidText(group.Objective.Title))
		}
		eachOf(group.Roots, func(t Thread) {
			lines := []string{"<b>" + mermaidText(string(t.ID)) + "</b>"}
			if t.Title != "" && t.Title != string(t.ID) {
				lines = append(lines, mermaidText(t.Title))
			}
			lines = append(lines, mermaidText(t.label()))
			fmt.Fprintf(&b, "    %s[\"%s\"]:::%s\n", names[t.ID], strings.Join(lines, "<br/>"), paints()[t.Status].name)
		})
		if group.Objective != nil {
			b.WriteString("  end\n")
		}
	}
	var troubled []string
	for i, e := range g.edges(names) {
		fmt.Fprintf(&b, "  %s\n", e.mermaid(names[e.From], names[e.To]))
		if e.Troubled() {
			troubled = append(troubled, strconv.Itoa(i))
		}
	}
	if len(troubled) > 0 {
		fmt.Fprintf(&b, "  linkStyle %s stroke:#b91c1c,color:#b91c1c\n", strings.Join(troubled, ","))
	}
	for _, status := range append(thread.Statuses(), "") {
		p := paints()[status]
		fmt.Fprintf(&b, "  classDef %s fill:%s,stroke:%s,color:%s\n", p.name, p.fill, p.stroke, p.text)
	}
	return b.String()
}

// mermaid is the edge between two names.
func (e Edge) mermaid(from, to string) string {
	switch {
	case e.Kind == Parent:
		return to + " --> " + from
	case e.Kind == Merge && e.Pending():
		return from + " -.->|\"" + e.Words() + "\"| " + to
	case e.Kind == Merge:
		return from + " ==>|\"" + e.Words() + "\"| " + to
	case e.Kind == Reference && e.Binding == thread.Frozen:
		return from + " -.->|\"" + e.Words() + "\"| " + to
	}
	return from + " -->|\"" + e.Words() + "\"| " + to
}

// Words is what an edge says about itself.
func (e Edge) Words() string {
	switch e.Kind {
	case DependsOn:
		return "depends on"
	case Merge:
		if e.Pending() {
			return "merge pending"
		}
		return "merged"
	case Reference:
		text := "reads"
		if e.Binding == thread.Frozen {
			text = "reads frozen"
		}
		switch {
		case e.Unresolved:
			text += ", unresolved"
		case e.Stale > 0:
			text += ", stale"
		}
		return text
	}
	return string(e.Kind)
}

// eachOf calls do for each thread of some trees, parents first.
func eachOf(trees []*Tree, do func(Thread)) {
	for _, t := range trees {
		do(t.Thread)
		eachOf(t.Children, do)
	}
}

// mermaidText is a text inside a quoted label. All but letters, digits and a few signs that
// mean nothing anywhere become character codes (#34; is a quotation mark), among them the
// colon, which lets Mermaid take a line for a style.
func mermaidText(text string) string {
	var b strings.Builder
	for _, r := range shown(text) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune(" -_.,/()+=?!", r) || r > unicode.MaxASCII {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// shown is a text in one line: what controls a terminal, or hides or reorders other
// characters, becomes an escape.
func shown(text string) string { return fact.Visible(text, fact.Hidden) }
