package thread

import (
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file handles capabilities: which ones a thread has, how it requests more,
// and how a person grants, denies and revokes them. A request and a delegation are
// the same kind of record, a grant.
//
// Nothing here waits for a deadline. Each reader applies passed deadlines to the
// State it has read (Expire).

// Rule is what a policy says about a capability.
type Rule string

// The rules.
const (
	Auto         Rule = "auto"
	RequireHuman Rule = "require_human"
	// OwnWorktree, which is no rule of a configuration, gives the capability to a thread that
	// owns code: leslie sends its agent to its worktree. For others it is RequireHuman.
	OwnWorktree Rule = "worktree"
)

// Capabilities that leslie itself checks.
const (
	ResolveConflict = "resolve_conflict" // an agent resolves a merge conflict
	ApproveMerge    = "approve_merge"    // deciding that a merge may be applied
	Land            = "land"             // an agent lands code on a branch of no thread
)

// Policy says for each capability whether every thread has it or a person has to
// grant it. A capability that is not in the policy does not exist.
type Policy map[string]Rule

// DefaultPolicy returns the policy that applies without configuration.
func DefaultPolicy() Policy {
	return Policy{
		"read": Auto, "search": Auto, "analyze": Auto, "test_run": Auto, ResolveConflict: Auto,
		"code_edit": OwnWorktree, "delete_file": OwnWorktree, "execute_command": OwnWorktree,
		ApproveMerge: RequireHuman, Land: RequireHuman, "deploy": RequireHuman,
	}
}

// Capabilities returns the sorted names.
func (p Policy) Capabilities() []string {
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// gives returns why the policy gives a thread a capability, nil if it does not. Without a
// thread it is what every thread has.
func (p Policy) gives(t *Thread, capability string) *Permission {
	switch rule := p[capability]; {
	case rule == Auto:
		return &Permission{By: "policy"}
	case rule == OwnWorktree && t != nil && !t.Status.Terminated() && t.OwnedCode() != nil && t.OwnedCode().State == CodeReady:
		return &Permission{By: string(OwnWorktree)}
	}
	return nil
}

// Permission says why a thread has a capability.
type Permission struct {
	By    string     `json:"by"` // policy, worktree, delegation, approval
	Grant ApprovalID `json:"approvalId,omitempty"`
	Until *time.Time `json:"until,omitempty"`
}

// Can returns why the thread that arg names has a capability; for an empty arg only
// the policy counts. A terminated thread has no grants. Errors: T402, T101, T105.
func (s *State) Can(arg, capability string, p Policy, now time.Time) (Permission, error) {
	if arg == "" {
		if why := p.gives(nil, capability); why != nil {
			return *why, nil
		}
		return Permission{}, codes.PermissionDenied.New(fact.Of("capability", capability)).
			WithHint("Request it for a thread with leslie transfer; a person decides").WithNext("leslie list")
	}
	t, err := s.Thread(arg)
	if err != nil {
		return Permission{}, err
	}
	if why := p.gives(&t, capability); why != nil {
		return *why, nil
	}
	if g, ok := s.grantOf(t.ID, capability, now); ok && !t.Status.Terminated() {
		return g.permission(), nil
	}
	return Permission{}, s.denied(t, capability)
}

// grantOf returns the valid grant of the capability that ends last.
func (s *State) grantOf(id ThreadID, capability string, now time.Time) (best Approval, ok bool) {
	return bestGrant(s.ApprovalsOf(id), capability, now)
}

func bestGrant(grants []Approval, capability string, now time.Time) (best Approval, ok bool) {
	for _, g := range grants {
		if g.holds(now) && slices.Contains(g.Scope, capability) && (!ok || g.outlasts(best)) {
			best, ok = g, true
		}
	}
	return best, ok
}

func (a Approval) permission() Permission {
	by := "approval"
	if a.Kind == Delegation {
		by = "delegation"
	}
	return Permission{By: by, Grant: a.ID, Until: a.Until}
}

// Standing says where a capability stands for a thread.
type Standing struct {
	Capability string
	Why        *Permission // nil: a person has to grant it
	Requested  ApprovalID  // the open request for it, "" for none
}

// Standings returns where every capability of the policy stands for a thread, sorted by
// name; without a thread only the policy counts.
func (s *State) Standings(t *Thread, p Policy, now time.Time) (out []Standing) {
	var grants []Approval
	if t != nil && !t.Status.Terminated() {
		grants = s.ApprovalsOf(t.ID)
	}
	for _, name := range p.Capabilities() {
		at := Standing{Capability: name, Why: p.gives(t, name)}
		if g, ok := bestGrant(grants, name, now); ok && at.Why == nil {
			why := g.permission()
			at.Why = &why
		}
		for _, g := range grants {
			if g.Status == GrantOpen && g.MergeID == "" && slices.Contains(g.Scope, name) {
				at.Requested = g.ID
			}
		}
		out = append(out, at)
	}
	return out
}

// holds reports whether a grant gives its capabilities now. A grant for one merge
// gives nothing else. A delegation by anyone but a person gives nothing by itself:
// it passed on what the policy allowed then, and the policy may have changed.
func (a Approval) holds(now time.Time) bool {
	given := a.Kind == Request || a.Created.As.Person()
	return a.Status == GrantApproved && a.MergeID == "" && given && !a.ended(now)
}

// outlasts reports whether a ends later than b.
func (a Approval) outlasts(b Approval) bool {
	return b.Until != nil && (a.Until == nil || a.Until.After(*b.Until))
}

// ended reports whether a grant has expired.
func (a Approval) ended(now time.Time) bool { return a.Until != nil && !now.Before(*a.Until) }

// Refusal returns T404 for a request that was denied or withdrawn.
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

// EffectiveAt returns the grant as of a time: an expired one has the status
// withdrawn.
func (a Approval) EffectiveAt(now time.Time) Approval {
	if a.Status == GrantApproved && a.ended(now) {
		a.Status, a.Verdict = GrantWithdrawn, "it ended at "+a.Until.Format(time.RFC3339)
	}
	return a
}

// denied returns T402 for a thread that lacks a capability. Its next line requests
// the capability if the thread can do that.
func (s *State) denied(t Thread, capability string) error {
	err := codes.PermissionDenied.New(fact.Of("capability", capability), fact.Of("threadId", t.ID))
	asked := slices.ContainsFunc(s.OpenRequests(t.ID), func(g Approval) bool {
		return g.MergeID == "" && slices.Contains(g.Scope, capability)
	})
	switch {
	case asked:
		return err.WithHint("It is already requested; a person decides").WithNext("leslie approvals")
	case t.Status == Active || t.Status == WaitingHuman:
		return err.WithNext("leslie transfer " + string(t.ID) + " --direction request_approval --scope " + capability)
	case t.Status == Suspended:
		return err.WithHint("The thread is suspended; resume it, then request approval").WithNext("leslie status " + string(t.ID))
	}
	return err.WithHint("The thread is " + string(t.Status) + ", and its grants ended with it").WithNext("leslie status " + string(t.ID))
}

// ApprovalsOf returns the grants of a thread, or of all threads for "", ordered by
// creation time, then id.
func (s *State) ApprovalsOf(id ThreadID) []Approval {
	mark := ""
	if id != "" {
		mark = `"threadId":"` + string(id) + `"`
	}
	return byAge(s.Approvals.where(mark, func(g Approval) bool { return id == "" || g.ThreadID == id }))
}

// OpenRequests returns the undecided requests of a thread, or of all threads for
// "", ordered by creation time, then id.
func (s *State) OpenRequests(id ThreadID) []Approval {
	return byAge(s.Approvals.where(`"status":"open"`, func(g Approval) bool {
		return g.Status == GrantOpen && (id == "" || g.ThreadID == id)
	}))
}

// ArchivedApprovals returns the grants of an archived thread, or of all for "".
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

// AllApprovals returns every grant, including archived ones, ordered by creation
// time, then id. Errors: those of reading the archive.
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

// Approval returns the grant that arg names, also one of an archived thread.
// Errors: T403, T105.
func (s *State) Approval(arg string) (Approval, error) {
	return find(arg, PrefixApproval, &s.Approvals, s.archiveLines(TableApprovals, func() bool { return true }),
		func(near string) error {
			err := ofThread(s, codes.ApprovalNotFound.New(fact.Of("approvalId", arg)), arg, "request", s.OpenRequests)
			if near != "" {
				err = err.With(fact.Of("nearest", near))
			}
			return err
		})
}

// NewGrant has the parameters of a new grant.
type NewGrant struct {
	ID       ApprovalID
	Thread   string
	Scope    []string // capabilities
	Reason   string
	Timeout  time.Duration // until a request's fallback applies or a delegation ends; 0: no limit
	Fallback Fallback      // of a request
	Digest   BlobID        // of a request
	MergeID  MergeID       // of a request for a merge
	Plan     BlobID        // the blob that lists what that merge would do
	Tool     *ToolCall     // of a request for a call of a tool
	// AgentAutoApprove allows an agent to use the fallback auto_approve.
	AgentAutoApprove bool
}

// Request opens a request: the thread waits until a person has decided it. If the same
// actor kind has the same request open and its deadline has not passed, Request returns
// that one, so that a retry doubles nothing. Errors: T101, T105, T107 if the thread is terminated, T102 if it is suspended,
// T402 for an agent that uses the fallback auto_approve without permission.
func (s *State) Request(in NewGrant, stamp Stamp) (Approval, Thread, error) {
	t, err := s.LiveThread(in.Thread)
	if err != nil {
		return Approval{}, Thread{}, err
	}
	if t.Status == Suspended {
		return Approval{}, Thread{}, codes.InvalidTransition.New(
			fact.Of("threadId", t.ID), fact.Of("from", t.Status), fact.Of("to", WaitingHuman),
			fact.Of("current", t.Status), fact.Of("action", "request_approval"), fact.Of("allowed", names(t.Status.Allowed()))).
			WithHint("Resume the thread, then request approval")
	}
	if in.Fallback == AutoApprove && !stamp.ByPerson() && !in.AgentAutoApprove {
		return Approval{}, Thread{}, codes.PermissionDenied.New(fact.Of("capability", "approval by deadline (--fallback auto_approve)"), fact.Of("threadId", t.ID)).
			WithHint("A person decides: ask with --fallback block or skip, or a person may allow it in their own configuration (approvals.agentAutoApprove)").
			WithNext("leslie transfer " + string(t.ID) + " --direction request_approval --scope " + strings.Join(in.Scope, ","))
	}
	g := s.grant(in, t, Request, GrantOpen, stamp)
	if in.Timeout > 0 {
		at := stamp.Time.Add(in.Timeout)
		g.Deadline = &at
	}
	g.Fallback, g.Digest, g.MergeID, g.Plan, g.Tool = in.Fallback, in.Digest, in.MergeID, in.Plan, in.Tool
	if g.Fallback == "" {
		g.Fallback = Block
	}
	s.ofRun = s.ofRun || in.Tool != nil
	if same, ok := s.openAlready(g, stamp.Time); ok {
		return same, t, nil
	}
	return s.Approvals.Put(g), s.setStatus(t, WaitingHuman, in.Reason, stamp.Time), nil
}

// openAlready returns the open request that asks for the same, by the same kind of
// actor. The plan of a merge has requests of its own.
func (s *State) openAlready(g Approval, now time.Time) (Approval, bool) {
	for _, open := range s.OpenRequests(g.ThreadID) {
		if open.MergeID == "" && g.MergeID == "" && slices.Equal(open.Scope, g.Scope) && open.Tool.digest() == g.Tool.digest() && open.Fallback == g.Fallback &&
			open.Created.As == g.Created.As && !open.Late(now) {
			return open, true
		}
	}
	return Approval{}, false
}

// UseTool uses up an approved request for a call of a tool, and reports whether there was
// one.
func (s *State) UseTool(id ThreadID, digest string, stamp Stamp) bool {
	_, ok := s.useDecision(id, digest, stamp, func(g Approval) bool { return g.EffectiveAt(stamp.Time).Status == GrantApproved })
	return ok
}

// UseDenial uses up a denied request for a call of a tool, so that the person who said no is not asked
// the same again, and returns what they said; ok is false if there is none.
func (s *State) UseDenial(id ThreadID, digest string, stamp Stamp) (verdict string, ok bool) {
	g, ok := s.useDecision(id, digest, stamp, func(g Approval) bool { return g.Status == GrantDenied && g.Until == nil })
	return g.Verdict, ok
}

// useDecision uses up the first request for a call of a tool that fits.
func (s *State) useDecision(id ThreadID, digest string, stamp Stamp, fits func(Approval) bool) (Approval, bool) {
	for _, g := range s.ApprovalsOf(id) {
		if g.Tool.digest() == digest && fits(g) {
			g.Until = &stamp.Time
			s.Approvals.Put(g)
			s.ofRun = true
			return g, true
		}
	}
	return Approval{}, false
}

// digest identifies the call, "" for none.
func (t *ToolCall) digest() string {
	if t == nil {
		return ""
	}
	return t.Digest
}

// Delegate gives capabilities to a thread immediately. An agent can give only what
// the policy gives every thread, and only while it does. Errors: T101, T105, T107,
// and T402 for an agent that delegates what only a person may give.
func (s *State) Delegate(in NewGrant, p Policy, stamp Stamp) (Approval, Thread, error) {
	t, err := s.LiveThread(in.Thread)
	if err != nil {
		return Approval{}, Thread{}, err
	}
	for _, capability := range in.Scope {
		if !stamp.ByPerson() && p[capability] != Auto {
			return Approval{}, Thread{}, s.denied(t, capability)
		}
	}
	g := s.grant(in, t, Delegation, GrantApproved, stamp)
	if in.Timeout > 0 {
		at := stamp.Time.Add(in.Timeout)
		g.Until = &at
	}
	g.Decided = &Attribution{At: stamp.Time, As: stamp.Authority(), Actor: stamp.Actor}
	return s.Approvals.Put(g), t, nil
}

func (s *State) grant(in NewGrant, t Thread, kind GrantKind, status GrantStatus, stamp Stamp) Approval {
	return Approval{
		ID: in.ID, ThreadID: t.ID, Kind: kind, Scope: sortedSet(in.Scope), Reason: in.Reason, Status: status,
		Created: Attribution{At: stamp.Time, As: stamp.Authority(), Actor: stamp.Actor},
	}
}

// HandOff changes the thread's executor and ends a claim on the thread; of a thread that has the
// executor already only the caller's own, or for a person anybody's. A person who hands it to agents
// says that they may work in its worktree, whoever made that. Errors: T101, T105, T107.
func (s *State) HandOff(arg string, to Executor, reason string, stamp Stamp) (Thread, error) {
	t, err := s.LiveThread(arg)
	if err != nil {
		return t, err
	}
	invites := to == ByAgent && stamp.ByPerson() && t.OwnedCode() != nil && !t.OwnedCode().Made.Worktree
	others := t.heldByOther(stamp)
	ends := t.Claim != nil && (others == nil || stamp.ByPerson())
	if t.Executor == to && !ends && (!invites || t.OwnedCode().ForAgents) {
		return t, nil
	}
	if others == nil {
		t.givenUp(howReleased, "", reason, stamp)
	}
	if code := t.OwnedCode(); code != nil && code.ForAgents != invites {
		t.Code = slices.Clone(t.Code)
		t.Code[0].ForAgents = invites
	}
	t.Executor, t.Claim, t.Updated = to, nil, stamp.Time
	if reason != "" {
		t.Reason = reason
	}
	return s.Threads.Put(t), nil
}

// setStatus changes a thread's status.
func (s *State) setStatus(t Thread, to Status, reason string, at time.Time) Thread {
	if t.Status == to {
		return t
	}
	t.Status, t.Reason, t.Updated = to, reason, at
	return s.Threads.Put(t)
}

// GrantDecision is a person's decision about a grant.
type GrantDecision string

// The decisions.
const (
	Approve GrantDecision = "approve"
	Deny    GrantDecision = "deny"
	Revoke  GrantDecision = "revoke" // takes back a grant or an open request (see mayWithdraw)
)

// after returns the status that a decision leads to; ok is false if the grant can
// no longer be decided that way.
func (d GrantDecision) after(from GrantStatus) (to GrantStatus, ok bool) {
	to = map[GrantDecision]GrantStatus{Approve: GrantApproved, Deny: GrantDenied, Revoke: GrantWithdrawn}[d]
	return to, from == to || from == GrantOpen || d == Revoke && from == GrantApproved
}

// DecideGrant records a person's decision; the thread continues if it has no other
// open request. Repeating a decision changes nothing. Errors: T403, T105, T402 for
// anyone but a person, unless it takes back a request of its own (see mayWithdraw), T102 for a request that was decided differently, T107 if the
// thread is terminated, because its grants ended with it.
func (s *State) DecideGrant(arg string, d GrantDecision, reason string, stamp Stamp) (Approval, Thread, error) {
	g, err := s.Approval(arg)
	if err != nil {
		return Approval{}, Thread{}, err
	}
	if !stamp.ByPerson() && (d != Revoke || !s.mayWithdraw(g, stamp)) {
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
			WithHint("It is already decided; request approval again, or revoke the grant").WithNext("leslie approvals --all")
	}
	if g.Status == to {
		return g, t, nil
	}
	if t.Status.Terminated() {
		return Approval{}, Thread{}, codes.NotWritable.New(fact.Of("threadId", t.ID), fact.Of("status", t.Status), fact.Of("approvalId", g.ID)).
			WithHint("The thread has ended, and its grants with it")
	}
	g = s.closeGrant(g, to, reason, Attribution{At: stamp.Time, As: stamp.Authority(), Actor: stamp.Actor})
	return g, s.resumeIfUnblocked(g.ThreadID, stamp.Time), nil
}

// mayWithdraw reports whether an agent may take back a request that is still open, which
// grants nothing: one that it made, one of the thread that it speaks for, unless somebody
// else has claimed the thread, or one below a thread that it has claimed. What a person
// requested is a person's to take back. Repeating it is allowed, too.
func (s *State) mayWithdraw(g Approval, stamp Stamp) bool {
	if g.Kind != Request || g.Status != GrantOpen && g.Status != GrantWithdrawn || g.Created.As.Person() {
		return false
	}
	t, live := s.Threads.Peek(string(g.ThreadID))
	own, speaks := s.Speaker(string(stamp.Speaks))
	return live && (g.Created.Actor == stamp.Actor || s.leads(t, stamp) || t.HeldBy(stamp.Actor, stamp.Time) ||
		speaks && own.ID == t.ID && t.heldByOther(stamp) == nil)
}

// withdrawal returns the lines with which an agent may take back what a thread waits
// for, "" if it may not.
func (s *State) withdrawal(t Thread, stamp Stamp) string {
	var lines []string
	for _, g := range s.OpenRequests(t.ID) {
		if s.mayWithdraw(g, stamp) {
			lines = append(lines, "leslie revoke "+string(g.ID))
		}
	}
	return strings.Join(lines, ", ")
}

func onlyPeople(g Approval, d GrantDecision) error {
	return codes.PermissionDenied.New(
		fact.Of("capability", "deciding an approval ("+string(d)+")"), fact.Of("approvalId", g.ID), fact.Of("threadId", g.ThreadID)).
		WithHint("A person decides: ask one to run leslie " + string(d) + " " + string(g.ID)).
		WithNext("leslie approvals")
}

func (s *State) closeGrant(g Approval, to GrantStatus, reason string, by Attribution) Approval {
	g.Status, g.Verdict, g.Decided = to, reason, &by
	return s.Approvals.Put(g)
}

// resumeIfUnblocked makes a thread active again if it was waiting and has no open
// request left.
func (s *State) resumeIfUnblocked(id ThreadID, at time.Time) Thread {
	t, ok := s.Threads.Get(string(id))
	if !ok || t.Status != WaitingHuman || len(s.OpenRequests(id)) > 0 {
		return t
	}
	return s.setStatus(t, Active, "", at)
}

// withdrawOpen withdraws the open requests of a thread: all of them, or those of
// one merge. The caller has to change the thread's status.
func (s *State) withdrawOpen(id ThreadID, only MergeID, why string, by Attribution) (ended []ApprovalID) {
	for _, g := range s.OpenRequests(id) {
		if only == "" || g.MergeID == only {
			ended = append(ended, g.ID)
			s.closeGrant(g, GrantWithdrawn, why, by)
		}
	}
	return ended
}

// Overdue reports whether Expire would change the State.
func (s *State) Overdue(now time.Time) bool {
	return slices.ContainsFunc(s.OpenRequests(""), func(g Approval) bool { return g.overdue(now) })
}

// overdue reports whether a request's fallback is due. The fallback block never is:
// a person may still decide.
func (a Approval) overdue(now time.Time) bool {
	return a.Deadline != nil && !now.Before(*a.Deadline) && a.Fallback != Block
}

// Late reports whether a request's deadline has passed, whatever the fallback.
func (a Approval) Late(now time.Time) bool {
	return a.Deadline != nil && !now.Before(*a.Deadline)
}

// Expire applies the fallbacks of passed deadlines, dated at the deadlines, and
// returns one of the threads concerned, "" for none. A reader applies it to what it
// has read; the next writer records the same result as an operation of the system.
func (s *State) Expire(stamp Stamp) (about ThreadID) {
	for _, g := range s.OpenRequests("") {
		if !g.overdue(stamp.Time) {
			continue
		}
		to := GrantSkipped
		if g.Fallback == AutoApprove {
			to = GrantApproved
		}
		s.closeGrant(g, to, "no decision before the deadline", Attribution{At: *g.Deadline, As: System, Actor: stamp.Actor})
		s.resumeIfUnblocked(g.ThreadID, *g.Deadline)
		about = g.ThreadID
	}
	return about
}

// DecidedByDeadline reports whether a deadline decided a request, not a person.
func (a Approval) DecidedByDeadline() bool {
	return a.Kind == Request && (a.Status == GrantSkipped || a.Status == GrantApproved) && a.Decided != nil && a.Decided.As == System
}
