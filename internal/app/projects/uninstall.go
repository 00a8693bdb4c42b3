package projects

import (
	"path/filepath"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/setup"
	"leslie/thread"
)

// This file takes everything of leslie out of a project: what Remove does, the pieces of Setup, and the worktrees and
// branches of threads.

// UninstallRequest takes everything of leslie out of a project.
type UninstallRequest struct {
	Yes bool // do it; otherwise the answer says what would go
	// KeepBranches leaves the branches of threads, with all of their commits.
	KeepBranches bool
	// DryRun: say what would go, and what stands in the way, which is an error otherwise.
	DryRun bool
	// Without is as in RemoveRequest.
	Without func(text []byte) []byte
}

// UninstallResult says what went, or would go.
type UninstallResult struct {
	RemoveResult
	Worktrees []UninstalledCode `json:"worktrees"`
	// Setup are the files that lose pieces of leslie setup.
	Setup []string `json:"setup"`
	// Blocked has, of a dry run, the threads whose work is nowhere else, each with what it is.
	Blocked []string `json:"blocked,omitempty"`
}

// UninstalledCode is the worktree of a thread, and its branch.
type UninstalledCode struct {
	ThreadID   thread.ThreadID `json:"threadId"`
	Worktree   string          `json:"worktree"` // absolute
	Branch     string          `json:"branch"`
	BranchKept bool            `json:"branchKept"`
}

// Uninstall takes everything of leslie out of a project. It refuses while an agent runs, and while a thread has work
// that is nowhere else: files that are not committed, or commits that no other branch has, unless branches are kept.
// What the user has in files of their own stays, because other projects need it. If it is interrupted, the same call
// again does the rest. Errors: T402 for an agent; T903 for what it refuses; those of Remove, Setup and code.Remove.
func Uninstall(c *app.Call, in UninstallRequest) (*UninstallResult, error) {
	if err := mayTakeOut(c, "leslie uninstall"); err != nil {
		return nil, err
	}
	d := &UninstallResult{RemoveResult: RemoveResult{Root: c.Project().Root(), Files: []string{}, Only: []OnlyRef{}},
		Worktrees: []UninstalledCode{}, Setup: []string{}}
	owners, err := d.look(c)
	if err != nil {
		return nil, err
	}
	nowhere, err := d.findCode(c, owners, in.KeepBranches)
	if err != nil {
		return nil, err
	}
	if d.Blocked = nowhere; len(nowhere) > 0 && !in.DryRun {
		hint := "Look with leslie code; commit the files or remove them, then land the work (leslie land ID), or throw it away (leslie drop ID)"
		if !in.KeepBranches {
			hint += ". leslie uninstall --keep-branches leaves the branches with what is committed"
		}
		return nil, codes.InvalidArgument.New(fact.Of("reason", "work of threads is nowhere else: "+strings.Join(nowhere, ", "))).
			WithHint(hint).WithNext("leslie code")
	}
	pieces := SetupRequest{Dir: d.Root, Scope: setup.ProjectScope, Remove: true, DryRun: !in.Yes}
	if !in.Yes {
		if _, err := d.find(c, in.Without); err != nil {
			return nil, err
		}
		return d, d.takePieces(c, pieces)
	}
	for i, t := range owners {
		call := c.ForCommand("code remove")
		removed, err := code.Remove(call, code.RemoveRequest{Thread: string(t.ID), DropBranch: !in.KeepBranches})
		c.Include(call)
		if err != nil {
			return nil, err
		}
		d.Worktrees[i].BranchKept = removed.BranchKept
		d.Changed = true
	}
	if err := d.takePieces(c, pieces); err != nil {
		return nil, err
	}
	found, err := d.find(c, in.Without)
	if err != nil {
		return nil, err
	}
	return d, d.take(c, found)
}

// findCode lists the worktrees of threads, and returns the threads with work that is nowhere else. Errors: T801, T805.
func (d *UninstallResult) findCode(c *app.Call, owners []thread.Thread, keepBranches bool) (nowhere []string, err error) {
	var own []string
	for _, t := range owners {
		if t.OwnedCode().Made.Branch {
			own = append(own, t.Branch)
		}
	}
	for _, t := range owners {
		one := UninstalledCode{t.ID, code.WorktreeDir(c, t), t.Branch, keepBranches || !t.OwnedCode().Made.Branch}
		kept, err := code.CheckRemovable(c, t)
		if err != nil {
			return nil, err
		}
		var work []string
		switch state := t.OwnedCode().State; state {
		case thread.CodeReady, thread.CodeLost, thread.CodeRemoving: // what code.Remove takes
		default:
			work = append(work, "its code is "+string(state))
		}
		if n := kept.Changed + kept.Untracked; n > 0 {
			work = append(work, fact.Plural(n, "uncommitted file"))
		}
		if !one.BranchKept {
			alone, err := onlyThere(c, t, own)
			if err != nil {
				return nil, err
			}
			if alone {
				work = append(work, "commits that only "+t.Branch+" has")
			}
		}
		if len(work) > 0 {
			nowhere = append(nowhere, string(t.ID)+" ("+strings.Join(work, ", ")+")")
		}
		d.Worktrees = append(d.Worktrees, one)
	}
	return nowhere, nil
}

// onlyThere reports whether the branch of a thread has commits that no branch has but those that go.
func onlyThere(c *app.Call, t thread.Thread, going []string) (bool, error) {
	repo, err := code.RepoOf(c, t)
	if err != nil {
		return false, err
	}
	tip, err := repo.Branch(c.Context(), t.Branch)
	if err != nil || tip == "" || tip == git.Commit(t.OwnedCode().Start) {
		return false, err
	}
	with, err := repo.BranchWith(c.Context(), tip, going...)
	return with == "", err
}

// takePieces takes the pieces of setup out of the project's files, or lists them.
func (d *UninstallResult) takePieces(c *app.Call, in SetupRequest) error {
	done, notes, err := Setup(c.Context(), *c.Project().Environment(), c.Caller(), in)
	c.Warn(notes...)
	if err != nil {
		return err
	}
	for _, f := range done.Files {
		d.Setup = append(d.Setup, filepath.ToSlash(f.Path))
	}
	return nil
}
