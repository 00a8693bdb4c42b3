package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

type listText struct{ *app.ListResult }

func (d listText) Text(p *page) {
	var rows [][]string
	for _, t := range d.Items.Items {
		parent := ""
		if t.ParentID != nil {
			parent = string(*t.ParentID)
		}
		rows = append(rows, []string{string(t.ThreadID), string(t.Status), string(t.Executor), string(t.ObjectiveID), parent, cut(t.Title, 60)})
	}
	p.table("THREAD STATUS EXECUTOR OBJECTIVE PARENT TITLE", rows)
	p.rest(len(rows), d.Total)
	if d.Total == 0 {
		p.line("no threads match")
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
			limitFlag(),
		},
		run: runList,
	}
}

func runList(c *call) (Data, error) {
	in := app.ListRequest{
		Status: thread.Status(c.text("status")), Objective: c.text("objective"), Parent: c.text("parent"), Tag: c.text("tag"),
		Executor: thread.Executor(c.text("executor")), Ready: c.on("ready"), All: c.on("all"), Limit: c.count("limit", app.DefaultLimit),
	}
	return runUseCase(c, app.List, in, func(d *app.ListResult) Data { return listText{d} })
}
