package main

import (
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
)

type undoData struct {
	OperationID thread.OperationID `json:"operationId"` // the one that was undone
	Command     string             `json:"command"`
	ThreadID    *thread.ThreadID   `json:"threadId"`
	Records     []undoneRecord     `json:"records"`
	Files       []string           `json:"files"`          // of a merge or a rollback: put back
	Kept        []string           `json:"kept,omitempty"` // changed since: left as they are
	change
}

// undoneRecord says what became of a record.
type undoneRecord struct {
	Record string `json:"record"` // TABLE/ID
	How    string `json:"how"`    // removed, restored, changed
}

func (d *undoData) Text(p *page) {
	p.line("undone: %s (%s)", d.OperationID, d.Command)
	for _, r := range d.Records {
		p.line("  %s %s", r.How, r.Record)
	}
	for _, f := range d.Files {
		p.line("  put back %s", f)
	}
	for _, f := range d.Kept {
		p.line("  kept %s, which was changed since", f)
	}
}

func undoCommand() *command {
	return &command{
		name: "undo", summary: "undo one operation; later work stays", writes: true, alone: true,
		teach: lesson{goingBack, "undo"},
		detail: "Without OP, undoes your own last operation. Later changes stay; if one of them conflicts with the undo, " +
			"nothing is undone (T110). An undo can be undone unless it restored files. " +
			"An agent can undo only operations of agents, and no decisions.",
		example:  "leslie undo op-a1b2c3d4",
		operands: []operand{{value: anID("OP", otherIDs), optional: true}}, run: runUndo,
	}
}

func runUndo(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	if first, ok, err := answered[undoData](c); ok || err != nil {
		return first, err
	}
	op, err := c.findOperation(st, c.operand(0))
	if err != nil {
		return nil, err
	}
	data, err := c.undo(st, op)
	return data, c.tellLater(st, op, err)
}

// undo plans the undo and its file work on what is there, and carries it out.
// The rule runs again under the lock; what it asks of the files follows from the
// operation alone, so the plan holds.
func (c *call) undo(st *store.Store, op thread.Operation) (*undoData, error) {
	u := &undoing{c: c, st: st, op: op, back: []string{}}
	_, err := c.view(func(s *thread.State) (err error) {
		u.in, err = s.Invert(op, c.stamp())
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := u.prepare(); err != nil {
		c.endStage(u.stage, false)
		return nil, err
	}
	data, err := write(c, func(s *thread.State, stamp thread.Stamp) (*undoData, thread.ThreadID, error) {
		return u.rule(s, stamp)
	})
	c.endStage(u.stage, err == nil)
	return data, err
}

// rule is the undo, under the lock.
func (u *undoing) rule(s *thread.State, stamp thread.Stamp) (*undoData, thread.ThreadID, error) {
	if err := u.free(s); err != nil {
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
	d := &undoData{OperationID: u.op.ID, Command: u.op.Command, ThreadID: orNull(u.op.ThreadID), Records: []undoneRecord{}, Files: u.back, Kept: u.kept}
	for _, c := range in.Changes {
		how := "changed"
		switch {
		case c.After == nil:
			how = "removed"
		case c.Before == nil:
			how = "restored"
		}
		d.Records = append(d.Records, undoneRecord{c.Record, how})
	}
	return d, u.op.ThreadID, nil
}

// conflict is T110.
func (u *undoing) conflict(reason string) *codes.Error {
	err := codes.UndoConflict.New(fact.Of("operationId", u.op.ID), fact.Of("reason", reason))
	if u.op.ThreadID != "" {
		err = err.With(fact.Of("threadId", u.op.ThreadID))
	}
	return err
}

// findOperation finds the operation that arg names: its id or a prefix of it, the
// caller's own last one for "". Only a shortened id has the whole journal read.
// Errors: T112, T105.
func (c *call) findOperation(st *store.Store, arg string) (thread.Operation, error) {
	if arg == "" {
		return c.ownLastOperation(st)
	}
	var found []thread.Operation
	op, ok, err := st.FindOperation(c.ctx, arg, func(op thread.Operation) bool {
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

// ownLastOperation is the newest one that the caller made.
func (c *call) ownLastOperation(st *store.Store) (thread.Operation, error) {
	actor, err := marshal(c.who.actor)
	if err != nil {
		return thread.Operation{}, err
	}
	op, ok, err := st.FindOperation(c.ctx, `"actor":`+string(actor), func(op thread.Operation) bool {
		return op.Actor == c.who.actor && op.As == c.who.as
	})
	if err == nil && !ok {
		err = codes.OperationNotFound.New(fact.Of("operationId", "last")).
			WithHint("You have made no operation here; name one")
	}
	return op, err
}

// tellLater names, in a T110 about a field, the operation that changed it since,
// where it is found among the newest.
func (c *call) tellLater(st *store.Store, op thread.Operation, err error) error {
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
	later, ok, lookErr := st.FindOperation(c.ctx, id, func(o thread.Operation) bool {
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
