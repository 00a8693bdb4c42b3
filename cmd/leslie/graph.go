package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
)

// The languages in which a graph is drawn.
const (
	renderText    = "text"
	renderMermaid = "mermaid"
	renderDOT     = "dot"
)

// graphText is a graph in one of these languages.
type graphText struct {
	*app.GraphResult
	// Drawing is the graph in the language that was asked for, for those who read JSON or
	// YAML; text has its own.
	Drawing string `json:"drawing,omitempty"`
	ascii   bool
}

func (d graphText) Text(p *page) {
	switch {
	case d.Drawing != "":
		p.content("", strings.Split(strings.TrimSuffix(d.Drawing, "\n"), "\n")...)
	case len(d.Threads) == 0 && len(d.Objectives) == 0:
		p.line("no threads")
	default:
		for _, row := range (screen.Graph{Graph: d.Graph, Width: p.width, Colours: p.coloured, ASCII: d.ascii}).Draw() {
			p.line("%s", styled(row.Text))
		}
	}
}

func graphCommand() *command {
	return &command{
		name: "graph", summary: "draw how threads belong together",
		detail: "Parents, dependencies, references, and merges, made and pending. A stale reference is a frozen one whose target has changed " +
			"since. Mermaid and DOT (Graphviz) can be pasted into documents; data in JSON has threads and edges, and the drawing only with --render.",
		example: "leslie graph --render mermaid",
		flags: []cli.Flag{
			newOption("objective", anID("ID", objectiveIDs), "only threads of this objective, and those that they have to do with"),
			newOption("render", oneOf(renderText, renderMermaid, renderDOT), "how it is drawn (default text)"),
			toggle("all", "include archived threads"),
		},
		run: runGraph,
	}
}

func runGraph(c *call) (Data, error) {
	in := app.GraphRequest{Objective: c.text("objective"), All: c.on("all")}
	render := c.text("render")
	return runUseCase(c, app.Graph, in, func(r *app.GraphResult) Data {
		d := graphText{GraphResult: r, ascii: onlyASCII(c)}
		switch {
		case render == renderMermaid:
			d.Drawing = r.Mermaid()
		case render == renderDOT:
			d.Drawing = r.DOT()
		case render == renderText && c.who.format != "text":
			d.Drawing = plainDrawing(r)
		}
		return d
	})
}

// plainDrawing is a graph as text in lines of any length.
func plainDrawing(r *app.GraphResult) string {
	var b strings.Builder
	for _, row := range (screen.Graph{Graph: r.Graph}).Draw() {
		b.WriteString(row.Text + "\n")
	}
	return b.String()
}

// onlyASCII reports whether a person's terminal shows nothing but ASCII: their locale says
// so. Without a locale it shows all.
func onlyASCII(c *call) bool {
	if !personReads(c, c.env.stdoutTTY) {
		return false
	}
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(c.env.getenv(key)); locale != "" {
			return !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
		}
	}
	return false
}
