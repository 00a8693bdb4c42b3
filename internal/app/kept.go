package app

import (
	"path/filepath"
	"strings"
)

// This file finds stores that are kept beside that of a project, as they were before this machine rejoined the project's
// log, or came back to it.

// Why a store is kept, which the name of its folder has: it had operations that the log lacks, or was one of its own.
const (
	KeptParted = "parted"
	KeptOwn    = "own"
)

// UnfinishedMark is a file in the folder of a store that is kept, or is going to be, until all that belongs to that is
// done.
const UnfinishedMark = "unfinished"

// KeptFolder is the path of a folder with a store that is kept beside that of a project; number may be "*".
func KeptFolder(root, why, number string) string {
	return filepath.Join(root, StoreFolder+"-"+why+"-"+number)
}

// KeptCopy is a store that is kept.
type KeptCopy struct {
	Path string `json:"path"` // of its folder, below the project's
	// Unfinished: the call that put it there has not ended, or was killed.
	Unfinished bool `json:"unfinished,omitempty"`
}

// FinishLine is the line that finishes what put it there.
func (k KeptCopy) FinishLine() string {
	if strings.HasPrefix(k.Path, KeptFolder("", KeptOwn, "")) {
		return "leslie connect URL"
	}
	return "leslie remote rejoin"
}

// KeptCopies returns the stores that are kept beside that of a project which is, or was, on several machines.
func (c *Call) KeptCopies() (all []KeptCopy) {
	if was, _ := c.store.Machine(); was == "" {
		return nil
	}
	for _, why := range []string{KeptOwn, KeptParted} {
		folders, _ := filepath.Glob(KeptFolder(c.project.root, why, "*"))
		for _, dir := range folders {
			all = append(all, KeptCopy{filepath.Base(dir), Exists(filepath.Join(dir, UnfinishedMark))})
		}
	}
	return all
}
