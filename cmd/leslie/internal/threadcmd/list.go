package threadcmd

import (
	"slices"
	"strings"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/screen"
	"leslie/thread"
)

type listText struct {
	*threads.ListResult
	tree bool
}

func (d listText) Text(p *page.Page) {
	columns := threadColumns(p)
	if d.tree {
		columns = slices.DeleteFunc(columns,
			func(col page.Column[app.ThreadItem]) bool { return col.Name == "PARENT" })
	}
	page.TableOf(p, d.Items.Items, columns)
	p.Rest(len(d.Items.Items), d.Total)
	ended := 0
	for _, t := range d.Items.Items {
		if t.Status == thread.Completed || t.Status == thread.Cancelled {
			ended++
		}
	}
	switch {
	case d.Archived > 0:
		p.Line("no threads match; %d archived: leslie list --all", d.Archived)
	case d.Total == 0:
		p.Line("no threads match")
	case ended >= manyEnded:
		p.Line("%d have ended; leslie archive ID... takes them out of this list", ended)
	}
}

// manyEnded is from how many ended threads on a list says how they leave it.
const manyEnded = 5

// silence says how long ago the holder of a claim was last heard of, behind a comma; "" where
// that is not worth a word.
func silence(claim *app.ClaimRecord) string {
	if claim == nil || claim.Silent < time.Minute && !claim.Unheard {
		return ""
	}
	return ", " + heardText(claim)
}

// heardText says how long ago the holder of a claim was last heard of.
func heardText(claim *app.ClaimRecord) string {
	if claim.Unheard {
		return "not heard of yet"
	}
	return "last heard of " + screen.Since(claim.Heard())
}

func statusWords() []string {
	var words []string
	for _, s := range thread.Statuses() {
		words = append(words, string(s))
	}
	return words
}

// List is the command leslie list.
func List() *cli.Command {
	return &cli.Command{
		Name: "list", Summary: "list threads", Example: "leslie list --ready",
		Detail: "CLAIM has who holds a thread, and how long ago the holder was last heard of if that is a minute or " +
			"more (at a terminal: ten minutes); with --time the column HEARD has it, in JSON heardAt.",
		Flags: append([]cli.Flag{
			cli.NewFlag("status",
				cli.OneOf(statusWords()...).As("S").Formerly(map[string]string{"blocked": "suspended"}),
				"only threads with this status: "+strings.Join(statusWords(), ", ")),
			cli.NewFlag("objective", cli.ID("ID", cli.ObjectiveIDs), "only threads of this objective"),
			cli.NewFlag("parent", cli.ID("ID", cli.ThreadIDs), "only children of this thread"),
			cli.NewFlag("tag", cli.Text("T").Offering(cli.TagNames), "only threads with this tag"),
			cli.NewFlag("executor", cli.OneOf(executorWords()...), "only threads for this executor"),
			cli.Toggle("ready", "only ready threads: active, unclaimed, nothing they wait for"),
			cli.SinceFlag("threads that changed"),
			cli.Toggle("all", "include archived threads"),
			cli.Toggle("tree", "children below their parents"),
			cli.LimitFlag(), cli.TimeFlag(),
		}, cli.HolderFlags()...),
		Run: runList,
	}
}

func runList(c *cli.Call) (cli.Data, error) {
	in := threads.ListRequest{
		Status: thread.Status(c.Text("status")), Objective: c.Text("objective"), Parent: c.Text("parent"),
		Tag:      c.Text("tag"),
		Executor: thread.Executor(c.Text("executor")), Ready: c.On("ready"), ActorFilter: c.ActorFilter(), All: c.On("all"),
		Tree:  c.On("tree"),
		Limit: c.Count("limit", app.DefaultLimit),
	}
	in.Since, in.From = c.ChangedSince()
	c.CheckRequest(in.Faults, nil)
	if c.PersonReads(c.Env.StdoutTTY) {
		in.Order = thread.ByUrgency
	}
	return cli.RunUseCase(c, threads.List, in, func(d *threads.ListResult) cli.Data { return listText{d, in.Tree} })
}
