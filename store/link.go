package store

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/store/internal/jsonl"
	"leslie/store/internal/saferoot"
	"leslie/thread"
	"leslie/warnings"
)

// This file connects a store whose project is on several machines with the project's
// log. The truth is in the log, one line for each operation; the store is a copy of all
// that follows from it. catchup.go brings the copy up to date, announce.go adds the
// store's own operations, publish.go and fetch.go take threads' files along.

// Names inside the store's folder, of a project on several machines only.
const (
	// RemoteFile says where the log is. It has no secret.
	RemoteFile = "remote.json"
	// RemoteDir has what only this machine knows of the log and of its own copy.
	RemoteDir = "remote"

	machineFile = RemoteDir + "/machine"
	logFile     = RemoteDir + "/log"     // which log this copy last agreed with: see ledger.Head
	filesDir    = RemoteDir + "/threads" // for each thread the list of the files that were published or fetched last
)

// Limits of time.
const (
	// askFor is how long a call waits for the log's engine to answer at all.
	askFor = 2 * time.Second
	// appendFor is how long it waits for the engine's word on an operation.
	appendFor = 20 * time.Second
	// competeFor is how long operations of other machines may come first before the call
	// gives up.
	competeFor = 30 * time.Second
	// clocksDiffer is from when on a clock is said to be wrong.
	clocksDiffer = 2 * time.Second
)

// Remote says which log a project has.
type Remote struct {
	URL     string `json:"url"` // of one server or several, separated by commas
	Project string `json:"project"`
}

// ReadRemote reads which log the project at root has, nil if it has none. Errors: T502
// for a file that cannot be understood, T509.
func ReadRemote(root string) (*Remote, error) {
	disk := saferoot.Disk{Project: root}
	data, _, err := saferoot.ReadRegular(disk.Path(RemoteFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r, ok := decodeRemote(data)
	var d saferoot.Damage
	switch {
	case errors.As(err, &d), err == nil && !ok:
		return nil, codes.ParseError.New(fact.Of("reason", saferoot.Shown(RemoteFile)+" does not say where the project's log is"), fact.Of("path", saferoot.Shown(RemoteFile))).
			WithHint("Write the file again as leslie remote status on another machine shows it").WithNext("leslie doctor")
	case err != nil:
		return nil, disk.ReadFailed(err)
	}
	return &r, nil
}

func decodeRemote(data []byte) (r Remote, ok bool) {
	ok = json.Unmarshal(data, &r) == nil && r.URL != "" && r.Project != ""
	return r, ok
}

func encodeRemote(r Remote) ([]byte, error) {
	data, err := jsonl.Marshal(r)
	return append(data, '\n'), err
}

// Link is one process's connection to the log of a project. It is safe for concurrent use.
type Link struct {
	Remote  Remote
	Ledger  ledger.Ledger
	Machine string // this copy's name in operations
	// Offline: the log is not to be asked.
	Offline bool

	skew      atomic.Int64 // of the engine's clock against this machine's, in nanoseconds
	log       atomic.Value // which log the engine has: ledger.Head.Log
	following atomic.Int32 // how many tell this process of new lines as they come
	gap       atomic.Int64 // behind which a copy of the log lacked something, plus 1
}

// Machine is the name of this copy of a connected project, "" if it has none.
func (s *Store) Machine() (string, error) {
	data, _, err := saferoot.ReadRegular(s.Path(machineFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), s.disk.ReadFailed(err)
}

// NoteGap remembers that one of the engine's copies lacked what follows a place.
func (l *Link) NoteGap(seq int64) { l.gap.Store(seq + 1) }

// Skew is how far the engine's clock is ahead of this machine's, 0 if it is not known.
func (l *Link) Skew() time.Duration {
	if l == nil {
		return 0
	}
	return time.Duration(l.skew.Load())
}

// notes are W510 and W512.
func (l *Link) notes() (all warnings.List) {
	if skew := l.Skew(); skew.Abs() > clocksDiffer {
		side := "behind"
		if skew < 0 {
			side = "ahead of"
		}
		all.Add(warnings.ClockDiffers.New(fact.Of("difference", skew.Abs().Round(time.Second/10).String()+" "+side)))
	}
	if gap := l.gap.Swap(0); gap > 0 {
		all.Add(warnings.ReplicaGap.New(fact.Of("revision", gap-1)))
	}
	return all
}

// head asks for the end of the log, and learns what time it is there.
func (l *Link) head(ctx context.Context, now func() time.Time) (ledger.Head, error) {
	if l.Offline {
		return ledger.Head{}, offline{}
	}
	asking, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	before := now()
	h, err := l.Ledger.Head(asking)
	if err != nil && ctx.Err() == nil && asking.Err() != nil {
		err = errors.Join(ledger.ErrUnreachable, err)
	}
	if err == nil && !h.Now.IsZero() {
		half := now().Sub(before) / 2
		l.skew.Store(int64(h.Now.Sub(before.Add(half))))
	}
	if err == nil {
		l.log.Store(h.Log)
	}
	return h, err
}

// offline is why the log is not asked.
type offline struct{}

func (offline) Error() string { return "--offline" }

func (offline) Is(target error) bool { return target == ledger.ErrUnreachable }

// remoteError is the coded error for one of the log's; op is the operation that was sent.
// Coded errors stay as they are.
func remoteError(ctx context.Context, err error, op thread.OperationID) error {
	reason := fact.Of("reason", reasonOf(err))
	switch {
	case err == nil || codes.Of(err) != nil:
		return err
	case errors.Is(err, ledger.ErrUnknown):
		next := "leslie history --limit 1"
		return codes.OutcomeUnknown.Wrap(err, fact.Of("operationId", op), fact.Of("changed", nil)).WithNext(next)
	case ctx.Err() != nil:
		return codes.Interrupted.Wrap(context.Cause(ctx))
	case errors.Is(err, ledger.ErrDenied):
		return Denied(err).WithNext("leslie remote status")
	case errors.Is(err, ledger.ErrFull):
		return codes.WriteFailed.Wrap(err, fact.Of("path", "the project's remote"), reason).WithNext("leslie remote status")
	case errors.Is(err, ledger.ErrMissing):
		return codes.RemoteDiverged.Wrap(err, fact.Of("reason", "there is no log of this project"))
	case errors.Is(err, ledger.ErrGap):
		return codes.RemoteDiverged.Wrap(err, reason)
	}
	return codes.RemoteUnreachable.Wrap(err, reason)
}

// Denied is T402 for what the log's engine does not allow, without a next line.
func Denied(err error) *codes.Error {
	what, hint := "this on the project's remote", "Ask who runs the remote for credentials that allow it, and name their file in LESLIE_REMOTE_CREDS"
	if errors.As(err, new(*ledger.LoginError)) {
		what = "connecting to the project's remote"
		hint = "The credentials are wrong, have expired or were revoked: ask who runs the remote for others, and name their file in LESLIE_REMOTE_CREDS"
	}
	return codes.PermissionDenied.Wrap(err, fact.Of("capability", what), fact.Of("reason", err.Error())).WithHint(hint)
}

// reasonOf is an error in one line.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	if e := codes.Of(err); e != nil && e.Facts().Text("reason") != "" {
		return e.Facts().Text("reason")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer within " + askFor.String()
	}
	return err.Error()
}

// unanswered is W508: the reader gets what the copy knows.
func (s *Store) unanswered(now *loaded, err error) warnings.Warning {
	age := "some time"
	if info, failed := os.Lstat(s.Path(StateFile)); failed == nil {
		age = max(0, s.now().Sub(info.ModTime())).Round(time.Second).String()
	}
	return warnings.CacheOld.New(fact.Of("reason", reasonOf(err)), fact.Of("age", age), fact.Of("revision", now.Revision))
}

// connected reports whether the project is on several machines.
func (s *Store) connected() bool { return s.opts.Link != nil || exists(s.Path(RemoteFile)) }

// mustBeLinked refuses a write to a project on several machines by a process that does not
// know its log. Errors: T510.
func (s *Store) mustBeLinked() error {
	if s.opts.Link != nil || !exists(s.Path(RemoteFile)) {
		return nil
	}
	return codes.RemoteUnreachable.New(fact.Of("reason", "the project was connected while this process ran"))
}

// Head asks for the revision at which the log ends. Errors: T402, T510, T512, T904.
func (s *Store) Head(ctx context.Context) (thread.Revision, warnings.List, error) {
	now, err := s.load()
	if err != nil {
		return 0, nil, err
	}
	head, err := s.opts.Link.head(ctx, s.now)
	if err != nil {
		return 0, nil, remoteError(ctx, err, "")
	}
	_, err = continues(now, head)
	return thread.Revision(head.Seq), s.opts.Link.notes(), err
}

// Untouched reports whether a store has no operation yet.
func (s *Store) Untouched() bool {
	now, err := s.load()
	return err == nil && now.Revision == 0
}
