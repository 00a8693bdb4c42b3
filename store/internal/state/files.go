package state

import (
	"io/fs"
	"sync/atomic"
	"time"

	"leslie/internal/retry"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/statefile"
	"leslie/thread"
)

// Names inside the store's folder.
const (
	StateFile   = "thread_relations.json"
	BackupFile  = StateFile + ".bak"
	LockFile    = StateFile + ".lock"
	JournalFile = "operations.jsonl"
	ArchiveFile = "archive.jsonl"
	RequestsDir = "requests"
	// RemoteFile says where the log of a project on several machines is.
	RemoteFile = "remote.json"
)

// Files are the files of one store, for whoever reads them. It keeps no file open, and is
// safe for concurrent use.
type Files struct {
	// Disk has the clock, too: its Now is not nil.
	saferoot.Disk
	// Policy is the schedule of the lock, and Jitter returns a random duration in (0, max].
	Policy retry.Policy
	Jitter func(max time.Duration) time.Duration
	// Linked: this process knows the log of the project.
	Linked bool
	// Machine is this copy's name in a project on several machines, "" in others.
	Machine string

	recent atomic.Pointer[Last]
}

// Last is the state that was loaded last, with its file at that time, whole or not.
type Last struct {
	File      fs.FileInfo
	Image     statefile.Image
	StepsDone bool
}

// Last returns the state that this process loaded last, nil if none.
func (s *Files) Last() *Last { return s.recent.Load() }

// Connected reports whether the project is on several machines.
func (s *Files) Connected() bool { return s.Linked || saferoot.Exists(s.Path(RemoteFile)) }

// State returns a fresh State of what was loaded, as this machine sees it; changing it does not
// affect the loaded records.
func (s *Files) State(now *Loaded) *thread.State {
	return thread.NewState(now.Revision, now.Records, &archiveSource{store: s, now: now}).On(s.Machine)
}
