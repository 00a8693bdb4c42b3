package app

import (
	"encoding/json"
	"time"

	"leslie/store"
	"leslie/thread"
)

// OperationRecord is one operation of the history.
type OperationRecord struct {
	Seq         thread.Revision    `json:"seq"`
	OperationID thread.OperationID `json:"operationId"`
	Time        time.Time          `json:"time"`
	As          thread.ActorKind   `json:"as"`
	Actor       string             `json:"actor"`
	Command     string             `json:"command"`
	ThreadID    *thread.ThreadID   `json:"threadId"`
	Params      json.RawMessage    `json:"params,omitempty"`
	// UndoneBy is what undid it, unless it is in effect again; a stream does not know it.
	// Undoes is what it undid, and Redoes what is in effect again because of that.
	UndoneBy thread.OperationID `json:"undoneBy,omitempty"`
	Undoes   thread.OperationID `json:"undoes,omitempty"`
	Redoes   thread.OperationID `json:"redoes,omitempty"`
	Began    []WaitingItem      `json:"-"` // what waits for a person since then; set by Observe
}

func operationOf(op thread.Operation, undoneBy thread.OperationID) OperationRecord {
	return OperationRecord{
		Seq: op.Seq, OperationID: op.ID, Time: op.Time, As: op.As, Actor: op.Actor, Command: op.Command,
		ThreadID: orNull(op.ThreadID), Params: withoutLines(op),
		UndoneBy: undoneBy, Undoes: op.Undoes, Redoes: op.Redoes,
	}
}

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
	Items[OperationRecord]
	// Undo and Redo are what the caller's next undo and redo are about, if all operations
	// were asked for and these are among the newest.
	Undo thread.OperationID `json:"undo,omitempty"`
	Redo thread.OperationID `json:"redo,omitempty"`
}

// History lists recorded operations. Errors: T101, T105, those of reading.
func History(c *Call, in HistoryRequest) (*HistoryResult, error) {
	c.readOnly()
	q := store.HistoryQuery{Limit: in.Limit, Since: in.Since}
	if in.Before != nil {
		q.Before = max(*in.Before, 1) // nothing comes before the first
	}
	var err error
	if q.Thread, err = filterThread(c, in.Thread); err != nil {
		return nil, err
	}
	if err := refresh(c); err != nil {
		return nil, err
	}
	h, err := c.store.History(c.ctx, q)
	if err != nil {
		return nil, err
	}
	c.warn(h.Warnings...)
	c.revision = &h.Revision
	d := &HistoryResult{Items: Items[OperationRecord]{Items: []OperationRecord{}, Total: h.Total, Truncated: len(h.Operations) < h.Total}}
	w := newWalk(c)
	for _, op := range h.Operations {
		if q.Thread == "" && q.Before == 0 {
			w.take(op)
		}
		d.Items.Items = append(d.Items.Items, operationOf(op, h.UndoneBy[op.ID]))
	}
	if w.undo != nil {
		d.Undo = w.undo.ID
	}
	if w.redo != nil {
		d.Redo = w.redo.Undoes
	}
	return d, nil
}

// filterThread returns the thread that a request names as a filter, "" for none.
// Errors: T101, T105.
func filterThread(c *Call, named string) (id thread.ThreadID, err error) {
	if named == "" {
		return "", nil
	}
	_, err = c.view(func(s *thread.State) error {
		t, err := s.Thread(named)
		id = t.ID
		return err
	})
	return id, err
}
