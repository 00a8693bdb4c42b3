package thread

import (
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file is about capabilities: which of them a thread has, how it asks a
// person for more, and how a person gives, refuses and takes them back. A
// request and a delegation are one kind of record, a grant, asked for or given.
//
// Nothing here waits. A deadline is judged by whoever looks: Expire does to a
// State what the time that has passed means for it.

// Rule is what a policy says of a capability.
type Rule string

// The rules.
const (
	Auto         Rule = "auto"
	RequireHuman Rule = "require_human"
)

// Capabilities that leslie itself asks about.
const (
	ResolveConflict = "resolve_conflict" // an agent settles a conflict of a merge
	ApproveMerge    = "approve_merge"    // deciding that a merge may be applied
)

// Policy says of each capability whether a thread has it or a person has to
// grant it. A capability that it does not name does not exist.
type Policy map[string]Rule

// DefaultPolicy is the policy where no configuration says otherwise.
func DefaultPolicy() Policy {
	return Policy{
		"read": Auto, "search": Auto, "analyze": Auto, "test_run": Auto, ResolveConflict: Auto,
		"code_edit": RequireHuman, "delete_file": RequireHuman, "execute_command": RequireHuman,
		ApproveMerge: RequireHuman, "deploy": RequireHuman,
	}
}

// Capabilities returns the names in order.
func (p Policy) Capabilities() []string {
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Permission says why a thread has a capability.
type Permission struct {
	By    string     `json:"by"` // policy, delegation, approval
	Grant ApprovalID `json:"approvalId,omitempty"`
	Until *time.Time `json:"until,omitempty"`
}

// Can says why the thread that arg names may do something; an empty arg asks
// the policy alone. The grants of a thread end with it. Errors: T402, T101, T105.
func (s *State) Can(arg, capability string, p Policy, now time.Time) (Permission, error) {
	if arg == "" {
		if p[capability] == Auto {
			return Permission{By: "policy"}, nil
		}
		return Permission{}, codes.PermissionDenied.New(fact.Of("capability", capability)).
			WithHint("A thread asks for it with leslie transfer").WithNext("leslie list")
	}
	t, err := s.Thread(arg)
	if err != nil {
		return Permission{}, err
	}
	if p[capability] == Auto {
		return Permission{By: "policy"}, nil
	}
	if g, ok := s.grantOf(t.ID, capability, now); ok && !t.Status.Terminated() {
		by := "approval"
		if g.Kind == Delegation {
			by = "delegation"
		}
		return Permission{By: by, Grant: g.ID, Until: g.Until}, nil
	}
	return Permission{}, s.denied(t, capability)
}

// grantOf is the grant of the capability that holds longest from now.
func (s *State) grantOf(id ThreadID, capability string, now time.Time) (best Approval, ok bool) {
	for _, g := range s.ApprovalsOf(id) {
		if g.holds(now) && slices.Contains(g.Scope, capability) && (!ok || g.outlasts(best)) {
			best, ok = g, true
		}
	}
	return best, ok
}

// holds reports whether a grant gives its capabilities now. One for a single
// merge gives nothing else, and what was not given by a person gives nothing by
// itself: it was no more than the policy gave, and the policy may have changed.
func (a Approval) holds(now time.Time) bool {
	given := a.Kind == Request || a.Created.As == User
	return a.Status == GrantApproved && a.MergeID == "" && given && !a.ended(now)
}

// outlasts reports whether a grant ends later than another one.
func (a Approval) outlasts(b Approval) bool {
	return b.Until != nil && (a.Until == nil || a.Until.After(*b.Until))
}

// ended reports whether a grant has run out.
func (a Approval) ended(now time.Time) bool { return a.Until != nil && !now.Before(*a.Until) }

// Refusal is T404 for a request that was denied, or withdrawn.
func (a Approval) Refusal() *codes.Error {
	actor, reason := "nobody", a.Verdict
	if a.Decided != nil {
		actor = a.Decided.Actor
	}
	if reason == "" && a.Status == GrantWithdrawn {
		reason = "it was withdrawn"
	}
	return codes.ApprovalDenied.New(fact.Of("capability", strings.Join(a.Scope, ", ")), fact.Of("actor", actor), fact.Of("reason", reason),
		fact.Of("approvalId", a.ID), fact.Of("threadId", a.ThreadID), fact.Of("status", a.Status))
}

// EffectiveAt returns the grant as it stands at a time: one that has run out is
// withdrawn.
func (a Approval) EffectiveAt(now time.Time) Approval {
	if a.Status == GrantApproved && a.ended(now) {
		a.Status, a.Verdict = GrantWithdrawn, "it ended at "+a.Until.Format(time.RFC3339)
	}
	return a
}

// denied is T402 for a thread that lacks a capability, with the line that asks
// for it where the thread can ask.
func (s *State) denied(t Thread, capability string) error {
	err := codes.PermissionDenied.New(fact.Of("capability", capability), fact.Of("threadId", t.ID))
	asked := slices.ContainsFunc(s.OpenRequests(t.ID), func(g Approval) bool {
		return g.MergeID == "" && slices.Contains(g.Scope, capability)
	})
	switch {
	case asked:
		return err.WithHint("It was asked for; a person decides").WithNext("leslie approvals")
	case t.Status == Active || t.Status == WaitingHuman:
		return err.WithNext("leslie transfer " + string(t.ID) + " --direction request_approval --scope " + capability)
	case t.Status == Suspended:
		return err.WithHint("The thread is suspended; resume it, then request approval").WithNext("leslie status " + string(t.ID))
	}
	return err.WithHint("The thread is " + string(t.Status) + ", and its grants ended with it").WithNext("leslie status " + string(t.ID))
}

// ApprovalsOf returns the grants of a thread, of all for "", by creation time,
// then id.
func (s *State) ApprovalsOf(id ThreadID) []Approval {
	mark := ""
	if id != "" {
		mark = `"threadId":"` + string(id) + `"`
	}
	return byAge(s.Approvals.where(mark, func(g Approval) bool { return id == "" || g.ThreadID == id }))
}

// OpenRequests returns the requests that nobody has decided, of a thread or, for
// "", of all, by creation time, then id.
func (s *State) OpenRequests(id ThreadID) []Approval {
	return byAge(s.Approvals.where(`"status":"open"`, func(g Approval) bool {
		return g.Status == GrantOpen && (id == "" || g.ThreadID == id)
	}))
}

// ArchivedApprovals returns the grants of an archived thread, of all for "".
// Errors: those of reading the archive.
func (s *State) ArchivedApprovals(id ThreadID) ([]Approval, error) {
	lines, err := s.archivedLines(TableApprovals)
	if err != nil {
		return nil, err
	}
	var out []Approval
	for _, line := range lines {
		if g := decode[Approval](line.JSON); id == "" || g.ThreadID == id {
			out = append(out, g)
		}
	}
	return byAge(out), nil
}

// AllApprovals returns every grant that there ever was, by creation time, then
// id. Errors: those of reading the archive.
func (s *State) AllApprovals() ([]Approval, error) {
	cold, err := s.ArchivedApprovals("")
	if err != nil {
		return nil, err
	}
	all := append(cold, s.ApprovalsOf("")...)
	slices.SortFunc(all, func(a, b Approval) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return byAge(all), nil
}

func byAge(grants []Approval) []Approval {
	slices.SortStableFunc(grants, func(a, b Approval) int { return byTime(a.Created.At, b.Created.At) })
	return grants
}

// Approval returns the grant that arg names, those of archived threads
// included. Errors: T403, T105.
func (s *State) Approval(arg string) (Approval, error) {
	return find(arg, PrefixApproval, &s.Approvals, s.coldLines(TableApprovals, func() bool { return true }),
		func(near string) error {
			err := codes.ApprovalNotFound.New(fact.Of("approvalId", arg))
			if near != "" {
				err = err.With(fact.Of("nearest", near))
			}
			return err
		})
}

// NewGrant is what a grant is made of.
type NewGrant struct {
	ID       ApprovalID
	Thread   string
	Scope    []string // capabilities
	Reason   string
	Timeout  time.Duration // of a request until its fallback, of a delegation until it ends; 0: never
	Fallback Fallback      // of a request
	Digest   BlobID        // of a request
	MergeID  MergeID       // of a request for a merge
	Plan     BlobID        // what that merge would do
	// AgentAutoApprove allows an agent the fallback auto_approve.
	AgentAutoApprove bool
}

// Request opens a request: the thread waits until a person has decided it.
// Errors: T101, T105, T107 where the thread is terminated, T102 where it is
// suspended, T402 for an agent that would have a deadline mean consent.
func (s *State) Request(in NewGrant, stamp Stamp) (Approval, Thread, error) {
	t, err := s.LiveThread(in.Thread)
	if err != nil {
		return Approval{}, Thread{}, err
	}
	if t.Status == Suspended {
		return Approval{}, Thread{}, codes.InvalidTransition.New(
			fact.Of("threadId", t.ID), fact.Of("from", t.Status), fact.Of("to", WaitingHuman),
			fact.Of("current", t.Status), fact.Of("action", "request_approval"), fact.Of("allowed", names(t.Status.Allowed()))).
			WithHint("The thread is suspended; somebody resumes it, then it may ask")
	}
	if in.Fallback == AutoApprove && stamp.As != User && !in.AgentAutoApprove {
		return Approval{}, Thread{}, codes.PermissionDenied.New(fact.Of("capability", "consent by deadline (--fallback auto_approve)"), fact.Of("threadId", t.ID)).
			WithHint("Ask with --fallback block or skip; a person may allow it in their own configuration (approvals.agentAutoApprove)").
			WithNext("leslie transfer " + string(t.ID) + " --direction request_approval --scope " + strings.Join(in.Scope, ","))
	}
	g := s.grant(in, t, Request, GrantOpen, stamp)
	if in.Timeout > 0 {
		at := stamp.Time.Add(in.Timeout)
		g.Deadline = &at
	}
	g.Fallback, g.Digest, g.MergeID, g.Plan = in.Fallback, in.Digest, in.MergeID, in.Plan
	if g.Fallback == "" {
		g.Fallback = Block
	}
	return s.Approvals.Put(g), s.setStatus(t, WaitingHuman, in.Reason, stamp.Time), nil
}

// Delegate gives capabilities to a thread at once. An agent gives no more than
// the policy gives everybody, and only as long. Errors: T101, T105, T107, and
// T402 for an agent that would give what only a person may.
func (s *State) Delegate(in NewGrant, p Policy, stamp Stamp) (Approval, Thread, error) {
	t, err := s.LiveThread(in.Thread)
	if err != nil {
		return Approval{}, Thread{}, err
	}
	for _, capability := range in.Scope {
		if stamp.As != User && p[capability] != Auto {
			return Approval{}, Thread{}, s.denied(t, capability)
		}
	}
	g := s.grant(in, t, Delegation, GrantApproved, stamp)
	if in.Timeout > 0 {
		at := stamp.Time.Add(in.Timeout)
		g.Until = &at
	}
	g.Decided = &Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor}
	return s.Approvals.Put(g), t, nil
}

func (s *State) grant(in NewGrant, t Thread, kind GrantKind, status GrantStatus, stamp Stamp) Approval {
	return Approval{
		ID: in.ID, ThreadID: t.ID, Kind: kind, Scope: sortedSet(in.Scope), Reason: in.Reason, Status: status,
		Created: Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor},
	}
}

// HandOff makes somebody else the thread's executor; a claim on it ends.
// Errors: T101, T105, T107.
func (s *State) HandOff(arg string, to Executor, reason string, stamp Stamp) (Thread, error) {
	t, err := s.LiveThread(arg)
	if err != nil || t.Executor == to {
		return t, err
	}
	t.Executor, t.Claim, t.Updated = to, nil, stamp.Time
	if reason != "" {
		t.Reason = reason
	}
	return s.Threads.Put(t), nil
}

// setStatus changes where a thread stands.
func (s *State) setStatus(t Thread, to Status, reason string, at time.Time) Thread {
	if t.Status == to {
		return t
	}
	t.Status, t.Reason, t.Updated = to, reason, at
	return s.Threads.Put(t)
}

// GrantDecision is what a person decides about a grant.
type GrantDecision string

// The decisions.
const (
	Approve GrantDecision = "approve"
	Deny    GrantDecision = "deny"
	Revoke  GrantDecision = "revoke" // takes back what was granted, or the question
)

// after is the status that a decision leads to; ok is false where it is too
// late for it.
func (d GrantDecision) after(from GrantStatus) (to GrantStatus, ok bool) {
	to = map[GrantDecision]GrantStatus{Approve: GrantApproved, Deny: GrantDenied, Revoke: GrantWithdrawn}[d]
	return to, from == to || from == GrantOpen || d == Revoke && from == GrantApproved
}

// DecideGrant carries a person's decision out: the thread goes on when no other
// request of it is open. The same decision again changes nothing. Errors: T403,
// T105, T402 for anybody but a person, T102 for a request that was decided
// otherwise, T107 where the thread is terminated: its grants ended with it.
func (s *State) DecideGrant(arg string, d GrantDecision, reason string, stamp Stamp) (Approval, Thread, error) {
	g, err := s.Approval(arg)
	if err != nil {
		return Approval{}, Thread{}, err
	}
	if stamp.As != User {
		return Approval{}, Thread{}, onlyPeople(g, d)
	}
	t, err := s.Thread(string(g.ThreadID))
	if err != nil {
		return Approval{}, Thread{}, err
	}
	g = g.EffectiveAt(stamp.Time)
	to, ok := d.after(g.Status)
	if !ok {
		return Approval{}, Thread{}, codes.InvalidTransition.New(
			fact.Of("from", g.Status), fact.Of("to", to), fact.Of("current", g.Status), fact.Of("approvalId", g.ID), fact.Of("threadId", g.ThreadID)).
			WithHint("It was decided before; ask again or revoke what was granted").WithNext("leslie approvals --all")
	}
	if g.Status == to {
		return g, t, nil
	}
	if t.Status.Terminated() {
		return Approval{}, Thread{}, codes.NotWritable.New(fact.Of("threadId", t.ID), fact.Of("status", t.Status), fact.Of("approvalId", g.ID)).
			WithHint("Nothing is left to decide: the grants of a thread end with it")
	}
	g = s.settleGrant(g, to, reason, Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor})
	return g, s.resumeIfUnblocked(g.ThreadID, stamp.Time), nil
}

func onlyPeople(g Approval, d GrantDecision) error {
	return codes.PermissionDenied.New(
		fact.Of("capability", "deciding an approval ("+string(d)+")"), fact.Of("approvalId", g.ID), fact.Of("threadId", g.ThreadID)).
		WithHint("A person decides; one whom leslie takes for an agent says --as user").
		WithNext("leslie approvals")
}

func (s *State) settleGrant(g Approval, to GrantStatus, reason string, by Attribution) Approval {
	g.Status, g.Verdict, g.Decided = to, reason, &by
	return s.Approvals.Put(g)
}

// resumeIfUnblocked makes a thread active again when it waited and nothing is open any more.
func (s *State) resumeIfUnblocked(id ThreadID, at time.Time) Thread {
	t, ok := s.Threads.Get(string(id))
	if !ok || t.Status != WaitingHuman || len(s.OpenRequests(id)) > 0 {
		return t
	}
	return s.setStatus(t, Active, "", at)
}

// withdrawOpen ends the open requests of a thread, all or those of one merge.
// The thread's status is the caller's to change.
func (s *State) withdrawOpen(id ThreadID, only MergeID, why string, by Attribution) {
	for _, g := range s.OpenRequests(id) {
		if only == "" || g.MergeID == only {
			s.settleGrant(g, GrantWithdrawn, why, by)
		}
	}
}

// Overdue reports whether time has passed for something: Expire would change
// the State.
func (s *State) Overdue(now time.Time) bool {
	return slices.ContainsFunc(s.OpenRequests(""), func(g Approval) bool { return g.overdue(now) })
}

// overdue reports whether a request's fallback is due. Block changes nothing: a
// person may still decide.
func (a Approval) overdue(now time.Time) bool {
	return a.Deadline != nil && !now.Before(*a.Deadline) && a.Fallback != Block
}

// Late reports whether a request's deadline has passed, whatever the fallback.
func (a Approval) Late(now time.Time) bool {
	return a.Deadline != nil && !now.Before(*a.Deadline)
}

// Expire does what the passed deadlines mean, as of the deadlines, and returns a
// thread that one of them concerned. A reader applies it to what it read; the
// next writer records the same as an operation of the system.
func (s *State) Expire(stamp Stamp) (about ThreadID) {
	for _, g := range s.OpenRequests("") {
		if !g.overdue(stamp.Time) {
			continue
		}
		to := GrantSkipped
		if g.Fallback == AutoApprove {
			to = GrantApproved
		}
		s.settleGrant(g, to, "no decision until the deadline", Attribution{At: *g.Deadline, As: System, Actor: stamp.Actor})
		s.resumeIfUnblocked(g.ThreadID, *g.Deadline)
		about = g.ThreadID
	}
	return about
}

// Fallen reports whether a request was settled by its deadline, not by a person.
func (a Approval) Fallen() bool {
	return a.Kind == Request && (a.Status == GrantSkipped || a.Status == GrantApproved) && a.Decided != nil && a.Decided.As == System
}
