package merging

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// Operations are what a session does to the store, as part of one use case.
type Operations interface {
	// View reads the State as it is now.
	View(read func(s *thread.State) error) error
	// Settled runs read, which looks at these threads' files and perhaps at the
	// State, so that it sees no operation's file work half done. read may run again.
	Settled(read func() error, ids ...thread.ThreadID) error
	// Update makes one operation on the way of a merge. prepare, if not nil, stages
	// what the operation relies on. rule may run again.
	Update(about thread.ThreadID, prepare func(*store.Stage) error, rule func(*thread.State, thread.Stamp) error) error
	// Commit makes the operation whose result is the use case's.
	Commit(prepare func(*store.Stage) error, rule func(*thread.State, thread.Stamp) (*Result, thread.ThreadID, error)) (*Result, error)
	// Changed reports whether an operation changed anything.
	Changed() bool
	// Warn tells the caller something beside the result.
	Warn(found ...warnings.Warning)
}

// Files are the trees and contents that a merge is planned from; a store.Store
// has them.
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

// Call is what a session needs of the use case that it works for.
type Call struct {
	Context context.Context
	Operations
	Files Files
	// As and Actor are who answers where nobody else is named.
	As    thread.ActorKind
	Actor string
	Now   func() time.Time
	// NewID makes an id that is not taken.
	NewID func(prefix string, taken func(string) bool) string
	// Policy says what the target may do by itself.
	Policy thread.Policy
	// Agent and Validate are commands that may run, "" for none; Timeout is how long
	// each may take, and Environ the agent's environment.
	Agent, Validate string
	Timeout         time.Duration
	Environ         func() []string
	// Person decides conflicts, and Approver whether a merge is applied; nil where
	// nobody can be asked.
	Person   Resolver
	Approver Approver
}

// Request is a merge that is to begin.
type Request struct {
	Target          string
	Sources         []string
	Scope           scope.Set
	Strategy        thread.Strategy // "": interactive
	Validate        string          // kept with a pending merge, which is not applied without
	RequireApproval bool
}

// Session is one merge on its way.
type Session struct {
	call   Call
	record thread.Merge
	// recorded: the merge is pending in the store. looking: it is only looked at.
	recorded, looking bool
	set               scope.Set
	inputs            *mergeInputs
	plan              *merge.Plan
	texts             map[thread.BlobID][]byte // of decisions that this session took
	approval          *Approval                // as it was when the State was last looked at
	outdated          []string                 // edited marker files that do not fit what the sides are now
}

// tries is how often a merge is planned because what it was planned on moved.
const tries = 3

// errMoved says that a thread's files are not what was planned on.
var errMoved = errors.New("the files changed since the merge was planned")

// Preview plans a merge that nobody begins. Errors: T101, T105, T107, T203, T305,
// T507, T508, T509, T903.
func Preview(c Call, r Request) (*Session, error) {
	s := newSession(c, r)
	if err := s.begin(r); err != nil {
		return nil, err
	}
	return s, s.load()
}

// Start plans a merge. Nothing is recorded yet. Errors: those of Preview, and
// T301 for a conflict under strict.
func Start(c Call, r Request) (*Session, error) {
	s, err := Preview(c, r)
	if err != nil {
		return nil, err
	}
	if s.record.Strategy == thread.Strict && s.plan.Open() > 0 {
		return nil, s.conflictError()
	}
	return s, nil
}

func newSession(c Call, r Request) *Session {
	s := &Session{call: c, set: r.Scope, texts: map[thread.BlobID][]byte{}, record: thread.Merge{
		Strategy: r.Strategy, Scope: r.Scope.Strings(), Validate: r.Validate, RequireApproval: r.RequireApproval,
	}}
	if s.record.Strategy == "" {
		s.record.Strategy = thread.Interactive
	}
	return s
}

// begin finds the threads by the names that the request has for them.
func (s *Session) begin(r Request) error {
	return s.call.View(func(st *thread.State) error {
		found, err := st.Parties(r.Target, r.Sources)
		if err != nil {
			return err
		}
		s.record.Target, s.record.Sources = found.Target.ID, nil
		for _, t := range found.Sources {
			s.record.Sources = append(s.record.Sources, t.ID)
		}
		return st.NoPendingMerge(found.Target.ID)
	})
}

// Load finds a pending merge and plans it from what its threads hold now. Errors:
// T303, T105, and those of Preview.
func Load(c Call, id string) (*Session, error) { return open(c, id, false) }

// Look is Load for a caller who changes nothing: it works whatever became of the
// merge's threads.
func Look(c Call, id string) (*Session, error) { return open(c, id, true) }

func open(c Call, id string, looking bool) (*Session, error) {
	s := &Session{call: c, recorded: true, looking: looking, texts: map[thread.BlobID][]byte{}}
	err := c.View(func(st *thread.State) (err error) {
		s.record, err = st.Merge(id)
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

// load reads the threads' files as they stood at one moment, but for what people
// and agents save, and plans.
func (s *Session) load() error {
	for range tries {
		err := s.call.Settled(s.read, append(slices.Clone(s.record.Sources), s.record.Target)...)
		if !errors.Is(err, errMoved) {
			return err
		}
	}
	return s.stale()
}

func (s *Session) read() error {
	p, err := s.find()
	if err != nil {
		return err
	}
	if s.inputs, err = gather(s.call, p, s.set); err != nil {
		return err
	}
	return s.replan()
}

// find finds the threads, and what a pending merge has on record by now.
func (s *Session) find() (p parties, err error) {
	err = s.call.View(func(st *thread.State) error {
		if s.recorded {
			rec, err := st.Merge(string(s.record.ID))
			if err != nil {
				return err
			}
			s.record = rec
		}
		found, err := s.parties(st)
		if err != nil {
			return err
		}
		p = partiesOf(st, found)
		if s.recorded {
			s.approval = ApprovalOf(st, s.record)
			return nil
		}
		return st.NoPendingMerge(s.record.Target)
	})
	return p, err
}

func (s *Session) parties(st *thread.State) (thread.MergeParties, error) {
	if s.looking {
		return st.PartiesOf(s.record)
	}
	return st.Parties(string(s.record.Target), namesOf(s.record.Sources))
}

// replan plans from what is loaded and the decisions on record.
func (s *Session) replan() (err error) {
	if s.inputs.input.Decisions, err = s.decisionsOf(s.record.Decisions); err != nil {
		return err
	}
	s.plan, err = s.inputs.plan()
	return err
}

// decisionsOf are decisions on record with their texts. Errors: T509 for a text
// that cannot be read.
func (s *Session) decisionsOf(record map[string]thread.Decision) (map[string]merge.Decision, error) {
	out := map[string]merge.Decision{}
	for key, d := range record {
		text, known := s.texts[d.Text]
		if d.Text != "" && !known {
			var err error
			if text, err = s.call.Files.Blob(d.Text); err != nil {
				return nil, err
			}
			s.texts[d.Text] = text
		}
		out[key] = merge.Decision{Take: d.Take, Text: text, How: d.How, Actor: d.Actor, Reason: d.Reason}
	}
	return out, nil
}

// Record is the merge as it is, or would be, on record.
func (s *Session) Record() thread.Merge { return s.record }

// Conflicts are all conflicts of the plan, decided ones too.
func (s *Session) Conflicts() []merge.Conflict {
	out := append([]merge.Conflict{}, s.plan.Conflicts...)
	for i := range out {
		out[i].MergeID = string(s.record.ID)
	}
	return out
}

// Open are the conflicts of a path that still need a decision, all for "".
func (s *Session) Open(path string) []merge.Conflict {
	return slices.DeleteFunc(s.Conflicts(), func(c merge.Conflict) bool {
		return c.Status != merge.Unresolved || path != "" && c.Path != path
	})
}

// file is the change of a path.
func (s *Session) file(path string) (merge.Change, bool) {
	i := slices.IndexFunc(s.plan.Files, func(f merge.Change) bool { return f.Path == path })
	if i < 0 {
		return merge.Change{}, false
	}
	return s.plan.Files[i], true
}

// idle reports whether the target holds already what the plan leads to.
func (s *Session) idle() bool {
	return !slices.ContainsFunc(s.plan.Files, func(f merge.Change) bool { return !f.Idle() })
}

// Finish asks about what is open and applies the plan when nothing is; else the
// merge stays pending. Where the files moved meanwhile the merge is planned again,
// decisions kept, and what is open then is asked about in the same way. Errors:
// T301 while something is open, T302, T304, T402, T404, those of Preview, and of
// a write; with the first and with those of an approval the result is there too.
func (s *Session) Finish() (*Result, error) {
	result, err := s.finish()
	return result, s.stillPending(err)
}

func (s *Session) finish() (*Result, error) {
	if !s.recorded && s.idle() {
		return s.Result(NothingToDo), nil
	}
	for range tries {
		result, err := s.attempt()
		if !errors.Is(err, errMoved) {
			return result, err
		}
		if err := s.load(); err != nil {
			return nil, err
		}
	}
	return nil, s.stale()
}

// attempt asks and applies once. Its error is errMoved where the files are not what
// was planned on.
func (s *Session) attempt() (*Result, error) {
	if err := s.resolve(); err != nil {
		return nil, err
	}
	if s.plan.Open() > 0 {
		return s.waits(s.conflictError())
	}
	return s.Apply()
}

// resolve asks about what is open, once the merge is recorded; under strict nobody
// is asked: T301.
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

// waits is the result of a merge that stays pending, with why.
func (s *Session) waits(why error) (*Result, error) {
	if !s.recorded {
		return nil, why
	}
	r := s.Result(Pending)
	r.SetChanged(s.call.Changed())
	return r, why
}

// stale is T304.
func (s *Session) stale() error {
	err := codes.MergeStale.New(fact.Of("target", s.record.Target), fact.Of("attempts", tries))
	if s.recorded {
		return err.With(fact.Of("mergeId", s.record.ID))
	}
	return err.WithHint("Merge again").WithNext("leslie artifacts " + string(s.record.Target))
}

// stillPending is T904 with the merge that stays pending, where it is recorded; any
// other error is left as it is.
func (s *Session) stillPending(err error) error {
	if !s.recorded || !codes.Has(err, codes.Interrupted) {
		return err
	}
	id := string(s.record.ID)
	return codes.Of(err).With(fact.Of("mergeId", s.record.ID)).
		WithHint("The merge stays pending with what was decided so far; its target is as it was").
		WithNext("leslie merge status "+id, "leslie merge continue "+id)
}

// Abort takes a pending merge away; its target stays as it is. Errors: T303, T105,
// and those of a write.
func Abort(c Call, id string) (*Result, error) {
	return c.Commit(nil, func(st *thread.State, stamp thread.Stamp) (*Result, thread.ThreadID, error) {
		rec, err := st.EndMerge(id, "the merge was aborted", stamp)
		if err != nil {
			return nil, "", err
		}
		st.Plan(removal(rec.ID))
		s := &Session{call: c, record: rec}
		return s.Result(Aborted), rec.Target, nil
	})
}
