package codecmd

import (
	"cmp"
	"fmt"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app/code"
	"leslie/internal/fact"
	"leslie/thread"
)

type codeRemoveText struct{ *code.RemoveResult }

func (d codeRemoveText) Text(p *page.Page) {
	if d.DryRun {
		d.foreseen(p)
		return
	}
	switch {
	case d.State == nil:
		p.Line("%s no longer owns its worktree, which leslie did not make and leaves where it is", d.ThreadID)
	case *d.State == thread.CodeLost:
		p.Line("code of %s  lost: its folder is not there, and nothing could be kept", d.ThreadID)
	case *d.State == thread.CodeElsewhere:
		p.Line("removed what was left here of %s, whose worktree is on another machine", d.ThreadID)
	default:
		p.Line("code of %s  removed", d.ThreadID)
	}
	p.Field("worktree", d.Worktree)
	branch := d.Branch
	switch {
	case !d.BranchKept:
		branch += " (deleted: " + cmp.Or(d.Ref, "another branch") + " has its commits)"
	case d.Besides > 0:
		branch += " (stays: it has " + fact.Plural(d.Besides, "commit") + " that the thread's own lacks; leslie status names them)"
	}
	p.Field("branch", branch)
	if d.Rescue != nil {
		p.Field("kept in", d.Rescue.Ref)
	}
}

// foreseen is the answer of a dry run.
func (d codeRemoveText) foreseen(p *page.Page) {
	switch {
	case d.State == nil:
		p.Line("%s would no longer own its worktree, which leslie did not make and would leave where it is", d.ThreadID)
	case *d.State == thread.CodeLost:
		p.Line("code of %s  is lost: its folder is not there, and nothing could be kept", d.ThreadID)
	case *d.State == thread.CodeElsewhere:
		p.Line("would remove what is left here of %s, whose worktree is on another machine", d.ThreadID)
	default:
		p.Line("would remove code of %s", d.ThreadID)
	}
	p.Field("worktree", d.Worktree)
	branch := d.Branch + " (stays)"
	if !d.BranchKept {
		branch = d.Branch + " (would be deleted: another branch has its commits)"
	}
	p.Field("branch", branch)
	if r := d.Rescue; r != nil {
		p.Field("would keep", fmt.Sprintf("%d changed, %d new, %d ignored", r.Changed, r.Untracked, r.Ignored))
	}
	p.Line("nothing was changed")
}

// Remove is the command leslie code remove.
func Remove() *cli.Command {
	return &cli.Command{
		Name: "code remove", Summary: "remove a thread's worktree; what is not committed is kept", Writes: true,
		NotBatchable: true,
		Detail: "The branch stays, unless leslie made it and it has landed. leslie code restore brings everything " +
			"back. A worktree that leslie did not make stays where it is; the thread only no longer owns it. One that is left " +
			"here of a thread whose worktree is on another machine goes if all of it is committed.",
		Example:  "leslie code remove write-docs",
		Operands: []cli.Operand{cli.ThreadOperand()},
		Flags:    []cli.Flag{cli.Toggle("dry-run", "show what would be removed without changing anything")},
		Run:      runCodeRemove,
	}
}

func runCodeRemove(c *cli.Call) (cli.Data, error) {
	return cli.RunUseCase(c, code.Remove, code.RemoveRequest{Thread: c.TargetThread(), DryRun: c.On("dry-run")},
		func(d *code.RemoveResult) cli.Data { return codeRemoveText{d} })
}

type codeRestoreText struct{ *code.RestoreResult }

func (d codeRestoreText) Text(p *page.Page) {
	if !d.Changed {
		p.Line("nothing changed")
	}
	p.Line("code of %s  %s", d.ThreadID, d.State)
	p.Field("worktree", d.Worktree)
	p.Field("branch", d.Branch)
	p.Field("with the work of", d.Rescued)
	if d.BranchMade != "" && !d.BranchSent {
		p.Line("the branch was gone, and is made again at %s, where its worktree had it last", d.BranchMade[:12])
	}
	if d.BranchSent {
		p.Line("the branch was gone, and is made again at %s, which was sent last", d.BranchMade[:12])
		for _, later := range d.Later {
			p.Line("  a later commit, which no branch has: %s %s (git -C %s merge %s)", later.Commit[:12], later.Subject, p.Place(d.Worktree), later.Commit[:12])
		}
		switch {
		case !d.Searched:
			p.Line("git fsck --lost-found finds what was committed after that")
		case len(d.Later) == 0:
			p.Line("git has no later commit of it")
		}
	}
}

// Restore is the command leslie code restore.
func Restore() *cli.Command {
	return &cli.Command{
		Name: "code restore", Summary: "bring a thread's worktree back, with what was not committed", Writes: true,
		NotBatchable: true,
		Example:      "leslie code restore write-docs", Operands: []cli.Operand{cli.ThreadOperand()},
		Run: runCodeRestore,
	}
}

func runCodeRestore(c *cli.Call) (cli.Data, error) {
	return cli.RunUseCase(c, code.Restore, code.RestoreRequest{Thread: c.TargetThread()},
		func(d *code.RestoreResult) cli.Data { return codeRestoreText{d} })
}

type codeRepairText struct{ *code.RepairResult }

func (d codeRepairText) Text(p *page.Page) {
	for _, r := range d.Repaired {
		p.Line("found %s  %s", r.ThreadID, r.Worktree)
	}
	for _, l := range d.Left {
		p.Line("left %s  %s", l.ThreadID, l.Reason)
	}
	if len(d.Repaired)+len(d.Left) == 0 {
		p.Line("every worktree is where it was")
	}
}

// Repair is the command leslie code repair.
func Repair() *cli.Command {
	return &cli.Command{
		Name: "code repair", Summary: "find worktrees again after the project or they were moved, as git worktree " +
			"repair does", Writes: true, NotBatchable: true,
		Detail: "DIR is where a worktree is now. It is found without where it was, beside that, and in the same " +
			"place from the moved project. A copy of the project never takes the worktrees of the project that it " +
			"was copied from.",
		Example: "leslie code repair", Operands: []cli.Operand{{Value: cli.Text("DIR"), Optional: true, Many: true}},
		Run: runCodeRepair,
	}
}

func runCodeRepair(c *cli.Call) (cli.Data, error) {
	in := code.RepairRequest{}
	for _, dir := range c.Flags.Args().Slice() {
		in.Folders = append(in.Folders, c.FromDir(dir))
	}
	return cli.RunUseCase(c, code.Repair, in, func(d *code.RepairResult) cli.Data { return codeRepairText{d} })
}

type codePruneText struct{ *code.PruneResult }

func (d codePruneText) Text(p *page.Page) {
	verb := "removed"
	if d.DryRun {
		verb = "would remove"
	}
	for _, r := range d.Removed {
		p.Line("%s %s  %s", verb, r.ThreadID, cmp.Or(r.Worktree, "branch "+r.Branch))
		for _, remote := range r.Remotes {
			p.Line("  %s still has its branch: git push %s --delete %s", remote, remote, r.Branch)
		}
	}
	for _, l := range d.Left {
		p.Line("left %s  %s", l.ThreadID, l.Reason)
	}
	for _, r := range d.Refs {
		p.Line("%s %s  %s", verb, r.Ref, r.Reason)
	}
	for _, r := range d.Kept {
		why := "no branch has these commits of " + string(r.ThreadID)
		if r.Squashed {
			why = "the commits of " + string(r.ThreadID) + " that landed as one"
		}
		p.Line("left %s until %s  %s (--refs deletes it now)", r.Ref, r.Until.Format(time.DateOnly), why)
	}
	if len(d.Removed)+len(d.Left)+len(d.Refs)+len(d.Kept) == 0 {
		p.Line("nothing to prune: no ended thread has a worktree here")
	}
}

// Prune is the command leslie code prune.
func Prune() *cli.Command {
	return &cli.Command{
		Name: "code prune", Summary: "remove the worktrees of ended threads whose code has landed, or is on another machine", Writes: true,
		Unrecorded: true,
		Detail: "Only where nothing is left uncommitted. The others stay, with the reason. A ref that keeps what a removed " +
			"worktree had goes once a branch has all of it, or after code.keep (30 days).",
		Example: "leslie code prune --dry-run",
		Flags: []cli.Flag{cli.Toggle("refs", "delete what is kept of removed worktrees now, too: then nothing brings that back"),
			cli.Toggle("dry-run", "show what would be removed without changing anything")},
		Run: runCodePrune,
	}
}

func runCodePrune(c *cli.Call) (cli.Data, error) {
	return cli.RunUseCase(c, code.Prune, code.PruneRequest{DryRun: c.On("dry-run"), Refs: c.On("refs")},
		func(d *code.PruneResult) cli.Data { return codePruneText{d} })
}
