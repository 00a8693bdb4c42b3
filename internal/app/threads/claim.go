package threads

import (
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merges"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file handles claims, by which several agents distribute threads. Writing to a
// thread extends the holder's claim.

// ClaimRequest claims a thread, or with Next the first ready one.
type ClaimRequest struct {
	Thread string // "": the thread that the caller speaks for
	Next   bool
	For    time.Duration // 0: what the configuration says
	// Wait is how long Next waits for a thread to become ready; 0: not at all.
	Wait time.Duration
	// TakeOver claims a thread also if somebody else holds it, who is told the Reason.
	TakeOver bool
	Reason   string
}

// ClaimResult says who holds a thread. Without a thread, there was none to claim;
// without a holder, the thread is not claimed.
type ClaimResult struct {
	ThreadID *thread.ThreadID `json:"threadId"`
	Holder   *string          `json:"holder"`
	Until    *time.Time       `json:"until"`
	// Derived: the caller is the holder, by a name that was derived for it.
	Derived  bool            `json:"derived,omitempty"`
	Revision thread.Revision `json:"revision"`
	// Reason says why there is no thread; "" if the caller did not wait and one is active.
	Reason thread.Nothing `json:"reason,omitempty"`
	// TakenFrom held the thread until this call took it over; null if nobody did.
	TakenFrom *string `json:"takenFrom,omitempty"`
	// Reopened says who reopened the thread, when and why; null if it never ended.
	Reopened *thread.Reopening `json:"reopened,omitempty"`
	// Held has the active threads that the caller of Next holds already, without those above
	// the claimed one.
	Held []thread.ThreadID `json:"held,omitempty"`
	// Worktree was made here by this call, because the thread's code was on another machine.
	Worktree string `json:"worktree,omitempty"`
	// Elsewhere is the machine that has its worktree, if none could be made here, as W816 says.
	Elsewhere string `json:"elsewhere,omitempty"`
	// Removed: the worktree of its code was removed, or is gone; leslie code restore makes it again.
	Removed bool `json:"removed,omitempty"`
	// Brought has the threads with whose code it begins: see BeginWithDependencies.
	Brought []thread.ThreadID `json:"brought,omitempty"`
	app.Change
	taken bool
}

// Taken reports whether this call claimed the thread.
func (d *ClaimResult) Taken() bool { return d.taken }

func claimOf(t thread.Thread) *ClaimResult {
	d := &ClaimResult{ThreadID: &t.ID, Revision: t.Revision}
	if c := t.Claim; c != nil {
		d.Holder, d.Until = &c.Holder, &c.Until
	}
	return d
}

// Claim makes the caller the holder of a thread for a limited time. Errors: T903,
// T101, T105, T107, T108, T509 for the configuration, and those of a write; of a wait
// T904. A wait without a thread to claim is no error: the result says why.
func Claim(c *app.Call, in ClaimRequest) (*ClaimResult, error) {
	if err := checkHolder(c); err != nil {
		return nil, err
	}
	switch {
	case in.For < 0:
		return nil, codes.InvalidArgument.New(fact.Of("reason", "For must not be negative"))
	case in.Wait < 0 || in.Wait > 0 && (!in.Next || c.InBatch()):
		return nil, codes.InvalidArgument.New(fact.Of("reason", "Wait must not be negative, goes with Next, and cannot be part of a batch"))
	case in.TakeOver && (in.Next || in.Reason == "") || !in.TakeOver && in.Reason != "":
		return nil, codes.InvalidArgument.New(fact.Of("reason", "TakeOver goes with Thread and with a Reason, which is told to whoever holds the thread"))
	case in.Next && in.Thread != "":
		return nil, codes.InvalidArgument.New(fact.Of("reason", "Next chooses the thread: leave Thread empty"))
	}
	id := ""
	if !in.Next {
		id = c.ThreadOr(in.Thread)
	}
	d, err := claimDuration(c, true, in.For)
	if err != nil {
		return nil, err
	}
	var stands thread.ThreadID
	if in.Next {
		if stands, err = standsIn(c); err != nil {
			return nil, err
		}
	}
	finished := ""
	if id != "" {
		finished = finishMade(c, id)
	}
	if in.Wait > 0 && stands == "" {
		out, err := claimWhenReady(c, in.Wait, d)
		return beginTaken(c, out), err
	}
	out, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*ClaimResult, thread.ThreadID, error) {
		t, found, err := thread.Thread{}, true, error(nil)
		var from *thread.Claim
		switch {
		case stands != "":
			t, err = s.Claim(string(stands), d, stamp)
		case in.Next:
			t, found, err = claimNext(s, d, stamp)
		case in.TakeOver:
			t, from, err = s.TakeOver(id, in.Reason, d, stamp)
		default:
			t, err = s.Claim(id, d, stamp)
		}
		if err == nil && found {
			err = t.Unmade()
		}
		switch {
		case err != nil:
			return nil, "", err
		case !found:
			return nothing(s, nothingNow(s), stamp), "", nil
		case in.Next:
			return takenNext(c, s, t, stamp), t.ID, nil
		}
		out := taken(c, s, t)
		if from != nil {
			out.TakenFrom = &from.Holder
		}
		return out, t.ID, nil
	})
	out = beginTaken(c, out)
	if out != nil && out.Worktree == "" {
		out.Worktree = finished
	}
	return out, err
}

// finishMade finishes the worktree of a thread that is to be claimed, if a claim that made it was killed, and returns
// it. Where somebody makes it, that cannot be finished, or a spawn made it, it returns "", and the claim says so.
func finishMade(c *app.Call, id string) (worktree string) {
	t, err := code.Owner(c, id, thread.CodeMaking)
	if err != nil || c.InBatch() || t.OwnedCode().Call != "" {
		return ""
	}
	call := c.ForCommand("code setup")
	d, err := code.Setup(call, code.SetupRequest{Thread: string(t.ID)})
	if err != nil {
		return ""
	}
	c.Include(call)
	return d.Worktree
}

// beginTaken brings the code here of a thread that was claimed, and lets the work begin with the code of what it
// depends on.
func beginTaken(c *app.Call, d *ClaimResult) *ClaimResult {
	if d != nil && d.taken && !c.InBatch() {
		_ = c.Fetch(*d.ThreadID) // whoever looks at the thread is told
		d.Worktree, d.Elsewhere = BringCode(c, *d.ThreadID)
		d.Removed = d.Removed && d.Worktree == ""
		d.Brought = BeginWithDependencies(c, *d.ThreadID)
	}
	return d
}

// standsIn returns the thread in whose worktree the caller of Next works, if that thread is to be
// claimed, or another holds it; "" if any other is as good.
func standsIn(c *app.Call) (id thread.ThreadID, err error) {
	id = c.WorktreeThread()
	if id == "" {
		return "", nil
	}
	_, err = c.View(func(s *thread.State) error {
		t, _ := s.Threads.Peek(string(id))
		held, by := t.Held(c.Now()), claimable(c.Caller().As)
		switch {
		case t.Status != thread.Active, t.PersonsCheckout(), by != "" && by != t.Executor:
			id = ""
		case held != nil && held.Holder == c.Caller().Actor:
			id = ""
		}
		return nil
	})
	return id, err
}

// taken is the result for a thread that the caller has claimed.
func taken(c *app.Call, s *thread.State, t thread.Thread) *ClaimResult {
	merges.NoteMoved(c, s, t)
	c.Warn(s.CancelledBelow(t, t.DependsOn)...)
	d := claimOf(t)
	d.taken, d.Derived, d.Reopened = true, c.Caller().Derived, t.Back()
	if owned := t.OwnedCode(); owned != nil {
		gone := owned.State == thread.CodeReady && code.FolderMissing(code.WorktreeDir(c, t))
		d.Removed = gone || owned.State == thread.CodeRemoved
	}
	return d
}

// takenNext is the result for a thread that Next chose, with what else the caller holds.
func takenNext(c *app.Call, s *thread.State, t thread.Thread, stamp thread.Stamp) *ClaimResult {
	d := taken(c, s, t)
	d.Held = s.AlsoHeld(t.ID, stamp)
	return d
}

// nothing is the result where there is no thread to claim.
func nothing(s *thread.State, why thread.Nothing, stamp thread.Stamp) *ClaimResult {
	return &ClaimResult{Reason: why, Held: s.AlsoHeld("", stamp), Revision: s.Revision}
}

// claimDuration returns how long a claim lasts that is wanted for d, or for 0 as long as
// the configuration says. Errors: T509 for the configuration.
func claimDuration(c *app.Call, wanted bool, d time.Duration) (time.Duration, error) {
	if !wanted || d > 0 {
		return d, nil
	}
	set, err := c.Configured()
	return set.ClaimFor, err
}

// claimable returns the executor whose threads Next may claim, "" for anybody's: an agent
// does not claim threads of people.
func claimable(as thread.ActorKind) thread.Executor {
	if as == thread.Agent {
		return thread.ByAgent
	}
	return ""
}

// HolderRequest is a request by the holder of a claim.
type HolderRequest struct {
	Thread string // "": the thread that the caller speaks for
	Reason string // of a release, which another who held the thread is told
}

// Renew extends the caller's claim. Errors: T903, T101, T105, T107, T108, and those of
// a write.
func Renew(c *app.Call, in HolderRequest) (*ClaimResult, error) {
	return changeClaim(c, in, (*thread.State).Renew)
}

// Release ends the caller's claim; a person may end anybody's, with W106. Errors: T903, T101,
// T105, T108, and those of a write.
func Release(c *app.Call, in HolderRequest) (*ClaimResult, error) {
	d, err := changeClaim(c, in, func(s *thread.State, id string, stamp thread.Stamp) (thread.Thread, error) {
		if stamp.ByPerson() {
			if err := c.RespectClaim(s, id, stamp); err != nil {
				return thread.Thread{}, err
			}
		}
		return s.Release(id, in.Reason, stamp)
	})
	if err == nil && d.Changed {
		c.WarnUncommittedHere(app.OrZero(d.ThreadID))
	}
	return d, err
}

func changeClaim(c *app.Call, in HolderRequest, do func(*thread.State, string, thread.Stamp) (thread.Thread, error)) (*ClaimResult, error) {
	if err := checkHolder(c); err != nil {
		return nil, err
	}
	id := c.ThreadOr(in.Thread)
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*ClaimResult, thread.ThreadID, error) {
		t, err := do(s, id, stamp)
		if err != nil {
			return nil, "", err
		}
		d := claimOf(t)
		if t.Held(stamp.Time) == nil { // another's that has run out
			d.Holder, d.Until = nil, nil
		}
		return d, t.ID, nil
	})
}

// checkHolder refuses an agent that has only the login name, because all agents of
// that user would count as one holder. Errors: T903.
func checkHolder(c *app.Call) error {
	if c.Caller().As == thread.Agent && c.Caller().Unnamed {
		return codes.InvalidArgument.New(fact.Of("reason", "Actor: the agent has no session id and no name could be derived: give one"))
	}
	return nil
}
