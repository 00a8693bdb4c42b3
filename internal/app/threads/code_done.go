package threads

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
	"leslie/warnings"
)

// This file looks, before a thread is completed, whether its branch has its work.

// LeaveUncommitted is a value of LifecycleRequest.Uncommitted.
const LeaveUncommitted = "leave"

// leftBehind is what of a thread's code is not on its branch, as git sees it. The zero
// value is nothing.
type leftBehind struct {
	thread  thread.ThreadID
	left    thread.CodeLeft
	reasons []string
	facts   []fact.Fact
	astray  int // commits that its worktree has, and its branch lacks
}

// uncommitted looks at the code of a thread that is to be completed. What git cannot say
// within code.OverlapTime is left out, and so is code in another repository. Errors: T904.
func uncommitted(c *app.Call, in LifecycleRequest) (found leftBehind, err error) {
	if in.Action != thread.Done || in.Landed {
		return found, nil
	}
	var t thread.Thread
	_, err = c.View(func(s *thread.State) error {
		t, err = s.Thread(in.Thread)
		return err
	})
	owned := t.OwnedCode()
	if to, ok := t.Status.After(thread.Done); err != nil || owned == nil || owned.State != thread.CodeReady || !ok || to == t.Status {
		return found, nil //nolint:nilerr // the rule says what is wrong with the id
	}
	ctx, repo, cancel := code.OpenRepoBriefly(c)
	defer cancel()
	dir := code.WorktreeDir(c, t)
	if repo == nil || !code.InRepo(t, repo) {
		return found, c.Context().Err()
	}
	if code.FolderMissing(dir) || code.FolderMissing(owned.Admin) {
		if tip, err := repo.Branch(ctx, t.Branch); err == nil && tip == "" { // nothing of it can be found
			found.thread, found.left.NoCommits = t.ID, true
			found.reasons, found.facts = []string{"its branch " + t.Branch + " and its worktree are gone"}, []fact.Fact{fact.Of("uncommitted", 0), fact.Of("commits", false), fact.Of("branch", t.Branch), fact.Of("worktree", dir)}
		}
		return found, c.Context().Err()
	}
	status, err := repo.Worktree(dir, owned.Admin).Status(ctx)
	if err != nil {
		return found, c.Context().Err()
	}
	refs := []string{"refs/heads/" + t.Branch, owned.Target}
	tips, err := repo.Tips(ctx, refs[:1+min(1, len(owned.Target))])
	if err != nil {
		return found, c.Context().Err()
	}
	code.WarnOfPushed(ctx, c, repo, t, tips[refs[0]])
	found.thread = t.ID
	found.left.Uncommitted = len(status.Dirty) + len(status.Untracked)
	found.left.NoCommits = len(owned.Landed) == 0 && (string(tips[refs[0]]) == owned.Start || len(t.DependsOn) > 0 && noneOfItsOwn(c, t.ID))
	found.explain(t, func(branch git.Commit) int {
		only, _, err := repo.Count(ctx, branch, tips[refs[0]])
		if err != nil {
			return 0
		}
		return only
	}, status, tips[owned.Target])
	found.facts = append(found.facts, fact.Of("branch", t.Branch), fact.Of("worktree", dir))
	return found, nil
}

// noneOfItsOwn reports whether all commits that a thread's branch has beyond its target came from what it depends on.
func noneOfItsOwn(c *app.Call, id thread.ThreadID) bool {
	amount := code.AmountOf(c, id)
	return amount != nil && amount.Commits == 0 && !amount.Landed
}

// explain says in words and facts what is missing. beyond counts the commits that the
// thread's branch lacks.
func (u *leftBehind) explain(t thread.Thread, beyond func(git.Commit) int, status git.Status, target git.Commit) {
	u.facts = []fact.Fact{fact.Of("uncommitted", u.left.Uncommitted), fact.Of("commits", !u.left.NoCommits)}
	switch n := u.left.Uncommitted; {
	case n == 1:
		u.reasons = append(u.reasons, "1 uncommitted file in its worktree")
	case n > 1:
		u.reasons = append(u.reasons, strconv.Itoa(n)+" uncommitted files in its worktree")
	}
	if !u.left.NoCommits {
		if status.Branch != t.Branch && status.Head != "" {
			if u.astray = beyond(status.Head); u.astray > 0 {
				commits := strconv.Itoa(u.astray) + " commits"
				if u.astray == 1 {
					commits = "1 commit"
				}
				u.reasons = append(u.reasons, commits+" on "+cmp.Or(status.Branch, "no branch")+" in its worktree that "+t.Branch+" lacks")
				u.facts = append(u.facts, fact.Of("elsewhere", status.Branch), fact.Of("commitsElsewhere", u.astray))
			}
		}
		return
	}
	reason := "no commit on its branch " + t.Branch + " since it began"
	elsewhere, at, text := app.BranchOf(t.OwnedCode().Target), target, "; %s has %d that it lacks"
	if status.Branch != t.Branch && status.Head != "" {
		elsewhere, at, text = status.Branch, status.Head, ", but on %s %d"
	}
	if at != "" {
		if n := beyond(at); n > 0 {
			reason += fmt.Sprintf(text, cmp.Or(elsewhere, "no branch"), n)
			u.facts = append(u.facts, fact.Of("elsewhere", elsewhere), fact.Of("commitsElsewhere", n))
		}
	}
	u.reasons = append(u.reasons, reason)
}

// mend says how the work gets onto the thread's branch.
func (u leftBehind) mend(t thread.Thread, dir string) string {
	if u.astray > 0 && u.left.Uncommitted == 0 {
		return "Bring the commits to " + t.Branch + " in " + dir + " (git switch, git merge)"
	}
	return "Commit the work in " + dir
}

// record refuses, inside a rule that completes a thread, an agent that leaves work
// behind without saying so (T117), warns a person (W810), and records what is left.
func (u leftBehind) record(c *app.Call, s *thread.State, in LifecycleRequest, stamp thread.Stamp) error {
	t, err := s.Thread(in.Thread)
	if err != nil || t.OwnedCode() == nil || t.Status.Terminated() {
		return err
	}
	var left *thread.CodeLeft
	if u.thread == t.ID && len(u.reasons) > 0 {
		left = &u.left
		facts := append([]fact.Fact{fact.Of("threadId", t.ID), fact.Of("reason", strings.Join(u.reasons, "; "))}, u.facts...)
		var say []string
		if (left.Uncommitted > 0 || u.astray > 0) && in.Uncommitted != LeaveUncommitted {
			say = append(say, "--uncommitted leave")
		}
		if left.NoCommits && !in.NoCommits {
			say = append(say, "--no-commits")
		}
		switch {
		case len(say) == 0:
		case stamp.ByPerson():
			c.Warn(warnings.CodeUnfinished.New(facts...))
		default:
			return codes.CodeUnfinished.New(facts...).WithHint(u.mend(t, code.WorktreeDir(c, t)) + ", then complete the thread again; " +
				"if it is meant to be so: leslie done " + string(t.ID) + " " + strings.Join(say, " "))
		}
	}
	if t.OwnedCode().Left == nil && left == nil {
		return nil
	}
	_, err = s.ChangeCode(in.Thread, nil, stamp, func(_ *thread.Thread, code *thread.Code) { code.Left = left })
	return err
}
