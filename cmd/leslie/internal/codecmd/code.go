package codecmd

import (
	"strconv"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/thread"
)

type codeText struct{ *code.ListResult }

func (d codeText) Text(p *page.Page) {
	commits := func(n *int) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(*n)
	}
	page.TableOf(p, d.Items.Items, []page.Column[code.Item]{
		{Column: screen.Column{Name: "THREAD"},
			Cell: page.Text(func(i code.Item) thread.ThreadID { return i.ThreadID })},
		{Column: screen.Column{Name: "STATE"}, Cell: page.Text(code.Item.Standing)},
		{Column: screen.Column{Name: "BRANCH", Shrinks: true}, Cell: page.Text(codeBranch)},
		{Column: screen.Column{Name: "TARGET", DropOrder: 3, Shrinks: true},
			Cell: page.Text(func(i code.Item) string { return app.OrZero(i.Target) }), HideIfEmpty: true},
		{Column: screen.Column{Name: "AHEAD"}, Cell: page.Text(func(i code.Item) string { return commits(i.Ahead) }),
			HideIfEmpty: true},
		{Column: screen.Column{Name: "BEHIND"}, Cell: page.Text(func(i code.Item) string { return commits(i.Behind) }),
			HideIfEmpty: true},
		{Column: screen.Column{Name: "LINES", DropOrder: 4}, Cell: page.Text(codeLines), HideIfEmpty: true},
		{Column: screen.Column{Name: "CONFLICTS"}, Cell: page.Text(codeConflicts), HideIfEmpty: true},
		{Column: screen.Column{Name: "CHANGED"}, Cell: page.Text(func(i code.Item) string { return commits(i.Dirty) }),
			HideIfEmpty: true},
		{Column: screen.Column{Name: "NEW"}, Cell: page.Text(func(i code.Item) string { return commits(i.Untracked) }),
			HideIfEmpty: true},
		{Column: screen.Column{Name: "HEAD", DropOrder: 1},
			Cell: page.Text(codeHead), HideIfEmpty: true},
		{Column: screen.Column{Name: "WORKTREE", DropOrder: 2, Shrinks: true, CutStart: true},
			Cell: page.Text(codeWorktree), HideIfEmpty: true},
	})
	p.Rest(len(d.Items.Items), d.Total)
	for _, i := range d.Items.Items {
		if i.Pushed != nil {
			p.Line("%s: %s has %s that %s lacks", i.ThreadID, i.Pushed.Upstream, fact.Plural(i.Pushed.Commits, "commit"), i.Branch)
		}
		if i.Left != nil {
			p.Line("%s: here is %s", i.ThreadID, page.LeftText(*i.Left, p.Place(i.Left.Worktree)))
		}
		for _, l := range i.Later {
			p.Line("%s: %s", i.ThreadID, page.LaterText(l))
		}
		if l := i.LandedElsewhere; l != nil {
			p.Line("%s: landed on another machine as %s, which %s here does not have yet (git pull, once it is pushed)",
				i.ThreadID, short(&l.Commit), l.Place())
		}
		if i.Moved != "" {
			p.Line("%s: %s", i.ThreadID, i.Moved)
		}
		if i.Late {
			p.Line("%s: git did not say all of it in time", i.ThreadID)
		}
	}
	switch {
	case d.Archived > 0:
		p.Line("only archived threads own code: %d (leslie list --all; leslie diff ID shows what one has landed)", d.Archived)
	case d.Total == 0:
		p.Line("no thread owns code; leslie spawn --code makes one that does")
	}
}

// codeHead is the commit that a thread's branch has, or with which it landed.
func codeHead(i code.Item) string {
	if i.Head == nil && i.LandedAs != nil {
		return short(&i.LandedAs.Commit)
	}
	return short(i.Head)
}

// codeWorktree is where a thread's worktree is, "" for one that was removed.
func codeWorktree(i code.Item) string {
	if i.State == thread.CodeRemoved {
		return ""
	}
	return i.Worktree
}

// codeLines is how many lines a thread's commits change.
func codeLines(i code.Item) string {
	if i.Files == nil || *i.Files == 0 {
		return ""
	}
	return "+" + strconv.Itoa(*i.Added) + " -" + strconv.Itoa(*i.Removed)
}

// codeConflicts is the number of paths in which a thread's code conflicts with its target.
func codeConflicts(i code.Item) string {
	if i.Conflicts == nil || len(*i.Conflicts) == 0 {
		return ""
	}
	return strconv.Itoa(len(*i.Conflicts))
}

type codePairsText struct{ *code.PairsResult }

func (d codePairsText) Text(p *page.Page) {
	for _, pair := range d.Items.Items {
		p.Line("%s and %s conflict in %s", pair.Threads[0], pair.Threads[1], app.Joined(pair.Paths))
	}
	if d.Total == 0 && d.Complete {
		p.Line("no two threads' code conflicts")
	}
	if !d.Complete {
		p.Line("not every pair could be compared")
	}
	p.Field("order", app.Joined(d.Order))
}

// codeBranch is a thread's branch, and what its worktree has checked out instead.
func codeBranch(i code.Item) string {
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
	text := app.OrZero(commit)
	return text[:min(len(text), 8)]
}

// Code is the command leslie code.
func Code() *cli.Command {
	return &cli.Command{
		Name: "code", Summary: "show branches and worktrees of threads that own code: what is committed and what is " +
			"not",
		Detail: "CHANGED and NEW are files that are not committed; HEAD of what has landed and was removed is the commit that landed it. Without ids: all threads that own code (leslie " +
			"spawn --code).",
		Example:  "leslie code write-docs",
		Operands: []cli.Operand{cli.ListedThreads()},
		Flags: append(cli.HolderFlags(),
			cli.Toggle("pairs", "which threads' code conflicts with which, and an order to merge them"), cli.LimitFlag()),
		Run: runCode,
	}
}

// List is for those who expect it beside the other lists.
func List() *cli.Command {
	cmd := Code()
	cmd.Name, cmd.Summary, cmd.Example = "code list", "the same as leslie code",
		"leslie code list"
	return cmd
}

func runCode(c *cli.Call) (cli.Data, error) {
	in := code.ListRequest{Threads: c.Flags.Args().Slice(), ActorFilter: c.ActorFilter()}
	c.CheckRequest(in.Faults, nil)
	if c.On("pairs") {
		in.Limit = c.Count("limit", 0)
		return cli.RunUseCase(c, code.Pairs, in, func(d *code.PairsResult) cli.Data { return codePairsText{d} })
	}
	in.Limit = c.Count("limit", app.DefaultLimit)
	data, err := cli.RunUseCase(c, code.List, in, func(d *code.ListResult) cli.Data { return codeText{d} })
	return data, c.MeantSubcommand(err, "code", in.Threads...)
}

type codeSetupText struct{ *code.SetupResult }

func (d codeSetupText) Text(p *page.Page) {
	if !d.Changed {
		p.Line("nothing changed")
	}
	p.Line("code of %s  %s", d.ThreadID, d.State)
	p.Field("branch", d.Branch)
	p.Field("worktree", d.Worktree)
	if d.Setup != nil {
		p.Field("setup", "ended with status "+strconv.Itoa(d.Setup.Exit))
	}
}

// Setup is the command leslie code setup.
func Setup() *cli.Command {
	return &cli.Command{
		Name: "code setup", Summary: "make a thread's worktree ready on this machine: finish it, copy what .worktreeinclude names, " +
			"run code.setup", Writes: true, NotBatchable: true,
		Example: "leslie code setup write-docs", Operands: []cli.Operand{cli.ThreadOperand()}, Run: runCodeSetup,
	}
}

func runCodeSetup(c *cli.Call) (cli.Data, error) {
	return cli.RunUseCase(c, code.Setup, code.SetupRequest{Thread: c.TargetThread()},
		func(d *code.SetupResult) cli.Data { return codeSetupText{d} })
}
