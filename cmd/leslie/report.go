package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
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

func (d reportData) Text(p *page) {
	p.line("wrote %s: %s, %s, %s", d.shown, many(d.Threads, "thread"), many(d.Merges, "merge"), many(d.Operations, "operation"))
}

func reportCommand() *command {
	return &command{
		name: "report", summary: "write a report as one HTML page",
		detail: "Objectives, the graph, threads over time, merges and who decided, approvals and questions, errors, usage and cost of each " +
			"agent, and the history with a search. The page needs no network and loads nothing. It replaces an earlier report, and no other file. " +
			"With --watch it is written anew after operations that somebody records, until interrupted; reload it in the browser.",
		example: "leslie report --html report.html",
		flags: []cli.Flag{
			newOption("html", anyText("FILE").required(), "the page to write"),
			newOption("objective", anID("ID", objectiveIDs), "only threads of this objective, and those that they have to do with"),
			toggle("all", "include archived threads"),
			toggle("watch", "write the page anew when something has changed"),
		},
		streams: watchingReport, run: runReport,
	}
}

// watchingReport is for lines that write a page again and again, and tell each time.
func watchingReport(l line) bool { return l.has("watch") }

func runReport(c *call) (Data, error) {
	c.require("html")
	if c.text("html") == "-" {
		c.fault("--html", "-", "--html is a file: the answer goes to standard output")
	}
	in := app.ReportRequest{Objective: c.text("objective"), All: c.on("all")}
	if err := c.usage(); err != nil {
		return nil, err
	}
	path := c.text("html")
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.who.dir, path)
	}
	if err := mayReplace(path, c.text("html")); err != nil {
		return nil, err
	}
	op, err := c.open()
	if err != nil {
		return nil, err
	}
	write := func(r *app.ReportResult) (Data, error) { return writeReport(c, path, r) }
	if !c.on("watch") {
		r, err := app.Report(op, in)
		if err != nil {
			return nil, err
		}
		return write(r)
	}
	return rendering{c}.stream(func(emit func(Data) error) error {
		return app.WatchReport(op, in, func(r *app.ReportResult) error {
			d, err := write(r)
			if err != nil {
				return err
			}
			return emit(d)
		})
	})
}

// writeReport writes a page as a whole: whoever loads it meanwhile gets the one before.
func writeReport(c *call, path string, r *app.ReportResult) (Data, error) {
	var b bytes.Buffer
	if err := report.Write(&b, r, version); err != nil {
		return nil, codes.Internal.Wrap(err, fact.Of("reason", "the report cannot be written"))
	}
	if err := replaceFile(c, path, b.Bytes()); err != nil {
		return nil, err
	}
	return reportData{
		Path: path, Bytes: b.Len(), Objectives: len(r.Objectives), Threads: len(r.Threads), Merges: len(r.Merges), Operations: len(r.History), shown: c.text("html"),
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
	if info, statErr := f.Stat(); err == nil && statErr == nil && info.Mode().IsRegular() && (len(begin) == 0 || report.Is(begin)) {
		return nil
	}
	return codes.InvalidArgument.New(fact.Of("reason", "'"+named+"' is there and is no report of leslie: name another file"), fact.Of("path", named))
}
