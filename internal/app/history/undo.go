package history

import (
	"maps"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
)

// UndoRequest undoes one operation.
type UndoRequest struct {
	// Operation is its id or a prefix of it; "": the caller's newest one that is not undone, and
	// where that removed the worktree of code that had landed, the landing.
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
	// Newer is the newest operation of all, if no operation was named and somebody else did it since.
	Newer *NewerOperation `json:"newer,omitempty"`
	// Code says what became of the code that a merge landed, nil if it landed none.
	Code   *UndoneCode `json:"code,omitempty"`
	DryRun bool        `json:"dryRun,omitempty"`
	app.Change
}

// NewerOperation is an operation that somebody did after the caller's own newest one.
type NewerOperation struct {
	OperationID thread.OperationID `json:"operationId"`
	Command     string             `json:"command"`
	ThreadID    *thread.ThreadID   `json:"threadId"`
	As          thread.ActorKind   `json:"as"`
	Actor       string             `json:"actor"`
}

// newerOperation is the newest operation, if it is after seq, is no undo, and is not the caller's. Errors: those
// of reading.
func newerOperation(c *app.Call, seq thread.Revision) (*NewerOperation, error) {
	h, err := c.Store().History(c.Context(), store.HistoryQuery{Limit: 1})
	if err != nil || len(h.Operations) == 0 {
		return nil, err
	}
	op := h.Operations[0]
	if op.Seq <= seq || op.Undoes != "" || op.Steps() || op.Actor == c.Caller().Actor && op.As == c.Caller().As {
		return nil, nil
	}
	return &NewerOperation{op.ID, op.Command, app.OrNull(op.ThreadID), op.As, op.Actor}, nil
}

// Line says what the operation was, whose it is, and how it is undone.
func (o NewerOperation) Line() string {
	what := o.Command
	if o.ThreadID != nil {
		what += " " + string(*o.ThreadID)
	}
	return what + " of " + o.Actor + ": leslie undo " + string(o.OperationID)
}

// UndoneRecord says how a record changed.
type UndoneRecord struct {
	Record string `json:"record"` // TABLE/ID
	How    string `json:"how"`    // removed, restored, changed
}

// Undo undoes one operation; an undo is redone. Later changes stay; if one of them
// prevents the undo, nothing is undone. Errors: T105, T108, T110, T112, T402, T509, those
// of a write.
func Undo(c *app.Call, in UndoRequest) (*UndoResult, error) {
	if first, ok, err := app.Answered[UndoResult](c); ok || err != nil {
		return first, err
	}
	if in.Operation == "" {
		op, err := ownToUndo(c)
		if err == nil {
			op, err = withLanding(c, op)
		}
		if err != nil {
			return nil, err
		}
		newer, err := newerOperation(c, op.Seq)
		if err != nil {
			return nil, err
		}
		data, err := undoOf(c, op, newer, in.DryRun)
		return data, tellBefore(c, op, tellWhich(op, err))
	}
	named, w, err := FindOperation(c, in.Operation)
	op := named
	if err == nil && op.Redoes != "" { // what it has redone is undone again
		op, w, err = FindOperation(c, string(op.Redoes))
	}
	if err != nil {
		return nil, err
	}
	if op.Command == app.DropCommand {
		if ops, err := dropWith(c, op); err != nil || len(ops) > 0 {
			if err != nil {
				return nil, err
			}
			return undoDrop(c, op, ops, in.DryRun)
		}
	}
	u := NewUndoing(c, op, in.DryRun)
	u.result.OperationID, u.result.Command = named.ID, named.Command
	if by := w.UndoneBy[op.ID]; by != "" {
		return nil, u.conflict("it is already undone").With(fact.Of("undoneBy", by)).WithHint("Nothing of it is left to undo")
	}
	u.result.Redoes = u.reversal.Redoes
	if err := u.findFirst(); err != nil {
		return nil, err
	}
	return u.Run()
}

// findFirst finds, for the undo of an undo, what that took back. Errors: T509.
func (u *Undoing) findFirst() (err error) {
	if u.op.Undoes == "" {
		return nil
	}
	if u.first, _, err = FindOperation(u.c, string(u.op.Undoes)); codes.Has(err, codes.OperationNotFound) {
		return nil
	}
	return err
}

// Redo redoes the caller's newest undone operation, if the caller has done nothing else
// since its undo. Errors: T108, T110, T112, T402, T509, those of a write.
func Redo(c *app.Call, in RedoRequest) (*UndoResult, error) {
	if first, ok, err := app.Answered[UndoResult](c); ok || err != nil {
		return first, err
	}
	undo, err := ownToRedo(c)
	if err != nil {
		return nil, err
	}
	u := NewUndoing(c, undo, in.DryRun)
	u.result.OperationID, u.result.UndoneBy = undo.Undoes, undo.ID
	if err := u.findFirst(); err != nil {
		return nil, err
	}
	u.result.Command = u.first.Command
	data, err := u.Run()
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

// tellBefore adds to a T110 which operation of the caller comes before the one that leslie chose, unless that
// belongs to a merge.
func tellBefore(c *app.Call, op thread.Operation, err error) error {
	if !codes.Has(err, codes.UndoConflict) || ofMerge(op) {
		return err
	}
	w := newWalk(c)
	w.past = &op
	if lookErr := w.back(func() bool { return w.undo != nil }); lookErr != nil || w.undo == nil {
		return err
	}
	before, lookErr := withLanding(c, *w.undo)
	if lookErr != nil {
		return err
	}
	e := codes.Of(err)
	return e.With(fact.Of("before", before.ID)).WithHint(e.Hint() + ". leslie undo " + string(before.ID) + " takes back what you did before it (" + strings.TrimSpace(before.Command+" "+string(before.ThreadID)) + ")")
}

// Run plans the undo and its file work from the current State, and carries it out.
// The rule runs again under the lock; its effect on files depends only on the
// operation, so the plan stays valid.
func (u *Undoing) Run() (data *UndoResult, err error) {
	c := u.c
	if id, began := thread.RemovedIn(u.op); id != "" && !began {
		return u.bringBack(id)
	}
	if err := u.notAgain(); err != nil {
		return nil, err
	}
	u.roll = &codeUndo{WorkExchange: WorkExchange{C: c}}
	defer u.roll.Release()
	invert := func(s *thread.State) (err error) {
		if _, err = s.RespectClaims(u.op, c.Stamp()); err == nil { // before code moves
			u.in, err = u.Invert(s, u.op, c.Stamp())
		}
		return err
	}
	if _, err = c.View(invert); codes.Has(err, codes.UndoConflict) && u.reopenFirst() {
		_, err = c.View(invert)
	}
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
		_, err = c.View(func(s *thread.State) (err error) {
			data, _, err = u.rule(s, c.Stamp())
			return err
		})
	default:
		if err = u.prepare(); err == nil {
			data, err = app.Write(c, u.rule)
		}
		err = u.roll.failed(err)
		c.EndStage(u.stage, err == nil)
	}
	if err != nil {
		return nil, nameLater(c, u.op, err)
	}
	return data, nil
}

// rule is the undo, under the lock.
func (u *Undoing) rule(s *thread.State, stamp thread.Stamp) (*UndoResult, thread.ThreadID, error) {
	found, err := s.RespectClaims(u.op, stamp)
	u.c.Warn(found...)
	if err == nil {
		err = u.free(s)
	}
	if err != nil {
		return nil, "", err
	}
	if u.roll.began {
		if _, err := s.EndRolling(u.roll.ID, false, stamp); err != nil {
			return nil, "", err
		}
	}
	in, err := u.Invert(s, u.op, stamp)
	if err == nil {
		err = u.untouched()
	}
	if err != nil {
		return nil, "", err
	}
	for _, id := range slices.Sorted(maps.Keys(u.bases)) {
		s.SetCodeBase(id, u.bases[id])
	}
	for _, k := range u.kept {
		s.KeepRemoved(k.id, k.ref)
	}
	s.Plan(u.steps...)
	s.Reverse(u.reversal)
	d := u.result
	d.ThreadID, d.Records, d.DryRun = app.OrNull(u.op.ThreadID), []UndoneRecord{}, u.dryRun
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
func (u *Undoing) conflict(reason string) *codes.Error {
	err := codes.UndoConflict.New(fact.Of("operationId", u.op.ID), fact.Of("reason", reason))
	if u.op.ThreadID != "" {
		err = err.With(fact.Of("threadId", u.op.ThreadID))
	}
	return err
}

// FindOperation finds the operation that arg names by its id or a prefix of it, and what
// came after it. Only a shortened id requires reading the whole journal. Errors: T112,
// T105.
func FindOperation(c *app.Call, arg string) (thread.Operation, *walk, error) {
	if err := c.Refresh(); err != nil {
		return thread.Operation{}, nil, err
	}
	var found []thread.Operation
	w := newWalk(c)
	op, ok, err := c.Store().FindOperation(c.Context(), func(op thread.Operation) bool {
		w.take(op)
		if thread.ShortensOperation(arg, op.ID) {
			found = append(found, op)
		}
		return string(op.ID) == arg
	}, arg)
	switch {
	case err != nil || ok:
		return op, w, err
	case len(found) == 1 && !thread.CutOff(arg):
		return found[0], w, nil
	case len(found) == 0:
		return op, w, notFound(c, arg)
	}
	var ids []thread.OperationID
	var listed []codes.Candidate
	for _, op := range found[:min(len(found), thread.MaxCandidates)] {
		ids = append(ids, op.ID)
		listed = append(listed, codes.Candidate{ID: string(op.ID), Label: strings.TrimSpace(op.Command + " " + string(op.ThreadID))})
	}
	return op, w, thread.Ambiguous(arg, len(found), ids).
		WithNext("leslie history").WithCandidates(len(found), listed...)
}

// notFound is T112 for what names no operation; where it names a thread, with the line that lists its operations.
func notFound(c *app.Call, arg string) error {
	err := codes.OperationNotFound.New(fact.Of("operationId", arg))
	_, _ = c.View(func(s *thread.State) error {
		if t, lookErr := s.Thread(arg); lookErr == nil {
			err = err.With(fact.Of("threadId", t.ID)).WithHint("'" + arg + "' is a thread, and leslie undo takes an operation: the history of the thread names them").
				WithNext("leslie history " + string(t.ID))
		}
		return nil
	})
	return err
}

// nameLater adds to a T110 about a field the operation that changed it since, if it is
// among the newest.
func nameLater(c *app.Call, op thread.Operation, err error) error {
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
	later, ok, lookErr := c.Store().FindOperation(c.Context(), func(o thread.Operation) bool {
		return o.Seq <= op.Seq || o.Changed(record, field)
	}, id)
	if lookErr != nil || !ok || later.Seq <= op.Seq {
		return err
	}
	reason, _ := factText(e, "reason")
	did, hint := later.Command, e.Hint()
	if later.Actor != c.Caller().Actor && later.As != thread.System {
		did += " of " + later.Actor
		hint += ": leslie undo " + string(later.ID)
	}
	return e.With(fact.Of("reason", reason+" by '"+string(later.ID)+"' ("+did+")"), fact.Of("later", later.ID)).WithHint(hint)
}

func factText(e *codes.Error, key string) (string, bool) {
	v, _ := e.Facts().Get(key)
	s, ok := v.(string)
	return s, ok
}
