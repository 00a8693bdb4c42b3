package history

import (
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/store"
	"leslie/thread"
)

// ListRequest asks for recorded operations.
type ListRequest struct {
	Thread          string    // only those that concern it; "": all
	app.ActorFilter           // who did it
	From            time.Time // only those from this time on; zero: all
	// Since excludes operations up to that revision, Before, if not nil, those from
	// that revision on.
	Since  thread.Revision
	Before *thread.Revision
	Limit  int // 0: all
}

// ListResult has the operations, newest first.
type ListResult struct {
	app.Items[app.OperationRecord]
	// Undo and Redo are what the caller's next undo and redo are about, if all operations
	// were asked for and these are among the newest.
	Undo thread.OperationID `json:"undo,omitempty"`
	Redo thread.OperationID `json:"redo,omitempty"`
	// UndoRefused says why Undo cannot be undone, as far as its records say it; "" if it can.
	UndoRefused string `json:"undoRefused,omitempty"`
	RedoRefused string `json:"redoRefused,omitempty"` // the same of Redo
	// Code has the threads with code that the operations of an actor are about.
	Code []ThreadCode `json:"code,omitempty"`
}

// landingRefused says why the undo of a landing, or of such an undo, would be T110 now; "" for other operations.
func (w *walk) landingRefused(op thread.Operation) string {
	u := NewUndoing(w.c.ForCommand("undo"), op, true)
	if err := u.findFirst(); err != nil || landedBy(op) == nil && landedBy(u.first) == nil {
		return ""
	}
	_, err := u.Run()
	return whyNot(err)
}

// broughtBack reports whether an operation removed a worktree or dropped a thread: its undo is not undone.
func (w *walk) broughtBack(id thread.OperationID) bool {
	op, ok, err := w.c.Store().FindOperation(w.c.Context(), func(op thread.Operation) bool { return op.ID == id }, string(id))
	removed, _ := thread.RemovedIn(op)
	return ok && err == nil && (removed != "" || op.Command == app.DropCommand)
}

// stands reports whether an operation made code, or belongs to a merge that it did not apply.
func stands(op thread.Operation) bool {
	if removed, _ := thread.RemovedIn(op); removed != "" || op.Command == app.DropCommand || landedBy(op) != nil {
		return false
	}
	return thread.MadeCode(op) || ofMerge(op)
}

// ofMerge reports whether an operation changed a pending merge, or ended one.
func ofMerge(op thread.Operation) bool {
	return slices.ContainsFunc(op.Changes, func(ch thread.Change) bool { return strings.HasPrefix(ch.Record, thread.TableMerges+"/") })
}

// whyNot is what keeps an operation from being undone, and what helps; "" for an error that is no T110.
func whyNot(err error) string {
	if !codes.Has(err, codes.UndoConflict) {
		return ""
	}
	e := codes.Of(err)
	return e.Facts().Text("reason") + ". " + e.Hint()
}

// refused says why one of some operations cannot be undone, if it made code or belongs to a merge that is
// pending; "" for others.
func (w *walk) refused(id thread.OperationID, all []thread.Operation) (why string) {
	i := slices.IndexFunc(all, func(op thread.Operation) bool { return op.ID == id })
	if i >= 0 && landedBy(all[i]) != nil {
		return w.landingRefused(all[i])
	}
	if i < 0 || !stands(all[i]) {
		return ""
	}
	_, _ = w.c.View(func(s *thread.State) error {
		_, err := s.Invert(all[i], w.c.Stamp())
		why = whyNot(err)
		return nil
	})
	return why
}

// List lists recorded operations. Errors: T903, T101, T105, those of reading.
func List(c *app.Call, in ListRequest) (*ListResult, error) {
	c.ReadOnly()
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	q := store.HistoryQuery{Limit: in.Limit, Since: in.Since, Actor: in.Actor(c), From: in.From}
	if in.Before != nil {
		q.Before = max(*in.Before, 1) // nothing comes before the first
	}
	var err error
	if q.Thread, err = filterThread(c, in.Thread); err != nil {
		return nil, err
	}
	if err := c.Refresh(); err != nil {
		return nil, err
	}
	h, err := c.Store().History(c.Context(), q)
	if err != nil {
		return nil, err
	}
	c.Warn(h.Warnings...)
	c.SetRevision(&h.Revision)
	d := &ListResult{Items: app.Items[app.OperationRecord]{Items: []app.OperationRecord{}, Total: h.Total, Truncated: len(h.Operations) < h.Total}}
	w := newWalk(c)
	for _, op := range h.Operations {
		if q.Thread == "" && q.Before == 0 && q.Actor == "" && q.From.IsZero() {
			w.take(op)
		}
		record := app.OperationOf(op, h.UndoneBy[op.ID])
		if m := landedBy(op); m != nil && op.Undoes == "" {
			record.Landed = &app.LandedCommit{Branch: m.Code.Landing.Branch, Commit: m.Code.Landing.New}
		}
		d.Items.Items = append(d.Items.Items, record)
	}
	if w.undo != nil {
		op, err := withLanding(c, *w.undo)
		if err != nil {
			return nil, err
		}
		d.Undo = op.ID
	}
	if w.redo != nil && !w.broughtBack(w.redo.Undoes) {
		d.Redo = w.redo.Undoes
	}
	if d.Redo != "" {
		d.RedoRefused = w.landingRefused(*w.redo)
	}
	d.UndoRefused = w.refused(d.Undo, h.Operations)
	if q.Actor != "" {
		d.Code = codeOf(c, h.Operations)
	}
	return d, nil
}

// ThreadCode is how much the code of a thread changed.
type ThreadCode struct {
	ThreadID thread.ThreadID `json:"threadId"`
	app.CodeAmount
}

// mostCode is of how many threads git is asked.
const mostCode = 20

// codeOf says what the code of threads holds that some operations are about, the newest first.
func codeOf(c *app.Call, ops []thread.Operation) (out []ThreadCode) {
	var ids []thread.ThreadID
	for _, op := range ops {
		if id := op.ThreadID; id != "" && !slices.Contains(ids, id) && len(ids) < mostCode {
			ids = append(ids, id)
		}
	}
	amounts := code.AmountsOf(c, ids...)
	for _, id := range ids {
		if amount := amounts[id]; amount != nil && amount.Commits > 0 {
			out = append(out, ThreadCode{id, *amount})
		}
	}
	return out
}

// filterThread returns the thread that a request names as a filter, "" for none.
// Errors: T101, T105.
func filterThread(c *app.Call, named string) (id thread.ThreadID, err error) {
	if named == "" {
		return "", nil
	}
	_, err = c.View(func(s *thread.State) error {
		t, err := s.Thread(named)
		id = t.ID
		return err
	})
	return id, err
}
