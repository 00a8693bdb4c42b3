package viewcmd

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/mergecmd"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app/views"
	"leslie/internal/fact"
	"leslie/internal/report"
)

// reportData says what a report has and where it is.
type reportData struct {
	Path       string `json:"path"` // absolute
	Bytes      int    `json:"bytes"`
	Objectives int    `json:"objectives"`
	Threads    int    `json:"threads"`
	Merges     int    `json:"merges"`
	Operations int    `json:"operations"`
	shown      string
}

func (d reportData) Text(p *page.Page) {
	p.Line("wrote %s: %s, %s, %s", d.shown, fact.Plural(d.Threads, "thread"), fact.Plural(d.Merges, "merge"),
		fact.Plural(d.Operations, "operation"))
}

// Report is the command leslie report.
func Report() *cli.Command {
	return &cli.Command{
		Name: "report", Summary: "write a report as one HTML page",
		Detail: "Objectives, the graph, threads over time, merges and who decided, approvals and questions, errors, " +
			"usage and cost of each agent, and the history with a search. The page needs no network and loads " +
			"nothing. It replaces an earlier report, and no other file. With --watch it is written anew after " +
			"operations that somebody records, until interrupted; reload it in the browser.",
		Example: "leslie report --html report.html",
		Flags: []cli.Flag{
			cli.NewFlag("html", cli.Text("FILE").Required(), "the page to write"),
			cli.NewFlag("objective", cli.ID("ID", cli.ObjectiveIDs),
				"only threads of this objective, and those that they have to do with"),
			cli.Toggle("all", "include archived threads"),
			cli.Toggle("watch", "write the page anew when something has changed"),
		},
		Streams: watchingReport, Run: runReport,
	}
}

// watchingReport is for lines that write a page again and again, and tell each time.
func watchingReport(l cli.Line) bool { return l.Has("watch") }

func runReport(c *cli.Call) (cli.Data, error) {
	c.Require("html")
	if c.Text("html") == "-" {
		c.Fault("--html", "-", "--html is a file: the answer goes to standard output")
	}
	in := views.ReportRequest{Objective: c.Text("objective"), All: c.On("all")}
	if err := c.Usage(); err != nil {
		return nil, err
	}
	path := c.Text("html")
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Who.Dir, path)
	}
	if err := mayReplace(path, c.Text("html")); err != nil {
		return nil, err
	}
	op, err := c.Open()
	if err != nil {
		return nil, err
	}
	write := func(r *views.ReportResult) (cli.Data, error) { return writeReport(c, path, r) }
	if !c.On("watch") {
		r, err := views.Report(op, in)
		if err != nil {
			return nil, err
		}
		return write(r)
	}
	wrote := false
	d, err := c.Stream(func(emit func(cli.Data) error) error {
		return views.WatchReport(op, in, func(r *views.ReportResult) error {
			d, err := write(r)
			if err != nil {
				return err
			}
			wrote = true
			return emit(d)
		})
	})
	if failure := codes.Of(err); failure != nil && wrote {
		failure = failure.With(fact.Of("changed", true))
		if failure.Code() == codes.Interrupted {
			failure = failure.WithHint(c.Text("html") + " stays as it was last written")
		}
		return d, failure
	}
	return d, err
}

// writeReport writes a page as a whole: whoever loads it meanwhile gets the one before.
func writeReport(c *cli.Call, path string, r *views.ReportResult) (cli.Data, error) {
	var b bytes.Buffer
	if err := report.Write(&b, r, c.Env.Version); err != nil {
		return nil, codes.Internal.Wrap(err, fact.Of("reason", "the report cannot be written"))
	}
	if err := mergecmd.ReplaceFile(c, path, b.Bytes()); err != nil {
		return nil, err
	}
	return reportData{
		Path: path, Bytes: b.Len(), Objectives: len(r.Objectives), Threads: len(r.Threads), Merges: len(r.Merges),
		Operations: len(r.History), shown: c.Text("html"),
	}, nil
}

// mayReplace returns T903 for a file that is no report: whoever names a file by accident
// must not lose it.
func mayReplace(path, named string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // it does not exist, or writing says what is wrong
	}
	defer f.Close()
	begin, err := io.ReadAll(io.LimitReader(f, 256))
	if info, statErr := f.Stat(); err == nil && statErr == nil && info.Mode().IsRegular() &&
		(len(begin) == 0 || report.Is(begin)) {
		return nil
	}
	return codes.InvalidArgument.New(fact.Of("reason",
		"'"+named+"' is there and is no report of leslie: name another file"), fact.Of("path", named))
}
