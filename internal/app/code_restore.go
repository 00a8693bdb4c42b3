package app

import (
	"os"

	"leslie/internal/git"
	"leslie/thread"
)

// CodeRestoreRequest names a thread whose worktree was removed or is lost.
type CodeRestoreRequest struct {
	Thread string // "": the thread that the caller speaks for
}

// CodeRestoreResult is a worktree that is there again.
type CodeRestoreResult struct {
	ThreadID thread.ThreadID  `json:"threadId"`
	State    thread.CodeState `json:"state"`
	Branch   string           `json:"branch"`
	Worktree string           `json:"worktree"` // absolute
	// Rescued is the commit whose work is in it again, absent for none.
	Rescued  string          `json:"rescued,omitempty"`
	Revision thread.Revision `json:"revision"`
	Change
}

// codeRestore is one restoration. All of git's work is done before its only operation;
// until that, git has the worktree locked, and the same call repeated begins again.
type codeRestore struct {
	c        *Call
	repo     *git.Repo
	t        thread.Thread
	worktree git.Worktree
	// made: something was made again that no record calls lost.
	made bool
}

// CodeRestore brings a removed worktree back, on its branch, with what was not committed.
// A lost one becomes ready again if its folder is there; otherwise it gets its files from
// the index, or from the branch. Errors: T101, T105; T801; T802; T803 if the folder or the
// branch is taken, or has moved so that the kept work does not fit; T805; T808; T108 for
// another's claim, and those of a write.
func CodeRestore(c *Call, in CodeRestoreRequest) (*CodeRestoreResult, error) {
	if first, ok, err := answered[CodeRestoreResult](c); ok || err != nil {
		return first, err
	}
	states := []thread.CodeState{thread.CodeReady, thread.CodeRemoved, thread.CodeLost}
	t, err := ownCode(c, c.threadOr(in.Thread), states...)
	if err != nil {
		return nil, err
	}
	release, err := holdCode(c, t.ID)
	if err != nil {
		return nil, err
	}
	defer release()
	m := &codeRestore{c: c}
	_, err = c.view(func(s *thread.State) (err error) {
		if m.t, err = s.OwnCode(string(t.ID), states...); err == nil {
			if err = respectClaim(c, s, string(t.ID), c.operation()); err == nil {
				_, err = s.RestoreCode(t.ID, m.t.OwnedCode().Admin, c.operation()) // what it refuses is refused before git is asked
			}
		}
		return err
	})
	if err == nil {
		m.repo, err = quietRepo(c, m.t)
	}
	if err == nil {
		err = m.bring()
	}
	if err != nil {
		return nil, err
	}
	return m.record()
}

// bring makes git's worktree.
func (m *codeRestore) bring() (err error) {
	ctx, code, dir := m.c.ctx, m.t.OwnedCode(), worktreeDir(m.c, m.t)
	m.worktree = m.repo.Worktree(dir, code.Admin)
	if code.State == thread.CodeRemoved {
		x := git.Restoring{Dir: dir, Branch: m.t.Branch, Tip: git.Commit(code.Removed.Tip), Rescue: git.Commit(code.Removed.Rescue)}
		if m.worktree, err = m.repo.Restore(ctx, x); err != nil {
			return err
		}
		return m.branch(x.Tip)
	}
	_, here := os.Lstat(dir)
	_, known := os.Lstat(code.Admin)
	switch {
	case known == nil && m.worktree.Elsewhere() != "":
		return thread.FolderTaken(dir, "git has this worktree in "+m.worktree.Elsewhere()).
			WithHint("Record where it is with leslie update " + string(m.t.ID) + " --worktree " + m.worktree.Elsewhere()).WithNext("leslie code " + string(m.t.ID))
	case known == nil && (here != nil || m.worktree.Remaking()):
		m.made = true
		return m.worktree.Remake(ctx)
	case known == nil:
		m.made, err = m.worktree.Relink()
		return err
	}
	tip, err := m.repo.Branch(ctx, m.t.Branch)
	if err != nil {
		return err
	}
	if tip == "" {
		return thread.NoCode(m.t.ID, "its worktree and its branch '"+m.t.Branch+"' are gone")
	}
	m.worktree, err = m.repo.Restore(ctx, git.Restoring{Dir: dir, Branch: m.t.Branch, Tip: tip})
	return err
}

// branch makes the thread's branch again if the removal deleted it and the worktree has
// another one checked out.
func (m *codeRestore) branch(tip git.Commit) error {
	now, err := m.repo.Branch(m.c.ctx, m.t.Branch)
	if err != nil || now != "" || tip == "" {
		return err
	}
	return m.repo.UpdateRef(m.c.ctx, "refs/heads/"+m.t.Branch, tip, "", "leslie: restore")
}

// record records that the worktree is there.
func (m *codeRestore) record() (*CodeRestoreResult, error) {
	c, removed := m.c, m.t.OwnedCode().Removed
	d, err := write(c, func(s *thread.State, stamp thread.Stamp) (*CodeRestoreResult, thread.ThreadID, error) {
		t, err := s.RestoreCode(m.t.ID, m.worktree.Admin, stamp)
		if err != nil {
			return nil, "", err
		}
		d := &CodeRestoreResult{ThreadID: t.ID, State: t.OwnedCode().State, Branch: t.Branch, Worktree: m.worktree.Dir, Revision: t.Revision}
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
		if at, err := m.repo.Resolve(c.ctx, removed.Ref); err == nil && at != "" {
			_ = m.repo.UpdateRef(c.ctx, removed.Ref, "", at, "leslie: restored")
		}
	}
	return d, nil
}
