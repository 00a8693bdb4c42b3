package app

import (
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/store"
	"leslie/thread"
)

// ApprovalsOf returns the grants of a thread, live or archived.
func ApprovalsOf(s *thread.State, t thread.Thread) ([]thread.Approval, error) {
	if t.Status == thread.Archived {
		return s.ArchivedApprovals(t.ID)
	}
	return s.ApprovalsOf(t.ID), nil
}

// This file has what all use cases about code share: the project's repository, the
// folders of worktrees, and who works on a thread's worktree.

// CodeRecord is what is recorded of a thread's code. Its branch and its worktree are the
// thread's.
type CodeRecord struct {
	State thread.CodeState `json:"state"`
	// Machine is where it is, if the state is elsewhere.
	Machine string `json:"machine,omitempty"`
	// Target is the branch from which it started, null if it was a commit.
	Target *string             `json:"target"`
	Start  string              `json:"start"`
	Slot   int                 `json:"slot,omitempty"`
	Landed []thread.CodeLanded `json:"landed,omitempty"`
	// Kept is the ref that keeps what its removed worktree and branch had, "" for none.
	Kept string `json:"kept,omitempty"`
	// Accept has the checks that an agent's done runs, Evidence how they ended; only a
	// thread's status has that.
	Accept   []string              `json:"accept,omitempty"`
	Evidence []thread.CodeEvidence `json:"evidence,omitempty"`
	// Checks has how the checks ended where the branch begins, and when they last ran; only
	// a thread's status has them.
	Checks []thread.CodeEvidence `json:"checks,omitempty"`
	// Left says what was not committed when the thread was completed.
	Left *thread.CodeLeft `json:"left,omitempty"`
}

// CodeOf returns what is recorded of a thread's code, nil for none.
func CodeOf(t thread.Thread) *CodeRecord {
	c := t.OwnedCode()
	if c == nil {
		return nil
	}
	kept := ""
	if c.Removed != nil {
		kept = c.Removed.Ref
	}
	machine := ""
	if c.State == thread.CodeElsewhere {
		machine = c.Machine
	}
	return &CodeRecord{
		State: c.State, Machine: machine, Kept: kept, Target: OrNull(BranchOf(c.Target)), Start: c.Start, Slot: c.Slot, Landed: c.Landed, Accept: c.Accept,
		Left: c.Left,
	}
}

// BranchNotPushed is a branch on which threads have landed here, and of which no remote has that.
type BranchNotPushed struct {
	Branch string `json:"branch"`
	// Commits is how many commits no remote has, Landed the threads whose landings are among them.
	Commits int               `json:"commits"`
	Landed  []thread.ThreadID `json:"landed"`
}

// CodeLater is what another machine has sent of a completed thread that did not land with it.
type CodeLater struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Machine  string          `json:"machine"`
	Commits  int             `json:"commits"`
	Ref      string          `json:"ref"`  // that has them here, as git merge takes it
	Onto     string          `json:"onto"` // the branch on which the thread landed
}

// CodeLeft is work on a thread that is on this machine alone: whoever has the thread works on another
// one, which does not have it, or the thread was completed before.
type CodeLeft struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Branch   string          `json:"branch"`
	Machine  string          `json:"machine"` // where the thread's worktree is, "" for this one
	Commits  int             `json:"commits"` // of the branch here, that the thread's own lacks
	// Stays: the user has commits stay here (code.travel is off), so that only git takes them on.
	Stays bool `json:"stays,omitempty"`
	// Beside is the ref that has these commits on Machine, once they were published.
	Beside string `json:"beside,omitempty"`
	// LandedOn is the branch on which the thread landed without them; "" if it did not. Unpulled: this clone does not have
	// that landing yet, which may have brought them.
	LandedOn string `json:"landedOn,omitempty"`
	Unpulled bool   `json:"unpulled,omitempty"`
	// Free: nobody works on the thread, so that its worktree may be made here.
	Free bool `json:"free,omitempty"`
	// Files is how many files and folders are not committed in Worktree, "" if there are none.
	Files    int    `json:"files"`
	Worktree string `json:"worktree,omitempty"`
	// Astray is how many commits Worktree has up to AstrayTip that no branch has; 0 if there are none.
	Astray    int    `json:"astray,omitempty"`
	AstrayTip string `json:"astrayTip,omitempty"`
}

// CodeAmount says how much a thread changed in its code.
type CodeAmount struct {
	Commits int `json:"commits"` // its own that the target lacks
	// Files, Added and Removed are how many files and lines those change.
	Files       int  `json:"files"`
	Added       int  `json:"added"`
	Removed     int  `json:"removed"`
	Uncommitted int  `json:"uncommitted"` // files that are changed, or new and not ignored
	Landed      bool `json:"landed"`
	// Astray is how many commits its worktree has that the branch lacks, because another one, or none,
	// is checked out there.
	Astray int `json:"astray,omitempty"`
}

// BranchOf is a ref's name as people write it.
func BranchOf(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/remotes/"} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			return name
		}
	}
	return ref
}

// This file defines records as results show them.

// Actor says who did something.
type Actor struct {
	As    thread.ActorKind `json:"as"`
	Actor string           `json:"actor"`
}

// ActorOf is who did something, as an answer shows it.
func ActorOf(by thread.Attribution) Actor { return Actor{As: by.As, Actor: by.Actor} }

// ThreadRecord has a thread's own fields.
type ThreadRecord struct {
	ThreadID    thread.ThreadID     `json:"threadId"`
	Title       string              `json:"title"`
	Intent      string              `json:"intent"`
	Status      thread.Status       `json:"status"`
	Reason      string              `json:"reason,omitempty"`
	Ended       *thread.Attribution `json:"ended,omitempty"` // who completed or cancelled it
	Successor   thread.ThreadID     `json:"successor,omitempty"`
	Executor    thread.Executor     `json:"executor"`
	Priority    thread.Priority     `json:"priority"`
	ObjectiveID thread.ObjectiveID  `json:"objectiveId"`
	ParentID    *thread.ThreadID    `json:"parentId"`
	Tags        []string            `json:"tags"`
	DependsOn   []thread.ThreadID   `json:"dependsOn"`
	Branch      *string             `json:"branch"`
	Worktree    *string             `json:"worktree"`
	Code        *CodeRecord         `json:"code,omitempty"`
	Inherit     thread.Inherit      `json:"inherit"`
	Path        string              `json:"path"` // its folder, from the project's root
	Dir         string              `json:"dir"`  // its folder, absolute
	CreatedAt   time.Time           `json:"createdAt"`
	CreatedBy   Actor               `json:"createdBy"`
	UpdatedAt   time.Time           `json:"updatedAt"`
	Revision    thread.Revision     `json:"revision"`
}

// ThreadOf is a thread as an answer shows it.
func ThreadOf(c *Call, t thread.Thread) ThreadRecord {
	return ThreadRecord{
		ThreadID: t.ID, Title: t.Title, Intent: t.Intent, Status: t.Status, Reason: t.Reason, Ended: t.Ended, Successor: t.Successor, Executor: t.Executor, Priority: t.Priority.Level(),
		ObjectiveID: t.ObjectiveID, ParentID: OrNull(t.ParentID), Tags: append([]string{}, t.Tags...),
		DependsOn: append([]thread.ThreadID{}, t.DependsOn...), Branch: OrNull(t.Branch), Worktree: OrNull(t.Worktree), Code: CodeOf(t),
		Inherit: t.Inherit, Path: ThreadPath(t.ID), Dir: c.Absolute(ThreadPath(t.ID)), CreatedAt: t.Created.At,
		CreatedBy: ActorOf(t.Created), UpdatedAt: t.Updated, Revision: t.Revision,
	}
}

// ThreadItem is a thread in a list.
type ThreadItem struct {
	ThreadID    thread.ThreadID    `json:"threadId"`
	Title       string             `json:"title"`
	Status      thread.Status      `json:"status"`
	Executor    thread.Executor    `json:"executor"`
	Priority    thread.Priority    `json:"priority"`
	ObjectiveID thread.ObjectiveID `json:"objectiveId"`
	ParentID    *thread.ThreadID   `json:"parentId"`
	DependsOn   []thread.ThreadID  `json:"dependsOn"`
	Claim       *ClaimRecord       `json:"claim"`
	Tags        []string           `json:"tags"`
	Code        *CodeRecord        `json:"code,omitempty"`
	UpdatedAt   time.Time          `json:"updatedAt"`
	// Run is the newest run of its agent, if leslie has started one.
	Run *RunRecord `json:"run,omitempty"`
	// Depth, in a tree, is the number of its ancestors in the list.
	Depth *int `json:"depth,omitempty"`
}

// ThreadItemOf is a thread as a list shows it.
func ThreadItemOf(c *Call, t thread.Thread) ThreadItem {
	item := ThreadItem{
		ThreadID: t.ID, Title: t.Title, Status: t.Status, Executor: t.Executor, Priority: t.Priority.Level(), ObjectiveID: t.ObjectiveID, ParentID: OrNull(t.ParentID),
		DependsOn: append([]thread.ThreadID{}, t.DependsOn...), Claim: CurrentClaim(c, t), Tags: append([]string{}, t.Tags...), Code: CodeOf(t), UpdatedAt: t.Updated,
	}
	item.Run = LastRunOf(c, t)
	return item
}

// ObjectiveRecord is one objective with the counts of its threads.
type ObjectiveRecord struct {
	ObjectiveID thread.ObjectiveID     `json:"objectiveId"`
	Title       string                 `json:"title"`
	Status      thread.ObjectiveStatus `json:"status"`
	CreatedAt   time.Time              `json:"createdAt"`
	DoneAt      *time.Time             `json:"doneAt,omitempty"`
	Reason      string                 `json:"reason,omitempty"` // why it was cancelled
	Threads     thread.Counts          `json:"threads"`
	// Runs is what the agents of its threads have used, archived ones too.
	Runs     *thread.RunTotals `json:"runs,omitempty"`
	Revision thread.Revision   `json:"revision"`
}

// ObjectiveOf is an objective as an answer shows it.
func ObjectiveOf(s *thread.State, o thread.Objective) ObjectiveRecord {
	counts := s.CountsOf(o)
	return ObjectiveRecord{
		ObjectiveID: o.ID, Title: o.Title, Status: o.Status(counts), CreatedAt: o.CreatedAt, DoneAt: o.DoneAt, Reason: o.Reason,
		Threads: counts, Revision: o.Revision,
	}
}

// ApprovalRecord is a grant: a request, a delegation, or a request about a merge.
type ApprovalRecord struct {
	ApprovalID thread.ApprovalID  `json:"approvalId"`
	ThreadID   thread.ThreadID    `json:"threadId"`
	Kind       thread.GrantKind   `json:"kind"`
	Scope      []string           `json:"scope"`
	Reason     string             `json:"reason"`
	Status     thread.GrantStatus `json:"status"`
	Deadline   *time.Time         `json:"deadline"`
	Late       bool               `json:"late"` // the deadline has passed; a person may still decide
	Fallback   *thread.Fallback   `json:"fallback"`
	Until      *time.Time         `json:"until"`
	MergeID    *thread.MergeID    `json:"mergeId"`
	CreatedAt  time.Time          `json:"createdAt"`
	CreatedBy  Actor              `json:"createdBy"`
	DecidedAt  *time.Time         `json:"decidedAt"`
	DecidedBy  *Actor             `json:"decidedBy"`
	Verdict    string             `json:"verdict,omitempty"`
	Tool       *thread.ToolCall   `json:"tool,omitempty"`
	Revision   thread.Revision    `json:"revision"`
}

// ApprovalOf returns a grant as of now. A call of a tool uses its approval up: that is not
// withdrawn, and what the person decided stays to be read.
func ApprovalOf(g thread.Approval, now time.Time) ApprovalRecord {
	switch {
	case g.Tool == nil:
		g = g.EffectiveAt(now)
	case g.Tool.Command != "" || len(g.Tool.Paths) > 0:
		g.Reason = ToolLine(g.Tool, "") // all of it: what was recorded as the reason is the beginning
	}
	d := ApprovalRecord{
		ApprovalID: g.ID, ThreadID: g.ThreadID, Kind: g.Kind, Scope: g.Scope, Reason: g.Reason, Status: g.Status,
		Deadline: g.Deadline, Late: g.Status == thread.GrantOpen && g.Late(now), Fallback: OrNull(g.Fallback), Until: g.Until,
		MergeID: OrNull(g.MergeID), CreatedAt: g.Created.At, CreatedBy: ActorOf(g.Created),
		Verdict: g.Verdict, Tool: g.Tool, Revision: g.Revision,
	}
	if g.Decided != nil {
		by := ActorOf(*g.Decided)
		d.DecidedAt, d.DecidedBy = &g.Decided.At, &by
	}
	return d
}

// InjectionRecord is an injection; it has its content until it was seen, and a
// constraint the beginning of it after that.
type InjectionRecord struct {
	InjectionID thread.InjectionID   `json:"injectionId"`
	Type        thread.InjectionType `json:"type"`
	Urgency     thread.Urgency       `json:"urgency"`
	Content     string               `json:"content,omitempty"`
	Cut         bool                 `json:"cut,omitempty"` // Content is only the beginning
	CreatedAt   time.Time            `json:"createdAt"`
	CreatedBy   Actor                `json:"createdBy"`
	SeenAt      *time.Time           `json:"seenAt"`
	SeenBy      *Actor               `json:"seenBy"`
}

// InjectionsOf are a thread's messages as an answer shows them.
func InjectionsOf(t thread.Thread) []InjectionRecord {
	out := []InjectionRecord{}
	for _, i := range t.Injections {
		d := InjectionRecord{
			InjectionID: i.ID, Type: i.Type, Urgency: i.Urgency, Content: i.Content, Cut: i.Cut,
			CreatedAt: i.Created.At, CreatedBy: ActorOf(i.Created),
		}
		if i.Seen != nil {
			by := ActorOf(*i.Seen)
			d.SeenAt, d.SeenBy = &i.Seen.At, &by
		}
		out = append(out, d)
	}
	return out
}

// CheckpointItem is a checkpoint in its thread's status.
type CheckpointItem struct {
	CheckpointID thread.CheckpointID `json:"checkpointId"`
	Name         *string             `json:"name"`
	Files        int                 `json:"files"`
	Automatic    bool                `json:"automatic"` // a rollback made it of what it replaced
	CreatedAt    time.Time           `json:"createdAt"`
	CreatedBy    Actor               `json:"createdBy"`
	// Turn is the turn at whose end leslie made it, and Work the commit with the thread's
	// code then; absent for others.
	Turn int    `json:"turn,omitempty"`
	Work string `json:"work,omitempty"`
}

// CheckpointsOf returns the checkpoints of turns, or the others.
func CheckpointsOf(t thread.Thread, turns bool) []CheckpointItem {
	out := []CheckpointItem{}
	for _, c := range t.Checkpoints {
		if (c.Turn > 0) == turns {
			out = append(out, CheckpointItemOf(c))
		}
	}
	return out
}

// CheckpointItemOf is a checkpoint as an answer shows it.
func CheckpointItemOf(c thread.Checkpoint) CheckpointItem {
	return CheckpointItem{
		CheckpointID: c.ID, Name: OrNull(c.Name), Files: c.Files, Automatic: c.Automatic(),
		CreatedAt: c.Created.At, CreatedBy: ActorOf(c.Created), Turn: c.Turn, Work: c.Work,
	}
}

// ClaimRecord is a valid claim.
type ClaimRecord struct {
	Holder string           `json:"holder"`
	As     thread.ActorKind `json:"as"`
	Until  time.Time        `json:"until"`
	// HeardAt is when the holder was last heard of, and Silent how long ago that is.
	HeardAt time.Time `json:"heardAt"`
	// Unheard: somebody gave the holder the thread, and nothing was heard of it since.
	Unheard bool          `json:"unheard,omitempty"`
	Silent  time.Duration `json:"-"`
}

// Heard returns when the holder was last heard of, and when that was asked.
func (d *ClaimRecord) Heard() (at, asked time.Time) { return d.HeardAt, d.HeardAt.Add(d.Silent) }

// CurrentClaim returns the claim that is valid now, nil for none.
func CurrentClaim(c *Call, t thread.Thread) *ClaimRecord {
	held := t.Held(c.Now())
	if held == nil {
		return nil
	}
	if held.Holder == c.caller.Actor && c.store.HeardOf(held.Holder).IsZero() { // somebody gave it the thread
		c.store.HearHolder(held.Holder, c.Now())
	}
	d := &ClaimRecord{Holder: held.Holder, As: held.As, Until: held.Until, HeardAt: c.heardOf(t, held)}
	d.Silent = c.Now().Sub(d.HeardAt)
	d.Unheard = t.Given(c.Now()) != nil && !d.HeardAt.After(held.At)
	return d
}

// FirstLine returns the beginning of a text as a title.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return Cut(strings.TrimSpace(line), MaxTitle)
}

// RunRecord is the newest run of a thread.
type RunRecord struct {
	RunID     thread.RunID `json:"runId"`
	Agent     string       `json:"agent"`
	Version   string       `json:"agentVersion,omitempty"`
	SessionID string       `json:"sessionId,omitempty"`
	// Machine is the one on which it is, in a project on several.
	Machine   string          `json:"machine,omitempty"`
	Phase     thread.RunPhase `json:"phase"`
	Stop      thread.RunEnd   `json:"stop,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Code      codes.Code      `json:"code,omitempty"`
	Turns     int             `json:"turns"`
	Attempts  int             `json:"attempts"`
	Used      thread.Use      `json:"used"`
	StartedAt time.Time       `json:"startedAt"`
	EndedAt   *time.Time      `json:"endedAt"`
	// Elsewhere are files of the project's checkout that changed while the agent worked in a worktree of its own.
	Elsewhere []string `json:"elsewhere,omitempty"`
	// Killed: it goes on as its record says, and its process is gone.
	Killed bool `json:"killed,omitempty"`
	// Ready: it is parked, and what it waited for is there.
	Ready bool `json:"ready,omitempty"`
	// NotBefore is when leslie run --next goes on with a run whose agent reached its own
	// limit.
	NotBefore *time.Time `json:"notBefore,omitempty"`
}

// RunOf is a run as an answer shows it.
func RunOf(r thread.Run) RunRecord {
	return RunRecord{
		RunID: r.ID, Agent: r.Agent, Version: r.AgentVersion, SessionID: r.SessionID, Machine: r.Machine, Phase: r.Phase, Stop: r.Stop, Reason: r.Reason, Code: r.Code,
		Turns: r.Turns, Attempts: r.Attempts, Used: r.Used, StartedAt: r.StartedAt, EndedAt: r.EndedAt, NotBefore: r.NotBefore, Elsewhere: r.Elsewhere,
	}
}

// LastRunOf is the newest run of a thread as an answer shows it, nil for none.
func LastRunOf(c *Call, t thread.Thread) *RunRecord {
	if t.LastRun() == nil {
		return nil
	}
	r := RunOf(*t.LastRun())
	r.Killed = c.runKilled(t)
	if r.Phase == thread.RunParked && r.Stop == thread.RunInterrupted && t.Status == thread.WaitingHuman {
		if id := c.openApproval(t); id != "" { // a limit of all runs stopped it as it waited
			r.Stop, r.Reason = thread.RunWaits, AwaitsDecision(id)
		}
	}
	r.Ready = r.Phase == thread.RunParked && r.Stop == thread.RunWaits && t.Status == thread.Active && t.Executor == thread.ByAgent && !c.asks(t)
	return &r
}

// AwaitsDecision is why a run waits until somebody decides a request.
func AwaitsDecision(id thread.ApprovalID) string {
	return "it waits for a decision about " + string(id)
}

// openApproval is the first request of a thread that nobody has decided, "" for none.
func (c *Call) openApproval(t thread.Thread) (id thread.ApprovalID) {
	_, _ = c.store.View(c.ctx, func(s *thread.State) error {
		id = ""
		if open := s.OpenRequests(t.ID); len(open) > 0 {
			id = open[0].ID
		}
		return nil
	})
	return id
}

// asks reports whether a thread waits for the answer to a question of its own, also if that cannot be read.
func (c *Call) asks(t thread.Thread) (waits bool) {
	waits = true
	_, _ = c.store.View(c.ctx, func(s *thread.State) error {
		waits = slices.ContainsFunc(s.OpenQuestions(t.ID), func(q thread.Question) bool { return q.ThreadID == t.ID })
		return nil
	})
	return waits
}

// runKilled reports whether the process of a run that goes on is gone. What cannot be read goes on.
func (c *Call) runKilled(t thread.Thread) bool {
	if !t.LastRun().Going() {
		return false // and no lock is looked at
	}
	if alive, err := c.RunAlive(t); err != nil || alive {
		return false
	}
	still := false // it may have ended since t was read
	_, err := c.store.View(c.ctx, func(s *thread.State) error {
		now, err := s.Thread(string(t.ID))
		still = err == nil && now.LastRun().Going() && now.LastRun().ID == t.LastRun().ID
		return err
	})
	return err == nil && still
}

// RunAlive reports whether a process runs a thread's agent now: on this machine, as its lock
// shows, or on another. Errors: T509.
func (c *Call) RunAlive(t thread.Thread) (bool, error) {
	if run := t.LastRun(); run.Going() && run.Machine != "" && run.Machine != c.project.Machine() {
		return t.RunsElsewhere(c.project.Machine(), c.Now()), nil
	}
	return c.store.RunHeld(t.ID)
}

// WithoutFolders leaves out folders, because their files imply them.
func WithoutFolders(entries []store.Entry) []store.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e store.Entry) bool { return e.Type == store.TypeFolder })
}
