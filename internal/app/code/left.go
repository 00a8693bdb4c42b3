package code

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"leslie/internal/app"
	"leslie/internal/git"
	"leslie/thread"
)

// This file finds what only this machine has of code: whose worktree is, or was, on another one, or of threads
// that were completed before it was committed. And it finds what others have sent of threads that landed without it.

// Aside looks beside the code of threads at what this machine or another one has of it alone. Its warnings are not
// those of the call for which it looks, and it has OverlapTime: what git has not said by then is left out.
type Aside struct {
	c      *app.Call
	owners []thread.Thread
	repo   *git.Repo // nil where there is nothing to look at
	end    func()
}

// LookAside begins a look at threads, which ends with End. Where there are none, or no repository, or this machine is
// the only one, it finds nothing.
func LookAside(c *app.Call, owners ...thread.Thread) Aside {
	owners = slices.DeleteFunc(slices.Clone(owners), func(t thread.Thread) bool { return t.OwnedCode() == nil })
	a := Aside{c: c, owners: owners, end: func() {}}
	if c.Project().Machine() == "" || len(owners) == 0 {
		return a
	}
	repo, err := OpenRepo(c)
	if err != nil {
		return a
	}
	ctx, end := c.Project().Environment().Timeout(c.Context(), OverlapTime)
	a.c, a.repo, a.end = c.Within(ctx), repo, end
	a.c.ReadOnly()
	return a
}

// End ends the look; late: git has not said all of it.
func (a Aside) End() (late bool) {
	late = a.repo != nil && a.c.Context().Err() != nil
	a.end()
	return late
}

// only returns those of the threads that a look is about.
func (a Aside) only(is func(thread.Thread) bool) []thread.Thread {
	if a.repo == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(a.owners), func(t thread.Thread) bool { return !is(t) })
}

// LeftHere returns what only this machine has of the code.
func (a Aside) LeftHere() (all []app.CodeLeft) {
	owners := a.only(func(t thread.Thread) bool { return isElsewhere(a.c, t) || handedOnHere(a.c, t) })
	if len(owners) == 0 {
		return nil
	}
	repo, ctx := a.repo, a.c.Context()
	worktrees, err := repo.Worktrees(ctx)
	if err != nil {
		return nil
	}
	refs := make([]string, len(owners))
	for i, t := range owners {
		refs[i] = "refs/heads/" + t.Branch
	}
	tips, err := repo.Tips(ctx, refs)
	if err != nil || len(tips) == 0 {
		return nil
	}
	tipOf := func(t thread.Thread) git.Commit { return tips["refs/heads/"+t.Branch] }
	names, err := NamesNow(a.c, repo)
	if err != nil {
		return nil
	}
	// Removed ones are many, and few have left something.
	owners = slices.DeleteFunc(owners, func(t thread.Thread) bool {
		left := func(w git.Listed) bool { return w.Branch == t.Branch || names.isDetached(t.ID, w) }
		tip, sent := tipOf(t), t.OwnedCode().Sent
		return t.OwnedCode().State == thread.CodeRemoved && !slices.ContainsFunc(worktrees, left) &&
			(tip == "" || sent != nil && string(tip) == sent.Tip)
	})
	here := slices.DeleteFunc(slices.Clone(owners), func(t thread.Thread) bool { return tipOf(t) == "" })
	if arrive(a.c, repo, here...) != nil { // without it a branch seems to have alone what others built on
		return nil
	}
	if tips, err = repo.Tips(ctx, refs); err != nil {
		return nil
	}
	if repo.ReadPrograms(ctx) != nil {
		return nil
	}
	found := make([]*app.CodeLeft, len(owners))
	SeveralAtOnce(len(owners), func(i int) {
		t := owners[i]
		l, err := leftOf(ctx, repo, t, tipOf(t), worktrees)
		astray := slices.IndexFunc(worktrees, func(w git.Listed) bool { return names.isDetached(t.ID, w) })
		if err == nil && astray >= 0 && InRepo(t, repo) {
			l, err = withAstray(ctx, repo, t, l, worktrees[astray])
		}
		if err == nil {
			found[i] = l
		}
	})
	travel, _ := a.c.Travel() // whoever writes is told of a configuration that cannot be used
	for i, l := range found {
		if l == nil {
			continue
		}
		if l.Stays = travel == app.TravelOff; l.Stays && l.Commits > 0 && l.LandedOn == "" {
			if pushed, err := repo.Fetched(ctx, l.Branch, tipOf(owners[i])); err == nil && pushed { // nothing is only here
				l.Commits = 0
			}
		}
		if l.Commits+l.Files+l.Astray > 0 {
			all = append(all, *l)
		}
	}
	return all
}

// isDetached reports whether a worktree is where leslie makes that of a thread, and has no branch checked out.
func (n Names) isDetached(id thread.ThreadID, w git.Listed) bool {
	return w.Branch == "" && w.Head != "" && !w.Missing && w.Dir == filepath.Join(n.dir, string(id))
}

// withAstray adds to what is left of a thread the commits of a worktree without a branch that no branch has.
func withAstray(
	ctx context.Context, repo *git.Repo, t thread.Thread, l *app.CodeLeft, w git.Listed,
) (*app.CodeLeft, error) {
	n, err := astrayIn(ctx, repo, t, w)
	if err != nil || n == 0 {
		return l, err
	}
	if l == nil {
		l = &app.CodeLeft{ThreadID: t.ID, Branch: t.Branch}
		if t.OwnedCode().State != thread.CodeReady {
			l.Machine = t.OwnedCode().Machine
		}
	}
	l.Astray, l.AstrayTip, l.Worktree = n, string(w.Head), w.Dir
	return l, nil
}

// astrayIn counts the commits of a worktree without a branch that no branch has, nor what was sent of the thread.
func astrayIn(ctx context.Context, repo *git.Repo, t thread.Thread, w git.Listed) (int, error) {
	with, err := repo.BranchWith(ctx, w.Head)
	if err != nil || with != "" {
		return 0, err
	}
	known := append(othersKnow(t.OwnedCode()), git.Commit("refs/heads/"+t.Branch))
	beyond, err := commitsBeyond(ctx, repo, w.Head, known)
	return len(beyond), err
}

// othersKnow are the commits that the other machines have of code: where it began, its target, and what was sent.
func othersKnow(code *thread.Code) []git.Commit {
	known := []git.Commit{git.Commit(code.Start)}
	for _, sent := range code.AllSent() {
		known = append(known, git.Commit(sent.Tip))
	}
	if code.Target != "" {
		known = append(known, git.Commit(code.Target))
	}
	return append(known, sentBefore(code)...)
}

// sentBefore returns where a thread's branch was when its own commits were sent before: others have had what is there,
// also what was made anew since.
func sentBefore(code *thread.Code) (all []git.Commit) {
	if code.Sent != nil {
		for _, tip := range code.Sent.Was {
			all = append(all, git.Commit(tip))
		}
	}
	return all
}

// Unsent counts the commits of threads whose worktrees are here that this machine would send to the others with the
// work, and has not sent.
func (a Aside) Unsent(ids ...thread.ThreadID) map[thread.ThreadID]int {
	owners := a.only(func(t thread.Thread) bool {
		code := t.OwnedCode()
		return slices.Contains(ids, t.ID) && code.State == thread.CodeReady && code.Machine == a.c.Project().Machine()
	})
	if len(owners) == 0 {
		return nil
	}
	if travel, err := a.c.Travel(); err != nil || travel == app.TravelOff {
		return nil
	}
	repo, ctx := a.repo, a.c.Context()
	refs := make([]string, len(owners))
	for i, t := range owners {
		refs[i] = "refs/heads/" + t.Branch
	}
	tips, err := repo.Tips(ctx, refs)
	if err != nil {
		return nil
	}
	counts := map[thread.ThreadID]int{}
	for i, t := range owners {
		tip := tips[refs[i]]
		if tip == "" || !InRepo(t, repo) {
			continue
		}
		beyond, err := commitsBeyond(ctx, repo, tip, othersKnow(t.OwnedCode()))
		if err != nil || len(beyond) == 0 {
			continue
		}
		if landed, err := hasLanded(ctx, repo, t, tip); err == nil && !landed {
			counts[t.ID] = len(beyond)
		}
	}
	return counts
}

// NotPushed returns the branches on which threads have landed here and that no branch of a remote has with these
// landings, as it was fetched or pushed to last: the other machines do not see them.
func (a Aside) NotPushed() (all []app.BranchNotPushed) {
	landed := map[string][]thread.Thread{}
	for _, t := range a.owners {
		if l, ok := t.OwnedCode().LastLanded(); ok && l.Onto != "" {
			landed[l.Onto] = append(landed[l.Onto], t)
		}
	}
	if len(landed) == 0 || a.repo == nil {
		return nil
	}
	repo, ctx := a.repo, a.c.Context()
	branches := slices.Sorted(maps.Keys(landed))
	upstreams, err := repo.Upstreams(ctx, branches...)
	if err != nil {
		return nil
	}
	for _, branch := range branches {
		var pushed []git.Commit
		for ref, tip := range upstreams[branch] {
			if git.IsRemote(ref) && tip != "" {
				pushed = append(pushed, tip)
			}
		}
		tip, err := repo.Branch(ctx, branch)
		if err != nil || tip == "" || len(pushed) == 0 || slices.Contains(pushed, tip) {
			continue
		}
		unpushed, err := repo.CommitsNotIn(ctx, []git.Commit{tip}, pushed)
		if err != nil {
			continue
		}
		one := app.BranchNotPushed{Branch: branch, Commits: len(unpushed)}
		for _, t := range landed[branch] {
			if l, _ := t.OwnedCode().LastLanded(); unpushed[git.Commit(l.Commit)] {
				one.Landed = append(one.Landed, t.ID)
			}
		}
		if len(one.Landed) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// SentLater returns what other machines have sent of completed threads that has not landed with them.
func (a Aside) SentLater() (all []app.CodeLater) {
	later := func(t thread.Thread) (sent []thread.CodeSent) {
		owned := t.OwnedCode()
		if _, landed := owned.LastLanded(); t.Status != thread.Completed || !landed {
			return nil
		}
		return slices.DeleteFunc(owned.AllSent(), func(s thread.CodeSent) bool {
			return s.Machine == a.c.Project().Machine() || owned.LandedAt(s.Tip)
		})
	}
	owners := a.only(func(t thread.Thread) bool { return len(later(t)) > 0 })
	if len(owners) == 0 || arrive(a.c, a.repo, owners...) != nil {
		return nil
	}
	repo, ctx := a.repo, a.c.Context()
	for _, t := range owners {
		owned := t.OwnedCode()
		known := []git.Commit{git.Commit(owned.Start)}
		for _, l := range owned.Landed {
			known = append(known, git.Commit(l.Tip), git.Commit(l.Commit))
		}
		if owned.Target != "" {
			known = append(known, git.Commit(owned.Target))
		}
		last, _ := owned.LastLanded()
		for _, sent := range later(t) {
			tip := git.Commit(sent.Tip)
			beyond, err := commitsBeyond(ctx, repo, tip, known)
			if err != nil || len(beyond) == 0 {
				continue
			}
			if has, err := hasLanded(ctx, repo, t, tip); err == nil && !has {
				all = append(all, app.CodeLater{
					ThreadID: t.ID, Machine: sent.Machine, Commits: len(beyond), Onto: cmp.Or(last.Onto, app.BranchOf(owned.Target)),
					Ref: strings.TrimPrefix(git.MachineRef(sent.Machine, t.Branch), "refs/"),
				})
			}
		}
	}
	return all
}

// isElsewhere reports whether the worktree of a thread's code is on another machine, or was until it was removed.
func isElsewhere(c *app.Call, t thread.Thread) bool {
	code := t.OwnedCode()
	removed := code.State == thread.CodeRemoved && code.Machine != "" && code.Machine != c.Project().Machine()
	return code.State == thread.CodeElsewhere || removed
}

// handedOnHere reports whether a thread of a project on several machines was completed, or given to somebody on another
// one, while its worktree is on this one: what it gets from then on goes with no operation.
func handedOnHere(c *app.Call, t thread.Thread) bool {
	code := t.OwnedCode()
	if code.State != thread.CodeReady || code.Sent == nil || code.Machine != c.Project().Machine() {
		return false
	}
	holder := app.OrZero(t.Claim).Holder
	elsewhere := strings.Contains(holder, "@") && !c.Project().IsHere(holder)
	return t.Status == thread.Completed || t.Status == thread.Active && elsewhere
}

// leftOf returns what the branch of code that is elsewhere, or of a completed thread, has here, tip, and the worktree
// that has it checked out, but for the thread's own; nil for nothing.
func leftOf(
	ctx context.Context, repo *git.Repo, t thread.Thread, tip git.Commit, worktrees []git.Listed,
) (l *app.CodeLeft, err error) {
	code := t.OwnedCode()
	if tip == "" || !InRepo(t, repo) {
		return nil, nil
	}
	l = &app.CodeLeft{ThreadID: t.ID, Branch: t.Branch}
	if code.State == thread.CodeReady { // completed, in its own worktree
		worktrees = nil
	} else {
		l.Machine = code.Machine
	}
	if landed, ok := code.LastLanded(); ok && l.Machine != "" {
		l.LandedOn = landed.Place()
		at, err := repo.Resolve(ctx, landed.Commit)
		if err != nil {
			return nil, err
		}
		l.Unpulled = at == ""
	}
	if l.Commits, err = besides(ctx, repo, t, tip); err != nil {
		return nil, err
	}
	for _, sent := range code.SentBeside {
		if l.Commits == 0 || l.Beside != "" {
			break
		}
		if known, err := repo.Contains(ctx, git.Commit(sent.Tip), tip); err == nil && known { // an error: it is not here
			l.Beside = strings.TrimPrefix(git.MachineRef(sent.Machine, t.Branch), "refs/")
		}
	}
	if i := slices.IndexFunc(worktrees, func(w git.Listed) bool { return w.Branch == t.Branch && !w.Missing }); i >= 0 {
		status, err := worktrees[i].Status(ctx)
		if err != nil {
			return nil, err
		}
		if l.Files = len(status.Dirty) + len(status.Untracked); l.Files > 0 {
			l.Worktree = worktrees[i].Dir
		}
	}
	if l.Commits+l.Files == 0 {
		return nil, nil
	}
	l.Free = l.Machine != "" && l.LandedOn == "" && code.State == thread.CodeElsewhere && t.Claim == nil
	return l, nil
}

// besides counts the commits of a thread's branch here, at tip, that have not landed, that the branch in which it lands
// lacks, and the thread's own, too, as it was sent last by the machine that has it, or came from there, if need be with
// other commits that make the same changes.
func besides(ctx context.Context, repo *git.Repo, t thread.Thread, tip git.Commit) (int, error) {
	code := t.OwnedCode()
	own := []git.Commit{git.Commit(code.Start)}
	if code.Target != "" {
		own = append(own, git.Commit(code.Target))
	}
	if code.Sent != nil {
		own = append(own, git.Commit(code.Sent.Tip))
		if code.Sent.Held != "" && code.Sent.Machine == code.Machine { // which it has not sent, and may have from here
			own = append(own, git.Commit(code.Sent.Held))
		}
	}
	if code.State == thread.CodeElsewhere {
		own = append(own, git.Commit(git.MachineRef(code.Machine, t.Branch)))
	}
	beyond, err := commitsBeyond(ctx, repo, tip, append(own, sentBefore(code)...))
	if err != nil || len(beyond) == 0 {
		return 0, err
	}
	landed, err := hasLanded(ctx, repo, t, tip)
	if err != nil || landed {
		return 0, err
	}
	if code.Sent != nil {
		remade, err := repo.Remade(ctx, tip, git.Commit(code.Sent.Tip)) // an error: that is not here
		maps.DeleteFunc(beyond, func(commit git.Commit, _ bool) bool { return err == nil && remade[commit] })
	}
	return len(beyond), nil
}

// commitsBeyond returns the commits of a branch, at tip, that none of some commits has.
func commitsBeyond(
	ctx context.Context, repo *git.Repo, tip git.Commit, known []git.Commit,
) (map[git.Commit]bool, error) {
	if slices.Contains(known, tip) {
		return nil, nil
	}
	return repo.CommitsNotIn(ctx, []git.Commit{tip}, known)
}

// MachineOfWorktrees returns the machine with this one's host name on which the code of threads is whose branches are
// checked out in worktrees here: this machine may be that one, and have lost its copy of the project. "" for none.
func MachineOfWorktrees(c *app.Call) string {
	var owners []thread.Thread
	_, err := c.View(func(s *thread.State) error {
		owners = s.ThreadsWithCode()
		return nil
	})
	if err != nil || len(owners) == 0 {
		return ""
	}
	repo, err := OpenRepo(c)
	if err != nil {
		return ""
	}
	worktrees, err := repo.Worktrees(c.Context())
	if err != nil {
		return ""
	}
	host := app.HostOf(c.Project().Machine())
	for _, t := range owners {
		here := slices.ContainsFunc(worktrees, func(w git.Listed) bool { return w.Branch == t.Branch })
		if at := t.OwnedCode(); here && at.State == thread.CodeElsewhere && app.HostOf(at.Machine) == host {
			return at.Machine
		}
	}
	return ""
}
