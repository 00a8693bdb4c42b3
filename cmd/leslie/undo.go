package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/fact"
	"leslie/store"
	"leslie/thread"
)

type undoData struct {
	OperationID thread.OperationID `json:"operationId"` // the one that was undone
	Command     string             `json:"command"`
	ThreadID    *thread.ThreadID   `json:"threadId"`
	Files       []string           `json:"files"`
	Kept        []string           `json:"kept,omitempty"` // changed since: left as they are
	change
}

func (d *undoData) Text(p *page) {
	p.line("undone: %s (%s)", d.OperationID, d.Command)
	for _, f := range d.Files {
		p.line("  put back %s", f)
	}
	for _, f := range d.Kept {
		p.line("  kept %s, which was changed since", f)
	}
}

func undoCommand() *command {
	return &command{
		name: "undo", summary: "undo a merge: put back the files that it replaced and that have not changed since", writes: true,
		detail:   "Without OP it is your own last operation.",
		example:  "leslie undo op-a1b2c3d4",
		operands: []operandSpec{{name: "OP", kind: kindID, optional: true}}, run: runUndo,
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
	if first, ok, err := answered[*undoData](c); ok || err != nil {
		return first, err
	}
	op, err := c.undoable(st)
	if err != nil {
		return nil, err
	}
	u, err := c.stageBack(st, op)
	if err != nil {
		return nil, err
	}
	data, err := write(c, func(s *thread.State, stamp thread.Stamp) (*undoData, thread.ThreadID, error) {
		if err := s.UndoBrought(op, stamp); err != nil {
			return nil, "", err
		}
		if len(u.back) == 0 {
			return nil, "", codes.UndoConflict.New(fact.Of("operationId", op.ID), fact.Of("reason", "every file that it changed was changed since"), fact.Of("threadId", op.ThreadID))
		}
		s.Plan(u.steps...)
		return &undoData{OperationID: op.ID, Command: op.Command, ThreadID: orNull(op.ThreadID), Files: u.back, Kept: u.kept}, op.ThreadID, nil
	})
	endStage(u.stage, err == nil)
	return data, err
}

// undoable finds the operation. Errors: T112, T110 for one that cannot be
// undone, T402 for an agent that would undo a person's.
func (c *call) undoable(st *store.Store) (thread.Operation, error) {
	op, err := c.findOperation(st, c.operand(0))
	if err != nil {
		return op, err
	}
	refuse := func(reason string) error {
		return codes.UndoConflict.New(fact.Of("operationId", op.ID), fact.Of("reason", reason), fact.Of("threadId", op.ThreadID))
	}
	switch {
	case c.who.as == thread.Agent && op.As != thread.Agent:
		return op, codes.PermissionDenied.New(fact.Of("capability", "undoing what a person did"), fact.Of("operationId", op.ID)).
			WithHint("A person undoes it; one whom leslie takes for an agent says --as user").WithNext("leslie history")
	case op.Undoes() == "":
		return op, refuse("only a merge that was applied can be undone")
	}
	return op, nil
}

func (c *call) findOperation(st *store.Store, arg string) (thread.Operation, error) {
	h, err := st.History(c.ctx, store.HistoryQuery{})
	if err != nil {
		return thread.Operation{}, err
	}
	var found []thread.Operation
	for _, op := range h.Operations {
		switch {
		case arg == "" && op.Actor == c.who.actor && op.As == c.who.as, string(op.ID) == arg:
			return op, nil
		case len(strings.TrimPrefix(arg, thread.PrefixOperation)) >= 4 && strings.HasPrefix(string(op.ID), arg):
			found = append(found, op)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return thread.Operation{}, codes.OperationNotFound.New(fact.Of("operationId", arg))
	}
	var ids []string
	for _, op := range found {
		ids = append(ids, string(op.ID))
	}
	return thread.Operation{}, codes.AmbiguousID.New(fact.Of("prefix", arg), fact.Of("count", len(ids)), fact.Of("candidates", ids)).WithNext("leslie history")
}

// putBack is an undo, staged.
type putBack struct {
	stage      *store.Stage
	steps      []thread.Step
	back, kept []string
}

// stageBack stages the replaced files that have not changed since.
func (c *call) stageBack(st *store.Store, op thread.Operation) (putBack, error) {
	u := putBack{back: []string{}}
	raw, err := st.Blob(op.Undoes())
	if err != nil {
		return u, err
	}
	var files []undoFile
	if err := json.Unmarshal(raw, &files); err != nil {
		return u, codes.Internal.Wrap(err, fact.Of("reason", "what the merge replaced cannot be read"))
	}
	after := map[string]thread.BlobID{}
	for _, f := range files {
		after[f.Path] = f.After
	}
	moved, err := st.Unmoved(op.ThreadID, after)
	if err != nil {
		return u, err
	}
	if u.stage, err = st.Stage(c.stamp().Operation); err != nil {
		return u, err
	}
	for i, f := range files {
		if slices.Contains(moved, f.Path) {
			u.kept = append(u.kept, f.Path)
			continue
		}
		if err := u.put(st, op.ThreadID, i, f); err != nil {
			endStage(u.stage, false)
			return u, err
		}
	}
	return u, u.stage.Sync()
}

func (u *putBack) put(st *store.Store, id thread.ThreadID, i int, f undoFile) error {
	to := store.ThreadsDir + "/" + string(id) + "/" + f.Path
	u.back = append(u.back, f.Path)
	if f.Before == "" {
		// First: it may free a name for what is put back.
		u.steps = slices.Insert(u.steps, 0, thread.Step{Do: thread.StepDelete, To: to, Expect: f.After})
		return nil
	}
	content, err := st.Blob(f.Before)
	if err != nil {
		return err
	}
	name := "back/" + strconv.Itoa(i)
	if err := u.stage.Write(name, content, f.Executable); err != nil {
		return err
	}
	u.steps = append(u.steps, thread.Step{Do: thread.StepReplace, From: u.stage.Rel(name), To: to, Expect: f.After})
	return nil
}
