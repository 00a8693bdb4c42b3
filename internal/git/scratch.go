package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// scratchDir is the folder in the repository in which private folders are made. git
// passes over it.
const scratchDir = "leslie-scratch"

// scratchLife is how old a private folder may become. Each is in use for a few git
// commands; one that is older belongs to a process that was killed.
const scratchLife = 24 * time.Hour

// scratch makes a private folder in the repository, and removes those that killed
// processes left. Where the repository cannot be written, the folder is a temporary one
// of the system, which cleans them up itself. Call remove when it is no longer needed.
func (r *Repo) scratch() (dir string, remove func(), err error) {
	parent := filepath.Join(r.Admin, scratchDir)
	if err = os.Mkdir(parent, 0o777); err == nil || errors.Is(err, fs.ErrExist) {
		dir, err = os.MkdirTemp(parent, "")
	}
	if err != nil {
		parent = os.TempDir()
		if dir, err = os.MkdirTemp(parent, "leslie-git-"); err != nil {
			return "", nil, writeFailed(parent, err)
		}
	} else {
		sweep(parent, dir)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// sweep removes the folders that are much older than a new one, by the clock of their
// file system.
func sweep(parent, latest string) {
	now, err := os.Lstat(latest)
	entries, readErr := os.ReadDir(parent)
	if err != nil || readErr != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && now.ModTime().Sub(info.ModTime()) > scratchLife {
			_ = os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
}
