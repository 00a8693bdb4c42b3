package content

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// Writer stores content. It writes under temporary names in its own folder, which
// it creates with the first blob; Sync makes the blobs durable, several at once, and
// names them. A Writer is not safe for concurrent use.
type Writer struct {
	*saferoot.Root
	tmp     string                   // where temporary files lie, relative to the store's folder
	n       int                      // how many were written
	unnamed map[thread.BlobID]string // where those lie that have no name yet
	kept    Manifest                 // what keep stored
}

// NewWriter returns a Writer that stores blobs in the store's folder, which is open, with
// temporary files in the folder tmp of it.
func NewWriter(root *saferoot.Root, tmp string) *Writer {
	return &Writer{Root: root, tmp: tmp, unnamed: map[thread.BlobID]string{}}
}

// Put stores the content of src, up to limit bytes, and returns its name and size. It
// reads src once to check whether the blob exists, and again to write it if not; if
// src changes in between, the written bytes count, and the name matches them. On
// failure no blob has appeared. from names what is read, for errors. Errors: T505,
// T508, T509.
func (w *Writer) Put(src io.ReadSeeker, from string, limit int64) (thread.BlobID, int64, error) {
	in := &source{r: src, from: from, limit: limit}
	sum := sha256.New()
	size, err := io.Copy(sum, in)
	if err != nil {
		return "", 0, err
	}
	if id := sumOf(sum); w.present(id, size) {
		return id, size, w.rely(id)
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return "", 0, saferoot.CannotRead(from, err)
	}
	return w.add(&source{r: src, from: from, limit: limit})
}

// present reports whether the blob exists and is whole.
func (w *Writer) present(id thread.BlobID, size int64) bool {
	if _, written := w.unnamed[id]; written {
		return true
	}
	at := Path(id)
	if w.Reach(path.Dir(at)) != nil {
		return false
	}
	f, info, err := saferoot.OpenIn(w.At(at))
	if err != nil {
		return false
	}
	defer f.Close()
	if info.Size() != size {
		return false
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return err == nil && sumOf(sum) == id
}

// rely makes sure that the name of an existing blob is durable after the folders are
// synced, because another process may just have stored it.
func (w *Writer) rely(id thread.BlobID) error {
	dir := path.Dir(Path(id))
	if err := w.Ensure(dir); err != nil {
		return err
	}
	w.Touch(dir)
	return nil
}

// add writes a blob to a temporary file; the blob gets its name when its bytes are
// durable.
func (w *Writer) add(in *source) (thread.BlobID, int64, error) {
	if err := w.Ensure(w.tmp); err != nil {
		return "", 0, err
	}
	w.n++
	tmp := path.Join(w.tmp, "blob-"+strconv.Itoa(w.n))
	sum := sha256.New()
	size, err := w.WriteFile(tmp, 0o444, io.TeeReader(in, sum))
	if err != nil {
		return "", 0, err
	}
	id := sumOf(sum)
	if err := w.rely(id); err != nil {
		return "", 0, err
	}
	w.unnamed[id] = tmp
	if w.Full() {
		return id, size, w.giveNames()
	}
	return id, size, nil
}

// giveNames makes the written blobs durable and then names them. Errors: T505.
func (w *Writer) giveNames() error {
	if err := w.SyncFiles(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(w.unnamed)) {
		err := w.clear(Path(id))
		if err == nil {
			err = w.Rename(w.unnamed[id], Path(id))
		}
		if err != nil {
			return saferoot.CannotWrite(Path(id), err)
		}
	}
	clear(w.unnamed)
	return nil
}

// Sync makes all blobs durable under their names, and everything else that was
// written. Errors: T505.
func (w *Writer) Sync() error {
	if err := w.giveNames(); err != nil {
		return err
	}
	return w.Root.Sync()
}

// Read returns the content of a blob that may not have its name yet. Errors as for
// Blobs.Blob.
func (w *Writer) Read(id thread.BlobID) ([]byte, error) {
	if own, written := w.unnamed[id]; written {
		in, name := w.At(own)
		return read(in, name, id)
	}
	if err := mustBeValid(id); err != nil {
		return nil, err
	}
	if err := w.Reach(path.Dir(Path(id))); err != nil {
		return orElsewhere(w.Disk(), id, nil, saferoot.CannotRead(Path(id), err))
	}
	in, name := w.At(Path(id))
	data, err := read(in, name, id)
	return orElsewhere(w.Disk(), id, data, err)
}

// clear moves a folder with a blob's name aside, because no rename could replace it.
func (w *Writer) clear(rel string) error {
	if info, err := w.Lstat(rel); err != nil || !info.IsDir() {
		return nil
	}
	to, err := w.Free(rel+saferoot.AsideMark+"1", "+")
	if err != nil {
		return err
	}
	return w.Rename(rel, to)
}

// source reads content to store. Its errors are coded, so that a failed read does not
// look like a failed write.
type source struct {
	r     io.Reader
	from  string
	limit int64 // no limit when it is negative
	n     int64
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if s.limit >= 0 && s.n > s.limit {
		return 0, TooLarge(saferoot.Shown(s.from), s.from, "")
	}
	if err != nil && err != io.EOF {
		err = saferoot.CannotRead(s.from, err)
	}
	return n, err
}

// Keep stores every regular file at or below a place in the store's folder as a durable
// blob, and lists what it stored by its path in there: leslie never loses what it
// replaces or removes. Links and other special files have no content; files of any size
// are stored. A missing place is fine. The caller must hold the store's lock. Errors:
// T505, T507, T509.
func Keep(disk saferoot.Disk, rel string) (Manifest, error) {
	if !fs.ValidPath(rel) {
		return nil, codes.UnsafePath.New(fact.Of("path", rel))
	}
	root, err := disk.Open()
	if err != nil {
		return nil, saferoot.CannotRead(rel, err)
	}
	w := NewWriter(root, Tmp+"/keep")
	defer w.Close()
	if err := w.forget(); err != nil {
		return nil, err
	}
	if err := w.keep(rel); err != nil {
		_ = w.forget()
		return nil, err
	}
	if err := w.Sync(); err != nil {
		return nil, err
	}
	for i := range w.kept {
		w.kept[i].Path = strings.TrimPrefix(w.kept[i].Path, rel+"/")
	}
	return w.kept, w.forget()
}

// forget removes the temporary folder, this call's or a dead one's.
func (w *Writer) forget() error {
	w.DropFiles()
	if _, err := w.Lstat(w.tmp); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := w.RemoveAll(w.tmp); err != nil {
		return saferoot.CannotWrite(w.tmp, err)
	}
	return nil
}

func (w *Writer) keep(rel string) error {
	info, err := w.Base().Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return saferoot.CannotRead(rel, err)
	case info.Mode().IsRegular():
		return w.keepFile(rel)
	case !info.IsDir():
		return nil
	}
	names, err := saferoot.ReadNames(w.Base(), rel)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return saferoot.CannotRead(rel, err)
	}
	for _, name := range names {
		if err := w.keep(path.Join(rel, name)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) keepFile(rel string) error {
	f, _, err := saferoot.OpenIn(w.Base(), rel)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, saferoot.ErrNotRegular) {
		return nil
	}
	if err != nil {
		return saferoot.CannotRead(rel, err)
	}
	defer f.Close()
	id, size, err := w.Put(f, rel, -1)
	if err == nil {
		w.kept = append(w.kept, FileAt{Path: rel, SHA256: id, Size: size})
	}
	return err
}

// Store keeps content as a blob of its own accord, outside of any operation: content of
// another machine. Errors: T505, T507.
func Store(disk saferoot.Disk, data []byte) error {
	root, err := disk.Open()
	if err != nil {
		return saferoot.CannotWrite(Folder, err)
	}
	id := IDOf(data)
	tmp := Tmp + "/fetch-" + string(id) + "-" + strconv.FormatInt(int64(os.Getpid()), 36)
	w := NewWriter(root, tmp)
	defer w.Close()
	if err := w.Mkdir(Tmp); err != nil && !errors.Is(err, fs.ErrExist) {
		return saferoot.CannotWrite(Tmp, err)
	}
	_, _, err = w.Put(bytes.NewReader(data), tmp, -1)
	if err == nil {
		err = w.Sync()
	}
	if forgot := w.forget(); err == nil {
		err = forgot
	}
	return err
}
