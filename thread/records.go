package thread

import (
	"leslie/internal/fact"
	"time"
)

// Identifiers and numbers that must not be confused.
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
	RunID        string
	// Revision numbers operations from 1; 0 is a store without operations.
	Revision int64
	// BlobID is the SHA-256 of content: 64 lower-case hexadecimal digits.
	BlobID string
)

// ActorKind says who acts, as claimed by the caller.
type ActorKind string

// The kinds of actors.
const (
	User   ActorKind = "user"
	Agent  ActorKind = "agent"
	System ActorKind = "system"
)

// Person reports whether a person acts. Nobody else has a person's authority: where
// leslie lets a person do what an agent may not, the system may not either.
func (k ActorKind) Person() bool { return k == User }

// Stamp says which operation a change belongs to, when it happened (UTC, whole
// milliseconds) and who acted. Rules never read a clock; they receive a Stamp.
type Stamp struct {
	Operation OperationID
	Time      time.Time
	As        ActorKind
	Actor     string
	// Doubted: As says that a person acts, but an agent's environment says otherwise.
	Doubted bool
	// Speaks is the thread that the actor speaks for, as the caller wrote it; "" for none.
	Speaks ThreadID
}

// ByPerson reports whether a person acts, with a person's authority. Every rule that lets
// a person do what an agent may not asks it, and nothing else.
func (s Stamp) ByPerson() bool { return s.Authority().Person() }

// Authority returns with whose authority the actor acts: a doubted person has an agent's.
func (s Stamp) Authority() ActorKind {
	if s.Doubted && s.As.Person() {
		return Agent
	}
	return s.As
}

// Executor says who works on a thread.
type Executor string

// The executors.
const (
	ByHuman Executor = "human"
	ByAgent Executor = "agent"
)

// Binding says how a reference reads its target.
type Binding string

// A frozen reference keeps a copy of the target's content; a live one reads the
// target's current files.
const (
	Frozen Binding = "frozen"
	Live   Binding = "live"
)

// Inherit says which of its parent's artifacts a child gets when it is spawned.
type Inherit string

// The kinds of inheritance.
const (
	InheritNone    Inherit = "none"
	InheritFull    Inherit = "full"
	InheritPartial Inherit = "partial"
)

// Objective is a goal. It is completed when it is marked done, or when it has
// threads and all of them, archived ones included, are terminated.
type Objective struct {
	ID        ObjectiveID `json:"objectiveId"`
	Title     string      `json:"title"`
	CreatedAt time.Time   `json:"createdAt"`
	DoneAt    *time.Time  `json:"doneAt,omitempty"`
	// Cancelled: it was given up at DoneAt; Reason says why, "" if nobody said it.
	Cancelled bool   `json:"cancelled,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Made: it was made for its first thread, with that thread's title. Threads that name no
	// objective and no parent do not join it.
	Made bool `json:"made,omitempty"`
	// Archived is the number of its threads in the archive.
	Archived int      `json:"archived"`
	Revision Revision `json:"revision"`

	Unknown Unknown `json:"-"`
}

// Done reports whether the objective is marked done.
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
	// Priority is nil for NormalPriority: use Priority.Level.
	Priority  *Priority  `json:"priority,omitempty"`
	Tags      []string   `json:"tags,omitempty"`
	DependsOn []ThreadID `json:"dependsOn,omitempty"`
	Branch    string     `json:"branch,omitempty"`
	// Worktree is the folder of the thread's code: relative to the project's root
	// if it is inside it, otherwise absolute.
	Worktree string          `json:"worktree,omitempty"`
	Inherit  Inherit         `json:"inherit"`
	Shared   []Share         `json:"shared,omitempty"`
	Reverted []RevertedRange `json:"reverted,omitempty"`
	// Undone is the last merge into the thread that was undone, until it is tried again.
	Undone      *UndoneMerge `json:"undone,omitempty"`
	Claim       *Claim       `json:"claim,omitempty"`
	Injections  []Injection  `json:"injections,omitempty"`
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"`
	Reason      string       `json:"reason,omitempty"` // of the last change of status or executor
	// Ended says who completed or cancelled it, and when; nil while it has not ended.
	Ended *Attribution `json:"ended,omitempty"`
	// Successor is the thread that takes its place, "" for none or while it has not ended.
	Successor ThreadID `json:"successor,omitempty"`
	// Former has the last claim that somebody else than its holder has ended.
	Former rare[FormerClaim] `json:"former,omitempty"`
	// Handed says how the last holder whose claim ended before the thread did gave it up.
	Handed rare[Handover] `json:"handed,omitempty"`
	// Mistakes is set while the thread is suspended by the mistake limit.
	Mistakes *Mistakes `json:"mistakes,omitempty"`
	// Reopened says how the thread last came back after it had been terminated.
	Reopened *Reopening  `json:"reopened,omitempty"`
	Created  Attribution `json:"created"`
	Updated  time.Time   `json:"updatedAt"`
	Code     rare[Code]  `json:"code,omitempty"`
	// Run has the newest run of the thread's agent, if leslie has started one.
	Run rare[Run] `json:"run,omitempty"`
	// Overlaps has artifacts in which it conflicts with others, of which both were told.
	Overlaps rare[Overlap] `json:"overlaps,omitempty"`
	// Published, in a project on several machines, is what the other machines have of
	// the thread's files.
	Published *Published `json:"published,omitempty"`
	Revision  Revision   `json:"revision"`

	Unknown Unknown `json:"-"`
}

// rare is a list of what few threads have, written as []R. Types that make their own JSON
// are not inspected by encoding/json before there is something to write, which takes
// 0.1 ms of each command that reads or writes a thread for Run, and as much for Code.
type rare[R any] []R

// MarshalJSON returns the JSON of the list. Errors: those of encoding/json.
func (r rare[R]) MarshalJSON() ([]byte, error) { return fact.JSON([]R(r)) }

// Published is a list of a thread's files as one machine had them.
type Published struct {
	Manifest BlobID `json:"manifest"`
	Files    int    `json:"files"`

	Unknown Unknown `json:"-"`
}

// Claim is a lease: somebody is working on the thread until the given time. An
// expired claim has no effect.
type Claim struct {
	Holder string    `json:"holder"` // the actor's name
	As     ActorKind `json:"as"`
	At     time.Time `json:"at"`
	Until  time.Time `json:"until"`
	// For is the requested duration in nanoseconds; the holder's own writes extend
	// the claim by it.
	For time.Duration `json:"for"`

	Unknown Unknown `json:"-"`
}

// FormerClaim is a claim that somebody else than its holder has ended. Until it would have
// expired its holder may still be at work, and is told.
type FormerClaim struct {
	Holder string      `json:"holder"`
	Until  time.Time   `json:"until"` // when it would have expired
	How    string      `json:"how"`   // completed, cancelled, released, taken over, handed over
	Ended  Attribution `json:"ended"`
	Reason string      `json:"reason,omitempty"`

	Unknown Unknown `json:"-"`
}

// Handover says who gave a thread up, or lost it, for whom, and why.
type Handover struct {
	From   string      `json:"from"`
	To     string      `json:"to,omitempty"` // "": whoever claims it
	How    string      `json:"how"`          // released, taken over, handed over
	Reason string      `json:"reason,omitempty"`
	By     Attribution `json:"by"`

	Unknown Unknown `json:"-"`
}

// InjectionType says how injected content is meant.
type InjectionType string

// The types of injections.
const (
	InjectData       InjectionType = "data"
	InjectConstraint InjectionType = "constraint"
	InjectFeedback   InjectionType = "feedback"
	InjectPriority   InjectionType = "priority"
)

// Urgency says when the thread's agent should consider an injection.
type Urgency string

// The urgencies.
const (
	Immediate Urgency = "immediate"
	NextStep  Urgency = "next_step"
)

// Injection is information that somebody sends to a thread while it works. Its
// content stays in the record until the thread's own agent has received it; the
// beginning of a constraint stays longer, because it holds until the thread ends.
type Injection struct {
	ID      InjectionID   `json:"injectionId"`
	Type    InjectionType `json:"type"`
	Urgency Urgency       `json:"urgency"`
	Content string        `json:"content,omitempty"`
	// Cut: Content is only the beginning.
	Cut     bool         `json:"cut,omitempty"`
	Created Attribution  `json:"created"`
	Seen    *Attribution `json:"seen,omitempty"`

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
	// that somebody requested.
	Undo BlobID `json:"undo,omitempty"`
	// Turn is the turn of the thread's runs at whose end leslie made it, 0 for others. Work
	// is the commit with the thread's code then, "" for none.
	Turn int    `json:"turn,omitempty"`
	Work string `json:"work,omitempty"`

	Unknown Unknown `json:"-"`
}

// Mistakes says why the mistake limit suspended a thread.
type Mistakes struct {
	Count    int    `json:"count"` // failed commands in a row
	LastCode string `json:"lastCode"`
	Actor    string `json:"actor"`

	Unknown Unknown `json:"-"`
}

// Reopening says by which operation, when, by whom and why a terminated thread came back.
type Reopening struct {
	Revision Revision  `json:"revision"`
	At       time.Time `json:"at"`
	As       ActorKind `json:"as"`
	Actor    string    `json:"actor"`
	Reason   string    `json:"reason,omitempty"`

	Unknown Unknown `json:"-"`
}

// Attribution says when and by whom something was done.
type Attribution struct {
	At    time.Time `json:"at"`
	As    ActorKind `json:"as"`
	Actor string    `json:"actor"`

	Unknown Unknown `json:"-"`
}

// Share records content that two threads had in common at one revision: the base of
// later merges between them. Manifest is the blob that lists the paths and their
// hashes. A path that matches Scope (an empty Scope matches all) and is not in
// Manifest existed in neither thread.
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

// RevertedRange is a part of a thread's history from which its artifacts do not
// continue: an undo or a rollback (operation Until) returned them to their state at
// After.
type RevertedRange struct {
	After Revision `json:"after"`
	Until Revision `json:"until"`

	Unknown Unknown `json:"-"`
}

// UndoneMerge has the decisions of an undone merge. They hold for the next merge of the
// same sources, as far as it has the same conflicts.
type UndoneMerge struct {
	Sources   []ThreadID          `json:"sources"`
	Decisions map[string]Decision `json:"decisions,omitempty"`

	Unknown Unknown `json:"-"`
}

// Reference gives a thread read-only access to another thread's artifacts.
type Reference struct {
	ID      ReferenceID `json:"refId"`
	From    ThreadID    `json:"from"`
	Target  ThreadID    `json:"target"`
	Binding Binding     `json:"binding"`
	Scope   []string    `json:"scope,omitempty"`
	// Resolved is false if the target could not be found or read when the reference
	// was created or last refreshed; Unresolved then says why.
	Resolved   bool   `json:"targetResolved"`
	Unresolved string `json:"unresolved,omitempty"`
	// Manifest (frozen and resolved references only) lists the frozen files.
	Manifest BlobID      `json:"manifest,omitempty"`
	Files    int         `json:"files"`
	TakenAt  time.Time   `json:"takenAt"` // of the snapshot, otherwise of the creation
	Created  Attribution `json:"created"`
	Revision Revision    `json:"revision"`

	Unknown Unknown `json:"-"`
}

// Approval is a grant: capabilities that somebody gave to a thread or requested for
// it.
type Approval struct {
	ID       ApprovalID  `json:"approvalId"`
	ThreadID ThreadID    `json:"threadId"`
	Kind     GrantKind   `json:"kind"`
	Scope    []string    `json:"scope"` // capabilities, sorted
	Reason   string      `json:"reason,omitempty"`
	Status   GrantStatus `json:"status"`
	// Deadline is when a request's Fallback applies; nil: never.
	Deadline *time.Time `json:"deadline,omitempty"`
	Fallback Fallback   `json:"fallback,omitempty"`
	// Until is when a grant ends; nil: never.
	Until *time.Time `json:"until,omitempty"`
	// Digest is the manifest of the thread's artifacts at the time of the request.
	Digest BlobID `json:"digest,omitempty"`
	// MergeID is the merge that waits for the decision, and Plan the blob that
	// lists what that merge would do. Such a grant covers only that plan.
	MergeID MergeID `json:"mergeId,omitempty"`
	Plan    BlobID  `json:"plan,omitempty"`
	// Tool is the call of a tool that the thread's agent asks for; it grants that call
	// once.
	Tool     *ToolCall    `json:"tool,omitempty"`
	Created  Attribution  `json:"created"`
	Decided  *Attribution `json:"decided,omitempty"`
	Verdict  string       `json:"verdict,omitempty"` // the reason of the decision
	Revision Revision     `json:"revision"`

	Unknown Unknown `json:"-"`
}

// ToolCall is what an agent wants to do: a command, or something to some files.
type ToolCall struct {
	Digest  string   `json:"digest"` // of the tool and all that follows
	Tool    string   `json:"tool"`
	Command string   `json:"command,omitempty"`
	Paths   []string `json:"paths,omitempty"`

	Unknown Unknown `json:"-"`
}

// GrantKind says how a grant was created.
type GrantKind string

// A request waits for a person's decision; a delegation is effective at once.
const (
	Request    GrantKind = "request"
	Delegation GrantKind = "delegation"
)

// GrantStatus is the status of a grant. Only an approved one grants anything.
type GrantStatus string

// The statuses of grants.
const (
	GrantOpen      GrantStatus = "open"
	GrantApproved  GrantStatus = "approved"
	GrantDenied    GrantStatus = "denied"
	GrantSkipped   GrantStatus = "skipped"
	GrantWithdrawn GrantStatus = "withdrawn"
)

// Fallback says what happens to a request when its deadline passes.
type Fallback string

// Block leaves the request open, skip ends it and grants nothing, auto_approve
// approves it.
const (
	Block       Fallback = "block"
	Skip        Fallback = "skip"
	AutoApprove Fallback = "auto_approve"
)

// Merge is a pending merge. It does not store what the merge would do: leslie
// computes the plan again whenever it needs it, from the threads' current content
// and the decisions so far.
type Merge struct {
	ID      MergeID    `json:"mergeId"`
	Target  ThreadID   `json:"target"`
	Sources []ThreadID `json:"sources"`
	// Onto is the branch, of no thread, on which the code of a thread lands: that thread is
	// both Target and the only source. "" for a merge into a thread.
	Onto     string   `json:"onto,omitempty"`
	Scope    []string `json:"scope,omitempty"`
	Strategy Strategy `json:"strategy"`
	// Validate is the validator requested with the merge. leslie never runs it from
	// here, because a state file may come from a stranger.
	Validate string `json:"validate,omitempty"`
	// Decisions has decisions by the id of a conflict, or of all versions of a path.
	Decisions map[string]Decision `json:"decisions,omitempty"`
	// Declined says, by path, why an agent's answer was refused.
	Declined map[string]string `json:"declined,omitempty"`
	// Work has the files that leslie wrote for editing, by path: a different hash
	// shows that somebody has edited the file.
	Work map[string]BlobID `json:"work,omitempty"`
	// RequireApproval: a person has to approve the merge before it is applied.
	RequireApproval bool `json:"requireApproval,omitempty"`
	// Unread is "leave" if the merge is applied although the agents of its sources have not
	// read constraints or immediate messages; "" if it is refused.
	Unread string `json:"unread,omitempty"`
	// Code says what the merge does with code; nil: with both, as it comes.
	Code *MergeCode `json:"code,omitempty"`
	// Queued is its place in the queue of the target; nil for a merge that is carried out
	// on its own.
	Queued   *Queued     `json:"queued,omitempty"`
	Created  Attribution `json:"created"`
	Revision Revision    `json:"revision"`

	Unknown Unknown `json:"-"`
}

// Strategy says who resolves the conflicts of a merge.
type Strategy string

// The strategies.
const (
	Interactive Strategy = "interactive"
	AgentFirst  Strategy = "agent-first"
	HumanOnly   Strategy = "human"
	Strict      Strategy = "strict"
)

// Decision is the choice for one conflict or for a whole path: a side, or "text"
// with a text of its own (a blob).
type Decision struct {
	Take   string `json:"take"`
	Text   BlobID `json:"text,omitempty"`
	How    string `json:"how"` // user, agent, ...
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`

	Unknown Unknown `json:"-"`
}

// Step is one file-system change of an operation, stored in the state until a
// process that holds the lock has carried it out. Paths are relative to the store's
// folder, with "/". Repeating a step that is done has no effect.
type Step struct {
	Do StepKind `json:"do"`
	// From is the staged file or folder (under tmp/), To its destination.
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// Expect is the content of To at the time of planning.
	Expect BlobID `json:"expect,omitempty"`
	// Content is what is placed: the blob of the file, or of the manifest of the
	// folder; "" if the operation does not say. Executable belongs to a file.
	Content    BlobID `json:"content,omitempty"`
	Executable bool   `json:"executable,omitempty"`
	// Line is one line without its newline.
	Line string `json:"line,omitempty"`

	Unknown Unknown `json:"-"`
}

// StepKind says what a step does.
type StepKind string

const (
	// StepMakeDir creates the folder To and its parents.
	StepMakeDir StepKind = "mkdir"
	// StepPlace renames From to To. If a folder or file exists at To, it is first
	// moved into the staging folder, its content is saved as blobs, and then it is
	// removed.
	StepPlace StepKind = "place"
	// StepRemove removes To after saving its content as blobs.
	StepRemove StepKind = "remove"
	// StepReplace renames the file From over the file To if To still has the hash
	// Expect ("" for no file). Otherwise somebody has saved To since: then To stays,
	// and From is put next to it under a name that ends in ".merge-OP".
	StepReplace StepKind = "replace"
	// StepDelete removes the file To if it still has the hash Expect.
	StepDelete StepKind = "delete"
	// StepAppend appends Line to the file To unless the file already contains it. It
	// creates a missing file.
	StepAppend StepKind = "append"
)

// Pending is the file-system work of the operation that created this revision.
type Pending struct {
	Operation OperationID `json:"operationId"`
	Steps     []Step      `json:"steps"`
	// At is the number of each step in its operation; nil where these are all of it.
	At []int `json:"-"`

	Unknown Unknown `json:"-"`
}

// Quarantined has steps of an earlier operation that cannot be carried out for now, for
// example because a link is in place of their thread's folder. Each writer tries them
// again; they are never dropped.
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
