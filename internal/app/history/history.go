package history

import (
	"leslie/internal/app"
	"leslie/store"
	"leslie/thread"
)

// HistoryRequest asks for recorded operations.
type HistoryRequest struct {
	Thread string // only those that concern it; "": all
	// Since excludes operations up to that revision, Before, if not nil, those from
	// that revision on.
	Since  thread.Revision
	Before *thread.Revision
	Limit  int // 0: all
}

// HistoryResult has the operations, newest first.
type HistoryResult struct {
	app.Items[app.OperationRecord]
	// Undo and Redo are what the caller's next undo and redo are about, if all operations
	// were asked for and these are among the newest.
	Undo thread.OperationID `json:"undo,omitempty"`
	Redo thread.OperationID `json:"redo,omitempty"`
}

// History lists recorded operations. Errors: T101, T105, those of reading.
func History(c *app.Call, in HistoryRequest) (*HistoryResult, error) {
	c.ReadOnly()
	q := store.HistoryQuery{Limit: in.Limit, Since: in.Since}
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
	d := &HistoryResult{Items: app.Items[app.OperationRecord]{Items: []app.OperationRecord{}, Total: h.Total, Truncated: len(h.Operations) < h.Total}}
	w := newWalk(c)
	for _, op := range h.Operations {
		if q.Thread == "" && q.Before == 0 {
			w.take(op)
		}
		d.Items.Items = append(d.Items.Items, app.OperationOf(op, h.UndoneBy[op.ID]))
	}
	if w.undo != nil {
		op, err := withLanding(c, *w.undo)
		if err != nil {
			return nil, err
		}
		d.Undo = op.ID
	}
	if w.redo != nil {
		d.Redo = w.redo.Undoes
	}
	return d, nil
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
