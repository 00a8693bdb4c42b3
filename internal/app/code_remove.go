package app

import (
	"context"
	"os"
	"path/filepath"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
	"leslie/warnings"
)

// This file removes the worktrees of threads, and loses no work.
//
//	check   what would be lost is refused; nothing is changed
//	op 1    "removing", with the ref that will keep the work
//	aside   the folder gets another name beside it, so that nobody works there
//	keep    a commit of everything that is not committed, and the ref: the point of no return
//	delete  the folder, its entry in the repository, and the branch if it has landed
//	op 2    "removed"; its answer is the request's
//
// An error up to "keep" takes everything back. Where the process was killed, the thread
// stays "removing": the same command, or doctor --repair, goes on from what it finds.

// CodeRemoveRequest names a thread that owns code.
type CodeRemoveRequest struct {
	Thread string // "": the thread that the caller speaks for
}

// CodeRemoveResult says what is left of a thread's code.
type CodeRemoveResult struct {
	ThreadID thread.ThreadID `json:"threadId"`
	// State is removed; lost if the folder was not there; null if leslie had not made the
	// worktree, which stays and is no longer the thread's.
	State    *thread.CodeState `json:"state"`
	Branch   string            `json:"branch"`
	Worktree string            `json:"worktree"` // absolute
	// BranchKept: the branch is still there.
	BranchKept bool `json:"branchKept"`
	// Rescue is what keeps work that was not committed, absent if there was none.
	Rescue   *CodeRescue     `json:"rescue,omitempty"`
	Revision thread.Revision `json:"revision"`
	Change
}

// CodeRescue is a commit of work that was not committed.
type CodeRescue struct {
	Ref    string     `json:"ref"`
	Commit git.Commit `json:"commit"`
	// Changed, Untracked and Ignored are numbers of files; they are not known, and zero,
	// where the removal goes on after its process was killed.
	Changed   int `json:"changed"`
	Untracked int `json:"untracked"`
	Ignored   int `json:"ignored"`
}

// codeRemoval is one removal.
type codeRemoval struct {
	c       *Call
	repo    *git.Repo
	t       thread.Thread
	removal git.Removal
}

// CodeRemove removes the worktree of a thread and keeps what is not committed. The branch
// stays unless leslie made it and it has landed. A worktree that leslie did not make stays;
// the thread only no longer owns it. Errors: T101, T105; T801; T802 for a thread that owns
// no worktree; T805 if something is in progress in it, or if it has repositories of its
// own; T108 for another's claim, and those of a write.
func CodeRemove(c *Call, in CodeRemoveRequest) (*CodeRemoveResult, error) {
	if first, ok, err := answered[CodeRemoveResult](c); ok || err != nil {
		return first, err
	}
	m := &codeRemoval{c: c}
	t, err := ownCode(c, c.threadOr(in.Thread), thread.CodeReady, thread.CodeRemoving, thread.CodeLost)
	if err != nil {
		return nil, err
	}
	release, err := holdCode(c, t.ID)
	if err != nil {
		return nil, err
	}
	defer release()
	if m.t, err = ownCode(c, string(t.ID), thread.CodeReady, thread.CodeRemoving, thread.CodeLost); err != nil {
		return nil, err // somebody else has removed it meanwhile
	}
	if !m.t.OwnedCode().Made.Worktree {
		return m.end(func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) { return s.ForgetCode(m.t.ID, stamp) }, git.Rescued{}, true)
	}
	if m.repo, err = quietRepo(c, m.t); err != nil {
		return nil, err
	}
	m.removal = git.Removal{Worktree: m.repo.Worktree(worktreeDir(c, m.t), m.t.OwnedCode().Admin)}
	return m.run()
}

// ownCode returns a thread that owns code in one of some states. Errors: T101, T105, T802,
// those of reading.
func ownCode(c *Call, id string, in ...thread.CodeState) (t thread.Thread, err error) {
	_, err = c.view(func(s *thread.State) (err error) {
		t, err = s.OwnCode(id, in...)
		return err
	})
	return t, err
}

func (m *codeRemoval) run() (*CodeRemoveResult, error) {
	code := m.t.OwnedCode()
	if code.State == thread.CodeRemoving {
		m.removal.Ref = code.Removed.Ref
		kept, ok, err := m.removal.Kept(m.c.ctx)
		switch {
		case err != nil:
			return nil, err
		case ok:
			return m.finish(kept)
		}
	}
	if m.removal.Gone() {
		return m.end(func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) { return s.LoseCode(m.t.ID, stamp) }, git.Rescued{}, true)
	}
	if code.State != thread.CodeRemoving {
		if err := m.begin(); err != nil {
			return nil, err
		}
	}
	kept, err := m.keep()
	if err != nil {
		return nil, m.takeBack(err)
	}
	return m.finish(kept)
}

// begin checks what can be checked and records that the worktree is being removed.
func (m *codeRemoval) begin() (err error) {
	if _, err := m.removal.CheckRemovable(m.c.ctx); err != nil {
		return ofThread(err, m.t.ID)
	}
	if m.removal.Ref, err = m.repo.FreeRescue(m.c.ctx, string(m.t.ID)); err != nil {
		return err
	}
	return m.between(m.c, func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) {
		if err := respectClaim(m.c, s, string(m.t.ID), stamp); err != nil {
			return thread.Thread{}, err
		}
		if m.t.OwnedCode().State == thread.CodeLost { // its folder is there again
			if _, err := s.RestoreCode(m.t.ID, m.t.OwnedCode().Admin, stamp); err != nil {
				return thread.Thread{}, err
			}
		}
		return s.BeginCodeRemoval(m.t.ID, m.removal.Ref, stamp)
	})
}

// between records an operation that is not the answer of the caller's request.
func (m *codeRemoval) between(c *Call, do func(*thread.State, thread.Stamp) (thread.Thread, error)) error {
	request := c.request.ID
	c.request.ID = ""
	defer func() { c.request.ID, c.request.Expect, c.stamp = request, nil, nil }()
	_, err := write(c, func(s *thread.State, stamp thread.Stamp) (*CodeRemoveResult, thread.ThreadID, error) {
		t, err := do(s, stamp)
		return &CodeRemoveResult{}, t.ID, err
	})
	return err
}

// keep moves the folder aside and keeps its work.
func (m *codeRemoval) keep() (git.Rescued, error) {
	if err := m.removal.MoveAside(); err != nil {
		return git.Rescued{}, err
	}
	return m.removal.Keep(m.c.ctx, m.c.caller.Actor)
}

// takeBack takes back what was begun, and returns why. If that fails, too, the thread
// stays as it is, for the next call to go on with.
func (m *codeRemoval) takeBack(why error) error {
	ctx, cancel := cleaning(m.c)
	defer cancel()
	if _, kept, err := m.removal.Kept(ctx); err != nil || kept {
		return why
	}
	if err := m.removal.MoveBack(); err != nil {
		return why
	}
	back := m.c.project.Call(ctx, m.c.caller, Request{Command: "code remove", LockTimeout: m.c.request.LockTimeout, Params: m.c.request.Params})
	err := m.between(back, func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) {
		return s.EndCodeRemoval(m.t.ID, nil, stamp)
	})
	if err == nil {
		m.c.changed = false
	}
	return ofThread(why, m.t.ID)
}

// ofThread adds the thread to T805.
func ofThread(err error, id thread.ThreadID) error {
	if e := codes.Of(err); e != nil && e.Code() == codes.WorktreeBusy {
		return e.With(fact.Of("threadId", id))
	}
	return err
}

// finish deletes what is kept and records it.
func (m *codeRemoval) finish(kept git.Rescued) (*CodeRemoveResult, error) {
	ctx := m.c.ctx
	if err := m.removal.Delete(); err != nil {
		return nil, err
	}
	if dir := filepath.Dir(m.removal.Dir); dir == m.repo.Top+".worktrees" {
		_ = os.Remove(dir) // if it is empty
	}
	tip, err := m.repo.Branch(ctx, m.t.Branch)
	if err != nil {
		return nil, err
	}
	how := &thread.CodeRemoval{At: m.c.now(), Tip: string(tip), Rescue: string(kept.Commit), Ref: m.removal.Ref}
	branchKept := tip != ""
	if tip == "" { // somebody, or this removal before its process was killed, has deleted it
		how.Tip = string(kept.Head)
	} else if has, err := m.needless(ctx, tip); err == nil && has && tip == kept.Head {
		gone, err := m.repo.Drop(ctx, m.t.Branch, tip)
		if err != nil {
			return nil, err
		}
		branchKept = !gone
	}
	if branchKept && kept.Commit == "" {
		how.Ref = ""
	}
	d, err := m.end(func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) {
		return s.EndCodeRemoval(m.t.ID, how, stamp)
	}, kept, branchKept)
	if err == nil && how.Ref == "" {
		_ = m.repo.UpdateRef(ctx, m.removal.Ref, "", kept.Head, "leslie: nothing to keep") // doctor finds it if it stays
	}
	return d, err
}

// needless reports whether the branch may be deleted: leslie made it, and it has landed. One
// without a commit of its own stays while its thread may go on.
func (m *codeRemoval) needless(ctx context.Context, tip git.Commit) (bool, error) {
	code := m.t.OwnedCode()
	if !code.Made.Branch || string(tip) == code.Start && !m.t.Status.Terminated() {
		return false, nil
	}
	return hasLanded(ctx, m.repo, m.t, tip)
}

// hasLanded reports whether a branch's commits are also elsewhere: merged by leslie, or
// contained in the branch from which it started.
func hasLanded(ctx context.Context, repo *git.Repo, t thread.Thread, tip git.Commit) (bool, error) {
	code := t.OwnedCode()
	if code.LandedAt(string(tip)) || code.Target == "" {
		return code.LandedAt(string(tip)), nil
	}
	target, err := repo.Resolve(ctx, code.Target)
	if err != nil || target == "" {
		return false, err
	}
	return repo.Contains(ctx, target, tip) // also if it was reverted: the commits are there
}

// end records how the removal has ended, and is the answer of the request.
func (m *codeRemoval) end(do func(*thread.State, thread.Stamp) (thread.Thread, error), kept git.Rescued, branchKept bool) (*CodeRemoveResult, error) {
	c := m.c
	return write(c, func(s *thread.State, stamp thread.Stamp) (*CodeRemoveResult, thread.ThreadID, error) {
		if m.t.OwnedCode().State != thread.CodeRemoving && m.removal.Ref == "" { // the first operation
			if err := respectClaim(c, s, string(m.t.ID), stamp); err != nil {
				return nil, "", err
			}
		}
		t, err := do(s, stamp)
		if err != nil {
			return nil, "", err
		}
		d := &CodeRemoveResult{ThreadID: t.ID, Branch: t.Branch, Worktree: worktreeDir(c, t), BranchKept: branchKept, Revision: t.Revision}
		if code := t.OwnedCode(); code != nil {
			d.State = &code.State
		}
		if kept.Commit != "" {
			d.Rescue = &CodeRescue{m.removal.Ref, kept.Commit, kept.Changed, kept.Untracked, kept.Ignored}
			c.warn(warnings.Rescued.New(fact.Of("threadId", t.ID), fact.Of("ref", m.removal.Ref), fact.Of("commit", kept.Commit)))
		}
		if len(kept.Dropped) > 0 {
			c.warn(warnings.IgnoredDropped.NewOfPaths(kept.Dropped, fact.List(nil), fact.Of("threadId", t.ID)))
		}
		return d, t.ID, nil
	})
}
