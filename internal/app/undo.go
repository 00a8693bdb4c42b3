package app

import (
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// UndoRequest undoes one operation.
type UndoRequest struct {
	Operation string // its id or a prefix of it; "": the caller's own last one
}

// UndoResult says what was undone.
type UndoResult struct {
	OperationID thread.OperationID `json:"operationId"` // the one that was undone
	Command     string             `json:"command"`
	ThreadID    *thread.ThreadID   `json:"threadId"`
	Records     []UndoneRecord     `json:"records"`
	Files       []string           `json:"files"`          // of a merge or a rollback: put back
	Kept        []string           `json:"kept,omitempty"` // changed since: left as they are
	Change
}

// UndoneRecord says how a record changed.
type UndoneRecord struct {
	Record string `json:"record"` // TABLE/ID
	How    string `json:"how"`    // removed, restored, changed
}

// Undo undoes one operation. Later changes stay; if one of them prevents the undo,
// nothing is undone. Errors: T105, T108, T110, T112, T402, T509, those of a write.
func Undo(c *Call, in UndoRequest) (*UndoResult, error) {
	if first, ok, err := answered[UndoResult](c); ok || err != nil {
		return first, err
	}
	op, err := findOperation(c, in.Operation)
	if err != nil {
		return nil, err
	}
	data, err := undo(c, op)
	return data, nameLater(c, op, err)
}

// undo plans the undo and its file work from the current State, and carries it out.
// The rule runs again under the lock; its effect on files depends only on the
// operation, so the plan stays valid.
func undo(c *Call, op thread.Operation) (*UndoResult, error) {
	u := &undoing{c: c, op: op, back: []string{}}
	_, err := c.view(func(s *thread.State) (err error) {
		u.in, err = s.Invert(op, c.operation())
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := u.prepare(); err != nil {
		c.endStage(u.stage, false)
		return nil, err
	}
	data, err := write(c, u.rule)
	c.endStage(u.stage, err == nil)
	return data, err
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
	in, err := s.Invert(u.op, stamp)
	if err == nil {
		err = u.untouched()
	}
	if err != nil {
		return nil, "", err
	}
	s.Plan(u.steps...)
	d := &UndoResult{OperationID: u.op.ID, Command: u.op.Command, ThreadID: orNull(u.op.ThreadID), Records: []UndoneRecord{}, Files: u.back, Kept: u.kept}
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
	return d, u.op.ThreadID, nil
}

// conflict returns T110.
func (u *undoing) conflict(reason string) *codes.Error {
	err := codes.UndoConflict.New(fact.Of("operationId", u.op.ID), fact.Of("reason", reason))
	if u.op.ThreadID != "" {
		err = err.With(fact.Of("threadId", u.op.ThreadID))
	}
	return err
}

// findOperation finds the operation that arg names by its id or a prefix of it, or the
// caller's own last one for "". Only a shortened id requires reading the whole
// journal. Errors: T112, T105.
func findOperation(c *Call, arg string) (thread.Operation, error) {
	if arg == "" {
		return ownLastOperation(c)
	}
	var found []thread.Operation
	op, ok, err := c.store.FindOperation(c.ctx, arg, func(op thread.Operation) bool {
		if thread.ShortensOperation(arg, op.ID) {
			found = append(found, op)
		}
		return string(op.ID) == arg
	})
	switch {
	case err != nil || ok:
		return op, err
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return op, codes.OperationNotFound.New(fact.Of("operationId", arg))
	}
	var ids []thread.OperationID
	for _, op := range found[:min(len(found), thread.MaxCandidates)] {
		ids = append(ids, op.ID)
	}
	return op, codes.AmbiguousID.New(fact.Of("prefix", arg), fact.Of("count", len(found)), fact.Of("candidates", ids)).WithNext("leslie history")
}

// ownLastOperation returns the caller's newest operation.
func ownLastOperation(c *Call) (thread.Operation, error) {
	actor, err := fact.JSON(c.caller.Actor)
	if err != nil {
		return thread.Operation{}, err
	}
	op, ok, err := c.store.FindOperation(c.ctx, `"actor":`+string(actor), func(op thread.Operation) bool {
		return op.Actor == c.caller.Actor && op.As == c.caller.As
	})
	if err == nil && !ok {
		err = codes.OperationNotFound.New(fact.Of("operationId", "last")).
			WithHint("You have no operation here to undo; name one")
	}
	return op, err
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
	later, ok, lookErr := c.store.FindOperation(c.ctx, id, func(o thread.Operation) bool {
		return o.Seq <= op.Seq || o.Changed(record, field)
	})
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
