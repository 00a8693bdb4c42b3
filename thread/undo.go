package thread

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file implements undo: it reverts what one recorded operation did, and nothing
// that was done since. The journal says what an operation changed; undo_fields.go
// restores the fields of a record. This file decides who may undo what, and what
// must be true afterwards.
//
// An undo is an operation like any other, so it can be undone too: a redo. If it restored
// files of a merge or a rollback, its Reversal names them.

// Reversal says what an undo or a redo reversed; it is zero for every other operation.
type Reversal struct {
	// Undoes is the operation whose changes were reverted.
	Undoes OperationID `json:"undoes,omitempty"`
	// Redoes, if Undoes is an undo, is the operation that was undone by it and that is in
	// effect again.
	Redoes OperationID `json:"redoes,omitempty"`
	// Files has the lists of the files that were restored.
	Files []Replaced `json:"files,omitempty"`
}

// Steps reports whether the operation is an undo or a redo. Older journals do not say
// what an undo reversed.
func (op Operation) Steps() bool { return op.Undoes != "" || op.Command == "undo" }

// ofRun reports whether the operation records what happened in a run. Older journals say so
// only by the command.
func (op Operation) ofRun() bool {
	return op.OfRun || op.Command == "run" || strings.HasPrefix(op.Command, "run ")
}

// Inversion is the result of an undo: the records that it changed, and what the
// caller has to do with files.
type Inversion struct {
	// Changes are the records before and after.
	Changes []Change
	// Removed has threads that no longer exist: their folders have to be removed.
	// Taken has the references that were removed with them.
	Removed []Thread
	Taken   []Reference
	// Remade has threads that exist again and need a folder.
	Remade []Thread
	// Dropped has references whose frozen copies have to be removed; Copied has those
	// whose copies have to be restored from their manifests.
	Dropped, Copied []Reference
	// Replaced has the lists of files that the operation replaced.
	Replaced []Replaced
}

// Replaced names the blob that lists the files that an operation replaced in a
// thread.
type Replaced struct {
	ThreadID ThreadID `json:"threadId"`
	List     BlobID   `json:"list"`
}

// Invert undoes an operation. On an error it does not change the State.
//
// Errors: T110 if the undo would discard a later change or leave inconsistent
// records, and for what cannot be undone: a pending merge, an injection, a run, an undo of a
// merge or a rollback that did not record its files. T402 for anyone but a person if the operation is not an
// agent's, or if the undo would revert a person's decision, end a wait for a person,
// or grant something. T107 if files would change in a terminated thread. T103 if a
// thread would continue that the mistake limit suspended.
func (s *State) Invert(op Operation, stamp Stamp) (Inversion, error) {
	return s.revert(&inverting{s: s.trial(), op: op, stamp: stamp})
}

func (s *State) revert(v *inverting) (Inversion, error) {
	if err := v.run(); err != nil {
		return Inversion{}, err
	}
	for _, c := range v.out.Changes {
		table, id, _ := strings.Cut(c.Record, "/")
		if err := s.table(table).apply(id, c); err != nil {
			return Inversion{}, codes.Internal.Wrap(err)
		}
	}
	return v.out, nil
}

// trial returns a copy of the State in which the undo's changes are the only ones.
func (s *State) trial() *State {
	records := Records{}
	for _, table := range Tables() {
		records[table] = s.Lines(table)
	}
	t := NewState(s.Revision, records, s.source)
	t.archived = s.archived
	return t
}

// inverting is one undo in progress.
type inverting struct {
	s      *State // a trial
	op     Operation
	stamp  Stamp
	failed bool // what the operation began has failed: whoever began it takes it back
	out    Inversion
}

func (v *inverting) run() error {
	if err := v.allowed(); err != nil {
		return err
	}
	if !v.failed && v.op.ofRun() {
		return v.conflict("it records what happened in a run").
			WithHint("leslie rollback goes back to the end of a turn, leslie run stop stops the run").WithNext("leslie help rollback")
	}
	if err := v.changes(); err != nil {
		return err
	}
	v.updateWaiting()
	v.out.Changes = v.s.Changes()
	if len(v.out.Changes) == 0 {
		return v.conflict("it changed nothing that can be undone")
	}
	for _, check := range []func() error{v.grants, v.archive, v.order, v.files} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// changes reverts every change. A record that already has its old values only shows
// that the operation was undone, so an error that says what prevents the undo takes
// precedence over that.
func (v *inverting) changes() (undone error) {
	for _, c := range v.op.Changes {
		err := v.change(c)
		var as *revertedValue
		if err != nil && !errors.As(err, &as) {
			return err
		}
		undone = cmp.Or(undone, err)
	}
	return undone
}

// revertedValue is T110 for a record that already has its values from before the
// operation.
type revertedValue struct{ error }

// Unwrap returns the coded error.
func (e *revertedValue) Unwrap() error { return e.error }

// ShortensOperation reports whether arg is a long enough prefix of an id.
func ShortensOperation(arg string, id OperationID) bool {
	return shortens(arg, string(id), PrefixOperation)
}

// Changed reports whether the operation changed a field of a record. Creating or
// removing a record changes all its fields.
func (op Operation) Changed(record, field string) bool {
	return slices.ContainsFunc(op.Changes, func(c Change) bool {
		if c.Record != record {
			return false
		}
		before, after := valueOf[fields](c.Before), valueOf[fields](c.After)
		return string(before[field]) != string(after[field])
	})
}

// conflict returns T110.
func (v *inverting) conflict(reason string) *codes.Error {
	err := codes.UndoConflict.New(fact.Of("operationId", v.op.ID), fact.Of("reason", reason))
	if v.op.ThreadID != "" {
		err = err.With(fact.Of("threadId", v.op.ThreadID))
	}
	return err
}

func (v *inverting) alreadyUndone() error {
	return &revertedValue{v.conflict("it is already undone")}
}

// allowed checks who may undo the operation: a person may undo everything, others
// only operations of agents.
func (v *inverting) allowed() error {
	if v.failed || v.stamp.ByPerson() || v.op.As == Agent {
		return nil
	}
	whose := "a person"
	if v.op.As == System {
		whose = "leslie itself"
	}
	return v.denied("undoing what " + whose + " did")
}

func (v *inverting) denied(what string) *codes.Error {
	return codes.PermissionDenied.New(fact.Of("capability", what), fact.Of("operationId", v.op.ID)).
		WithHint("A person decides: ask one to undo it").WithNext("leslie history")
}

// change reverts one change.
func (v *inverting) change(c Change) error {
	table, id, _ := strings.Cut(c.Record, "/")
	switch table {
	case TableObjectives:
		return takeBack(v, &v.s.Objectives, c, id)
	case TableThreads:
		return v.thread(c, id)
	case TableReferences:
		return takeBack(v, &v.s.References, c, id)
	case TableApprovals:
		return v.approval(c, id)
	case TableMerges:
		return v.merge(c)
	case TableQuestions:
		return takeBack(v, &v.s.Questions, c, id)
	case TableComments:
		return takeBack(v, &v.s.Comments, c, id)
	}
	return codes.Internal.New(fact.Of("reason", "operation "+string(v.op.ID)+" names no table: "+c.Record))
}

// thread reverts a change of a thread and collects the lists of replaced files.
func (v *inverting) thread(c Change, id string) error {
	if archived, err := v.s.archivedSince(ThreadID(id), v.op.Seq); archived || err != nil {
		if err != nil {
			return err
		}
		return v.conflict("thread '" + id + "' was archived since")
	}
	replaced := v.replaced(c, ThreadID(id))
	if v.op.Steps() && len(replaced) == 0 && restoredFiles(valueOf[Thread](c.Before), valueOf[Thread](c.After)) {
		return v.conflict("it restored files").WithHint("Merge or roll back again")
	}
	v.out.Replaced = append(v.out.Replaced, replaced...)
	if err := takeBack(v, &v.s.Threads, c, id); err != nil || len(replaced) == 0 || v.op.Steps() {
		return err
	}
	if t, there := v.s.Threads.Get(id); there { // its files are restored, too
		t.Reverted = v.s.withReverted(t, v.op.Seq, v.s.Revision+1)
		v.s.Threads.Put(t)
	}
	return nil
}

// replaced returns the lists of the files that the operation replaced in a thread.
func (v *inverting) replaced(c Change, id ThreadID) (out []Replaced) {
	if v.op.Steps() {
		return slices.DeleteFunc(slices.Clone(v.op.Files), func(r Replaced) bool { return r.ThreadID != id })
	}
	for _, list := range lists(valueOf[Thread](c.After), v.op.Seq) {
		out = append(out, Replaced{ThreadID: id, List: list})
	}
	return out
}

// archivedSince reports whether an operation after seq archived a thread.
func (s *State) archivedSince(id ThreadID, seq Revision) (bool, error) {
	if _, live := s.Threads.Peek(string(id)); live {
		return false, nil
	}
	lines, err := s.archivedLines(TableThreads)
	if err != nil {
		return false, err
	}
	line, ok := LineOf(lines, string(id))
	return ok && decode[Thread](line.JSON).Revision > seq, nil
}

// restoredFiles reports whether an undo removed a list of replaced files, that is,
// whether it restored the files.
func restoredFiles(before, after Thread) bool {
	left := lists(after, 0)
	return slices.ContainsFunc(lists(before, 0), func(list BlobID) bool { return !slices.Contains(left, list) })
}

// lists returns the lists of replaced files that a thread's record names: those of
// one operation, or all for 0.
func lists(t Thread, at Revision) []BlobID {
	var out []BlobID
	add := func(list BlobID, of Revision) {
		if list != "" && (at == 0 || of == at) && !slices.Contains(out, list) {
			out = append(out, list)
		}
	}
	for _, share := range t.Shared {
		add(share.Undo, share.At)
	}
	for _, c := range t.Checkpoints {
		add(c.Undo, c.At)
	}
	return out
}

// applied reports whether the operation applied a merge, of artifacts or of code.
func (v *inverting) applied() bool {
	return slices.ContainsFunc(v.op.Changes, func(c Change) bool {
		if !strings.HasPrefix(c.Record, TableThreads+"/") {
			return false
		}
		was, is := valueOf[Thread](c.Before), valueOf[Thread](c.After)
		return slices.ContainsFunc(is.Shared, func(share Share) bool { return share.At == v.op.Seq && share.Undo != "" }) ||
			is.OwnedCode() != nil && was.OwnedCode() != nil && len(is.OwnedCode().Landed) > len(was.OwnedCode().Landed)
	})
}

// merge refuses changes of a pending merge, which has its own commands. It leaves a
// merge that was applied as it is: it does not become pending again.
func (v *inverting) merge(c Change) error {
	m := valueOf[Merge](c.Before)
	if !Absent(c.After) {
		m = valueOf[Merge](c.After)
	}
	_, pending := v.s.Merges.Get(string(m.ID))
	switch id := string(m.ID); {
	case Absent(c.After) && v.applied():
		v.keepDecisions(m)
		return nil
	case Absent(c.After):
		return v.conflict("merge '" + id + "' was aborted").WithHint("Merge again with leslie merge")
	case !pending:
		return v.conflict("merge '" + id + "' is no longer pending").WithHint("Undo the operation that applied it")
	case Absent(c.Before):
		return v.conflict("merge '" + id + "' is pending").
			WithHint("Abort the merge with leslie merge abort " + id).WithNext("leslie merge status " + id)
	default:
		return v.conflict("merge '" + id + "' is pending").
			WithHint("Decide again with leslie merge resolve " + id).WithNext("leslie merge status " + id)
	}
}

// keepDecisions keeps the decisions of an undone merge for the next try.
func (v *inverting) keepDecisions(m Merge) {
	if t, there := v.s.Threads.Get(string(m.Target)); there && len(m.Decisions) > 0 {
		t.Undone = &UndoneMerge{Sources: m.Sources, Decisions: m.Decisions}
		v.s.Threads.Put(t)
	}
}

// approval reverts a change of a grant. It leaves a grant for a merge that the
// operation applied as it is, so the same plan may be applied again.
func (v *inverting) approval(c Change, id string) error {
	about := cmp.Or(valueOf[Approval](c.Before).MergeID, valueOf[Approval](c.After).MergeID)
	if _, pending := v.s.Merges.Peek(string(about)); about != "" && !pending && v.applied() {
		return nil
	}
	return takeBack(v, &v.s.Approvals, c, id)
}

// updateWaiting sets the status of the threads that the undo touched: they wait for
// a person exactly if they have an open request.
func (v *inverting) updateWaiting() {
	changed := v.s.Changes()
	for _, id := range v.touched() {
		t, ok := v.s.Threads.Get(string(id))
		if !ok {
			continue
		}
		was := t
		asked := len(v.s.OpenRequests(id)) > 0
		switch {
		case asked && t.Status == Active:
			t.Status = WaitingHuman
		case !asked && t.Status == WaitingHuman:
			t.Status = Active
		}
		if t.Status.Terminated() {
			t.Claim = nil
		}
		own := slices.ContainsFunc(changed, func(c Change) bool { return c.Record == TableThreads+"/"+string(id) })
		if own || !same(was, t) {
			t.Updated = v.stamp.Time
			v.s.Threads.Put(t)
		}
	}
}

// touched returns the threads whose records or grants the undo changed, ordered by
// id.
func (v *inverting) touched() []ThreadID {
	var out []ThreadID
	for _, c := range v.s.Changes() {
		switch table, id, _ := strings.Cut(c.Record, "/"); table {
		case TableThreads:
			out = append(out, ThreadID(id))
		case TableApprovals:
			for _, raw := range [][]byte{c.Before, c.After} {
				if g := valueOf[Approval](raw); g.ThreadID != "" {
					out = append(out, g.ThreadID)
				}
			}
		}
	}
	return sortedSet(out)
}

// archive checks that the undo brings back as many threads as the operation archived
// according to the objective's count. Their folders were never removed.
func (v *inverting) archive() error {
	for _, c := range v.op.Changes {
		id, ok := strings.CutPrefix(c.Record, TableObjectives+"/")
		if !ok || Absent(c.Before) || Absent(c.After) {
			continue
		}
		counted := valueOf[Objective](c.After).Archived - valueOf[Objective](c.Before).Archived
		if counted != 0 && counted != len(v.back(ObjectiveID(id))) {
			return v.conflict("its changes to the archive cannot be undone").
				WithHint("Archive the thread again with leslie archive")
		}
	}
	return nil
}

// back returns the threads of an objective that the undo brought back.
func (v *inverting) back(id ObjectiveID) []Thread {
	var out []Thread
	for _, c := range v.out.Changes {
		if strings.HasPrefix(c.Record, TableThreads+"/") && Absent(c.Before) {
			if t := valueOf[Thread](c.After); t.ObjectiveID == id {
				out = append(out, t)
			}
		}
	}
	return out
}

// unarchived reports whether a thread came back from the archive.
func (v *inverting) unarchived(t Thread) bool {
	return slices.ContainsFunc(v.op.Changes, func(c Change) bool {
		return c.Record == TableObjectives+"/"+string(t.ObjectiveID) &&
			valueOf[Objective](c.After).Archived > valueOf[Objective](c.Before).Archived
	})
}

// cameBack reports whether the undo brought a thread back from the archive.
func (v *inverting) cameBack(id ThreadID) bool {
	return slices.ContainsFunc(v.out.Changes, func(c Change) bool {
		return c.Record == TableThreads+"/"+string(id) && Absent(c.Before) && v.unarchived(valueOf[Thread](c.After))
	})
}

// files collects what has to be done with folders and frozen copies.
func (v *inverting) files() error {
	v.out.Replaced = slices.DeleteFunc(v.out.Replaced, func(r Replaced) bool { // removed with its thread
		_, there := v.s.Threads.Peek(string(r.ThreadID))
		return !there
	})
	for _, r := range v.out.Replaced {
		if _, err := v.s.LiveThread(string(r.ThreadID)); err != nil {
			return err
		}
	}
	for _, c := range v.out.Changes {
		switch table, _, _ := strings.Cut(c.Record, "/"); table {
		case TableThreads:
			was, is := valueOf[Thread](c.Before), valueOf[Thread](c.After)
			switch {
			case Absent(c.After):
				v.out.Removed = append(v.out.Removed, was)
			case Absent(c.Before) && !v.unarchived(is):
				v.out.Remade = append(v.out.Remade, is)
			}
		case TableReferences:
			if err := v.copies(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// copies collects what has to be done with a reference's frozen copy.
func (v *inverting) copies(c Change) error {
	was, is := valueOf[Reference](c.Before), valueOf[Reference](c.After)
	from := was.From
	if Absent(c.Before) {
		from = is.From
	}
	if v.cameBack(from) {
		return nil // its thread's folder was never removed
	}
	if _, there := v.s.Threads.Peek(string(from)); !there && Absent(c.After) {
		v.out.Taken = append(v.out.Taken, was)
		return nil
	}
	if _, err := v.s.LiveThread(string(from)); err != nil {
		return err
	}
	switch {
	case was.Manifest == is.Manifest:
	case is.Manifest != "":
		v.out.Copied = append(v.out.Copied, is)
	default:
		v.out.Dropped = append(v.out.Dropped, was)
	}
	return nil
}

// grants refuses, for anyone but a person, what only a person may decide: to grant,
// to end a wait for a person (a thread waits exactly while a request is open), to
// change a person's decision.
func (v *inverting) grants() error {
	for _, c := range v.out.Changes {
		switch table, _, _ := strings.Cut(c.Record, "/"); table {
		case TableApprovals:
			if err := v.grant(c); err != nil {
				return err
			}
		case TableThreads:
			is := valueOf[Thread](c.After)
			if is.Mistakes != nil && is.Status != Suspended {
				return v.limited(is)
			}
		}
	}
	return nil
}

// limited refuses to continue a thread that the mistake limit has suspended.
func (v *inverting) limited(t Thread) error {
	if v.stamp.ByPerson() {
		return v.conflict("the mistake limit suspended the thread since").WithHint("Resume it with leslie resume " + string(t.ID))
	}
	return t.Mistakes.limit(t.ID)
}

func (v *inverting) grant(c Change) error {
	was, is := valueOf[Approval](c.Before), valueOf[Approval](c.After)
	if is.Status == GrantOpen && is.overdue(v.stamp.Time) {
		return v.conflict("the deadline of '" + string(is.ID) + "' has passed").WithHint("Ask again with leslie transfer")
	}
	switch {
	case v.stamp.ByPerson():
		return nil
	case was.Decided != nil && was.Decided.As.Person():
		return v.denied("undoing a person's decision")
	case was.Status == GrantOpen && is.Status != GrantOpen:
		return v.denied("ending a wait for a person by undo")
	case is.Status == GrantApproved && was.Status != GrantApproved && !v.cameBack(is.ThreadID):
		return v.denied("granting by undo")
	}
	return nil
}
