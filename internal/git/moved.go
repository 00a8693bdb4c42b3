package git

import (
	"os"
	"path/filepath"
	"strings"
)

// This file finds worktrees again that somebody moved, or whose repository somebody moved,
// without git knowing. A worktree and its folder in the repository name each other; after a
// move one of them, or both, name a place where nothing is.

// IsAt reports whether a folder has the worktree's files. was is its folder in the
// repository before the repository was moved. A folder that belongs to a repository which
// is there, of which this one is a copy, is not the worktree's: only a copy of it is.
func (w Worktree) IsAt(dir, was string) bool {
	named := gitdirOf(dir)
	if named == "" || named != w.Admin && named != was {
		return false
	}
	place := placeOf(named)
	elsewhere := place != "" && !sameFolder(place, dir) && there(filepath.Join(place, ".git"))
	switch {
	case named == w.Admin:
		return !elsewhere // else dir is a copy of it
	case !there(named):
		return true
	}
	return elsewhere // named is another repository's
}

// LinkBothWays has the worktree's folder and its folder in the repository name each other again.
// The same call again finishes it. Error: T505.
func (w Worktree) LinkBothWays() (changed bool, err error) {
	if place := placeOf(w.Admin); place == "" || !sameFolder(place, w.Dir) {
		changed = true
		if err := os.WriteFile(filepath.Join(w.Admin, "gitdir"), []byte(filepath.Join(w.Dir, ".git")+"\n"), 0o666); err != nil {
			return false, writeFailed(w.Admin, err)
		}
	}
	if gitdirOf(w.Dir) != w.Admin {
		return true, w.link(filepath.Join(w.Dir, ".git"))
	}
	return changed, nil
}

// Has reports whether the repository has the worktree's folder, with this branch.
func (w Worktree) Has(branch string) bool {
	head, err := os.ReadFile(filepath.Join(w.Admin, "HEAD"))
	return err == nil && strings.TrimSpace(string(head)) == "ref: refs/heads/"+branch
}

// gitdirOf returns the folder in a repository that a worktree's .git file names, "" for none.
func gitdirOf(dir string) string {
	name := filepath.Join(dir, ".git")
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return ""
	}
	text, err := os.ReadFile(name)
	path, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

func sameFolder(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
