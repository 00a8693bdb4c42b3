package merging

import (
	"context"
	"errors"
	"io"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/retry"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// Operations is what a session does to the store, as part of one use case.
type Operations interface {
	// View reads the current State.
	View(read func(s *thread.State) error) error
	// ReadConsistent runs read, which reads these threads' files and perhaps the State, so
	// that it sees no operation's file work half done. read may run again.
	ReadConsistent(read func() error, ids ...thread.ThreadID) error
	// Update records one operation during a merge. prepare, if not nil, stages what
	// the operation relies on. rule may run again.
	Update(about thread.ThreadID, prepare func(*store.Stage) error, rule func(*thread.State, thread.Stamp) error) error
	// GoOn lets the next operation be one with the last one to whoever called.
	GoOn()
	// Commit records the operation whose result is the use case's.
	Commit(prepare func(*store.Stage) error, rule func(*thread.State, thread.Stamp) (*Result, thread.ThreadID, error)) (*Result, error)
	// Changed reports whether an operation changed anything.
	Changed() bool
	// Warn adds warnings to the result.
	Warn(found ...warnings.Warning)
}

// Files has the trees and contents from which a merge is planned; store.Store
// implements it.
type Files interface {
	CheckPath(id thread.ThreadID, name string) error
	Artifacts(id thread.ThreadID) ([]store.Entry, error)
	ArtifactsIn(id thread.ThreadID, set scope.Set) ([]store.Entry, error)
	HashedIn(ctx context.Context, id thread.ThreadID, set scope.Set) ([]store.Entry, error)
	ReadArtifact(id thread.ThreadID, rel string) ([]byte, error)
	OpenArtifact(id thread.ThreadID, rel string) (io.ReadCloser, error)
	Unmoved(id thread.ThreadID, planned map[string]thread.BlobID) ([]string, error)
	ReadWork(id thread.MergeID, rel string) ([]byte, error)
	Manifest(id thread.BlobID) (store.Manifest, error)
	Blob(id thread.BlobID) ([]byte, error)
}

// Call is what a session needs from its use case.
type Call struct {
	Context context.Context
	Operations
	Files Files
	// As and Actor say who answers if nobody else is named.
	As    thread.ActorKind
	Actor string
	Now   func() time.Time
	// Root is the project's folder, absolute.
	Root string
	// Machine is this machine's name in a project on several, "" for the only one.
	Machine string
	// Doubted: see thread.Stamp.
	Doubted bool
	// Repository finds the repository of a thread's code. Errors: T801, T509.
	Repository func(t thread.Thread) (*git.Repo, error)
	// HoldLanding waits until no other call lands code where a merge does, and keeps others
	// waiting until release. Errors: T805, T904, those of a write.
	HoldLanding func(m thread.Merge) (release func(), err error)
	// NewID returns an id that is not taken.
	NewID func(prefix string, taken func(string) bool) string
	// Policy says what the target may do without a grant.
	Policy thread.Policy
	// Agent may be asked, nil for none; Retry is how one that cannot be reached is asked
	// again. Timeout limits the validators, and Environ is their environment.
	Agent    *Agent
	Retry    retry.Policy
	Validate Validators
	Timeout  time.Duration
	Environ  func() []string
	// CheckOut checks merged code out for a validator, until release is called.
	CheckOut func(target thread.Thread, repo *git.Repo, commit git.Commit) (place *Place, release func(), err error)
	// Person resolves conflicts, and Approver decides whether to apply a merge; nil if
	// nobody can be asked.
	Person   Person
	Approver Approver
}

// Validators are commands that have to succeed before a merge is applied, "" for none.
type Validators struct {
	// Named is for this merge, in place of the others.
	Named string
	// Artifacts is for each merge, Code for each that brings code.
	Artifacts, Code string
	// CodeTimeout limits a command that validates code.
	CodeTimeout time.Duration
}

// Place is where a program works on code.
type Place struct {
	Dir     string
	Environ []string
}

// stamp returns the time and who acts, for a look that is not recorded.
func (c Call) stamp() thread.Stamp {
	return thread.Stamp{Time: c.Now(), As: c.As, Actor: c.Actor, Doubted: c.Doubted}
}

// Request has the parameters of a new merge.
type Request struct {
	Target          string
	Sources         []string
	Onto            string // the branch, of no thread, on which the code of Target lands; see thread.Merge
	Message         string // of the commit that lands it; "": from the thread
	Scope           scope.Set
	Strategy        thread.Strategy // "": interactive
	Validate        string          // kept with a pending merge, which is not applied without
	RequireApproval bool
	Only            string // OnlyCode, OnlyArtifacts, or "" for both
	WithScope       bool   // merge code although Scope selects artifacts
	Squash, Rebase  bool   // of code: see thread.MergeCode
	MergeCommit     bool   // neither will do
	Uncommitted     string // of the sources' code: TakeUncommitted, else it is refused
	Unread          string // of what the sources' agents were told: LeaveUnread, else it is refused
}

// Session is one merge in progress: it asks, records and applies what is planned.
type Session struct {
	*Planning
	held func() // ends what Call.HoldLanding began, if it did
}

// Preview plans a merge that is not started. Errors: T101, T105, T107, T203, T305,
// T507, T508, T509, T903.
func Preview(c Call, r Request) (*Session, error) {
	return begin(c, r, func(*Session) error { return nil })
}

// begin plans a merge once its parties are found and may be merged.
func begin(c Call, r Request, may func(*Session) error) (*Session, error) {
	s := &Session{Planning: newPlanning(c, r)}
	if err := s.findParties(r); err != nil {
		return nil, err
	}
	if err := may(s); err != nil {
		return nil, err
	}
	return s, s.load()
}

// Start plans a merge. Nothing is recorded yet. Errors: those of Preview, and
// T301 for a conflict under strict.
func Start(c Call, r Request) (*Session, error) {
	s, err := begin(c, r, func(s *Session) error { return c.View(s.respectClaim) })
	if err != nil {
		return nil, err
	}
	if s.record.Strategy == thread.Strict && s.plan.Open() > 0 {
		return nil, s.conflictError()
	}
	return s, nil
}

// Load finds a pending merge and plans it from the current content of its threads.
// Errors: T303, T105, and those of Preview.
func Load(c Call, id string) (*Session, error) { return open(c, id, false) }

// Look is like Load for a caller that changes nothing: it works whatever the status of
// the merge's threads.
func Look(c Call, id string) (*Session, error) { return open(c, id, true) }

func open(c Call, id string, looking bool) (*Session, error) {
	s := &Session{Planning: &Planning{call: c, recorded: true, looking: looking, texts: map[thread.BlobID][]byte{}}}
	err := c.View(func(st *thread.State) (err error) {
		if s.record, err = st.Merge(id); err == nil && !looking {
			err = s.respectClaim(st)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.set, err = scope.Parse(s.record.Scope); err != nil {
		return nil, err
	}
	return s, s.load()
}

// Finish asks about open conflicts and applies the plan if none is left; otherwise the
// merge stays pending. If the files change in the meantime, it plans again, keeps the
// decisions, and asks about what is open then. Errors: T301 while a conflict is open,
// T302, T304, T402, T404, those of Preview, and of a write. With T301 and the errors
// of an approval it also returns the result.
func (s *Session) Finish() (*Result, error) {
	defer releaseLanding(s)
	result, err := s.finish()
	for _, d := range s.View().Declines() {
		warnDeclined(s.Planning, d)
	}
	return result, s.stillPending(err)
}

// nothingToDo reports whether the target has all of it, and nobody has begun the merge or decided anything in it.
func (s *Session) nothingToDo() bool { return !s.recorded && s.reused == 0 && s.idle() }

func (s *Session) finish() (*Result, error) {
	if s.nothingToDo() {
		return s.Result(NothingToDo), nil
	}
	for range tries {
		result, err := s.attempt()
		if !errors.Is(err, errMoved) {
			return result, err
		}
		was := s.inputs
		if err := s.load(); err != nil {
			return nil, err
		}
		s.moved = s.inputs.movedSince(was)
	}
	return nil, s.stale()
}

// attempt asks and applies once. Its error is errMoved if the files have changed since
// planning.
func (s *Session) attempt() (*Result, error) {
	validates := s.call.Validate.Named+s.call.Validate.Artifacts+s.call.Validate.Code != ""
	if s.plan.Open() > 0 || s.call.Person != nil || s.call.Approver != nil || validates {
		releaseLanding(s) // others do not wait for a person or a validator
	}
	if err := reviewed(s.Planning); err != nil {
		return s.waits(err)
	}
	if err := commitTaken(s.Planning); err != nil {
		return nil, err
	}
	if !s.recorded && s.reused > 0 {
		if err := s.recordPending(nil, nil); err != nil {
			return nil, err
		}
		if s.plan.Open() == 0 && s.call.Person == nil { // nobody has looked at them since they were undone
			return s.waits(s.conflictError())
		}
	}
	err := s.resolve()
	if err == nil && s.plan.Open() == 0 {
		err = review(s)
	}
	left := errors.Is(err, ErrLeft)
	if err != nil && !left {
		return nil, err
	}
	if left || s.plan.Open() > 0 {
		if s.recorded {
			followAll(s)
		}
		return s.waits(s.conflictError())
	}
	return s.Apply()
}

// resolve asks about open conflicts after recording the merge. Under strict it asks
// nobody and returns T301.
func (s *Session) resolve() error {
	if s.plan.Open() == 0 {
		return nil
	}
	if !s.recorded {
		if s.record.Strategy == thread.Strict {
			return s.conflictError()
		}
		if err := s.recordPending(nil, nil); err != nil {
			return err
		}
	}
	return s.ask()
}

// waits returns the result of a merge that stays pending, with the reason.
func (s *Session) waits(why error) (*Result, error) {
	if !s.recorded {
		return nil, why
	}
	r := s.Result(Pending)
	if codes.Has(why, codes.MergeConflict) { // which has them
		r.Conflicts = []merge.Conflict{}
	}
	r.SetChanged(s.call.Changed())
	return r, why
}

// stillPending adds the pending merge to T904 if it is recorded; it returns any other
// error unchanged.
func (s *Session) stillPending(err error) error {
	if !s.recorded || !codes.Has(err, codes.Interrupted) {
		return err
	}
	id := string(s.record.ID)
	return codes.Of(err).With(fact.Of("mergeId", s.record.ID)).
		WithHint("The merge stays pending with the decisions so far; its target is untouched").
		WithNext("leslie merge status "+id, s.record.GoesOn())
}

// Planned returns what the merge would do, with a report about what is resolved.
// Errors: those of Preview.
func (s *Session) Planned() (*Result, error) {
	if s.record.Onto != "" && s.nothingToDo() {
		return s.Result(NothingToDo), nil
	}
	for range tries {
		r := s.Result(Planned)
		err := s.report(r)
		if err == nil {
			if err := s.canLand(); err != nil {
				return nil, err
			}
		}
		if !errors.Is(err, errMoved) {
			return r, err
		}
		if err := s.load(); err != nil {
			return nil, err
		}
	}
	return nil, s.stale()
}

// Abort removes a pending merge; its target does not change. Errors: T303, T105, and
// those of a write.
func Abort(c Call, id string) (*Result, error) {
	if err := refuseLanded(c, id); err != nil {
		return nil, err
	}
	return c.Commit(nil, func(st *thread.State, stamp thread.Stamp) (*Result, thread.ThreadID, error) {
		rec, err := st.EndMerge(id, "the merge was aborted", stamp)
		if err != nil {
			return nil, "", err
		}
		aborted := &Planning{call: c, record: rec}
		if own := rec.Queued != nil && rec.Created.Actor == stamp.Actor; !own { // who has claimed the target was not asked either
			if err := aborted.respectClaim(st); err != nil {
				return nil, "", err
			}
		}
		st.Plan(removal(rec.ID))
		return aborted.Result(Aborted), rec.Target, nil
	})
}
