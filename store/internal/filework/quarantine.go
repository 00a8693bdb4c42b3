package filework

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/thread"
	"leslie/warnings"
)

// This file keeps a step that cannot be carried out from blocking the others: see
// Retry.

// RecordOf is the record whose files are in a place: threads/ID or merges/ID.
func RecordOf(place string) string {
	if at := strings.IndexByte(place, '/'); at >= 0 {
		if end := strings.IndexByte(place[at+1:], '/'); end >= 0 {
			return place[:at+1+end]
		}
	}
	return place
}

// PendingOf is a quarantined part of an operation's work.
func PendingOf(q thread.Quarantined) *thread.Pending {
	return &thread.Pending{Operation: q.Operation, Steps: q.Steps, At: q.At}
}

// localFault reports whether a step failed by what is in its own place, and not by
// what every step needs: the disk, and what was staged and displaced.
func (w Work) localFault(p *thread.Pending, step thread.Step, err error) bool {
	for _, needed := range []string{content.Tmp, step.From, displacedIn(p)} {
		if needed == "" {
			continue
		}
		if _, err := w.Exists(needed); err != nil {
			return false
		}
	}
	return codes.Has(err, codes.UnsafePath) || errors.Is(err, saferoot.ErrNotFolder) || errors.Is(err, saferoot.ErrNotRegular) ||
		errors.Is(err, fs.ErrNotExist) || errors.Is(err, content.ErrDamaged) || saferoot.PlaceFault(err)
}

// carryParts carries out what can be carried out of an operation's steps. Behind a
// step that cannot be, those of the same thread wait: they come in an order. left are
// the others by their threads. Errors: T505, T509 of what all need.
func (w Work) carryParts(p *thread.Pending) (done *thread.Pending, left []thread.Quarantined, err error) {
	done = &thread.Pending{Operation: p.Operation}
	for i, step := range p.Steps {
		record := RecordOf(step.To)
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
	} else if codes.Has(err, codes.TargetCorrupted) {
		return e.Facts().Text("path") + " is missing"
	}
	return saferoot.Cause(err).Error()
}

// Retry carries out the steps of earlier operations, the oldest first. left are those
// that cannot be done yet, by their threads and merges. W505 reports displaced files that
// cannot be read and were moved aside. The caller holds the store's lock. Errors: T505,
// T509.
func Retry(disk saferoot.Disk, all []*thread.Pending) (left []thread.Quarantined, notes warnings.List, err error) {
	w, err := Open(disk)
	if err != nil {
		return nil, nil, disk.WriteFailed(err)
	}
	defer w.Close()
	left = []thread.Quarantined{}
	for n, p := range all {
		done, still, err := w.carryParts(p)
		if err == nil {
			err = w.Sync()
		}
		if err == nil {
			err = w.dropLinked(done)
		}
		if err != nil {
			return nil, notes, disk.WriteFailed(err)
		}
		left = append(left, still...)
		waits := slices.ContainsFunc(left, func(q thread.Quarantined) bool { return q.Operation == p.Operation }) ||
			slices.ContainsFunc(all[n+1:], func(other *thread.Pending) bool { return other.Operation == p.Operation })
		if waits {
			continue
		}
		if err := w.clearUp(p, &notes); err != nil {
			return nil, notes, err
		}
	}
	return left, notes, nil
}
