package runs

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file starts a run in the background: leslie starts itself in a session of its own.
// The lock of the run, its log and run stop are all that such a process needs.

// DetachRequest starts leslie in the background.
type DetachRequest struct {
	Thread string       // whose agent it runs
	Agent  string       // which agent; "": see Request
	Loop   *LoopRequest // whatever is ready, in place of a thread
	Args   []string     // its arguments
}

// DetachResult is the run that was started.
type DetachResult struct {
	ThreadID *thread.ThreadID `json:"threadId"` // null: those of whatever is ready
	RunID    *thread.RunID    `json:"runId"`
	Agent    string           `json:"agent,omitempty"`
	// Phase is how far the thread's run is: starting if its agent takes long to open a session.
	Phase thread.RunPhase `json:"phase,omitempty"`
	Log   string          `json:"log"` // what the process prints, absolute
	// Idle: nothing was ready to run, and its process has ended.
	Idle bool `json:"idle,omitempty"`
	app.Change
}

// startPatience is how long Detach waits for an agent to be there.
const startPatience = 30 * time.Second

// Detach starts a run in the background, and returns when its agent is there, or takes long
// to start. Errors: T101, T105, T107, T102 and T103 for a thread that its agent cannot work
// on now, T108 if another process runs it, T109, T505, T507, T509, T601, T701 to T706 as Run
// returns them before the first turn, T701 if leslie cannot be started, T707 if it ended
// before it began a run, T903, T904.
func Detach(c *app.Call, in DetachRequest) (*DetachResult, error) {
	c.CatchSignals()
	d := &DetachResult{}
	began, err := before(c, in)
	if err != nil {
		return nil, err
	}
	dir, err := c.Store().RunsFolder(began.id)
	if err != nil {
		return nil, err
	}
	d.Log = dir + "/detached.log"
	if c.Project().Environment().Program == "" {
		return nil, codes.AgentUnavailable.New(fact.Of("command", "leslie"), fact.Of("reason", "its own program is not known"))
	}
	work := c.Caller().Dir
	if work == "" {
		work = c.Project().Root()
	}
	if info, err := os.Stat(d.Log); err == nil {
		began.printed = info.Size()
	}
	ended, err := external.Detach(append([]string{c.Project().Environment().Program}, in.Args...), work, detachedEnviron(c), d.Log)
	if err != nil {
		return nil, err
	}
	if err := began.await(c, d, ended); err != nil {
		c.SetChanged(c.Changed() || began.recorded)
		return nil, err
	}
	d.SetChanged(!d.Idle)
	return d, nil
}

// detachedEnviron is the caller's environment without what makes a process part of an
// agent's run: it goes on after that has ended.
func detachedEnviron(c *app.Call) []string {
	return slices.DeleteFunc(c.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "LESLIE_RUN=") || strings.HasPrefix(entry, "LESLIE_THREAD=")
	})
}

// detached is what is waited for: a process that runs a thread's agent, or those of
// whatever is ready.
type detached struct {
	id    thread.ThreadID // "": whatever is ready
	agent string          // whose failure ends it
	// runs has those of the threads that it is to start, as they were before.
	runs     map[thread.ThreadID]thread.Run
	ends     bool  // it ends as soon as it has looked
	printed  int64 // how long its log was before
	begun    bool
	recorded bool // it has begun a run
}

// before looks at what is to be run before it is started. Errors: those of a view, T101,
// T105, T108, T601, T701 for an agent that is not installed, T903.
func before(c *app.Call, in DetachRequest) (*detached, error) {
	b := &detached{runs: map[thread.ThreadID]thread.Run{}}
	if in.Loop != nil {
		return b, b.beforeLoop(c, *in.Loop)
	}
	s := &supervisor{c: c, in: Request{Thread: in.Thread, Agent: in.Agent}}
	t, err := s.chooseRun()
	if err != nil {
		return b, err
	}
	b.id, b.agent, b.runs[t.ID] = t.ID, s.profile.Name, runBefore(t)
	held, err := runAliveNow(c, b.id)
	if held {
		err = c.RunsAlready(b.id)
	}
	if err == nil {
		err = agents.Installed(c, s.profile)
	}
	return b, err
}

func (b *detached) beforeLoop(c *app.Call, in LoopRequest) error {
	loop, err := c.Store().Loop()
	if loop.Held {
		err = loopsAlready(c)
	}
	if err != nil {
		return err
	}
	l := &runLoop{c: c, in: in}
	if err := l.prepare(); err != nil {
		return err
	}
	b.agent = l.agent
	var found []thread.Thread
	var at time.Time
	limits := agents.LimitsOf(c)
	if _, err := c.View(func(s *thread.State) (err error) {
		found, at, err = l.candidates(s, c.Now(), limits)
		return err
	}); err != nil {
		return err
	}
	b.ends = in.UntilIdle && len(found) == 0 && at.IsZero()
	all, _, err := agents.Profiles(c)
	if err != nil {
		return err
	}
	for _, t := range found {
		b.runs[t.ID] = runBefore(t)
		p, err := agents.Named(all, l.agentOf(t))
		if err == nil && p.Name == b.agent {
			err = agents.Installed(c, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runBefore is a thread's run before another is started, the zero Run for none.
func runBefore(t thread.Thread) (run thread.Run) {
	if was := t.LastRun(); was != nil {
		run = *was
	}
	return run
}

// await waits until the agent is there.
func (b *detached) await(c *app.Call, d *DetachResult, ended <-chan struct{}) error {
	var failed error // why no agent started
	err := awaitRelease(c, startPatience, func() (bool, error) {
		over := false
		select {
		case <-ended:
			over = true
		default:
		}
		there, err := b.look(c, d, over)
		failed = err
		switch {
		case err != nil && over:
			return false, b.complained(err, d)
		case err != nil: // its process is about to end
			return true, nil
		case over && !there:
			return false, b.vanished(d)
		}
		return !there, nil
	})
	switch {
	case codes.Has(err, codes.WaitTimeout) && failed != nil:
		return b.complained(failed, d)
	case codes.Has(err, codes.WaitTimeout) && b.begun:
		return nil
	case codes.Has(err, codes.WaitTimeout):
		return codes.Of(err).WithHint("Its process may still begin").WithNext("leslie run list")
	}
	return err
}

// vanished is T707 for a process that ended before it began. It says what the process said.
func (b *detached) vanished(d *DetachResult) error {
	said, _ := lastError(d.Log, b.printed)
	if b.id == "" && said == "" {
		d.Idle = true
		return nil
	}
	name := cmp.Or(string(b.id), "leslie run --next")
	reason := "it ended before it began"
	if said != "" {
		reason += ": " + said
	}
	reason += "; see " + d.Log
	return codes.RunUnfinished.New(fact.Of("threadId", name), fact.Of("reason", reason), fact.Of("path", d.Log)).WithNext("leslie run list")
}

// complained adds to the error of an agent that did not start what the agent itself has
// printed about it.
func (b *detached) complained(err error, d *DetachResult) error {
	if _, output := lastError(d.Log, b.printed); output != "" && codes.Of(err) != nil {
		err = codes.Of(err).With(fact.Of("output", output))
	}
	return startedInVain(err)
}

// look reports whether an agent is there, or nothing is to be started. Its error is why no
// agent started.
func (b *detached) look(c *app.Call, d *DetachResult, over bool) (there bool, err error) {
	if b.id == "" {
		loop, err := c.Store().Loop()
		b.begun = loop.Held
		if err != nil || b.begun && len(b.runs) == 0 {
			return b.begun && !b.ends, err
		}
	}
	var now []thread.Thread
	if _, err := c.View(func(s *thread.State) error {
		for id := range b.runs {
			t, err := s.Thread(string(id))
			if err != nil {
				return err
			}
			now = append(now, t)
		}
		return nil
	}); err != nil {
		return false, err
	}
	failed, ends := 0, false
	for _, t := range now {
		run, was := t.LastRun(), b.runs[t.ID]
		if run == nil || run.ID == was.ID && run.Attempts == was.Attempts {
			continue
		}
		b.recorded = true
		if b.id != "" {
			b.begun, d.ThreadID, d.RunID, d.Agent, d.Phase = true, &t.ID, &run.ID, run.Agent, run.Phase
		}
		turns := 0
		if run.ID == was.ID {
			turns = was.Turns
		}
		switch {
		case run.Phase == thread.RunRunning, run.Turns > turns, run.Stop == thread.RunDone:
			return true, nil
		case run.Phase != thread.RunStarting:
			failed++
			err = startFailure(c, t, d.Log)
			ends = ends || run.Agent == b.agent && (run.Code == codes.AgentUnavailable || run.Code == codes.AgentLogin)
		}
	}
	if b.id != "" || over {
		return false, err
	}
	return b.begun && failed == len(now) && !ends, nil // what runs the rest goes on, or is about to end
}

// startFailure is the error of a thread's run that ended before its first turn, as its
// record has it.
func startFailure(c *app.Call, t thread.Thread, log string) error {
	run := t.LastRun()
	code := run.Code
	switch {
	case code != "":
	case run.Stop == thread.RunBudget:
		code = codes.RunBudget
	default:
		code = codes.RunUnfinished
	}
	facts := []fact.Fact{
		fact.Of("threadId", t.ID), fact.Of("runId", run.ID), fact.Of("agent", run.Agent), fact.Of("path", log),
	}
	if all, _, err := agents.Profiles(c); err == nil {
		if p, err := agents.Named(all, run.Agent); err == nil {
			facts = append(facts, fact.Of("command", p.Command[0]))
		}
	}
	if run.NotBefore != nil {
		facts = append(facts, fact.Of("until", *run.NotBefore), fact.Ms("retryAfter", run.NotBefore.Sub(c.Now())))
	}
	gap, what := "\x00", "reason"
	if code == codes.AgentTimeout {
		what = "duration"
	}
	before, behind, has := strings.Cut(code.New(append(facts, fact.Of(what, gap))...).Error(), gap)
	if !has {
		return code.New(facts...)
	}
	rest := run.Reason // of a failure, the whole message: what is in its gap is wanted
	if inner, whole := strings.CutPrefix(rest, before); whole {
		rest = strings.TrimSuffix(inner, behind)
	}
	return code.New(append(facts, fact.Of(what, rest))...)
}

// mostPrinted is how much of a log is looked through.
const mostPrinted = 64 << 10

// lastError is the last error that a process has printed into a log behind a place, "" for
// none, and what its agent had printed.
func lastError(name string, from int64) (said, output string) {
	f, err := os.Open(name)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, from, mostPrinted))
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(data)) {
		var answer struct {
			Error *struct {
				Code, Message string
				Details       struct{ Output string }
			} `json:"error"`
		}
		if rest, is := strings.CutPrefix(line, "error code="); is {
			code, rest, _ := strings.Cut(rest, " msg=")
			if msg, err := strconv.QuotedPrefix(rest); err == nil {
				rest = rest[len(msg):]
				msg, _ = strconv.Unquote(msg)
				said = code + " " + msg
			}
			_, rest, _ = strings.Cut(rest, " output=")
			output, _, _ = strings.Cut(rest, " ") // a single word has no quotes
			if text, err := strconv.QuotedPrefix(rest); err == nil {
				output, _ = strconv.Unquote(text)
			}
		} else if json.Unmarshal([]byte(line), &answer) == nil && answer.Error != nil {
			said, output = answer.Error.Code+" "+answer.Error.Message, answer.Error.Details.Output
		}
	}
	return app.Cut(said, 500), app.Cut(strings.TrimSpace(output), 2000)
}
