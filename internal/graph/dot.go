package graph

import (
	"fmt"
	"strings"

	"leslie/thread"
)

// This file draws a graph in DOT, the language of Graphviz, https://graphviz.org/doc/info/lang.html.

// DOT returns the graph in the language of Graphviz. Titles are escaped: they can neither
// end their string nor add a node, an attribute or markup.
func (g Graph) DOT() string {
	var b strings.Builder
	b.WriteString("digraph threads {\n" +
		"  rankdir=TB;\n" +
		"  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n" +
		"  edge [fontname=\"sans-serif\", fontsize=10];\n")
	names := g.numbered()
	for i, group := range g.Groups() {
		if group.Objective != nil {
			fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s;\n", i+1, dotString(group.Objective.Title))
		}
		eachOf(group.Roots, func(t Thread) {
			lines := []string{string(t.ID)}
			if t.Title != "" && t.Title != string(t.ID) {
				lines = append(lines, t.Title)
			}
			p := paints()[t.Status]
			fmt.Fprintf(&b, "    %s [label=%s, fillcolor=\"%s\", color=\"%s\", fontcolor=\"%s\"];\n",
				names[t.ID], dotString(append(lines, t.label())...), p.fill, p.stroke, p.text)
		})
		if group.Objective != nil {
			b.WriteString("  }\n")
		}
	}
	for _, e := range g.edges(names) {
		fmt.Fprintf(&b, "  %s\n", e.dot(names[e.From], names[e.To]))
	}
	b.WriteString("}\n")
	return b.String()
}

// dot is the edge between two names. Only parents and dependencies say which thread is
// above which.
func (e Edge) dot(from, to string) string {
	label := dotString(e.Words())
	switch {
	case e.Kind == Parent:
		return to + " -> " + from + ";"
	case e.Kind == DependsOn:
		return to + " -> " + from + " [dir=back, color=\"#7c3aed\", label=" + label + "];"
	case e.Kind == Reference && e.Binding == thread.Frozen:
		return from + " -> " + to + " [constraint=false, style=dashed, label=" + label + e.dotColour() + "];"
	case e.Kind == Reference:
		return from + " -> " + to + " [constraint=false, label=" + label + e.dotColour() + "];"
	case e.Pending():
		return from + " -> " + to + " [constraint=false, style=dotted, penwidth=2, label=" + label + "];"
	}
	return from + " -> " + to + " [constraint=false, penwidth=2, label=" + label + "];"
}

// dotColour is the colour of a reference whose target has changed or cannot be read.
func (e Edge) dotColour() string {
	if e.Troubled() {
		return ", color=\"#b91c1c\", fontcolor=\"#b91c1c\""
	}
	return ""
}

// dotString is a string of some lines. Graphviz reads escapes and HTML entities in labels.
func dotString(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")
	for i, line := range lines {
		lines[i] = escape.Replace(shown(line))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}
