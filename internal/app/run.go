package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/permit"
	"leslie/internal/runner"
	"leslie/internal/transcript"
	"leslie/thread"
)

// This file runs the agent of a thread: it begins and ends the run. run_turns.go has
// what happens in between. One process runs a thread; whatever it does to the store are
// operations like any other's.

// AskMode says what becomes of calls of tools that the rules ask about.
type AskMode string

// The modes.
const (
	AskPerson AskMode = "person"
	AskDeny   AskMode = "deny"
	AskAllow  AskMode = "allow"
)

// AskModes returns the modes.
func AskModes() []AskMode { return []AskMode{AskPerson, AskDeny, AskAllow} }

// DefaultTurns is how many turns a run may take if nobody says.
const DefaultTurns = 20

// RunRequest runs the agent of a thread until the thread is done, waits for something, or
// a limit is reached.
type RunRequest struct {
	Thread string // "": the thread that the caller speaks for
	Agent  string // its name in the configuration; "": the last one's, else the configured one
	Fresh  bool   // begin a new session
	Turns  int    // 0: DefaultTurns
	Mode   *string
	Ask    AskMode // "": AskPerson
	// MaxTokens and MaxCost limit what the run may use; 0: what the configuration says.
	MaxTokens int64
	MaxCost   float64
	// Guide is what an agent has to know of leslie. Context renders the context of the
	// thread for somebody who works in a folder, and says which messages it shows.
	Guide   string
	Context func(d *ContextResult, dir string) (text string, shown []thread.InjectionID)
	// Event, if not nil, is called with what happens, by one goroutine at a time.
	Event func(RunEvent)

	times runTimes
}

// RunEvent is something that happened in a run.
type RunEvent struct {
	At       time.Time       `json:"at"`
	ThreadID thread.ThreadID `json:"threadId"`
	RunID    thread.RunID    `json:"runId"`
	Agent    string          `json:"agent"`
	Turn     int             `json:"turn"`
	Kind     string          `json:"kind"`
	Text     string          `json:"text"`
	Used     thread.Use      `json:"used"` // by the run so far
}

// Faults returns what is wrong with the request.
func (in RunRequest) Faults(name Names) []Fault {
	k := newChecks(name)
	if in.Turns < 0 {
		k.add("Turns", strconv.Itoa(in.Turns), "must not be negative")
	}
	if in.MaxTokens < 0 {
		k.add("MaxTokens", strconv.FormatInt(in.MaxTokens, 10), "must not be negative")
	}
	if in.MaxCost < 0 || math.IsNaN(in.MaxCost) || math.IsInf(in.MaxCost, 0) {
		k.add("MaxCost", "", "must be an amount")
	}
	return k.faults
}

// RunResult is a run after it was parked or ended.
type RunResult struct {
	ThreadID     thread.ThreadID `json:"threadId"`
	ThreadStatus thread.Status   `json:"threadStatus"`
	RunRecord
	Change
}

// RunRecord is the newest run of a thread.
type RunRecord struct {
	RunID     thread.RunID `json:"runId"`
	Agent     string       `json:"agent"`
	Version   string       `json:"agentVersion,omitempty"`
	SessionID string       `json:"sessionId,omitempty"`
	// Machine is the one on which it is, in a project on several.
	Machine   string          `json:"machine,omitempty"`
	Phase     thread.RunPhase `json:"phase"`
	Stop      thread.RunEnd   `json:"stop,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Code      codes.Code      `json:"code,omitempty"`
	Turns     int             `json:"turns"`
	Attempts  int             `json:"attempts"`
	Used      thread.Use      `json:"used"`
	StartedAt time.Time       `json:"startedAt"`
	EndedAt   *time.Time      `json:"endedAt"`
	// NotBefore is when leslie run --next goes on with a run whose agent reached its own
	// limit.
	NotBefore *time.Time `json:"notBefore,omitempty"`
}

func runOf(r thread.Run) RunRecord {
	return RunRecord{
		RunID: r.ID, Agent: r.Agent, Version: r.AgentVersion, SessionID: r.SessionID, Machine: r.Machine, Phase: r.Phase, Stop: r.Stop, Reason: r.Reason, Code: r.Code,
		Turns: r.Turns, Attempts: r.Attempts, Used: r.Used, StartedAt: r.StartedAt, EndedAt: r.EndedAt, NotBefore: r.NotBefore,
	}
}

// Run runs the agent of a thread. Errors: T101, T105, T107, T102 and T103 for a thread
// that its agent cannot work on now, T108 if another process runs it or somebody has
// claimed it, T402 for an agent that wants all calls allowed, T903, T509; T701 to T704 if
// its agent cannot be started or gave up, T705 if it may use nothing more for now; T706 at a limit, T707 if the thread is not done
// then; T904; those of a write. A result accompanies all errors after the start.
func Run(c *Call, in RunRequest) (*RunResult, error) {
	if err := refused(in.Faults(nil)); err != nil {
		return nil, err
	}
	if err := mayAllowAll(c, in.Ask); err != nil {
		return nil, err
	}
	catchSignals(c)
	s, err := prepareRun(c, in)
	if codes.Has(err, codes.NotWritable) {
		return finishKilled(c, in, err)
	}
	if err != nil {
		return nil, err
	}
	folder, release, err := c.store.HoldRun(c.ctx, s.id)
	if errors.Is(err, fs.ErrExist) {
		return nil, runsAlready(c, s.id)
	}
	if err != nil {
		return nil, err
	}
	defer release()
	if err := settleHeld(c, s.id); err != nil {
		return nil, err
	}
	if err := s.begin(c, folder); err != nil {
		return nil, err
	}
	err = s.supervise()
	return s.result(), err
}

// finishKilled ends the run of a thread that ended before the process of the run was killed,
// and the processes that it left. Errors: refusal if there is no such run, T108 if its
// process is alive, T707 if the thread is not done, those of a write.
func finishKilled(c *Call, in RunRequest, refusal error) (*RunResult, error) {
	s := &supervisor{c: c, in: in}
	var t thread.Thread
	look := func() (killed bool, err error) {
		_, err = c.view(func(st *thread.State) (err error) {
			t, err = st.Thread(c.threadOr(in.Thread))
			return err
		})
		return err == nil && t.Status.Terminated() && t.Status != thread.Archived && t.LastRun().Going(), err
	}
	if killed, err := look(); err != nil || !killed {
		return nil, cmp.Or(err, refusal)
	}
	folder, release, err := c.store.HoldRun(c.ctx, t.ID)
	if errors.Is(err, fs.ErrExist) {
		return nil, runsAlready(c, t.ID)
	}
	if err != nil {
		return nil, err
	}
	defer release()
	if killed, err := look(); err != nil || !killed { // its process ended it meanwhile
		return nil, cmp.Or(err, refusal)
	}
	s.id, s.run, s.status, s.folder = t.ID, *t.LastRun(), t.Status, folder
	runner.EndLeftovers(runMarks(c, s.run.ID))
	s.log, err = transcript.Open(folder, transcript.Options{Run: string(s.run.ID), Now: c.project.env.Now})
	s.unkept(err)
	e, _, err := s.finished()
	if err == nil {
		err = s.end(*e)
	}
	return s.result(), err
}

// runMarks are the entries of the environment by which the processes of a run are found.
func runMarks(c *Call, id thread.RunID) []string {
	return []string{runner.PlaceVariable + "=" + c.project.root, runner.MarkVariable + "=" + string(id)}
}

// runsAlready is T108 for a thread that another process runs.
func runsAlready(c *Call, id thread.ThreadID) error {
	until := c.now().Add(thread.RunClaim)
	_, _ = c.view(func(s *thread.State) error {
		if t, err := s.Thread(string(id)); err == nil && t.Claim != nil {
			until = t.Claim.Until
		}
		return nil
	})
	return codes.Claimed.New(fact.Of("threadId", id), fact.Of("holder", thread.RunHolder(id)), fact.Of("until", until)).
		WithHint("Another process runs its agent: look on, or stop it").
		WithNext("leslie run log "+string(id)+" --follow", "leslie run stop "+string(id))
}

// prepareRun finds out what is to be run. It changes nothing.
func prepareRun(c *Call, in RunRequest) (*supervisor, error) {
	all, chosen, err := profiles(c)
	if err != nil {
		return nil, err
	}
	s := &supervisor{c: c, in: in}
	var t thread.Thread
	arg := c.threadOr(in.Thread)
	if _, err = c.view(func(st *thread.State) (err error) {
		t, err = st.LiveThread(arg)
		return err
	}); err != nil {
		return nil, err
	}
	s.id, c.target = t.ID, t.ID
	last := ""
	if run := t.LastRun(); run != nil {
		last = run.Agent
	}
	if s.profile, err = agentNamed(all, cmp.Or(in.Agent, last, chosen)); err != nil {
		return nil, codes.Of(err).With(fact.Of("threadId", t.ID))
	}
	if in.Mode != nil {
		s.profile.mode = *in.Mode
	}
	s.dir = agentFolder(c, t)
	s.rules, s.limits, err = runRules(c, t, in)
	return s, err
}

// runLimits is what a run may use; 0: anything.
type runLimits struct {
	turns  int
	tokens int64
	cost   float64
	tools  bool // leslie's own, by a server that the agent starts
}

// runRules combines the rules of the user, of the project, and those that hold for
// everybody. What a project allows counts only if the user trusts it (W305).
func runRules(c *Call, t thread.Thread, in RunRequest) (permit.Rules, runLimits, error) {
	user, project, err := configs(c)
	if err != nil {
		return permit.Rules{}, runLimits{}, err
	}
	rules := permit.Rules{
		Deny: slices.Concat(user.Run.Deny, project.Run.Deny), Ask: slices.Concat(user.Run.Ask, project.Run.Ask), Allow: user.Run.Allow,
		Store: filepath.ToSlash(resolved(filepath.Dir(c.store.Path("x")))), Home: filepath.ToSlash(c.project.env.Home), Config: ownConfigFiles(c.project.env),
	}
	if user.Run.Allow == nil {
		rules.Allow = defaultAllow(c, t)
	}
	rules.Allow = slices.Concat(rules.Allow, user.Run.Always)
	if theirs := "project"; len(project.Run.Allow) > 0 && chooser(c, user)("run.allow", nil, &theirs) != "" {
		rules.Allow = slices.Concat(rules.Allow, project.Run.Allow)
	}
	for _, verdict := range []*permit.Verdict{user.Run.Default, project.Run.Default} {
		if verdict != nil && (rules.Default == "" || narrower(*verdict, rules.Default)) {
			rules.Default = *verdict
		}
	}
	if rules.Default == permit.Allow && user.Run.Default == nil {
		rules.Default = permit.Ask // only the user widens
	}
	limits := runLimits{turns: in.Turns, tokens: in.MaxTokens, cost: in.MaxCost, tools: user.Run.MCP}
	if limits.turns == 0 {
		limits.turns = DefaultTurns
	}
	if limits.tokens == 0 {
		limits.tokens = lower(user.Run.MaxTokens, project.Run.MaxTokens)
	}
	if limits.cost == 0 {
		limits.cost = lower(user.Run.MaxCost, project.Run.MaxCost)
	}
	return rules, limits, nil
}

// narrower reports whether a verdict allows less than another.
func narrower(a, b permit.Verdict) bool {
	order := map[permit.Verdict]int{permit.Allow: 0, permit.Ask: 1, permit.Deny: 2}
	return order[a] > order[b]
}

// lower returns the lower of two limits; 0 is none.
func lower[N int | int64 | float64](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// defaultAllow is what agents may do if the user's configuration says nothing: use
// leslie, read in their folder, write the thread's artifacts, and change code in a
// worktree of their own.
func defaultAllow(c *Call, t thread.Thread) []permit.Rule {
	texts := []string{"Bash(leslie:*)", toolRule, "Read(./**)"}
	own := filepath.ToSlash(resolved(absolute(c, threadPath(t.ID))))
	if !strings.ContainsAny(own, "*?[]()") { // its name would be a pattern
		texts = append(texts, "Read("+own+"/**)", "Edit("+own+"/**)")
	}
	if t.OwnedCode() != nil {
		texts = append(texts, "Edit(./**)")
	}
	var out []permit.Rule
	for _, text := range texts {
		if rule, err := permit.Parse(text); err == nil {
			out = append(out, rule)
		}
	}
	return out
}

// begin begins the run, claims the thread and opens the transcript.
func (s *supervisor) begin(c *Call, folder string) error {
	_, err := write(c, func(st *thread.State, stamp thread.Stamp) (*RunResult, thread.ThreadID, error) {
		if was, err := st.Thread(string(s.id)); err == nil {
			s.woke = wokenBy(st, was)
		}
		t, err := st.BeginRun(string(s.id), thread.NewRun{ID: thread.RunID(c.project.env.NewID(thread.PrefixRun)), Agent: s.profile.name, Dir: s.dir, Machine: c.project.machine(), Fresh: s.in.Fresh}, stamp)
		if err != nil {
			return nil, "", err
		}
		s.run, s.status = *t.LastRun(), t.Status
		return &RunResult{}, t.ID, nil
	})
	if err != nil {
		return err
	}
	s.folder = folder
	if s.log, err = transcript.Open(folder, transcript.Options{Run: string(s.run.ID), Now: c.project.env.Now}); err != nil {
		return s.end(endOf(thread.RunFailed, codes.WriteFailed.Wrap(err, fact.Of("path", folder), fact.Of("reason", codes.Reason(err)))))
	}
	return nil
}

func (s *supervisor) result() *RunResult {
	d := &RunResult{ThreadID: s.id, ThreadStatus: s.status, RunRecord: runOf(s.run)}
	d.SetChanged(true)
	return d
}

// runEnd says how a run ends.
type runEnd struct {
	stop   thread.RunEnd
	reason string
	err    error // what the caller gets; nil: it is made from the others
	// hint and next say what lets the run go on; "": what holds for its stop.
	hint, next string
	// notBefore is when a run may go on that reached an agent's own limit.
	notBefore *time.Time
}

func endOf(stop thread.RunEnd, err error) runEnd {
	return runEnd{stop: stop, reason: err.Error(), err: err}
}

// end records how the run ends, and returns the caller's error.
func (s *supervisor) end(e runEnd) error {
	limitsUntold(s)
	ctx, cancel := cleaning(s.c)
	defer cancel()
	c := s.call(ctx, "run end")
	var needs []WaitingItem
	commit, err := c.system("run end", c.now(), func(st *thread.State, stamp thread.Stamp) thread.ThreadID {
		if t, err := st.Thread(string(s.id)); err == nil && t.Status == thread.Completed && (e.stop == thread.RunInterrupted || e.stop == thread.RunStopped) {
			e.stop, e.reason = thread.RunDone, ""
		}
		t, err := st.EndRun(string(s.id), s.run.ID, stamp, func(r *thread.Run) {
			r.Stop, r.Reason, r.Used, r.Turns, r.SessionID = e.stop, cut(e.reason, 500), s.run.Used, s.run.Turns, s.run.SessionID
			if r.NotBefore = e.notBefore; e.notBefore != nil {
				r.Limits++
			}
			if coded := codes.Of(e.err); coded != nil && e.stop != thread.RunDone {
				r.Code = coded.Code()
			}
		})
		if err != nil {
			return ""
		}
		s.run, s.status, needs = *t.LastRun(), t.Status, endedInVain(t)
		return s.id
	})
	if err == nil {
		notify(c, needs)
		s.c.revision = &commit.Revision
	}
	if s.handler != nil {
		s.event("ended", string(e.stop)+after(": ", e.reason))
	}
	if s.log != nil {
		s.log.Put(transcript.Ended, map[string]string{"stop": string(e.stop), "reason": e.reason})
		s.unkept(s.log.Close())
	}
	switch {
	case e.err != nil:
		return e.err
	case err != nil:
		return err
	case e.stop == thread.RunDone:
		return nil
	case e.stop == thread.RunBudget:
		return codes.RunBudget.New(fact.Of("threadId", s.id), fact.Of("reason", e.reason), fact.Of("runId", s.run.ID))
	}
	return unfinished(s, e)
}

// unfinished is T707 for a run that ended before its thread was done. It says what lets
// the run go on; its next line only shows something.
func unfinished(s *supervisor, e runEnd) error {
	id := string(s.id)
	hint, next := e.hint, e.next
	switch {
	case hint != "":
	case e.stop == thread.RunUnfinished:
		hint, next = "See what it said last, say what is missing with leslie inject "+id+" --content TEXT, then run it again", "leslie run log "+id
	case e.stop == thread.RunStopped && s.status.Terminated():
		hint = "The thread has ended; leslie reopen " + id + " takes it up again"
	case e.stop == thread.RunStopped:
		hint = "leslie run " + id + " goes on with its session"
	}
	err := codes.RunUnfinished.New(fact.Of("threadId", s.id), fact.Of("reason", e.reason), fact.Of("runId", s.run.ID), fact.Of("stop", e.stop))
	if hint != "" {
		err = err.WithHint(hint)
	}
	if next != "" {
		err = err.WithNext(next)
	}
	return err
}

// call returns a call of the thread's agent, for what its process does in its name.
func (s *supervisor) call(ctx context.Context, command string) *Call {
	who := Caller{As: thread.Agent, Actor: thread.RunHolder(s.id), Thread: string(s.id), Dir: s.dir, InAgent: true}
	return s.c.project.Call(ctx, who, Request{Command: command})
}
