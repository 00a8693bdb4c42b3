package viewcmd

import (
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app/views"
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
	*views.GraphResult
	// Drawing is the graph in the language that was asked for, for those who read JSON or
	// YAML; text has its own.
	Drawing string `json:"drawing,omitempty"`
	ascii   bool
}

func (d graphText) Text(p *page.Page) {
	switch {
	case d.Drawing != "":
		p.Content("", strings.Split(strings.TrimSuffix(d.Drawing, "\n"), "\n")...)
	case len(d.Threads) == 0 && len(d.Objectives) == 0:
		p.Line("no threads")
	default:
		for _, row := range (screen.Graph{Graph: d.Graph, Width: p.Width, Colours: p.Coloured, ASCII: d.ascii}).Draw() {
			p.Line("%s", page.Styled(row.Text))
		}
	}
}

// Graph is the command leslie graph.
func Graph() *cli.Command {
	return &cli.Command{
		Name: "graph", Summary: "draw how threads belong together",
		Detail: "Parents, dependencies, references, and merges, made and pending. A stale reference is a frozen one " +
			"whose target has changed since. Mermaid and DOT (Graphviz) can be pasted into documents; data in JSON " +
			"has threads and edges, and the drawing only with --render.",
		Example: "leslie graph --render mermaid",
		Flags: []cli.Flag{
			cli.NewFlag("objective", cli.ID("ID", cli.ObjectiveIDs),
				"only threads of this objective, and those that they have to do with"),
			cli.NewFlag("render", cli.OneOf(renderText, renderMermaid, renderDOT), "how it is drawn (default text)"),
			cli.Toggle("all", "include archived threads"),
		},
		Run: runGraph,
	}
}

func runGraph(c *cli.Call) (cli.Data, error) {
	in := views.GraphRequest{Objective: c.Text("objective"), All: c.On("all")}
	render := c.Text("render")
	return cli.RunUseCase(c, views.Graph, in, func(r *views.GraphResult) cli.Data {
		d := graphText{GraphResult: r, ascii: OnlyASCII(c)}
		switch {
		case render == renderMermaid:
			d.Drawing = r.Mermaid()
		case render == renderDOT:
			d.Drawing = r.DOT()
		case render == renderText && c.Who.Format != "text":
			d.Drawing = plainDrawing(r)
		}
		return d
	})
}

// plainDrawing is a graph as text in lines of any length.
func plainDrawing(r *views.GraphResult) string {
	var b strings.Builder
	for _, row := range (screen.Graph{Graph: r.Graph}).Draw() {
		b.WriteString(row.Text + "\n")
	}
	return b.String()
}

// OnlyASCII reports whether a person's terminal shows nothing but ASCII: their locale says
// so. Without a locale it shows all.
func OnlyASCII(c *cli.Call) bool {
	if !c.PersonReads(c.Env.StdoutTTY) {
		return false
	}
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(c.Env.Getenv(key)); locale != "" {
			return !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
		}
	}
	return false
}
