package store

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file prevents a step that cannot be carried out from blocking the store. Its
// thread's folder may be a link for a while, or without permission, or its name too
// long for this file system. Then the steps of that thread, or merge, wait in the
// state with their operation and their stage. Each writer, and doctor --repair, tries
// them again; until they are done, writes to the thread are T507, readers of its files
// are warned (W507), and everything else works. The steps are never dropped.

// recordOf is the record whose files are in a place: threads/ID or merges/ID.
func recordOf(place string) string {
	if at := strings.IndexByte(place, '/'); at >= 0 {
		if end := strings.IndexByte(place[at+1:], '/'); end >= 0 {
			return place[:at+1+end]
		}
	}
	return place
}

// work is a quarantined part of an operation's work.
func work(q thread.Quarantined) *thread.Pending {
	return &thread.Pending{Operation: q.Operation, Steps: q.Steps, At: q.At}
}

// localFault reports whether a step failed by what is in its own place, and not by
// what every step needs: the disk, and what was staged and displaced.
func (w fileWork) localFault(p *thread.Pending, step thread.Step, err error) bool {
	for _, needed := range []string{TmpDir, step.From, shelves(p)} {
		if needed == "" {
			continue
		}
		if _, err := w.Exists(needed); err != nil {
			return false
		}
	}
	return codes.Has(err, codes.UnsafePath) || errors.Is(err, saferoot.ErrNotFolder) || errors.Is(err, saferoot.ErrNotRegular) ||
		errors.Is(err, fs.ErrNotExist) || IsDamaged(err) || saferoot.PlaceFault(err)
}

// carryParts carries out what can be carried out of an operation's steps. Behind a
// step that cannot be, those of the same thread wait: they come in an order. left are
// the others by their threads. Errors: T505, T509 of what all need.
func (w fileWork) carryParts(p *thread.Pending) (done *thread.Pending, left []thread.Quarantined, err error) {
	done = &thread.Pending{Operation: p.Operation}
	for i, step := range p.Steps {
		record := recordOf(step.To)
		n := slices.IndexFunc(left, func(q thread.Quarantined) bool { return q.Record == record })
		if n < 0 {
			err := w.carry(p, i)
			if err == nil {
				done.Steps, done.At = append(done.Steps, step), append(done.At, number(p, i))
				continue
			}
			if !w.localFault(p, step, err) {
				return nil, nil, err
			}
			n = len(left)
			left = append(left, thread.Quarantined{Record: record, Operation: p.Operation, Reason: whyNot(err)})
		}
		left[n].Steps, left[n].At = append(left[n].Steps, step), append(left[n].At, number(p, i))
	}
	return done, left, nil
}

// whyNot is why a step could not be carried out.
func whyNot(err error) string {
	if e := codes.Of(err); e != nil && e.Code() == codes.UnsafePath {
		return e.Facts().Text("path") + " is a link"
	}
	return saferoot.Cause(err).Error()
}

// retry carries out what is left of earlier operations, the oldest first; what cannot
// be done yet stays in the image. Errors: T505, T509.
func (s *Store) retry(now *loaded) error {
	w, err := s.openWork()
	if err != nil {
		return s.disk.WriteFailed(err)
	}
	defer w.Close()
	all := make([]*thread.Pending, 0, len(now.Quarantined)+1)
	for _, q := range now.Quarantined {
		all = append(all, work(q))
	}
	if now.Pending != nil && !now.settled {
		all = append(all, now.Pending)
	}
	left := []thread.Quarantined{}
	for n, p := range all {
		done, still, err := w.carryParts(p)
		if err == nil {
			err = w.Sync()
		}
		if err == nil {
			err = w.dropLinked(done)
		}
		if err != nil {
			return s.disk.WriteFailed(err)
		}
		left = append(left, still...)
		waits := slices.ContainsFunc(left, func(q thread.Quarantined) bool { return q.Operation == p.Operation }) ||
			slices.ContainsFunc(all[n+1:], func(other *thread.Pending) bool { return other.Operation == p.Operation })
		if waits {
			continue
		}
		if err := s.clearUp(w, p, &now.warnings); err != nil {
			return err
		}
	}
	same := func(a, b thread.Quarantined) bool { return a.Record == b.Record && slices.Equal(a.At, b.At) }
	now.requarantined = !slices.EqualFunc(now.Quarantined, left, same)
	now.Quarantined, now.Pending = left, nil // which is done, or quarantined
	return nil
}

// keepQuarantine puts a state on disk whose quarantined steps are others than they
// were, at its own revision. Errors: T505, T509.
func (s *Store) keepQuarantine(now *loaded) error {
	if !now.requarantined && !now.recovered() {
		return nil
	}
	return s.swap(now, now.Image)
}

// undoneOf are the steps of the last operation and of earlier ones that are not done.
func (s *Store) undoneOf(now *loaded) (steps []thread.Step) {
	if !now.settled {
		steps = s.undone(now.Pending)
	}
	for _, q := range now.Quarantined {
		steps = append(steps, s.undone(work(q))...)
	}
	return steps
}

// unfinished are the operations whose steps are not all done: what they staged and
// displaced is needed.
func (s *Store) unfinished(now *loaded) (all []thread.OperationID) {
	if !now.settled && len(s.undone(now.Pending)) > 0 {
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
		records = append(records, recordOf(step.To))
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
