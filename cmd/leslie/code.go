package main

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
)

type codeText struct{ *app.CodeResult }

func (d codeText) Text(p *page) {
	commits := func(n *int) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(*n)
	}
	tableOf(p, d.Items.Items, []column[app.CodeItem]{
		{Column: screen.Column{Name: "THREAD"}, cell: text(func(i app.CodeItem) thread.ThreadID { return i.ThreadID })},
		{Column: screen.Column{Name: "STATE"}, cell: text(codeWords)},
		{Column: screen.Column{Name: "BRANCH", Shrinks: true}, cell: text(codeBranch)},
		{Column: screen.Column{Name: "TARGET", Goes: 3, Shrinks: true}, cell: text(func(i app.CodeItem) string { return orZero(i.Target) }), used: true},
		{Column: screen.Column{Name: "AHEAD"}, cell: text(func(i app.CodeItem) string { return commits(i.Ahead) }), used: true},
		{Column: screen.Column{Name: "BEHIND"}, cell: text(func(i app.CodeItem) string { return commits(i.Behind) }), used: true},
		{Column: screen.Column{Name: "CONFLICTS"}, cell: text(codeConflicts), used: true},
		{Column: screen.Column{Name: "CHANGED"}, cell: text(func(i app.CodeItem) string { return commits(i.Dirty) }), used: true},
		{Column: screen.Column{Name: "NEW"}, cell: text(func(i app.CodeItem) string { return commits(i.Untracked) }), used: true},
		{Column: screen.Column{Name: "HEAD", Goes: 1}, cell: text(func(i app.CodeItem) string { return short(i.Head) }), used: true},
		{Column: screen.Column{Name: "WORKTREE", Goes: 2, Shrinks: true, CutStart: true}, cell: text(func(i app.CodeItem) string { return i.Worktree })},
	})
	if d.Total == 0 {
		p.line("no thread owns code; leslie spawn --code makes one that does")
	}
}

// codeWords is the state of a thread's code in words.
func codeWords(i app.CodeItem) string {
	switch {
	case orZero(i.Busy) != "":
		return *i.Busy
	case orZero(i.Landed) && i.State == thread.CodeReady:
		return "landed"
	}
	return string(i.State)
}

// codeConflicts is the number of paths in which a thread's code conflicts with its target.
func codeConflicts(i app.CodeItem) string {
	if i.Conflicts == nil || len(*i.Conflicts) == 0 {
		return ""
	}
	return strconv.Itoa(len(*i.Conflicts))
}

type codePairsText struct{ *app.CodePairsResult }

func (d codePairsText) Text(p *page) {
	for _, pair := range d.Items.Items {
		p.line("%s and %s conflict in %s", pair.Threads[0], pair.Threads[1], joined(pair.Paths))
	}
	if d.Total == 0 && d.Complete {
		p.line("no two threads' code conflicts")
	}
	if !d.Complete {
		p.line("not every pair could be compared")
	}
	p.field("order", joined(d.Order))
}

// codeBranch is a thread's branch, and what its worktree has checked out instead.
func codeBranch(i app.CodeItem) string {
	switch {
	case i.CheckedOut == nil:
		return i.Branch
	case *i.CheckedOut == "":
		return i.Branch + " (detached)"
	}
	return i.Branch + " (" + *i.CheckedOut + ")"
}

// short is the beginning of a commit's id.
func short(commit *string) string {
	text := orZero(commit)
	return text[:min(len(text), 8)]
}

func codeCommand() *command {
	return &command{
		name: "code", summary: "show branches and worktrees of threads that own code: what is committed and what is not",
		hint:     hint{watching, "code ID"},
		detail:   "CHANGED and NEW are files that are not committed. Without ids: all threads that own code (leslie spawn --code).",
		example:  "leslie code thread-a1b2c3d4",
		operands: []operand{{value: anID("ID", threadIDs), optional: true, many: true}},
		flags:    []cli.Flag{toggle("pairs", "which threads' code conflicts with which, and an order to merge them")}, run: runCode,
	}
}

// codeListCommand is for those who expect it beside the other lists.
func codeListCommand() *command {
	cmd := codeCommand()
	cmd.name, cmd.summary, cmd.hint, cmd.example = "code list", "the same as leslie code", hint{}, "leslie code list"
	return cmd
}

func runCode(c *call) (Data, error) {
	in := app.CodeRequest{Threads: c.flags.Args().Slice()}
	if c.on("pairs") {
		return runUseCase(c, app.CodePairs, in, func(d *app.CodePairsResult) Data { return codePairsText{d} })
	}
	data, err := runUseCase(c, app.Code, in, func(d *app.CodeResult) Data { return codeText{d} })
	return data, c.meantSubcommand(err, "code", in.Threads...)
}

type codeSetupText struct{ *app.CodeSetupResult }

func (d codeSetupText) Text(p *page) {
	if !d.Changed {
		p.line("nothing changed")
	}
	p.line("code of %s  %s", d.ThreadID, d.State)
	p.field("branch", d.Branch)
	p.field("worktree", d.Worktree)
	if d.Setup != nil {
		p.field("setup", "ended with status "+strconv.Itoa(d.Setup.Exit))
	}
}

func codeSetupCommand() *command {
	return &command{
		name: "code setup", summary: "make a thread's worktree ready: finish it, copy what .worktreeinclude names, run code.setup", writes: true, notBatchable: true,
		example: "leslie code setup thread-a1b2c3d4", operands: []operand{threadOperand()}, run: runCodeSetup,
	}
}

func runCodeSetup(c *call) (Data, error) {
	return runUseCase(c, app.CodeSetup, app.CodeSetupRequest{Thread: c.targetThread()}, func(d *app.CodeSetupResult) Data { return codeSetupText{d} })
}
