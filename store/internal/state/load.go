package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/filework"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/statefile"
	"leslie/thread"
	"leslie/warnings"
)

// This file chooses the store's state: the main file if it is whole and up to date,
// otherwise the best of main and backup rolled forward with the journal, otherwise
// none (T502). It is up to date if neither the journal nor the backup is newer.
//
// Loading never writes. What a reader recovered in memory, the next writer stores
// (commit.go): it moves what was not whole aside, leaves a whole backup alone, and
// deletes nothing. A failed load never leads to a write.

// Loaded is a state and where it came from.
type Loaded struct {
	statefile.Image
	// file is the main file that the image was read from and data its bytes;
	// nil when the image was recovered.
	file fs.FileInfo
	data []byte
	// broken says that the main file is not whole and has to be moved aside.
	broken        bool
	Tail          thread.Revision // the newest operation that the journal knows
	StepsDone     bool            // nothing is left to do of the last operation's steps
	requarantined bool            // see Requarantined
	NoTail        error           // T509: a reader of a whole state can do without
	Warnings      warnings.List

	// Ahead are operations of a project's log that the image has and the disk does not
	// yet; then onDisk is the image that the disk has: see After.
	Ahead  []journal.Entry
	onDisk statefile.Image
}

// Recovered reports whether the main file was not whole, or not up to date.
func (l *Loaded) Recovered() bool { return l.file == nil }

// Requarantined reports whether the quarantined steps are not those on disk any more.
func (l *Loaded) Requarantined() bool { return l.requarantined }

// Kept is the image that the disk has.
func (l *Loaded) Kept() statefile.Image {
	if len(l.Ahead) > 0 {
		return l.onDisk
	}
	return l.Image
}

// Load finds the store's state. Errors: T502, T506, T509. It returns a whole state
// even if the journal cannot be read; loadToWrite requires both.
//
// It reads the end of the journal and the backup's revision before the state: writers
// append to the journal after they rename the state, and make only the previous state
// the backup. So a state that is older than those is really old, not a race.
//
// W507 names the journal and the archive of a restored store that are not in place yet.
func (s *Files) Load() (*Loaded, error) {
	now, err := s.loadWith(func(j journal.File, main Found) (journal.Tail, error) { return j.TailAt(main.Operation) })
	if err == nil && !now.StepsDone && now.Pending != nil {
		now.Warnings.Add(s.unplacedRecords(*now.Pending)...)
	}
	return now, err
}

// unplacedRecords warns of what only a restore places: until then readers find neither
// earlier operations nor archived records.
func (s *Files) unplacedRecords(p thread.Pending) warnings.List {
	ofStore := func(step thread.Step) bool { return step.To == JournalFile || step.To == ArchiveFile }
	if !slices.ContainsFunc(p.Steps, ofStore) {
		return nil
	}
	p.Steps = slices.DeleteFunc(filework.Undone(s.Disk, &p), func(step thread.Step) bool { return !ofStore(step) })
	if len(p.Steps) == 0 {
		return nil
	}
	return warnings.List{FilesPending(p)}
}

// loadWith is load with a way to read the end of the journal as it was before the
// state was read.
func (s *Files) loadWith(tailOf func(journal.File, Found) (journal.Tail, error)) (*Loaded, error) {
	j, noTail := s.openJournal()
	if noTail == nil {
		defer j.Close()
	}
	backup := s.Claims(BackupFile)
	main := s.ReadState(StateFile)
	var end journal.Tail
	if noTail == nil {
		end, noTail = tailOf(j, main)
		noTail = s.ReadFailed(noTail)
	}
	now, err := s.newest(main, end, noTail, backup)
	if err == nil {
		s.recent.Store(&Last{File: main.info, Image: now.Image, StepsDone: now.StepsDone})
	}
	return now, err
}

func (s *Files) newest(main Found, end journal.Tail, noTail error, backup thread.Revision) (*Loaded, error) {
	if main.Err == nil {
		main.old = s.outdated(main, end, backup)
	}
	switch {
	case main.Err == nil && main.old == "":
		out := &Loaded{Image: main.Image, file: main.info, data: main.Data, Tail: end.Newest, NoTail: noTail}
		out.StepsDone = end.StepsDone && !end.Torn && end.Newest == main.Revision
		if end.Torn && main.Revision == end.Newest {
			lost := noOperation
			main.old = "the last line of the journal is damaged"
			if end.Begun {
				main.old = "it is older than the last line of the journal, which is damaged"
				lost = lostBehind(main.Revision, end.Newest+1)
			}
			if main.Operation == nil || main.Operation.Chain == "" || !s.Connected() { // else the log has it
				out.warn(s, main, 0, lost)
			}
		}
		if !out.StepsDone {
			if err := out.ReadPending(); err != nil {
				return nil, s.refuse(StateFile, err)
			}
		}
		return out, nil
	case !main.Usable():
		return nil, s.refuse(StateFile, main.Err)
	case noTail != nil:
		return nil, noTail
	}
	return s.recover(main, end)
}

// outdated says why a whole state is not the newest, "" when it is.
func (s *Files) outdated(main Found, end journal.Tail, backup thread.Revision) string {
	if main.Revision < end.Newest {
		return "it is older than the journal"
	}
	if main.Revision < backup {
		if b := s.ReadState(BackupFile); b.Err == nil && b.Revision > main.Revision {
			return "it is older than its backup"
		}
	}
	return ""
}

// Claims is the revision in a state file's first line, 0 if there is none. Nothing
// confirms it yet.
func (s *Files) Claims(name string) thread.Revision {
	f, _, err := saferoot.OpenRegular(s.Path(name))
	if err != nil {
		return 0
	}
	defer f.Close()
	head := make([]byte, statefile.HeadSize)
	n, _ := f.ReadAt(head, 0)
	return statefile.RevisionOf(head[:n])
}

// Found is one state file as it was found; Err is damage, foreign, or what the
// system said.
type Found struct {
	statefile.Image
	info fs.FileInfo
	Data []byte
	Err  error
	old  string // why a whole one is not up to date, "" when it is
}

// ReadState reads a state file. A missing one is damage.
func (s *Files) ReadState(name string) Found {
	data, info, err := saferoot.ReadRegular(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Found{Err: saferoot.Damage("it is missing")}
	}
	if err != nil {
		return Found{Err: err}
	}
	m, err := statefile.Decode(data)
	var d statefile.Damage
	if errors.As(err, &d) {
		err = saferoot.Damage(d)
	}
	return Found{Image: m, info: info, Data: data, Err: err}
}

// Usable reports whether the file is whole, or known not to be: then others may
// replace it.
func (f Found) Usable() bool {
	var d saferoot.Damage
	return f.Err == nil || errors.As(f.Err, &d)
}

// Reason says why a file is not whole, or not up to date; "" if it is.
func (f Found) Reason() string {
	if f.Err == nil {
		return f.old
	}
	return f.Err.Error()
}

// claims is the newest revision that a state file names.
func (f Found) claims() thread.Revision {
	if f.Err == nil {
		return f.Revision
	}
	return statefile.Claims(f.Data)
}

// refuse is the error for a file that nothing may replace: T506 or T509.
func (s *Files) refuse(name string, err error) error {
	var other statefile.Foreign
	if errors.As(err, &other) {
		return codes.UnsupportedVersion.New(fact.Of("path", s.Relative(s.Path(name))), fact.Of("writer", string(other)))
	}
	return s.ReadFailed(err)
}

// recover makes the newest state that main, backup and journal hold together.
func (s *Files) recover(main Found, end journal.Tail) (*Loaded, error) {
	backup := s.ReadState(BackupFile)
	if !backup.Usable() && main.Err != nil {
		return nil, s.refuse(BackupFile, backup.Err)
	}
	best, err := s.better(main, backup)
	if err != nil {
		return nil, err
	}
	if best == nil {
		return nil, s.nothingWhole(main, backup)
	}
	out := &Loaded{Image: best.Image, broken: main.Err != nil, Tail: best.newest}
	if lost := best.lost(main, backup, end); main.Err != nil || !best.fromLog || lost != "nothing" {
		out.warn(s, main, best.replayed, lost)
	}
	return out, nil
}

// warn adds W502 for the state.
func (l *Loaded) warn(s *Files, main Found, replayed int, lost string) {
	l.Warnings.Add(warnings.Recovered.New(
		fact.Of("path", s.Relative(s.Path(StateFile))),
		fact.Of("reason", main.Reason()),
		fact.Of("revision", l.Revision),
		fact.Of("replayed", replayed),
		fact.Of("lost", lost),
	))
}

// better rolls those forward that are whole, and returns the newer one.
func (s *Files) better(main, backup Found) (best *rolled, err error) {
	for _, f := range []Found{main, backup} {
		if f.Err != nil {
			continue
		}
		r, err := s.rollForward(f.Image)
		if err != nil {
			return nil, err
		}
		if best == nil || r.Revision > best.Revision {
			best = r
		}
	}
	return best, nil
}

// rolled is a whole state with the journal's later operations applied.
type rolled struct {
	statefile.Image
	base     thread.Revision // what it was rolled forward from
	replayed int
	newest   thread.Revision // the newest operation that the journal knows
	// fromLog: what was replayed came from the log of a project on several machines, in
	// whose journals operations come first.
	fromLog bool
}

func (s *Files) rollForward(m statefile.Image) (*rolled, error) {
	var ops []journal.Entry
	out := &rolled{base: m.Revision}
	err := s.InJournal(func(j journal.File) (err error) {
		ops, out.newest, err = j.After(m.Revision)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := m.ReadPending(); err != nil {
		return nil, s.ReadFailed(err)
	}
	out.Image, out.fromLog = m, len(ops) > 0 && s.Connected()
	var steps []thread.Step // of operations from the log, of which several may wait
	for _, op := range ops {
		if op.Chain == "" {
			out.fromLog, steps = false, nil
		}
		op.Pending = append(withoutGone(steps, op.Pending), op.Pending...)
		if out.Image, err = out.Image.Apply(op); err != nil {
			break // what cannot be applied is not whole, and ends the roll
		}
		if steps = nil; op.Chain != "" {
			steps = slices.Clip(op.Pending)
		}
		out.replayed++
	}
	return out, nil
}

// lost says what may be missing: every operation after the recovered state that
// anything mentions. The journal is at most one operation behind the state, and the
// backup is the state before the last write. So if the journal goes beyond the backup,
// it has everything that was acknowledged; if not, the newest operation was not in it
// yet, or is lost.
func (r *rolled) lost(main, backup Found, end journal.Tail) string {
	last := max(r.newest, main.claims())
	if end.Begun {
		last = max(last, r.newest+1)
	}
	known := main.Err != nil && main.claims() == r.Revision && r.Revision > 0
	switch {
	case last > r.Revision:
		return lostBehind(r.Revision, last)
	case backup.Err == nil && r.newest <= backup.Revision && !known:
		return "nothing that was acknowledged, unless the journal lost it too"
	}
	return "nothing"
}

// noOperation is what is lost if the journal's damaged last line is no operation's.
const noOperation = "nothing: that line is none of an operation"

// lostBehind names the operations behind a revision.
func lostBehind(behind, last thread.Revision) string {
	is := "are"
	if behind+1 == last {
		is = "is"
	}
	return OperationsOf(behind+1, last) + ", which " + is + " not complete in the journal"
}

// OperationsOf names a range of operations.
func OperationsOf(first, last thread.Revision) string {
	if first == last {
		return fmt.Sprintf("the operation of revision %d", first)
	}
	return fmt.Sprintf("the operations from revision %d to %d", first, last)
}

// nothingWhole is T502 with all that is known and what can be done.
func (s *Files) nothingWhole(main, backup Found) error {
	journal, known := s.aboutJournal()
	return codes.ParseError.New(
		fact.Of("reason", "the state: "+main.Reason()+"; its backup: "+backup.Reason()),
		fact.Of("path", s.Relative(s.Path(StateFile))),
		fact.Of("main", main.Reason()),
		fact.Of("backup", backup.Reason()),
		fact.Of("journal", journal),
		fact.Of("options", s.wayOut(known, main, backup)),
	)
}

// Option is one thing that can be done when neither file is whole.
type Option struct {
	What    string `json:"what"`
	Command string `json:"command"`
}

func (s *Files) wayOut(journal bool, main, backup Found) []Option {
	options := []Option{{"See what is damaged; changes nothing", "leslie doctor"}}
	if journal {
		return append(options, Option{"Rebuild the state from the journal; damaged files are moved aside, none is deleted", "leslie doctor --repair"})
	}
	if missing := saferoot.Damage("it is missing"); errors.Is(main.Err, missing) && errors.Is(backup.Err, missing) {
		what := "Complete a store whose making was interrupted"
		if saferoot.Exists(s.Path(RemoteFile)) {
			what = "Make this machine's copy again: its records come from the project's servers"
		}
		return append(options, Option{what, "leslie init"})
	}
	return options
}

// aboutJournal says what the journal could restore; known is false if nothing.
func (s *Files) aboutJournal() (about string, known bool) {
	j, err := s.openJournal()
	switch {
	case err != nil:
		return "it cannot be read: " + err.Error(), false
	case j.Broken != "":
		return j.Broken, false
	case j.Missing():
		return "it is missing", false
	}
	defer j.Close()
	var first, last thread.Revision
	n := 0
	err = j.Newest(func(e journal.Entry) bool {
		if last == 0 {
			last = e.Seq
		}
		first, n = e.Seq, n+1
		return true
	})
	switch {
	case err != nil:
		return "it cannot be read: " + err.Error(), false
	case n == 0:
		return "it has no operation", j.Size() == 0
	}
	return fmt.Sprintf("it has %d operations, from revision %d to %d", n, first, last), true
}

// Undone are the steps of the last operation and of earlier ones that are not done.
func (s *Files) Undone(now *Loaded) (steps []thread.Step) {
	if !now.StepsDone {
		steps = filework.Undone(s.Disk, now.Pending)
	}
	for _, q := range now.Quarantined {
		steps = append(steps, filework.Undone(s.Disk, filework.PendingOf(q))...)
	}
	return steps
}

// Unfinished are the operations whose steps are not all done: what they staged and
// displaced is needed.
func (s *Files) Unfinished(now *Loaded) (all []thread.OperationID) {
	if !now.StepsDone && len(filework.Undone(s.Disk, now.Pending)) > 0 {
		all = append(all, now.Pending.Operation)
	}
	return append(all, now.Image.Waiting()...)
}

// HeldBack is T507 for the first of these records whose files an earlier operation
// has still to change.
func (l *Loaded) HeldBack(records ...string) error {
	for _, q := range l.Quarantined {
		if !slices.Contains(records, q.Record) {
			continue
		}
		facts := []fact.Fact{fact.Of("path", saferoot.Shown(q.Steps[0].To)), fact.Of("operationId", q.Operation), fact.Of("reason", q.Reason)}
		if id, ok := strings.CutPrefix(q.Record, thread.TableThreads+"/"); ok {
			facts = append(facts, fact.Of("threadId", id))
		}
		return codes.UnsafePath.New(facts...).WithNext("leslie doctor").
			WithHint("Operation '" + string(q.Operation) + "' has changes that could not be put there (" + q.Reason + "); correct that, then run leslie doctor --repair")
	}
	return nil
}

// FilesPending is W507 for steps that are not done.
func FilesPending(p thread.Pending) warnings.Warning {
	paths := make([]string, len(p.Steps))
	for i, step := range p.Steps {
		paths[i] = step.To
	}
	return warnings.FilesPending.NewOfPaths(paths, nil, fact.Of("operationId", p.Operation))
}

// RefuseForeign checks, before anything is touched, whether the state belongs to
// another program: then not even a lock file is created. Errors: T506, T509.
func (s *Files) RefuseForeign() error {
	if s.looksOurs() {
		return nil
	}
	main := s.ReadState(StateFile)
	if !main.Usable() {
		return s.refuse(StateFile, main.Err)
	}
	return nil
}

// looksOurs reads only the first bytes.
func (s *Files) looksOurs() bool {
	f, _, err := saferoot.OpenRegular(s.Path(StateFile))
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	head := make([]byte, statefile.HeadSize)
	n, _ := f.ReadAt(head, 0)
	return statefile.Known(head[:n])
}
