package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"leslie/internal/retry"
	"leslie/store/internal/content"
	"leslie/store/internal/filework"
	"leslie/store/internal/logfile"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/store/internal/state"
	"leslie/store/replica"
	"leslie/thread"
	"leslie/warnings"
)

// Names inside the store's folder.
const (
	Dir          = saferoot.Folder
	StateFile    = state.StateFile
	BackupFile   = state.BackupFile
	LockFile     = state.LockFile
	JournalFile  = state.JournalFile
	ArchiveFile  = state.ArchiveFile
	ThreadsDir   = scan.Threads
	RequestsDir  = state.RequestsDir
	TmpDir       = content.Tmp
	BlobsDir     = content.Folder
	MergesDir    = scan.Merges
	LogsDir      = logfile.Folder
	HeardDir     = logfile.HeardDir
	ConfigFile   = "config.json"
	InheritedDir = scan.Inherited // under a thread's folder
	MetaDir      = scan.Meta      // under a thread's folder
)

// Options has what the store needs from its caller: randomness, time, and
// notifications. The zero value works.
type Options struct {
	// Lock is the schedule of the lock; its zero value is retry.Default().
	Lock retry.Policy
	// Jitter returns a random duration in (0, max]; nil waits max.
	Jitter func(max time.Duration) time.Duration
	// Now is the clock for names of files set aside and for the age of stored answers;
	// nil: time.Now.
	Now func() time.Time
	// Home is the caller's home folder: its .leslie is the user's configuration and
	// never counts as a store.
	Home string
	// Context is that of the call for which the store is open: asking the log of a project
	// on several machines ends with it. It is needed with Link alone.
	Context context.Context
	// Link, if not nil, is the connection to the log of a project on several machines.
	Link *replica.Link
	// Bundle, if not nil, returns what an operation that hands a thread's work on takes along of its
	// code, nil for nothing, and the content that this is to name.
	// again: what this machine has sent of it is lost, and made anew.
	Bundle func(t thread.Thread, again bool) (*thread.CodeSent, []byte)
	// Before is called before every step that changes the disk, with its action and
	// absolute path; its error fails the step. For tests.
	Before func(Action, string) error
}

// Action is the kind of a step that changes the disk.
type Action = saferoot.Action

// The actions a step can be.
const (
	ActCreate  = saferoot.ActCreate
	ActWrite   = saferoot.ActWrite
	ActSync    = saferoot.ActSync
	ActRename  = saferoot.ActRename
	ActLink    = saferoot.ActLink
	ActRemove  = saferoot.ActRemove
	ActMkdir   = saferoot.ActMkdir
	ActSyncDir = saferoot.ActSyncDir
)

// What reads and stores artifacts and blobs: see packages scan and content.
type (
	Entry     = scan.Entry
	EntryType = scan.EntryType
	Manifest  = content.Manifest
	FileAt    = content.FileAt
	// Stage is the staging folder of one operation: see package filework.
	Stage = filework.Stage

	artifacts = scan.Artifacts
	logs      = logfile.Log
)

// The types of entries, and the limits of artifacts.
const (
	TypeFile   = scan.TypeFile
	TypeFolder = scan.TypeFolder
	TypeLink   = scan.TypeLink
	TypeOther  = scan.TypeOther
	MaxFile    = content.MaxFile
	MaxFiles   = scan.MaxFiles
)

// IsDamaged reports whether an error is the T509 for a blob whose bytes do not match its
// name, or for a manifest that cannot be parsed.
func IsDamaged(err error) bool { return errors.Is(err, content.ErrDamaged) }

// Store is one project's .leslie folder. It keeps no file open. It is safe for
// concurrent use by many goroutines and many processes.
type Store struct {
	artifacts // and blobs: what reads them
	logs
	opts  Options
	disk  saferoot.Disk
	files *state.Files
}

// Open returns the store of the project at root. It reads nothing yet.
func Open(root string, opts Options) *Store {
	s := &Store{opts: opts}
	s.disk = saferoot.Disk{Project: root, Before: opts.Before, Now: s.now}
	if opts.Link != nil {
		s.disk.Elsewhere = s.fetchBlob
	}
	s.files = &state.Files{Disk: s.disk, Policy: opts.Lock, Jitter: opts.Jitter, Linked: opts.Link != nil}
	if opts.Link != nil {
		s.files.Machine = opts.Link.Machine
	}
	s.artifacts, s.logs = scan.On(s.disk), logfile.On(s.disk, LockFile)
	return s
}

// Root is the absolute path of the project.
func (s *Store) Root() string { return s.disk.Project }

// Files are the files by which the store survives, for packages below this one.
func (s *Store) Files() *state.Files { return s.files }

// Link is the connection to the log of a project on several machines, nil if there is none.
func (s *Store) Link() *replica.Link { return s.opts.Link }

// Stage creates the operation's staging folder and holds it until Close or Discard.
// Errors: T505; T507 if a link is in place of a folder.
func (s *Store) Stage(op thread.OperationID) (*Stage, error) { return filework.NewStage(s.disk, op) }

// Relative is an absolute path as answers show it: from the project's root, with "/".
func (s *Store) Relative(path string) string { return s.disk.Relative(path) }

// Path is the absolute path of a place in the store's folder, given with "/".
func (s *Store) Path(rel string) string {
	return s.disk.Path(rel)
}

// Wait says how long a call waits for the store's lock. The zero value means the whole
// schedule of Options.Lock.
type Wait = state.Wait

// Option is one thing that can be done when neither the state nor its backup is whole.
type Option = state.Option

// Call describes the command of an operation: what the journal records, and the
// caller's conditions for the commit.
type Call struct {
	Wait    Wait
	Stamp   thread.Stamp
	Command string
	Params  json.RawMessage // the command's own flags and operands
	// Request, if not empty, is the caller's --request-id: the answer of the first
	// successful call is stored under it for 7 days.
	Request string
	// Expect, if not nil, makes the call fail with T503 if a record that it changes or
	// relies on has changed after that revision.
	Expect *thread.Revision
	// Staged has the stages that the operation relies on. Their content is durable
	// before the lock is taken.
	Staged []*Stage

	// Continues: see thread.Operation.
	Continues thread.OperationID

	// Unless, if not nil, is a call that may have its answer by now: then Update fails with
	// ErrAnswered and changes nothing. It is for the first of several operations of a request.
	Unless *Call
	// LogEnd, if not nil, is what Ask was told for this call.
	LogEnd *LogEnd

	// Whole: what threads that the call hands on have is stored with the log again where that has lost it, which takes a
	// request for each file.
	Whole bool

	// announced, if not nil, is called when the log has the operation.
	announced func()

	files []thread.ThreadID // whose files are read under the lock: see ReadConsistentToWrite
}

// Outcome is what a rule function returns besides the changed State.
type Outcome struct {
	Thread thread.ThreadID // whom the operation concerns, "" for nobody
	Answer json.RawMessage // what is kept for Call.Request
}

// Commit is the result of an Update.
type Commit struct {
	Revision  thread.Revision // after the call
	Changed   bool
	Operation thread.OperationID // "" when nothing changed
	Warnings  warnings.List
	// Replay is set if Call.Request was answered before: then the rule function did
	// not run, nothing was changed, and the warnings include W901.
	Replay json.RawMessage
}

// View is what a reader gets besides the State.
type View struct {
	Revision thread.Revision
	Warnings warnings.List
	// Undone has the steps of the last operation that a dead process left, and that
	// the next writer will carry out.
	Undone []thread.Step
}
