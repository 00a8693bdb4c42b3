package main

import (
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/nearest"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file is transfer: a thread asks a person for capabilities, is given some,
// or gets another executor. How a decision is waited for stands at the end.

// transferData is what became of a transfer. A handoff has no approval.
type transferData struct {
	ApprovalID   *thread.ApprovalID  `json:"approvalId"`
	ThreadID     thread.ThreadID     `json:"threadId"`
	Direction    string              `json:"direction"`
	Status       *thread.GrantStatus `json:"status"`
	ThreadStatus thread.Status       `json:"threadStatus"`
	Scope        []string            `json:"scope"`
	Executor     thread.Executor     `json:"executor"`
	Deadline     *time.Time          `json:"deadline"`
	Fallback     *thread.Fallback    `json:"fallback"`
	Until        *time.Time          `json:"until"`
	Revision     thread.Revision     `json:"revision"`
	change
}

func (d *transferData) Text(p *page) {
	if d.ApprovalID == nil {
		p.line("thread %s  %s, carried out by: %s", d.ThreadID, d.ThreadStatus, string(d.Executor))
		return
	}
	p.line("approval %s  %s  %s", *d.ApprovalID, string(*d.Status), joined(d.Scope))
	if d.Deadline != nil {
		p.line("deadline: %s, then %s", d.Deadline.Format(time.RFC3339), string(*d.Fallback))
	}
	if d.Until != nil {
		p.field("until", d.Until.Format(time.RFC3339))
	}
	p.line("thread %s  %s", d.ThreadID, d.ThreadStatus)
	if *d.Status == thread.GrantOpen {
		p.line("a person decides: leslie approve %s, or leslie deny %s", *d.ApprovalID, *d.ApprovalID)
	}
}

// The directions of a transfer.
const (
	directionRequest  = "request_approval"
	directionDelegate = "delegate"
	directionHandoff  = "handoff"
)

func transferCommand() *command {
	directions := []string{directionRequest, directionDelegate, directionHandoff}
	fallbacks := []string{string(thread.Block), string(thread.Skip), string(thread.AutoApprove)}
	return &command{
		name: "transfer", summary: "ask a person for capabilities, give some, or hand a thread over", writes: true,
		teach: lesson{asking, "transfer ID --direction request_approval --scope CAPABILITY"},
		detail: "request_approval asks a person; the thread waits until it is decided. Past the --timeout the --fallback\n" +
			"holds: block (default) leaves the request open, skip ends it and grants nothing, auto_approve grants it.\n" +
			"delegate grants at once, until the --timeout. handoff makes --to the executor.\n" +
			"--wait returns when it is decided: approved 0, denied T404, late T401.",
		example:  "leslie transfer thread-a1b2c3d4 --direction request_approval --scope deploy --reason \"ship 1.2\"",
		operands: []operand{threadOperand()},
		flags: []cli.Flag{
			newOption("direction", oneOf(directions...).required(), "what is to happen"),
			newOption("scope", capabilities(), "the capabilities, such as code_edit or deploy"),
			newOption("to", oneOf(executorWords()...), "who is asked (human), gets them (agent), or takes over"),
			reasonFlag(),
			newOption("timeout", aDuration(), "how long a decision is waited for, or a delegation holds"),
			newOption("fallback", oneOf(fallbacks...), "what happens when nobody has decided by then"),
			toggle("wait", "return when it is decided"),
		},
		run: runTransfer,
	}
}

// transferOptions are transfer's flags, read and checked.
type transferOptions struct {
	direction string
	to        thread.Executor
	wait      bool
	grant     thread.NewGrant
}

func (c *call) transferOptions() transferOptions {
	c.require("direction")
	o := transferOptions{direction: c.text("direction"), to: thread.Executor(c.text("to")), wait: c.on("wait")}
	timeout, _ := time.ParseDuration(c.text("timeout")) // checked with the line
	o.grant = thread.NewGrant{
		Thread: c.targetThread(), Scope: c.parts("scope"), Reason: c.text("reason"),
		Timeout: timeout, Fallback: thread.Fallback(c.text("fallback")),
	}
	switch o.direction {
	case directionRequest:
		c.require("scope")
		c.onlyTo(thread.ByHuman, "a person is asked for approval")
		if o.grant.Fallback != "" && o.grant.Fallback != thread.Block && !c.has("timeout") {
			c.fault("--fallback", string(o.grant.Fallback), "--fallback "+string(o.grant.Fallback)+" needs --timeout")
		}
	case directionDelegate:
		c.require("scope")
		c.onlyTo(thread.ByAgent, "capabilities are delegated to an agent")
		c.meansNothing("with delegate", "fallback", "wait")
	case directionHandoff:
		c.require("to")
		c.meansNothing("with handoff", "scope", "timeout", "fallback", "wait")
	}
	return o
}

// onlyTo is a fault for another --to than the direction knows.
func (c *call) onlyTo(to thread.Executor, why string) {
	if c.has("to") && !c.faulty("to") && c.text("to") != string(to) {
		c.fault("--to", c.text("to"), "--to must be "+string(to)+": "+why)
	}
}

// meansNothing is a fault for each flag that was given and has no meaning.
func (c *call) meansNothing(where string, flags ...string) {
	for _, name := range flags {
		if c.has(name) {
			c.fault("--"+name, "", "--"+name+" means nothing "+where)
		}
	}
}

func runTransfer(c *call) (Data, error) {
	o := c.transferOptions()
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	first, ok, err := answered[transferData](c)
	switch {
	case err != nil:
		return nil, err
	case ok && o.wait:
		return c.awaitDecision(st, first)
	case ok:
		return first, nil
	}
	set, err := c.configured(st)
	if err != nil {
		return nil, err
	}
	if err := c.knownCapabilities("--scope", o.grant.Scope, set.policy); err != nil {
		return nil, err
	}
	switch o.direction {
	case directionHandoff:
		return c.handOff(o)
	case directionDelegate:
		return c.delegate(o, set.policy)
	}
	o.grant.AgentAutoApprove = set.agentAutoApprove
	if o.wait {
		c.hear()
	}
	data, err := c.requestApproval(st, o)
	if err != nil || !o.wait {
		return data, err
	}
	return c.awaitDecision(st, data)
}

// knownCapabilities is T903 for names that neither the default policy nor a
// configured one has.
func (c *call) knownCapabilities(field string, names []string, p thread.Policy) error {
	for _, name := range names {
		if _, known := p[name]; !known {
			all := p.Capabilities()
			c.faults = append(c.faults, fault{
				Field: field, Value: name, Problem: "there is no capability " + quoted(name), Nearest: nearest.Name(name, all), Allowed: all,
			})
		}
	}
	return c.usage()
}

func (c *call) handOff(o transferOptions) (Data, error) {
	return write(c, func(s *thread.State, stamp thread.Stamp) (*transferData, thread.ThreadID, error) {
		t, err := s.HandOff(o.grant.Thread, o.to, o.grant.Reason, stamp)
		if err != nil {
			return nil, "", err
		}
		return transferred(o, nil, t), t.ID, nil
	})
}

func (c *call) delegate(o transferOptions, p thread.Policy) (Data, error) {
	return write(c, func(s *thread.State, stamp thread.Stamp) (*transferData, thread.ThreadID, error) {
		in := o.grant
		in.ID = c.newApprovalID(s)
		g, t, err := s.Delegate(in, p, stamp)
		if err != nil {
			return nil, "", err
		}
		return transferred(o, &g, t), t.ID, nil
	})
}

// requestApproval opens a request that knows what the thread held when it was
// made.
func (c *call) requestApproval(st *store.Store, o transferOptions) (*transferData, error) {
	var about thread.ThreadID
	_, err := c.view(func(s *thread.State) error {
		_, t, err := s.Request(o.grant, c.stamp()) // whether it is allowed
		about = t.ID
		return err
	})
	if err != nil {
		return nil, err
	}
	stage, err := st.Stage(c.stamp().Operation)
	if err != nil {
		return nil, err
	}
	o.grant.Thread = string(about) // of which the digest is
	o.grant.Digest, err = c.digest(st, stage, about)
	var data *transferData
	if err == nil {
		data, err = write(c, func(s *thread.State, stamp thread.Stamp) (*transferData, thread.ThreadID, error) {
			in := o.grant
			in.ID = c.newApprovalID(s)
			g, t, err := s.Request(in, stamp)
			if err != nil {
				return nil, "", err
			}
			return transferred(o, &g, t), t.ID, nil
		})
	}
	c.endStage(stage, err == nil)
	return data, err
}

// digest keeps the hashes of a thread's artifacts, not their contents. Errors:
// T508 for a file that is too large to be hashed, T505, T509.
func (c *call) digest(st *store.Store, stage *store.Stage, id thread.ThreadID) (thread.BlobID, error) {
	var m store.Manifest
	var skipped []string
	err := c.settled(st, func() (err error) {
		m, skipped, err = merging.Manifest(c.ctx, st, id, scope.Set{})
		return err
	}, id)
	if codes.Has(err, codes.TooLarge) {
		return "", codes.Of(err).WithHint("Move the file out of the thread's folder, then ask again")
	}
	if err != nil {
		return "", err
	}
	c.warnSkipped(skipped)
	digest, err := stage.PutManifest(m)
	if err != nil {
		return "", err
	}
	return digest, c.relyOn(stage)
}

func (c *call) newApprovalID(s *thread.State) thread.ApprovalID {
	for {
		id := c.env.newID(thread.PrefixApproval)
		if _, taken := s.Approvals.Peek(id); !taken {
			return thread.ApprovalID(id)
		}
	}
}

// transferred is the answer; g is nil for a handoff.
func transferred(o transferOptions, g *thread.Approval, t thread.Thread) *transferData {
	d := &transferData{ThreadID: t.ID, Direction: o.direction, ThreadStatus: t.Status, Scope: []string{}, Executor: t.Executor, Revision: t.Revision}
	if g != nil {
		d.ApprovalID, d.Status, d.Scope = &g.ID, &g.Status, slices.Clone(g.Scope)
		d.Deadline, d.Fallback, d.Until, d.Revision = g.Deadline, orNull(g.Fallback), g.Until, g.Revision
	}
	return d
}

// awaitDecision waits until a request is decided and says what came of it; it
// stays open whatever becomes of the wait. Errors: T404 where it was denied or
// withdrawn, T401 where it was not decided in time, T904.
func (c *call) awaitDecision(st *store.Store, d *transferData) (Data, error) {
	var patience time.Duration
	if d.Deadline == nil && c.who.as != thread.User {
		patience = agentsPatience
	}
	c.sayWaiting(*d.ApprovalID)
	var g thread.Approval
	err := c.await(st, patience, func(s *thread.State) (bool, time.Time, error) {
		var err error
		if g, err = s.Approval(string(*d.ApprovalID)); err != nil {
			return false, time.Time{}, err
		}
		t, err := s.Thread(string(g.ThreadID))
		d.Status, d.ThreadStatus, d.Revision = &g.Status, t.Status, g.Revision
		if g.Status != thread.GrantOpen || g.Deadline == nil {
			return g.Status != thread.GrantOpen, time.Time{}, err
		}
		return g.Late(c.now()), *g.Deadline, err
	})
	switch {
	case codes.Has(err, codes.WaitTimeout):
		return nil, undecided(g, agentsPatience).WithHint("The request stays open; wait again").
			WithNext("leslie approvals --all", "leslie wait "+string(g.ThreadID)+" --until decision")
	case codes.Has(err, codes.Interrupted):
		return nil, codes.Of(err).With(fact.Of("approvalId", *d.ApprovalID), fact.Of("threadId", d.ThreadID)).
			WithHint("The request stays open; leslie approvals shows it").WithNext("leslie approvals")
	case err != nil:
		return nil, err
	}
	if g.Fallen() {
		if g, err = c.settleDeadline(st, d); err != nil {
			return nil, err
		}
	}
	return c.decision(st, d, g)
}

// settleDeadline records what a deadline that has passed means before anybody
// acts on it: a person may have decided in the same moment, and then that holds.
func (c *call) settleDeadline(st *store.Store, d *transferData) (g thread.Approval, err error) {
	_, err = c.system(st, c.lockWait(), "lapse", c.now(), func(s *thread.State, stamp thread.Stamp) thread.ThreadID {
		return s.Expire(stamp)
	})
	if err != nil {
		return g, err
	}
	_, err = c.view(func(s *thread.State) error {
		if g, err = s.Approval(string(*d.ApprovalID)); err != nil {
			return err
		}
		t, err := s.Thread(string(g.ThreadID))
		d.Status, d.ThreadStatus, d.Revision = &g.Status, t.Status, g.Revision
		return err
	})
	return g, err
}

// decision is the end of a wait.
func (c *call) decision(st *store.Store, d *transferData, g thread.Approval) (Data, error) {
	switch {
	case g.Status == thread.GrantOpen:
		return nil, undecided(g, g.Deadline.Sub(g.Created.At))
	case g.Status == thread.GrantDenied, g.Status == thread.GrantWithdrawn:
		return nil, g.Refusal()
	case g.Fallen():
		c.warnings.Add(warnings.FallbackUsed.NewFilled(
			fact.List{fact.Of("duration", g.Deadline.Sub(g.Created.At))}, fact.Of("approvalId", g.ID), fact.Of("fallback", g.Fallback)))
	}
	if g.Status == thread.GrantApproved {
		if err := c.warnChanged(st, g); err != nil {
			return nil, err
		}
	}
	d.SetChanged(true)
	return d, nil
}

// undecided is T401: the request stays open.
func undecided(g thread.Approval, waited time.Duration) *codes.Error {
	return codes.ApprovalTimeout.New(fact.Of("duration", waited), fact.Ms("duration", waited),
		fact.Of("approvalId", g.ID), fact.Of("threadId", g.ThreadID))
}
