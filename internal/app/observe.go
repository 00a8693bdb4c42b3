package app

import (
	"fmt"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// ObserveRequest asks for operations as they are recorded.
type ObserveRequest struct {
	Target string   // only those that concern this thread; "": all
	Events []string // commands, or their first words; nil: all
	// Since excludes operations up to that revision. nil: everything from the
	// beginning, or with Follow only new operations.
	Since *thread.Revision
	// Follow continues with new operations until the call's context ends.
	Follow bool
	// Pause, if not nil, is called before waiting for new operations, with W105 if
	// more or fewer messages wait for the caller's thread than at the last pause.
	Pause func(warnings.List)
}

// Observe calls emit with the recorded operations, oldest first. An error of emit ends
// it and is returned. Errors: T101, T105, T903 for a future revision, those of
// reading, T904.
func Observe(c *Call, in ObserveRequest, emit func(OperationRecord) error) error {
	c.readOnly()
	w := c.store.Watch(store.StateFile) // before the first look, so that no operation is missed
	defer w.Close()
	q, err := observed(c, in)
	if err != nil {
		return err
	}
	cursor := c.store.Cursor(q)
	var told thread.Unread
	for {
		found, err := cursor.Read(c.ctx, 0, func(op thread.Operation) error {
			if !in.meant(op.Command) {
				return nil
			}
			record := operationOf(op, "")
			record.Began = begunToWait(op.Changes)
			return emit(record)
		})
		c.warn(found...)
		if err != nil || !in.Follow {
			return err
		}
		if in.Pause != nil {
			in.Pause(takeNotices(c, &told))
		}
		if err := w.Next(c.ctx, 0); err != nil {
			return err
		}
	}
}

// observed returns where observing starts, and its filters.
func observed(c *Call, in ObserveRequest) (store.CursorQuery, error) {
	q := store.CursorQuery{Lost: lostOperations(c)}
	v, err := c.view(func(s *thread.State) error {
		if in.Target == "" {
			return nil
		}
		t, err := s.Thread(in.Target)
		q.Thread, c.target = t.ID, t.ID
		return err
	})
	switch {
	case err != nil:
		return q, err
	case in.Since != nil:
		q.Since = *in.Since
		return q, notAhead(q.Since, v.Revision)
	case in.Follow:
		q.Since = v.Revision
	}
	return q, nil
}

// lostOperations warns of operations that the journal has lost.
func lostOperations(c *Call) func(from, to thread.Revision) {
	return func(from, to thread.Revision) {
		c.warn(warnings.OperationsLost.New(fact.Of("from", from), fact.Of("to", to)))
	}
}

// notAhead returns T903 for a future revision: the caller confuses this store with
// another one.
func notAhead(since, now thread.Revision) error {
	if since <= now {
		return nil
	}
	return codes.InvalidArgument.New(fact.Of("reason", fmt.Sprintf("Since %d is in the future: this store is at revision %d", since, now)))
}

// meant reports whether a command is one of the requested ones.
func (in ObserveRequest) meant(command string) bool {
	first, _, _ := strings.Cut(command, " ")
	return len(in.Events) == 0 || slices.Contains(in.Events, command) || slices.Contains(in.Events, first)
}
