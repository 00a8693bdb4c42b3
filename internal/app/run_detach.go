package app

import (
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
)

// This file starts a run in the background: leslie starts itself in a session of its own.
// The lock of the run, its log and run stop are all that such a process needs.

// DetachRequest starts leslie in the background.
type DetachRequest struct {
	Thread string   // whose agent it runs; "": those of whatever is ready
	Args   []string // its arguments
}

// DetachResult is the run that was started.
type DetachResult struct {
	ThreadID *thread.ThreadID `json:"threadId"` // null: those of whatever is ready
	RunID    *thread.RunID    `json:"runId"`
	Agent    string           `json:"agent,omitempty"`
	Log      string           `json:"log"` // what the process prints, absolute
	Change
}

// startPatience is how long a process in the background may take until it has its lock.
const startPatience = 30 * time.Second

// Detach starts a run in the background, and returns when it has begun. Errors: T101,
// T105, T107, T102 and T103 for a thread that its agent cannot work on now, T108 if
// another process runs it, T109, T505, T507, T509, T701 if leslie cannot be started, T707
// if it ended before it began a run, T903, T904.
func Detach(c *Call, in DetachRequest) (*DetachResult, error) {
	catchSignals(c)
	d := &DetachResult{}
	began, err := before(c, in)
	if err != nil {
		return nil, err
	}
	dir, err := c.store.RunsFolder(began.id)
	if err != nil {
		return nil, err
	}
	d.Log = dir + "/detached.log"
	if c.project.env.Program == "" {
		return nil, codes.AgentUnavailable.New(fact.Of("command", "leslie"), fact.Of("reason", "its own program is not known"))
	}
	work := c.caller.Dir
	if work == "" {
		work = c.project.root
	}
	ended, err := external.Detach(append([]string{c.project.env.Program}, in.Args...), work, detachedEnviron(c), d.Log)
	if err != nil {
		return nil, err
	}
	if err := began.await(c, d, ended); err != nil {
		return nil, err
	}
	d.SetChanged(true)
	return d, nil
}

// detachedEnviron is the caller's environment without what makes a process part of an
// agent's run: it goes on after that has ended.
func detachedEnviron(c *Call) []string {
	return slices.DeleteFunc(environ(c), func(entry string) bool {
		return strings.HasPrefix(entry, "LESLIE_RUN=") || strings.HasPrefix(entry, "LESLIE_THREAD=")
	})
}

// detached is what is waited for: a process that has the lock of a thread's run, or of
// what runs whatever is ready.
type detached struct {
	id       thread.ThreadID // "": whatever is ready
	run      thread.RunID    // before
	attempts int
}

// before looks at a thread before its run is started. Errors: those of a view, T101,
// T105, T108.
func before(c *Call, in DetachRequest) (detached, error) {
	var b detached
	if in.Thread == "" {
		held, _, err := c.store.LoopHeld()
		if held {
			err = loopsAlready(c)
		}
		return b, err
	}
	_, err := c.view(func(s *thread.State) error {
		t, err := s.LiveThread(in.Thread)
		b.id = t.ID
		if run := t.LastRun(); run != nil {
			b.run, b.attempts = run.ID, run.Attempts
		}
		return err
	})
	if err != nil {
		return b, err
	}
	held, err := runAliveNow(c, b.id)
	if held {
		err = runsAlready(c, b.id)
	}
	return b, err
}

// await waits until the run has begun.
func (b detached) await(c *Call, d *DetachResult, ended <-chan struct{}) error {
	ctx, cancel := c.project.env.timeout(c.ctx, startPatience)
	defer cancel()
	w := c.store.Watch(store.StateFile)
	defer w.Close()
	for {
		over := false
		select {
		case <-ended:
			over = true
		default:
		}
		begun, err := b.begun(c, d)
		switch {
		case err != nil || begun:
			return err
		case over:
			return codes.RunUnfinished.New(fact.Of("threadId", b.name()), fact.Of("reason", "it ended before it began; see "+d.Log), fact.Of("path", d.Log))
		case c.ctx.Err() == nil && ctx.Err() != nil:
			return codes.WaitTimeout.New(fact.Of("duration", startPatience), fact.Ms("duration", startPatience)).
				WithHint("Its process may still begin").WithNext("leslie run list")
		}
		if err := w.Next(ctx, releasePoll); err != nil && c.ctx.Err() != nil {
			return err
		}
	}
}

func (b detached) name() string {
	if b.id == "" {
		return "run --next"
	}
	return string(b.id)
}

func (b detached) begun(c *Call, d *DetachResult) (begun bool, err error) {
	if b.id == "" {
		begun, _, err = c.store.LoopHeld()
		return begun, err
	}
	_, err = c.view(func(s *thread.State) error {
		t, err := s.Thread(string(b.id))
		if run := t.LastRun(); run != nil && (run.ID != b.run || run.Attempts != b.attempts) {
			d.ThreadID, d.RunID, d.Agent, begun = &t.ID, &run.ID, run.Agent, true
		}
		return err
	})
	return begun, err
}
