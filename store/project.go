package store

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"

	"leslie/codes"
	"leslie/fact"
)

// This file writes the one kind of file that leslie keeps outside its folder:
// a text in the project's root that people own, such as AGENTS.md.

// EditFile rewrites a file in the project's root: edit gets what is there (nil
// when there is no such file) and returns what is to be. The file is replaced
// as a whole, with its permissions; one that would not change is left alone. A
// link is followed as long as it stays inside the project. Errors: T507 for one
// that does not, T508 for a file over MaxFile, T505, T509.
func (s *Store) EditFile(name string, edit func(old []byte) []byte) (changed bool, err error) {
	path, err := s.insideProject(name)
	if err != nil {
		return false, err
	}
	old, mode, err := s.readText(path)
	if err != nil {
		return false, err
	}
	data := edit(old)
	if old != nil && bytes.Equal(old, data) {
		return false, nil
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".leslie-tmp")
	err = s.disk.write(tmp, os.O_TRUNC, mode, data)
	if err == nil {
		err = s.disk.rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return false, s.writeFailed(err)
	}
	return true, s.writeFailed(s.disk.syncDir(filepath.Dir(path)))
}

func (s *Store) readText(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, 0o644, nil
	case err != nil:
		return nil, 0, s.readFailed(err)
	case !info.Mode().IsRegular():
		return nil, 0, codes.WriteFailed.New(fact.Of("path", s.rel(path)), fact.Of("reason", "it is no regular file"))
	case info.Size() > MaxFile:
		return nil, 0, tooLarge("A file", s.rel(path), "")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, s.readFailed(err)
	}
	return append([]byte{}, data...), info.Mode().Perm(), nil
}

// insideProject resolves a name in the project's root, through links that stay
// inside it.
func (s *Store) insideProject(name string) (string, error) {
	path := filepath.Join(s.root, name)
	real, err := filepath.EvalSymlinks(path)
	if os.IsNotExist(err) {
		if _, err := os.Lstat(path); err == nil {
			return "", codes.UnsafePath.New(fact.Of("path", name)).WithHint("The link leads to nothing; remove it or create its target")
		}
		return path, nil
	}
	if err != nil {
		return "", s.readFailed(err)
	}
	root, err := filepath.EvalSymlinks(s.root)
	if err != nil {
		return "", s.readFailed(err)
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", codes.UnsafePath.New(fact.Of("path", name)).WithHint("The file is a link that leads outside the project")
	}
	return real, nil
}
