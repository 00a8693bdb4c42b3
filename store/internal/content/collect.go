package content

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file removes blobs that nothing names. A plan that was given up leaves some,
// and so does a process that died between storing and recording.
//
// Named is every blob whose hash is anywhere in the store's files: in a record or
// a step of the state, of its backup or the archive, in any line of the journal, since
// its operation may be undone or looked at, and in lists of what was displaced; and
// every blob whose hash is in a named blob that may be a list. What cannot be
// known for sure is kept.
//
// A living process may rely on an existing blob and record it later; it holds a stage
// all the while. So what is to go is first moved to tmp/collected; if then anybody
// holds a stage, all of it is moved back. A process that creates a stage later finds
// the blobs gone and stores them again. The next writer moves back what a crash left.

// Tmp is the folder of the store in which files wait for their names; Collected is the
// one in it with blobs that are going to be removed.
const (
	Tmp       = "tmp"
	Collected = "collected"

	collecting = Tmp + "/" + Collected
	removing   = collecting + ".spent"
)

// errTooLong says that nobody knows what a file names.
var errTooLong = errors.New("too long to be read")

// Collection removes a store's blobs that nothing names. The caller must hold the
// store's lock, and know that nothing of the store is damaged or missing.
type Collection struct {
	Disk saferoot.Disk
	// Lists are the folders of the store whose files name blobs.
	Lists []string
	// Staging reports whether a process holds a stage.
	Staging func() bool
}

// Run removes the blobs, and returns how many and their size in bytes. Errors: T505,
// T509, T904.
func (c Collection) Run(ctx context.Context) (removed int, size int64, err error) {
	if err := PutBack(c.Disk); err != nil {
		return 0, 0, err
	}
	unnamed, err := c.unnamed(ctx)
	if err != nil || len(unnamed) == 0 || c.Staging() {
		return 0, 0, err
	}
	w, err := c.Disk.Open()
	if err != nil {
		return 0, 0, c.Disk.WriteFailed(err)
	}
	defer w.Close()
	if err := w.Ensure(collecting); err != nil {
		return 0, 0, err
	}
	for _, id := range unnamed {
		info, err := w.Lstat(Path(id))
		if err == nil {
			size += info.Size()
			err = w.Rename(Path(id), path.Join(collecting, string(id)))
		}
		if err != nil {
			return 0, 0, errors.Join(c.Disk.WriteFailed(err), PutBack(c.Disk))
		}
	}
	if c.Staging() {
		return 0, 0, PutBack(c.Disk)
	}
	if err := w.Rename(collecting, removing); err != nil {
		return 0, 0, c.Disk.WriteFailed(err)
	}
	return len(unnamed), size, c.Disk.WriteFailed(w.RemoveAll(removing))
}

// PutBack gives blobs their names back that a Collection was going to remove when its
// process died, or when somebody created a stage. Errors: T505, T509.
func PutBack(disk saferoot.Disk) error {
	w, err := disk.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return disk.WriteFailed(err)
	}
	defer w.Close()
	if saferoot.RealFolder(w.Base(), collecting) != nil {
		return nil
	}
	names, err := saferoot.ReadNames(w.Base(), collecting)
	if err != nil {
		return disk.ReadFailed(err)
	}
	for _, name := range names {
		id := thread.BlobID(name)
		if !Valid(id) {
			continue
		}
		there, err := w.Exists(Path(id))
		if err == nil && !there { // else it was stored again
			if err = w.Ensure(path.Dir(Path(id))); err == nil {
				w.Touch(path.Dir(Path(id)))
				err = w.Rename(path.Join(collecting, name), Path(id))
			}
		}
		if err != nil {
			return disk.WriteFailed(err)
		}
	}
	if err := w.Sync(); err != nil {
		return err
	}
	return disk.WriteFailed(w.RemoveAll(collecting))
}

// unnamed returns the blobs that nothing names, in order; none if not all folders can
// be listed. Errors: T509, T904.
func (c Collection) unnamed(ctx context.Context) (unnamed []thread.BlobID, err error) {
	base, err := c.Disk.OpenBase()
	if err != nil {
		return nil, c.Disk.ReadFailed(err)
	}
	defer base.Close()
	all, ok := list(base)
	if !ok {
		return nil, nil
	}
	named := map[thread.BlobID]bool{}
	if err := c.addNamed(ctx, base, named, all); err != nil {
		if errors.Is(err, errTooLong) {
			err = nil
		}
		return nil, err
	}
	for id := range all {
		if !named[id] {
			unnamed = append(unnamed, id)
		}
	}
	slices.Sort(unnamed)
	return unnamed, nil
}

// list returns all blobs; ok is false if a folder is none or cannot be read.
func list(base *os.Root) (all map[thread.BlobID]bool, ok bool) {
	all = map[thread.BlobID]bool{}
	folders, ok := namesIn(base, Sums)
	for _, folder := range folders {
		names, read := namesIn(base, path.Join(Sums, folder))
		ok = ok && read
		for _, name := range names {
			id := thread.BlobID(folder + name)
			info, err := base.Lstat(path.Join(Sums, folder, name))
			if err == nil && len(folder) == 2 && Valid(id) && info.Mode().IsRegular() {
				all[id] = true
			}
		}
	}
	return all, ok
}

func namesIn(base *os.Root, folder string) (names []string, ok bool) {
	if info, err := base.Lstat(folder); err == nil && !info.IsDir() {
		return nil, false
	}
	names, err := saferoot.ReadNames(base, folder)
	return names, err == nil || errors.Is(err, fs.ErrNotExist)
}

// addNamed adds the blobs that the store's files name, and those that they name.
func (c Collection) addNamed(ctx context.Context, base *os.Root, named map[thread.BlobID]bool, all map[thread.BlobID]bool) error {
	var next []thread.BlobID
	add := func(id thread.BlobID) {
		if !named[id] {
			named[id] = true
			if all[id] {
				next = append(next, id)
			}
		}
	}
	for _, folder := range append([]string{Kept}, c.Lists...) {
		names, err := saferoot.ReadNames(base, folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c.Disk.ReadFailed(err)
		}
		for _, name := range names {
			if err := eachHash(base, path.Join(folder, name), false, add); err != nil {
				return c.Disk.ReadFailed(err)
			}
		}
	}
	for len(next) > 0 {
		if err := saferoot.Stopped(ctx); err != nil {
			return err
		}
		id := next[len(next)-1]
		next = next[:len(next)-1]
		if err := eachHash(base, Path(id), true, add); err != nil {
			return c.Disk.ReadFailed(err)
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

// KeepList stores a list of displaced files as blobs/kept/NAME, durably, so that they
// are not taken for unnamed and can be found by where they were. Errors: T505.
func KeepList(disk saferoot.Disk, name string, files Manifest) error {
	data, err := json.Marshal(manifestFile{Version: manifestVersion, Files: files})
	if err != nil {
		return err
	}
	w, err := disk.Open()
	if err != nil {
		return disk.WriteFailed(err)
	}
	defer w.Close()
	if err := w.Ensure(Kept); err != nil {
		return err
	}
	if err := w.Sync(); err != nil {
		return err
	}
	if err := disk.Replace(path.Join(Kept, name), data); err != nil {
		return err
	}
	return disk.WriteFailed(disk.SyncDir(disk.Path(Kept)))
}
