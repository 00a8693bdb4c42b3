package code

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/internal/app"
	"leslie/internal/git"
	"leslie/store"
	"leslie/warnings"
)

// This file copies into a new worktree what git ignores and a project needs there: keys,
// local settings.

// includeFile, in the repository's main worktree, has patterns in the syntax of gitignore.
const includeFile = ".worktreeinclude"

// The limits of what is copied.
const (
	maxIncluded      = 1000
	maxIncludedBytes = 64 << 20
)

// CopyIncluded copies the files that includeFile names and git ignores, where the
// worktree has none. It warns of what it does not copy (W805). Errors: T801, T904.
func CopyIncluded(c *app.Call, repo *git.Repo, worktree string) error {
	patterns := filepath.Join(repo.Top, includeFile)
	if info, err := os.Lstat(patterns); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	paths, err := repo.Worktree(repo.Top, repo.Admin).Ignored(c.Context(), patterns)
	if err != nil {
		return err
	}
	from, err := os.OpenRoot(repo.Top)
	if err != nil {
		return nil
	}
	defer from.Close()
	to, err := os.OpenRoot(worktree)
	if err != nil {
		return nil
	}
	defer to.Close()
	var left []string
	files, room := 0, int64(maxIncludedBytes)
	for _, path := range paths {
		if slices.Contains(strings.Split(path, "/"), store.Dir) {
			continue // a second store would be found in the worktree
		}
		if _, err := to.Lstat(path); err == nil {
			continue
		}
		if files == maxIncluded {
			left = append(left, path)
			continue
		}
		n, err := copyFile(from, to, filepath.FromSlash(path), room)
		if err != nil {
			left = append(left, path)
			continue
		}
		files, room = files+1, room-n
	}
	if len(left) > 0 {
		c.Warn(warnings.NotCopied.NewOfPaths(left, nil))
	}
	return nil
}

// copyFile copies a regular file of at most room bytes that is not there yet.
func copyFile(from, to *os.Root, path string, room int64) (int64, error) {
	info, err := from.Lstat(path)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() || info.Size() > room {
		return 0, fs.ErrInvalid
	}
	in, err := from.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if err := to.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return 0, err
	}
	out, err := to.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, room))
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = to.Remove(path)
	}
	return n, err
}
