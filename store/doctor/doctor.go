package doctor

import (
	"context"
	"fmt"
	"time"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/archive"
	"leslie/store/internal/journal"
	"leslie/store/internal/lockfile"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/state"
	"leslie/thread"
)

// This file finds what is wrong with a store. It waits for no lock and writes nothing.

// Doctor checks and repairs one store.
type Doctor struct {
	Store *store.Store
	// Progress, if not nil, is told how far a check is: done of total equal shares, or
	// nobody knows for 0.
	Progress func(what string, done, total int)
}

// Finding is one result of doctor.
type Finding struct {
	Code    string `json:"code"` // the T or W code that stands for it
	Path    string `json:"path"` // relative to the project's root
	Message string `json:"message"`
	// Repairable: Repair resolves it.
	Repairable bool `json:"repairable"`
	// Info: a note; nothing is wrong.
	Info bool `json:"info,omitempty"`
}

// Diagnosis is what doctor found.
type Diagnosis struct {
	// Healthy: every finding is for information.
	Healthy  bool
	Findings []Finding
}

// checks returns all checks in the order in which findings are reported and repaired:
// those that block others come first.
func checks() []check {
	return []check{
		{"checking folders", (*examination).places},
		{"checking the state", (*examination).state}, {"checking the state", (*examination).pending}, {"checking the backup", (*examination).backup},
		{"checking the journal", (*examination).journal}, {"checking the archive", (*examination).archive},
		{"checking records", (*examination).decodeRecords}, {"checking records", (*examination).counters}, {"checking records", (*examination).relations},
		{"checking folders", (*examination).folders}, {"checking folders", (*examination).orphans}, {"checking artifacts", (*examination).artifacts},
		{"checking blobs", (*examination).blobs}, {"checking frozen copies", (*examination).frozen},
		{"checking merges", (*examination).merges}, {"checking answers", (*examination).requests},
		{"checking leftovers", (*examination).leftovers}, {"checking leftovers", (*examination).unknownEntries},
		{"checking permissions", (*examination).rights}, {"checking the disk", (*examination).disk}, {"checking the log", (*examination).log},
	}
}

// check is a family of checks. What says for people what it is about.
type check struct {
	what string
	do   func(*examination) error
}

// progress tells how far a check is.
func (x *examination) progress(what string, done, total int) {
	if x.Progress != nil {
		x.Progress(what, done, total)
	}
}

// Diagnose checks the state, its backup, the journal, the archive, pending work, the
// threads' folders, the relations between records, every blob and every frozen copy,
// stored answers, and what else is in the store's folder.
//
// For a moment a running writer looks like a dead one, so only what two looks find
// counts.
//
// Errors: T502 if neither state nor backup can be read, with a Diagnosis of what can
// still be checked; T506; T509 if the state exists and cannot be read; T904.
func (d Doctor) Diagnose(ctx context.Context) (Diagnosis, error) {
	seen := newMemory()
	first, err := d.examine(ctx, seen)
	if err != nil || len(first.findings) == 0 {
		return first.result(nil), err
	}
	if lockfile.Sleep(ctx, secondLook) != nil {
		return Diagnosis{}, saferoot.Stopped(ctx)
	}
	second, err := d.examine(ctx, seen)
	return second.result(first.findings), err
}

const secondLook = 50 * time.Millisecond

// examination is one run of doctor. now is nil if neither file is whole: then checks
// that need records report nothing.
type examination struct {
	Doctor
	files    *state.Files
	ctx      context.Context
	now      *state.Loaded
	cause    error // T502 when now is nil
	seen     *memory
	findings []finding

	pendingAt map[string]bool // places that a pending step is going to fill
	index     journal.Index
	noJournal bool // the journal cannot be read: nothing follows from what it lacks
	archived  archive.Comparison
	noArchive bool // the archive, or the journal that stands in for it, cannot be read
	records   recordIndex
	badBlobs  map[thread.BlobID]*badBlob // blobs that are missing or damaged
}

// memory has what earlier looks of one run have verified: content under a hash does
// not change, so it is read once.
type memory struct {
	blobs  map[thread.BlobID]bool
	frozen map[thread.ReferenceID]thread.BlobID // by reference, the list that its copy fits
	locked bool                                 // the run holds the store's lock: nobody else is at work
}

func newMemory() *memory {
	return &memory{blobs: map[thread.BlobID]bool{}, frozen: map[thread.ReferenceID]thread.BlobID{}}
}

// finding is a Finding with its repair, nil for none. A finding that is not repairable
// may have one that reduces the harm.
type finding struct {
	Finding
	repair func(*repairRun) error
}

// newExamination loads the state.
func (d Doctor) newExamination(ctx context.Context, seen *memory) *examination {
	x := &examination{Doctor: d, files: d.Store.Files(), ctx: ctx, seen: seen, pendingAt: map[string]bool{}}
	x.now, x.cause = x.files.Load()
	return x
}

// examine runs every check. The error is T502 with an examination without records, or
// one that ends the run.
func (d Doctor) examine(ctx context.Context, seen *memory) (*examination, error) {
	x := d.newExamination(ctx, seen)
	if x.cause != nil && !codes.Has(x.cause, codes.ParseError) {
		return x, x.cause
	}
	for _, check := range checks() {
		if err := saferoot.Stopped(ctx); err != nil {
			return x, err
		}
		x.progress(check.what, 0, 0)
		if err := check.do(x); err != nil {
			return x, err
		}
	}
	return x, x.cause
}

// result returns the findings; if an earlier look is given, only those that it found
// as well.
func (x *examination) result(earlier []finding) Diagnosis {
	type place struct{ code, path, message string }
	at := func(f finding) place {
		if f.Info && f.Repairable { // it passes: the next look may find another's
			return place{f.Code, f.Path, f.Message}
		}
		return place{f.Code, f.Path, ""}
	}
	seen := map[place]bool{}
	for _, f := range earlier {
		seen[at(f)] = true
	}
	d := Diagnosis{Healthy: true}
	for _, f := range x.findings {
		if earlier == nil || seen[at(f)] {
			d.Findings = append(d.Findings, f.Finding)
			d.Healthy = d.Healthy && f.Info
		}
	}
	d.Findings = x.cut(d.Findings)
	return d
}

// mostAlike is how many findings of one kind are listed.
const mostAlike = 50

// cut replaces many findings of one kind by one line.
func (x *examination) cut(all []Finding) (out []Finding) {
	kind := func(f Finding) Finding { return Finding{Code: f.Code, Repairable: f.Repairable, Info: f.Info} }
	count := map[Finding]int{}
	for _, f := range all {
		count[kind(f)]++
	}
	listed := map[Finding]int{}
	for _, f := range all {
		k := kind(f)
		listed[k]++
		switch {
		case listed[k] <= mostAlike:
			out = append(out, f)
		case listed[k] == count[k]:
			k.Path, k.Message = x.files.Relative(x.Store.Path(".")), fmt.Sprintf("%d more of this kind", count[k]-mostAlike)
			out = append(out, k)
		}
	}
	return out
}

// repairable adds a finding that Repair resolves.
func (x *examination) repairable(code, name, message string, repair func(*repairRun) error) {
	x.add(Finding{Code: code, Path: name, Message: message, Repairable: true}, repair)
}

// permanent adds a finding that only a person can resolve.
func (x *examination) permanent(code, name, message string) {
	x.add(Finding{Code: code, Path: name, Message: message}, nil)
}

// note adds a note: nothing is wrong.
func (x *examination) note(code, name, message string) {
	x.add(Finding{Code: code, Path: name, Message: message, Info: true}, nil)
}

// transient adds a note about something that goes away by itself, or by Repair.
func (x *examination) transient(code, name, message string, repair func(*repairRun) error) {
	x.add(Finding{Code: code, Path: name, Message: message, Info: true, Repairable: true}, repair)
}

// unreadableAt adds an error that only says that something could not be read; the other
// checks continue.
func (x *examination) unreadableAt(name string, err error) {
	code, reason := codes.ReadFailed, err.Error()
	if e := codes.Of(err); e != nil {
		code, reason = e.Code(), e.Error()
		if cause := e.Unwrap(); cause != nil {
			reason = x.files.Reason(cause)
		}
	}
	x.permanent(string(code), name, "it cannot be read: "+reason)
}

func (x *examination) add(f Finding, repair func(*repairRun) error) {
	f.Path = x.files.Relative(x.Store.Path(f.Path))
	x.findings = append(x.findings, finding{f, repair})
}
