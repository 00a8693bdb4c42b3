package historycmd

import (
	"strconv"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app/history"
	"leslie/internal/fact"
)

type statsText struct{ *history.StatsResult }

func (d statsText) Text(p *page.Page) {
	d.runs(p)
	if d.Since == nil {
		p.Line("the log is empty")
		return
	}
	p.Line("since %s: %s, %s", *d.Since, fact.Plural(d.Errors, "error"), fact.Plural(d.Warnings, "warning"))
	var rows [][]string
	for _, s := range d.Codes {
		median, most := "", ""
		if s.Calls != nil {
			median, most = strconv.Itoa(s.Calls.Median), strconv.Itoa(s.Calls.Max)
		}
		rows = append(rows, []string{s.Code, strconv.Itoa(s.Count), strconv.Itoa(s.Recovered), median, most, s.Kind})
	}
	p.Table("CODE COUNT RECOVERED CALLS MAX KIND", rows)
	rows = nil
	for _, s := range d.Commands {
		rows = append(rows, []string{s.Command, strconv.Itoa(s.Errors), strconv.Itoa(s.Warnings)})
	}
	p.Table("COMMAND ERRORS WARNINGS", rows)
}

// runs shows what agents have used, together
// and each by itself.
func (d statsText) runs(p *page.Page) {
	if d.Runs == nil {
		return
	}
	p.Field("runs", page.TotalsText(d.Runs))
	var rows [][]string
	for _, a := range d.Runs.Agents {
		tokens := ""
		if n, known := a.Used.Tokens(); known {
			tokens = strconv.FormatInt(n, 10)
		}
		rows = append(rows, []string{a.Agent, strconv.Itoa(a.Runs), strconv.Itoa(a.Turns), tokens,
			page.CostText(a.Used.Cost)})
	}
	p.Table("AGENT RUNS TURNS TOKENS COST", rows)
}

// Stats is the command leslie stats.
func Stats() *cli.Command {
	return &cli.Command{
		Name: "stats", Summary: "count errors, warnings, calls until recovery, and what agents have used",
		Example: "leslie stats", Run: runStats,
	}
}

func runStats(c *cli.Call) (cli.Data, error) {
	return cli.RunUseCase(c, history.Stats, history.StatsRequest{},
		func(d *history.StatsResult) cli.Data { return statsText{d} })
}
