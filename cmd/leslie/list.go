package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
)

type listText struct {
	*app.ListResult
	tree bool
}

func (d listText) Text(p *page) {
	columns := []column[app.ThreadItem]{
		{Column: screen.Column{Name: "THREAD"}, cell: text(func(t app.ThreadItem) string { return strings.Repeat("  ", orZero(t.Depth)) + string(t.ThreadID) })},
		{Column: screen.Column{Name: "STATUS"}, cell: func(t app.ThreadItem) screen.Cell { return screen.Status(t.Status) }},
		{Column: screen.Column{Name: "EXECUTOR", Goes: 1}, cell: text(func(t app.ThreadItem) thread.Executor { return t.Executor })},
		{Column: screen.Column{Name: "OBJECTIVE", Goes: 3}, cell: text(func(t app.ThreadItem) thread.ObjectiveID { return t.ObjectiveID })},
		{Column: screen.Column{Name: "PARENT", Goes: 2}, cell: text(func(t app.ThreadItem) thread.ThreadID { return orZero(t.ParentID) })},
		{Column: screen.Column{Name: "CLAIM", Goes: 6, Shrinks: true}, cell: text(func(t app.ThreadItem) string { return orZero(t.Claim).Holder }), most: 30, used: true},
		{Column: screen.Column{Name: "RUN", Goes: 7}, cell: text(shortRun), used: true},
		{Column: screen.Column{Name: "TAGS", Goes: 4, Shrinks: true}, cell: text(func(t app.ThreadItem) string { return strings.Join(t.Tags, ",") }), most: 30, used: true},
		{Column: screen.Column{Name: "UPDATED", Goes: 5}, cell: func(t app.ThreadItem) screen.Cell { return p.when(&t.UpdatedAt) }, extra: true},
		{Column: screen.Column{Name: "TITLE", Shrinks: true}, cell: text(func(t app.ThreadItem) string { return t.Title }), most: 60},
	}
	if d.tree {
		columns = slices.DeleteFunc(columns, func(col column[app.ThreadItem]) bool { return col.Name == "PARENT" })
	}
	tableOf(p, d.Items.Items, columns)
	p.rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.line("no threads match")
	}
}

// shortRun says how a thread's run stands: its phase, or how it stopped, and its turns.
func shortRun(t app.ThreadItem) string {
	switch r := t.Run; {
	case r == nil:
		return ""
	case r.Phase == thread.RunWanted:
		return string(r.Phase)
	case r.Stop != "":
		return string(r.Stop) + ", " + many(r.Turns, "turn")
	default:
		return string(r.Phase) + ", " + many(r.Turns, "turn")
	}
}

func statusWords() []string {
	var words []string
	for _, s := range thread.Statuses() {
		words = append(words, string(s))
	}
	return words
}

func executorWords() []string { return []string{string(thread.ByHuman), string(thread.ByAgent)} }

func listCommand() *command {
	return &command{
		name: "list", summary: "list threads", example: "leslie list --ready",
		hint: hint{starting, "list --ready"},
		flags: []cli.Flag{
			newOption("status", oneOf(statusWords()...).as("S").formerly(map[string]string{"blocked": "suspended"}), "only threads with this status: "+strings.Join(statusWords(), ", ")),
			newOption("objective", anID("ID", objectiveIDs), "only threads of this objective"),
			newOption("parent", anID("ID", threadIDs), "only children of this thread"),
			newOption("tag", anyText("T"), "only threads with this tag"),
			newOption("executor", oneOf(executorWords()...), "only threads for this executor"),
			toggle("ready", "only ready threads: active, unclaimed, all dependencies terminated"),
			toggle("all", "include archived threads"),
			toggle("tree", "children below their parents"),
			limitFlag(), timeFlag(),
		},
		run: runList,
	}
}

func runList(c *call) (Data, error) {
	in := app.ListRequest{
		Status: thread.Status(c.text("status")), Objective: c.text("objective"), Parent: c.text("parent"), Tag: c.text("tag"),
		Executor: thread.Executor(c.text("executor")), Ready: c.on("ready"), All: c.on("all"), Tree: c.on("tree"),
		Limit: c.count("limit", app.DefaultLimit),
	}
	if personReads(c, c.env.stdoutTTY) {
		in.Order = thread.ByUrgency
	}
	return runUseCase(c, app.List, in, func(d *app.ListResult) Data { return listText{d, in.Tree} })
}
