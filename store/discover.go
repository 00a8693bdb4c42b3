package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
		return nil, folderGone(start, codes.NotInitialized.Wrap(err, fact.Of("dir", start), fact.Of("searched", []string{start})))
	}
	w := walk{home: opts.Home, start: dir}
	if root := w.up(); root != "" {
		return Open(root, opts), nil
	}
	none := codes.NotInitialized.New(fact.Of("dir", dir), fact.Of("searched", w.searched))
	if w.atHome {
		none = none.WithHint("The store of the home folder is used only where LESLIE_CONFIG or XDG_CONFIG_HOME names another place for your own " +
			"configuration, which " + Dir + " in the home folder has otherwise").WithNext("leslie help configuration")
	} else if sameFolder(dir, w.home) {
		none = none.WithHint("The home folder cannot be a project where its " + Dir + " has your own configuration. Go to the folder of a project, then leslie init").
			WithNext("leslie help configuration")
	} else if repo, ok := pointer(w.gitFile, "gitdir:"); ok && !saferoot.Exists(repo) {
		none = none.WithHint("This is a worktree of the repository " + repo + ", which is not there. If the project was moved, go where it is: leslie code repair " +
			"finds its worktrees").WithNext("leslie help code")
	} else if sign, was := w.sign(); sign != "" {
		if was {
			sign = "A store was here: " + sign
		} else {
			sign = "This is a project of leslie: " + sign + ", but no store is here"
		}
		name := "NAME on one that has lost its copy"
		if had := w.machine(); had != "" {
			name = had + " makes the copy again that was lost here"
		}
		none = none.WithHint(sign + ". In a clone of a project on several machines: leslie connect URL, with the URL that leslie remote status " +
			"shows on another one; leslie connect URL --machine " + name + ". If the store was here, bring its folder " + Dir +
			" back from a copy, or work where it is. In another copy of the project a person decides which store it has").
			WithNext("leslie help connect")
	}
	return nil, none
}

// folderGone says of a folder that is not there what it was, if that can be told.
func folderGone(dir string, none *codes.Error) *codes.Error {
	if saferoot.Exists(dir) && dir != "." {
		return none
	}
	hint := "The folder in which you are was removed. Go to the project"
	for up := filepath.Dir(dir); up != filepath.Dir(up); up = filepath.Dir(up) {
		if project, ok := strings.CutSuffix(up, ".worktrees"); ok && Holds(project) {
			hint += " in " + project + "; leslie code shows there which threads have lost their worktree, and leslie code restore ID makes one again"
			break
		}
	}
	return none.WithHint(hint).WithNext("leslie help code")
}

// sign says what shows that one of the searched folders had a store, was, or belongs to a project that has one, "" if
// nothing does.
func (w *walk) sign() (sign string, was bool) {
	for _, dir := range w.searched {
		if sameFolder(dir, w.home) {
			continue
		}
		if file := filepath.Join(dir, "AGENTS.md"); fileHas(file, "<!-- leslie:begin") {
			return file + " has the block of leslie", false
		}
		if git := filepath.Join(dir, ".git"); hasFile(filepath.Join(git, "refs", "leslie")) || fileHas(filepath.Join(git, "packed-refs"), " refs/leslie/") {
			return git + " has refs of leslie", true
		}
	}
	return "", false
}

// machine is the name that this machine had in a project whose store is gone from one of the searched folders, "" where
// nothing says it.
func (w *walk) machine() string {
	for _, dir := range w.searched {
		if name, err := Open(dir, Options{}).Machine(); err == nil && name != "" {
			return name
		}
	}
	return ""
}

// hasFile reports whether there is a file in a folder or below.
func hasFile(dir string) bool {
	found := errors.New("found")
	return filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			return found
		}
		return err
	}) == found
}

// fileHas reports whether a file of a usual size has a text.
func fileHas(path, text string) bool {
	f, info, err := saferoot.OpenRegular(path)
	if err != nil || info.Size() > 1<<24 {
		return false
	}
	defer f.Close()
	data := make([]byte, info.Size())
	_, err = f.ReadAt(data, 0)
	return err == nil && strings.Contains(string(data), text)
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
	atHome   bool   // the home folder, which is not searched, has a store
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
		if git := filepath.Join(dir, ".git"); w.gitFile == "" && saferoot.Exists(git) {
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
		w.atHome = Holds(dir)
		return false
	}
	info, err := os.Lstat(filepath.Join(dir, Dir))
	return err == nil && (dir == w.start || trusted(info)) && holds(dir, info)
}

// Holds reports whether a folder has a store.
func Holds(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, Dir))
	return err == nil && holds(dir, info)
}

// holds is Holds for a folder in which something with this info has the name of a store.
func holds(dir string, info os.FileInfo) bool {
	return info.IsDir() && slices.ContainsFunc([]string{StateFile, BackupFile, LockFile}, func(name string) bool {
		return saferoot.Exists(filepath.Join(dir, Dir, name))
	})
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
