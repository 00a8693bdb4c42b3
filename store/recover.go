package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

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

// loaded is a state and where it came from.
type loaded struct {
	statefile.Image
	// file is the main file that the image was read from and data its bytes;
	// nil when the image was recovered.
	file fs.FileInfo
	data []byte
	// broken says that the main file is not whole and has to be moved aside.
	broken  bool
	tail    thread.Revision // the newest operation that the journal knows
	settled bool            // nothing is left to do of the last operation's steps
	// requarantined says that the quarantined steps are not those on disk any more.
	requarantined bool
	noTail        error // T509: a reader of a whole state can do without
	warnings      warnings.List

	// ahead are operations of a project's log that the image has and the disk does not
	// yet; then onDisk is the image that the disk has: see lookAhead.
	ahead  []journal.Entry
	onDisk statefile.Image
}

func (l *loaded) recovered() bool { return l.file == nil }

// kept is the image that the disk has.
func (l *loaded) kept() statefile.Image {
	if len(l.ahead) > 0 {
		return l.onDisk
	}
	return l.Image
}

// load finds the store's state. Errors: T502, T506, T509. It returns a whole state
// even if the journal cannot be read; loadToWrite requires both.
//
// It reads the end of the journal and the backup's revision before the state: writers
// append to the journal after they rename the state, and make only the previous state
// the backup. So a state that is older than those is really old, not a race.
//
// W507 names the journal and the archive of a restored store that are not in place yet.
func (s *Store) load() (*loaded, error) {
	now, err := s.loadWith(func(j journal.File, main found) (journal.Tail, error) { return j.TailAt(main.Operation) })
	if err == nil && !now.settled && now.Pending != nil {
		now.warnings.Add(s.unplacedRecords(*now.Pending)...)
	}
	return now, err
}

// unplacedRecords warns of what only a restore places: until then readers find neither
// earlier operations nor archived records.
func (s *Store) unplacedRecords(p thread.Pending) warnings.List {
	ofStore := func(step thread.Step) bool { return step.To == JournalFile || step.To == ArchiveFile }
	if !slices.ContainsFunc(p.Steps, ofStore) {
		return nil
	}
	p.Steps = slices.DeleteFunc(filework.Undone(s.disk, &p), func(step thread.Step) bool { return !ofStore(step) })
	if len(p.Steps) == 0 {
		return nil
	}
	return warnings.List{filesPending(p)}
}

// loadWith is load with a way to read the end of the journal as it was before the
// state was read.
func (s *Store) loadWith(tailOf func(journal.File, found) (journal.Tail, error)) (*loaded, error) {
	j, noTail := s.openJournal()
	if noTail == nil {
		defer j.Close()
	}
	backup := s.claimsOf(BackupFile)
	main := s.readState(StateFile)
	var end journal.Tail
	if noTail == nil {
		end, noTail = tailOf(j, main)
		noTail = s.disk.ReadFailed(noTail)
	}
	now, err := s.newest(main, end, noTail, backup)
	if err == nil {
		s.recent.Store(&lately{file: main.info, image: now.Image, settled: now.settled})
	}
	return now, err
}

func (s *Store) newest(main found, end journal.Tail, noTail error, backup thread.Revision) (*loaded, error) {
	if main.err == nil {
		main.old = s.outdated(main, end, backup)
	}
	switch {
	case main.err == nil && main.old == "":
		out := &loaded{Image: main.Image, file: main.info, data: main.data, tail: end.Newest, noTail: noTail}
		out.settled = end.Settled && !end.Torn && end.Newest == main.Revision
		if end.Torn && main.Revision == end.Newest {
			lost := noOperation
			main.old = "the last line of the journal is damaged"
			if end.Begun {
				main.old = "it is older than the last line of the journal, which is damaged"
				lost = lostBehind(main.Revision, end.Newest+1)
			}
			if main.Operation == nil || main.Operation.Chain == "" || !s.connected() { // else the log has it
				out.warn(s, main, 0, lost)
			}
		}
		if !out.settled {
			if err := out.ReadPending(); err != nil {
				return nil, s.refuse(StateFile, err)
			}
		}
		return out, nil
	case !main.usable():
		return nil, s.refuse(StateFile, main.err)
	case noTail != nil:
		return nil, noTail
	}
	return s.recover(main, end)
}

// outdated says why a whole state is not the newest, "" when it is.
func (s *Store) outdated(main found, end journal.Tail, backup thread.Revision) string {
	if main.Revision < end.Newest {
		return "it is older than the journal"
	}
	if main.Revision < backup {
		if b := s.readState(BackupFile); b.err == nil && b.Revision > main.Revision {
			return "it is older than its backup"
		}
	}
	return ""
}

// claimsOf is the revision in a state file's first line, 0 if there is none. Nothing
// confirms it yet.
func (s *Store) claimsOf(name string) thread.Revision {
	f, _, err := saferoot.OpenRegular(s.Path(name))
	if err != nil {
		return 0
	}
	defer f.Close()
	head := make([]byte, statefile.HeadSize)
	n, _ := f.ReadAt(head, 0)
	return statefile.RevisionOf(head[:n])
}

// loadToWrite is load for the holder of the lock: it needs the journal, and checks all
// of its last line.
func (s *Store) loadToWrite() (*loaded, error) {
	now, err := s.loadWith(func(j journal.File, _ found) (journal.Tail, error) { return j.Tail() })
	if err == nil && now.noTail != nil {
		return nil, now.noTail
	}
	return now, err
}

// found is one state file as it was found; err is damage, foreign, or what the
// system said.
type found struct {
	statefile.Image
	info fs.FileInfo
	data []byte
	err  error
	old  string // why a whole one is not up to date, "" when it is
}

// readState reads a state file. A missing one is damage.
func (s *Store) readState(name string) found {
	data, info, err := saferoot.ReadRegular(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return found{err: saferoot.Damage("it is missing")}
	}
	if err != nil {
		return found{err: err}
	}
	m, err := statefile.Decode(data)
	var d statefile.Damage
	if errors.As(err, &d) {
		err = saferoot.Damage(d)
	}
	return found{Image: m, info: info, data: data, err: err}
}

// usable reports whether the file is whole, or known not to be: then others may
// replace it.
func (f found) usable() bool {
	var d saferoot.Damage
	return f.err == nil || errors.As(f.err, &d)
}

func (f found) reason() string {
	if f.err == nil {
		return f.old
	}
	return f.err.Error()
}

// claims is the newest revision that a state file names.
func (f found) claims() thread.Revision {
	if f.err == nil {
		return f.Revision
	}
	return statefile.Claims(f.data)
}

// refuse is the error for a file that nothing may replace: T506 or T509.
func (s *Store) refuse(name string, err error) error {
	var other statefile.Foreign
	if errors.As(err, &other) {
		return codes.UnsupportedVersion.New(fact.Of("path", s.disk.Relative(s.Path(name))), fact.Of("writer", string(other)))
	}
	return s.disk.ReadFailed(err)
}

// recover makes the newest state that main, backup and journal hold together.
func (s *Store) recover(main found, end journal.Tail) (*loaded, error) {
	backup := s.readState(BackupFile)
	if !backup.usable() && main.err != nil {
		return nil, s.refuse(BackupFile, backup.err)
	}
	best, err := s.better(main, backup)
	if err != nil {
		return nil, err
	}
	if best == nil {
		return nil, s.nothingWhole(main, backup)
	}
	out := &loaded{Image: best.Image, broken: main.err != nil, tail: best.newest}
	if lost := best.lost(main, backup, end); main.err != nil || !best.fromLog || lost != "nothing" {
		out.warn(s, main, best.replayed, lost)
	}
	return out, nil
}

// warn adds W502 for the state.
func (l *loaded) warn(s *Store, main found, replayed int, lost string) {
	l.warnings.Add(warnings.Recovered.New(
		fact.Of("path", s.disk.Relative(s.Path(StateFile))),
		fact.Of("reason", main.reason()),
		fact.Of("revision", l.Revision),
		fact.Of("replayed", replayed),
		fact.Of("lost", lost),
	))
}

// better rolls those forward that are whole, and returns the newer one.
func (s *Store) better(main, backup found) (best *rolled, err error) {
	for _, f := range []found{main, backup} {
		if f.err != nil {
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

func (s *Store) rollForward(m statefile.Image) (*rolled, error) {
	var ops []journal.Entry
	out := &rolled{base: m.Revision}
	err := s.inJournal(func(j journal.File) (err error) {
		ops, out.newest, err = j.After(m.Revision)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := m.ReadPending(); err != nil {
		return nil, s.disk.ReadFailed(err)
	}
	out.Image, out.fromLog = m, len(ops) > 0 && s.connected()
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
func (r *rolled) lost(main, backup found, end journal.Tail) string {
	last := max(r.newest, main.claims())
	if end.Begun {
		last = max(last, r.newest+1)
	}
	known := main.err != nil && main.claims() == r.Revision && r.Revision > 0
	switch {
	case last > r.Revision:
		return lostBehind(r.Revision, last)
	case backup.err == nil && r.newest <= backup.Revision && !known:
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
	return operations(behind+1, last) + ", which " + is + " not complete in the journal"
}

// operations names a range of operations.
func operations(first, last thread.Revision) string {
	if first == last {
		return fmt.Sprintf("the operation of revision %d", first)
	}
	return fmt.Sprintf("the operations from revision %d to %d", first, last)
}

// nothingWhole is T502 with all that is known and what can be done.
func (s *Store) nothingWhole(main, backup found) error {
	journal, known := s.aboutJournal()
	return codes.ParseError.New(
		fact.Of("reason", "the state: "+main.reason()+"; its backup: "+backup.reason()),
		fact.Of("path", s.disk.Relative(s.Path(StateFile))),
		fact.Of("main", main.reason()),
		fact.Of("backup", backup.reason()),
		fact.Of("journal", journal),
		fact.Of("options", wayOut(known, main, backup)),
	)
}

// Option is one thing that can be done when neither file is whole.
type Option struct {
	What    string `json:"what"`
	Command string `json:"command"`
}

func wayOut(journal bool, main, backup found) []Option {
	options := []Option{{"See what is damaged; changes nothing", "leslie doctor"}}
	if journal {
		return append(options, Option{"Rebuild the state from the journal; damaged files are moved aside, none is deleted", "leslie doctor --repair"})
	}
	if missing := saferoot.Damage("it is missing"); errors.Is(main.err, missing) && errors.Is(backup.err, missing) {
		return append(options, Option{"Complete a store whose making was interrupted", "leslie init"})
	}
	return options
}

// aboutJournal says what the journal could restore; known is false if nothing.
func (s *Store) aboutJournal() (about string, known bool) {
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
