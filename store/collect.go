package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file removes blobs that nothing names. A plan that was given up leaves some,
// and so does a process that died between storing and recording.
//
// Named is every blob whose hash stands anywhere in the store's files: in a record or
// a step of the state, of its backup or the archive, in any line of the journal, since
// its operation may be undone or looked at, and in lists of what was displaced; and
// every blob whose hash stands in a named blob that may be a list. What cannot be
// known for sure is kept: nothing is removed while a file of the store is damaged or
// lacks something.
//
// A living process may rely on a blob that is there and record it later. It holds a
// stage all the while. So what is to go is first moved to tmp/collected; then nobody
// may hold a stage, or all is moved back. Who begins a stage behind that finds the
// blobs gone and stores them anew. The next writer moves back what a crash left.

var errTooLong = errors.New("too long to be read")

const (
	collected = "collected" // tmp/collected: blobs that are going to be removed
	keptLists = BlobsDir + "/kept"
)

// collect removes blobs that nothing names. Errors: T505, T509.
func (m *mending) collect() error {
	s := m.store
	if err := s.putBack(); err != nil {
		return err
	}
	unnamed, err := m.unnamedBlobs()
	if err != nil || len(unnamed) == 0 || s.staging() {
		return err
	}
	w, err := s.openWork()
	if err != nil {
		return s.disk.WriteFailed(err)
	}
	defer w.Close()
	folder := path.Join(TmpDir, collected)
	if err := w.Ensure(folder); err != nil {
		return err
	}
	size := int64(0)
	for _, id := range unnamed {
		info, err := w.Lstat(blobPath(id))
		if err == nil {
			size += info.Size()
			err = w.Rename(blobPath(id), path.Join(folder, string(id)))
		}
		if err != nil {
			return errors.Join(s.disk.WriteFailed(err), s.putBack())
		}
	}
	if s.staging() {
		return s.putBack()
	}
	gone := folder + spent
	if err := w.Rename(folder, gone); err != nil {
		return s.disk.WriteFailed(err)
	}
	if err := w.RemoveAll(gone); err != nil {
		return s.disk.WriteFailed(err)
	}
	m.did("removed %d blobs that nothing names (%s)", len(unnamed), megabytes(size))
	return nil
}

func megabytes(size int64) string { return fmt.Sprintf("%.1f MB", float64(size)/1e6) }

// putBack gives blobs their names back that a collection was going to remove when its
// process died, or when somebody began to stage. Errors: T505, T509.
func (s *Store) putBack() error {
	w, err := s.openWork()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return s.disk.WriteFailed(err)
	}
	defer w.Close()
	folder := path.Join(TmpDir, collected)
	if saferoot.RealFolder(w.Base(), folder) != nil {
		return nil
	}
	names, err := saferoot.ReadNames(w.Base(), folder)
	if err != nil {
		return s.disk.ReadFailed(err)
	}
	for _, name := range names {
		id, from := thread.BlobID(name), path.Join(folder, name)
		if !validBlob(id) {
			continue
		}
		there, err := w.Exists(blobPath(id))
		if err == nil && !there { // else it was stored anew
			if err = w.Ensure(path.Dir(blobPath(id))); err == nil {
				w.Touch(path.Dir(blobPath(id)))
				err = w.Rename(from, blobPath(id))
			}
		}
		if err != nil {
			return s.disk.WriteFailed(err)
		}
	}
	if err := w.Sync(); err != nil {
		return err
	}
	return s.disk.WriteFailed(w.RemoveAll(folder))
}

// staging reports whether somebody holds a stage.
func (s *Store) staging() bool {
	entries, err := os.ReadDir(s.Path(TmpDir))
	return err != nil && !errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() && isHeld(s.Path(path.Join(TmpDir, e.Name(), stageLock)))
	})
}

// unnamedBlobs are the blobs that nothing names, in order. What was stored before the
// store had this version is not among them: what was displaced then is named nowhere.
// Errors: T509, T904.
func (m *mending) unnamedBlobs() (unnamed []thread.BlobID, err error) {
	s := m.store
	base, err := s.disk.OpenBase()
	if err != nil {
		return nil, s.disk.ReadFailed(err)
	}
	defer base.Close()
	there := map[thread.BlobID]fs.FileInfo{}
	x := &examination{store: s, ctx: m.ctx, seen: m.seen}
	for _, shelf := range x.blobNames(base, blobsRoot) {
		for _, name := range x.blobNames(base, path.Join(blobsRoot, shelf)) {
			id := thread.BlobID(shelf + name)
			info, err := base.Lstat(path.Join(blobsRoot, shelf, name))
			if err == nil && len(shelf) == 2 && validBlob(id) && info.Mode().IsRegular() {
				there[id] = info
			}
		}
	}
	if len(x.findings) > 0 {
		return nil, nil // not all of it can be looked at
	}
	named := map[thread.BlobID]bool{}
	if err := m.namedIn(base, named, there); err != nil {
		if errors.Is(err, errTooLong) {
			err = nil
		}
		return nil, err
	}
	upgraded, _ := base.Lstat(UpgradedFile)
	for id, info := range there {
		if !named[id] && (upgraded == nil || info.ModTime().After(upgraded.ModTime())) {
			unnamed = append(unnamed, id)
		}
	}
	slices.Sort(unnamed)
	return unnamed, nil
}

// namedIn adds the blobs that the store's files name, and those that they name.
func (m *mending) namedIn(base *os.Root, named map[thread.BlobID]bool, there map[thread.BlobID]fs.FileInfo) error {
	var next []thread.BlobID
	add := func(id thread.BlobID) {
		if !named[id] {
			named[id] = true
			if there[id] != nil {
				next = append(next, id)
			}
		}
	}
	for _, folder := range []string{".", RequestsDir, keptLists} {
		names, err := saferoot.ReadNames(base, folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return m.store.disk.ReadFailed(err)
		}
		for _, name := range names {
			if err := eachHash(base, path.Join(folder, name), false, add); err != nil {
				return m.store.disk.ReadFailed(err)
			}
		}
	}
	for len(next) > 0 {
		if err := stopped(m.ctx); err != nil {
			return err
		}
		id := next[len(next)-1]
		next = next[:len(next)-1]
		if err := eachHash(base, blobPath(id), true, add); err != nil {
			return m.store.disk.ReadFailed(err)
		}
	}
	return nil
}

// eachHash calls fn for each hash in a regular file; lists says that only a file that
// may be a list is read, which begins as JSON does. A file that is absurdly large is
// errTooLong: nobody knows what it names.
func eachHash(base *os.Root, rel string, lists bool, fn func(thread.BlobID)) error {
	info, err := base.Lstat(rel)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if info.Size() > saferoot.MaxWhole && !lists {
		return errTooLong
	}
	f, _, err := saferoot.OpenIn(base, rel)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	if first, err := in.Peek(1); lists && (err != nil || first[0] != '{' && first[0] != '[') {
		return nil
	}
	digits := make([]byte, 0, 65)
	for {
		c, err := in.ReadByte()
		if err == nil && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			if len(digits) < cap(digits) {
				digits = append(digits, c)
			}
			continue
		}
		if len(digits) == 64 {
			fn(thread.BlobID(digits))
		}
		digits = digits[:0]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// nameKept keeps a list of what an operation displaced and no list of its own names, so
// that it is not taken for unnamed, and can be found by where it lay. Errors: T505.
func (s *Store) nameKept(p *thread.Pending, all Manifest) error {
	var unnamed Manifest
	for _, f := range all {
		planned := slices.ContainsFunc(p.Steps, func(step thread.Step) bool { return step.Expect == f.SHA256 })
		if planned {
			continue
		}
		first, rest, _ := strings.Cut(f.Path, "/")
		for i, step := range p.Steps {
			if strconv.Itoa(number(p, i)) == strings.TrimRight(first, "+") {
				f.Path = path.Join(step.To, rest)
			}
		}
		unnamed = append(unnamed, f)
	}
	if len(unnamed) == 0 {
		return nil
	}
	data, err := json.Marshal(manifestFile{Version: manifestVersion, Files: unnamed})
	if err != nil {
		return err
	}
	w, err := s.openWork()
	if err != nil {
		return s.disk.WriteFailed(err)
	}
	defer w.Close()
	if err := w.Ensure(keptLists); err != nil {
		return err
	}
	if err := w.Sync(); err != nil {
		return err
	}
	if err := s.disk.Replace(path.Join(keptLists, string(p.Operation)), data); err != nil {
		return err
	}
	return s.disk.WriteFailed(s.disk.SyncDir(s.Path(keptLists)))
}
