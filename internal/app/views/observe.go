package views

import (
	"slices"
	"strings"
	"time"

	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// ObserveRequest asks for operations as they are recorded.
type ObserveRequest struct {
	Target string   // only those that concern this thread; "": all
	Events []string // commands, or their first words; nil: all
	// Since excludes operations up to that revision. nil: everything from the
	// beginning, or with Follow and without From only new operations.
	Since           *thread.Revision
	app.ActorFilter           // who did it
	From            time.Time // only those from this time on; zero: all
	// Follow continues with new operations until the call's context ends.
	Follow bool
	// Pause, if not nil, is called before waiting for new operations, with W105 if
	// more or fewer messages wait for the caller's thread than at the last pause.
	Pause func(warnings.List)
}

// Observe calls emit with the recorded operations, oldest first. An error of emit ends
// it and is returned. Errors: T101, T105, T903 for a future revision, those of
// reading, T904.
func Observe(c *app.Call, in ObserveRequest, emit func(app.OperationRecord) error) error {
	c.ReadOnly()
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return err
	}
	w := c.Store().Watch(store.StateFile) // before the first look, so that no operation is missed
	defer w.Close()
	q, err := observed(c, in)
	if err != nil {
		return err
	}
	cursor := c.Store().Cursor(q)
	var told warnings.List
	for {
		found, err := cursor.Read(c.Context(), 0, func(op thread.Operation) error {
			if !in.meant(op.Command) || in.Actor(c) != "" && op.Actor != in.Actor(c) || op.Time.Before(in.From) {
				return nil
			}
			record := app.OperationOf(op, "")
			record.Began = app.BegunToWait(op.Changes)
			return emit(record)
		})
		c.Warn(found...)
		if err != nil || !in.Follow {
			return err
		}
		if in.Pause != nil {
			in.Pause(c.TakeNotices(&told))
		}
		if err := w.Next(c.Context(), 0); err != nil {
			return err
		}
	}
}

// observed returns where observing starts, and its filters.
func observed(c *app.Call, in ObserveRequest) (store.CursorQuery, error) {
	q := store.CursorQuery{Lost: threads.LostOperationsWarner(c)}
	v, err := c.View(func(s *thread.State) error {
		if in.Target == "" {
			return nil
		}
		t, err := s.Thread(in.Target)
		c.SetTarget(t.ID)
		q.Thread = t.ID
		return err
	})
	switch {
	case err != nil:
		return q, err
	case in.Since != nil:
		q.Since = *in.Since
		return q, threads.CheckRevision(q.Since, v.Revision)
	case in.Follow && in.From.IsZero():
		q.Since = v.Revision
	}
	return q, nil
}

// meant reports whether a command is one of the requested ones.
func (in ObserveRequest) meant(command string) bool {
	first, _, _ := strings.Cut(command, " ")
	return len(in.Events) == 0 || slices.Contains(in.Events, command) || slices.Contains(in.Events, first)
}
