package code

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
)

// PruneRequest removes worktrees that nobody needs any more.
type PruneRequest struct {
	DryRun bool
	// Refs: what removed worktrees had goes, too, however long it was kept.
	Refs bool
}

// PruneResult says what was, or would be, removed, and what stays.
type PruneResult struct {
	DryRun  bool         `json:"dryRun"`
	Removed []PrunedCode `json:"removed"`
	Left    []LeftCode   `json:"left"`
	// Refs has the refs of removed worktrees that are, or would be, deleted; Kept those that stay.
	Refs []PrunedRef `json:"refs"`
	Kept []KeptRef   `json:"kept"`
	app.Change
}

// PrunedCode is the code of a thread whose worktree is removed. Branch is "" for the one in
// which merges into the thread are validated.
type PrunedCode struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Branch   string          `json:"branch"`
	Worktree string          `json:"worktree"`
	// Remotes are those of git that have a branch of its name, as they were fetched or pushed to last, if leslie made it.
	Remotes []string `json:"remotes,omitempty"`
}

// PrunedRef is a ref that kept what a removed worktree had.
type PrunedRef struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Ref      string          `json:"ref"`
	Commit   git.Commit      `json:"commit"`
	// Branch has all of it; "" if none has.
	Branch string `json:"branch,omitempty"`
	Reason string `json:"reason"`
}

// KeptRef is a ref that keeps what a removed worktree had, and which no branch has.
type KeptRef struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Ref      string          `json:"ref"`
	Until    time.Time       `json:"until"`
	Squashed bool            `json:"squashed,omitempty"` // they landed as one commit
}

// LeftCode is the code of a thread whose worktree stays, and why.
type LeftCode struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Worktree string          `json:"worktree"`
	Reason   string          `json:"reason"`
}

// Prune removes the worktrees of threads that are terminated, whose code has landed,
// and that have nothing that is not committed; each as CodeRemove does, in an operation of
// its own; a removal whose process was killed is finished. What cannot be removed is left, with the
// reason. What is left here of threads that ended on another machine goes, too. The worktrees in which
// merges are validated go with their threads. Of the refs that keep what removed worktrees had, those
// go that a branch has by now, and those older than code.keep; no record changes. Errors: T801, T904,
// those of reading, T903 for the configuration.
func Prune(c *app.Call, in PruneRequest) (*PruneResult, error) {
	if in.DryRun {
		c.ReadOnly()
	}
	d := &PruneResult{DryRun: in.DryRun, Removed: []PrunedCode{}, Left: []LeftCode{}, Refs: []PrunedRef{}, Kept: []KeptRef{}}
	var owners []thread.Thread
	_, err := c.View(func(s *thread.State) error {
		owners = s.ThreadsWithCode()
		return nil
	})
	if err != nil {
		return nil, err
	}
	repo, err := OpenRepo(c)
	if err != nil {
		if len(owners) == 0 && codes.Has(err, codes.GitUnavailable) {
			return d, nil
		}
		return nil, err
	}
	for _, t := range owners {
		if t.OwnedCode().Repo == "" {
			found, err := d.pruneLeft(c, repo, t)
			if err != nil {
				return d, err
			}
			if found || !t.Status.Terminated() { // it goes on elsewhere
				continue
			}
		}
		if t.OwnedCode().State == thread.CodeRemoved {
			continue
		}
		reason, err := whyLeft(c, repo, t)
		if err == nil && reason == "" && !in.DryRun {
			reason, err = prune(c, t)
			d.Changed = d.Changed || reason == ""
		}
		switch {
		case err != nil:
			return d, err
		case reason != "":
			d.Left = append(d.Left, LeftCode{t.ID, WorktreeDir(c, t), reason})
		default:
			d.Removed = append(d.Removed, prunedCode(c.Context(), repo, t, WorktreeDir(c, t)))
		}
	}
	err = d.pruneValidations(c, repo)
	if err == nil {
		err = d.pruneRefs(c, repo, in.Refs)
	}
	c.SetChanged(d.Changed)
	return d, err
}

// prunedCode is the code of a thread whose worktree goes. A person's branch stays, and so does what a remote has of it.
func prunedCode(ctx context.Context, repo *git.Repo, t thread.Thread, worktree string) PrunedCode {
	one := PrunedCode{ThreadID: t.ID, Branch: t.Branch, Worktree: worktree}
	if t.OwnedCode().Made.Branch {
		one.Remotes, _ = repo.RemotesWith(ctx, t.Branch) // git may not say it
	}
	return one
}

// pruneLeft removes what is left here of the code of a thread that has ended on another machine: the
// worktree that leslie made, if it has nothing that is not committed, and the branch, if the thread's own, or where
// that landed, has all of it. found: there is something, whether it goes or stays.
func (d *PruneResult) pruneLeft(c *app.Call, repo *git.Repo, t thread.Thread) (found bool, err error) {
	ctx, sent := c.Context(), t.OwnedCode().Sent
	tip, err := repo.Branch(ctx, t.Branch)
	if err != nil || tip == "" || sent == nil || !t.Status.Terminated() {
		return false, err
	}
	in, err := repo.CheckedOut(ctx, t.Branch)
	if err == nil && in == nil {
		in, err = detachedOf(c, repo, t)
	}
	if err != nil {
		return false, err
	}
	if in != nil && in.Branch == "" {
		n, err := astrayIn(ctx, repo, t, *in)
		if err != nil {
			return false, err
		}
		if n > 0 {
			at := string(in.Head)[:12]
			d.Left = append(d.Left, LeftCode{t.ID, in.Dir, "it has " + fact.Plural(n, "commit") + " up to " + at +
				" that no branch has: git branch NAME " + at + " keeps them"})
			return true, nil
		}
	}
	dir := ""
	if in != nil {
		dir = in.Dir
	}
	n, err := besides(ctx, repo, t, tip)
	if err != nil {
		return false, err
	}
	if n > 0 {
		d.Left = append(d.Left, LeftCode{t.ID, dir, t.Branch + " here has " + strconv.Itoa(n) +
			" of its commits alone, which did not land: git merge " + t.Branch + " brings them to the branch where you call it"})
		return true, nil
	}
	one := prunedCode(ctx, repo, t, "")
	if in != nil {
		own, clean, err := leftStands(c, repo, t, in)
		if err != nil || !own {
			return false, err
		}
		if !clean {
			d.Left = append(d.Left, LeftCode{t.ID, in.Dir, "it is left from before the thread went to another machine, and has work that is not committed"})
			return true, nil
		}
		one.Worktree = in.Dir
	}
	if d.Removed = append(d.Removed, one); d.DryRun {
		return true, nil
	}
	d.Changed = true
	if in != nil {
		if err := repo.RemoveClean(ctx, in.Worktree); err != nil {
			return true, err
		}
	}
	err = unlessMoved(repo.UpdateRef(ctx, "refs/heads/"+t.Branch, "", tip, "leslie: prune"))
	if err == nil {
		err = forgetCame(ctx, repo, t)
	}
	return true, err
}

// detachedOf returns the worktree that leslie made for a thread here, if it has no branch checked out; nil for none.
func detachedOf(c *app.Call, repo *git.Repo, t thread.Thread) (*git.Listed, error) {
	names, err := NamesNow(c, repo)
	if err != nil {
		return nil, err
	}
	all, err := repo.Worktrees(c.Context())
	if i := slices.IndexFunc(all, func(w git.Listed) bool { return names.isDetached(t.ID, w) }); i >= 0 && err == nil {
		return &all[i], nil
	}
	return nil, err
}

// leftStands says of a worktree that has a thread's branch checked out, while the thread's own is on another machine,
// whether leslie made it, own, and whether all of it is committed.
func leftStands(c *app.Call, repo *git.Repo, t thread.Thread, in *git.Listed) (own, clean bool, err error) {
	names, err := NamesNow(c, repo)
	if err != nil || in.Missing || in.Dir != filepath.Join(names.dir, string(t.ID)) {
		return false, false, err
	}
	status, err := in.Status(c.Context())
	return err == nil, status.Clean() && in.Busy() == "", err
}

// removeLeft removes the worktree that is left here of a thread whose worktree is on another machine. Its branch stays.
// nil for a thread that has its own here, or none. Errors: T802 where something is not committed, those of reading.
func removeLeft(c *app.Call, in RemoveRequest) (*RemoveResult, error) {
	t, err := Owner(c, c.ThreadOr(in.Thread))
	if err != nil || !isElsewhere(c, t) {
		return nil, err
	}
	repo, err := OpenRepo(c)
	if err != nil {
		return nil, err
	}
	left, err := repo.CheckedOut(c.Context(), t.Branch)
	if err != nil || left == nil {
		return nil, err
	}
	own, clean, err := leftStands(c, repo, t, left)
	if err != nil || !own {
		return nil, err
	}
	if !clean {
		return nil, thread.NoCodeHere(t, ", and the one that is left here has work that is not committed").
			WithHint("Commit it there, then leslie publish " + string(t.ID) + " takes it to " + t.OwnedCode().Machine).WithNext("leslie status " + string(t.ID))
	}
	elsewhere := thread.CodeElsewhere
	d := &RemoveResult{ThreadID: t.ID, State: &elsewhere, Branch: t.Branch, Worktree: left.Dir, BranchKept: true,
		DryRun: in.DryRun, Revision: t.Revision}
	if tip, err := repo.Branch(c.Context(), t.Branch); err == nil && tip != "" {
		d.Besides, _ = besides(c.Context(), repo, t, tip) // git may not say it
	}
	if in.DryRun {
		c.ReadOnly()
		return d, nil
	}
	err = repo.RemoveClean(c.Context(), left.Worktree)
	d.Changed = err == nil
	c.SetChanged(d.Changed)
	return d, err
}

// forgetCame deletes the refs of what came from other machines of a thread whose branch is gone, where another branch
// has it.
func forgetCame(ctx context.Context, repo *git.Repo, t thread.Thread) error {
	for _, came := range t.OwnedCode().AllSent() {
		if _, err := repo.DeleteIfReachable(ctx, git.MachineRef(came.Machine, t.Branch)); err != nil {
			return err
		}
	}
	return nil
}

// pruneRefs deletes refs that records of removed worktrees name. A thread that is archived may
// have one, too.
func (d *PruneResult) pruneRefs(c *app.Call, repo *git.Repo, all bool) error {
	refs, err := repo.Rescues(c.Context())
	if err != nil || len(refs) == 0 {
		return err
	}
	set, err := c.Configured()
	if err != nil {
		return err
	}
	var forgotten []thread.ThreadID
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		at := refs[ref]
		t, err := Owner(c, git.RescueOf(ref))
		switch {
		case codes.Has(err, codes.ThreadNotFound) || codes.Has(err, codes.AmbiguousID) || codes.Has(err, codes.NoCode):
			continue
		case err != nil:
			return err
		}
		how := t.OwnedCode().Removed
		if t.OwnedCode().State == thread.CodeRemoving && how.Ref == ref {
			continue // the removal goes on from it
		}
		named := how != nil && how.Ref == ref && at == git.Commit(cmp.Or(how.Rescue, how.Tip))
		var until time.Time
		if named {
			until = how.At.Add(set.Keep)
		}
		early := c.Now().Before(until)
		with, err := repo.BranchWith(c.Context(), at)
		switch {
		case err != nil:
			return err
		case with == "" && !named: // a person decides: see doctor
			continue
		case with == "" && !all && early:
			squashed := named && how.Rescue == "" && slices.ContainsFunc(t.OwnedCode().Landed, func(l thread.CodeLanded) bool { return l.Tip == how.Tip && l.How == thread.LandedSquash })
			d.Kept = append(d.Kept, KeptRef{t.ID, ref, until, squashed})
			continue
		}
		if !d.DryRun {
			if err := repo.UpdateRef(c.Context(), ref, "", at, "leslie: prune"); err != nil {
				return err
			}
			d.Changed = true
			if named {
				forgotten = append(forgotten, t.ID)
			}
		}
		why := with + " has all of it"
		switch {
		case with == "" && early:
			why = "deleted before its time"
		case with == "":
			why = "kept for longer than code.keep"
		}
		d.Refs = append(d.Refs, PrunedRef{t.ID, ref, at, with, why})
	}
	if len(forgotten) == 0 {
		return nil
	}
	call := c.ForCommand("code prune")
	_, err = app.Write(call, func(s *thread.State, _ thread.Stamp) (*PruneResult, thread.ThreadID, error) {
		for _, id := range forgotten {
			s.KeepRemoved(id, "")
		}
		return &PruneResult{}, "", nil
	})
	c.Include(call)
	return err
}

// prune removes one worktree. What refuses that is the reason why it stays; the end of
// the call is an error.
func prune(c *app.Call, t thread.Thread) (reason string, err error) {
	remove := c.ForCommand("code remove")
	whole := t.OwnedCode().State == thread.CodeReady // else it has begun, and its branch stays unless it has landed
	_, err = Remove(remove, RemoveRequest{Thread: string(t.ID), checked: whole, DropBranch: whole && FolderMissing(WorktreeDir(c, t))})
	c.Warn(remove.Warnings()...)
	if e := codes.Of(err); e != nil && e.Code() != codes.Interrupted {
		return e.Error(), nil
	}
	return "", err
}

// RemoveLanded removes the worktree of a thread, and the branch that leslie made, as Prune
// does; nil if it is removed already. Where it stays, why says the reason and nothing is changed. Errors: T801, T904, those of reading.
func RemoveLanded(c *app.Call, id thread.ThreadID) (removed *RemoveResult, why string, err error) {
	t, err := Owner(c, string(id))
	if err != nil {
		return nil, "", err
	}
	repo, err := OpenRepo(c)
	if err != nil {
		return nil, "", err
	}
	if t.OwnedCode().State == thread.CodeRemoved {
		return nil, "", dropLeft(c, repo, t)
	}
	checked := t.OwnedCode().State != thread.CodeRemoving
	if checked { // else what a killed call has begun is finished
		if why, err = whyLeft(c, repo, t); err != nil || why != "" {
			return nil, why, err
		}
	}
	dir := WorktreeDir(c, t)
	if CallerIsIn(c, dir) {
		return nil, "you stand in its worktree (cd " + external.Word(repo.Top) + ", then leslie code remove " + string(id) + ")", nil
	}
	removed, err = Remove(c, RemoveRequest{Thread: string(id), checked: checked, DropBranch: checked && FolderMissing(dir)})
	if e := codes.Of(err); e != nil && e.Code() != codes.Interrupted {
		return nil, e.Error(), nil
	}
	return removed, "", err
}

// CallerIsIn reports whether the caller's folder is in one.
func CallerIsIn(c *app.Call, dir string) bool {
	rel, err := filepath.Rel(dir, c.Caller().Dir)
	return err == nil && filepath.IsLocal(rel)
}

// dropLeft deletes the refs of a removal whose process was killed when it had ended: no record names
// them, and a branch has their commits.
func dropLeft(c *app.Call, repo *git.Repo, t thread.Thread) error {
	refs, err := repo.Rescues(c.Context())
	if err != nil {
		return err
	}
	for ref, at := range refs {
		if how := t.OwnedCode().Removed; git.RescueOf(ref) != string(t.ID) || how != nil && how.Ref == ref {
			continue
		}
		if with, err := repo.BranchWith(c.Context(), at); err != nil || with == "" {
			continue
		}
		if err := repo.UpdateRef(c.Context(), ref, "", at, "leslie: nothing to keep"); err != nil && !errors.Is(err, git.ErrMoved) {
			return err
		}
	}
	return nil
}

// StaysElsewhere says why the worktree of code on another machine stays.
func StaysElsewhere(code *thread.Code) string {
	return "its worktree is on " + code.Machine +
		": leslie code prune there says what keeps it, or removes it, and on each machine what is left there"
}

// whyLeft says why a worktree is not pruned, "" if it may be.
func whyLeft(c *app.Call, repo *git.Repo, t thread.Thread) (string, error) {
	code := t.OwnedCode()
	switch {
	case !t.Status.Terminated():
		return "the thread is " + string(t.Status), nil
	case code.State == thread.CodeElsewhere:
		return StaysElsewhere(code), nil
	case code.State == thread.CodeRemoving: // its process was killed, or goes on
		return "", nil
	case code.State != thread.CodeReady:
		return "the worktree is " + string(code.State), nil
	case !code.Made.Worktree:
		return "leslie did not make it", nil
	case !InRepo(t, repo):
		return "it is in the repository " + code.Repo, nil
	}
	gone := FolderMissing(WorktreeDir(c, t)) || FolderMissing(code.Admin)
	if moved := MovedText(c, repo, t); gone && moved != "" {
		return moved, nil
	}
	tip, err := repo.Branch(c.Context(), t.Branch)
	if err != nil {
		return "", err
	}
	if tip == "" {
		return "its branch is gone", nil
	}
	has, err := hasLanded(c.Context(), repo, t, tip)
	if err != nil {
		return "", err
	}
	if at, is := code.LandingAt(string(tip)); is && !has {
		if elsewhere, err := landedElsewhere(c.Context(), repo, code, at); err != nil || elsewhere {
			return "it has landed on another machine, and " + at.Place() +
				" here does not have that yet (git pull, once it is pushed)", err
		}
	}
	if !has || code.TakenBack(string(tip)) {
		return "its code has not landed in " + cmp.Or(app.BranchOf(code.Target), "another branch"), nil
	}
	if u, ahead := pushed(c.Context(), repo, t, tip); ahead {
		if has, err := hasLanded(c.Context(), repo, t, u.Commit); err != nil || !has {
			return u.Name + " is ahead of its branch, and that has not landed", err
		}
	}
	if gone { // only its branch is left
		return "", nil
	}
	found, err := repo.Worktree(WorktreeDir(c, t), code.Admin).CheckRemovable(c.Context())
	switch e := codes.Of(err); {
	case e != nil && e.Code() == codes.Interrupted:
		return "", err
	case e != nil && e.Code() == codes.WorktreeBusy:
		return "not removed: " + e.Facts().Text("what"), nil
	case e != nil:
		return e.Error(), nil
	case found.Changed+found.Untracked > 0:
		return "it has work that is not committed", nil
	case found.Head != tip:
		return "it has something else checked out than its branch", nil
	}
	return "", nil
}
