package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/thread"
)

type updateText struct{ *app.UpdateResult }

func (d updateText) Text(p *page) {
	if !d.Changed {
		p.line("nothing changed")
	}
	threadText(p, d.ThreadRecord)
}

func updateCommand() *command {
	return &command{
		name: "update", summary: "change a thread's title, intent, tags, dependencies, branch or worktree", writes: true,
		detail: "--branch \"\" and --worktree \"\" clear the field. With a new intent, a title that was the first line of the old one becomes " +
			"the first line of the new one.",
		example:  "leslie update thread-a1b2c3d4 --tag +api --depends-on +thread-e5f6g7h8",
		operands: []operand{threadOperand()},
		flags: []cli.Flag{
			newOption("title", anyText("T"), "the new title, at most 200 characters"),
			newOption("intent", anyText("TEXT"), "the new intent, at most 64 KiB; - reads standard input"),
			newOption("tag", edits("+T|-T"), "add or remove a tag; can be repeated"),
			newOption("depends-on", edits("+ID|-ID"), "add or remove a dependency; can be repeated"),
			newOption("branch", anyText("B").orEmpty(), "the git branch of the thread's code"),
			newOption("worktree", anyText("DIR").orEmpty(), "the git worktree of the thread's code"),
		},
		run: runUpdate,
	}
}

func runUpdate(c *call) (Data, error) {
	in := app.UpdateRequest{Thread: c.targetThread(), Edit: thread.Edit{Title: c.optional("title"), Intent: c.optional("intent"), Branch: c.optional("branch")}}
	in.AddTags, in.DropTags = c.edits("tag")
	in.AddDepends, in.DropDepend = c.edits("depends-on")
	c.checkRequest(in.Faults, map[string]string{"AddTags": "--tag", "AddDepends": "--depends-on"})
	flags := []string{"title", "intent", "tag", "depends-on", "branch", "worktree"}
	if !slices.ContainsFunc(flags, c.has) && !slices.ContainsFunc(flags, c.faulty) {
		c.fault("flags", "", "say what is to change: --title, --intent, --tag, --depends-on, --branch or --worktree")
	}
	if in.Intent != nil && len(c.faults) == 0 { // else standard input is left unread
		text := c.readContent("intent", app.MaxContent)
		in.Intent = &text
	}
	if dir := c.optional("worktree"); dir != nil {
		place := fromDir(c, *dir)
		in.Worktree = &place
	}
	data, err := runUseCase(c, app.Update, in, func(d *app.UpdateResult) Data { return updateText{d} })
	return data, c.asUsageError(err, "depends-on")
}

// edits sorts "+VALUE" and "-VALUE".
func (c *given) edits(flag string) (add, drop []string) {
	for _, v := range c.texts(flag) {
		if v[0] == '+' {
			add = append(add, v[1:])
		} else {
			drop = append(drop, v[1:])
		}
	}
	return add, drop
}
