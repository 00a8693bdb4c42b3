package runs

import (
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/fact"
	"leslie/internal/runner"
	"leslie/store"
	"leslie/thread"
)

// This file lists runs and stops them.

// ListRequest lists the newest run of each thread.
type ListRequest struct {
	Threads []string  // ids: only the runs of these threads; nil: of all
	All     bool      // also those that have ended
	From    time.Time // only those that began or ended at this time or later; zero: all
	Limit   int       // 0: all
}

// ListResult has runs, in the order of their threads in a list.
type ListResult struct {
	app.Items[Item]
	// Loop: a process starts the agents of whatever is ready. LoopKilled: one did, and was killed; LoopNext is
	// the line that starts it again.
	Loop       bool   `json:"loop"`
	LoopKilled bool   `json:"loopKilled,omitempty"`
	LoopNext   string `json:"loopNext,omitempty"`
}

// Item is the newest run of a thread.
type Item struct {
	ThreadID     thread.ThreadID `json:"threadId"`
	Title        string          `json:"title"`
	ThreadStatus thread.Status   `json:"threadStatus"`
	app.RunRecord
	// Alive: a process runs it now. One that should and does not was killed.
	Alive bool `json:"alive"`
}

// List lists runs. Errors: T101 and T105 for its threads, T509, those of a view.
func List(c *app.Call, in ListRequest) (*ListResult, error) {
	c.ReadOnly()
	var found []thread.Thread
	_, err := c.View(func(s *thread.State) error {
		if found = nil; len(in.Threads) == 0 {
			found = s.ThreadsWithRun()
		}
		for _, id := range in.Threads {
			t, err := s.Thread(id)
			if err != nil {
				return err
			}
			if t.LastRun() != nil {
				found = append(found, t)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	d := &ListResult{}
	var items []Item
	limits := agents.LimitsOf(c)
	for _, t := range found {
		run := t.LastRun()
		alive, err := c.RunAlive(t)
		if err != nil {
			return nil, err
		}
		last := run.StartedAt
		if run.EndedAt != nil {
			last = *run.EndedAt
		}
		if (in.All || alive || run.Phase != thread.RunEnded) && !last.Before(in.From) {
			item := Item{ThreadID: t.ID, Title: t.Title, ThreadStatus: t.Status, RunRecord: *app.LastRunOf(c, t), Alive: alive}
			agents.SayLimit(c, limits, &item.RunRecord)
			items = append(items, item)
		}
	}
	d.Items = app.First(items, in.Limit)
	loop, err := c.Store().Loop()
	if d.Loop, d.LoopKilled = loop.Held, loop.Killed; loop.Killed {
		d.LoopNext = loop.Again()
	}
	return d, err
}

// runAliveNow is app.Call.RunAlive for a thread as it is recorded now.
func runAliveNow(c *app.Call, id thread.ThreadID) (alive bool, err error) {
	var t thread.Thread
	if c.Project().Link() == nil {
		return c.Store().RunHeld(id)
	}
	if _, err := c.View(func(s *thread.State) (err error) {
		t, err = s.Thread(string(id))
		return err
	}); err != nil {
		return false, err
	}
	return c.RunAlive(t)
}

// StopRequest stops the run of a thread.
type StopRequest struct {
	Thread string // "": the thread that the caller speaks for
	// Now ends the agent without letting it end its turn.
	Now bool
	// Patience is how long to wait for the end; 0: stopPatience.
	Patience time.Duration
}

// stopPatience is how long Stop waits: an agent may take a while to end its turn.
const stopPatience = 30 * time.Second

// Stop asks the process of a run to stop, and waits until it has. A run whose process
// was killed is recorded as stopped. Errors: T101, T105, T109 if it still runs,
// T509, T904, those of a write.
func Stop(c *app.Call, in StopRequest) (*Result, error) {
	c.CatchSignals()
	if in.Patience == 0 {
		in.Patience = stopPatience
	}
	d, err := requestStop(c, c.ThreadOr(in.Thread), in.Now)
	if err != nil || d.Phase == thread.RunEnded || d.Phase == thread.RunParked || d.RunID == "" {
		return d, err
	}
	err = awaitRelease(c, in.Patience, func() (bool, error) { return runAliveNow(c, d.ThreadID) })
	if codes.Has(err, codes.WaitTimeout) {
		err = codes.Of(err).With(fact.Of("threadId", d.ThreadID)).WithHint("It will stop when its agent has ended its turn; --now does not wait for that").
			WithNext("leslie run list")
	}
	if err != nil {
		return nil, err
	}
	folder, release, err := c.Store().HoldRun(c.Context(), d.ThreadID)
	if err == nil { // else another process runs it by now
		defer release()
		runner.EndLeftovers(runMarks(c, d.RunID))
	}
	ended := c.ForCommand("run stop")
	out, err := app.Write(ended, func(s *thread.State, stamp thread.Stamp) (*Result, thread.ThreadID, error) {
		t, err := s.Thread(string(d.ThreadID))
		if err == nil && t.LastRun().Going() && t.LastRun().ID == d.RunID {
			t, err = s.EndRun(string(d.ThreadID), d.RunID, stamp, func(r *thread.Run) {
				r.Used.Cost = costAtKill(folder, *r)
				if r.Stop, r.Reason = thread.RunStopped, "its process was killed"; t.Status == thread.Completed {
					r.Stop, r.Reason = thread.RunDone, ""
				}
			})
		}
		if err != nil {
			return nil, "", err
		}
		return stoppedRun(t), t.ID, nil
	})
	if err != nil {
		return nil, err
	}
	c.SetRevision(ended.Revision())
	out.SetChanged(true)
	return out, nil
}

// releasePoll is how often a lock that was asked for is looked at.
const releasePoll = 100 * time.Millisecond

// awaitRelease waits until a lock is free. Errors: T109, T904, those of held.
func awaitRelease(c *app.Call, patience time.Duration, held func() (bool, error)) error {
	ctx, cancel := c.Project().Environment().Timeout(c.Context(), patience)
	defer cancel()
	w := c.Store().Watch(store.StateFile)
	defer w.Close()
	for {
		still, err := held()
		switch {
		case err != nil || !still:
			return err
		case c.Context().Err() == nil && ctx.Err() != nil:
			return codes.WaitTimeout.New(fact.Of("duration", patience), fact.Ms("duration", patience))
		}
		if err := w.Next(ctx, releasePoll); err != nil && c.Context().Err() != nil {
			return err
		}
	}
}

func stoppedRun(t thread.Thread) *Result {
	d := &Result{ThreadID: t.ID, ThreadStatus: t.Status}
	if run := t.LastRun(); run != nil {
		d.RunRecord = app.RunOf(*run)
	}
	return d
}

// requestStop records that a run is to stop.
func requestStop(c *app.Call, id string, now bool) (*Result, error) {
	return app.Write(c, func(s *thread.State, stamp thread.Stamp) (*Result, thread.ThreadID, error) {
		t, err := s.StopRun(id, now, stamp)
		if err != nil {
			return nil, "", err
		}
		return stoppedRun(t), t.ID, nil
	})
}

// StopSeveralRequest stops the runs of some threads.
type StopSeveralRequest struct {
	Threads []string
	// All stops every run of the project that goes on, and the process that starts agents.
	All bool
	// Now ends the agents without letting them end their turns.
	Now bool
}

// StopSeveralResult has what was stopped.
type StopSeveralResult struct {
	Items []*Result `json:"items"`
	Loop  bool      `json:"loop"` // leslie run --next was stopped, too
	app.Change
}

// StopSeveral stops runs one after the other, as Stop does. If one still runs after a while, it goes on
// with the others, and returns the first error at the end. Errors: T101 and T105 before anything was
// stopped; those of Stop and StopLoop.
func StopSeveral(c *app.Call, in StopSeveralRequest) (*StopSeveralResult, error) {
	c.CatchSignals()
	d := &StopSeveralResult{Items: []*Result{}}
	if !in.All {
		ids, err := threadsNamed(c, in.Threads)
		if err != nil {
			return nil, err
		}
		return d, d.stop(c, ids, in.Now)
	}
	ids, err := going(c)
	if err != nil {
		return nil, err
	}
	if in.Now { // before the loop lets them end their turns
		for _, id := range ids {
			if _, err := requestStop(c.ForCommand("run stop"), string(id), true); err != nil {
				return nil, err
			}
		}
	}
	loop, err := c.Store().Loop()
	if err == nil && loop.Held {
		_, err = StopLoop(c, StopLoopRequest{})
		d.Loop = err == nil
		d.SetChanged(d.Loop)
	}
	if err != nil {
		return nil, err
	}
	left, err := going(c)
	if err != nil {
		return nil, err
	}
	ended := slices.DeleteFunc(ids, func(id thread.ThreadID) bool { return slices.Contains(left, id) })
	if err := d.show(c, ended); err != nil {
		return nil, err
	}
	return d, d.stop(c, left, in.Now)
}

// show adds runs that have ended meanwhile, as they are recorded.
func (d *StopSeveralResult) show(c *app.Call, ids []thread.ThreadID) error {
	_, err := c.View(func(s *thread.State) error {
		for _, id := range ids {
			t, err := s.Thread(string(id))
			if err != nil {
				return err
			}
			one := stoppedRun(t)
			one.SetChanged(true)
			d.Items = append(d.Items, one)
			d.SetChanged(true)
		}
		return nil
	})
	return err
}

// threadsNamed are the ids of threads that a line names.
func threadsNamed(c *app.Call, named []string) (ids []thread.ThreadID, err error) {
	_, err = c.View(func(s *thread.State) error {
		for _, name := range named {
			t, err := s.Thread(name)
			if err != nil {
				return err
			}
			ids = append(ids, t.ID)
		}
		return nil
	})
	return ids, err
}

// going are the threads whose runs go on.
func going(c *app.Call) (ids []thread.ThreadID, err error) {
	all, err := List(c, ListRequest{})
	if err != nil {
		return nil, err
	}
	for _, i := range all.Items.Items {
		if i.Alive {
			ids = append(ids, i.ThreadID)
		}
	}
	return ids, nil
}

// stop stops the runs of threads, and returns the first error after it has tried each.
func (d *StopSeveralResult) stop(c *app.Call, ids []thread.ThreadID, now bool) (first error) {
	for _, id := range ids {
		call := c.ForCommand("run stop")
		one, err := Stop(call, StopRequest{Thread: string(id), Now: now})
		c.SetRevision(call.Revision())
		switch {
		case err == nil:
			d.Items = append(d.Items, one)
			d.SetChanged(d.Changed || one.Changed)
		case first == nil:
			first = err
		}
	}
	return first
}

// StopLoopRequest stops the process that starts the agents of whatever is ready.
type StopLoopRequest struct {
	// Patience is how long to wait for its end; 0: stopPatience.
	Patience time.Duration
}

// StopLoopResult says whether there was such a process.
type StopLoopResult struct{ app.Change }

// StopLoop sends that process a signal, by which its agents end their turns and their
// runs are parked, and waits until it has ended. Errors: T109 if it still runs, T509,
// T904.
func StopLoop(c *app.Call, in StopLoopRequest) (*StopLoopResult, error) {
	c.CatchSignals()
	if in.Patience == 0 {
		in.Patience = stopPatience
	}
	d := &StopLoopResult{}
	loop, err := c.Store().Loop()
	if err != nil || !loop.Held {
		return d, err
	}
	asked := 0
	err = awaitRelease(c, in.Patience, func() (bool, error) {
		loop, err := c.Store().Loop()
		if loop.Held && loop.PID != asked { // it may have the lock, and its id not be there yet
			runner.Ask(loop.PID)
			asked = loop.PID
		}
		return loop.Held, err
	})
	if codes.Has(err, codes.WaitTimeout) {
		err = codes.Of(err).WithHint("It will stop when its agents have ended their turns").WithNext("leslie run list", "leslie run stop --loop")
	}
	d.SetChanged(err == nil)
	return d, err
}
