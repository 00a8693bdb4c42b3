package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"leslie/codes"
	"leslie/internal/ledger"
	"leslie/store/internal/content"
	"leslie/store/internal/filework"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/statefile"
	"leslie/thread"
	"leslie/warnings"
)

// This file repairs what doctor finds, as far as backup, journal, blobs and copies can
// restore it. It moves damaged files aside and deletes nothing, and it never loses
// what was readable before: every repair succeeds or leaves what it found, and can be
// repeated after a crash at any moment.

// Repair says what was repaired and how the store is afterwards.
type Repair struct {
	Actions []string
	After   Diagnosis
	// Warnings has W505 for repairs that were made but may not be durable, also if one
	// failed and a later look found nothing left to do.
	Warnings warnings.List
}

// rounds is how often Repair looks again, because a repair can reveal other findings.
const rounds = 4

// Repair repairs the store under its lock. If the journal lost operations, call is
// recorded as an operation that names every record, so that the state can be rebuilt
// from the journal again.
//
// Errors: T501, T506, T509, T904; T502 if the journal cannot restore a state either,
// and then nothing was touched. T505, T507 and others say which repair failed last;
// the returned Repair has what was done anyway.
func (s *Store) Repair(ctx context.Context, call Call) (Repair, error) {
	if err := s.refuseForeign(); err != nil {
		return Repair{}, err
	}
	seen := newMemory()
	// Read what takes long before anybody has to wait.
	if _, err := s.examine(ctx, seen); err != nil && !codes.Has(err, codes.ParseError) {
		return Repair{}, err
	}
	unlock, err := s.lock(ctx, call.Wait)
	if err != nil {
		return Repair{}, err
	}
	seen.locked = true
	m := &repairRun{store: s, ctx: ctx, call: call, seen: seen}
	err = m.run()
	unlock()
	if err != nil && len(m.actions) == 0 {
		return Repair{}, err
	}
	after, unread := s.Diagnose(ctx)
	r := Repair{Actions: m.actions, After: after, Warnings: m.warnings}
	if err == nil && m.failed != nil {
		s.settled(&r.Warnings, "mending it at first", m.failed)
	}
	return r, cmp.Or(err, unread)
}

// repairRun is one run of Repair.
type repairRun struct {
	store   *Store
	ctx     context.Context
	call    Call
	seen    *memory
	actions []string
	// warnings are those of settling and of operations of Repair's own.
	warnings   warnings.List
	operations int   // operations
	failed     error // of a repair, the last
}

func (m *repairRun) did(format string, args ...any) {
	m.actions = append(m.actions, fmt.Sprintf(format, args...))
}

// run checks and repairs until a check finds nothing that a repair could change.
func (m *repairRun) run() (err error) {
	for range rounds {
		x, unread := m.store.examine(m.ctx, m.seen)
		if unread != nil && !x.rebuildable(unread) {
			return unread
		}
		before := len(m.actions)
		err = m.repair(x.findings)
		m.failed = cmp.Or(err, m.failed)
		if len(m.actions) == before && err == nil && x.complete() {
			return m.collect()
		}
		if len(m.actions) == before || codes.Has(err, codes.Interrupted) {
			return err
		}
	}
	return err
}

// complete reports whether nothing of the store is damaged, missing, or unknown.
func (x *examination) complete() bool {
	return x.now != nil && !x.noJournal && !x.noArchive && !slices.ContainsFunc(x.findings, func(f finding) bool { return !f.Info })
}

// rebuildable reports whether an unreadable store can be rebuilt. Without that
// nothing is touched.
func (x *examination) rebuildable(err error) bool {
	for _, f := range x.findings {
		if f.Path == x.store.disk.Relative(x.store.Path(StateFile)) && f.Repairable {
			return codes.Has(err, codes.ParseError)
		}
	}
	return false
}

// repair carries out the repairs of findings. A failed one does not prevent the others.
// Errors: the first.
func (m *repairRun) repair(findings []finding) (first error) {
	for _, f := range findings {
		if f.repair == nil {
			continue
		}
		if err := saferoot.Stopped(m.ctx); err != nil {
			return err
		}
		first = cmp.Or(first, m.store.disk.WriteFailed(f.repair(m)))
	}
	return first
}

// settle makes the state file whole, finishes the pending work of its operation, and
// removes what dead processes left.
func (m *repairRun) settle() error {
	s := m.store
	now, err := s.loadToWrite()
	if codes.Has(err, codes.ParseError) {
		now, err = m.rebuild(err)
	}
	if err != nil {
		return err
	}
	undone := len(s.undoneOf(now))
	shared := s.sharesBackup(now)
	unwritten := now.Operation != nil && now.tail < now.Revision
	if err := m.finish(now); err != nil {
		return err
	}
	if shared {
		m.did("separated state and backup")
	}
	if undone -= len(s.undoneOf(now)); undone > 0 {
		m.did("put %d files and folders of the last operation into place", undone)
	}
	if unwritten {
		m.did("added the last operation to the journal")
	}
	main := s.readState(StateFile)
	lost := now.recovered() && (main.err != nil || main.Revision != now.Revision)
	if !lost && !now.requarantined {
		return nil
	}
	if err := s.swap(now, now.Image); err != nil {
		return err
	}
	if lost {
		m.did("wrote the state at revision %d", now.Revision)
	}
	return s.disk.WriteFailed(s.disk.SyncDir(s.Path(".")))
}

// finish is Store.settle without the warnings of loading, which are findings.
func (m *repairRun) finish(now *loaded) error {
	now.warnings = nil
	err := m.store.settle(now, "")
	m.warnings.Add(now.warnings...)
	return err
}

// rebuild makes a state of the journal if neither file is whole.
func (m *repairRun) rebuild(cause error) (*loaded, error) {
	x, broken, err := m.store.indexJournal()
	if err != nil {
		return nil, err
	}
	rebuilt, ok, err := m.store.rebuild(x)
	switch {
	case err != nil:
		return nil, err
	case !ok && !m.store.unused(x, broken):
		return nil, cause
	}
	m.did("rebuilt the state at revision %d from the journal", rebuilt.Revision)
	if first, last := x.Gap(rebuilt.Revision, rebuilt.Operation); first > 0 {
		m.did("the changes of %s are lost: the journal no longer has them", operations(first, last))
	}
	return &loaded{Image: rebuilt, broken: true, tail: rebuilt.Revision}, nil
}

// current is the state on disk, whole and settled. Errors: T502 if it is not whole,
// T505, T509.
func (m *repairRun) current() (*loaded, error) {
	now, err := m.store.loadToWrite()
	if err != nil {
		return nil, err
	}
	return now, m.finish(now)
}

// backup makes a new backup of the state; one that cannot be used is moved aside.
func (m *repairRun) backup() error {
	s := m.store
	now, err := m.current()
	if err != nil {
		return err
	}
	if s.readState(BackupFile).err == nil {
		return nil // the state was just recovered, and a backup came with it
	}
	data, err := now.Image.Encode()
	if err != nil {
		return err
	}
	if err := m.aside(BackupFile); err != nil {
		return err
	}
	if err := s.disk.Replace(BackupFile, data); err != nil {
		return err
	}
	m.did("made a new backup of the state")
	return s.disk.WriteFailed(s.disk.SyncDir(s.Path(".")))
}

// aside moves something out of the way, if it is there.
func (m *repairRun) aside(name string) error {
	to, err := m.store.disk.SetAside(name)
	if err != nil || to == "" {
		return err
	}
	m.did("moved %s aside to %s", m.store.disk.Relative(m.store.Path(name)), m.store.disk.Relative(to))
	return m.store.disk.WriteFailed(m.store.disk.SyncDir(filepath.Dir(to)))
}

// keepBeside gives a file that is going to be replaced a second name, under which
// it stays.
func (m *repairRun) keepBeside(name string) error {
	s := m.store
	if !exists(s.Path(name)) {
		return nil
	}
	to := s.disk.AsideName(name)
	if err := s.disk.Link(s.Path(name), to); err != nil {
		data, _, err := saferoot.ReadRegular(s.Path(name))
		if err != nil {
			return s.disk.ReadFailed(err)
		}
		c := s.disk.NewFile(name, data)
		c.Path = to
		if err := s.disk.ReplaceWith(c); err != nil {
			return s.disk.WriteFailed(err)
		}
	}
	m.did("kept %s as %s", s.disk.Relative(s.Path(name)), s.disk.Relative(to))
	return nil
}

// journal moves what is no file out of the journal's way.
func (m *repairRun) journal() error { return m.onlyFile(JournalFile) }

func (m *repairRun) onlyFile(name string) error {
	if !m.store.irregular(name) {
		return nil
	}
	return m.aside(name)
}

// archive adds the lines that the journal has and the archive lacks.
func (m *repairRun) archive() error {
	if err := m.onlyFile(ArchiveFile); err != nil {
		return err
	}
	now, err := m.current()
	if err != nil {
		return err
	}
	all, _, err := m.store.compareArchive(now, m.unmoved)
	if err != nil || len(all.Missing) == 0 {
		return err
	}
	if err := m.store.appendArchive(all.Missing); err != nil {
		return err
	}
	m.did("added %d records to the archive from the journal", len(all.Missing))
	return nil
}

// unmoved: under the lock no state moves on.
func (m *repairRun) unmoved() bool { return false }

// folders creates the folders that threads lack, also archived ones.
func (m *repairRun) folders() error {
	now, err := m.current()
	if err != nil {
		return err
	}
	ids := []string{}
	for _, line := range now.Records[thread.TableThreads] {
		ids = append(ids, line.ID)
	}
	gone, err := (&archiveSource{store: m.store, now: now}).Archived(thread.TableThreads)
	if err != nil {
		return err
	}
	for _, line := range gone {
		ids = append(ids, line.ID)
	}
	w, err := m.store.disk.Open()
	if err != nil {
		return m.store.disk.WriteFailed(err)
	}
	defer w.Close()
	for _, id := range ids {
		name := ThreadsDir + "/" + id
		if _, err := w.Lstat(name); !errors.Is(err, fs.ErrNotExist) || !saferoot.SingleName(id) {
			continue
		}
		if err := w.Ensure(name); err != nil {
			return err
		}
		m.did("made the folder %s", saferoot.Shown(name))
	}
	return w.Sync()
}

// counters raises what objectives count to what the archive has.
func (m *repairRun) counters() error {
	now, err := m.current()
	if err != nil {
		return err
	}
	gone, err := (&archiveSource{store: m.store, now: now}).Archived(thread.TableThreads)
	if err != nil {
		return err
	}
	counts := map[thread.ObjectiveID]int{}
	for _, line := range gone {
		var t thread.Thread
		if json.Unmarshal(line.JSON, &t) == nil {
			counts[t.ObjectiveID]++
		}
	}
	st := m.store.state(now)
	for o := range st.Objectives.All() {
		if o.Archived < counts[o.ID] {
			o.Archived = counts[o.ID]
			st.Objectives.Put(o)
		}
	}
	if len(st.Changes()) == 0 {
		return nil
	}
	after, err := m.commit(now, next(m.operation(), st, Outcome{}))
	if err == nil {
		m.did("counted archived threads again at revision %d", after.Revision)
	}
	return err
}

// baseline records every record, including the archive's, if the journal could not
// restore them. It uses a number that no operation had before, so that operations
// known to the journal whose state is lost stay distinguishable.
func (m *repairRun) baseline() error {
	s := m.store
	now, err := m.current()
	if err != nil {
		return err
	}
	x, _, err := s.indexJournal()
	if err != nil {
		return err
	}
	all, _, err := s.compareArchive(now, m.unmoved)
	if err != nil {
		return err
	}
	first, _ := x.Gap(now.Revision, now.Operation)
	differing, err := s.contradicted(x, now.Image)
	torn := x.Torn && x.Last() == now.Revision
	if err != nil || first == 0 && len(differing) == 0 && len(all.Unjournaled) == 0 && !torn {
		return err
	}
	if s.opts.Link != nil {
		return m.journalFromLog()
	}
	now.Image.Revision = max(now.Image.Revision, x.Newest)
	if torn {
		now.Image.Revision++
	}
	after := next(m.operation(), s.state(now), Outcome{})
	after.Operation.Baseline = true
	for _, table := range thread.Tables() {
		for _, line := range now.Records[table] {
			change := thread.Change{Record: table + "/" + line.ID, Before: line.JSON, After: line.JSON}
			after.Operation.Changes = append(after.Operation.Changes, change)
		}
	}
	if after, err = m.commit(now, after); err != nil {
		return err
	}
	m.did("recorded all records at revision %d, from where the journal can rebuild the state", after.Revision)
	if len(all.Counting) == 0 {
		return nil
	}
	// The line once more, with the archive's own: the state need not carry them.
	line := &journal.Operation{Entry: after.Operation.Entry, Held: after.Operation.Held}
	line.Archive = all.Counting
	return s.record(line, nil)
}

// journalFromLog writes the journal of a connected project again, as the log has it.
func (m *repairRun) journalFromLog() error {
	s := m.store
	in := logReader{store: s, ctx: m.ctx}
	in.chain, _ = s.chainOf(nil)
	var text []byte
	err := s.opts.Link.Ledger.After(m.ctx, 0, func(line ledger.Line) error {
		e, err := in.read(line)
		if err != nil {
			return err
		}
		e.Pending = nil
		own, err := (&journal.Operation{Entry: e}).Line(nil)
		text = append(append(text, own...), '\n')
		return err
	})
	if err != nil {
		return remoteError(m.ctx, err, "")
	}
	if _, err := s.disk.SetAside(JournalFile); err != nil {
		return err
	}
	if err := s.disk.Replace(JournalFile, text); err != nil {
		return err
	}
	m.did("wrote the journal again, as the remote has it, up to revision %d", in.seq)
	return s.disk.WriteFailed(s.disk.SyncDir(s.Path(".")))
}

// operation is the call under an id of its own: a run may make several operations.
func (m *repairRun) operation() Call {
	call := m.call
	call.Request = ""
	if m.operations > 0 {
		call.Stamp.Operation += thread.OperationID(fmt.Sprintf("-%d", m.operations+1))
	}
	return call
}

// commit makes an operation of Repair's own.
func (m *repairRun) commit(now *loaded, after statefile.Image) (statefile.Image, error) {
	c, err := m.store.commit(m.ctx, now, after, m.store.announce)
	if err != nil {
		return after, err
	}
	m.warnings.Add(c.Warnings...)
	m.operations++
	return after, nil
}

// collect removes blobs that nothing names. What was stored before the store had this
// version stays, because what was displaced then is named nowhere. If the journal lacks
// operations, all blobs stay: they may have named any of them.
func (m *repairRun) collect() error {
	x, _, err := m.store.indexJournal()
	if err != nil || !x.Complete() {
		return err
	}
	c := content.Collection{
		Disk: m.store.disk, Lists: []string{".", RequestsDir}, Older: UpgradedFile, Staging: func() bool { return filework.Staging(m.store.disk) },
	}
	removed, size, err := c.Run(m.ctx)
	if err == nil && removed > 0 {
		m.did("removed %d blobs that nothing names (%.1f MB)", removed, float64(size)/1e6)
	}
	return err
}
