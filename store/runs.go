package store

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"leslie/codes"
	"leslie/store/internal/lockfile"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// RunsDir has a folder for each thread whose agent leslie has started: what its process
// writes while it runs. Nothing in it belongs to the state.
const RunsDir = "runs"

// runLock is the file in the folder of a thread's run on which its process holds a lock,
// the only proof that it lives. It has the process's id, for whoever has to end it.
const runLock = "lock"

// loopLock is the lock of the process that starts the agents of whatever is ready. No
// thread has this name.
const loopLock = ".loop"

// serverNames is the folder of the names that servers of tools hold. No thread has this id.
const serverNames = ".servers"

// loopLine is the file beside that lock with the line that starts such a process again.
const loopLine = "line"

// loopEnd is the file that says why the last such process ended.
const loopEnd = "ended"

// holdTries is how long a lock is tried for: whoever asks whether it is held has it for
// a moment.
const holdTries = 200 * time.Millisecond

// HoldRun makes this process the only one that runs a thread's agent until release. It
// returns the folder for what the process writes, readable only by its owner. Errors:
// fs.ErrExist if another process runs it; T505, T507, T904.
func (s *Store) HoldRun(ctx context.Context, id thread.ThreadID) (dir string, release func(), err error) {
	return s.holdRuns(ctx, string(id))
}

// HoldLoop makes this process the only one that starts the agents of whatever is ready.
// Results and errors: those of HoldRun.
func (s *Store) HoldLoop(ctx context.Context) (dir string, release func(), err error) {
	return s.holdRuns(ctx, loopLock)
}

// RunsFolder makes the folder for what the process of a thread's run writes, or for an
// empty id of the one that HoldLoop is for, and returns it. Only its owner can read it.
// Errors: T505, T507.
func (s *Store) RunsFolder(id thread.ThreadID) (dir string, err error) {
	if id == "" {
		id = loopLock
	}
	root, err := s.disk.Open()
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	rel := path.Join(RunsDir, string(id))
	if err := root.Ensure(rel); err != nil {
		return "", err
	}
	dir = s.Path(rel)
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", s.disk.WriteFailed(err)
	}
	return dir, nil
}

// LimitsFile is the file with the agents that may use nothing more for now, in the folder
// of no thread (see RunsFolder).
func (s *Store) LimitsFile() string { return s.Path(path.Join(RunsDir, loopLock, "limits.json")) }

func (s *Store) holdRuns(ctx context.Context, name string) (dir string, release func(), err error) {
	if dir, err = s.RunsFolder(thread.ThreadID(name)); err != nil {
		return "", nil, err
	}
	rel := path.Join(RunsDir, name)
	lock := flock.New(s.Path(path.Join(rel, runLock)), flock.SetFlag(os.O_CREATE|os.O_RDWR|saferoot.OpenFlags), flock.SetPermissions(0o600))
	trying, cancel := context.WithTimeout(ctx, holdTries)
	defer cancel()
	got, err := lock.TryLockContext(trying, 5*time.Millisecond)
	switch {
	case got && ctx.Err() == nil: // also if this process slept for all of that time
	case ctx.Err() != nil:
		_ = lockfile.Release(lock)
		return "", nil, codes.Interrupted.Wrap(context.Cause(ctx))
	case trying.Err() != nil:
		return "", nil, fs.ErrExist
	case err != nil || !got:
		return "", nil, s.disk.WriteFailed(lockfile.NoLocks(lock.Path(), err))
	}
	file := s.Path(path.Join(rel, runLock))
	_ = os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
	return dir, func() {
		_ = os.Truncate(file, 0) // else whoever finds it knows that its process was killed
		_ = lockfile.Release(lock)
	}, nil
}

// HoldName gives a server of tools a name that no other living one of the store has: the one that is
// asked for, else that with a number behind it. The process holds it until release, or its end.
func (s *Store) HoldName(name string) (held string, release func(), err error) {
	dir, err := s.RunsFolder(serverNames)
	if err != nil {
		return "", nil, err
	}
	for n := 1; ; n++ {
		if held = name; n > 1 {
			held += "-" + strconv.Itoa(n)
		}
		lock := flock.New(path.Join(dir, held), flock.SetFlag(os.O_CREATE|os.O_RDWR|saferoot.OpenFlags), flock.SetPermissions(0o600))
		switch got, err := lockfile.Try(lock.TryLock); {
		case err != nil:
			return "", nil, s.disk.WriteFailed(lockfile.NoLocks(lock.Path(), err))
		case got:
			return held, func() { _ = lockfile.Release(lock) }, nil
		}
		_ = lock.Close()
	}
}

// RunHeld reports whether a process runs a thread's agent now. Errors: T509.
func (s *Store) RunHeld(id thread.ThreadID) (bool, error) { return s.runsHeld(string(id)) }

// RunLoop is what is known of a process that starts the agents of whatever is ready.
type RunLoop struct {
	Held   bool // it lives
	Killed bool // it does not, and did not end by itself
	PID    int  // of its process, 0 if it cannot be read
	Since  time.Time
	Line   string // that starts such a process again, "" if nobody has said
	// Ended is when the last such process ended by itself, the zero time if one lives or none did;
	// Reason says why, "" if its runs do.
	Ended  time.Time
	Reason string
}

// Again is the line that starts such a process again, in the background.
func (l RunLoop) Again() string { return cmp.Or(l.Line, "leslie run --next --detach") }

// KeepLoopLine keeps the line that starts the process that HoldLoop is for again, and forgets why the last one ended.
func (s *Store) KeepLoopLine(line string) {
	_ = os.Remove(s.Path(path.Join(RunsDir, loopLock, loopEnd)))
	_ = os.WriteFile(s.Path(path.Join(RunsDir, loopLock, loopLine)), []byte(line+"\n"), 0o600) // else the usual one is shown
}

// KeepLoopEnd keeps why the process that HoldLoop is for ended, "" if its runs say it.
func (s *Store) KeepLoopEnd(reason string) {
	_ = os.WriteFile(s.Path(path.Join(RunsDir, loopLock, loopEnd)), []byte(reason+"\n"), 0o600) // else nothing is said
}

// Loop returns what is known of the process that starts the agents of whatever is ready. Errors:
// T509.
func (s *Store) Loop() (l RunLoop, err error) {
	if l.Held, err = s.runsHeld(loopLock); err != nil {
		return l, err
	}
	at := path.Join(RunsDir, loopLock, runLock)
	text, _ := os.ReadFile(s.Path(at))
	l.PID, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	line, _ := os.ReadFile(s.Path(path.Join(RunsDir, loopLock, loopLine)))
	l.Line = strings.TrimSpace(string(line))
	end := path.Join(RunsDir, loopLock, loopEnd)
	if reason, err := os.ReadFile(s.Path(end)); err == nil && !l.Held {
		l.Ended, l.Reason = s.disk.ChangedAt(end).UTC().Truncate(time.Second), strings.TrimSpace(string(reason))
	}
	l.Killed, l.Since = !l.Held && len(text) > 0, s.disk.ChangedAt(at).UTC().Truncate(time.Second)
	return l, nil
}

func (s *Store) runsHeld(of string) (bool, error) {
	name := s.Path(path.Join(RunsDir, of, runLock))
	switch _, err := os.Lstat(name); {
	case os.IsNotExist(err):
		return false, nil
	case err != nil:
		return false, s.disk.ReadFailed(err)
	}
	lock := flock.New(name, flock.SetFlag(os.O_RDWR|saferoot.OpenFlags))
	got, err := lockfile.Try(lock.TryRLock) // shared: others who ask at the same time do not hold it
	if err != nil {
		return false, s.disk.ReadFailed(err)
	}
	if got {
		_ = lockfile.Release(lock)
	}
	return !got, nil
}

// RunHeardOf returns when a run last wrote to a file in the folder of its thread, the zero
// time if it has not.
func (s *Store) RunHeardOf(id thread.ThreadID, name string) time.Time {
	return s.disk.ChangedAt(path.Join(RunsDir, string(id), name))
}
