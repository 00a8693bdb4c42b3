package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/acp"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/app/code"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/internal/permit"
	"leslie/internal/retry"
	"leslie/internal/runner"
	"leslie/internal/transcript"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file supervises a run: it starts the agent, gives it turns, watches the store and
// the agent meanwhile, and decides after each turn what comes next.

// runTimes are how long things may take; zero means the value that is named.
type runTimes struct {
	agent   runner.Times
	silent  time.Duration   // without a sign of life: 10 minutes
	tool    time.Duration   // the same while a tool runs: an hour
	asking  time.Duration   // for a person's decision: 10 minutes
	finish  time.Duration   // for the turn in which the thread was ended: a minute
	usage   time.Duration   // between two records of what a turn has cost so far: 15 seconds
	restart []time.Duration // before an agent that died in a turn is started again
}

// configured takes over what the configuration says, the user's before the project's. Errors: T903, T509.
func (t *runTimes) configured(c *app.Call) error {
	user, project, err := c.Configs()
	if err != nil {
		return err
	}
	t.asking = cmp.Or(t.asking, duration(user.Run.AskFor), duration(project.Run.AskFor))
	for _, cfg := range []app.Config{user, project} {
		if t.restart != nil || cfg.Run.Restart == nil {
			continue
		}
		t.restart = []time.Duration{}
		for i := range cfg.Run.Restart {
			t.restart = append(t.restart, duration(&cfg.Run.Restart[i]))
		}
	}
	return nil
}

func (t runTimes) filled() runTimes {
	or := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	or(&t.silent, 10*time.Minute)
	or(&t.tool, time.Hour)
	or(&t.asking, 10*time.Minute)
	or(&t.finish, time.Minute)
	or(&t.usage, 15*time.Second)
	if t.restart == nil {
		t.restart = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute}
	}
	return t
}

// mostNudges is how often in a row an agent that ended its turn, and not the thread, is
// told to go on, whatever else it is told then. What it has not been told before starts the
// count again: a message, a conflict of its code, a refusal, which ends the turn of many an
// agent. A turn that leslie or a crash cut short is not counted.
const mostNudges = 2

// supervisor is a run in progress.
type supervisor struct {
	c       *app.Call
	in      Request
	profile app.AgentProfile
	rules   permit.Rules
	// checkout is the project's checkout as it was when a turn ended last.
	checkout  checkout
	elsewhere []string // what has changed there
	limits    runLimits
	id        thread.ThreadID
	dir       string
	run       thread.Run
	status    thread.Status
	log       *transcript.Writer
	folder    string // of the transcript
	errors    *errorLog
	woke      string // why it goes on with what was parked, for the agent
	began     time.Time

	handler *handler
	agent   *runner.Agent
	blank   bool // the agent began a new session, and has to be told everything
	turns   int  // of this call
	nudges  int  // in a row
	deaths  int  // in a row
	cut     bool // the agent did not end its last turn itself
	news    bool // there is something that it could not know in its last turn
	told    map[thread.InjectionID]bool
	refused map[string]bool // what it was told was not allowed

	exhausted map[string]time.Time // until when agents may use nothing more
	noted     agents.Limit         // what was known of its agent when it was started
	instead   string               // what an agent has to know that goes on in place of another
}

// supervise runs the agent to its end.
func (s *supervisor) supervise() error {
	s.in.times, s.began = s.in.times.filled(), s.c.Now()
	s.handler, s.exhausted = newRunHandler(s), map[string]time.Time{}
	s.told, s.refused = map[thread.InjectionID]bool{}, map[string]bool{}
	again := s.run.Turns > 0 || s.run.SessionID != ""
	if s.run.Attempts > 1 { // its process may have been killed before it could end the agent, or record what that cost
		runner.EndLeftovers(runMarks(s.c, s.run.ID))
		s.run.Used.Cost = costAtKill(s.folder, s.run)
	}
	s.in.budget.begin(s.run.ID, s.run.Used, s.handler.spend)
	defer func() { s.in.budget.end(s.run.ID) }()
	if reason := cmp.Or(s.limits.reached(0, s.run.Used), s.in.budget.over()); reason != "" {
		return s.end(s.spentEnd(reason))
	}
	if e := s.launch(); e != nil {
		return s.end(e)
	}
	s.blank, s.checkout, s.elsewhere = false, s.lookAtCheckout(), s.run.Elsewhere
	text, shown, err := s.opening(again)
	for err == nil {
		var e *runEnd
		if e = s.turn(text, shown); e == nil {
			text, shown, e, err = s.next()
		}
		if e != nil {
			s.stopAgent()
			return s.end(e)
		}
	}
	s.stopAgent()
	return s.end(s.failed(err))
}

// failed is the end of a run by an error.
func (s *supervisor) failed(err error) *runEnd {
	stop := thread.RunFailed
	if codes.Has(err, codes.Interrupted) {
		stop = thread.RunInterrupted
	}
	return endOf(stop, err)
}

// launch starts the agent, or the next one of the configuration if it may use nothing more
// for now.
func (s *supervisor) launch() *runEnd {
	if e, limited := s.limitKnown(); limited {
		return e
	}
	err := s.start()
	if err == nil {
		return nil
	}
	s.stopAgent()
	if e := s.endedMeanwhile(); e != nil {
		return e
	}
	if e, limited := s.limit(err); limited {
		return e
	}
	return s.failed(err)
}

// start starts the agent and records its session. A connection that is lost is tried
// again. Errors: T701 to T704, T904, those of a write.
func (s *supervisor) start() error {
	s.errors = openErrorLog(s.folder)
	spec := runner.Spec{
		Argv: s.profile.Command, Dir: s.dir, Env: s.environ(), Client: acp.Implementation{Name: "leslie", Version: s.c.Project().Environment().Version},
		Handler: s.handler, Session: s.run.SessionID, Mode: s.profile.Mode, Times: s.in.times.agent, Stderr: s.errors, Servers: s.toolServers(),
		Hurry: s.c.InterruptedAgain(),
	}
	if s.dir != s.c.Project().Root() {
		spec.Folders = []string{filepath.Dir(s.c.Store().Path("x"))}
	}
	var spent error // seconds do not help an agent that may use nothing more
	starting, over := s.whileItGoesOn()
	defer over()
	err := retry.Retry(starting, s.c.Project().Environment().Retry, func(ctx context.Context, _ int) (err error) {
		s.agent, err = agents.Start(ctx, s.profile, spec)
		if _, limited := agents.LimitOf(err, s.c.Now()); limited { // meetsLimit notes it
			spent, err = err, nil
		}
		return err
	})
	if err = cmp.Or(err, spent); err != nil {
		return startedInVain(err)
	}
	if s.agent.Lost != nil {
		s.c.Warn(warnings.SessionLost.New(fact.Of("threadId", s.id), fact.Of("sessionId", s.run.SessionID), fact.Of("reason", s.agent.Lost.Error())))
	}
	s.blank = s.agent.Lost != nil
	if s.agent.ModeUnknown {
		s.lacks("has no mode " + app.Quoted(s.profile.Mode))
	}
	version := ""
	if info := s.agent.About.Info; info != nil {
		version = strings.TrimSpace(info.Name + " " + info.Version)
	}
	s.log.Put(transcript.Session, map[string]any{"agent": s.profile.Name, "version": version, "sessionId": s.agent.Session, "lost": s.agent.Lost != nil})
	s.handler.opened(s.run.Used.Cost, s.agent.Lost == nil && s.run.SessionID != "")
	return s.record("run session", func(r *thread.Run) {
		r.Phase, r.SessionID, r.AgentVersion = thread.RunRunning, s.agent.Session, version
	})
}

// startedInVain says of an agent that ended at each of its starts that it is not started
// again.
func startedInVain(err error) error {
	if e := codes.Of(err); codes.Has(err, codes.AgentConnection) {
		return e.WithHint("It is not started again: what it printed says why, and run it again when that is mended")
	}
	return err
}

// whileItGoesOn returns a context that ends when the thread has ended, or somebody stops the
// run.
func (s *supervisor) whileItGoesOn() (ctx context.Context, over func()) {
	ctx, cancel := context.WithCancelCause(s.c.Context())
	go func() {
		w := s.c.Store().Watch(store.StateFile)
		defer w.Close()
		for ctx.Err() == nil {
			if s.endedMeanwhile() != nil {
				cancel(agents.ErrRunStopped)
				return
			}
			_ = w.Next(ctx, app.LongestSleep)
		}
	}()
	return ctx, func() { cancel(nil) }
}

// endedMeanwhile returns how the run ends because its thread has ended or was suspended, or
// somebody stops it, while its agent is started; nil if it goes on.
func (s *supervisor) endedMeanwhile() (e *runEnd) {
	c := s.call(s.c.Context(), "run")
	_, _ = c.View(func(st *thread.State) error {
		t, err := st.Thread(string(s.id))
		switch run := t.LastRun(); {
		case err != nil:
		case t.Status.Terminated() || t.Status == thread.Suspended:
			e = endedBy(st, t)
		case run != nil && run.Asked != nil:
			e = stoppedBy(run.Asked)
		}
		return err
	})
	return e
}

// unkept warns of a transcript that could not be written. The run goes on.
func (s *supervisor) unkept(err error) {
	if err != nil {
		s.c.Warn(warnings.LogUnwritable.New(fact.Of("path", s.folder), fact.Of("reason", codes.Reason(err))))
	}
}

// environ is the environment of the agent. It commits as whoever started the run, also where it
// does not read that person's configuration of git.
func (s *supervisor) environ() []string {
	var commits []string
	if repo, err := code.OpenRepo(s.c); err == nil {
		commits = repo.Identity(s.c.Context())
	}
	return slices.Concat(commits, agents.Environ(s.c, s.profile), s.speaksFor())
}

// speaksFor says to leslie's own calls for which run and thread they speak.
func (s *supervisor) speaksFor() []string {
	return append(runMarks(s.c, s.run.ID), "LESLIE_THREAD="+string(s.id), "LESLIE_AS=agent", "LESLIE_ACTOR="+thread.RunHolder(s.id))
}

// toolServer is the name of leslie's tools for agents, and toolRule allows all of them.
const (
	toolServer = "leslie"
	toolRule   = "mcp__" + toolServer
)

// toolServers are the servers of tools that the agent starts: leslie mcp, if the user wants
// it. The variables are named because not every agent gives its own to what it starts.
func (s *supervisor) toolServers() []acp.MCPServer {
	if !s.limits.tools || s.c.Project().Environment().Program == "" {
		return nil
	}
	var env []acp.EnvVar
	for _, entry := range s.speaksFor() {
		name, v, _ := strings.Cut(entry, "=")
		env = append(env, acp.EnvVar{Name: name, Value: v})
	}
	return []acp.MCPServer{{Name: toolServer, Command: s.c.Project().Environment().Program, Args: []string{"mcp"}, Env: env}}
}

// lacks says what the agent of a run does not have (W704).
func (s *supervisor) lacks(what string) {
	s.c.Warn(warnings.AgentLacks.New(fact.Of("threadId", s.id), fact.Of("lacks", what)))
}

// limitsUntold says which limits did not hold because the agent does not tell what it uses.
func (s *supervisor) limitsUntold() {
	if s.turns == 0 {
		return
	}
	if _, known := s.run.Used.Tokens(); !known && s.limits.tokens > 0 && !s.handler.toldContext() {
		s.lacks("does not tell how many tokens it uses: their limit did not hold")
	}
	if len(s.run.Used.Cost) == 0 && s.limits.cost > 0 {
		s.lacks("does not tell what it costs: the limit of cost did not hold")
	}
}

// record changes what is recorded of the run, as an operation of the system. Errors:
// T903 if the thread has another run by now, those of a write.
func (s *supervisor) record(command string, change func(*thread.Run)) error {
	c := s.call(s.c.Context(), command)
	var refusal error
	_, err := c.System(command, c.Now(), func(st *thread.State, stamp thread.Stamp) thread.ThreadID {
		var t thread.Thread
		if t, refusal = st.ChangeRun(string(s.id), s.run.ID, stamp, change); refusal != nil {
			return ""
		}
		st.ProlongRun(s.id, stamp)
		s.run = *t.LastRun()
		return s.id
	})
	if s.handler != nil {
		s.handler.recorded(s.run)
	}
	return errors.Join(err, refusal)
}

// stopAgent ends the agent and everything that it started.
func (s *supervisor) stopAgent() {
	if s.agent == nil {
		return
	}
	if n := s.agent.End(); n > 0 {
		s.c.Warn(warnings.LeftoversEnded.New(fact.Of("threadId", s.id), fact.Of("count", n)))
	}
	if n := s.handler.junkLines(); n > 0 {
		s.c.Warn(warnings.AgentJunk.New(fact.Of("threadId", s.id), fact.Of("count", n)))
	}
	s.agent = nil
	s.errors.Close()
}

// turn gives the agent a text and waits until it has ended its turn. The end of the run
// is nil if it goes on.
func (s *supervisor) turn(text string, shown []thread.InjectionID) *runEnd {
	s.turns++
	s.log.Turn(s.turnNumber())
	s.log.Put(transcript.Prompt, transcript.Words{Text: text})
	s.event("turn", "")
	prompting, cancel := context.WithCancelCause(s.c.Context())
	defer cancel(nil)
	watching, over := context.WithCancel(s.c.Context())
	s.handler.beginTurn(prompting, cancel, func() {
		threads.MarkSeen(s.call(s.c.Context(), app.SeenCommand), &app.ShownMessages{ThreadID: s.id, Injections: shown})
	})
	if reason := s.in.budget.over(); reason != "" { // since before this turn, as while the agent was starting
		s.handler.spend(reason)
	}
	for _, id := range shown {
		s.told[id] = true
	}
	var end acp.Prompted
	var err error
	done := make(chan struct{})
	go func() {
		end, err = s.agent.Prompt(prompting, text)
		close(done)
		over()
	}()
	s.watch(watching, cancel, shown)
	<-done
	cause := context.Cause(prompting)
	if end.StopReason != "" { // it has read the text, if without a word
		s.handler.heard()
	}
	s.handler.ended(end.Usage, &s.run)
	s.in.budget.note(s.run.ID, s.run.Used)
	s.noteElsewhere()
	s.unkept(s.log.Flush())
	return s.judge(end, err, cause)
}

// watch looks at the store and the agent until the turn is over, and cancels the turn if
// something has to come before it.
func (s *supervisor) watch(turn context.Context, cancel context.CancelCauseFunc, shown []thread.InjectionID) {
	w := s.c.Store().Watch(store.StateFile)
	defer w.Close()
	var over time.Time // since when the thread has ended
	for turn.Err() == nil {
		sleep, cause := s.look(shown, &over)
		if cause != nil {
			cancel(cause)
			<-turn.Done()
			return
		}
		_ = w.Next(turn, sleep)
	}
}

// look returns when to look again if nothing changes, and why the turn has to be
// cancelled, nil for no reason. A store that cannot be read now is looked at later.
func (s *supervisor) look(shown []thread.InjectionID, over *time.Time) (sleep time.Duration, cause error) {
	c := s.call(s.c.Context(), "run")
	now := c.Now()
	sleep, cause = s.handler.silence(now, s.in.times)
	if cause != nil {
		return 0, cause
	}
	left, cause := s.timeLeft(now)
	if cause != nil {
		return 0, cause
	}
	renew, used, again := s.handler.costsMore(now, s.in.times.usage)
	sleep = min(sleep, left, again)
	_, err := c.View(func(st *thread.State) error {
		t, err := st.Thread(string(s.id))
		if err != nil {
			cause = agents.ErrRunLost
			return err
		}
		run, held := t.LastRun(), t.Held(now)
		switch {
		case run == nil || run.ID != s.run.ID, held != nil && held.Holder != thread.RunHolder(s.id):
			cause = agents.ErrRunLost
		case run.Asked != nil:
			cause = agents.ErrRunStopped
			if s.run.Asked = run.Asked; run.Asked.Now {
				s.agent.Kill()
			}
		case t.Status.Terminated() || t.Status == thread.Suspended || t.Executor != thread.ByAgent:
			if over.IsZero() {
				*over = now
			}
			if left := s.in.times.finish - now.Sub(*over); left <= 0 {
				cause = agents.ErrRunOver
			} else {
				sleep = min(sleep, left)
			}
		case slices.ContainsFunc(t.Unseen(), func(i thread.Injection) bool {
			return i.Urgency == thread.Immediate && !slices.Contains(shown, i.ID)
		}):
			cause = agents.ErrRunUrgent
		default:
			renew = renew || held == nil || held.Until.Sub(now) < thread.RunClaim/2
		}
		return nil
	})
	if err == nil && cause == nil && renew {
		_ = s.record("run claim", func(r *thread.Run) { r.Used.Cost = used })
	}
	return sleep, cause
}

// timeLeft returns how long the turn may go on, and the cause that ends it if that is over.
func (s *supervisor) timeLeft(now time.Time) (left time.Duration, cause error) {
	left = app.LongestSleep
	for _, l := range []struct {
		limit time.Duration
		since time.Time
		what  string
	}{{s.limits.time, s.began, "it has worked for "}, {s.limits.turn, s.handler.turnBegan(), "its turn has taken "}} {
		if l.limit == 0 {
			continue
		}
		over := l.limit - now.Sub(l.since)
		if over <= 0 {
			s.handler.spend(l.what + l.limit.String())
			return 0, agents.ErrRunSpent
		}
		left = min(left, over)
	}
	return left, nil
}

// judge records the end of a turn, and says how the run ends because of it, nil if it goes
// on. The first line that fits holds:
//
//	why the turn ended                          the run
//	a signal                                    ends: interrupted
//	somebody stopped the run                    ends: stopped
//	its thread has another run or holder        ends: failed, T108
//	a limit of what the run may use is reached  ends: budget, T706
//	the agent said nothing that can be read     ends: failed, T703
//	its end could not be recorded               ends: failed
//	an error or silence, and a limit is met     goes on with the next agent, or is parked (limit)
//	an error or silence                         goes on with the agent started again, at most
//	                                            len(restart) times in a row; then failed
//	a message interrupted it                    goes on; the agent is told so
//	a decision that did not come in time        ends: waits
//	the agent ended it, or its thread ended     goes on to next, which looks at the thread
//
// The transcript has the end after the state: the other way round, a run that is killed in
// between would begin a turn again that had ended.
func (s *supervisor) judge(end acp.Prompted, err, cause error) *runEnd {
	if err == nil && cause == nil {
		err = s.saidLimit()
	}
	used, turns := s.run.Used, s.run.Turns+1
	failed := s.record("run turn", func(r *thread.Run) {
		r.Used, r.Turns = used, turns
		if err == nil {
			r.Limits = 0
		}
	})
	s.log.Put(transcript.End, map[string]string{"stopReason": end.StopReason})
	if failed == nil && !errors.Is(cause, agents.ErrRunLost) {
		s.keepTurn()
	}
	s.unkept(s.log.Flush())
	silent := errors.Is(cause, agents.ErrRunSilent) || end.StopReason == "" && errors.Is(cause, agents.ErrRunUrgent)
	switch {
	case s.c.Context().Err() != nil:
		return s.interrupted()
	case errors.Is(cause, agents.ErrRunStopped):
		return stoppedBy(s.run.Asked)
	case errors.Is(cause, agents.ErrRunLost):
		return &runEnd{stop: thread.RunFailed, reason: agents.ErrRunLost.Error(), err: s.lostThread()}
	case errors.Is(cause, agents.ErrRunSpent):
		return s.spentEnd(s.handler.spentFor())
	case errors.Is(cause, agents.ErrRunJunk):
		return endOf(thread.RunFailed, codes.AgentConnection.New(fact.Of("reason", agents.ErrRunJunk.Error())))
	case failed != nil:
		return s.failed(failed)
	case cause == nil && err != nil, silent:
		if e, limited := s.limit(err); limited {
			return e
		}
		if silent {
			err = codes.AgentTimeout.New(fact.Of("duration", s.in.times.silent))
		}
		return s.restart(err)
	}
	s.deaths = 0
	if s.noted.Agent == s.profile.Name && err == nil {
		agents.ForgetLimit(s.c, s.noted)
		s.noted = agents.Limit{}
	}
	if errors.Is(cause, agents.ErrRunUrgent) { // some agents forget a turn that was cancelled
		s.cut = true
		s.handler.refuse("A message interrupted your last turn. See what is done already before you go on.")
	}
	if errors.Is(cause, agents.ErrRunParks) {
		return waitsForDecision(s.handler.parkedFor())
	}
	return nil
}

// lostThread is T108 for a run whose thread is somebody else's now.
func (s *supervisor) lostThread() error {
	var held *thread.Claim
	hint := "The run ended; what its agent did stands"
	c := s.call(context.WithoutCancel(s.c.Context()), "run")
	_, _ = c.View(func(st *thread.State) error {
		if t, err := st.Thread(string(s.id)); err == nil {
			held = t.Held(c.Now())
			if was := t.AtWork(c.Now()); was != nil && was.Holder == thread.RunHolder(s.id) {
				hint = "Its claim was " + was.Said() + ". " + hint
			}
		}
		return nil
	})
	err := codes.Claimed.New(fact.Of("threadId", s.id), fact.Of("holder", "somebody else"), fact.Of("until", c.Now()))
	if held != nil {
		err = codes.Claimed.New(fact.Of("threadId", s.id), fact.Of("holder", held.Holder), fact.Of("until", held.Until))
	}
	return err.WithHint(hint)
}

// restart starts an agent again that died in a turn, unless the thread has ended.
func (s *supervisor) restart(why error) *runEnd {
	s.stopAgent()
	if e, _, err := s.finished(); err == nil && e != nil {
		return e
	}
	if s.deaths >= len(s.in.times.restart) {
		return s.failed(why)
	}
	s.log.Put(transcript.Error, transcript.Words{Text: why.Error()})
	s.event("restart", why.Error())
	if e := s.pause(s.in.times.restart[s.deaths]); e != nil {
		return e
	}
	s.deaths++
	if err := s.record("run again", func(r *thread.Run) { r.Attempts++ }); err != nil {
		return s.failed(err)
	}
	before := s.profile.Name
	if e := s.launch(); e != nil || s.profile.Name != before {
		return e
	}
	s.cut = true
	s.handler.refuse("Your process ended in the middle of the last turn. See what is done already before you go on.")
	return nil
}

// pause waits, unless the run has to end.
func (s *supervisor) pause(d time.Duration) *runEnd {
	ctx, cancel := s.c.Project().Environment().Timeout(s.c.Context(), d)
	defer cancel()
	w := s.c.Store().Watch(store.StateFile)
	defer w.Close()
	for ctx.Err() == nil {
		if e, _, err := s.finished(); err == nil && e != nil {
			return e
		}
		_ = w.Next(ctx, app.LongestSleep)
	}
	if s.c.Context().Err() != nil {
		return s.interrupted()
	}
	return nil
}

func (s *supervisor) interrupted() *runEnd {
	return &runEnd{stop: thread.RunInterrupted, reason: "its process got a signal", err: codes.Interrupted.Wrap(context.Cause(s.c.Context()))}
}

// event tells who looks on what happens.
func (s *supervisor) event(kind, text string) {
	if s.in.Event != nil {
		s.handler.tell(Event{Turn: s.turnNumber(), Kind: kind, Text: text})
	}
}

// tailBytes is how much of its own words an agent is told whose session is lost.
const tailBytes = 4 << 10

// opening is the first text that the agent gets in this process. Errors: those of Context.
func (s *supervisor) opening(again bool) (text string, shown []thread.InjectionID, err error) {
	begin := "You are the agent of the thread '" + string(s.id) + "'. Work on it in " + s.dir + " until it is done. Nobody reads what you say; " +
		"people and other threads see your files and what you tell leslie. You have the thread already: claim no other."
	if again {
		begin = "You go on with the thread '" + string(s.id) + "' in " + s.dir + ". See what is done already before you continue."
	}
	rules := "When everything is done, run `leslie done`; a turn that ends without it is not the end. If you cannot go on, say why with " +
		"`leslie suspend --reason TEXT`; ask a person with `leslie ask --question TEXT`, then end your turn: you are called again when it is answered. " +
		"To give parts to other agents, spawn threads with --run (with --code too if they change code), see that `leslie run list` says who starts them " +
		"(else `leslie run --next --detach`), suspend this thread and end your turn: you are called again when they have ended, or write to you."
	parts := []string{begin, s.woke, rules, s.in.Guide, s.instead}
	if s.agent.Lost != nil {
		if said, err := transcript.Tail(s.folder, tailBytes); err == nil && said != "" {
			parts = append(parts, "Your earlier session is lost. It ended with these words of yours:\n\n"+said)
		}
	}
	block, shown, err := s.context()
	parts = slices.DeleteFunc(append(parts, block), func(part string) bool { return part == "" })
	return strings.Join(parts, "\n\n"), shown, err
}

// context is the thread's context, and the messages that it shows. Errors: those of Context.
func (s *supervisor) context() (block string, shown []thread.InjectionID, err error) {
	c := s.call(s.c.Context(), "context")
	d, err := threads.Context(c, threads.ContextRequest{Thread: string(s.id)})
	if err != nil {
		return "", nil, err
	}
	block, shown = s.in.Context(d, s.dir)
	return block, shown, nil
}

// finished reads the thread, and returns how the run ends because of it, nil if it goes
// on; unread says that messages wait. Errors: those of a view.
func (s *supervisor) finished() (e *runEnd, unread bool, err error) {
	c := s.call(s.c.Context(), "run")
	_, err = c.View(func(st *thread.State) error {
		t, err := st.Thread(string(s.id))
		if err != nil {
			return err
		}
		s.status, unread = t.Status, st.UnreadOf(t).Count > 0
		if e = endedBy(st, t); e == nil && t.LastRun() != nil && t.LastRun().Asked != nil {
			e = stoppedBy(t.LastRun().Asked)
		}
		return nil
	})
	return e, unread, err
}

func stoppedBy(asked *thread.RunStop) *runEnd {
	if asked == nil {
		return &runEnd{stop: thread.RunStopped, reason: agents.ErrRunStopped.Error()}
	}
	return &runEnd{stop: thread.RunStopped, reason: agents.ErrRunStopped.Error() + " (" + asked.By.Actor + ")"}
}

// next returns the next text, or how the run ends.
func (s *supervisor) next() (text string, shown []thread.InjectionID, e *runEnd, err error) {
	e, unread, err := s.finished()
	if err != nil || e != nil {
		return "", nil, e, err
	}
	if reason := cmp.Or(s.limits.reached(s.turns, s.run.Used), s.in.budget.over()); reason != "" {
		return "", nil, s.spentEnd(reason), nil
	}
	if l := s.limits.time; l > 0 && s.c.Now().Sub(s.began) >= l {
		return "", nil, &runEnd{stop: thread.RunBudget, reason: "it has worked for " + l.String()}, nil
	}
	parts := s.handler.takeRefusals()
	cut, news := s.cut, s.news
	s.cut, s.news = false, false
	if s.blank {
		s.blank = false
		text, shown, err = s.opening(true)
		return strings.Join(append(parts, text), "\n\n"), shown, nil, err
	}
	var block string
	if unread {
		if block, shown, err = s.context(); err != nil {
			return "", nil, nil, err
		}
	}
	switch {
	case news || slices.ContainsFunc(shown, func(id thread.InjectionID) bool { return !s.told[id] }):
		s.nudges = 0
	case cut:
	case newIn(s.refused, parts):
		s.nudges = 1
	case s.nudges == mostNudges:
		return "", nil, &runEnd{stop: thread.RunUnfinished, reason: s.whyUnfinished()}, nil
	default:
		if s.nudges++; len(parts) == 0 {
			parts = append(parts, "The thread is not done. Go on. When everything is done, run `leslie done`; "+
				"if you cannot go on, say why with `leslie suspend --reason TEXT`.")
		}
	}
	if unread {
		parts = append(parts, "There are messages for you:", block)
	}
	return strings.Join(parts, "\n\n"), shown, nil, nil
}

// whyUnfinished is why an agent that does not go on has not completed its thread.
func (s *supervisor) whyUnfinished() string {
	if why := s.c.LastRefusal(thread.RunHolder(s.id), string(thread.Done), s.run.StartedAt); why != "" {
		return "its leslie done was refused (" + why + ")"
	}
	return "its agent ended its turn, and did not go on when it was told to"
}

// newIn adds refusals to those that the agent was told of, and reports whether one is new.
func newIn(told map[string]bool, refusals []string) (news bool) {
	for _, text := range refusals {
		news = news || !told[text]
		told[text] = true
	}
	return news
}

// endedBy returns how a run ends because of what its thread is, nil if it goes on.
func endedBy(st *thread.State, t thread.Thread) *runEnd {
	id := string(t.ID)
	waits := func(reason, hint, next string) *runEnd {
		return &runEnd{stop: thread.RunWaits, reason: reason, hint: hint, next: next}
	}
	resume := "leslie resume " + id + ", then run it again"
	if run := t.LastRun(); run != nil && run.Awaits == thread.AwaitsThreads {
		resume = "leslie run --next goes on with it when they have ended, or when a message comes; else " + resume
	}
	switch {
	case t.Status == thread.Completed:
		return &runEnd{stop: thread.RunDone}
	case t.Status.Terminated():
		return &runEnd{stop: thread.RunStopped, reason: "it was " + string(t.Status)}
	case t.Mistakes != nil:
		return waits("the mistake limit suspended it; a person has to look", "See what failed; then a person runs leslie resume "+id+" and runs it again", "leslie run log "+id)
	case t.Status == thread.Suspended:
		return waits("it is suspended"+after(": ", t.Reason), resume, "leslie status "+id)
	case t.Executor != thread.ByAgent:
		return waits("a person works on it", "leslie transfer "+id+" --to agent hands it back; then run it again", "leslie status "+id)
	case t.Status == thread.WaitingHuman:
		for _, g := range st.OpenRequests(t.ID) {
			return waitsForDecision(g.ID)
		}
		return waits("it waits for a person", "", "")
	}
	for _, q := range st.OpenQuestions(t.ID) {
		switch {
		case q.ThreadID != t.ID:
		case q.To == "":
			return waits("it waits for the answer to "+string(q.ID), "A person gives it with leslie answer "+string(q.ID)+" TEXT; then run it again", "leslie questions")
		default:
			return waits("it waits for the answer to "+string(q.ID), "The agent of "+string(q.To)+" was asked; anybody can give the answer with leslie answer "+string(q.ID)+" TEXT; then run it again", "leslie questions")
		}
	}
	return nil
}

// waitsForDecision is the end of a run that can go on when a person has decided.
func waitsForDecision(id thread.ApprovalID) *runEnd {
	return &runEnd{
		stop: thread.RunWaits, reason: app.AwaitsDecision(id),
		hint: "A person decides with leslie approve " + string(id) + " or leslie deny " + string(id) + "; then run it again", next: "leslie approvals",
	}
}

// reached says which limit is reached, "" for none. What an agent does not tell has no
// limit.
func (l runLimits) reached(turns int, used thread.Use) string {
	if turns >= l.turns {
		return fmt.Sprintf("%d turns", turns)
	}
	if n, known := used.Tokens(); known && l.tokens > 0 && n >= l.tokens {
		return fmt.Sprintf("%d tokens", n)
	}
	for _, c := range used.Cost {
		if l.cost > 0 && c.Amount >= l.cost {
			return fmt.Sprintf("%.2f %s", c.Amount, c.Currency)
		}
	}
	return ""
}
