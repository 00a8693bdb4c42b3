package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/thread"
)

// This file looks for what is wrong and names it. It takes no lock and writes
// nothing; repair.go mends.

// Finding is one thing that doctor has to say.
type Finding struct {
	Code       string `json:"code"` // the T or W code that stands for it
	Path       string `json:"path"`
	Message    string `json:"message"`
	Repairable bool   `json:"repairable"`
	// Info: nothing is wrong, but somebody ought to know.
	Info bool `json:"info,omitempty"`
}

// Diagnosis is what doctor found.
type Diagnosis struct {
	// Healthy: every finding is for information.
	Healthy  bool
	Findings []Finding
}

// Diagnose checks the state, its backup, the journal, the archive, pending work,
// the threads' folders, the ties between records, and the blobs that they name.
//
// A writer at work looks, for a moment, like one that died: so what is found to
// be wrong is looked for once more a little later.
//
// Errors: T502 when neither state nor backup can be read, beside a Diagnosis of
// what can still be checked; T506, T509, T904.
func (s *Store) Diagnose(ctx context.Context) (Diagnosis, error) {
	d, err := s.examine(ctx)
	if err != nil || d.Healthy {
		return d, err
	}
	if sleep(ctx, secondLook) != nil {
		return d, stopped(ctx)
	}
	return s.examine(ctx)
}

const secondLook = 50 * time.Millisecond

func (s *Store) examine(ctx context.Context) (Diagnosis, error) {
	now, err := s.load()
	if err != nil && !codes.Has(err, codes.ParseError) {
		return Diagnosis{}, err
	}
	x := &examination{store: s, now: now, unreadable: now == nil}
	for _, check := range []func() error{
		x.state, x.backup, x.journal, x.archive, x.pending, x.folders, x.ties, x.strangers,
		func() error { return x.blobs(ctx) },
	} {
		if err := check(); err != nil {
			return Diagnosis{}, err
		}
	}
	return x.result(), err
}

// examination is one run of doctor. now is nil when neither file is whole: then
// the checks that need records have nothing to say.
type examination struct {
	store      *Store
	now        *loaded
	unreadable bool
	findings   []Finding

	history  history
	archived map[string]bool // TABLE/ID of what the archive holds
}

func (x *examination) result() Diagnosis {
	d := Diagnosis{Healthy: true, Findings: x.findings}
	for _, f := range x.findings {
		d.Healthy = d.Healthy && f.Info
	}
	return d
}

// The three kinds of findings.
func (x *examination) mendable(code, name, message string) { x.add(code, name, message, true, false) }
func (x *examination) lasting(code, name, message string)  { x.add(code, name, message, false, false) }
func (x *examination) note(code, name, message string)     { x.add(code, name, message, false, true) }

func (x *examination) add(code, name, message string, repairable, info bool) {
	path := x.store.rel(x.store.Path(name))
	x.findings = append(x.findings, Finding{Code: code, Path: path, Message: message, Repairable: repairable, Info: info})
}

func (x *examination) state() error {
	main := x.store.readState(StateFile)
	switch {
	case x.unreadable:
		x.add("T502", StateFile, main.reason(), x.store.rebuildable(), false)
	case main.err != nil || x.now.recovered():
		x.mendable("W502", StateFile, fmt.Sprintf("%s; the backup and the journal give revision %d", main.reason(), x.now.revision))
	}
	return nil
}

func (x *examination) backup() error {
	backup := x.store.readState(BackupFile)
	switch {
	case !backup.usable():
		x.lasting("T509", BackupFile, backup.reason())
	case backup.err != nil && x.unreadable:
		x.add("T502", BackupFile, backup.reason(), x.store.rebuildable(), false)
	case backup.err != nil:
		x.mendable("W502", BackupFile, "the backup cannot be used: "+backup.reason())
	case x.now != nil && x.store.sharesBackup(x.now):
		x.mendable("W505", BackupFile, "the backup is the same file as the state: one stray write would damage both")
	}
	return nil
}

func (x *examination) journal() error {
	h, err := x.store.readHistoryOf()
	if err != nil {
		return err
	}
	x.history = h
	if h.broken != "" {
		x.mendable("T502", JournalFile, h.broken)
	}
	if h.bad > 0 {
		x.note("T502", JournalFile, fmt.Sprintf("%d damaged lines are skipped", h.bad))
	}
	if x.now == nil {
		return nil
	}
	if first, last := h.gap(x.now.image); first > 0 {
		x.mendable("T502", JournalFile, fmt.Sprintf("the operations from revision %d to %d are missing", first, last))
	}
	return nil
}

func (x *examination) archive() error {
	x.archived = map[string]bool{}
	bad, err := x.store.readArchive(func(a archived) { x.archived[a.Record] = true })
	if err != nil {
		return err
	}
	if bad > 0 {
		x.note("T502", ArchiveFile, fmt.Sprintf("%d damaged lines are skipped", bad))
	}
	if x.now == nil {
		return nil
	}
	if lost := x.history.unarchived(x.archived, x.now.records); len(lost) > 0 {
		x.mendable("T502", ArchiveFile, fmt.Sprintf("%d records are missing, among them %s", len(lost), lost[0].Record))
	}
	return nil
}

func (x *examination) pending() error {
	if x.now == nil {
		return nil
	}
	for _, step := range x.store.undone(x.now.image.pending) {
		x.mendable("W505", step.To, "the last operation has not put this into place yet ("+string(step.Do)+")")
	}
	if op := x.now.operation; op != nil && x.now.tail < x.now.revision {
		x.note("W505", JournalFile, "the last operation is not in the journal yet; the next write adds it")
	}
	return nil
}

// folders compares the threads' records with their folders.
func (x *examination) folders() error {
	if x.now == nil {
		return nil
	}
	known := map[string]bool{}
	for _, line := range x.now.records[thread.TableThreads] {
		known[line.ID] = true
		if info, err := os.Lstat(x.store.Path(ThreadsDir + "/" + line.ID)); errors.Is(err, fs.ErrNotExist) {
			x.mendable("T202", ThreadsDir+"/"+line.ID, "the thread has no folder")
		} else if err == nil && !info.IsDir() {
			x.lasting("T507", ThreadsDir+"/"+line.ID, "the thread's folder is something else")
		}
	}
	entries, err := os.ReadDir(x.store.Path(ThreadsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return x.store.readFailed(err)
	}
	for _, e := range entries {
		if !known[e.Name()] && !x.archived[thread.TableThreads+"/"+e.Name()] {
			x.note("T101", ThreadsDir+"/"+e.Name(), "no thread has this folder")
		}
	}
	return nil
}

// ties looks for records that name others that are neither live nor archived.
func (x *examination) ties() error {
	if x.now == nil {
		return nil
	}
	st := x.store.state(x.now)
	there := func(table, id string) bool {
		return holds(x.now.records[table], id) || x.archived[table+"/"+id]
	}
	for t := range st.Threads.All() {
		at := ThreadsDir + "/" + string(t.ID)
		if t.ParentID != "" && !there(thread.TableThreads, string(t.ParentID)) {
			x.lasting("T101", at, "its parent '"+string(t.ParentID)+"' does not exist")
		}
		for _, id := range t.DependsOn {
			if !there(thread.TableThreads, string(id)) {
				x.lasting("T101", at, "it depends on '"+string(id)+"', which does not exist")
			}
		}
		if !there(thread.TableObjectives, string(t.ObjectiveID)) {
			x.lasting("T601", at, "its objective '"+string(t.ObjectiveID)+"' does not exist")
		}
	}
	for r := range st.References.All() {
		if !there(thread.TableThreads, string(r.From)) {
			x.lasting("T101", StateFile, "the reference '"+string(r.ID)+"' comes from '"+string(r.From)+"', which does not exist")
		}
		if r.Resolved && !there(thread.TableThreads, string(r.Target)) {
			x.lasting("T202", StateFile, "the target '"+string(r.Target)+"' of the reference '"+string(r.ID)+"' does not exist")
		}
	}
	return nil
}

// strangers names what was set aside and what is not the store's own.
func (x *examination) strangers() error {
	entries, err := os.ReadDir(x.store.Path("."))
	if err != nil {
		return x.store.readFailed(err)
	}
	for _, e := range entries {
		name := e.Name()
		folder := slices.Contains([]string{ThreadsDir, RequestsDir, TmpDir, BlobsDir, MergesDir, LogsDir}, name)
		file := slices.Contains([]string{StateFile, BackupFile, LockFile, JournalFile, ArchiveFile, ConfigFile, ".gitignore"}, name)
		switch {
		case strings.Contains(name, asideMark):
			x.note("W502", name, "it was not whole and was moved aside; remove it when nobody needs it")
		case slices.Contains(temporary(), name):
			x.note("W505", name, "a write is going on, or was cut off; the next write removes it")
		case folder && !e.IsDir():
			x.lasting("T507", name, "it should be a folder")
		case !folder && !file:
			x.note("W204", name, "it is not leslie's")
		}
	}
	return nil
}

// blobs reads every blob that a record names, and those that its manifest names.
func (x *examination) blobs(ctx context.Context) error {
	if x.now == nil {
		return nil
	}
	seen := map[thread.BlobID]bool{}
	st := x.store.state(x.now)
	for t := range st.Threads.All() {
		for _, share := range t.Shared {
			if err := x.manifest(ctx, seen, share.Manifest, "what thread '"+string(t.ID)+"' shares with '"+string(share.With)+"'"); err != nil {
				return err
			}
		}
	}
	for r := range st.References.All() {
		if err := x.manifest(ctx, seen, r.Manifest, "the reference '"+string(r.ID)+"'"); err != nil {
			return err
		}
	}
	return nil
}

func (x *examination) manifest(ctx context.Context, seen map[thread.BlobID]bool, id thread.BlobID, of string) error {
	if id == "" || seen[id] {
		return nil
	}
	seen[id] = true
	m, err := x.store.Manifest(id)
	if err != nil {
		x.lasting("T202", blobPath(id), "the list of files of "+of+" is missing or damaged")
		return nil
	}
	for _, f := range m {
		if err := stopped(ctx); err != nil {
			return err
		}
		if seen[f.SHA256] {
			continue
		}
		seen[f.SHA256] = true
		if err := x.store.CheckBlob(f.SHA256); err != nil {
			x.lasting("T202", blobPath(f.SHA256), "the content of '"+f.Path+"' of "+of+" is missing or damaged")
		}
	}
	return nil
}
