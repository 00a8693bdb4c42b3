package threads

import (
	"slices"

	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/thread"
)

// UpdateResult is the thread after the change.
type UpdateResult struct {
	app.ThreadRecord
	// PersonsCheckout: leslie did not make its worktree, so no agent is offered the thread.
	PersonsCheckout bool `json:"personsCheckout,omitempty"`
	app.Change
}

// Update changes a thread's own fields. A worktree is a folder, absolute or relative
// to the project's root. With a new intent, a title that was the first line of the old
// one becomes the first line of the new one. A thread owns the code of a worktree of the
// project's repository that it is given. Errors: T903 (also for a dependency on the
// thread itself), T101, T105, T107 for an archived thread, T108, T201 if dependencies
// would form a cycle, T803 for another worktree or branch than those that leslie made for
// the thread, and those of a write.
func Update(c *app.Call, in UpdateRequest) (*UpdateResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	id, edit := c.ThreadOr(in.Thread), in.Edit
	if edit.Worktree != nil {
		place := c.Project().Worktree(*edit.Worktree)
		edit.Worktree = &place
	}
	found, err := code.NamedWorktree(c, id, edit)
	if err != nil {
		return nil, err
	}
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*UpdateResult, thread.ThreadID, error) {
		if err := c.RespectClaim(s, id, stamp); err != nil {
			return nil, "", err
		}
		edit := edit
		was, err := s.Thread(id)
		if err == nil && edit.Intent != nil && edit.Title == nil && was.Title == app.FirstLine(was.Intent) {
			title := app.FirstLine(*edit.Intent)
			edit.Title = &title
		}
		if edit.Branch == nil && found != nil {
			edit.Branch = &found.Branch
		}
		t, err := s.Edit(id, edit, stamp)
		if err == nil && (edit.Branch != nil || edit.Worktree != nil) {
			t, err = s.Rehome(was, t, found.Code(), stamp)
		}
		if err != nil {
			return nil, "", err
		}
		added := slices.DeleteFunc(slices.Clone(t.DependsOn), func(id thread.ThreadID) bool {
			return slices.Contains(was.DependsOn, id)
		})
		c.Warn(s.CancelledBelow(t, added)...)
		return &UpdateResult{ThreadRecord: app.ThreadOf(c, t), PersonsCheckout: t.PersonsCheckout()}, t.ID, nil
	})
}
