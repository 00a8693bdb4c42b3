package scan

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file reads single files. Each must be listed in the same ReadConsistent or ReadConsistentToWrite.

// OpenArtifact opens one of the thread's files, to be read piece by piece, however large
// it is. Errors: T507, T509 with fs.ErrNotExist in its chain where there is none.
func (a Artifacts) OpenArtifact(id thread.ThreadID, rel string) (io.ReadCloser, error) {
	root, err := a.openThread(id)
	if err != nil {
		return nil, saferoot.CannotRead(Place(id, rel), err)
	}
	defer root.Close()
	f, _, err := open(root, Place(id, ""), rel)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// ReadArtifact returns the content of one of the thread's files. Errors: as for
// OpenArtifact; T508.
func (a Artifacts) ReadArtifact(id thread.ThreadID, rel string) ([]byte, error) {
	root, err := a.openThread(id)
	if err != nil {
		return nil, saferoot.CannotRead(Place(id, rel), err)
	}
	defer root.Close()
	return read(root, Place(id, ""), rel, id)
}

// EachFile calls fn with each of the thread's files, each with its content, which ends
// with the call. An error of opening is fn's to judge; it is T509. An error of fn ends it
// and is returned. A file that is gone is left out. Errors: T507, T509.
func (a Artifacts) EachFile(id thread.ThreadID, fn func(rel string, content io.Reader, err error) error) error {
	_, err := a.inThread(id, func(root *os.Root) ([]Entry, error) {
		t := Tree{Root: root, At: Place(id, ""), Skip: Own}
		return nil, t.Walk("", 1, func(e Entry) error {
			if e.Type != TypeFile {
				return nil
			}
			f, _, err := saferoot.OpenIn(root, e.Path)
			switch {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, saferoot.ErrNotRegular):
				return nil
			case err != nil:
				return fn(e.Path, nil, saferoot.CannotRead(path.Join(t.At, e.Path), err))
			}
			defer f.Close()
			return fn(e.Path, f, nil)
		})
	})
	return err
}

// ReadWork returns a file with markers that a pending merge keeps for editors. Errors:
// as for ReadArtifact.
func (a Artifacts) ReadWork(id thread.MergeID, rel string) ([]byte, error) {
	if !saferoot.SingleName(string(id)) {
		return nil, codes.UnsafePath.New(fact.Of("path", Merges+"/"+string(id)))
	}
	at := path.Join(Merges, string(id), "work")
	root, err := a.disk.OpenFolder(at)
	if err != nil {
		return nil, saferoot.CannotRead(at, err)
	}
	defer root.Close()
	return read(root, at, rel, "")
}

func open(root *os.Root, at, rel string) (*os.File, fs.FileInfo, error) {
	if !fs.ValidPath(rel) || codes.Has(saferoot.RealFolder(root, rel), codes.UnsafePath) {
		return nil, nil, codes.UnsafePath.New(fact.Of("path", saferoot.Shown(at)+"/"+rel))
	}
	f, info, err := saferoot.OpenIn(root, rel)
	return f, info, saferoot.CannotRead(path.Join(at, rel), err)
}

func read(root *os.Root, at, rel string, id thread.ThreadID) ([]byte, error) {
	f, info, err := open(root, at, rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > content.MaxFile {
		return nil, content.TooLarge(rel, path.Join(at, rel), id)
	}
	data, err := io.ReadAll(io.LimitReader(f, content.MaxFile+1))
	switch {
	case err != nil:
		return nil, saferoot.CannotRead(path.Join(at, rel), err)
	case len(data) > content.MaxFile: // it grew
		return nil, content.TooLarge(rel, path.Join(at, rel), id)
	}
	return data, nil
}
