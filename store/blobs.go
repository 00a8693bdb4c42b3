package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file stores content: blobs/sha256/ab/cdef..., each named by the SHA-256 of its
// bytes (the first two hexadecimal digits are a folder), read-only and written once. A
// blob gets its name by rename when its bytes are durable, so a named blob was whole
// once; every read verifies it against its name.
//
// Only doctor --repair removes blobs, those that nothing names: collect.go. A blob that does not match its name, through damage or
// because somebody changed it, is never returned, and is replaced when the same
// content is stored again: content that is about to be displaced must not rely on a
// blob that was not verified since it was written.

const blobsRoot = BlobsDir + "/sha256"

// ErrDamaged is in the chain of the T509 for a blob whose bytes do not match its name,
// and for a manifest that cannot be parsed.
var ErrDamaged = errors.New("not the content that was stored")

// Blob returns the verified content of a blob. Errors: T509, with fs.ErrNotExist in
// its chain if the blob is missing and ErrDamaged if it does not match its name; T508
// for one larger than MaxFile.
func (s *Store) Blob(id thread.BlobID) ([]byte, error) {
	base, err := s.disk.OpenBase()
	if err != nil {
		return nil, saferoot.CannotRead(blobPath(id), err)
	}
	defer base.Close()
	return readBlob(base, id)
}

// CheckBlob reads a blob of any size and compares it with its name. Errors as for
// Blob, without T508.
func (s *Store) CheckBlob(id thread.BlobID) error {
	base, err := s.disk.OpenBase()
	if err != nil {
		return saferoot.CannotRead(blobPath(id), err)
	}
	defer base.Close()
	f, _, err := openBlob(base, id)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return saferoot.CannotRead(blobPath(id), err)
	}
	return fitsName(id, sum)
}

func readBlob(base *os.Root, id thread.BlobID) ([]byte, error) {
	if err := blobsStand(base, id); err != nil {
		return nil, err
	}
	return readContent(base, blobPath(id), id)
}

// readContent reads a blob, by its name in an open folder.
func readContent(in *os.Root, name string, id thread.BlobID) ([]byte, error) {
	at := blobPath(id)
	f, info, err := saferoot.OpenIn(in, name)
	if err != nil {
		return nil, saferoot.CannotRead(at, err)
	}
	defer f.Close()
	if info.Size() > MaxFile {
		return nil, tooLarge(saferoot.Shown(at), at, "")
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(data, sum), io.LimitReader(f, MaxFile+1)); err != nil {
		return nil, saferoot.CannotRead(at, err)
	}
	return data.Bytes(), fitsName(id, sum)
}

// mustBeBlob rejects invalid blob names.
func mustBeBlob(id thread.BlobID) error {
	if !validBlob(id) {
		return saferoot.CannotRead(blobsRoot, &fs.PathError{Op: "open", Path: string(id), Err: ErrDamaged})
	}
	return nil
}

// blobsStand rejects invalid blob names, and a blob folder that is not a real folder.
func blobsStand(base *os.Root, id thread.BlobID) error {
	if err := mustBeBlob(id); err != nil {
		return err
	}
	if err := saferoot.RealFolder(base, blobsRoot); err != nil {
		return saferoot.CannotRead(blobPath(id), err)
	}
	return nil
}

func openBlob(base *os.Root, id thread.BlobID) (*os.File, fs.FileInfo, error) {
	if err := blobsStand(base, id); err != nil {
		return nil, nil, err
	}
	f, info, err := saferoot.OpenIn(base, blobPath(id))
	if err != nil {
		return nil, nil, saferoot.CannotRead(blobPath(id), err)
	}
	return f, info, nil
}

func fitsName(id thread.BlobID, sum hash.Hash) error {
	if blobID(sum) != id {
		return saferoot.CannotRead(blobPath(id), ErrDamaged)
	}
	return nil
}

func blobID(sum hash.Hash) thread.BlobID { return thread.BlobID(hex.EncodeToString(sum.Sum(nil))) }

// blobPath returns the path of a blob in the store's folder.
func blobPath(id thread.BlobID) string {
	if !validBlob(id) {
		return blobsRoot
	}
	return path.Join(blobsRoot, string(id[:2]), string(id[2:]))
}

func validBlob(id thread.BlobID) bool {
	if len(id) != 2*sha256.Size {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// blobWriter stores content. It writes under temporary names in its own folder, which
// it creates with the first blob; settle makes the blobs durable, several at once, and
// names them.
type blobWriter struct {
	*saferoot.Root
	tmp     string                   // where temporary files lie, relative to the store's folder
	n       int                      // how many were written
	unnamed map[thread.BlobID]string // where those lie that have no name yet
	kept    Manifest                 // what keep stored
}

func newBlobWriter(root *saferoot.Root, tmp string) *blobWriter {
	return &blobWriter{Root: root, tmp: tmp, unnamed: map[thread.BlobID]string{}}
}

// put stores the content of src, up to limit bytes, and returns its name and size. It
// reads src once to check whether the blob exists, and again to write it if not; if
// src changes in between, the written bytes count, and the name matches them. On
// failure no blob has appeared. from names what is read, for errors. Errors: T505,
// T508, T509.
func (w *blobWriter) put(src io.ReadSeeker, from string, limit int64) (thread.BlobID, int64, error) {
	in := &source{r: src, from: from, limit: limit}
	sum := sha256.New()
	size, err := io.Copy(sum, in)
	if err != nil {
		return "", 0, err
	}
	if id := blobID(sum); w.present(id, size) {
		return id, size, w.rely(id)
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return "", 0, saferoot.CannotRead(from, err)
	}
	return w.add(&source{r: src, from: from, limit: limit})
}

// present reports whether the blob exists and is whole.
func (w *blobWriter) present(id thread.BlobID, size int64) bool {
	if _, written := w.unnamed[id]; written {
		return true
	}
	at := blobPath(id)
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
	return err == nil && blobID(sum) == id
}

// rely makes sure that the name of an existing blob is durable after the folders are
// settled, because another process may just have stored it.
func (w *blobWriter) rely(id thread.BlobID) error {
	dir := path.Dir(blobPath(id))
	if err := w.Ensure(dir); err != nil {
		return err
	}
	w.Touch(dir)
	return nil
}

// add writes a blob to a temporary file; the blob gets its name when its bytes are
// durable.
func (w *blobWriter) add(in *source) (thread.BlobID, int64, error) {
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
	id := blobID(sum)
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
func (w *blobWriter) giveNames() error {
	if err := w.SyncFiles(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(w.unnamed)) {
		err := w.clear(blobPath(id))
		if err == nil {
			err = w.Rename(w.unnamed[id], blobPath(id))
		}
		if err != nil {
			return saferoot.CannotWrite(blobPath(id), err)
		}
	}
	clear(w.unnamed)
	return nil
}

// Sync makes all blobs durable under their names, and everything else that was
// written. Errors: T505.
func (w *blobWriter) Sync() error {
	if err := w.giveNames(); err != nil {
		return err
	}
	return w.Root.Sync()
}

// read returns the content of a blob that may not have its name yet. Errors as for
// Store.Blob.
func (w *blobWriter) read(id thread.BlobID) ([]byte, error) {
	if own, written := w.unnamed[id]; written {
		in, name := w.At(own)
		return readContent(in, name, id)
	}
	if err := mustBeBlob(id); err != nil {
		return nil, err
	}
	if err := w.Reach(path.Dir(blobPath(id))); err != nil {
		return nil, saferoot.CannotRead(blobPath(id), err)
	}
	in, name := w.At(blobPath(id))
	return readContent(in, name, id)
}

// clear moves a folder with a blob's name aside, because no rename could replace it.
func (w *blobWriter) clear(rel string) error {
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
		return 0, tooLarge(saferoot.Shown(s.from), s.from, "")
	}
	if err != nil && err != io.EOF {
		err = saferoot.CannotRead(s.from, err)
	}
	return n, err
}

// keepTree stores every regular file at or below dir, an absolute path in the store's
// folder, as a durable blob: leslie never loses what it replaces or removes. Links and
// other special files have no content; files of any size are stored. A missing dir is
// fine. The caller must hold the store's lock. Errors: T505, T507, T509.
func (s *Store) keepTree(dir string) error {
	_, err := s.keepListed(dir)
	return err
}

// keepListed is keepTree; it lists what it kept, by its place in dir.
func (s *Store) keepListed(dir string) (Manifest, error) {
	rel, err := filepath.Rel(s.Path(""), dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, codes.UnsafePath.New(fact.Of("path", dir))
	}
	root, err := s.disk.Open()
	if err != nil {
		return nil, saferoot.CannotRead(filepath.ToSlash(rel), err)
	}
	w := newBlobWriter(root, TmpDir+"/keep")
	defer w.Close()
	if err := w.forget(); err != nil {
		return nil, err
	}
	if err := w.keep(filepath.ToSlash(rel)); err != nil {
		_ = w.forget()
		return nil, err
	}
	if err := w.Sync(); err != nil {
		return nil, err
	}
	for i := range w.kept {
		w.kept[i].Path = strings.TrimPrefix(w.kept[i].Path, filepath.ToSlash(rel)+"/")
	}
	return w.kept, w.forget()
}

// forget removes the temporary folder, this call's or a dead one's.
func (w *blobWriter) forget() error {
	w.DropFiles()
	if _, err := w.Lstat(w.tmp); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := w.RemoveAll(w.tmp); err != nil {
		return saferoot.CannotWrite(w.tmp, err)
	}
	return nil
}

func (w *blobWriter) keep(rel string) error {
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

func (w *blobWriter) keepFile(rel string) error {
	f, _, err := saferoot.OpenIn(w.Base(), rel)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, saferoot.ErrNotRegular) {
		return nil
	}
	if err != nil {
		return saferoot.CannotRead(rel, err)
	}
	defer f.Close()
	id, size, err := w.put(f, rel, -1)
	if err == nil {
		w.kept = append(w.kept, FileAt{Path: rel, SHA256: id, Size: size})
	}
	return err
}

// tooLarge returns T508 for a file over MaxFile.
func tooLarge(what, rel string, id thread.ThreadID) error {
	facts := []fact.Fact{fact.Of("what", what), fact.Of("limit", "64 MiB"), fact.Of("path", saferoot.Shown(rel))}
	if id != "" {
		facts = append(facts, fact.Of("threadId", id))
	}
	return codes.TooLarge.New(facts...)
}
