package threads

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merges"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
	"leslie/warnings"
)

// This file lets work on code begin with the code that it depends on.

// BringCode makes a worktree here for a thread whose code is on another machine, and returns it, "" for none. W816 says
// why that cannot be; elsewhere is that machine then. One that is here gets what others have sent since: see CatchUp.
func BringCode(c *app.Call, id thread.ThreadID) (worktree, elsewhere string) {
	if c.Project().Machine() == "" {
		return "", ""
	}
	t, err := code.Owner(c, string(id))
	if err != nil || !t.OwnedCode().IsCheckedOut() && !t.OwnedCode().RemovedElsewhere() {
		return "", ""
	}
	if t.OwnedCode().State == thread.CodeReady {
		code.CatchUp(c, t)
		return "", ""
	}
	c.Warn(t.UncommittedElsewhere(c.Project().Machine())...)
	call := c.ForCommand("code setup")
	d, err := code.Setup(call, code.SetupRequest{Thread: string(id)})
	c.Include(call)
	if err != nil {
		if e := codes.Of(err); e != nil {
			reason, brings := code.NotHere(err)
			reason, brings = cmp.Or(reason, strings.TrimSuffix(e.Error(), ".")), cmp.Or(brings, "leslie code setup "+string(id))
			switch e.Code() {
			case codes.LandingBlocked:
				reason = "in " + e.Facts().Text("path") + ", " + codes.Reason(e) + " (" + e.Facts().Text("paths") + ")"
				brings = "leslie code setup " + string(id) + ", once they are committed or moved,"
			case codes.Claimed:
				brings = "leslie claim " + string(id) + " --take-over --reason TEXT"
			}
			c.Warn(warnings.CommitsNotHere.New(fact.Of("threadId", id), fact.Of("machine", t.OwnedCode().Machine),
				fact.Of("reason", reason), fact.Of("next", brings)))
		}
		return "", t.OwnedCode().Machine
	}
	return d.Worktree, ""
}

// BeginWithDependencies brings a thread that has no commit of its own yet the code of what it depends on, as leslie
// pull does, and returns of which threads. Where that is not possible without a decision, nothing is brought:
// context and the claim name the line that brings it.
func BeginWithDependencies(c *app.Call, id thread.ThreadID) (brought []thread.ThreadID) {
	var t thread.Thread
	var ready []thread.ThreadID
	fromTarget := map[thread.ThreadID]string{} // what landed there, and is removed
	if _, err := c.View(func(s *thread.State) (err error) {
		ready = nil
		if t, err = s.OwnCode(string(id), thread.CodeReady); err != nil || !t.OwnedCode().Made.Worktree {
			return err
		}
		for _, on := range t.DependsOn {
			dependency, _ := s.Threads.Peek(string(on))
			owned := dependency.OwnedCode()
			switch {
			case owned == nil || dependency.Status != thread.Completed:
			case owned.State == thread.CodeReady:
				ready = append(ready, on)
			default:
				if l, landed := owned.LastLanded(); landed && "refs/heads/"+l.Onto == t.OwnedCode().Target {
					fromTarget[on] = l.Commit
				}
			}
		}
		return nil
	}); err != nil || len(ready)+len(fromTarget) == 0 || !unbegun(c, t) {
		return nil
	}
	pull := func(from string, only string) bool {
		call := c.ForCommand("pull")
		result, err := merges.Pull(call, merges.PullRequest{Thread: string(t.ID), From: from, Only: only, Strategy: strategyOf(only)})
		if err == nil {
			c.Include(call)
		}
		return err == nil && result.Status == merging.Merged
	}
	if landed := lacked(c, t, fromTarget); len(landed) > 0 && pull(app.BranchOf(t.OwnedCode().Target), "") {
		brought = landed
	}
	for _, on := range ready {
		if pull(string(on), merging.OnlyCode) {
			brought = append(brought, on)
		}
	}
	return brought
}

// strategyOf is how a pull decides conflicts: not at all. A branch of no thread knows no strategies.
func strategyOf(only string) thread.Strategy {
	if only == "" {
		return ""
	}
	return thread.Strict
}

// unbegun reports whether a thread's branch is where it began, and its worktree has nothing that is not committed.
func unbegun(c *app.Call, t thread.Thread) bool {
	repo, err := code.RepoOf(c, t)
	if err != nil {
		return false
	}
	dir, owned := code.WorktreeDir(c, t), t.OwnedCode()
	if code.FolderMissing(dir) || code.FolderMissing(owned.Admin) {
		return false
	}
	w := repo.Worktree(dir, owned.Admin)
	status, err := w.Status(c.Context())
	return err == nil && status.Clean() && status.Branch == t.Branch && string(status.Head) == owned.Start && w.Busy() == ""
}

// lacked returns the threads whose landed commits a thread's branch lacks.
func lacked(c *app.Call, t thread.Thread, landed map[thread.ThreadID]string) (out []thread.ThreadID) {
	repo, err := code.RepoOf(c, t)
	if err != nil {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(landed)) {
		has, err := repo.Contains(c.Context(), git.Commit(t.OwnedCode().Start), git.Commit(landed[id]))
		if err == nil && !has {
			out = append(out, id)
		}
	}
	return out
}
