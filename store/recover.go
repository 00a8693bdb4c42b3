package store

import (
	"errors"
	"fmt"
	"io/fs"

	"leslie/codes"
	"leslie/fact"
	"leslie/thread"
	"leslie/warnings"
)

// This file says which state is the store's: the main file where it is whole
// and up to date, else the best of main and backup rolled forward with the
// journal, else none (T502).
//
// Loading never writes. What a reader recovered in memory, the next writer
// puts on disk (commit.go): it moves what was not whole aside, leaves the backup
// alone, and deletes nothing. A load that fails never leads to a write.

// loaded is a state and where it came from.
type loaded struct {
	image
	// file is the main file that the image was read from and data its bytes;
	// nil when the image was recovered.
	file fs.FileInfo
	data []byte
	// broken says that the main file is not whole and has to be moved aside.
	broken   bool
	tail     thread.Revision // the newest operation that the journal knows
	noTail   error           // T509: a reader of a whole state can do without
	warnings warnings.List
}

func (l *loaded) recovered() bool { return l.file == nil }

// load finds the store's state. Errors: T502, T506, T509. A state that is whole
// is given even if the journal cannot be read; loadToWrite insists on both.
//
// The journal's tail is read before the state: writers append to it after they
// renamed the state, so a state that is older than a tail read earlier is truly
// old, and no race.
func (s *Store) load() (*loaded, error) {
	tail, noTail := s.tail()
	main := s.readState(StateFile)
	if main.err == nil && main.revision >= tail.Seq {
		return &loaded{image: main.image, file: main.info, data: main.data, tail: tail.Seq, noTail: noTail}, nil
	}
	if !main.usable() {
		return nil, s.refuse(StateFile, main.err)
	}
	if noTail != nil {
		return nil, noTail
	}
	return s.recover(main)
}

// loadToWrite is load for who holds the lock: without the journal there is no
// writing.
func (s *Store) loadToWrite() (*loaded, error) {
	now, err := s.load()
	if err == nil && now.noTail != nil {
		return nil, now.noTail
	}
	return now, err
}

// found is one state file as it was found; err is damage, foreign, or what the
// system said.
type found struct {
	image
	info fs.FileInfo
	data []byte
	err  error
}

// readState reads a state file. A missing one is damage.
func (s *Store) readState(name string) found {
	data, info, err := readRegular(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return found{err: damage("it is missing")}
	}
	if err != nil {
		return found{err: err}
	}
	m, err := decodeState(data)
	return found{image: m, info: info, data: data, err: err}
}

// usable reports whether the file is whole, or known not to be: then others may
// stand in for it.
func (f found) usable() bool {
	var d damage
	return f.err == nil || errors.As(f.err, &d)
}

func (f found) reason() string {
	if f.err == nil {
		return "it is older than the journal"
	}
	return f.err.Error()
}

// refuse is the code for a file that nothing may stand in for: T506 or T509.
func (s *Store) refuse(name string, err error) error {
	var other foreign
	if errors.As(err, &other) {
		return codes.UnsupportedVersion.New(fact.Of("path", s.rel(s.Path(name))), fact.Of("writer", string(other)))
	}
	return s.readFailed(err)
}

// recover makes the newest state that main, backup and journal hold together.
func (s *Store) recover(main found) (*loaded, error) {
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
	out := &loaded{image: best.image, broken: main.err != nil, tail: best.newest}
	out.warnings.Add(warnings.Recovered.New(
		fact.Of("path", s.rel(s.Path(StateFile))),
		fact.Of("reason", main.reason()),
		fact.Of("revision", best.revision),
		fact.Of("replayed", best.replayed),
		fact.Of("lost", best.lost(main)),
	))
	return out, nil
}

// better rolls those that are whole forward and returns the newer one.
func (s *Store) better(main, backup found) (best *rolled, err error) {
	for _, f := range []found{main, backup} {
		if f.err != nil {
			continue
		}
		r, err := s.rollForward(f.image)
		if err != nil {
			return nil, err
		}
		if best == nil || r.revision > best.revision {
			best = r
		}
	}
	return best, nil
}

// rolled is a whole state with the journal's later operations applied.
type rolled struct {
	image
	base     thread.Revision // what it was rolled forward from
	replayed int
	newest   thread.Revision // the newest operation that the journal knows
}

func (s *Store) rollForward(m image) (*rolled, error) {
	ops, newest, err := s.after(m.revision)
	if err != nil {
		return nil, err
	}
	out := &rolled{image: m, base: m.revision, newest: newest}
	for _, op := range ops {
		if out.image, err = replayed(out.image, op); err != nil {
			break // what cannot be applied is not whole, and ends the roll
		}
		out.replayed++
	}
	return out, nil
}

// replayed is the image that an operation makes of another. Errors: T901.
func replayed(m image, op entry) (next image, err error) {
	defer func() { // a record that no rule could have written
		if r := recover(); r != nil {
			next, err = m, codes.Internal.New(fact.Of("reason", fmt.Sprint(r)))
		}
	}()
	st := thread.NewState(m.revision, m.records, nil)
	if err := st.Apply(op.Operation); err != nil {
		return m, err
	}
	return snapshot(st, op), nil
}

// snapshot is a State as it rests after an operation.
func snapshot(st *thread.State, op entry) image {
	m := image{revision: op.Seq, records: thread.Records{}}
	for _, table := range thread.Tables() {
		m.records[table] = st.Lines(table)
	}
	if len(op.Pending) > 0 {
		m.pending = &thread.Pending{Operation: op.ID, Steps: op.Pending}
	}
	op.Pending = nil
	m.operation = &operation{entry: op}
	return m
}

// lost says what may be missing. The journal is at most one operation behind
// the state, and the backup is the state before the last write; so a backup
// that the journal led past stood right behind the state that was lost.
func (r *rolled) lost(main found) string {
	switch {
	case r.newest > r.revision:
		return fmt.Sprintf("the operations from revision %d to %d, which the journal no longer holds without a gap", r.revision+1, r.newest)
	case main.err == nil || r.replayed > 0:
		return "nothing"
	}
	return "at most one operation, which was not acknowledged"
}

// nothingWhole is T502 with all that is known and what can be done.
func (s *Store) nothingWhole(main, backup found) error {
	journal, known := s.aboutJournal()
	return codes.ParseError.New(
		fact.Of("reason", "the state: "+main.reason()+"; its backup: "+backup.reason()),
		fact.Of("path", s.rel(s.Path(StateFile))),
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
	if missing := damage("it is missing"); errors.Is(main.err, missing) && errors.Is(backup.err, missing) {
		return append(options, Option{"Complete a store whose making was interrupted", "leslie init"})
	}
	return options
}

// aboutJournal says what the journal could give; known is false when that is
// nothing.
func (s *Store) aboutJournal() (about string, known bool) {
	j, err := s.openJournal()
	switch {
	case err != nil:
		return "it cannot be read: " + err.Error(), false
	case j.broken != "":
		return j.broken, false
	case j.file == nil:
		return "it is missing", false
	}
	defer j.close()
	var first, last thread.Revision
	n := 0
	err = j.newest(func(e entry) bool {
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
		return "it holds no operation", j.size == 0
	}
	return fmt.Sprintf("it holds %d operations, from revision %d to %d", n, first, last), true
}
