package decisions

import (
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file implements transfer: a thread requests capabilities from a person,
// receives some, or gets another executor. The wait for a decision is at the end.

// Direction says what a transfer does.
type Direction string

// The directions of a transfer.
const (
	RequestApproval Direction = "request_approval" // ask a person; the thread waits
	Delegate        Direction = "delegate"         // grant the capabilities at once
	HandOff         Direction = "handoff"          // change the executor
)

// TransferRequest requests capabilities, delegates some, or hands a thread over.
type TransferRequest struct {
	Thread    string // "": the thread that the caller speaks for
	Direction Direction
	Scope     []string // capabilities
	To        thread.Executor
	// ToActor, of a handoff, is the agent that gets the thread, with its claim; To is empty then.
	ToActor  string
	Reason   string
	Timeout  time.Duration   // until the fallback applies, or a delegation ends; 0: no limit
	Fallback thread.Fallback // applies if nobody has decided by then; "": block
	// Wait: return when the request is decided. Waiting, if not nil, is called with
	// the request when the wait starts.
	Wait    bool
	Waiting func(thread.ApprovalID)
}

// Faults returns what is wrong with the request.
func (in TransferRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	if in.Direction == "" {
		k.Needed("Direction", "")
	} else {
		app.OneOf(k, "Direction", in.Direction, RequestApproval, Delegate, HandOff)
	}
	if in.Timeout < 0 {
		k.Add("Timeout", in.Timeout.String(), "must not be negative")
	}
	if in.Fallback != "" {
		app.OneOf(k, "Fallback", in.Fallback, thread.Block, thread.Skip, thread.AutoApprove)
	}
	only := func(to thread.Executor, why string) {
		if in.To != "" && in.To != to {
			k.Add("To", string(in.To), "must be %s: %s", to, why)
		}
	}
	meaningless := func(field string, given bool) {
		if given {
			k.Add(field, "", "cannot be used with %s", in.Direction)
		}
	}
	if len(in.Scope) == 0 && (in.Direction == RequestApproval || in.Direction == Delegate) {
		k.Needed("Scope", "")
	}
	switch in.Direction {
	case RequestApproval:
		only(thread.ByHuman, "a person is asked for approval")
		if in.Fallback != "" && in.Fallback != thread.Block && in.Timeout == 0 {
			k.Add("Fallback", string(in.Fallback), "%s needs %s", in.Fallback, k.Name("Timeout"))
		}
	case Delegate:
		only(thread.ByAgent, "capabilities are delegated to an agent")
		meaningless("Fallback", in.Fallback != "")
		meaningless("Wait", in.Wait)
	case HandOff:
		switch {
		case in.ToActor != "" && in.To == "":
		case in.To == "":
			k.Needed("To", "")
		default:
			app.OneOf(k, "To", in.To, thread.ByHuman, thread.ByAgent)
		}
		meaningless("Scope", len(in.Scope) > 0)
		meaningless("Timeout", in.Timeout > 0)
		meaningless("Fallback", in.Fallback != "")
		meaningless("Wait", in.Wait)
	}
	return k.Faults
}

// TransferResult is the result of a transfer. A handoff has no approval.
type TransferResult struct {
	ApprovalID   *thread.ApprovalID  `json:"approvalId"`
	ThreadID     thread.ThreadID     `json:"threadId"`
	Direction    Direction           `json:"direction"`
	Status       *thread.GrantStatus `json:"status"`
	ThreadStatus thread.Status       `json:"threadStatus"`
	Scope        []string            `json:"scope"`
	Executor     thread.Executor     `json:"executor"`
	Claim        *app.ClaimRecord    `json:"claim,omitempty"` // of who got it by name
	// Here: whoever got it is on this machine, of a project on several, and the request did not say so.
	Here bool `json:"here,omitempty"`
	// Unheard is the machine of who got it by name, if that has not written in the project yet.
	Unheard  string           `json:"unheard,omitempty"`
	Deadline *time.Time       `json:"deadline"`
	Fallback *thread.Fallback `json:"fallback"`
	Until    *time.Time       `json:"until"`
	Revision thread.Revision  `json:"revision"`
	app.Change
}

// transferred builds the result; g is nil for a handoff.
func transferred(in TransferRequest, g *thread.Approval, t thread.Thread) *TransferResult {
	d := &TransferResult{ThreadID: t.ID, Direction: in.Direction, ThreadStatus: t.Status, Scope: []string{}, Executor: t.Executor, Revision: t.Revision}
	if g != nil {
		d.ApprovalID, d.Status, d.Scope = &g.ID, &g.Status, slices.Clone(g.Scope)
		d.Deadline, d.Fallback, d.Until, d.Revision = g.Deadline, app.OrNull(g.Fallback), g.Until, g.Revision
	}
	return d
}

// Transfer requests capabilities from a person, delegates some, or hands a thread
// over. Errors: T903, T101, T105, T107, T102 for a suspended thread, T402 for what
// only a person may do, T508 for a file that is too large to hash, T509, and those of
// a write; of a wait: T404 if the request was denied or withdrawn, T401 if it was not
// decided in time or messages wait for the thread whose agent the caller is, T904. The
// request stays open however the wait ends.
func Transfer(c *app.Call, in TransferRequest) (*TransferResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	first, ok, err := app.Answered[TransferResult](c)
	switch {
	case err != nil:
		return nil, err
	case ok && in.Wait:
		return awaitDecision(c, first, in.Waiting)
	case ok:
		return first, nil
	}
	in.Thread = c.ThreadOr(in.Thread)
	set, err := c.Configured()
	if err != nil {
		return nil, err
	}
	if err := app.FaultsError(threads.UnknownCapabilities("Scope", in.Scope, set.Policy)); err != nil {
		return nil, err
	}
	switch in.Direction {
	case HandOff:
		d, err := handOff(c, in, set.ClaimFor)
		if err == nil && d.Changed {
			c.WarnUncommittedHere(d.ThreadID)
		}
		return d, err
	case Delegate:
		return delegate(c, in, set.Policy)
	}
	if in.Wait {
		c.CatchSignals()
	}
	data, err := requestApproval(c, in, set.AgentAutoApprove)
	if err != nil || !in.Wait {
		return data, err
	}
	return awaitDecision(c, data, in.Waiting)
}

func (in TransferRequest) grant() thread.NewGrant {
	return thread.NewGrant{Thread: in.Thread, Scope: in.Scope, Reason: in.Reason, Timeout: in.Timeout, Fallback: in.Fallback}
}

func handOff(c *app.Call, in TransferRequest, claimFor time.Duration) (*TransferResult, error) {
	if in.ToActor != "" {
		unheard, err := receiver(c, in)
		if err != nil {
			return nil, err
		}
		return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*TransferResult, thread.ThreadID, error) {
			if s.Exists(thread.ThreadID(in.ToActor)) {
				return nil, "", codes.InvalidArgument.New(fact.Of("reason", "'"+in.ToActor+"' is a thread, and a thread is handed to an agent: name the actor, or human or agent"),
					fact.Of("threadId", in.Thread)).WithNext("leslie status " + in.Thread)
			}
			t, err := s.HandTo(in.Thread, c.Project().NameOf(in.ToActor), in.Reason, claimFor, stamp)
			if err != nil {
				return nil, "", err
			}
			d := transferred(in, nil, t)
			d.Claim, d.Unheard = app.CurrentClaim(c, t), unheard
			d.Here = c.Project().Machine() != "" && !strings.Contains(in.ToActor, "@")
			return d, t.ID, nil
		})
	}
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*TransferResult, thread.ThreadID, error) {
		t, err := s.HandOff(in.Thread, in.To, in.Reason, stamp)
		if err != nil {
			return nil, "", err
		}
		return transferred(in, nil, t), t.ID, nil
	})
}

// receiver checks, in a project on several machines, the name of somebody who gets a thread, and returns the
// machine in it if that has not written yet, "" for none. Errors: T903, those of reading.
func receiver(c *app.Call, in TransferRequest) (unheard string, err error) {
	p := c.Project()
	if p.Machine() == "" {
		return "", nil
	}
	machines, err := c.Machines()
	if err != nil {
		return "", err
	}
	refused := func(reason string) error {
		return codes.InvalidArgument.New(fact.Of("reason", reason), fact.Of("threadId", in.Thread)).
			WithHint("leslie remote status shows the machines that have written, and on each machine its own").WithNext("leslie remote status")
	}
	machines = append(machines, app.Machine{Name: p.Machine()}) // which may not have written
	named := func(host string) string {
		for _, m := range machines {
			if app.HostOf(m.Name) == host {
				return m.Name
			}
		}
		return ""
	}
	actor, machine, at := strings.Cut(in.ToActor, "@")
	if m := named(actor); m != "" && !at {
		own, _, _ := strings.Cut(c.Caller().Actor, "@")
		return "", refused(app.Quoted(actor) + " is a machine: name somebody there, such as " + own + "@" + m)
	}
	if no := p.NoMachine(in.ToActor); no != "" {
		like := "it is one like " + p.Machine()
		if m := named(no); m != "" {
			like = "is it " + actor + "@" + m + "?"
		}
		return "", refused("no machine is named " + app.Quoted(no) + ": " + like)
	}
	known := slices.ContainsFunc(machines, func(m app.Machine) bool { return m.Name == machine })
	if p.NameOf(in.ToActor) == in.ToActor && !known {
		return machine, nil
	}
	return "", nil
}

func delegate(c *app.Call, in TransferRequest, p thread.Policy) (*TransferResult, error) {
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*TransferResult, thread.ThreadID, error) {
		grant := in.grant()
		grant.ID = c.NewApprovalID(s)
		g, t, err := s.Delegate(grant, p, stamp)
		if err != nil {
			return nil, "", err
		}
		return transferred(in, &g, t), t.ID, nil
	})
}

// requestApproval opens a request that records the hashes of the thread's artifacts, or
// returns the same request that is open already.
func requestApproval(c *app.Call, in TransferRequest, agentAutoApprove bool) (*TransferResult, error) {
	grant := in.grant()
	grant.AgentAutoApprove = agentAutoApprove
	var about thread.ThreadID
	_, err := c.View(func(s *thread.State) error {
		_, t, err := s.Request(grant, c.Stamp()) // whether it is allowed
		about = t.ID
		return err
	})
	if err != nil {
		return nil, err
	}
	stage, err := c.Store().Stage(c.Stamp().Operation)
	if err != nil {
		return nil, err
	}
	grant.Thread = string(about) // of which the digest is
	grant.Digest, err = artifactsDigest(c, stage, about)
	var data *TransferResult
	if err == nil {
		data, err = app.Write(c, func(s *thread.State, stamp thread.Stamp) (*TransferResult, thread.ThreadID, error) {
			grant := grant
			grant.ID = c.NewApprovalID(s)
			g, t, err := s.Request(grant, stamp)
			if err != nil {
				return nil, "", err
			}
			return transferred(in, &g, t), t.ID, nil
		})
	}
	c.EndStage(stage, err == nil && data.Changed)
	return data, err
}

// artifactsDigest stores the hashes of a thread's artifacts, not their contents.
// Errors: T508 for a file that is too large to hash, T505, T509.
func artifactsDigest(c *app.Call, stage *store.Stage, id thread.ThreadID) (thread.BlobID, error) {
	var entries []store.Entry
	err := c.ReadConsistent(func() (err error) {
		entries, err = c.Store().HashedIn(c.Context(), id, scope.Set{})
		return c.ToCome(id, scope.Set{}, err)
	}, id)
	if err != nil {
		return "", err
	}
	var m store.Manifest
	var skipped []string
	for _, e := range entries {
		switch {
		case e.Type == store.TypeFile && e.SHA256 == "":
			return "", codes.TooLarge.New(fact.Of("what", e.Path), fact.Of("limit", "64 MiB"), fact.Of("path", app.ThreadPath(id)+"/"+e.Path), fact.Of("threadId", id)).
				WithHint("Move the file out of the thread's folder, then ask again")
		case e.Type == store.TypeFile:
			m = append(m, store.FileAt{Path: e.Path, SHA256: e.SHA256, Size: e.Size, Executable: e.Executable})
		case e.Type != store.TypeFolder:
			skipped = append(skipped, e.Path)
		}
	}
	c.WarnSkipped(skipped)
	digest, err := stage.PutManifest(m)
	if err != nil {
		return "", err
	}
	return digest, c.RelyOn(stage)
}

// awaitDecision waits until a request is decided and returns the result; the request
// stays open however the wait ends. Errors: T404 if it was denied or withdrawn, T401 if
// it was not decided in time or messages wait for the caller's thread, T904.
func awaitDecision(c *app.Call, d *TransferResult, waiting func(thread.ApprovalID)) (*TransferResult, error) {
	var patience time.Duration
	if d.Deadline == nil && !c.Caller().As.Person() {
		patience = app.AgentsPatience
	}
	if waiting != nil {
		waiting(*d.ApprovalID)
	}
	var g thread.Approval
	begun, messages := c.Now(), false
	err := c.Await(patience, func(s *thread.State) (_ bool, _ time.Time, err error) {
		g, err = d.look(s)
		open := err == nil && g.Status == thread.GrantOpen
		late := open && g.Deadline != nil && g.Late(c.Now())
		messages = open && !late && c.MessagesWait(s)
		if !open || g.Deadline == nil {
			return !open || messages, time.Time{}, err
		}
		// A fallback that decides ends the wait by deciding: the deadline may have passed
		// since the look, which then saw the request open.
		return g.Fallback == thread.Block && late || messages, *g.Deadline, nil
	})
	switch {
	case codes.Has(err, codes.WaitTimeout):
		return nil, undecided(g, app.AgentsPatience).WithHint("The request stays open; wait again").
			WithNext("leslie approvals --all", "leslie wait "+string(g.ThreadID)+" --until decision")
	case codes.Has(err, codes.Interrupted):
		return nil, codes.Of(err).With(fact.Of("approvalId", *d.ApprovalID), fact.Of("threadId", d.ThreadID)).
			WithHint("The request stays open; leslie approvals shows it").WithNext("leslie approvals")
	case err != nil:
		return nil, err
	case messages: // an error: who runs "transfer --wait && deploy" has no approval
		return nil, undecided(g, c.Now().Sub(begun)).With(fact.Of("messages", true)).
			WithHint("Messages wait for your thread, and the request stays open. Read them, then wait again").
			WithNext("leslie context", "leslie wait "+string(g.ThreadID)+" --until decision")
	}
	if g.DecidedByDeadline() {
		if g, err = recordDeadline(c, d); err != nil {
			return nil, err
		}
	}
	return decided(c, d, g)
}

// look reads the current request.
func (d *TransferResult) look(s *thread.State) (thread.Approval, error) {
	g, err := s.Approval(string(*d.ApprovalID))
	if err != nil {
		return g, err
	}
	t, err := s.Thread(string(g.ThreadID))
	d.Status, d.ThreadStatus, d.Revision = &g.Status, t.Status, g.Revision
	return g, err
}

// recordDeadline records the effect of a passed deadline before anybody acts on it: a
// person may have decided at the same moment, and then that decision counts.
func recordDeadline(c *app.Call, d *TransferResult) (g thread.Approval, err error) {
	if _, err := c.System("lapse", c.Now(), (*thread.State).Expire); err != nil {
		return g, err
	}
	_, err = c.View(func(s *thread.State) (err error) {
		g, err = d.look(s)
		return err
	})
	return g, err
}

// decided returns the result of a wait.
func decided(c *app.Call, d *TransferResult, g thread.Approval) (*TransferResult, error) {
	switch {
	case g.Status == thread.GrantOpen:
		return nil, undecided(g, g.Deadline.Sub(g.Created.At))
	case g.Status == thread.GrantDenied, g.Status == thread.GrantWithdrawn:
		return nil, g.Refusal()
	case g.DecidedByDeadline():
		c.Warn(warnings.FallbackUsed.NewFilled(
			fact.List{fact.Of("duration", g.Deadline.Sub(g.Created.At))}, fact.Of("approvalId", g.ID), fact.Of("fallback", g.Fallback)))
	}
	if g.Status == thread.GrantApproved {
		paths, err := changedArtifacts(c, g)
		if err != nil {
			return nil, err
		}
		warnChanged(c, g.ID, paths)
	}
	d.SetChanged(true)
	return d, nil
}

// changedArtifacts returns the paths at which a thread's artifacts have changed since
// the request. Errors: T509 if the original can no longer be read.
func changedArtifacts(c *app.Call, g thread.Approval) (paths []string, err error) {
	if g.Digest == "" {
		return nil, nil
	}
	m, err := c.Store().Manifest(g.Digest)
	if err != nil {
		return nil, err
	}
	err = c.ReadConsistent(func() error {
		paths, err = c.Store().Compare(c.Context(), g.ThreadID, m, scope.Set{})
		return err
	}, g.ThreadID)
	return paths, err
}

// warnChanged adds W402 if something has changed since a request.
func warnChanged(c *app.Call, id thread.ApprovalID, paths []string) {
	if len(paths) > 0 {
		c.Warn(warnings.ArtifactsChanged.NewOfPaths(paths, nil, fact.Of("approvalId", id)))
	}
}

// undecided returns T401: the request stays open.
func undecided(g thread.Approval, waited time.Duration) *codes.Error {
	return codes.ApprovalTimeout.New(fact.Of("duration", waited), fact.Ms("duration", waited),
		fact.Of("approvalId", g.ID), fact.Of("threadId", g.ThreadID))
}
