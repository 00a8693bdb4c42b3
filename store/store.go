package store

import (
	"encoding/json"
	"path/filepath"
	"sync/atomic"
	"time"

	"leslie/internal/retry"
	"leslie/thread"
	"leslie/warnings"
)

// Names inside the store's folder.
const (
	Dir          = ".leslie"
	StateFile    = "thread_relations.json"
	BackupFile   = StateFile + ".bak"
	LockFile     = StateFile + ".lock"
	UpgradedFile = StateFile + ".v2" // the last state of the version before
	JournalFile  = "operations.jsonl"
	ArchiveFile  = "archive.jsonl"
	ThreadsDir   = "threads"
	RequestsDir  = "requests"
	TmpDir       = "tmp"
	BlobsDir     = "blobs"
	MergesDir    = "merges"
	LogsDir      = "logs"
	ConfigFile   = "config.json"
	InheritedDir = "context/inherited" // under a thread's folder
	MetaDir      = ".meta"             // under a thread's folder
)

// Options are what the store cannot know by itself: all randomness, time and
// talk come from above. The zero value works.
type Options struct {
	// Lock is the schedule of the lock; its zero value is retry.Default().
	Lock retry.Policy
	// Jitter returns a random duration in (0, max]; nil waits max.
	Jitter func(max time.Duration) time.Duration
	// Now is the clock for names of files set aside and the age of kept
	// answers; nil is time.Now.
	Now func() time.Time
	// Home is the caller's home folder: its .leslie holds the user's own
	// configuration and is never found as a store.
	Home string
	// Before is asked in front of every step that changes the disk, with its
	// action and absolute path; its error fails the step. For tests.
	Before func(Action, string) error
}

// Store is one project's .leslie folder. It holds no file open: every call looks
// at what is there. Safe for use by many goroutines and many processes at once.
type Store struct {
	root   string // absolute path of the project: the folder that holds .leslie
	opts   Options
	disk   disk
	recent atomic.Pointer[lately]
}

// Open returns the store of the project at root; it looks at nothing yet.
func Open(root string, opts Options) *Store {
	return &Store{root: root, opts: opts, disk: disk{before: opts.Before}}
}

// Root is the absolute path of the project.
func (s *Store) Root() string { return s.root }

// Path is the absolute path of a place in the store's folder, given with "/".
func (s *Store) Path(rel string) string {
	return filepath.Join(s.root, Dir, filepath.FromSlash(rel))
}

// Wait says how long a call waits for the store's lock. The zero value is the
// whole schedule of Options.Lock.
type Wait struct {
	// Timeout, when positive, shortens the schedule.
	Timeout time.Duration
	// Notify, when not nil, is called once when the lock has been waited for one
	// second.
	Notify func(path string)
}

// Call says which command makes an operation: what the journal records and what
// the caller asked of the commit.
type Call struct {
	Wait    Wait
	Stamp   thread.Stamp
	Command string
	Params  json.RawMessage // the command's own flags and operands
	// Request, when not empty, is the caller's --request-id: the answer of the
	// first successful call is kept under it for 7 days.
	Request string
	// Expect, when not nil, fails the call with T503 when a record that it
	// changes or relies on was changed after that revision.
	Expect *thread.Revision
	// Staged are stages that the operation relies on. What they hold is on disk
	// before the lock is taken.
	Staged []*Stage

	files []thread.ThreadID // whose files are read under the lock: see Settled
}

// Outcome is what a rule function gives back beside the changed State.
type Outcome struct {
	Thread thread.ThreadID // whom the operation concerns, "" for nobody
	Answer json.RawMessage // what is kept for Call.Request
}

// Commit is what became of an Update.
type Commit struct {
	Revision  thread.Revision // after the call
	Changed   bool
	Operation thread.OperationID // "" when nothing changed
	Warnings  warnings.List
	// Replay is set when Call.Request was answered before: the rule function
	// did not run, nothing was changed, W901 is among the warnings.
	Replay json.RawMessage
}

// View is what a reader learns beside the State.
type View struct {
	Revision thread.Revision
	Warnings warnings.List
	// Undone are the steps of the last operation that a dead process left
	// undone and that the next writer will carry out.
	Undone []thread.Step
}
