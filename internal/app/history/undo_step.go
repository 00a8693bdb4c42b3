package history

import (
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file finds what a caller's undo and redo are about when they name no operation.

// undone has the operations that are undone, of a history that is read backwards.
type undone map[thread.OperationID]bool

// has reports whether an operation is undone, and notes what it undoes, unless that is undone itself.
func (u undone) has(op thread.Operation) bool {
	is := u[op.ID]
	if !is && op.Undoes != "" {
		u[op.Undoes] = true
	}
	return is
}

// walk reads the history backwards, the newest operation first, once. It knows of each
// operation whether it is undone now, because what undid it came later.
type walk struct {
	c        *app.Call
	pending  map[thread.MergeID]bool // the merges that are pending now; nil before anybody asked
	UndoneBy map[thread.OperationID]thread.OperationID

	past *thread.Operation // undo is before it, and none that it went on from

	undo *thread.Operation // the caller's newest one that is not undone
	redo *thread.Operation // the caller's newest undo that is not undone, if nothing came after it
	last *thread.Operation // the caller's newest one that is no undo or redo
}

func newWalk(c *app.Call) *walk {
	return &walk{c: c, UndoneBy: map[thread.OperationID]thread.OperationID{}}
}

func (w *walk) take(op thread.Operation) {
	_, undone := w.UndoneBy[op.ID]
	own := op.Actor == w.c.Caller().Actor && op.As == w.c.Caller().As
	switch {
	case undone:
	case op.Undoes != "":
		w.UndoneBy[op.Undoes] = op.ID
		if own && op.Redoes == "" && op.Continues != op.Undoes && w.redo == nil && w.last == nil {
			w.redo = &op
		}
	case own && !op.Steps() && w.undo == nil && !w.passes(op) && !w.ended(op) && !w.isBack(op):
		w.undo = &op
	}
	if own && !op.Steps() && w.last == nil && !undone && !w.ended(op) && !w.isBack(op) {
		w.last = &op
	}
}

// passes reports whether an operation is not before the one that undo is to be before.
func (w *walk) passes(op thread.Operation) bool {
	switch {
	case w.past == nil:
		return false
	case op.ID == w.past.Continues:
		w.past = &op
		return true
	}
	return op.Seq >= w.past.Seq
}

// ended reports whether an operation only prepared a merge that is no longer pending, or gave one up: the
// merge's last operation has its effect.
func (w *walk) ended(op thread.Operation) bool {
	return op.Command == "merge abort" || slices.ContainsFunc(op.Changes, func(ch thread.Change) bool {
		id, ok := strings.CutPrefix(ch.Record, thread.TableMerges+"/")
		return ok && !thread.Absent(ch.After) && !w.isPending(thread.MergeID(id))
	})
}

// isPending reports whether a merge is pending now, also if the State cannot be read.
func (w *walk) isPending(id thread.MergeID) bool {
	if w.pending == nil {
		pending := map[thread.MergeID]bool{}
		if _, err := w.c.View(func(s *thread.State) error {
			for _, m := range s.MergesOf("") {
				pending[m.ID] = true
			}
			return nil
		}); err != nil {
			return true
		}
		w.pending = pending
	}
	return w.pending[id]
}

// back walks until one of the caller's operations, or something that undid one, is found.
// Errors: those of reading.
func (w *walk) back(found func() bool) error {
	if err := w.c.Refresh(); err != nil {
		return err
	}
	actor, err := fact.JSON(w.c.Caller().Actor)
	if err != nil {
		return err
	}
	_, _, err = w.c.Store().FindOperation(w.c.Context(), func(op thread.Operation) bool {
		w.take(op)
		return found()
	}, `"actor":`+string(actor))
	return err
}

// ownToUndo returns the caller's newest operation that is no undo or redo and is not
// undone now. Errors: T112.
func ownToUndo(c *app.Call) (thread.Operation, error) {
	w := newWalk(c)
	if err := w.back(func() bool { return w.undo != nil }); err != nil {
		return thread.Operation{}, err
	}
	if w.undo != nil {
		return *w.undo, nil
	}
	err := codes.OperationNotFound.New(fact.Of("count", 0), fact.Of("action", "undo"))
	if w.redo != nil {
		return thread.Operation{}, err.WithHint("You have undone all that you did here; leslie redo goes forward again")
	}
	newer, lookErr := newerOperation(c, 0)
	if lookErr != nil || newer == nil {
		return thread.Operation{}, err.WithHint("You have no operation here to undo; name one")
	}
	return thread.Operation{}, err.With(fact.Of("newest", newer.OperationID)).
		WithHint("You have no operation here to undo. The newest is " + newer.Line())
}

// ownToRedo returns the caller's newest undo that is not undone. An operation of the
// caller that came after it ends what can be redone. Errors: T112.
func ownToRedo(c *app.Call) (thread.Operation, error) {
	w := newWalk(c)
	if err := w.back(func() bool { return w.redo != nil || w.last != nil }); err != nil {
		return thread.Operation{}, err
	}
	err := codes.OperationNotFound.New(fact.Of("count", 0), fact.Of("action", "redo"))
	switch {
	case w.redo != nil:
		return *w.redo, nil
	case w.last != nil:
		return thread.Operation{}, err.With(fact.Of("later", w.last.ID)).
			WithHint("Redo only follows your own undo, and nothing is undone since your last operation '" + string(w.last.ID) + "' (" + w.last.Command +
				"). To redo what an older undo took back, undo that undo: leslie undo OP")
	}
	return thread.Operation{}, err.WithHint("You have undone nothing here")
}
