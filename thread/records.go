package thread

import (
	"encoding/json"
	"time"
)

// Identifiers and numbers that must not be mixed.
type (
	ObjectiveID string
	ThreadID    string
	ReferenceID string
	ApprovalID  string
	MergeID     string
	QuestionID  string
	CommentID   string
	InjectionID string
	// CheckpointID names a checkpoint of one thread.
	CheckpointID string
	OperationID  string
	// Revision numbers operations from 1; 0 is a store in which nothing has
	// happened yet.
	Revision int64
	// BlobID names content by its SHA-256, 64 lower-case hexadecimal digits.
	BlobID string
)

// ActorKind is who acts, as far as the caller says.
type ActorKind string

// The kinds of actors.
const (
	User   ActorKind = "user"
	Agent  ActorKind = "agent"
	System ActorKind = "system"
)

// Stamp says which operation a change belongs to, when it happened (UTC, whole
// milliseconds) and who acted. Rules never look at a clock: they get a Stamp.
type Stamp struct {
	Operation OperationID
	Time      time.Time
	As        ActorKind
	Actor     string
}

// Executor is who carries a thread out.
type Executor string

// The executors.
const (
	ByHuman Executor = "human"
	ByAgent Executor = "agent"
)

// Binding is how a reference reads its target.
type Binding string

// Frozen references keep a copy of what the target held; live ones read the
// target where it stands.
const (
	Frozen Binding = "frozen"
	Live   Binding = "live"
)

// Inherit is what a child gets of its parent's artifacts when it is spawned.
type Inherit string

// The kinds of inheritance.
const (
	InheritNone    Inherit = "none"
	InheritFull    Inherit = "full"
	InheritPartial Inherit = "partial"
)

// Objective is a goal. It is completed when it is marked done, or when it has
// threads and all of them are terminated, archived ones too.
type Objective struct {
	ID        ObjectiveID `json:"objectiveId"`
	Title     string      `json:"title"`
	CreatedAt time.Time   `json:"createdAt"`
	DoneAt    *time.Time  `json:"doneAt,omitempty"`
	// Archived counts its threads whose records have left the State.
	Archived int      `json:"archived"`
	Revision Revision `json:"revision"`

	Unknown Unknown `json:"-"`
}

// Done reports whether somebody marked the objective done.
func (o Objective) Done() bool { return o.DoneAt != nil }

// Thread is a unit of work.
type Thread struct {
	ID          ThreadID    `json:"threadId"`
	ObjectiveID ObjectiveID `json:"objectiveId"`
	ParentID    ThreadID    `json:"parentId,omitempty"`
	Title       string      `json:"title"`
	Intent      string      `json:"intent"`
	Status      Status      `json:"status"`
	Executor    Executor    `json:"executor"`
	Tags        []string    `json:"tags,omitempty"`
	DependsOn   []ThreadID  `json:"dependsOn,omitempty"`
	Branch      string      `json:"branch,omitempty"`
	// Worktree is where the thread's code lives: relative to the project's
	// root where it lies inside it, absolute elsewhere.
	Worktree    string          `json:"worktree,omitempty"`
	Inherit     Inherit         `json:"inherit"`
	Shared      []Share         `json:"shared,omitempty"`
	Reverted    []RevertedRange `json:"reverted,omitempty"`
	Claim       *Claim          `json:"claim,omitempty"`
	Injections  []Injection     `json:"injections,omitempty"`
	Checkpoints []Checkpoint    `json:"checkpoints,omitempty"`
	Reason      string          `json:"reason,omitempty"` // of the last change of status or executor
	// Mistakes is set while the thread is suspended by the mistake limit.
	Mistakes *Mistakes   `json:"mistakes,omitempty"`
	Created  Attribution `json:"created"`
	Updated  time.Time   `json:"updatedAt"`
	// Code and Run are kept for a later leslie, which has the thread's code and the
	// runs of its agent in them.
	Code     []json.RawMessage `json:"code,omitempty"`
	Run      []json.RawMessage `json:"run,omitempty"`
	Revision Revision          `json:"revision"`

	Unknown Unknown `json:"-"`
}

// Claim is a lease: somebody works on the thread until then. One that has run
// out counts for nothing, whoever looks.
type Claim struct {
	Holder string    `json:"holder"` // the actor's name
	As     ActorKind `json:"as"`
	At     time.Time `json:"at"`
	Until  time.Time `json:"until"`
	// For is what was asked for, by which the holder's own writes prolong it,
	// in nanoseconds.
	For time.Duration `json:"for"`

	Unknown Unknown `json:"-"`
}

// InjectionType says what injected content is meant as.
type InjectionType string

// The types of injections.
const (
	InjectData       InjectionType = "data"
	InjectConstraint InjectionType = "constraint"
	InjectFeedback   InjectionType = "feedback"
	InjectPriority   InjectionType = "priority"
)

// Urgency says when the thread's agent should look at an injection.
type Urgency string

// The urgencies.
const (
	Immediate Urgency = "immediate"
	NextStep  Urgency = "next_step"
)

// Injection is something that somebody tells a thread while it works. Its content
// stays in the record until the thread's own agent has got it.
type Injection struct {
	ID      InjectionID   `json:"injectionId"`
	Type    InjectionType `json:"type"`
	Urgency Urgency       `json:"urgency"`
	Content string        `json:"content,omitempty"`
	Created Attribution   `json:"created"`
	Seen    *Attribution  `json:"seen,omitempty"`

	Unknown Unknown `json:"-"`
}

// Checkpoint is a snapshot of a thread's artifacts.
type Checkpoint struct {
	ID       CheckpointID `json:"checkpointId"`
	Name     string       `json:"name,omitempty"` // unique in its thread
	Manifest BlobID       `json:"manifest"`
	Files    int          `json:"files"`
	Created  Attribution  `json:"created"`
	At       Revision     `json:"at"`
	// Undo is the blob that lists what a rollback replaced; "" for a checkpoint
	// that was asked for.
	Undo BlobID `json:"undo,omitempty"`

	Unknown Unknown `json:"-"`
}

// Mistakes says why the mistake limit suspended a thread.
type Mistakes struct {
	Count    int    `json:"count"` // failed commands in a row
	LastCode string `json:"lastCode"`
	Actor    string `json:"actor"`

	Unknown Unknown `json:"-"`
}

// Attribution says when and by whom something was made.
type Attribution struct {
	At    time.Time `json:"at"`
	As    ActorKind `json:"as"`
	Actor string    `json:"actor"`

	Unknown Unknown `json:"-"`
}

// Share records content that two threads are known to have had in common at
// one revision: the base of later merges between them. Manifest is the blob
// that lists the paths and their hashes; a path that Scope means (all, when it
// is empty) and Manifest lacks was there in neither.
type Share struct {
	With     ThreadID `json:"with"`
	Manifest BlobID   `json:"manifest"`
	Scope    []string `json:"scope,omitempty"`
	How      string   `json:"how"` // spawn, merge
	At       Revision `json:"at"`
	// Undo is the blob that lists what a merge replaced; "" for a spawn.
	Undo BlobID `json:"undo,omitempty"`

	Unknown Unknown `json:"-"`
}

// RevertedRange is a part of a thread's history that its artifacts do not go on from: an
// undo or a rollback (operation Until) took them back to what they were at After.
type RevertedRange struct {
	After Revision `json:"after"`
	Until Revision `json:"until"`

	Unknown Unknown `json:"-"`
}

// Reference is a read-only tie from one thread to another's artifacts.
type Reference struct {
	ID      ReferenceID `json:"refId"`
	From    ThreadID    `json:"from"`
	Target  ThreadID    `json:"target"`
	Binding Binding     `json:"binding"`
	Scope   []string    `json:"scope,omitempty"`
	// Resolved is false when the target could not be found or read when the
	// reference was made or last refreshed; Unresolved then says why.
	Resolved   bool   `json:"targetResolved"`
	Unresolved string `json:"unresolved,omitempty"`
	// Manifest (frozen and resolved only) lists what was frozen.
	Manifest BlobID      `json:"manifest,omitempty"`
	Files    int         `json:"files"`
	TakenAt  time.Time   `json:"takenAt"` // of the snapshot, or of the making
	Created  Attribution `json:"created"`
	Revision Revision    `json:"revision"`

	Unknown Unknown `json:"-"`
}

// Approval is a grant: capabilities that a thread was given, or that somebody
// asked a person to give it.
type Approval struct {
	ID       ApprovalID  `json:"approvalId"`
	ThreadID ThreadID    `json:"threadId"`
	Kind     GrantKind   `json:"kind"`
	Scope    []string    `json:"scope"` // capabilities, in order
	Reason   string      `json:"reason,omitempty"`
	Status   GrantStatus `json:"status"`
	// Deadline is until when a request waits for its decision, nil for ever;
	// Fallback says what happens then.
	Deadline *time.Time `json:"deadline,omitempty"`
	Fallback Fallback   `json:"fallback,omitempty"`
	// Until is when a grant ends, nil for never.
	Until *time.Time `json:"until,omitempty"`
	// Digest is the manifest of the thread's artifacts when it was asked for.
	Digest BlobID `json:"digest,omitempty"`
	// MergeID is the merge that waits for the decision, and Plan the blob that
	// lists what that merge would do. Such a grant is for that plan alone.
	MergeID  MergeID      `json:"mergeId,omitempty"`
	Plan     BlobID       `json:"plan,omitempty"`
	Created  Attribution  `json:"created"`
	Decided  *Attribution `json:"decided,omitempty"`
	Verdict  string       `json:"verdict,omitempty"` // why it was decided so
	Revision Revision     `json:"revision"`

	Unknown Unknown `json:"-"`
}

// GrantKind says how a grant came about.
type GrantKind string

// A request was asked for and waits for a person; a delegation was given.
const (
	Request    GrantKind = "request"
	Delegation GrantKind = "delegation"
)

// GrantStatus is where a grant stands. Only an approved one grants anything.
type GrantStatus string

// The statuses of grants.
const (
	GrantOpen      GrantStatus = "open"
	GrantApproved  GrantStatus = "approved"
	GrantDenied    GrantStatus = "denied"
	GrantSkipped   GrantStatus = "skipped"
	GrantWithdrawn GrantStatus = "withdrawn"
)

// Fallback is what happens to a request whose deadline has passed.
type Fallback string

// Block leaves it open, skip ends it and grants nothing, auto_approve grants
// what was asked for.
const (
	Block       Fallback = "block"
	Skip        Fallback = "skip"
	AutoApprove Fallback = "auto_approve"
)

// Merge is a merge that waits for decisions. What it would do is not kept: it
// is planned anew whenever somebody asks, from what the threads hold then and
// the decisions that were taken.
type Merge struct {
	ID       MergeID    `json:"mergeId"`
	Target   ThreadID   `json:"target"`
	Sources  []ThreadID `json:"sources"`
	Scope    []string   `json:"scope,omitempty"`
	Strategy Strategy   `json:"strategy"`
	// Validate is the command that was asked for with the merge, as it was
	// written. It never runs from here: a state may come from a stranger.
	Validate string `json:"validate,omitempty"`
	// Decisions are by the id of a conflict, or of all versions of a path.
	Decisions map[string]Decision `json:"decisions,omitempty"`
	// Declined says why an agent's answer for a path was refused.
	Declined map[string]string `json:"declined,omitempty"`
	// Work is what leslie wrote for editors, by path: its hash tells whether
	// somebody has edited it.
	Work map[string]BlobID `json:"work,omitempty"`
	// RequireApproval: a person decides before it is applied.
	RequireApproval bool        `json:"requireApproval,omitempty"`
	Created         Attribution `json:"created"`
	Revision        Revision    `json:"revision"`

	Unknown Unknown `json:"-"`
}

// Strategy says who is asked about the conflicts of a merge.
type Strategy string

// The strategies.
const (
	Interactive Strategy = "interactive"
	AgentFirst  Strategy = "agent-first"
	HumanOnly   Strategy = "human"
	Strict      Strategy = "strict"
)

// Decision is what somebody chose for one conflict, or for a whole path: a side,
// or "text" with a text of its own (a blob).
type Decision struct {
	Take   string `json:"take"`
	Text   BlobID `json:"text,omitempty"`
	How    string `json:"how"` // user, agent, ...
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`

	Unknown Unknown `json:"-"`
}

// Step is one file-system change of an operation, as it rests in the state
// until a lock holder has seen it through. Paths are relative to the store's
// folder, with "/". A step that was done before is done again without effect.
type Step struct {
	Do StepKind `json:"do"`
	// From is the staged file or folder (under tmp/), To the place it gets.
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// Expect is the content that the plan found at To.
	Expect BlobID `json:"expect,omitempty"`
	// Content is what is placed: the blob of the file, or of the manifest of the
	// folder; "" where the operation does not say. Executable goes with a file.
	Content    BlobID `json:"content,omitempty"`
	Executable bool   `json:"executable,omitempty"`
	// Line is one line without its newline.
	Line string `json:"line,omitempty"`

	Unknown Unknown `json:"-"`
}

// StepKind is what a step does.
type StepKind string

const (
	// StepMakeDir makes the folder To and its parents.
	StepMakeDir StepKind = "mkdir"
	// StepPlace renames From to To. A folder or file that stands at To is
	// first moved aside into the staging folder, its content kept as blobs,
	// and then removed.
	StepPlace StepKind = "place"
	// StepRemove takes To away; its content is first kept as blobs.
	StepRemove StepKind = "remove"
	// StepReplace renames the file From over the file To, if what stands there
	// still has the hash Expect ("" for nothing). Otherwise somebody saved it
	// meanwhile: then that stays, and From is put beside it under a name that
	// ends in ".merge-OP".
	StepReplace StepKind = "replace"
	// StepDelete takes the file To away if it still has the hash Expect.
	StepDelete StepKind = "delete"
	// StepAppend adds Line to the file To, which it makes where it is missing,
	// unless one of its lines is that already.
	StepAppend StepKind = "append"
)

// Pending is the file-system work of the operation that made this revision.
type Pending struct {
	Operation OperationID `json:"operationId"`
	Steps     []Step      `json:"steps"`

	Unknown Unknown `json:"-"`
}

// Quarantined are steps of an earlier operation that cannot be carried out for a
// while: a link stands in place of their thread's folder, say. They are tried again by
// each writer and never dropped.
type Quarantined struct {
	// Record is the thread or merge whose files the steps change, as Change.Record
	// has it.
	Record    string      `json:"record"`
	Operation OperationID `json:"operationId"`
	Steps     []Step      `json:"steps"`
	// At is the number of each step in its operation.
	At []int `json:"at"`
	// Reason is why the first of them could not be carried out when it was last tried.
	Reason string `json:"reason"`

	Unknown Unknown `json:"-"`
}

// Question and Comment are records that a later leslie fills: all but their ids is
// carried as it is.
type (
	Question struct {
		ID       QuestionID `json:"questionId"`
		Revision Revision   `json:"revision"`

		Unknown Unknown `json:"-"`
	}
	Comment struct {
		ID       CommentID `json:"commentId"`
		Revision Revision  `json:"revision"`

		Unknown Unknown `json:"-"`
	}
)

// What a table needs to know of its records.
func (o Objective) recordID() string                    { return string(o.ID) }
func (o Objective) revision() Revision                  { return o.Revision }
func (o Objective) withRevision(r Revision) Objective   { o.Revision = r; return o }
func (t Thread) recordID() string                       { return string(t.ID) }
func (t Thread) revision() Revision                     { return t.Revision }
func (t Thread) withRevision(r Revision) Thread         { t.Revision = r; return t }
func (ref Reference) recordID() string                  { return string(ref.ID) }
func (ref Reference) revision() Revision                { return ref.Revision }
func (ref Reference) withRevision(r Revision) Reference { ref.Revision = r; return ref }
func (a Approval) recordID() string                     { return string(a.ID) }
func (a Approval) revision() Revision                   { return a.Revision }
func (a Approval) withRevision(r Revision) Approval     { a.Revision = r; return a }
func (m Merge) recordID() string                        { return string(m.ID) }
func (m Merge) revision() Revision                      { return m.Revision }
func (m Merge) withRevision(r Revision) Merge           { m.Revision = r; return m }
func (q Question) recordID() string                     { return string(q.ID) }
func (q Question) revision() Revision                   { return q.Revision }
func (q Question) withRevision(r Revision) Question     { q.Revision = r; return q }
func (c Comment) recordID() string                      { return string(c.ID) }
func (c Comment) revision() Revision                    { return c.Revision }
func (c Comment) withRevision(r Revision) Comment       { c.Revision = r; return c }
