package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/state"
	"leslie/store/replica"
	"leslie/thread"
	"leslie/warnings"
)

// This file connects a store whose project is on several machines with the project's
// log. The truth is in the log, one line for each operation; the store is a copy of all
// that follows from it. catchup.go brings the copy up to date, announce.go adds the
// store's own operations, publish.go and fetch.go take threads' files along.

// Names inside the store's folder, of a project on several machines only.
const (
	// RemoteFile says where the log is.
	RemoteFile = state.RemoteFile
	// RemoteDir has what only this machine knows of the log and of its own copy.
	RemoteDir = replica.Dir

	machineFile     = RemoteDir + "/machine"
	credentialsFile = RemoteDir + "/creds"   // of this machine, for the project alone
	leavingFile     = RemoteDir + "/leaving" // there while this copy is leaving the project
	leftFile        = RemoteDir + "/left"    // what RemoteFile said until this copy left the project
	logFile         = RemoteDir + "/log"     // which log this copy last agreed with: see ledger.Head
)

// Limits of time.
const (
	// competeFor is how long operations of other machines may come first before the call
	// gives up.
	competeFor = 30 * time.Second
)

// Machine is the name of this copy of a connected project, "" if it has none.
func (s *Store) Machine() (string, error) {
	data, _, err := saferoot.ReadRegular(s.Path(machineFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), s.disk.ReadFailed(err)
}

// BeginLeave notes that this copy is going to leave the project, which Leave ends. Errors: T505.
func (s *Store) BeginLeave() error { return s.disk.Replace(leavingFile, nil) }

// Leaving reports whether this copy was going to leave the project, and has not left.
func (s *Store) Leaving() bool { return saferoot.Exists(s.Path(leavingFile)) }

// Left is where the log is of a project that this copy has left, nil for none or if it is not known.
func (s *Store) Left() *replica.Remote {
	data, _, err := saferoot.ReadRegular(s.Path(leftFile))
	if err != nil {
		return nil
	}
	r, faults := replica.Decode(data)
	if len(faults) > 0 {
		return nil
	}
	return &r
}

// Credentials is the path of the credentials that this copy of a connected project has of its own, ""
// if it has none.
func (s *Store) Credentials() string {
	if name := s.Path(credentialsFile); saferoot.Exists(name) {
		return name
	}
	return ""
}

// KeepCredentials keeps credentials for this copy alone, which nobody else may read. Errors: T505.
func (s *Store) KeepCredentials(data []byte) error {
	root, err := s.disk.Open()
	if err != nil {
		return s.disk.WriteFailed(err)
	}
	defer root.Close()
	if err := root.Ensure(RemoteDir); err != nil {
		return err
	}
	return WriteFile(s.Path(credentialsFile), data, 0o600)
}

// unanswered is W508: the reader gets what the copy knows.
func (s *Store) unanswered(now *state.Loaded, err error) warnings.Warning {
	age := "some time"
	if info, failed := os.Lstat(s.Path(StateFile)); failed == nil {
		age = max(0, s.now().Sub(info.ModTime())).Round(time.Second).String()
	}
	return warnings.CacheOld.New(fact.Of("reason", replica.Reason(err)), fact.Of("age", age), fact.Of("revision", now.Revision))
}

// mustBeLinked refuses a write to a project on several machines by a process that does not
// know its log. Errors: T510.
func (s *Store) mustBeLinked() error {
	if s.opts.Link != nil || !saferoot.Exists(s.Path(RemoteFile)) {
		return nil
	}
	return codes.RemoteUnreachable.New(fact.Of("reason", "the project was connected while this process ran"))
}

// Head asks for the revision at which the log ends, and whether it has the operation that this copy knows
// last. Errors: T402, T510, T512, T904.
func (s *Store) Head(ctx context.Context) (thread.Revision, warnings.List, error) {
	now, err := s.files.Load()
	if err != nil {
		return 0, nil, err
	}
	head, err := s.opts.Link.Head(ctx, s.now)
	if err != nil {
		return 0, nil, replica.Error(ctx, err, "")
	}
	more, err := s.continues(ctx, now, head)
	if more && now.Operation != nil {
		_, err = s.opts.Link.LineOf(ctx, now.Operation, now.Revision)
		err = replica.Error(ctx, err, "")
	}
	return thread.Revision(head.Seq), s.opts.Link.Notes(), err
}

// Untouched reports whether a store has no operation yet.
func (s *Store) Untouched() bool {
	now, err := s.files.Load()
	return err == nil && now.Revision == 0
}
