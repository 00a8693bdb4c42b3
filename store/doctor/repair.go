package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"leslie/codes"
	"leslie/internal/ledger"
	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/filework"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/state"
	"leslie/store/internal/statefile"
	"leslie/store/replica"
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
func (d Doctor) Repair(ctx context.Context, call store.Call) (Repair, error) {
	files := d.Store.Files()
	if err := files.RefuseForeign(); err != nil {
		return Repair{}, err
	}
	seen := newMemory()
	// Read what takes long before anybody has to wait.
	if _, err := d.examine(ctx, seen); err != nil && !codes.Has(err, codes.ParseError) {
		return Repair{}, err
	}
	w, err := files.Lock(ctx, call.Wait)
	if err != nil {
		return Repair{}, err
	}
	seen.locked = true
	m := &repairRun{Doctor: d, w: w, ctx: ctx, call: call, seen: seen}
	err = m.run()
	w.Unlock()
	if err != nil && len(m.actions) == 0 {
		return Repair{}, err
	}
	after, unread := d.Diagnose(ctx)
	r := Repair{Actions: m.actions, After: after, Warnings: m.warnings}
	if err == nil && m.failed != nil {
		w.DoneOrWarn(&r.Warnings, "mending it at first", m.failed)
	}
	return r, cmp.Or(err, unread)
}

// repairRun is one run of Repair.
type repairRun struct {
	Doctor
	w       *state.Writer
	ctx     context.Context
	call    store.Call
	seen    *memory
	actions []string
	// warnings are those of finishing what was pending and of operations of Repair's own.
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
		x, unread := m.examine(m.ctx, m.seen)
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
		if f.Path == x.files.Relative(x.Store.Path(store.StateFile)) && f.Repairable {
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
		first = cmp.Or(first, m.w.WriteFailed(f.repair(m)))
	}
	return first
}

// restoreState makes the state file whole, finishes the pending work of its operation, and
// removes what dead processes left.
func (m *repairRun) restoreState() error {
	s := m.w
	now, err := m.w.LoadToWrite()
	if codes.Has(err, codes.ParseError) {
		now, err = m.rebuild(err)
	}
	if err != nil {
		return err
	}
	undone := len(s.Undone(now))
	shared := s.SharesBackup(now)
	unwritten := now.Operation != nil && now.Tail < now.Revision
	if err := m.finishPending(now); err != nil {
		return err
	}
	if shared {
		m.did("separated state and backup")
	}
	if undone -= len(s.Undone(now)); undone > 0 {
		m.did("put %d files and folders of the last operation into place", undone)
	}
	if unwritten {
		m.did("added the last operation to the journal")
	}
	main := s.ReadState(store.StateFile)
	lost := now.Recovered() && (main.Err != nil || main.Revision != now.Revision)
	if !lost && !now.Requarantined() {
		return nil
	}
	if err := m.w.Swap(now, now.Image); err != nil {
		return err
	}
	if lost {
		m.did("wrote the state at revision %d", now.Revision)
	}
	return s.WriteFailed(s.SyncDir(s.Path(".")))
}

// finishPending is that of Store without the warnings of loading, which are findings.
func (m *repairRun) finishPending(now *state.Loaded) error {
	now.Warnings = nil
	err := m.w.FinishPending(now, "")
	m.warnings.Add(now.Warnings...)
	return err
}

// rebuild makes a state of the journal if neither file is whole.
func (m *repairRun) rebuild(cause error) (*state.Loaded, error) {
	x, broken, err := m.w.IndexJournal()
	if err != nil {
		return nil, err
	}
	rebuilt, err := m.w.Rebuild(x, broken)
	switch {
	case err != nil:
		return nil, err
	case rebuilt == nil:
		return nil, cause
	}
	m.did("rebuilt the state at revision %d from the journal", rebuilt.Revision)
	if first, last := x.Gap(rebuilt.Revision, rebuilt.Operation); first > 0 {
		m.did("the changes of %s are lost: the journal no longer has them", state.OperationsOf(first, last))
	}
	return rebuilt, nil
}

// current is the state on disk, whole, with nothing pending. Errors: T502 if it is not whole,
// T505, T509.
func (m *repairRun) current() (*state.Loaded, error) {
	now, err := m.w.LoadToWrite()
	if err != nil {
		return nil, err
	}
	return now, m.finishPending(now)
}

// backup makes a new backup of the state; one that cannot be used is moved aside.
func (m *repairRun) backup() error {
	s := m.w
	now, err := m.current()
	if err != nil {
		return err
	}
	if s.ReadState(store.BackupFile).Err == nil {
		return nil // the state was just recovered, and a backup came with it
	}
	data, err := now.Image.Encode()
	if err != nil {
		return err
	}
	if err := m.aside(store.BackupFile); err != nil {
		return err
	}
	if err := s.Replace(store.BackupFile, data); err != nil {
		return err
	}
	m.did("made a new backup of the state")
	return s.WriteFailed(s.SyncDir(s.Path(".")))
}

// aside moves something out of the way, if it is there.
func (m *repairRun) aside(name string) error {
	to, err := m.w.SetAside(name)
	if err != nil || to == "" {
		return err
	}
	m.did("moved %s aside to %s", m.w.Relative(m.Store.Path(name)), m.w.Relative(to))
	return m.w.WriteFailed(m.w.SyncDir(filepath.Dir(to)))
}

// keepBeside gives a file that is going to be replaced a second name, under which
// it stays.
func (m *repairRun) keepBeside(name string) error {
	s := m.w
	if !saferoot.Exists(s.Path(name)) {
		return nil
	}
	to := s.AsideName(name)
	if err := s.Link(s.Path(name), to); err != nil {
		data, _, err := saferoot.ReadRegular(s.Path(name))
		if err != nil {
			return s.ReadFailed(err)
		}
		c := s.NewFile(name, data)
		c.Path = to
		if err := s.ReplaceWith(c); err != nil {
			return s.WriteFailed(err)
		}
	}
	m.did("kept %s as %s", s.Relative(s.Path(name)), s.Relative(to))
	return nil
}

// journal moves what is no file out of the journal's way.
func (m *repairRun) journal() error { return m.onlyFile(store.JournalFile) }

func (m *repairRun) onlyFile(name string) error {
	if !saferoot.Irregular(m.Store.Path(name)) {
		return nil
	}
	return m.aside(name)
}

// archive adds the lines that the journal has and the archive lacks.
func (m *repairRun) archive() error {
	if err := m.onlyFile(store.ArchiveFile); err != nil {
		return err
	}
	now, err := m.current()
	if err != nil {
		return err
	}
	all, _, err := m.w.CompareArchive(now, m.unmoved)
	if err != nil || len(all.Missing) == 0 {
		return err
	}
	if err := m.w.AppendArchive(all.Missing); err != nil {
		return err
	}
	m.did("added %d records to the archive from the journal", len(all.Missing))
	return nil
}

// unmoved: under the lock no state moves on.
func (m *repairRun) unmoved() bool { return false }

// counters raises what objectives count to what the archive has.
func (m *repairRun) counters() error {
	now, err := m.current()
	if err != nil {
		return err
	}
	gone, err := m.w.Archived(now, thread.TableThreads)
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
	st := m.w.State(now)
	for o := range st.Objectives.All() {
		if o.Archived < counts[o.ID] {
			o.Archived = counts[o.ID]
			st.Objectives.Put(o)
		}
	}
	if len(st.Changes()) == 0 {
		return nil
	}
	after, err := m.commit(now, m.operation().Image(st, store.Outcome{}))
	if err == nil {
		m.did("counted archived threads again at revision %d", after.Revision)
	}
	return err
}

// baseline records every record, including the archive's, if the journal could not
// restore them. It uses a number that no operation had before, so that operations
// known to the journal whose state is lost stay distinguishable.
func (m *repairRun) baseline() error {
	s := m.w
	now, err := m.current()
	if err != nil {
		return err
	}
	x, _, err := s.IndexJournal()
	if err != nil {
		return err
	}
	all, _, err := s.CompareArchive(now, m.unmoved)
	if err != nil {
		return err
	}
	first, _ := x.Gap(now.Revision, now.Operation)
	differing, err := s.Contradicted(x, now.Image)
	torn := x.Torn && x.Last() == now.Revision
	if err != nil || first == 0 && len(differing) == 0 && len(all.Unjournaled) == 0 && !torn {
		return err
	}
	if m.Store.Link() != nil {
		return m.journalFromLog()
	}
	now.Image.Revision = max(now.Image.Revision, x.Newest)
	if torn {
		now.Image.Revision++
	}
	after := m.operation().Image(s.State(now), store.Outcome{})
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
	return m.w.Record(line, nil)
}

// journalFromLog writes the journal of a connected project again, as the log has it.
func (m *repairRun) journalFromLog() error {
	s := m.w
	in := m.Store.Link().Reader(m.ctx, nil, 0)
	var text []byte
	var last thread.Revision
	err := m.Store.Link().Ledger.After(m.ctx, 0, func(line ledger.Line) error {
		e, err := in.Read(line)
		if err != nil {
			return err
		}
		e.Pending, last = nil, e.Seq
		own, err := (&journal.Operation{Entry: e}).Line(nil)
		text = append(append(text, own...), '\n')
		return err
	})
	if err != nil {
		return replica.Error(m.ctx, err, "")
	}
	if _, err := s.SetAside(store.JournalFile); err != nil {
		return err
	}
	if err := s.Replace(store.JournalFile, text); err != nil {
		return err
	}
	m.did("wrote the journal again, as the remote has it, up to revision %d", last)
	return s.WriteFailed(s.SyncDir(s.Path(".")))
}

// operation is the call under an id of its own: a run may make several operations.
func (m *repairRun) operation() store.Call {
	call := m.call
	call.Request = ""
	if m.operations > 0 {
		call.Stamp.Operation += thread.OperationID(fmt.Sprintf("-%d", m.operations+1))
	}
	return call
}

// commit makes an operation of Repair's own.
func (m *repairRun) commit(now *state.Loaded, after statefile.Image) (statefile.Image, error) {
	notes, err := m.w.Commit(m.ctx, now, after, m.Store.Link().Announce)
	if err != nil {
		return after, err
	}
	m.warnings.Add(notes...)
	m.operations++
	return after, nil
}

// collect removes blobs that nothing names. If the journal lacks operations, all blobs stay: they
// may have named any of them.
func (m *repairRun) collect() error {
	x, _, err := m.w.IndexJournal()
	if err != nil || !x.Complete() {
		return err
	}
	c := content.Collection{
		Disk: m.w.Disk, Lists: []string{".", store.RequestsDir}, Staging: func() bool { return filework.Staging(m.w.Disk) },
	}
	removed, size, err := c.Run(m.ctx)
	if err == nil && removed > 0 {
		m.did("removed %d blobs that nothing names (%.1f MB)", removed, float64(size)/1e6)
	}
	return err
}
