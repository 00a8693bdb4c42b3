package merges

import (
	"encoding/json"
	"errors"
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
)

// This file lands the merges in the queue of a thread. Each is carried out as merge
// continue does it, in operations of its own.

// queueFaults adds faults for what a merge that is only queued cannot have.
func (in Request) queueFaults(k *app.Checks) {
	if in.DryRun {
		k.With("DryRun", "Queue", "", "goes without %s: a queued merge is not planned", k.Name("DryRun"))
	}
	if in.Agent != "" || in.Timeout != 0 {
		k.With("Agent", "Queue", "", "goes without %s: no command is kept with a merge; name the agent when it lands", k.Name("Agent"))
	}
}

// LandQueueRequest lands the queue of a thread.
type LandQueueRequest struct {
	Target string
	Limit  int // end after so many have landed; 0: land all
	Resolvers
}

// Faults returns what is wrong with the request.
func (in LandQueueRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	if in.Limit < 0 {
		k.Add("Limit", "", "must not be negative")
	}
	in.faults(k)
	return k.Faults
}

// LandQueueResult has the merges of the queue that were tried, in the order of the queue.
type LandQueueResult struct {
	Target thread.ThreadID `json:"target"`
	Items  []QueueOutcome  `json:"items"`
	Landed int             `json:"landed"`
	// Left is how many were not tried.
	Left int `json:"left"`
	app.Change
}

// QueueOutcome says what became of one merge: merged, or queued as before.
type QueueOutcome struct {
	MergeID thread.MergeID    `json:"mergeId"`
	Sources []thread.ThreadID `json:"sources"`
	Status  merging.Status    `json:"status"`
	// Revision is that of the merge. Code says where its code has landed.
	Revision *thread.Revision    `json:"revision,omitempty"`
	Code     *merging.CodeResult `json:"code,omitempty"`
	// Error says why it stays in the queue.
	Error *LandingFailure `json:"error,omitempty"`
}

// LandingFailure is why a merge has not landed, with lines that go on.
type LandingFailure struct {
	Code    codes.Code `json:"code"`
	Message string     `json:"message"`
	Next    []string   `json:"next"`
}

// LandQueue lands the merges that are queued for a thread, the oldest first, each planned
// on what the target has by then. One that cannot land stays queued with the reason, and
// the others pass. Errors: T101, T105, T107, T108; T805 if another call has landed merges
// into the thread for too long; those of a write, and T904, which end the run; otherwise
// that of the first merge that has not landed. A result accompanies all but the first four.
func LandQueue(c *app.Call, in LandQueueRequest) (*LandQueueResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	conf, err := c.Settings()
	if err != nil {
		return nil, err
	}
	q, err := queueOf(c, in.Target)
	if err != nil {
		return nil, err
	}
	if len(q.waiting) == 0 {
		return q.result, nil
	}
	release, err := holdQueue(c, q.target.ID)
	if err != nil {
		return nil, err
	}
	defer release()
	if q, err = queueOf(c, in.Target); err != nil { // another call may have landed some
		return nil, err
	}
	in.Person, in.Approver = nil, nil
	agent, end, err := mergeAgent(c, in.Resolvers, conf)
	if err != nil {
		return nil, err
	}
	defer end()
	q.repository, q.in, q.conf, q.agent = oneRepo(c), in, conf, agent
	err = q.land(c)
	c.SetChanged(c.Changed() || q.result.Changed)
	return q.result, err
}

// landingQueue is a run over the queue of a thread.
type landingQueue struct {
	target     thread.Thread
	waiting    []thread.Merge
	killed     []thread.Merge // others, whose landing was interrupted
	in         LandQueueRequest
	conf       app.Settings
	agent      *merging.Agent
	repository func(thread.Thread) (*git.Repo, error)
	result     *LandQueueResult
	first      error // of the first merge that has not landed
}

// queueOf reads the queue of a thread, into which the caller may merge. Errors: T101, T105,
// T107, T108.
func queueOf(c *app.Call, target string) (*landingQueue, error) {
	q := &landingQueue{}
	kept := len(c.Warnings())
	_, err := c.View(func(s *thread.State) (err error) {
		c.WarnAnew(kept)
		if q.target, err = s.LiveThread(target); err != nil {
			return err
		}
		found, err := s.RespectClaim(string(q.target.ID), c.Stamp())
		if err != nil {
			return err
		}
		c.Warn(found...)
		q.waiting = s.QueueOf(q.target.ID)
		q.killed = slices.DeleteFunc(s.MergesOf(q.target.ID), func(m thread.Merge) bool {
			return m.Queued != nil || !m.Landing() || m.Target != q.target.ID
		})
		return nil
	})
	c.SetTarget(q.target.ID)
	q.result = &LandQueueResult{Target: q.target.ID, Items: []QueueOutcome{}}
	return q, err
}

// queuePatience is how long a call waits for another that lands merges into the thread.
const queuePatience = app.AgentsPatience

// holdQueue waits until no other call lands merges into a thread. Errors: T805, T904,
// those of a write.
func holdQueue(c *app.Call, id thread.ThreadID) (release func(), err error) {
	if release, err = code.AwaitHold(c, "queue-"+string(id), queuePatience); errors.Is(err, code.ErrHeld) {
		return nil, codes.WorktreeBusy.New(fact.Of("what", "Another merge land"), fact.Of("path", "the queue of '"+string(id)+"'"), fact.Of("threadId", id)).
			WithHint("Wait until it has ended, then repeat the call").WithNext("leslie merge list")
	}
	return release, err
}

// land tries one merge after the other. Errors: see LandQueue.
func (q *landingQueue) land(c *app.Call) error {
	for _, m := range q.killed {
		if err := merging.RepairKilledLanding(SessionCall(c, q.in.Resolvers, q.conf), m, q.target); err != nil {
			return err
		}
	}
	for i, m := range q.waiting {
		if q.result.Left = len(q.waiting) - i; q.in.Limit > 0 && q.result.Landed == q.in.Limit {
			return q.first
		}
		if err := q.try(c, m); err != nil {
			return err
		}
	}
	q.result.Left = 0
	return q.first
}

// try lands one merge. Its error ends the run.
func (q *landingQueue) try(c *app.Call, m thread.Merge) error {
	one := c.Project().Call(c.Context(), c.Caller(), app.Request{
		Command: "merge land", LockTimeout: c.Request().LockTimeout, Waiting: c.Request().Waiting,
		Params: func() json.RawMessage { return landParams(m.ID) },
	})
	item, why, err := q.carryOut(one, m)
	c.Warn(one.Warnings()...)
	q.result.Changed = q.result.Changed || one.Changed()
	switch {
	case err != nil || item == nil:
		return err
	case why == nil:
		c.SetRevision(item.Revision)
		q.result.Landed++
	case q.first == nil:
		q.first = why
	}
	q.result.Items = append(q.result.Items, *item)
	return nil
}

// carryOut continues a merge in a call of its own; why says why it stays queued. The item
// is nil if somebody else has landed or aborted it. Its error ends the run.
func (q *landingQueue) carryOut(one *app.Call, m thread.Merge) (item *QueueOutcome, why *codes.Error, err error) {
	call := SessionCall(one, q.in.Resolvers, q.conf)
	call.Repository, call.Agent = q.repository, q.agent
	s, err := merging.Load(call, string(m.ID))
	var merged *Result
	if err == nil {
		err = checkLanding(one, m)
	}
	if err == nil {
		merged, err = s.Finish()
	}
	item = &QueueOutcome{MergeID: m.ID, Sources: m.Sources, Status: merging.Merged}
	switch why = codes.Of(err); {
	case err == nil:
		item.Revision, item.Code = one.Revision(), merged.Code
		return item, nil, nil
	case codes.Has(err, codes.MergeNotFound):
		return nil, nil, nil
	case why == nil || endsRun(why.Code()):
		return nil, nil, err
	}
	item.Status, item.Error = merging.Queued, &LandingFailure{Code: why.Code(), Message: why.Error(), Next: append([]string{}, why.Next()...)}
	if why.Code() == codes.ReadFailed && !one.Changed() {
		return item, why, nil // the disk failed, not the merge
	}
	err = mergeOperations{one}.Update(m.Target, nil, func(st *thread.State, stamp thread.Stamp) error {
		st.RefuseQueued(m.ID, why.Code(), why.Error(), merging.HasLanded(s), stamp.Time)
		return nil
	})
	return item, why, err
}

// checkLanding returns T114 for a queued merge with a source that fails its checks.
func checkLanding(c *app.Call, m thread.Merge) error {
	var sources []thread.Thread
	if _, err := c.View(func(s *thread.State) error { sources = code.CheckedSources(s, m); return nil }); err != nil {
		return err
	}
	for _, t := range sources {
		if err := code.RunChecksNow(c, t); err != nil {
			return err
		}
	}
	return nil
}

// landParams are the parameters of a landing in the journal.
func landParams(id thread.MergeID) json.RawMessage {
	raw, err := fact.JSON(struct {
		Merge thread.MergeID `json:"merge"`
	}{id})
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

// endsRun reports whether a failure is no matter of one merge: the store cannot be written,
// the call has been stopped, or the caller may not go on.
func endsRun(code codes.Code) bool {
	return slices.Contains([]codes.Code{
		codes.MistakeLimit, codes.Claimed, codes.LockFailed, codes.ParseError, codes.NotInitialized, codes.WriteFailed, codes.UnsupportedVersion,
		codes.Internal, codes.Unknown, codes.Interrupted,
	}, code)
}
