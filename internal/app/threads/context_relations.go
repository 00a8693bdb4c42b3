package threads

import (
	"time"

	"leslie/internal/app"
	"leslie/store"
	"leslie/thread"
)

// This file collects what a thread's context says of others: its children and
// dependants, live targets, approvals, capabilities.

// ContextRelations has a thread's context beside its own record and files.
type ContextRelations struct {
	Dir string `json:"dir"` // the thread's folder, absolute
	// FolderMissing: Dir is not there, which is damage. Nothing is known of its artifacts.
	FolderMissing bool `json:"folderMissing,omitempty"`

	Children []ContextChild `json:"children"`
	// Unmerged has the completed children whose artifacts differ from what they and the
	// thread last had in common; MergeNext merges them, "" for none.
	Unmerged  []thread.ThreadID `json:"unmerged"`
	MergeNext string            `json:"mergeNext,omitempty"`
	// PendingMerges has the merges into the thread, pulls too, that are not applied yet.
	PendingMerges []ContextMerge `json:"pendingMerges,omitempty"`
	// QueuedMerges has the merges from the thread that wait in the queue of another one.
	QueuedMerges []ContextMerge `json:"queuedMerges,omitempty"`
	// Questions has what the thread has asked and nobody has answered.
	Questions    []ContextQuestion    `json:"questions,omitempty"`
	Dependants   []ContextDependency  `json:"dependants"`
	LiveChanges  []LiveChange         `json:"liveChanges"`
	Approvals    []app.ApprovalRecord `json:"approvals"`
	Capabilities []ContextCapability  `json:"capabilities"`
	// EnforcedBy says who keeps the agent to its capabilities: run, if leslie runs it, hook, if
	// one runs before its tools (Hook is its file), or none that is known.
	EnforcedBy string `json:"enforcedBy"`
	Hook       string `json:"hook,omitempty"`
}

// ContextChild is a child of the thread.
type ContextChild struct {
	ID     thread.ThreadID `json:"threadId"`
	Title  string          `json:"title"`
	Status thread.Status   `json:"status"`
	Holder *string         `json:"holder"` // of its claim
	// HeardAt is when the holder was last heard of, absent without one.
	HeardAt *time.Time       `json:"heardAt,omitempty"`
	Claim   *app.ClaimRecord `json:"-"`
	// WaitsFor has the open requests of the child, and what it asked a person.
	WaitsFor []ContextWait `json:"waitsFor,omitempty"`
	// Mistakes says that the mistake limit suspended it: a person has to resume it.
	Mistakes *thread.Mistakes `json:"mistakes,omitempty"`
	// Changes is how much it changed in its code; nil if it owns none, or git cannot say it soon.
	Changes *app.CodeAmount `json:"changes,omitempty"`

	hasCode bool // in a worktree that is there
}

// ContextWait is an approval or an answer that a child waits for.
type ContextWait struct {
	Kind   app.WaitingKind `json:"kind"` // approval or question
	ID     string          `json:"id"`
	What   string          `json:"what"` // the capabilities, or the question
	Reason string          `json:"reason,omitempty"`
}

// ContextMerge is a pending merge into the thread, or a queued one from it.
type ContextMerge struct {
	MergeID thread.MergeID    `json:"mergeId"`
	Target  thread.ThreadID   `json:"target"`
	Sources []thread.ThreadID `json:"sources"`
	Next    string            `json:"next"` // goes on with it
	Queued  bool              `json:"queued,omitempty"`
	// Refused says why a queued merge has not landed.
	Refused *thread.Refused `json:"refused,omitempty"`
}

// ContextQuestion is a question of the thread that nobody has answered.
type ContextQuestion struct {
	QuestionID thread.QuestionID `json:"questionId"`
	To         string            `json:"to"` // human, or a thread
	Question   string            `json:"question"`
	AskedAt    time.Time         `json:"askedAt"`
}

func contextMerge(m thread.Merge) ContextMerge {
	out := ContextMerge{MergeID: m.ID, Target: m.Target, Sources: m.Sources, Next: app.ContinueLine(m)}
	if m.Queued != nil {
		out.Queued, out.Refused = true, m.Queued.Refused
	}
	return out
}

// LiveChange has the files of a live reference's target that were saved since the
// reference was made or refreshed.
type LiveChange struct {
	RefID  thread.ReferenceID `json:"refId"`
	Target thread.ThreadID    `json:"target"`
	Since  time.Time          `json:"since"`
	Paths  []string           `json:"paths"`
}

// ContextCapability says where the thread stands with a capability.
type ContextCapability struct {
	Capability string `json:"capability"`
	Allowed    bool   `json:"allowed"`
	By         string `json:"by,omitempty"` // policy, delegation, approval
}

// maxCompared is how many completed children are compared with what they shared; of
// further ones the records alone decide.
const maxCompared = 50

// relate collects what the State knows; compare says which children hold something to
// merge.
func (r *ContextRelations) relate(c *app.Call, s *thread.State, t thread.Thread, p thread.Policy) (compare []app.ComparedVersions) {
	now := c.Now()
	r.Dir = c.Absolute(app.ThreadPath(t.ID))
	relations := s.RelationsOf(t)
	var children []thread.Thread
	r.Children = []ContextChild{}
	waits := map[thread.ThreadID][]ContextWait{}
	if len(relations.Children) > 0 {
		waits = waitsOf(s)
	}
	for _, id := range relations.Children {
		child, _ := s.Threads.Peek(string(id))
		children = append(children, child)
		item := ContextChild{ID: child.ID, Title: child.Title, Status: child.Status, WaitsFor: waits[id], Mistakes: child.Mistakes}
		item.hasCode = child.OwnedCode() != nil && child.OwnedCode().State == thread.CodeReady
		if held := app.CurrentClaim(c, child); held != nil {
			item.Holder, item.HeardAt, item.Claim = &held.Holder, &held.HeardAt, held
		}
		r.Children = append(r.Children, item)
	}
	for _, child := range s.UnmergedChildren(t, children) {
		compare = append(compare, app.ComparedVersions{Base: app.BaseOf(s, child), Current: app.CurrentOf(child.ID)})
	}
	r.Dependants = []ContextDependency{}
	for _, id := range relations.DependedOnBy {
		r.Dependants = append(r.Dependants, ContextDependency{id, s.StatusOf(id)})
	}
	for _, m := range s.MergesOf(t.ID) {
		switch {
		case m.Target == t.ID:
			r.PendingMerges = append(r.PendingMerges, contextMerge(m))
		case m.Queued != nil:
			r.QueuedMerges = append(r.QueuedMerges, contextMerge(m))
		}
	}
	for _, q := range s.OpenQuestions(t.ID) {
		asked := ContextQuestion{q.ID, string(q.To), q.Text, q.Created.At}
		if asked.To == "" {
			asked.To = string(thread.ByHuman)
		}
		r.Questions = append(r.Questions, asked)
	}
	r.Approvals = []app.ApprovalRecord{}
	for _, g := range s.ApprovalsOf(t.ID) {
		r.Approvals = append(r.Approvals, app.ApprovalOf(g, now))
	}
	r.Capabilities = []ContextCapability{}
	for _, at := range s.Standings(&t, p, now) {
		allowed := ContextCapability{Capability: at.Capability, Allowed: at.Why != nil}
		if at.Why != nil {
			allowed.By = at.Why.By
		}
		r.Capabilities = append(r.Capabilities, allowed)
	}
	return compare
}

// waitsOf returns for each thread what it waits for, and what it asked a person.
func waitsOf(s *thread.State) map[thread.ThreadID][]ContextWait {
	all := map[thread.ThreadID][]ContextWait{}
	for _, g := range s.OpenRequests("") {
		all[g.ThreadID] = append(all[g.ThreadID], ContextWait{app.WaitingApproval, string(g.ID), app.Joined(g.Scope), g.Reason})
	}
	for _, q := range s.OpenQuestions("") {
		if q.To == "" {
			all[q.ThreadID] = append(all[q.ThreadID], ContextWait{app.WaitingQuestion, string(q.ID), q.Text, ""})
		}
	}
	return all
}

// compared finds the children that hold something to merge. One that cannot be read
// counts: the merge says why.
func (r *ContextRelations) compared(c *app.Call, parent thread.ThreadID, all []app.ComparedVersions) error {
	var ids []thread.ThreadID
	for _, v := range all {
		ids = append(ids, v.Current.ThreadID)
	}
	err := c.ReadConsistent(func() error {
		r.Unmerged = []thread.ThreadID{}
		for i, v := range all {
			differs, err := true, error(nil)
			if i < maxCompared {
				differs, err = differ(c, v.Base, v.Current)
			}
			if differs || err != nil {
				r.Unmerged = append(r.Unmerged, v.Current.ThreadID)
			}
		}
		return nil
	}, ids...)
	if len(r.Unmerged) > 0 {
		r.MergeNext = app.MergeLine(parent, r.Unmerged...)
	}
	return err
}

// changedLive finds what was saved in the targets of live references.
func (r *ContextRelations) changedLive(c *app.Call, refs []ContextReference) {
	r.LiveChanges = []LiveChange{}
	for _, ref := range refs {
		if ref.Binding != thread.Live || !ref.Resolved || ref.Problem != "" {
			continue
		}
		d := LiveChange{RefID: ref.ID, Target: ref.Target, Since: ref.TakenAt}
		for _, e := range ref.entries {
			if e.Type == store.TypeFile && e.ModTime.After(ref.TakenAt) {
				d.Paths = append(d.Paths, e.Path)
			}
		}
		if len(d.Paths) > 0 {
			r.LiveChanges = append(r.LiveChanges, d)
		}
	}
}

// policyOf returns what the configuration allows, nothing if it cannot be used: context
// answers in any case, and every command that needs it says what is wrong with it.
func policyOf(c *app.Call) thread.Policy {
	set, err := c.Configured()
	if err != nil {
		return nil
	}
	return set.Policy
}
