package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/store/internal/content"
	"leslie/store/internal/filework"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/store/internal/state"
	"leslie/store/replica"
	"leslie/thread"
	"leslie/warnings"
)

// This file brings the files of threads to this machine that others have published, when
// somebody looks at them. The list of what this machine published or fetched last (listOf)
// tells what was changed here since: that is never overwritten. Where others have changed
// the same file, the two are merged as leslie merge does, from what both had; where that
// has a conflict, their version is put beside this one.

// fetchBlob returns content that this machine does not have, and keeps it.
func (s *Store) fetchBlob(sum string) ([]byte, error) {
	if s.opts.Link.Offline {
		return nil, replica.Error(s.opts.Context, replica.Offline{}, "")
	}
	ctx, cancel := context.WithTimeout(s.opts.Context, replica.BlobFor)
	defer cancel()
	data, err := s.opts.Link.Ledger.GetBlob(ctx, sum)
	if errors.Is(err, ledger.ErrMissing) { // and it is not here
		return nil, codes.RemoteDamaged.Wrap(fs.ErrNotExist, fact.Of("reason", "no server has the content "+sum))
	}
	if err != nil {
		return nil, replica.Error(ctx, err, "")
	}
	_ = content.Store(s.disk, data) // else it is fetched again
	return data, nil
}

// Fetch brings the published files of these threads here, and the frozen copies of their
// references. Files that were changed here as well are merged (W518), or stay beside the
// version of the others (W509). Without a connection to other machines it does nothing.
// Errors: T501, T502, T505, T507, T509, T510, T904.
func (s *Store) Fetch(ctx context.Context, wait Wait, ids ...thread.ThreadID) (notes warnings.List, err error) {
	if s.opts.Link == nil {
		return nil, nil
	}
	now, err := s.files.Load()
	if err != nil {
		return nil, err
	}
	lacking := func(id thread.ThreadID) bool {
		_, lacks, err := s.lacking(now, id)
		return lacks && err == nil
	}
	if ids = slices.DeleteFunc(slices.Clone(ids), func(id thread.ThreadID) bool { return !lacking(id) }); len(ids) == 0 {
		return nil, nil
	}
	now, w, err := s.files.BeginWrite(ctx, wait, "")
	if err != nil {
		return nil, err
	}
	defer w.Unlock()
	for _, id := range ids {
		_, more, err := s.fetchFiles(ctx, now, id)
		if err != nil {
			return notes, err
		}
		notes.Add(more...)
	}
	return notes, nil
}

// wanted is what a thread's folder should get.
type wanted struct {
	have, want content.Manifest
	files      bool // want is another list than have
	copies     []thread.Reference
}

// lacking reports whether a thread's folder lacks what others published, or a frozen copy.
func (s *Store) lacking(now *state.Loaded, id thread.ThreadID) (w wanted, lacks bool, err error) {
	line, there := thread.LineOf(now.Records[thread.TableThreads], string(id))
	if !there || !saferoot.SingleName(string(id)) {
		return w, false, nil
	}
	st := s.files.State(now)
	t, _ := st.Threads.Peek(line.ID)
	if t.Published != nil {
		have, name, err := s.PublishedList(id)
		if err != nil {
			return w, false, err
		}
		w.have, w.files = have, name != t.Published.Manifest
	}
	for _, ref := range st.ReferencesFrom(id) {
		if ref.Manifest != "" && !saferoot.Exists(s.Path(scan.Place(id, path.Join(InheritedDir, string(ref.ID))))) {
			w.copies = append(w.copies, ref)
		}
	}
	return w, w.files || len(w.copies) > 0, nil
}

// fetchFiles brings a thread's files and frozen copies here; the notes name files that were
// changed here too. The caller holds the lock. Errors: T505, T507, T509, T510.
func (s *Store) fetchFiles(ctx context.Context, now *state.Loaded, id thread.ThreadID) (fetched bool, notes warnings.List, err error) {
	w, lacks, err := s.lacking(now, id)
	if !lacks || err != nil {
		return false, nil, err
	}
	_, known := thread.LineOf(now.Kept().Records[thread.TableThreads], string(id))
	if known && !saferoot.Exists(s.Path(scan.Place(id, ""))) {
		return false, nil, nil // a part of its files would say that the others were deleted
	}
	t, _ := s.files.State(now).Threads.Peek(string(id))
	name := "files"
	if w.files {
		if w.want, err = s.Manifest(t.Published.Manifest); err != nil {
			return false, nil, err
		}
		name = string(t.Published.Manifest[:8])
	}
	stage, err := s.Stage(thread.OperationID(remoteMark + name))
	if err != nil {
		return false, nil, err
	}
	defer func() { _ = stage.Discard() }()
	f := fetching{store: s, ctx: ctx, stage: stage, id: id}
	if !known { // its beginning is in memory only
		f.steps = append(f.steps, thread.Step{Do: thread.StepMakeDir, To: scan.Place(id, "")})
	}
	if err := f.plan(w); err != nil {
		return false, nil, err
	}
	if err := stage.Sync(); err != nil {
		return false, nil, err
	}
	if err := f.carryOut(); err != nil {
		return false, nil, err
	}
	if w.files {
		err = replica.KeepList(s.disk, id, w.want)
	}
	return true, f.notes(), err
}

// fetching is the file work of bringing one thread's files here.
type fetching struct {
	store *Store
	ctx   context.Context
	stage *Stage
	id    thread.ThreadID
	steps []thread.Step
	// kept and merged are files that were changed here and elsewhere, back those that were deleted on one side and changed on
	// the other.
	kept, merged, back []string
}

// notes says what became of files that were changed here and elsewhere.
func (f *fetching) notes() (notes warnings.List) {
	if len(f.kept) > 0 {
		notes.Add(warnings.LocalEditsKept.NewOfPaths(f.kept, nil, fact.Of("threadId", f.id)))
	}
	if len(f.merged) > 0 {
		notes.Add(warnings.LocalEditsMerged.NewOfPaths(f.merged, nil, fact.Of("threadId", f.id)))
	}
	if len(f.back) > 0 {
		notes.Add(warnings.DeletionNotKept.NewOfPaths(f.back, nil, fact.Of("threadId", f.id)))
	}
	return notes
}

func (f *fetching) plan(w wanted) error {
	base, err := f.store.disk.OpenBase()
	if err != nil {
		return f.store.disk.ReadFailed(err)
	}
	defer base.Close()
	paths := map[string]bool{}
	if w.files {
		for _, rel := range append(w.have.Paths(), w.want.Paths()...) {
			if paths[rel] || ownPlace(rel) {
				continue
			}
			paths[rel] = true
			had, _ := w.have.Find(rel)
			get, _ := w.want.Find(rel)
			at, err := content.At(base, scan.Place(f.id, rel))
			if err != nil {
				return err
			}
			if err := f.path(base, rel, at, had, get); err != nil {
				return err
			}
		}
	}
	for i, ref := range w.copies {
		if err := f.frozen(i, ref); err != nil {
			return err
		}
	}
	return nil
}

// path plans one file: at is what it has now, had what it had in common with the others,
// get what they have.
func (f *fetching) path(base *os.Root, rel string, at thread.BlobID, had, get content.FileAt) error {
	to := scan.Place(f.id, rel)
	switch {
	case had.SHA256 == get.SHA256 && had.Executable == get.Executable, at == get.SHA256:
		return nil // as it is, or unpublished
	case get.SHA256 == "" && at == had.SHA256:
		f.steps = append(f.steps, thread.Step{Do: thread.StepDelete, To: to, Expect: at})
		return nil
	case get.SHA256 == "": // deleted there, changed here
		f.back = append(f.back, rel)
		return nil
	}
	data, err := f.store.Blob(get.SHA256)
	if err != nil {
		return err
	}
	expect, executable := had.SHA256, get.Executable
	if at == "" {
		expect = "" // deleted here, or never here
		if had.SHA256 != "" {
			f.back = append(f.back, rel)
		}
	} else if at != had.SHA256 {
		made, err := f.merge(base, rel, at, had, get)
		if err != nil {
			return err
		}
		if made == nil {
			f.kept = append(f.kept, rel)
		} else {
			f.merged = append(f.merged, rel)
			expect, data, executable = at, made.Content, made.After.Executable
		}
	}
	name := "file/" + rel
	if err := f.stage.Write(name, data, executable); err != nil {
		return err
	}
	f.steps = append(f.steps, thread.Step{
		Do: thread.StepReplace, From: f.stage.Rel(name), To: to, Expect: expect, Content: content.IDOf(data),
		Executable: executable,
	})
	return nil
}

// merge merges the version of the others into a file that was changed here, as leslie merge
// does; nil where that has a conflict, or what both had is not to be had. Errors: T510.
func (f *fetching) merge(base *os.Root, rel string, at thread.BlobID, had, get content.FileAt) (*merge.Change, error) {
	file, info, err := saferoot.OpenIn(base, scan.Place(f.id, rel))
	if err != nil || had.SHA256 == "" {
		return nil, nil
	}
	defer file.Close()
	ours, err := io.ReadAll(io.LimitReader(file, merge.MaxText+1))
	if err != nil || content.IDOf(ours) != at {
		return nil, nil // too large to merge, or it is being written
	}
	plan, err := merge.Make(merge.Input{
		Tree: oneFile(rel, content.FileAt{SHA256: at, Size: int64(len(ours)), Executable: info.Mode()&0o100 != 0}),
		Sources: []merge.Source{{
			Tree: oneFile(rel, get),
			Base: func(string) merge.Base { return merge.Base{File: MergeFile(had)} },
		}},
		Read: func(hash string) ([]byte, error) {
			if thread.BlobID(hash) == at {
				return ours, nil
			}
			return f.store.Blob(thread.BlobID(hash))
		},
		Mergers: []merge.Merger{merge.List, merge.Table},
	})
	if codes.Has(err, codes.RemoteDamaged) {
		return nil, nil
	}
	if err != nil || len(plan.Files) != 1 || plan.Open() > 0 || plan.Files[0].Content == nil {
		return nil, err
	}
	return &plan.Files[0], nil
}

// oneFile is a tree of one file.
func oneFile(rel string, f content.FileAt) merge.Tree {
	return merge.Tree{Files: map[string]merge.File{rel: MergeFile(f)}}
}

// MergeFile is a file of a list as a merge has it.
func MergeFile(f content.FileAt) merge.File {
	return merge.File{Hash: string(f.SHA256), Size: f.Size, Executable: f.Executable}
}

// Unpublished returns the files of a thread that were changed, added or deleted here since this machine published or
// fetched them last. Errors: T507, T509, T904.
func (s *Store) Unpublished(ctx context.Context, id thread.ThreadID) ([]string, error) {
	list, _, err := s.PublishedList(id)
	if err != nil {
		return nil, err
	}
	return s.Compare(ctx, id, list, scope.Set{})
}

// PublishedList returns the list of a thread's files that this machine published or fetched last, and its name in
// thread.Published. Errors: T509.
func (s *Store) PublishedList(id thread.ThreadID) (list content.Manifest, name thread.BlobID, err error) {
	if list, err = replica.ListOf(s.disk, id); err != nil {
		return nil, "", err
	}
	name, _, err = list.Plain()
	return list, name, err
}

// remoteMark begins the names of operations that bring files here, and so is in the name of a version that was put
// beside a file.
const remoteMark = "remote-"

// VersionBeside returns the file of which a path is the version of another machine, which could not be merged;
// "" for another file.
func VersionBeside(path string) string {
	if of, _, is := strings.Cut(path, filework.Beside+remoteMark); is {
		return of
	}
	return ""
}

// frozen plans the copy of a frozen reference.
func (f *fetching) frozen(i int, ref thread.Reference) error {
	m, err := f.store.Manifest(ref.Manifest)
	if err != nil {
		return err
	}
	name := "ref-" + strings.Repeat("i", i+1)
	if err := f.stage.Materialize(f.ctx, m, name, true); err != nil {
		return err
	}
	f.steps = append(f.steps,
		thread.Step{Do: thread.StepMakeDir, To: scan.Place(f.id, InheritedDir)},
		thread.Step{Do: thread.StepPlace, From: f.stage.Rel(name), To: scan.Place(f.id, path.Join(InheritedDir, string(ref.ID))), Content: ref.Manifest})
	return nil
}

// carryOut puts the files into place. It is not recorded: whoever is interrupted does it
// again.
func (f *fetching) carryOut() error {
	w, err := filework.Open(f.store.disk)
	if err != nil {
		return f.store.disk.WriteFailed(err)
	}
	defer w.Close()
	p := &thread.Pending{Operation: f.stage.Operation(), Steps: f.steps}
	if err := w.Prepare(p); err != nil {
		return err
	}
	if err := w.CarryOut(p, false); err != nil && !codes.Has(err, codes.ReadFailed) {
		return err
	}
	return nil
}
