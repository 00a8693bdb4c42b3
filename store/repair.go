package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"leslie/codes"
	"leslie/thread"
)

// This file mends what doctor finds, as far as backup, journal and blobs give
// it back. It moves aside what is not whole and deletes nothing, and it never
// loses what could be read before: every step either succeeds or leaves the
// file as it was.

// Repair is what was mended and how the store is afterwards.
type Repair struct {
	Actions []string
	After   Diagnosis
}

// Repair mends the store under its lock. Where the journal lost operations,
// call is recorded as an operation that names every record, so that the state
// can be rebuilt from the journal again.
//
// Errors: T501, T505, T506, T509, T904; T502 when the journal gives back
// nothing either, and then nothing was touched.
func (s *Store) Repair(ctx context.Context, call Call) (Repair, error) {
	if err := s.refuseForeign(); err != nil {
		return Repair{}, err
	}
	unlock, err := s.lock(ctx, call.LockTimeout)
	if err != nil {
		return Repair{}, err
	}
	m := &mending{store: s, ctx: ctx, call: call}
	err = m.run()
	unlock()
	if err != nil {
		return Repair{}, err
	}
	after, err := s.Diagnose(ctx)
	return Repair{Actions: m.actions, After: after}, err
}

// mending is one run of Repair.
type mending struct {
	store   *Store
	ctx     context.Context
	call    Call
	now     *loaded
	actions []string
}

func (m *mending) did(format string, args ...any) {
	m.actions = append(m.actions, fmt.Sprintf(format, args...))
}

func (m *mending) run() error {
	for _, step := range []func() error{m.state, m.settle, m.backup, m.journal, m.archive, m.folders, m.baseline} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// state makes the state file whole.
func (m *mending) state() error {
	s := m.store
	now, err := s.loadToWrite()
	if codes.Has(err, codes.ParseError) {
		now, err = m.rebuild(err)
	}
	if err != nil {
		return err
	}
	m.now = now
	return nil
}

func (m *mending) rebuild(cause error) (*loaded, error) {
	h, err := m.store.readHistoryOf()
	if err != nil {
		return nil, err
	}
	rebuilt, ok := h.rebuild()
	if !ok && !m.store.untouched(h) {
		return nil, cause
	}
	m.did("rebuilt the state at revision %d from the journal", rebuilt.revision)
	if first, last := h.gap(rebuilt); first > 0 {
		m.did("what the operations from revision %d to %d changed, and no later one, is lost: the journal no longer holds them", first, last)
	}
	return &loaded{image: rebuilt, broken: true, tail: rebuilt.revision}, nil
}

// settle finishes what was left undone and puts a recovered state on disk.
func (m *mending) settle() error {
	s := m.store
	undone := len(s.undone(m.now.image.pending))
	shared := s.sharesBackup(m.now)
	unwritten := m.now.operation != nil && m.now.tail < m.now.revision
	if err := s.settle(m.now); err != nil {
		return err
	}
	if shared {
		m.did("made state and backup two files")
	}
	if undone > 0 {
		m.did("put %d files and folders of the last operation into place", undone)
	}
	if unwritten {
		m.did("added the last operation to the journal")
	}
	if !m.now.recovered() {
		return nil
	}
	if err := s.swap(m.now, m.now.image); err != nil {
		return err
	}
	m.did("wrote the state at revision %d", m.now.revision)
	return m.reload()
}

// reload reads the state that was just written.
func (m *mending) reload() error {
	now, err := m.store.load()
	if err == nil && !now.recovered() {
		m.now = now
		return m.store.writeFailed(m.store.disk.syncDir(m.store.Path(".")))
	}
	return err
}

// backup makes the backup whole and a file of its own.
func (m *mending) backup() error {
	s := m.store
	backup := s.readState(BackupFile)
	switch {
	case backup.err == nil:
		return nil
	case !backup.usable():
		return s.refuse(BackupFile, backup.err)
	}
	if exists(s.Path(BackupFile)) {
		if err := m.aside(BackupFile); err != nil {
			return err
		}
	}
	if err := s.copyBackup(m.now.data); err != nil {
		return err
	}
	m.did("made a new backup of the state")
	return s.writeFailed(s.disk.syncDir(s.Path(".")))
}

func (m *mending) aside(name string) error {
	to, err := m.store.moveAside(name)
	if err == nil && to != "" {
		m.did("moved %s aside to %s", m.store.rel(m.store.Path(name)), m.store.rel(to))
	}
	return err
}

// journal and archive that are no files are moved out of the way.
func (m *mending) journal() error { return m.onlyFile(JournalFile) }

func (m *mending) onlyFile(name string) error {
	info, err := os.Lstat(m.store.Path(name))
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	return m.aside(name)
}

// archive adds the records that the journal saw go there and that are gone.
func (m *mending) archive() error {
	s := m.store
	if err := m.onlyFile(ArchiveFile); err != nil {
		return err
	}
	h, err := s.readHistoryOf()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	if _, err := s.readArchive(func(a archived) { there[a.Record] = true }); err != nil {
		return err
	}
	lost := h.unarchived(there, m.now.records)
	if len(lost) == 0 {
		return nil
	}
	m.did("added %d records to the archive from the journal", len(lost))
	return s.appendArchive(lost, m.now.revision)
}

// folders makes the folders that threads lack.
func (m *mending) folders() error {
	w, err := m.store.openWork()
	if err != nil {
		return m.store.writeFailed(err)
	}
	defer w.close()
	for _, line := range m.now.records[thread.TableThreads] {
		name := ThreadsDir + "/" + line.ID
		if _, err := w.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) || !singleName(line.ID) {
			continue
		}
		if err := w.ensure(name); err != nil {
			return err
		}
		m.did("made the folder %s", shown(name))
	}
	return w.settle()
}

// baseline records every record where the journal lacks operations.
func (m *mending) baseline() error {
	h, err := m.store.readHistoryOf()
	if err != nil {
		return err
	}
	if first, _ := h.gap(m.now.image); first == 0 {
		return nil
	}
	st := m.store.state(m.now)
	after := next(m.call, st, Outcome{})
	after.operation.Baseline = true
	after.operation.RequestID = ""
	for _, table := range thread.Tables() {
		for _, line := range m.now.records[table] {
			change := thread.Change{Record: table + "/" + line.ID, Before: line.JSON, After: line.JSON}
			after.operation.Changes = append(after.operation.Changes, change)
		}
	}
	if _, err := m.store.commit(m.ctx, m.now, after); err != nil {
		return err
	}
	m.did("recorded all records at revision %d, from where the journal can rebuild the state", after.revision)
	return nil
}
