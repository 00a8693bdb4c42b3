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

// This file turns errors of the operating system into codes. The cause is kept:
// errors.Is finds ENOSPC in a T505.

// writeFailed returns T505 for a failed step; it returns a coded error unchanged.
func (s *Store) writeFailed(err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	path, reason := s.told(err)
	return codes.WriteFailed.Wrap(err, fact.Of("path", path), fact.Of("reason", reason))
}

// readFailed returns T509 for a file that exists and cannot be read; it returns a
// coded error unchanged. T509 says nothing about the file's content, so nothing is
// recovered because of it.
func (s *Store) readFailed(err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	path, reason := s.told(err)
	return codes.ReadFailed.Wrap(err, fact.Of("path", path), fact.Of("reason", reason))
}

// told splits an error into the path, relative to the project if it is inside it, and
// the plain reason.
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
