package code

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
	"leslie/warnings"
)

// This file makes a worktree on this machine for code whose worktree is on another one: in the
// folder that has the branch checked out, if there is one here, as when the thread comes back, else
// in a new one.

// comeHere begins to make the worktree of code that is elsewhere, and returns the thread with it
// "making". Errors: T802 for commits that are not here, T803, T806 for local work in the folder
// that has the branch checked out, those of a write.
func comeHere(c *app.Call, repo *git.Repo, t thread.Thread) (thread.Thread, error) {
	ctx, owned := c.Context(), t.OwnedCode()
	mayCome := func(s *thread.State) error { return s.MayBringCode(t.ID, c.Project().IsHere, c.Stamp()) }
	if _, err := c.View(mayCome); err != nil { // before a branch moves
		return t, err
	}
	if owned.RemovedElsewhere() { // from here on it is as any that another machine has
		t.Code = slices.Clone(t.Code)
		t.Code[0].State = thread.CodeElsewhere
		owned = t.OwnedCode()
		if err := arrive(c, repo, t); err != nil {
			return t, err
		}
	}
	if owned.Sent == nil {
		if at, err := repo.Resolve(ctx, owned.Start); err != nil || at == "" {
			return t, cmp.Or(err, error(thread.NotSent(t)))
		}
	}
	in, err := repo.CheckedOut(ctx, t.Branch)
	if err != nil {
		return t, err
	}
	var dir string
	if in != nil && !in.Missing {
		dir = in.Dir
		if sent := owned.Sent; sent != nil {
			if err := forward(c, repo, t, in.Head, git.Commit(sent.Tip)); err != nil {
				return t, err
			}
			takeAnew(c, repo, t, in.Head) // where it cannot be, W809 says so
		}
	} else {
		names, err := NamesNow(c, repo)
		if err != nil {
			return t, err
		}
		if dir, _, err = names.MakeWorktrees(c); err != nil {
			return t, err
		}
		if dir, err = freeFolder(ctx, repo, filepath.Join(dir, string(t.ID))); err != nil {
			return t, err
		}
		spec := git.WorktreeSpec{Dir: dir, Branch: t.Branch, Start: git.Commit(owned.Start)}
		if tip, err := repo.Branch(ctx, t.Branch); err != nil {
			return t, err
		} else if tip != "" {
			spec.Existing, spec.Start = true, tip
		}
		if err := repo.Check(ctx, spec); err != nil {
			return t, err
		}
	}
	err = between(c, func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) {
		if err := mayCome(s); err != nil {
			return t, err
		}
		if err := c.RespectClaim(s, string(t.ID), stamp); err != nil {
			return t, err
		}
		now, err := s.BringCode(t.ID, repo.Admin, c.Project().Worktree(dir), stamp)
		if err == nil {
			t = now
		}
		return now, err
	})
	if err != nil {
		return t, err
	}
	tip, err := repo.Branch(ctx, t.Branch)
	if err == nil {
		WarnOfPushed(ctx, c, repo, t, tip)
	}
	return t, err
}

// freeFolder returns a name for the folder of a worktree, dir unless that is a worktree of another branch: as of a
// thread of the same id that another project's log had.
func freeFolder(ctx context.Context, repo *git.Repo, dir string) (string, error) {
	all, err := repo.Worktrees(ctx)
	name := dir
	for n := 2; slices.ContainsFunc(all, func(w git.Listed) bool { return w.Dir == name }); n++ {
		name = dir + "-" + strconv.Itoa(n)
	}
	return name, err
}

// branchAgain makes a branch that leslie made, and that is gone here, as after a landing, where its worktree had it
// last, else where the thread's machine has sent it last. It returns that commit, "" if the branch was not made, and
// whether it is what was sent. Errors: a *notCome, those of git.
func branchAgain(c *app.Call, repo *git.Repo, t thread.Thread) (at git.Commit, isSent bool, err error) {
	ctx, code := c.Context(), t.OwnedCode()
	tip, err := repo.Branch(ctx, t.Branch)
	if err != nil || tip != "" || !code.Made.Branch {
		return "", false, err
	}
	from := "its worktree"
	if last := repo.Worktree("", code.Admin).LastTip(t.Branch); last != "" {
		if at, err = repo.Resolve(ctx, string(last)); err != nil {
			return "", false, err
		}
	}
	if at == "" && code.Sent != nil {
		fetch := func(branch string) error { return repo.Fetch(ctx, branch) }
		if err := commitsCome(c, repo, t, *code.Sent, fetch); err != nil {
			return "", false, err
		}
		at, isSent, from = git.Commit(code.Sent.Tip), true, code.Sent.Machine
	}
	if at == "" {
		return "", false, nil
	}
	return at, isSent, unlessMoved(repo.UpdateRef(ctx, "refs/heads/"+t.Branch, at, "", "leslie: from "+from))
}

// catchUp moves the branch of a thread whose worktree is here, in a project on several machines, forward to what others
// have sent or pushed of it since. W809 names commits that stay beside the branch.
func catchUp(c *app.Call, repo *git.Repo, t thread.Thread) {
	if c.Project().Machine() == "" || t.OwnedCode().State != thread.CodeReady {
		return
	}
	tip, err := repo.Branch(c.Context(), t.Branch)
	if err != nil || tip == "" {
		return
	}
	if takeAnew(c, repo, t, tip) {
		return
	}
	u, ahead := pushed(c.Context(), repo, t, tip)
	if ahead && (u.Behind > 0 || forward(c, repo, t, tip, u.Commit) != nil) {
		c.Warn(t.CodeBehind(u.Name, u.Ahead, bringingLine(c, repo, t, tip, u)))
	}
}

// takeAnew moves the branch of a thread, at tip, to what another machine has sent of it last, if that machine has made
// anew all that this one has: as with a rebase, or an amended commit. What is not committed here keeps the branch where
// it is.
func takeAnew(c *app.Call, repo *git.Repo, t thread.Thread, tip git.Commit) (taken bool) {
	sent := t.OwnedCode().Sent
	if !madeAnew(c, t, tip) {
		return false
	}
	if at, err := repo.Resolve(c.Context(), sent.Tip); err != nil || at == "" {
		return false
	}
	if repo.MoveTo(c.Context(), git.Landing{Branch: t.Branch, Old: tip, New: git.Commit(sent.Tip)}) != nil {
		return false
	}
	warnMadeAnew(c, t, tip)
	return true
}

// warnMadeAnew adds W819 for the branch of a thread that was at tip, and is now where madeAnew says.
func warnMadeAnew(c *app.Call, t thread.Thread, tip git.Commit) {
	c.Warn(warnings.BranchReplaced.New(fact.Of("threadId", t.ID), fact.Of("branch", t.Branch),
		fact.Of("was", string(tip)[:12]), fact.Of("machine", t.OwnedCode().Sent.Machine)))
}

// madeAnew reports whether the branch of a thread was at tip, where it is here, before another machine sent it as it is
// now: that machine had all that this one has, and has it otherwise.
func madeAnew(c *app.Call, t thread.Thread, tip git.Commit) bool {
	code, own := t.OwnedCode(), c.Project().Machine()
	return own != "" && code.Made.Branch && code.Sent != nil && code.Sent.Machine != own && code.Sent.Tip != string(tip) &&
		slices.Contains(code.Sent.Was, string(tip))
}

// CatchUp moves the branch of a thread whose worktree is here forward to what others have sent or pushed of it since. W816
// says what did not come, and W809 names commits that stay beside the branch.
func CatchUp(c *app.Call, t thread.Thread) {
	look := c.ForCommand("code")
	look.ReadOnly()
	repo, err := RepoOf(look, t)
	c.Warn(look.Warnings()...)
	if err == nil {
		catchUp(c, repo, t)
	}
}

// forward moves a branch that is checked out here, and is at from, to a later commit of it, with its files. A branch that
// has commits of its own stays where it is. Errors: T805, T806, T808.
func forward(c *app.Call, repo *git.Repo, t thread.Thread, from, to git.Commit) error {
	if to == from {
		return nil
	}
	if ahead, err := repo.Contains(c.Context(), to, from); err != nil || !ahead {
		return err
	}
	err := repo.Land(c.Context(), git.Landing{Branch: t.Branch, Old: from, New: to})
	if e := codes.Of(err); codes.Has(err, codes.LandingBlocked) {
		return e.WithHint("Commit or move these files in the worktree that has " + t.Branch + " checked out here (git worktree list), then repeat the call").
			WithNext("leslie code " + string(t.ID))
	}
	return err
}

// between records an operation that is not the answer of the caller's request.
func between(c *app.Call, do func(*thread.State, thread.Stamp) (thread.Thread, error)) error {
	request := c.Request().ID
	c.Request().ID = ""
	_, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*app.Change, thread.ThreadID, error) {
		t, err := do(s, stamp)
		return &app.Change{}, t.ID, err
	})
	c.GoOn()
	c.Request().ID, c.Request().Expect = request, nil
	return err
}
