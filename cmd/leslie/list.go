package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

type listText struct {
	*app.ListResult
	tree bool
}

func (d listText) Text(p *page) {
	columns := d.columns()
	var header []string
	rows := make([][]string, len(d.Items.Items))
	for _, column := range columns {
		header = append(header, column.name)
		for i, t := range d.Items.Items {
			rows[i] = append(rows[i], column.of(t))
		}
	}
	p.table(strings.Join(header, " "), rows)
	p.rest(len(rows), d.Total)
	if d.Total == 0 {
		p.line("no threads match")
	}
}

// listColumn is a column of the list.
type listColumn struct {
	name string
	of   func(app.ThreadItem) string
	used bool // only where some thread has it
}

// columns are the columns that the list shows: claim and tags if a thread has any, and
// no parents in a tree.
func (d listText) columns() []listColumn {
	all := []listColumn{
		{"THREAD", func(t app.ThreadItem) string { return strings.Repeat("  ", depthOf(t)) + string(t.ThreadID) }, false},
		{"STATUS", func(t app.ThreadItem) string { return string(t.Status) }, false},
		{"EXECUTOR", func(t app.ThreadItem) string { return string(t.Executor) }, false},
		{"OBJECTIVE", func(t app.ThreadItem) string { return string(t.ObjectiveID) }, false},
		{"PARENT", parentOf, false},
		{"CLAIM", func(t app.ThreadItem) string {
			if t.Claim == nil {
				return ""
			}
			return cut(t.Claim.Holder, 30)
		}, true},
		{"TAGS", func(t app.ThreadItem) string { return cut(strings.Join(t.Tags, ","), 30) }, true},
		{"TITLE", func(t app.ThreadItem) string { return cut(t.Title, 60) }, false},
	}
	return slices.DeleteFunc(all, func(column listColumn) bool {
		some := slices.ContainsFunc(d.Items.Items, func(t app.ThreadItem) bool { return column.of(t) != "" })
		return column.name == "PARENT" && d.tree || column.used && !some
	})
}

// depthOf is a thread's depth in a tree, 0 in a list.
func depthOf(t app.ThreadItem) int {
	if t.Depth == nil {
		return 0
	}
	return *t.Depth
}

func parentOf(t app.ThreadItem) string {
	if t.ParentID == nil {
		return ""
	}
	return string(*t.ParentID)
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
			limitFlag(),
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
	return runUseCase(c, app.List, in, func(d *app.ListResult) Data { return listText{d, in.Tree} })
}
