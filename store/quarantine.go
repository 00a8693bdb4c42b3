package store

import (
	"path"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/filework"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file prevents a step that cannot be carried out from blocking the store. Its
// thread's folder may be a link for a while, or without permission, or its name too
// long for this file system. Then the steps of that thread, or merge, wait in the
// state with their operation and their stage. Each writer, and doctor --repair, tries
// them again; until they are done, writes to the thread are T507, readers of its files
// are warned (W507), and everything else works. The steps are never dropped.

// retry carries out what is left of earlier operations; what cannot be done yet stays in
// the image. Errors: T505, T509.
func (s *Store) retry(now *loaded) error {
	all := make([]*thread.Pending, 0, len(now.Quarantined)+1)
	for _, q := range now.Quarantined {
		all = append(all, filework.PendingOf(q))
	}
	if now.Pending != nil && !now.settled {
		all = append(all, now.Pending)
	}
	left, notes, err := filework.Retry(s.disk, all)
	now.warnings = append(now.warnings, notes...)
	if err != nil {
		return err
	}
	same := func(a, b thread.Quarantined) bool { return a.Record == b.Record && slices.Equal(a.At, b.At) }
	now.requarantined = !slices.EqualFunc(now.Quarantined, left, same)
	now.Quarantined, now.Pending = left, nil // which is done, or quarantined
	return nil
}

// keepQuarantine puts a state on disk whose quarantined steps are others than they
// were, at its own revision. Errors: T505, T509.
func (s *Store) keepQuarantine(now *loaded) error {
	if !now.requarantined && !now.recovered() || len(now.ahead) > 0 { // which adopt stores
		return nil
	}
	return s.swap(now, now.Image)
}

// undoneOf are the steps of the last operation and of earlier ones that are not done.
func (s *Store) undoneOf(now *loaded) (steps []thread.Step) {
	if !now.settled {
		steps = filework.Undone(s.disk, now.Pending)
	}
	for _, q := range now.Quarantined {
		steps = append(steps, filework.Undone(s.disk, filework.PendingOf(q))...)
	}
	return steps
}

// unfinished are the operations whose steps are not all done: what they staged and
// displaced is needed.
func (s *Store) unfinished(now *loaded) (all []thread.OperationID) {
	if !now.settled && len(filework.Undone(s.disk, now.Pending)) > 0 {
		all = append(all, now.Pending.Operation)
	}
	return append(all, now.Image.Waiting()...)
}

// heldBack is T507 for the first of these records whose files an earlier operation
// has still to change.
func (l *loaded) heldBack(records ...string) error {
	for _, q := range l.Quarantined {
		if !slices.Contains(records, q.Record) {
			continue
		}
		facts := []fact.Fact{fact.Of("path", saferoot.Shown(q.Steps[0].To)), fact.Of("operationId", q.Operation), fact.Of("reason", q.Reason)}
		if id, ok := strings.CutPrefix(q.Record, thread.TableThreads+"/"); ok {
			facts = append(facts, fact.Of("threadId", id))
		}
		return codes.UnsafePath.New(facts...).WithNext("leslie doctor --repair").
			WithHint("Operation '" + string(q.Operation) + "' has changes that could not be put there (" + q.Reason + "); correct that, then run leslie doctor --repair")
	}
	return nil
}

// written are the records that an operation writes to. What the rules change in
// passing, such as a lease that has run out, is none of its doing.
func written(call Call, st *thread.State, out Outcome) (records []string) {
	if out.Thread != "" {
		records = append(records, thread.TableThreads+"/"+string(out.Thread))
	}
	for _, step := range st.Planned() {
		records = append(records, filework.RecordOf(step.To))
	}
	for _, c := range st.Changes() {
		if call.Command == "batch" || strings.HasPrefix(c.Record, thread.TableMerges+"/") {
			records = append(records, c.Record)
		}
	}
	return records
}

// threadRecords are the records of threads.
func threadRecords(ids []thread.ThreadID) (records []string) {
	for _, id := range ids {
		records = append(records, path.Join(thread.TableThreads, string(id)))
	}
	return records
}
