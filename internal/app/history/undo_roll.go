package history

import (
	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
)

// This file brings back the code that a rollback has exchanged: see rollback_turn.go.

// codeUndo is that exchange.
type codeUndo struct {
	WorkExchange
	began bool
}

// failed brings back what the rollback had brought if the undo failed, and returns why.
func (r *codeUndo) failed(why error) error {
	if why == nil || !r.began {
		return why
	}
	return r.back(why)
}

// takeBackRoll brings back what was in a thread's worktree before a rollback, or with a
// dry run says whether it could. Files that came since stay. Errors: T110 if anything that
// it brings back was changed since; T108, T802, T805, T808, T801.
func (u *Undoing) takeBackRoll(id thread.ThreadID, rolled thread.CodeRolled) error {
	c, r := u.c, u.roll
	r.ID = id
	var t thread.Thread
	if _, err := c.View(func(s *thread.State) (err error) {
		t, err = s.LiveThread(string(id))
		return err
	}); err != nil {
		return err
	}
	if !u.dryRun {
		if err := r.Hold(t); err != nil {
			return err
		}
	}
	if err := r.worktree(); err != nil {
		return err
	}
	r.x.From, r.x.To = git.Commit(rolled.To), git.Commit(rolled.From)
	err := r.x.Check(c.Context())
	if e := codes.Of(err); codes.Has(err, codes.LandingBlocked) {
		paths, _ := e.Facts().Get("paths")
		return u.conflict("files in the worktree were changed since").With(fact.Of("paths", paths)).
			WithHint("The commit " + rolled.From + " has what was there before the rollback")
	}
	if err != nil {
		return err
	}
	untouched, err := r.x.Untouched(c.Context())
	switch {
	case err != nil:
		return err
	case !untouched:
		return u.conflict("the branch or the index of the worktree was changed since").
			WithHint("The commit " + rolled.From + " has what was there before the rollback")
	}
	if !u.dryRun {
		from := r.x.From
		if r.began, err = r.beginExchange(r.x.To, rolled.Turn, false); err != nil {
			return err
		}
		if r.began {
			r.x.From = from // what came since stays
			if err := r.exchange(); err != nil {
				return err
			}
		}
	}
	u.result.Code = &UndoneCode{Branch: r.x.Branch, Commit: string(r.x.Head()), How: Restored}
	return nil
}
