package store

import (
	"os"
	"path/filepath"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/saferoot"
)

// This file finds the store of a folder, as git finds its repository. A folder of
// another user, or behind a mount point, belongs to somebody else: using it would run
// a stranger's configuration.

// Find returns the store that start belongs to: that of start, otherwise of the
// nearest folder above it. In a linked git worktree the folders of the main worktree in
// the same places come before those above the linked one.
// A folder has a store if its .leslie, a real folder, has the state file, its backup
// or its lock. The user's home (Options.Home) has none: its .leslie is configuration.
//
// The search upwards ends at the file system's border or at a folder that belongs to
// another user than the caller or root; a .leslie above start that does is skipped.
// root may use any. On Windows neither is checked: the search ends at the drive.
//
// Error: T504 with the facts dir and searched.
func Find(start string, opts Options) (*Store, error) {
	dir, err := physical(start)
	if err != nil {
		return nil, codes.NotInitialized.Wrap(err, fact.Of("dir", start), fact.Of("searched", []string{start}))
	}
	w := walk{home: opts.Home, start: dir}
	if root := w.up(); root != "" {
		return Open(root, opts), nil
	}
	return nil, codes.NotInitialized.New(fact.Of("dir", dir), fact.Of("searched", w.searched))
}

// physical is the folder without links, so that the way up is the real one.
func physical(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// walk is one search and what it saw.
type walk struct {
	home     string
	start    string
	searched []string
	gitFile  string // the nearest .git, "" before one was seen
}

// up looks in start and in the folders above it.
func (w *walk) up() (root string) {
	for dir := w.start; ; dir = filepath.Dir(dir) {
		if dir != w.start && !sameGround(w.start, dir) {
			return ""
		}
		if w.has(dir) {
			return dir
		}
		if git := filepath.Join(dir, ".git"); w.gitFile == "" && exists(git) {
			w.gitFile = git
			if root := w.mainWorktree(dir); root != "" {
				return root
			}
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// has reports whether dir has a store that is the caller's to use.
func (w *walk) has(dir string) bool {
	w.searched = append(w.searched, dir)
	if sameFolder(dir, w.home) {
		return false
	}
	place := filepath.Join(dir, Dir)
	info, err := os.Lstat(place)
	if err != nil || !info.IsDir() || dir != w.start && !trusted(info) {
		return false
	}
	for _, name := range []string{StateFile, BackupFile, LockFile} {
		if exists(filepath.Join(place, name)) {
			return true
		}
	}
	return false
}

// mainWorktree looks in the main worktree of the linked one at top, for the store of a
// folder in the same place as start or above it.
func (w *walk) mainWorktree(top string) (root string) {
	gitDir, ok := pointer(w.gitFile, "gitdir:")
	if !ok {
		return ""
	}
	common, ok := pointer(filepath.Join(gitDir, "commondir"), "")
	if !ok || filepath.Base(common) != ".git" {
		return "" // a submodule, or a bare repository
	}
	main := filepath.Dir(common)
	below, err := filepath.Rel(top, w.start)
	if err != nil {
		return ""
	}
	for ; ; below = filepath.Dir(below) {
		dir := filepath.Join(main, below)
		if info, err := os.Stat(dir); err == nil && trusted(info) && w.has(dir) {
			return dir
		}
		if below == "." {
			return ""
		}
	}
}

// pointer reads a file of git's that names a path, relative to its own folder.
func pointer(file, prefix string) (path string, ok bool) {
	if file == "" {
		return "", false
	}
	f, info, err := saferoot.OpenRegular(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if info.Size() > 1<<16 {
		return "", false
	}
	data := make([]byte, info.Size())
	if _, err := f.ReadAt(data, 0); err != nil {
		return "", false
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(string(data)), prefix)
	text = strings.TrimSpace(text)
	if !ok || text == "" {
		return "", false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(filepath.Dir(file), text)
	}
	return filepath.Clean(text), true
}

func sameFolder(a, b string) bool {
	if b == "" {
		return false
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
