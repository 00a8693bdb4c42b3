package code

import (
	"cmp"
	"context"
	"os"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/external"
	"leslie/internal/git"
	"leslie/thread"
)

// RestoreRequest names a thread whose worktree was removed or is lost.
type RestoreRequest struct {
	Thread string // "": the thread that the caller speaks for
	// Undoes is the removal that is undone, nil if nobody undoes one.
	Undoes *thread.Operation
}

// RestoreResult is a worktree that is there again.
type RestoreResult struct {
	ThreadID thread.ThreadID  `json:"threadId"`
	State    thread.CodeState `json:"state"`
	Branch   string           `json:"branch"`
	Worktree string           `json:"worktree"` // absolute
	// Rescued is the commit whose work is in it again, absent for none.
	Rescued string `json:"rescued,omitempty"`
	// BranchMade is the commit at which the branch was made again, because somebody had deleted it: the last that its
	// worktree had, or, if BranchSent, that was sent to the other machines; absent if it was there.
	BranchMade string `json:"branchMade,omitempty"`
	BranchSent bool   `json:"branchSent,omitempty"`
	// Later are commits that go on from what was sent and that no branch has, the newest few; Searched: git has
	// looked at all.
	Later    []git.CommitSummary `json:"later,omitempty"`
	Searched bool                `json:"searched,omitempty"`
	Revision thread.Revision     `json:"revision"`
	app.Change
}

// codeRestore is one restoration. All of git's work is done before its only operation;
// until that, git has the worktree locked, and the same call repeated begins again.
type codeRestore struct {
	c        *app.Call
	repo     *git.Repo
	t        thread.Thread
	undoes   *thread.Operation
	worktree git.Worktree
	again    git.Commit // where the branch was made again, "" if it was there
	sent     bool       // again is the last commit that was sent
	// made: something was made again that no record calls lost, or a removal was ended.
	made bool
}

// Restore brings a removed worktree back, on its branch, with what was not committed.
// A lost one becomes ready again if its folder is there; otherwise it gets its files from
// the index, or from the branch. One whose removal did not end is brought back whatever
// prevents its end. Errors: T402 for whoever may not undo Undoes; T101, T105; T801; T802; T803 if the folder or the
// branch is taken, or has moved so that the rescued work does not fit; T805; T808; T108 for
// another's claim, and those of a write.
func Restore(c *app.Call, in RestoreRequest) (*RestoreResult, error) {
	if first, ok, err := app.Answered[RestoreResult](c); ok || err != nil {
		return first, err
	}
	states := []thread.CodeState{thread.CodeReady, thread.CodeRemoved, thread.CodeLost}
	t, err := Owner(c, c.ThreadOr(in.Thread), append(states, thread.CodeRemoving)...)
	if err != nil {
		return nil, err
	}
	if in.Undoes == nil && t.OwnedCode().RemovedElsewhere() {
		made, err := Setup(c, SetupRequest{Thread: string(t.ID)})
		if err != nil {
			return nil, err
		}
		return &RestoreResult{
			ThreadID: made.ThreadID, State: made.State, Branch: made.Branch, Worktree: made.Worktree,
			Revision: made.Revision, Change: made.Change,
		}, nil
	}
	release, err := Hold(c, t.ID)
	if err != nil {
		return nil, err
	}
	defer release()
	m := &codeRestore{c: c, undoes: in.Undoes}
	if err = m.allowed(); err != nil {
		return nil, err
	}
	if m.made, err = endRemoval(c, t.ID); err != nil {
		return nil, err
	}
	_, err = c.View(func(s *thread.State) (err error) {
		if m.t, err = s.OwnCode(string(t.ID), states...); err == nil && m.t.OwnedCode().Repo == "" {
			err = thread.NoCode(t.ID, "its worktree was removed on "+m.t.OwnedCode().Machine).
				WithHint("Bring it back there").WithNext("leslie code " + string(t.ID))
		}
		if err == nil {
			if err = c.RespectClaim(s, string(t.ID), c.Stamp()); err == nil {
				_, err = s.RestoreCode(t.ID, m.t.OwnedCode().Admin, c.Stamp()) // what it refuses is refused before git is asked
			}
		}
		return err
	})
	if err == nil {
		m.repo, err = RepoOnceIdle(c, m.t)
	}
	if err == nil {
		err = c.MayWrite()
	}
	if err == nil {
		err = m.bring()
	}
	if err != nil {
		return nil, err
	}
	d, err := m.record()
	if err == nil && m.sent {
		ctx, end := c.Project().Environment().Timeout(c.Context(), OverlapTime)
		defer end()
		later, failed := m.repo.Dangling(ctx, m.again)
		d.Later, d.Searched = later, failed == nil
	}
	return d, err
}

// allowed returns T402 for whoever may not undo the removal.
func (m *codeRestore) allowed() error {
	if m.undoes == nil {
		return nil
	}
	_, err := m.c.View(func(s *thread.State) error { return s.MayUndo(*m.undoes, m.c.Stamp()) })
	return err
}

// bring makes git's worktree.
func (m *codeRestore) bring() (err error) {
	ctx, code, dir := m.c.Context(), m.t.OwnedCode(), WorktreeDir(m.c, m.t)
	m.worktree = m.repo.Worktree(dir, code.Admin)
	if err := kept(ctx, m.repo, m.t); err != nil {
		return err
	}
	if code.State == thread.CodeRemoved {
		x := restoringOf(m.t, dir)
		if m.worktree, err = m.repo.Restore(ctx, x); err != nil {
			return giveWay(err)
		}
		return m.branch(x.Tip)
	}
	if m.again, m.sent, err = branchAgain(m.c, m.repo, m.t); err != nil {
		return err
	}
	m.made = m.made || m.again != ""
	if err := branchThere(ctx, m.repo, m.t); err != nil {
		return err
	}
	_, here := os.Lstat(dir)
	_, known := os.Lstat(code.Admin)
	switch {
	case known == nil && m.worktree.MovedTo() != "":
		return thread.FolderTaken(dir, "git has this worktree in "+m.worktree.MovedTo()).
			WithHint("Record where it is with leslie code repair, or leslie update " + string(m.t.ID) + " --worktree " + m.worktree.MovedTo()).WithNext("leslie code " + string(m.t.ID))
	case known == nil && here != nil && MovedText(m.c, m.repo, m.t) != "":
		return thread.FolderTaken(dir, MovedText(m.c, m.repo, m.t)).WithHint("leslie code repair records where it is").WithNext("leslie code " + string(m.t.ID))
	case known == nil && (here != nil || m.worktree.IsRestoringFiles()):
		m.made = true
		return m.worktree.RestoreFiles(ctx)
	case known == nil:
		linked, err := m.worktree.RestoreGitFile()
		m.made = m.made || linked
		return err
	}
	tip, err := m.repo.Branch(ctx, m.t.Branch)
	if err != nil {
		return err
	}
	if tip == "" {
		return merging.BranchGone(m.repo, m.t)
	}
	m.made = true
	m.worktree, err = m.repo.Restore(ctx, git.Restoring{Dir: dir, Branch: m.t.Branch, Tip: tip})
	return err
}

// restoringOf is what is made of the record of a removed worktree.
func restoringOf(t thread.Thread, dir string) git.Restoring {
	how := t.OwnedCode().Removed
	return git.Restoring{Dir: dir, Branch: t.Branch, Tip: git.Commit(how.Tip), Rescue: git.Commit(how.Rescue), Whole: how.Ref != "" || how.Landed}
}

// giveWay adds to T803 what lets a worktree come back.
func giveWay(err error) error {
	e := codes.Of(err)
	if !codes.Has(err, codes.BranchTaken) {
		return err
	}
	if branch := e.Facts().Text("branch"); branch != "" {
		return e.WithHint("Give that branch another name (git branch -m " + external.Word(branch) + " NAME), then repeat the call: nothing was changed").WithNext("leslie code")
	}
	return e.WithHint("Move that folder away, then repeat the call: nothing was changed").WithNext("leslie code")
}

// kept returns T802 if git no longer has what a removed worktree had.
func kept(ctx context.Context, repo *git.Repo, t thread.Thread) error {
	how := t.OwnedCode().Removed
	if t.OwnedCode().State != thread.CodeRemoved || how == nil {
		return nil
	}
	for _, commit := range []string{how.Tip, how.Rescue} {
		if commit == "" {
			continue
		}
		switch at, err := repo.Resolve(ctx, commit); {
		case err != nil:
			return err
		case at == "":
			return thread.NoCode(t.ID, "git no longer has what its worktree had (commit "+commit[:min(12, len(commit))]+")").
				WithHint("What has landed of it is where it landed: leslie diff " + string(t.ID) + " --code")
		}
	}
	return nil
}

// CheckRestorable returns why the removed worktree of a thread cannot be brought back: T802 if git no longer has what it had, T803 if
// its folder or its branch is taken. Errors: T101, T105, T801, too.
func CheckRestorable(c *app.Call, id thread.ThreadID) error {
	t, err := Owner(c, string(id))
	if err != nil {
		return err
	}
	repo, err := RepoOf(c, t)
	if err != nil {
		return err
	}
	if err := kept(c.Context(), repo, t); err != nil || t.OwnedCode().State != thread.CodeRemoved || t.OwnedCode().Removed == nil || t.OwnedCode().Removed.Tip == "" {
		return err
	}
	return giveWay(repo.CanRestore(c.Context(), restoringOf(t, WorktreeDir(c, t))))
}

// branch makes the thread's branch again if the removal deleted it and the worktree has
// another one checked out.
func (m *codeRestore) branch(tip git.Commit) error {
	now, err := m.repo.Branch(m.c.Context(), m.t.Branch)
	if err != nil || now != "" || tip == "" {
		return err
	}
	return m.repo.UpdateRef(m.c.Context(), "refs/heads/"+m.t.Branch, tip, "", "leslie: restore")
}

// record records that the worktree is there.
func (m *codeRestore) record() (*RestoreResult, error) {
	c, removed := m.c, m.t.OwnedCode().Removed
	d, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*RestoreResult, thread.ThreadID, error) {
		t, err := s.RestoreCode(m.t.ID, m.worktree.Admin, stamp)
		if err != nil {
			return nil, "", err
		}
		if m.undoes != nil {
			s.Reverse(thread.Reversal{Undoes: m.undoes.ID})
		}
		d := &RestoreResult{
			ThreadID: t.ID, State: t.OwnedCode().State, Branch: t.Branch, Worktree: m.worktree.Dir,
			BranchMade: string(m.again), BranchSent: m.sent, Revision: t.Revision,
		}
		if removed != nil {
			d.Rescued = removed.Rescue
		}
		return d, t.ID, nil
	})
	if err != nil {
		return nil, err // the same call repeated finds the worktree whole
	}
	if m.made {
		d.SetChanged(true)
	}
	_ = m.worktree.Unlock() // doctor finds what stays
	if removed != nil && removed.Ref != "" {
		if removed.Rescue != "" { // what was not committed is in the worktree again
			_ = m.repo.DropRef(c.Context(), removed.Ref)
		} else {
			_, _ = m.repo.DeleteIfReachable(c.Context(), removed.Ref)
		}
	}
	return d, nil
}

// endRemoval ends the removal of a worktree that did not end, as far as git and the records
// are concerned, and reports whether there was one: either its work is kept, and it is
// removed, whether its folder can be deleted or not; or it has its folder again. Errors:
// those of a removal.
func endRemoval(c *app.Call, id thread.ThreadID) (ended bool, err error) {
	m := &codeRemoval{c: c}
	_, err = c.View(func(s *thread.State) (err error) {
		if m.t, err = s.OwnCode(string(id)); err == nil {
			err = c.RespectClaim(s, string(id), c.Stamp())
		}
		return err
	})
	if err != nil || m.t.OwnedCode().State != thread.CodeRemoving {
		return false, err
	}
	if m.repo, err = RepoOnceIdle(c, m.t); err != nil {
		return false, err
	}
	code := m.t.OwnedCode()
	m.removal = git.Removal{Worktree: m.repo.Worktree(WorktreeDir(c, m.t), code.Admin), Ref: code.Removed.Ref}
	kept, ok, err := m.removal.Rescued(c.Context())
	var how *thread.CodeRemoval
	switch {
	case err != nil:
		return false, err
	case ok:
		if err := m.removal.Detach(); err != nil {
			return false, m.halfDone(err)
		}
		_ = m.removal.DeleteLeft() // doctor finds what stays
		tip, err := m.repo.Branch(c.Context(), m.t.Branch)
		if err != nil {
			return false, err
		}
		how = &thread.CodeRemoval{At: c.Now(), Tip: string(cmp.Or(tip, kept.Head)), Rescue: string(kept.Commit), Ref: m.removal.Ref}
	default:
		if err := m.removal.MoveBack(); err != nil {
			return false, m.halfDone(err)
		}
	}
	return true, between(c, func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) {
		return s.EndCodeRemoval(id, how, stamp)
	})
}
