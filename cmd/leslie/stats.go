package main

import (
	"strconv"

	"leslie/internal/app"
)

type statsText struct{ *app.StatsResult }

func (d statsText) Text(p *page) {
	d.runs(p)
	if d.Since == nil {
		p.line("the log is empty")
		return
	}
	p.line("since %s: %s, %s", *d.Since, many(d.Errors, "error"), many(d.Warnings, "warning"))
	var rows [][]string
	for _, s := range d.Codes {
		median, most := "", ""
		if s.Calls != nil {
			median, most = strconv.Itoa(s.Calls.Median), strconv.Itoa(s.Calls.Max)
		}
		rows = append(rows, []string{s.Code, strconv.Itoa(s.Count), strconv.Itoa(s.Recovered), median, most, s.Kind})
	}
	p.table("CODE COUNT RECOVERED CALLS MAX KIND", rows)
	rows = nil
	for _, s := range d.Commands {
		rows = append(rows, []string{s.Command, strconv.Itoa(s.Errors), strconv.Itoa(s.Warnings)})
	}
	p.table("COMMAND ERRORS WARNINGS", rows)
}

// runs shows what agents have used, together
// and each by itself.
func (d statsText) runs(p *page) {
	if d.Runs == nil {
		return
	}
	p.field("runs", totalsText(d.Runs))
	var rows [][]string
	for _, a := range d.Runs.Agents {
		tokens := ""
		if n, known := a.Used.Tokens(); known {
			tokens = strconv.FormatInt(n, 10)
		}
		rows = append(rows, []string{a.Agent, strconv.Itoa(a.Runs), strconv.Itoa(a.Turns), tokens, costText(a.Used.Cost)})
	}
	p.table("AGENT RUNS TURNS TOKENS COST", rows)
}

func statsCommand() *command {
	return &command{
		name: "stats", summary: "count errors, warnings, calls until recovery, and what agents have used",
		example: "leslie stats", run: runStats,
	}
}

func runStats(c *call) (Data, error) {
	return runUseCase(c, app.Stats, app.StatsRequest{}, func(d *app.StatsResult) Data { return statsText{d} })
}
