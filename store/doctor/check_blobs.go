package doctor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"leslie/store"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/thread"
)

// This file verifies every blob, and looks for the blobs that records name. Missing or
// damaged content may also exist as an artifact or in a frozen copy, and is restored
// from there: its hash proves that it is the same.

// badBlob is a blob that is missing or damaged.
type badBlob struct {
	id      thread.BlobID
	by      *namedBlob // who names it, nil for nobody
	size    int64      // -1: not known
	damaged bool       // else missing
	source  string     // where the same content is, "" for nowhere
}

// blobs finds damaged and missing blobs.
func (x *examination) blobs() error {
	if x.now == nil {
		return nil // nobody knows what is named
	}
	cases, err := x.damagedBlobs()
	if err != nil {
		return err
	}
	x.missingBlobs(cases)
	if len(cases) == 0 {
		return nil
	}
	if err := x.salvage(cases); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(cases)) {
		x.reportBlob(cases[id])
	}
	x.badBlobs = cases
	return nil
}

func (x *examination) reportBlob(c *badBlob) {
	code, what := "T509", "its content is not what its name says"
	if !c.damaged {
		what = "it is missing"
	}
	if c.by != nil {
		what += "; it is " + c.by.By
		if c.by.table == thread.TableReferences {
			code = "T202"
		}
	} else {
		what += "; no record names it"
	}
	repair := func(m *repairRun) error { return m.blob(c) }
	f := Finding{Code: code, Path: content.Path(c.id), Message: what, Repairable: true}
	switch {
	case c.source != "":
		f.Message += "; the same content is in " + c.source
	case c.by != nil:
		f.Repairable = false
		if !c.damaged {
			repair = nil
		}
	}
	x.add(f, repair)
}

// damagedBlobs verifies all blobs, except those that an earlier look in this run
// verified.
func (x *examination) damagedBlobs() (map[thread.BlobID]*badBlob, error) {
	cases := map[thread.BlobID]*badBlob{}
	base, err := x.files.OpenBase()
	if err != nil {
		x.unreadableAt(store.BlobsDir, err)
		return cases, nil
	}
	defer base.Close()
	if err := saferoot.RealFolder(base, content.Sums); err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, saferoot.ErrNotFolder) {
			x.unreadableAt(content.Sums, err)
		}
		return cases, nil
	}
	shelves := x.blobNames(base, content.Sums)
	for i, shelf := range shelves {
		x.progress("checking blobs", i, len(shelves))
		at := path.Join(content.Sums, shelf)
		for _, name := range x.blobNames(base, at) {
			if err := saferoot.Stopped(x.ctx); err != nil {
				return nil, err
			}
			id := thread.BlobID(shelf + name)
			switch {
			case saferoot.IsAside(name):
				x.setAside(path.Join(at, name))
			case len(shelf) != 2 || !content.Valid(id):
				x.note("W204", path.Join(at, name), "it is not leslie's")
			case !x.seen.blobs[id]:
				x.readBlob(base, id, cases)
			}
		}
	}
	return cases, nil
}

// blobNames are the names in a folder of blobs.
func (x *examination) blobNames(base *os.Root, folder string) []string {
	info, err := base.Lstat(folder)
	switch {
	case err == nil && !info.IsDir() && saferoot.IsAside(folder):
		x.setAside(folder)
	case err == nil && !info.IsDir():
		x.note("W204", folder, "it is not leslie's")
	}
	names, err := saferoot.ReadNames(base, folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.unreadableAt(folder, err)
	}
	return names
}

func (x *examination) readBlob(base *os.Root, id thread.BlobID, cases map[thread.BlobID]*badBlob) {
	err := content.Verify(base, id)
	switch {
	case err == nil:
		x.seen.blobs[id] = true
	case store.IsDamaged(err), errors.Is(err, saferoot.ErrNotRegular):
		cases[id] = &badBlob{id: id, damaged: true, size: -1}
	case !errors.Is(err, fs.ErrNotExist):
		x.seen.blobs[id] = false
		x.unreadableAt(content.Path(id), err)
	}
}

// missingBlobs adds the missing blobs that records, or lists in blobs, name; for
// damaged ones it finds out what names them.
func (x *examination) missingBlobs(cases map[thread.BlobID]*badBlob) {
	asked := map[thread.BlobID]bool{}
	for _, b := range x.records.blobs {
		x.need(sizedBlob{b, -1}, cases, asked)
	}
}

func (x *examination) need(b sizedBlob, cases map[thread.BlobID]*badBlob, asked map[thread.BlobID]bool) {
	if c := cases[b.ID]; c != nil {
		c.size = max(c.size, b.size)
		if c.by == nil || c.by.table != thread.TableReferences && b.table == thread.TableReferences {
			c.by = &b.namedBlob
		}
		return
	}
	sound, looked := x.seen.blobs[b.ID]
	switch {
	case asked[b.ID], !looked && x.files.Connected() && content.Valid(b.ID): // the log has it
	case sound:
		asked[b.ID] = true
		for _, inner := range x.namedBy(b.namedBlob) {
			x.need(inner, cases, asked)
		}
	case !looked && (!content.Valid(b.ID) || x.missing(content.Path(b.ID))):
		cases[b.ID] = &badBlob{id: b.ID, by: &b.namedBlob, size: b.size}
	}
}

// sizedBlob is a blob named by a list, with its size if the list has it.
type sizedBlob struct {
	namedBlob
	size int64
}

// namedBy returns the blobs that a list in a blob names.
func (x *examination) namedBy(b namedBlob) []sizedBlob {
	if b.Kind != thread.BlobManifest && b.Kind != thread.BlobUndo {
		return nil
	}
	data, err := x.Store.Blob(b.ID)
	var out []sizedBlob
	if err == nil {
		out, err = namedIn(b, data)
	}
	if err != nil && b.Kind == thread.BlobManifest {
		x.permanent("T202", content.Path(b.ID), "it is not a list of files, although it is "+b.By)
	} else if err != nil {
		x.permanent("T509", content.Path(b.ID), "it is not a list of replaced files, although it is "+b.By)
	}
	return out
}

// namedIn returns the blobs that the content of a blob names, if it is a list.
func namedIn(b namedBlob, data []byte) (out []sizedBlob, err error) {
	switch b.Kind {
	case thread.BlobManifest:
		var m content.Manifest
		m, err = content.Decode(data)
		for _, f := range m {
			out = append(out, sizedBlob{namedBlob{contentBlob(f.SHA256, f.Path, b.By), b.table}, f.Size})
		}
	case thread.BlobUndo:
		var files []replacedFile
		err = json.Unmarshal(data, &files)
		for _, f := range files {
			if f.Before != "" {
				out = append(out, sizedBlob{namedBlob{contentBlob(f.Before, f.Path, b.By), b.table}, -1})
			}
		}
	}
	return out, err
}

func contentBlob(id thread.BlobID, path, by string) thread.NamedBlob {
	return thread.NamedBlob{ID: id, Kind: thread.BlobContent, By: "'" + path + "' in " + by}
}

// replacedFile is an entry of the list of files that a merge replaced, as in
// docs/internals/store.md; undo does not need what the merge wrote there.
type replacedFile struct {
	Path   string        `json:"path"`
	Before thread.BlobID `json:"before"` // "" for no file
}

// errFound ends a search.
var errFound = errors.New("everything was found")

// salvage searches for the content of blobs in the threads' files, frozen copies,
// files to edit, and blobs with wrong names.
func (x *examination) salvage(cases map[thread.BlobID]*badBlob) error {
	base, err := x.files.OpenBase()
	if err != nil {
		return nil
	}
	defer base.Close()
	look := search{x: x, base: base, cases: cases, left: len(cases), sizes: map[int64]bool{}}
	for _, c := range cases {
		look.sizes[c.size] = true
	}
	for _, top := range []string{store.ThreadsDir, store.MergesDir, store.BlobsDir} {
		names, _ := saferoot.ReadNames(base, top)
		for _, name := range names {
			// A folder that cannot be read is skipped.
			_ = scan.Tree{Root: base}.Walk(path.Join(top, name), 2, look.visit)
			if look.left == 0 || saferoot.Stopped(x.ctx) != nil {
				return saferoot.Stopped(x.ctx)
			}
		}
	}
	return nil
}

// search is one search for the content of blobs.
type search struct {
	x     *examination
	base  *os.Root
	cases map[thread.BlobID]*badBlob
	left  int            // how many are not found yet
	sizes map[int64]bool // that they have; -1: any
}

func (l *search) visit(e store.Entry) error {
	switch {
	case l.left == 0 || saferoot.Stopped(l.x.ctx) != nil:
		return errFound
	case e.Type != store.TypeFile || !l.sizes[-1] && !l.sizes[e.Size] || l.x.soundBlobAt(e.Path):
		return nil
	}
	is, err := content.FileID(l.base, e.Path)
	if c := l.cases[is]; err == nil && c != nil && c.source == "" {
		c.source = e.Path
		l.left--
	}
	return nil
}

func (x *examination) soundBlobAt(rel string) bool {
	name, ok := strings.CutPrefix(rel, content.Sums+"/")
	return ok && x.seen.blobs[thread.BlobID(strings.ReplaceAll(name, "/", ""))]
}

// blob moves the damaged blob aside and restores the content where it was found.
func (m *repairRun) blob(c *badBlob) error {
	delete(m.seen.blobs, c.id)
	if c.damaged {
		if err := m.aside(content.Path(c.id)); err != nil {
			return err
		}
	}
	if c.source == "" {
		return nil
	}
	_, err := content.Keep(m.w.Disk, c.source)
	if err == nil && saferoot.Exists(m.Store.Path(content.Path(c.id))) {
		m.did("restored %s from %s", saferoot.Shown(content.Path(c.id)), saferoot.Shown(c.source))
	}
	return err
}
