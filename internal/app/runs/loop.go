package runs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/retry"
	"leslie/store"
	"leslie/thread"
)

// This file runs the agents of whatever is ready: one process, several runs side by side.
// It sleeps until the store changes. All that it knows is in the store, so that it can be
// killed at any point and started again.

// LoopRequest runs the agents of all threads that are ready, and of those that become
// ready.
type LoopRequest struct {
	Run       Request  // what holds for every run; its Thread is not used
	Parallel  int      // how many agents at once; 0: what the configuration says, or 2
	Flags     []string // of the line, with which a killed loop is started again
	UntilIdle bool     // end when nothing runs, and nothing will without somebody's doing
	Objective string   // "": all
}

// LoopResult has the runs that ended or were parked, in the order of their ends.
type LoopResult struct {
	app.Items[Item]
	app.Change
}

// Faults returns what is wrong with the request.
func (in LoopRequest) Faults(name app.Names) []app.Fault {
	faults := in.Run.Faults(name)
	if in.Parallel < 0 {
		k := app.NewChecks(name)
		k.Add("Parallel", strconv.Itoa(in.Parallel), "must not be negative")
		faults = append(faults, k.Faults...)
	}
	return faults
}

// skipFor is how long a thread is left alone whose agent could not be started, unless the
// thread changes.
const skipFor = time.Minute

// mostRunnable is how many threads are looked at in one go.
const mostRunnable = 64

// runLoop starts the agents of what is ready.
type runLoop struct {
	c         *app.Call
	in        LoopRequest
	objective thread.ObjectiveID
	life      context.Context // of the runs
	agent     string          // the one that is configured

	mu      sync.Mutex
	going   map[thread.ThreadID]bool
	skipped map[thread.ThreadID]skippedThread
	broken  map[string]error // agents that cannot be started
	refused error            // of the first thread that cannot be run as it is
	lacking []string         // those threads, with what each lacks
	ended   []Item
	wake    context.CancelFunc // ends the loop's sleep
	quiet   bool               // it was said that nothing runs
}

// skippedThread is left alone until it changes, or a time has passed. waits says that somebody
// has to do something first, if only to its configuration: that time brings nothing by itself.
type skippedThread struct {
	revision thread.Revision
	until    time.Time
	waits    bool
}

// Loop runs the agents of what is ready: first those whose process was killed, then
// those that were parked and can go on, then threads that their agents suspended and that
// can go on, then those for which somebody wants a run, then those that claim --next
// would give an agent. A thread whose last run failed or was stopped is run again when it has
// changed. Errors: T108 if another process does this, T402, T509, T601, T603, T903; T701
// and T704 if nothing can be run because of its agent; T707 at the end of UntilIdle if a
// thread that was run is not done, T903 if one has no agent that leslie knows; T904; those of a view. A result accompanies all errors
// after the start.
func Loop(c *app.Call, in LoopRequest) (*LoopResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if err := mayAllowAll(c, in.Run.Ask); err != nil {
		return nil, err
	}
	c.CatchSignals()
	l := &runLoop{
		c: c, in: in, life: c.Context(), going: map[thread.ThreadID]bool{}, skipped: map[thread.ThreadID]skippedThread{}, broken: map[string]error{},
	}
	if err := l.prepare(); err != nil {
		return nil, err
	}
	l.in.Run.budget = newBudget(&l.in.Run, c.Now())
	_, release, err := c.Store().HoldLoop(c.Context())
	if errors.Is(err, fs.ErrExist) {
		return nil, loopsAlready(c)
	}
	if err != nil {
		return nil, err
	}
	defer release()
	line := "leslie run --next --detach"
	for _, word := range in.Flags {
		line += " " + external.Word(word)
	}
	c.Store().KeepLoopLine(line)
	err = l.loop()
	if !codes.Has(err, codes.Interrupted) { // else whoever stopped it knows
		c.Store().KeepLoopEnd(whyEnded(err))
	}
	return l.result(), err
}

// whyEnded is why a loop ended, for the morning; "" for a loop whose runs say it.
func whyEnded(err error) string {
	e := codes.Of(err)
	switch {
	case e == nil, codes.Has(err, codes.RunUnfinished):
		return ""
	case codes.Has(err, codes.RunBudget):
		return "its limit was reached: " + e.Facts().Text("reason")
	}
	return string(e.Code()) + " " + e.Error()
}

// mayAllowAll refuses an agent that wants all calls of its agents allowed. Errors: T402.
func mayAllowAll(c *app.Call, ask AskMode) error {
	if ask == AskAllow && !c.ByPerson() {
		return codes.PermissionDenied.New(fact.Of("capability", "running an agent whose every call is allowed")).
			WithHint("Leave --ask out: a person decides what the rules ask about").WithNext("leslie agents")
	}
	return nil
}

func loopsAlready(c *app.Call) error {
	return codes.Claimed.New(fact.Of("threadId", "run --next"), fact.Of("holder", "another process"), fact.Of("until", c.Now().Add(thread.RunClaim))).
		WithHint("Another process starts the agents of whatever is ready; one is enough (leslie run stop --loop stops it)").WithNext("leslie run list")
}

// prepare finds out what is to be run, and with what. Errors: T509, T601, T603, T903.
func (l *runLoop) prepare() error {
	all, chosen, err := agents.Profiles(l.c)
	if err != nil {
		return err
	}
	l.agent = chosen
	if l.in.Run.Agent != "" {
		l.agent = l.in.Run.Agent
	}
	if l.agent != "" {
		if _, err := agents.Named(all, l.agent); err != nil {
			return err
		}
	}
	if l.in.Parallel == 0 {
		user, project, err := l.c.Configs()
		if err != nil {
			return err
		}
		if l.in.Parallel = lower(user.Run.Parallel, project.Run.Parallel); l.in.Parallel == 0 {
			l.in.Parallel = app.DefaultParallel
		}
	}
	_, err = l.c.View(func(s *thread.State) error {
		if l.in.Objective == "" {
			return nil
		}
		o, err := s.Objective(l.in.Objective)
		l.objective = o.ID
		return err
	})
	return err
}

// loop starts runs until nothing is left, or the call's context ends.
func (l *runLoop) loop() error {
	var runs sync.WaitGroup
	defer runs.Wait()
	w := l.c.Store().Watch(store.StateFile)
	defer w.Close()
	for {
		asleep, wake := context.WithCancel(l.c.Context())
		l.mu.Lock()
		l.wake = wake
		l.mu.Unlock()
		var next []runnable
		var at time.Time
		var err error
		over, reached := l.in.Run.budget.look(l.c.Now()), l.in.Run.budget.spent()
		if reached == "" {
			next, at, err = l.look()
		} else if l.nothingGoes() {
			err = codes.RunBudget.New(fact.Of("threadId", "leslie run --next"), fact.Of("reason", reached+" by all runs together")).
				WithHint("See what each has done; leslie run --next goes on with all of them").WithNext("leslie status")
		}
		if err != nil || l.c.Context().Err() != nil {
			wake()
			runs.Wait()
			if l.c.Context().Err() != nil {
				err = codes.Interrupted.Wrap(context.Cause(l.c.Context()))
			}
			return err
		}
		for _, r := range next {
			runs.Go(func() { l.run(r) })
		}
		if l.idle(at) {
			wake()
			return l.outcome()
		}
		l.sayIdle(at)
		if reached == "" && !over.IsZero() {
			at = app.Earlier(at, over)
		}
		_ = w.Next(asleep, app.SleepUntil(l.c.Project().Environment().Now(), l.c.Project().Environment().Now(), at))
		wake()
	}
}

// nothingGoes reports whether no run goes on.
func (l *runLoop) nothingGoes() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.going) == 0
}

// runnable is a thread whose agent is to be started.
type runnable struct {
	id    thread.ThreadID
	agent string      // "": the one that is configured
	turns int         // of its run so far
	seen  *thread.Run // its last run, nil for none
}

// look returns what is to be started now, and marks it as going; at is when time alone
// will change that, zero for never. Errors: those of a view.
func (l *runLoop) look() (next []runnable, at time.Time, err error) {
	var found, waiting []thread.Thread
	limits := agents.LimitsOf(l.c)
	err = retry.Retry(l.c.Context(), l.c.Project().Environment().Retry, func(context.Context, int) error {
		c := l.c.Project().Call(l.c.Context(), l.c.Caller(), app.Request{Command: "run"})
		_, err := c.View(func(s *thread.State) (err error) {
			found, at, err = l.candidates(s, c.Now(), limits)
			waiting = slices.DeleteFunc(s.ThreadsInPhase(thread.RunStarting, thread.RunRunning), func(t thread.Thread) bool { return t.Status != thread.WaitingHuman })
			return err
		})
		return err
	})
	if err != nil {
		return nil, at, err
	}
	l.parkKilled(waiting)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.c.Now()
	for _, t := range found {
		skip, skips := l.skipped[t.ID]
		switch {
		case len(l.going) >= l.in.Parallel:
			return next, at, nil
		case l.going[t.ID]:
			continue
		case skips && skip.revision == t.Revision && now.Before(skip.until):
			if !skip.waits {
				at = app.Earlier(at, skip.until)
			}
			continue
		}
		r := runnable{id: t.ID, agent: l.agentOf(t), seen: t.LastRun()}
		if run := t.LastRun(); run != nil {
			if r.turns = run.Turns; run.Phase == thread.RunParked && run.Machine != "" && run.Machine != l.c.Project().Machine() {
				continue // the loop of that machine goes on with it, in the agent's own session
			}
			if run.Going() {
				if alive, err := l.c.RunAlive(t); err != nil || alive {
					continue // another process has it
				}
			}
		}
		if l.broken[r.agent] != nil {
			continue
		}
		if end := agents.LimitedNow(l.c, limits, r.agent); !end.IsZero() && !t.Status.Terminated() {
			at = app.Earlier(at, end)
			continue
		}
		delete(l.skipped, t.ID)
		l.going[t.ID] = true
		next = append(next, r)
	}
	return next, at, nil
}

// parkKilled parks the runs whose process was killed and whose threads wait for a person: nothing starts them
// before that.
func (l *runLoop) parkKilled(waiting []thread.Thread) {
	for _, t := range waiting {
		if run := t.LastRun(); run.Machine == "" || run.Machine == l.c.Project().Machine() {
			l.park(t.ID)
		}
	}
}

// park parks the run of a thread that waits for a person, unless a process runs it.
func (l *runLoop) park(id thread.ThreadID) {
	c := l.c.Project().Call(l.c.Context(), l.c.Caller(), app.Request{Command: "run"})
	folder, release, err := c.Store().HoldRun(c.Context(), id)
	if err != nil { // it lives, or that cannot be told
		return
	}
	defer release()
	var now thread.Thread
	if _, err := c.View(func(s *thread.State) (err error) { now, err = s.Thread(string(id)); return err }); err != nil ||
		now.Status != thread.WaitingHuman || !now.LastRun().Going() { // it has changed meanwhile
		return
	}
	s := &supervisor{c: c, in: Request{scheduled: true}}
	_ = s.endKilled(now, folder) // the end says what it waits for
	d := s.result()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.c.Warn(c.Warnings()...)
	l.ended = append(l.ended, Item{ThreadID: d.ThreadID, Title: now.Title, ThreadStatus: d.ThreadStatus, RunRecord: d.RunRecord})
}

// agentOf is the agent that a thread is to be run with: the one that is named, that of its
// last run, or the one that is configured.
func (l *runLoop) agentOf(t thread.Thread) string {
	last := ""
	if run := t.LastRun(); run != nil {
		last = run.Agent
	}
	return cmp.Or(l.in.Run.Agent, last, l.agent)
}

// candidates returns the threads whose agents could be started, the most urgent first,
// and when time alone will change that.
func (l *runLoop) candidates(s *thread.State, now time.Time, limits map[string]agents.Limit) (found []thread.Thread, at time.Time, err error) {
	wanted := func(t thread.Thread) bool {
		code := t.OwnedCode()
		return (l.objective == "" || t.ObjectiveID == l.objective) && t.Executor == thread.ByAgent && (code == nil || code.IsCheckedOut()) && !t.PersonsCheckout()
	}
	var parked, wakes, asked []thread.Thread
	for _, t := range s.ThreadsInPhase(thread.RunStarting, thread.RunRunning, thread.RunParked, thread.RunWanted) {
		run := t.LastRun()
		switch {
		case !wanted(t) || t.Status.Terminated() && !run.Going():
		case run.Going() && (t.Status == thread.Active || t.Status.Terminated()):
			found = append(found, t)
		case run.NotBefore != nil && now.Before(*run.NotBefore) && !agents.LimitOver(l.c, limits, *run):
			at = app.Earlier(at, *run.NotBefore)
		case s.Wakes(t):
			wakes = append(wakes, t)
		case !s.Ready(t, now):
		case run.Phase == thread.RunWanted:
			asked = append(asked, t)
		case s.UnreadOf(t).Count > 0 || endedBy(s, t) == nil:
			parked = append(parked, t)
		}
	}
	if expiry := s.NextExpiry(); !expiry.IsZero() {
		at = app.Earlier(at, expiry)
	}
	found = slices.Concat(found, parked, wakes, asked)
	page, err := s.First(thread.Filter{Ready: true, Runs: true, Now: now, Executor: thread.ByAgent, Objective: l.objective}, mostRunnable)
	for _, t := range page.Threads {
		if run := t.LastRun(); wanted(t) && (run == nil || run.Phase == thread.RunEnded) {
			found = append(found, t)
		}
	}
	return found, at, err
}

// run runs one thread, and notes how its run ended.
func (l *runLoop) run(r runnable) {
	in := l.in.Run
	in.Thread, in.Agent, in.scheduled, in.seen = string(r.id), r.agent, true, r.seen
	if l.in.Run.Event != nil {
		in.Event = func(e Event) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.in.Run.Event(e)
		}
	}
	c := l.c.Project().Call(l.life, l.c.Caller(), app.Request{Command: "run", LockTimeout: l.c.Request().LockTimeout, Waiting: l.c.Request().Waiting})
	d, err := Run(c, in)
	var revision thread.Revision
	var title string
	_, _ = l.c.Project().Call(context.WithoutCancel(l.life), l.c.Caller(), app.Request{Command: "run"}).View(func(s *thread.State) error {
		t, err := s.Thread(string(r.id))
		revision, title = t.Revision, t.Title
		return err
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.c.Warn(c.Warnings()...)
	if errors.Is(err, errRunMoved) { // it is looked at again
		delete(l.going, r.id)
		l.wake()
		return
	}
	if d == nil || d.Turns == r.turns { // it would come to the same at once
		waits := codes.Has(err, codes.InvalidArgument) || codes.Has(err, codes.NoCode)
		if waits && l.refused == nil {
			l.refused = err
		}
		if waits {
			l.lacks(r.id, err)
		}
		l.skipped[r.id] = skippedThread{revision, l.c.Now().Add(skipFor), waits}
	}
	if codes.Has(err, codes.AgentUnavailable) || codes.Has(err, codes.AgentLogin) {
		l.broken[r.agent] = err
	}
	if d != nil {
		l.c.SetChanged(true)
		l.ended = append(l.ended, Item{ThreadID: d.ThreadID, Title: title, ThreadStatus: d.ThreadStatus, RunRecord: d.RunRecord})
	}
	delete(l.going, r.id)
	l.wake()
}

// lacks notes why a thread cannot be run as it is. The caller holds the lock.
func (l *runLoop) lacks(id thread.ThreadID, why error) {
	if what := string(id) + " (" + app.Cut(codes.Reason(why), 100) + ")"; !slices.Contains(l.lacking, what) {
		l.lacking = append(l.lacking, what)
	}
}

// idle reports whether nothing runs and nothing will: in a loop that ends then, unless
// time will bring something, and in every loop without an agent that can be started.
func (l *runLoop) idle(at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	none := l.agent == "" && l.in.Run.Agent == "" && len(l.ended) == 0 && codes.Has(l.refused, codes.InvalidArgument)
	return len(l.going) == 0 && (none || len(l.broken) > 0 && l.broken[l.agent] != nil || l.in.UntilIdle && at.IsZero())
}

// sayIdle says once that nothing runs now.
func (l *runLoop) sayIdle(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	idle := len(l.going) == 0
	if idle && !l.quiet && l.in.Run.Event != nil {
		text := "nothing is ready to run; this goes on when something is"
		if !at.IsZero() {
			text += ", or at " + at.Format(time.RFC3339)
		}
		l.in.Run.Event(Event{At: l.c.Now(), Kind: "idle", Text: text})
	}
	l.quiet = idle
}

// outcome is the error of a loop that has nothing left to do.
func (l *runLoop) outcome() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.broken[l.agent]; err != nil {
		return err
	}
	last := map[thread.ThreadID]int{}
	for n, i := range l.ended {
		last[i.ThreadID] = n
	}
	var left []string
	var first Item
	for n, i := range l.ended {
		if last[i.ThreadID] != n || i.ThreadStatus == thread.Completed {
			continue
		}
		if len(left) == 0 {
			first = i
		}
		left = append(left, string(i.ThreadID)+" ("+string(i.Stop)+after(": ", i.Reason)+")")
	}
	if len(left) == 0 {
		return l.refused
	}
	left = append(left, l.lacking...)
	reason := strconv.Itoa(len(left)) + " of " + strconv.Itoa(len(last)+len(l.lacking)) + " threads are not done: " + app.Cut(strings.Join(left, ", "), 500)
	return codes.RunUnfinished.New(fact.Of("threadId", first.ThreadID), fact.Of("reason", reason), fact.Of("runId", first.RunID), fact.Of("stop", first.Stop)).
		WithHint("See what each waits for").WithNext("leslie status", "leslie status "+string(first.ThreadID))
}

func (l *runLoop) result() *LoopResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &LoopResult{Items: app.Items[Item]{Items: l.ended, Total: len(l.ended)}}
	if d.Items.Items == nil {
		d.Items.Items = []Item{}
	}
	d.SetChanged(len(l.ended) > 0)
	return d
}
