package filework

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store/internal/content"
	"leslie/store/internal/lockfile"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/thread"
)

// This file prepares files without the store's lock. A stage is the folder tmp/OP with
// a file in it, lock, on which its process holds an flock. Everything that an
// operation is going to place is written there and is durable before the operation is
// recorded (Sync, or Call.Staged); then it is renamed into place under the store's
// lock.
//
// The holder of the store's lock sweeps: a stage that nobody holds belongs to a dead
// process. A sweep may come between the creation of the folder and the locking of its
// file. Therefore a process that has its lock checks that the locked file is still in
// place, and starts again if not; and a sweep removes a stage only while it holds that
// same lock: the lock's file last but one, the folder last and only if it is empty. No
// clock is read and no name is guessed.

const (
	lockName   = "lock" // in tmp/OP/: held by the stage's maker
	stageTries = 100
)

// errContended says that sweeps removed a new stage repeatedly.
var errContended = errors.New("it was removed while it was made")

// Stage is the staging folder of one operation. It is not safe for concurrent
// use.
type Stage struct {
	disk     saferoot.Disk
	op       thread.OperationID
	lock     *flock.Flock
	since    time.Time // when it was made, by the file system's clock
	blobs    *content.Writer
	promised []string // what Rel named
}

// NewStage creates the operation's staging folder and holds it until Close or Discard.
// Errors: T505; T507 if a link is in place of a folder.
func NewStage(disk saferoot.Disk, op thread.OperationID) (*Stage, error) {
	if !saferoot.SingleName(string(op)) {
		return nil, codes.UnsafePath.New(fact.Of("path", content.Tmp+"/"+string(op)))
	}
	root, err := disk.Open()
	if err != nil {
		return nil, saferoot.CannotWrite(content.Tmp, err)
	}
	dir := stageDir(op)
	st := &Stage{disk: disk, op: op, blobs: content.NewWriter(root, dir)}
	if err := st.enter(dir); err != nil {
		_ = st.blobs.Close()
		return nil, saferoot.CannotWrite(dir, err)
	}
	return st, nil
}

// stageDir is the folder of an operation's stage, relative to the store's.
func stageDir(op thread.OperationID) string { return path.Join(content.Tmp, string(op)) }

// enter creates the folder, locks its file, and checks that the file is still in
// place.
func (st *Stage) enter(dir string) error {
	w := st.blobs.Root
	if err := w.Ensure(content.Tmp); err != nil {
		return err
	}
	for try := range stageTries {
		err := w.Mkdir(dir)
		if err != nil && (try == 0 || !errors.Is(err, fs.ErrExist)) {
			return err
		}
		lock, info, err := hold(w, dir+"/"+lockName)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			_ = w.Remove(dir + "/" + lockName)
			_ = w.Remove(dir)
			return err
		}
		if lock != nil {
			st.lock, st.since = lock, info.ModTime()
			w.Trust(dir)
			w.Touch(content.Tmp)
			return w.Reach(dir)
		}
	}
	return errContended
}

// hold creates and locks a stage's file, and waits for a sweep that holds it. The lock
// is nil if the file no longer exists.
func hold(r *saferoot.Root, rel string) (*flock.Flock, fs.FileInfo, error) {
	lock := stageFlock(r.Path(rel))
	err := lockfile.Persist(func() error { return r.Disk().Step(saferoot.ActCreate, r.Path(rel), lock.Lock) })
	if err != nil {
		return nil, nil, err
	}
	info, err := standing(r, rel, lock)
	if info == nil {
		_ = lockfile.Release(lock)
		return nil, nil, err
	}
	return lock, info, nil
}

// standing describes the locked file if it is still in place, and is nil if not.
func standing(r *saferoot.Root, rel string, lock *flock.Flock) (fs.FileInfo, error) {
	there, err := r.Lstat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ours, err := lock.Stat()
	if err != nil || !os.SameFile(ours, there) {
		return nil, err
	}
	return ours, nil
}

// stageFlock opens the lock's file for writing, as network file systems require,
// without following a link or waiting for a pipe.
func stageFlock(path string) *flock.Flock {
	return flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|saferoot.OpenFlags), flock.SetPermissions(0o644))
}

// Rel returns the path of a staged file or folder, for thread.Step.From. It promises
// the path to a step: see Close.
func (st *Stage) Rel(to string) string {
	if !slices.Contains(st.promised, to) {
		st.promised = append(st.promised, to)
	}
	return path.Join(stageDir(st.op), to)
}

// Put stores bytes as a blob, which has its name after Sync. Errors: T505, T508.
func (st *Stage) Put(data []byte) (thread.BlobID, error) {
	id, _, err := st.blobs.Put(bytes.NewReader(data), stageDir(st.op), content.MaxFile)
	return id, err
}

// Blob is content.Blobs.Blob for a blob that this stage may just have stored, which has its
// name only after Sync. Errors as there.
func (st *Stage) Blob(id thread.BlobID) ([]byte, error) {
	if st.lock == nil { // it has ended
		return content.On(st.disk).Blob(id)
	}
	return st.blobs.Read(id)
}

// PutManifest stores a manifest as a blob. Errors: T505, T508.
func (st *Stage) PutManifest(m content.Manifest) (thread.BlobID, error) {
	data, err := m.Encode()
	if err != nil {
		return "", err
	}
	return st.Put(data)
}

// Materialize writes the files of a manifest below the folder to of the stage, which
// exists afterwards even if the manifest is empty. The files are copies: whatever
// happens to them, the blobs stay. It keeps executable bits; readOnly removes write
// permission from files, not folders. Everything is durable after Sync. Errors: T505,
// T507 for a path outside the stage, T509 as for Blob, T904.
func (st *Stage) Materialize(ctx context.Context, m content.Manifest, to string, readOnly bool) error {
	if err := st.own(to); err != nil {
		return err
	}
	if err := st.blobs.Ensure(path.Join(stageDir(st.op), to)); err != nil {
		return err
	}
	for _, f := range m {
		if err := saferoot.Stopped(ctx); err != nil {
			return err
		}
		data, err := st.blobs.Read(f.SHA256)
		if err != nil {
			return err
		}
		if err := st.place(path.Join(to, f.Path), data, perm(f.Executable, readOnly)); err != nil {
			return err
		}
	}
	return nil
}

// Write adds a new file to the stage; it is durable after Sync. Errors: T505, T507 for
// a path outside the stage.
func (st *Stage) Write(to string, data []byte, executable bool) error {
	return st.place(to, data, perm(executable, false))
}

// Snapshot stores the thread's files within the scope as blobs and returns what it
// read, and the paths that it skipped because they are not regular files. Artifacts
// may be saved in the meantime: each file is stored as read, and one that vanishes
// counts as absent. Call it inside ReadConsistentToWrite.
//
// Errors: T202 if the folder is missing; T203 for patterns that match nothing; T507 for a
// pattern that names something through a link, or if a link is in place of the
// thread's folder; T508 for a file over content.MaxFile or more than MaxFiles; T505, T509,
// T904.
func (st *Stage) Snapshot(ctx context.Context, id thread.ThreadID, set scope.Set) (m content.Manifest, skipped []string, err error) {
	return scan.Snapshot(ctx, scan.On(st.disk), id, set, st.since, st.blobs)
}

func (st *Stage) place(to string, data []byte, mode fs.FileMode) error {
	if err := st.own(to); err != nil {
		return err
	}
	rel := path.Join(stageDir(st.op), to)
	if err := st.blobs.Ensure(path.Dir(rel)); err != nil {
		return err
	}
	st.blobs.Touch(path.Dir(rel))
	if _, err := st.blobs.WriteFile(rel, mode, bytes.NewReader(data)); err != nil || !st.blobs.Full() {
		return err
	}
	return st.blobs.SyncFiles()
}

// own rejects paths that callers may not use.
func (st *Stage) own(to string) error {
	if to == "." || to == lockName || !fs.ValidPath(to) {
		return codes.UnsafePath.New(fact.Of("path", to))
	}
	return nil
}

func perm(executable, readOnly bool) fs.FileMode {
	mode := fs.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	if readOnly {
		mode &^= 0o222
	}
	return mode
}

// Sync makes everything that was staged and stored durable; then an operation that
// relies on it may be recorded. An operation whose Call names the stage needs no Sync.
// Errors: T505.
func (st *Stage) Sync() error {
	if st.lock == nil { // it has ended, and nothing of it is wanted
		return nil
	}
	defer st.blobs.CloseIn(stageDir(st.op)) // which steps are going to take away
	return st.blobs.Sync()
}

// Close ends the stage and removes its folder, unless it still contains something that
// Rel promised to a step: then the operation may be recorded with its steps pending,
// and the next writer carries them out or sweeps the folder. So Close can be deferred.
// If an Update failed, nothing is recorded: use Discard. Calling either again has no
// effect. Errors: T505; a folder that could not be removed is swept later.
func (st *Stage) Close() error {
	for _, to := range st.promised {
		if st.lock == nil {
			break
		}
		if _, err := st.blobs.Lstat(path.Join(stageDir(st.op), to)); err == nil {
			return st.leave()
		}
	}
	return st.Discard()
}

// Discard ends the stage and removes its folder with all its content.
func (st *Stage) Discard() error {
	if st.lock == nil {
		return nil
	}
	dir := stageDir(st.op)
	st.blobs.DropFiles()
	st.blobs.CloseIn(dir)
	err := removeStage(st.blobs.Root, dir, st.lock)
	st.lock = nil
	return errors.Join(saferoot.CannotWrite(dir, err), st.blobs.Close())
}

func (st *Stage) leave() error {
	err := lockfile.Release(st.lock)
	st.lock = nil
	return errors.Join(saferoot.CannotWrite(stageDir(st.op), err), st.blobs.Close())
}
