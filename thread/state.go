package thread

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// Names of the tables in the state file and in changes.
const (
	TableObjectives = "objectives"
	TableThreads    = "threads"
	TableReferences = "references"
	TableApprovals  = "approvals"
	TableMerges     = "merges"
	TableQuestions  = "questions"
	TableComments   = "comments"
)

// Operation is one recorded change of the store: a line of the journal.
type Operation struct {
	Seq       Revision        `json:"seq"`
	ID        OperationID     `json:"id"`
	Time      time.Time       `json:"time"`
	As        ActorKind       `json:"as"`
	Actor     string          `json:"actor"`
	Command   string          `json:"command"`
	ThreadID  ThreadID        `json:"threadId,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	RequestID string          `json:"requestId,omitempty"`
	Reversal
	// OfRun: the operation records what happened in a run.
	OfRun bool `json:"ofRun,omitempty"`
	// Continues is the operation before this one of the same call, if the two are one to
	// whoever called: the worktree of a new thread and its thread, the end of a merge and
	// the landing of its code. "" for most.
	Continues OperationID `json:"continues,omitempty"`
	// Chain, in a project on several machines, is the SHA-256 of the operation's line in
	// the project's log, and Machine the one that made it; "" for other projects.
	Chain   string   `json:"chain,omitempty"`
	Machine string   `json:"machine,omitempty"`
	Changes []Change `json:"changes"`
}

// ArchiveSource reads archived records, which the State does not contain. The store
// implements it. Rules use it only for ids that are not in the State.
type ArchiveSource interface {
	// Exists reports whether a thread with this id ever had a folder.
	Exists(id ThreadID) bool
	// Alike returns the id of a thread that ever had a folder and that differs from this
	// valid one in upper and lower case only, "" if none is known.
	Alike(id ThreadID) ThreadID
	// Archived returns the archived records of a table as lines ordered by id.
	// Errors: T502, T509.
	Archived(table string) ([]Line, error)
	// HasLine reports whether the archive has a line of a record, even if the State
	// contains the record as well. Errors: T502, T509.
	HasLine(table, id string) (bool, error)
}

// State has all live records at one revision. The rules are its methods. It is not
// safe for concurrent use.
type State struct {
	Revision   Revision
	Objectives Table[Objective]
	Threads    Table[Thread]
	References Table[Reference]
	Approvals  Table[Approval]
	Merges     Table[Merge]
	Questions  Table[Question]
	Comments   Table[Comment]

	source   ArchiveSource
	machine  string // see On
	steps    []Step
	archived []Change
	reversal Reversal
	ofRun    bool
	handsOn  []ThreadID
}

// Records has the lines of each table, ordered by id.
type Records map[string][]Line

// NewState returns a State with these records, which must have been verified.
func NewState(rev Revision, records Records, source ArchiveSource) *State {
	s := &State{Revision: rev, source: source}
	next := func() Revision { return s.Revision + 1 }
	s.Objectives = newTable[Objective](TableObjectives, records[TableObjectives], next)
	s.Threads = newTable[Thread](TableThreads, records[TableThreads], next)
	s.References = newTable[Reference](TableReferences, records[TableReferences], next)
	s.Approvals = newTable[Approval](TableApprovals, records[TableApprovals], next)
	s.Merges = newTable[Merge](TableMerges, records[TableMerges], next)
	s.Questions = newTable[Question](TableQuestions, records[TableQuestions], next)
	s.Comments = newTable[Comment](TableComments, records[TableComments], next)
	return s
}

// Fork returns a copy of the State that can be changed independently.
func (s *State) Fork() *State {
	out := &State{
		Revision: s.Revision, source: s.source, steps: slices.Clone(s.steps), archived: slices.Clone(s.archived),
		reversal: s.reversal, ofRun: s.ofRun, handsOn: slices.Clone(s.handsOn),
	}
	next := func() Revision { return out.Revision + 1 }
	out.Objectives, out.Threads, out.References = s.Objectives.fork(next), s.Threads.fork(next), s.References.fork(next)
	out.Approvals, out.Merges = s.Approvals.fork(next), s.Merges.fork(next)
	out.Questions, out.Comments = s.Questions.fork(next), s.Comments.fork(next)
	if s.Threads.sees != nil {
		out.On(s.machine)
	}
	return out
}

// Become copies to this unchanged State what rules have done to o, if both were
// created from the same records, and reports whether it did.
func (s *State) Become(o *State) bool {
	if s.Revision != o.Revision || s.Edits() > 0 ||
		!s.Objectives.begunAs(&o.Objectives) || !s.Threads.begunAs(&o.Threads) || !s.References.begunAs(&o.References) ||
		!s.Approvals.begunAs(&o.Approvals) || !s.Merges.begunAs(&o.Merges) ||
		!s.Questions.begunAs(&o.Questions) || !s.Comments.begunAs(&o.Comments) {
		return false
	}
	source := s.source
	*s = *o.Fork()
	s.source = source
	return true
}

// Tables returns the names of the tables in the order of the state file.
func Tables() []string {
	return []string{TableObjectives, TableThreads, TableReferences, TableApprovals, TableMerges, TableQuestions, TableComments}
}

// Lines returns the current records of a table as lines ordered by id.
func (s *State) Lines(table string) []Line { return s.table(table).Lines() }

// Changes returns everything that was changed since the State was created, ordered
// by table, then id: all that an operation did.
func (s *State) Changes() []Change {
	var out []Change
	for _, name := range Tables() {
		part := s.table(name).changes()
		slices.SortFunc(part, func(a, b Change) int { return strings.Compare(a.Record, b.Record) })
		out = append(out, part...)
	}
	return out
}

// Changed reports whether there are changes, steps or archived records, that is,
// whether there is an operation to record.
func (s *State) Changed() bool {
	return len(s.steps) > 0 || len(s.archived) > 0 || slices.ContainsFunc(Tables(), func(name string) bool { return s.table(name).changed() })
}

// ArchivedNow returns the records that this State's rules moved to the archive; After
// is the record in the archive. Changes contains the same records as removed ones.
func (s *State) ArchivedNow() []Change { return s.archived }

// Stale returns T503 for a record that this State's rules changed or relied on and
// that has changed after rev; of several, the one that changed last. It returns nil
// if there is none.
func (s *State) Stale(rev Revision) error {
	var table, id string
	var at Revision
	for _, name := range Tables() {
		if i, r := s.table(name).changedAfter(rev); r > at {
			table, id, at = name, i, r
		}
	}
	if id == "" {
		return nil
	}
	err := codes.StaleRevision.New(fact.Of("id", id), fact.Of("actual", at), fact.Of("expected", rev))
	switch table {
	case TableObjectives:
		return err.WithNext("leslie objective status " + id)
	case TableReferences:
		return err.WithNext("leslie reference show " + id)
	case TableMerges:
		return err.WithNext("leslie merge status " + id)
	case TableQuestions:
		return err.WithNext("leslie questions --all")
	case TableComments:
		return err.WithNext("leslie comments --all")
	}
	return err
}

// Apply replays the changes of a recorded operation and adopts its revision. Errors:
// T901 for a change that cannot be applied.
func (s *State) Apply(op Operation) error {
	for _, c := range op.Changes {
		name, id, _ := strings.Cut(c.Record, "/")
		t := s.table(name)
		if t == nil || id == "" {
			return codes.Internal.New(fact.Of("reason", "operation "+string(op.ID)+" names no table: "+c.Record))
		}
		if err := t.apply(id, c); err != nil {
			return codes.Internal.Wrap(err, fact.Of("reason", "operation "+string(op.ID)+" cannot be replayed"))
		}
	}
	s.Revision = op.Seq
	return nil
}

// Plan adds file-system steps to this operation. The store records them with the
// State and then carries them out.
func (s *State) Plan(steps ...Step) { s.steps = append(s.steps, steps...) }

// Planned returns the steps added by Plan.
func (s *State) Planned() []Step { return s.steps }

// HandOn says that this operation takes the work of threads to the other machines of a project, whether it changes
// them or not: see HandedOn for those that it does by what it changes.
func (s *State) HandOn(ids ...ThreadID) { s.handsOn = append(s.handsOn, ids...) }

// HandsOn returns the threads of HandOn.
func (s *State) HandsOn() []ThreadID { return s.handsOn }

// Reverse says that this operation is an undo or a redo, and of what.
func (s *State) Reverse(what Reversal) { s.reversal = what }

// Operation returns what the rules say of this operation: its number, what it changes, what
// it reverses, and whether it is of a run. A batch is all that one of its lines is.
func (s *State) Operation() Operation {
	return Operation{Seq: s.Revision + 1, Changes: s.Changes(), Reversal: s.reversal, OfRun: s.ofRun}
}

// Edits returns a counter that increases with each change of a record and each step.
func (s *State) Edits() int {
	return s.Objectives.edits + s.Threads.edits + s.References.edits + s.Approvals.edits + s.Merges.edits +
		s.Questions.edits + s.Comments.edits + len(s.steps)
}

// table has the methods of a Table that do not depend on its record type.
type table interface {
	Lines() []Line
	changes() []Change
	changed() bool
	changedAfter(Revision) (string, Revision)
	apply(id string, c Change) error
}

func (s *State) table(name string) table {
	switch name {
	case TableObjectives:
		return &s.Objectives
	case TableThreads:
		return &s.Threads
	case TableReferences:
		return &s.References
	case TableApprovals:
		return &s.Approvals
	case TableMerges:
		return &s.Merges
	case TableQuestions:
		return &s.Questions
	case TableComments:
		return &s.Comments
	}
	return nil
}
