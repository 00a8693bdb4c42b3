package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file turns what the operating system says into codes. The cause is kept:
// errors.Is reaches ENOSPC through a T505.

// writeFailed is T505 for a failed step; a coded error stays what it is.
func (s *Store) writeFailed(err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	path, reason := s.told(err)
	return codes.WriteFailed.Wrap(err, fact.Of("path", path), fact.Of("reason", reason))
}

// readFailed is T509 for a file that is there and cannot be read; a coded error
// stays what it is. It says nothing about what the file holds, so nothing is
// recovered behind it.
func (s *Store) readFailed(err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	path, reason := s.told(err)
	return codes.ReadFailed.Wrap(err, fact.Of("path", path), fact.Of("reason", reason))
}

// told takes an error apart: the path, relative to the project where it lies
// inside it, and the bare reason.
func (s *Store) told(err error) (path, reason string) {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		return s.rel(pathErr.Path), root(pathErr.Err).Error()
	case errors.As(err, &linkErr):
		return s.rel(linkErr.New), root(linkErr.Err).Error()
	}
	return Dir, err.Error()
}

// root is the innermost error of a chain of path errors.
func root(err error) error {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		return root(pathErr.Err)
	case errors.As(err, &linkErr):
		return root(linkErr.Err)
	}
	return err
}

// rel is a path as answers show it: relative to the project's root, with "/".
func (s *Store) rel(path string) string {
	if !filepath.IsAbs(path) {
		return filepath.ToSlash(path)
	}
	rel, err := filepath.Rel(s.root, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}
