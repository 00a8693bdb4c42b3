package store

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/warnings"
)

// This file writes the one kind of file that leslie keeps outside its folder: a text
// in the project's root that belongs to people, such as AGENTS.md.

// EditFile rewrites a file in the project's root. edit receives the content (nil if
// there is no such file) and returns the new content; it may run twice. The file is
// replaced as a whole, with its permissions, under the store's lock; a file that would
// not change is not written. A link is followed if it stays inside the project. W505
// reports what a power cut may undo. Errors, which leave the file unchanged: T507 for
// a link that leads outside, T508 for a file over MaxFile, T501, T505, T509, T904.
func (s *Store) EditFile(ctx context.Context, wait Wait, name string, edit func(old []byte) []byte) (changed bool, notes warnings.List, err error) {
	if _, same, err := s.edited(name, edit); same || err != nil {
		return false, nil, err
	}
	w, err := s.files.Lock(ctx, wait)
	if err != nil {
		return false, nil, err
	}
	defer w.Unlock()
	file, same, err := s.edited(name, edit) // somebody may have saved it meanwhile
	if same || err != nil {
		return false, nil, err
	}
	if err := w.DropTemporary(); err != nil {
		return false, nil, err
	}
	if err := s.disk.WriteFailed(s.disk.ReplaceWith(file)); err != nil {
		return false, nil, err
	}
	w.DoneOrWarn(&notes, "making "+name+" durable", s.disk.SyncDir(filepath.Dir(file.Path)))
	return true, notes, nil
}

// edited returns a file as it is to be; same reports whether it is so already. Errors:
// T505, T507, T508, T509.
func (s *Store) edited(name string, edit func(old []byte) []byte) (file saferoot.NewFile, same bool, err error) {
	path, err := s.insideProject(name)
	if err != nil {
		return file, false, err
	}
	old, mode, err := s.readText(path)
	if err != nil {
		return file, false, err
	}
	file = s.disk.NewFile("", edit(old))
	file.Path, file.Perm, file.Exact = path, mode, old != nil
	return file, old != nil && bytes.Equal(old, file.Parts[0]), nil
}

func (s *Store) readText(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, 0o644, nil
	case err != nil:
		return nil, 0, s.disk.ReadFailed(err)
	case !info.Mode().IsRegular():
		return nil, 0, codes.WriteFailed.New(fact.Of("path", s.disk.Relative(path)), fact.Of("reason", "it is not a regular file"))
	case info.Size() > MaxFile:
		return nil, 0, content.TooLarge("A file", s.disk.Relative(path), "")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, s.disk.ReadFailed(err)
	}
	return append([]byte{}, data...), info.Mode().Perm(), nil
}

// insideProject resolves a name in the project's root, through links that stay
// inside it.
func (s *Store) insideProject(name string) (string, error) {
	path := filepath.Join(s.disk.Project, name)
	real, err := filepath.EvalSymlinks(path)
	if os.IsNotExist(err) {
		if _, err := os.Lstat(path); err == nil {
			return "", codes.UnsafePath.New(fact.Of("path", name)).WithHint("The link has no target: remove it or create its target")
		}
		return path, nil
	}
	if err != nil {
		return "", s.disk.ReadFailed(err)
	}
	root, err := filepath.EvalSymlinks(s.disk.Project)
	if err != nil {
		return "", s.disk.ReadFailed(err)
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", codes.UnsafePath.New(fact.Of("path", name)).WithHint("The file is a link that leads outside the project")
	}
	return real, nil
}
