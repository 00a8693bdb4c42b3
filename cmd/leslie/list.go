package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/thread"
)

type listItem struct {
	ThreadID    thread.ThreadID    `json:"threadId"`
	Title       string             `json:"title"`
	Status      thread.Status      `json:"status"`
	Executor    thread.Executor    `json:"executor"`
	ObjectiveID thread.ObjectiveID `json:"objectiveId"`
	ParentID    *thread.ThreadID   `json:"parentId"`
}

type listData struct{ items[listItem] }

func (d *listData) Text(p *page) {
	var rows [][]string
	for _, t := range d.Items {
		parent := ""
		if t.ParentID != nil {
			parent = string(*t.ParentID)
		}
		rows = append(rows, []string{string(t.ThreadID), string(t.Status), string(t.Executor), string(t.ObjectiveID), parent, cut(t.Title, 60)})
	}
	p.table("THREAD STATUS EXECUTOR OBJECTIVE PARENT TITLE", rows)
	p.rest(len(d.Items), d.Total)
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
		teach: lesson{starting, "list --ready"},
		flags: []cli.Flag{
			newOption("status", oneOf(statusWords()...).as("S"), "only of this status: "+strings.Join(statusWords(), ", ")),
			newOption("objective", anID("ID", objectiveIDs), "only of this objective"),
			newOption("parent", anID("ID", threadIDs), "only children of this thread"),
			newOption("tag", anyText("T"), "only with this tag"),
			newOption("executor", oneOf(executorWords()...), "only for this executor"),
			toggle("ready", "only what could be taken up now: active, unclaimed, every dependency terminated"),
			toggle("all", "archived threads too"),
			limitFlag(),
		},
		run: runList,
	}
}

func runList(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	limit := c.count("limit", defaultLimit)
	var page thread.Page
	_, err := c.view(func(s *thread.State) error {
		f, err := c.filter(s)
		if err != nil {
			return err
		}
		page, err = s.First(f, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	rows := make([]listItem, len(page.Threads))
	for i, t := range page.Threads {
		rows[i] = listItem{t.ID, t.Title, t.Status, t.Executor, t.ObjectiveID, orNull(t.ParentID)}
	}
	return &listData{items[listItem]{Items: rows, Total: page.Total, Truncated: len(rows) < page.Total}}, nil
}

func (c *call) filter(s *thread.State) (thread.Filter, error) {
	f := thread.Filter{
		Status: thread.Status(c.text("status")), Tag: c.text("tag"), Executor: thread.Executor(c.text("executor")),
		Ready: c.on("ready"), Now: c.now(), All: c.on("all"),
	}
	if id := c.text("objective"); id != "" {
		o, err := s.Objective(id)
		if err != nil {
			return f, err
		}
		f.Objective = o.ID
	}
	if id := c.text("parent"); id != "" {
		t, err := s.Thread(id)
		if err != nil {
			return f, err
		}
		f.Parent = t.ID
	}
	return f, nil
}
