package app

import (
	"strings"
	"time"

	"leslie/thread"
)

// This file defines records as results show them.

// Actor says who did something.
type Actor struct {
	As    thread.ActorKind `json:"as"`
	Actor string           `json:"actor"`
}

func actorOf(by thread.Attribution) Actor { return Actor{As: by.As, Actor: by.Actor} }

// ThreadRecord has a thread's own fields.
type ThreadRecord struct {
	ThreadID    thread.ThreadID    `json:"threadId"`
	Title       string             `json:"title"`
	Intent      string             `json:"intent"`
	Status      thread.Status      `json:"status"`
	Reason      string             `json:"reason,omitempty"`
	Executor    thread.Executor    `json:"executor"`
	ObjectiveID thread.ObjectiveID `json:"objectiveId"`
	ParentID    *thread.ThreadID   `json:"parentId"`
	Tags        []string           `json:"tags"`
	DependsOn   []thread.ThreadID  `json:"dependsOn"`
	Branch      *string            `json:"branch"`
	Worktree    *string            `json:"worktree"`
	Code        *CodeRecord        `json:"code,omitempty"`
	Inherit     thread.Inherit     `json:"inherit"`
	Path        string             `json:"path"` // its folder, from the project's root
	Dir         string             `json:"dir"`  // its folder, absolute
	CreatedAt   time.Time          `json:"createdAt"`
	CreatedBy   Actor              `json:"createdBy"`
	UpdatedAt   time.Time          `json:"updatedAt"`
	Revision    thread.Revision    `json:"revision"`
}

func threadOf(c *Call, t thread.Thread) ThreadRecord {
	return ThreadRecord{
		ThreadID: t.ID, Title: t.Title, Intent: t.Intent, Status: t.Status, Reason: t.Reason, Executor: t.Executor,
		ObjectiveID: t.ObjectiveID, ParentID: orNull(t.ParentID), Tags: append([]string{}, t.Tags...),
		DependsOn: append([]thread.ThreadID{}, t.DependsOn...), Branch: orNull(t.Branch), Worktree: orNull(t.Worktree), Code: codeOf(t),
		Inherit: t.Inherit, Path: threadPath(t.ID), Dir: absolute(c, threadPath(t.ID)), CreatedAt: t.Created.At,
		CreatedBy: actorOf(t.Created), UpdatedAt: t.Updated, Revision: t.Revision,
	}
}

// ObjectiveRecord is one objective with the counts of its threads.
type ObjectiveRecord struct {
	ObjectiveID thread.ObjectiveID     `json:"objectiveId"`
	Title       string                 `json:"title"`
	Status      thread.ObjectiveStatus `json:"status"`
	CreatedAt   time.Time              `json:"createdAt"`
	DoneAt      *time.Time             `json:"doneAt,omitempty"`
	Threads     thread.Counts          `json:"threads"`
	// Runs is what the agents of its threads have used that are not archived.
	Runs     *thread.RunTotals `json:"runs,omitempty"`
	Revision thread.Revision   `json:"revision"`
}

func objectiveOf(s *thread.State, o thread.Objective) ObjectiveRecord {
	counts := s.CountsOf(o)
	return ObjectiveRecord{
		ObjectiveID: o.ID, Title: o.Title, Status: o.Status(counts), CreatedAt: o.CreatedAt, DoneAt: o.DoneAt,
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

// approvalOf returns a grant as of now. A call of a tool uses its approval up: that is not
// withdrawn, and what the person decided stays to be read.
func approvalOf(g thread.Approval, now time.Time) ApprovalRecord {
	switch {
	case g.Tool == nil:
		g = g.EffectiveAt(now)
	case g.Tool.Command != "" || len(g.Tool.Paths) > 0:
		g.Reason = told(g.Tool, "") // all of it: what was recorded as the reason is the beginning
	}
	d := ApprovalRecord{
		ApprovalID: g.ID, ThreadID: g.ThreadID, Kind: g.Kind, Scope: g.Scope, Reason: g.Reason, Status: g.Status,
		Deadline: g.Deadline, Late: g.Status == thread.GrantOpen && g.Late(now), Fallback: orNull(g.Fallback), Until: g.Until,
		MergeID: orNull(g.MergeID), CreatedAt: g.Created.At, CreatedBy: actorOf(g.Created),
		Verdict: g.Verdict, Tool: g.Tool, Revision: g.Revision,
	}
	if g.Decided != nil {
		by := actorOf(*g.Decided)
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

func injectionsOf(t thread.Thread) []InjectionRecord {
	out := []InjectionRecord{}
	for _, i := range t.Injections {
		d := InjectionRecord{
			InjectionID: i.ID, Type: i.Type, Urgency: i.Urgency, Content: i.Content, Cut: i.Cut,
			CreatedAt: i.Created.At, CreatedBy: actorOf(i.Created),
		}
		if i.Seen != nil {
			by := actorOf(*i.Seen)
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

// checkpointsOf returns the checkpoints of turns, or the others.
func checkpointsOf(t thread.Thread, turns bool) []CheckpointItem {
	out := []CheckpointItem{}
	for _, c := range t.Checkpoints {
		if (c.Turn > 0) == turns {
			out = append(out, checkpointItem(c))
		}
	}
	return out
}

func checkpointItem(c thread.Checkpoint) CheckpointItem {
	return CheckpointItem{
		CheckpointID: c.ID, Name: orNull(c.Name), Files: c.Files, Automatic: c.Automatic(),
		CreatedAt: c.Created.At, CreatedBy: actorOf(c.Created), Turn: c.Turn, Work: c.Work,
	}
}

// ClaimRecord is a valid claim.
type ClaimRecord struct {
	Holder string           `json:"holder"`
	As     thread.ActorKind `json:"as"`
	Until  time.Time        `json:"until"`
}

// currentClaim returns the claim that is valid now, nil for none.
func currentClaim(t thread.Thread, now time.Time) *ClaimRecord {
	c := t.Held(now)
	if c == nil {
		return nil
	}
	return &ClaimRecord{Holder: c.Holder, As: c.As, Until: c.Until}
}

// firstLine returns the beginning of a text as a title.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cut(strings.TrimSpace(line), maxTitle)
}
