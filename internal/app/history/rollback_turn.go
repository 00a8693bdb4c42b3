package history

import (
	"errors"
	"io/fs"
	"strconv"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
	"leslie/warnings"
)

// This file exchanges the work in a thread's worktree for what was kept at a turn's end,
// and takes that back.
//
//	check    what would be lost, or is in the way, is refused; nothing is changed
//	keep     a commit of what is there, and its ref
//	op 1     "rolling", with both commits
//	exchange files, index, branch
//	op 2     the artifacts, "ready" and what was exchanged; its answer is the request's
//
// An error up to op 2 brings back what was there. Where the process was killed, the thread
// stays "rolling": the next rollback or run of it, undo, or doctor --repair, brings back
// what was there.

// RollbackCode says what a rollback did to a thread's code.
type RollbackCode struct {
	Branch string `json:"branch"`
	// Commit is where the branch is now, Was where it was.
	Commit string `json:"commit"`
	Was    string `json:"was"`
	// Ref keeps what was there: commits and what was not committed.
	Ref string `json:"ref"`
}

// WorkExchange is an exchange of the work in a thread's worktree.
type WorkExchange struct {
	C    *app.Call
	ID   thread.ThreadID
	repo *git.Repo
	x    git.Exchange
	was  git.Work
	done thread.CodeRolled
	free []func() // releases what is held
}

// Hold makes this call the only one that works on the thread's run and its worktree, and
// takes back what a killed one has left. Errors: T108 if its run goes on, T805, T801, and
// those of revertRolling.
func (r *WorkExchange) Hold(t thread.Thread) error {
	c := r.C
	if t.LastRun() != nil {
		_, release, err := c.Store().HoldRun(c.Context(), t.ID)
		if errors.Is(err, fs.ErrExist) {
			return c.RunsAlready(t.ID)
		}
		if err != nil {
			return err
		}
		r.free = append(r.free, release)
	}
	if t.OwnedCode() == nil {
		return nil
	}
	release, err := code.Hold(c, t.ID)
	if err != nil {
		return err
	}
	r.free = append(r.free, release)
	return revertRolling(c, t.ID)
}

// Release gives back what Hold took.
func (r *WorkExchange) Release() {
	for i := len(r.free) - 1; i >= 0; i-- {
		r.free[i]()
	}
	r.free = nil
}

// worktree finds the thread's worktree, which has to be ready. Errors: T101, T802, T801.
func (r *WorkExchange) worktree() error {
	t, err := code.Owner(r.C, string(r.ID), thread.CodeReady)
	if err != nil {
		return err
	}
	if r.repo, err = code.RepoOnceIdle(r.C, t); err != nil {
		return err
	}
	r.x = git.Exchange{Worktree: r.repo.Worktree(code.WorktreeDir(r.C, t), t.OwnedCode().Admin), Branch: t.Branch}
	return nil
}

// beginExchange keeps what is there, and records that it is exchanged for another work, which a dry run only
// checks. With nothing to exchange it reports false. Errors: T805, T806, T808, T801, those of a write.
func (r *WorkExchange) beginExchange(to git.Commit, turn int, dryRun bool) (bool, error) {
	c := r.C
	ref, err := r.repo.NewRolled(c.Context(), string(r.ID))
	if err != nil {
		return false, err
	}
	if r.was, err = r.x.SaveWorkAs(c.Context(), c.Caller().Actor, ref); err != nil {
		return false, thread.Busy(err, r.ID)
	}
	r.x.From, r.x.To = r.was.Commit, to
	r.done = thread.CodeRolled{Turn: turn, Ref: ref, From: string(r.was.Commit), To: string(to)}
	same, err := r.repo.SameWork(c.Context(), r.was.Commit, to)
	if err == nil && !same {
		err = thread.Busy(r.x.Check(c.Context()), r.ID)
	}
	if err == nil && !same && !dryRun {
		err = changeRolling(c, r.ID, func(s *thread.State, stamp thread.Stamp) error {
			_, err := s.RespectClaim(string(r.ID), c.Stamp())
			if err == nil {
				_, err = s.BeginRolling(r.ID, r.done, stamp)
			}
			return err
		})
	}
	if err != nil || same || dryRun {
		_ = r.repo.DropRef(c.Context(), ref)
	}
	return err == nil && !same, err
}

// exchange exchanges the work.
func (r *WorkExchange) exchange() error { return thread.Busy(r.x.Run(r.C.Context()), r.ID) }

// back brings back what was there, after an error, which it returns. If that fails, too,
// the thread stays as it is, for the next call.
func (r *WorkExchange) back(why error) error {
	ctx, cancel := r.C.Cleaning()
	defer cancel()
	c := r.C.Project().Call(ctx, r.C.Caller(), app.Request{Command: rollingCommand, LockTimeout: r.C.Request().LockTimeout})
	if err := revertRolling(c, r.ID); err != nil {
		return why
	}
	r.C.Warn(c.Warnings()...)
	_ = r.repo.DropRef(ctx, r.done.Ref)
	return why
}

// rollingCommand is the operation between the check and the answer.
const rollingCommand = "rollback code"

// changeRolling records an operation of the system that is no caller's answer, and is one
// with the caller's own.
func changeRolling(c *app.Call, id thread.ThreadID, do func(*thread.State, thread.Stamp) error) error {
	var refusal error
	commit, err := c.System(rollingCommand, c.Now(), func(s *thread.State, stamp thread.Stamp) thread.ThreadID {
		if refusal = do(s, stamp); refusal != nil {
			return ""
		}
		return id
	})
	c.SetContinues(commit.Operation)
	return errors.Join(refusal, err)
}

// revertRolling brings back what was in the worktree of a thread before an exchange that
// was cut short; nothing happens if there was none. What somebody wrote since is kept
// under a ref (W804). The caller holds the worktree. Errors: T801, T805, T505, those of a
// write.
func revertRolling(c *app.Call, id thread.ThreadID) error {
	t, err := code.Owner(c, string(id))
	if codes.Has(err, codes.NoCode) || err == nil && t.OwnedCode().State != thread.CodeRolling {
		return nil
	}
	if err != nil {
		return err
	}
	left := t.OwnedCode().Rolling
	repo, err := code.RepoOnceIdle(c, t)
	if err != nil {
		return err
	}
	x := git.Exchange{Worktree: repo.Worktree(code.WorktreeDir(c, t), t.OwnedCode().Admin), Branch: t.Branch, To: git.Commit(left.From)}
	ref, err := repo.NewRolled(c.Context(), string(id))
	if err != nil {
		return err
	}
	now, err := x.SaveWorkAs(c.Context(), c.Caller().Actor, ref)
	if err != nil {
		return thread.Busy(err, id)
	}
	x.From = now.Commit
	if err := x.Run(c.Context()); err != nil {
		return thread.Busy(err, id)
	}
	if strange, err := repo.ForeignPaths(c.Context(), now.Commit, x.To, git.Commit(left.To)); err == nil && len(strange) == 0 {
		_ = repo.DropRef(c.Context(), ref)
	} else {
		c.Warn(warnings.Rescued.New(fact.Of("threadId", id), fact.Of("ref", ref), fact.Of("commit", now.Commit)))
	}
	return changeRolling(c, id, func(s *thread.State, stamp thread.Stamp) error {
		_, err := s.EndRolling(id, false, stamp)
		return err
	})
}

// HoldAndRevertRolling is revertRolling for a caller that holds only the run.
func HoldAndRevertRolling(c *app.Call, id thread.ThreadID) error {
	t, err := code.Owner(c, string(id), thread.CodeRolling)
	if err != nil {
		return nil // none is left
	}
	release, err := code.Hold(c, t.ID)
	if err != nil {
		return err
	}
	defer release()
	return revertRolling(c, t.ID)
}

// rollbackTurn restores a thread's artifacts, and its code if it owns some, as they were
// at the end of a turn of its runs. What is there is kept first, so that Undo brings both
// back. Errors: those of Rollback; T108 if its run goes on, T802 if its worktree is not
// there or the turn's code was not kept, T805 if something is in progress there, T806 if
// something is in the way, T801, T808.
func rollbackTurn(c *app.Call, in RollbackRequest) (*RollbackResult, error) {
	var t thread.Thread
	var to thread.Checkpoint
	if _, err := c.View(func(s *thread.State) (err error) {
		if t, err = s.LiveThread(c.ThreadOr(in.Thread)); err != nil {
			return err
		}
		c.SetTarget(t.ID)
		if _, err = s.RespectClaim(string(t.ID), c.Stamp()); err == nil {
			to, err = t.TurnOf(in.Turn)
		}
		return err
	}); err != nil {
		return nil, err
	}
	r := &WorkExchange{C: c, ID: t.ID}
	defer r.Release()
	if !in.DryRun {
		if err := r.Hold(t); err != nil {
			return nil, err
		}
	}
	if t.OwnedCode() == nil {
		return rollback(c, string(t.ID), string(to.ID), nil, in.DryRun)
	}
	if to.Work == "" {
		return nil, thread.NoCode(t.ID, "its code was not kept at the end of turn "+strconv.Itoa(in.Turn)).
			WithHint("Roll back the artifacts alone: leslie rollback " + string(t.ID) + " --to " + string(to.ID)).
			WithNext("leslie checkpoint list " + string(t.ID) + " --kept")
	}
	if err := r.worktree(); err != nil {
		return nil, err
	}
	changes, err := r.beginExchange(git.Commit(to.Work), in.Turn, in.DryRun)
	if err != nil {
		return nil, err
	}
	if !changes {
		return rollback(c, string(t.ID), string(to.ID), nil, in.DryRun)
	}
	if in.DryRun {
		return rollback(c, string(t.ID), string(to.ID), r, true)
	}
	err = r.exchange()
	var d *RollbackResult
	if err == nil {
		d, err = rollback(c, string(t.ID), string(to.ID), r, false)
	}
	if err != nil {
		return nil, r.back(err)
	}
	return d, nil
}

// end records, in the operation of the rollback, that the work is exchanged.
func (r *WorkExchange) end(s *thread.State, stamp thread.Stamp, d *RollbackResult) error {
	t, err := s.EndRolling(r.ID, true, stamp)
	if err != nil {
		return err
	}
	d.Code = &RollbackCode{Branch: t.Branch, Commit: string(r.x.Head()), Was: string(r.was.Head), Ref: r.done.Ref}
	return nil
}
