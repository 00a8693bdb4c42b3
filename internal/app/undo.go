package app

import (
	"maps"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// UndoRequest undoes one operation.
type UndoRequest struct {
	// Operation is its id or a prefix of it; "": the caller's newest one that is not undone.
	Operation string
	DryRun    bool // only say what would be done
}

// RedoRequest redoes the caller's newest undone operation.
type RedoRequest struct {
	DryRun bool // only say what would be done
}

// UndoResult says what was undone or redone.
type UndoResult struct {
	OperationID thread.OperationID `json:"operationId"` // the one that was undone or redone
	Command     string             `json:"command"`
	ThreadID    *thread.ThreadID   `json:"threadId"`
	// UndoneBy is the undo that a redo took back. Redoes is the operation that is in effect
	// again because its undo, OperationID, was undone.
	UndoneBy thread.OperationID `json:"undoneBy,omitempty"`
	Redoes   thread.OperationID `json:"redoes,omitempty"`
	Records  []UndoneRecord     `json:"records"`
	Files    []string           `json:"files"`             // of a merge or a rollback: put back
	Removed  []string           `json:"removed,omitempty"` // those of Files that were not there before the operation
	Kept     []string           `json:"kept,omitempty"`    // changed since: left as they are
	// Code says what became of the code that a merge landed, nil if it landed none.
	Code   *UndoneCode `json:"code,omitempty"`
	DryRun bool        `json:"dryRun,omitempty"`
	Change
}

// UndoneRecord says how a record changed.
type UndoneRecord struct {
	Record string `json:"record"` // TABLE/ID
	How    string `json:"how"`    // removed, restored, changed
}

// Undo undoes one operation; an undo is redone. Later changes stay; if one of them
// prevents the undo, nothing is undone. Errors: T105, T108, T110, T112, T402, T509, those
// of a write.
func Undo(c *Call, in UndoRequest) (*UndoResult, error) {
	if first, ok, err := answered[UndoResult](c); ok || err != nil {
		return first, err
	}
	if in.Operation == "" {
		op, err := ownToUndo(c)
		if err != nil {
			return nil, err
		}
		data, err := newUndoing(c, op, in.DryRun).run()
		return data, tellWhich(op, err)
	}
	named, w, err := findOperation(c, in.Operation)
	op := named
	if err == nil && op.Redoes != "" { // what it has redone is undone again
		op, w, err = findOperation(c, string(op.Redoes))
	}
	if err != nil {
		return nil, err
	}
	u := newUndoing(c, op, in.DryRun)
	u.result.OperationID, u.result.Command = named.ID, named.Command
	if by := w.undoneBy[op.ID]; by != "" {
		return nil, u.conflict("it is already undone").With(fact.Of("undoneBy", by))
	}
	u.result.Redoes = u.reversal.Redoes
	return u.run()
}

// Redo redoes the caller's newest undone operation, if the caller has done nothing else
// since its undo. Errors: T108, T110, T112, T402, T509, those of a write.
func Redo(c *Call, in RedoRequest) (*UndoResult, error) {
	if first, ok, err := answered[UndoResult](c); ok || err != nil {
		return first, err
	}
	undo, err := ownToRedo(c)
	if err != nil {
		return nil, err
	}
	u := newUndoing(c, undo, in.DryRun)
	u.result.OperationID, u.result.UndoneBy = undo.Undoes, undo.ID
	if u.first, _, err = findOperation(c, string(undo.Undoes)); err != nil && !codes.Has(err, codes.OperationNotFound) {
		return nil, err
	}
	u.result.Command = u.first.Command
	data, err := u.run()
	return data, tellWhich(undo, err)
}

// tellWhich adds to a T110 which operation leslie chose.
func tellWhich(op thread.Operation, err error) error {
	if !codes.Has(err, codes.UndoConflict) {
		return err
	}
	e := codes.Of(err)
	next := e.Next()
	if history := "leslie history"; !slices.Contains(next, history) {
		next = append(next, history)
	}
	return e.With(fact.Of("command", op.Command)).WithNext(next...)
}

// run plans the undo and its file work from the current State, and carries it out.
// The rule runs again under the lock; its effect on files depends only on the
// operation, so the plan stays valid.
func (u *undoing) run() (data *UndoResult, err error) {
	c := u.c
	u.roll = &codeUndo{codeRoll: codeRoll{c: c}}
	defer u.roll.release()
	_, err = c.view(func(s *thread.State) (err error) {
		u.in, err = u.invert(s, u.op, c.operation())
		return err
	})
	if err == nil {
		err = u.plan()
	}
	if err == nil {
		err = u.takeBackCode()
	}
	switch {
	case err != nil:
		err = u.roll.failed(err)
	case u.dryRun:
		_, err = c.view(func(s *thread.State) (err error) {
			data, _, err = u.rule(s, c.operation())
			return err
		})
	default:
		if err = u.prepare(); err == nil {
			c.reversal = u.reversal
			data, err = write(c, u.rule)
		}
		err = u.roll.failed(err)
		c.endStage(u.stage, err == nil)
	}
	if err != nil {
		return nil, nameLater(c, u.op, err)
	}
	return data, nil
}

// rule is the undo, under the lock.
func (u *undoing) rule(s *thread.State, stamp thread.Stamp) (*UndoResult, thread.ThreadID, error) {
	found, err := s.RespectClaims(u.op, stamp)
	u.c.warn(found...)
	if err == nil {
		err = u.free(s)
	}
	if err != nil {
		return nil, "", err
	}
	if u.roll.began {
		if _, err := s.EndRolling(u.roll.id, false, stamp); err != nil {
			return nil, "", err
		}
	}
	in, err := u.invert(s, u.op, stamp)
	if err == nil {
		err = u.untouched()
	}
	if err != nil {
		return nil, "", err
	}
	for _, id := range slices.Sorted(maps.Keys(u.bases)) {
		s.SetCodeBase(id, u.bases[id])
	}
	s.Plan(u.steps...)
	d := u.result
	d.ThreadID, d.Records, d.DryRun = orNull(u.op.ThreadID), []UndoneRecord{}, u.dryRun
	for _, c := range in.Changes {
		how := "changed"
		switch {
		case c.After == nil:
			how = "removed"
		case c.Before == nil:
			how = "restored"
		}
		d.Records = append(d.Records, UndoneRecord{c.Record, how})
	}
	return &d, u.op.ThreadID, nil
}

// conflict returns T110.
func (u *undoing) conflict(reason string) *codes.Error {
	err := codes.UndoConflict.New(fact.Of("operationId", u.op.ID), fact.Of("reason", reason))
	if u.op.ThreadID != "" {
		err = err.With(fact.Of("threadId", u.op.ThreadID))
	}
	return err
}

// findOperation finds the operation that arg names by its id or a prefix of it, and what
// came after it. Only a shortened id requires reading the whole journal. Errors: T112,
// T105.
func findOperation(c *Call, arg string) (thread.Operation, *walk, error) {
	if err := refresh(c); err != nil {
		return thread.Operation{}, nil, err
	}
	var found []thread.Operation
	w := newWalk(c)
	op, ok, err := c.store.FindOperation(c.ctx, func(op thread.Operation) bool {
		w.take(op)
		if thread.ShortensOperation(arg, op.ID) {
			found = append(found, op)
		}
		return string(op.ID) == arg
	}, arg)
	switch {
	case err != nil || ok:
		return op, w, err
	case len(found) == 1:
		return found[0], w, nil
	case len(found) == 0:
		return op, w, codes.OperationNotFound.New(fact.Of("operationId", arg))
	}
	var ids []thread.OperationID
	for _, op := range found[:min(len(found), thread.MaxCandidates)] {
		ids = append(ids, op.ID)
	}
	return op, w, codes.AmbiguousID.New(fact.Of("prefix", arg), fact.Of("count", len(found)), fact.Of("candidates", ids)).WithNext("leslie history")
}

// nameLater adds to a T110 about a field the operation that changed it since, if it is
// among the newest.
func nameLater(c *Call, op thread.Operation, err error) error {
	e := codes.Of(err)
	if !codes.Has(err, codes.UndoConflict) {
		return err
	}
	record, _ := factText(e, "record")
	field, _ := factText(e, "field")
	if record == "" || field == "" {
		return err
	}
	_, id, _ := strings.Cut(record, "/")
	later, ok, lookErr := c.store.FindOperation(c.ctx, func(o thread.Operation) bool {
		return o.Seq <= op.Seq || o.Changed(record, field)
	}, id)
	if lookErr != nil || !ok || later.Seq <= op.Seq {
		return err
	}
	reason, _ := factText(e, "reason")
	return e.With(fact.Of("reason", reason+" by '"+string(later.ID)+"' ("+later.Command+")"), fact.Of("later", later.ID))
}

func factText(e *codes.Error, key string) (string, bool) {
	v, _ := e.Facts().Get(key)
	s, ok := v.(string)
	return s, ok
}
