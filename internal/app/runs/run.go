package runs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/app/code"
	"leslie/internal/app/history"
	"leslie/internal/app/threads"
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

// Request runs the agent of a thread until the thread is done, waits for something, or
// a limit is reached.
type Request struct {
	Thread string // "": the thread that the caller speaks for
	Agent  string // its name in the configuration; "": the last one's, else the configured one
	Fresh  bool   // begin a new session
	Turns  int    // 0: DefaultTurns
	Mode   *string
	Ask    AskMode // "": AskPerson
	// MaxTokens and MaxCost limit what the run may use, MaxTime how long it may work in this
	// call; 0: what the configuration says.
	MaxTokens int64
	MaxCost   float64
	MaxTime   time.Duration
	// Guide is what an agent has to know of leslie. Context renders the context of the
	// thread for somebody who works in a folder, and says which messages it shows.
	Guide   string
	Context func(d *threads.ContextResult, dir string) (text string, shown []thread.InjectionID)
	// Event, if not nil, is called with what happens, by one goroutine at a time.
	Event func(Event)

	times     runTimes
	scheduled bool        // leslie run --next starts it
	seen      *thread.Run // the thread's last run as that has seen it, nil for none
	budget    *budget     // of that; nil for a run alone
}

// Event is something that happened in a run.
type Event struct {
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
func (in Request) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	if in.Turns < 0 {
		k.Add("Turns", strconv.Itoa(in.Turns), "must not be negative")
	}
	if in.MaxTokens < 0 {
		k.Add("MaxTokens", strconv.FormatInt(in.MaxTokens, 10), "must not be negative")
	}
	if in.MaxCost < 0 || math.IsNaN(in.MaxCost) || math.IsInf(in.MaxCost, 0) {
		k.Add("MaxCost", "", "must be an amount")
	}
	if in.MaxTime < 0 {
		k.Add("MaxTime", in.MaxTime.String(), "must not be negative")
	}
	return k.Faults
}

// Result is a run after it was parked or ended.
type Result struct {
	ThreadID     thread.ThreadID `json:"threadId"`
	ThreadStatus thread.Status   `json:"threadStatus"`
	// Changes is how much the thread has changed in its code by the end of its run; nil if it owns none.
	Changes *app.CodeAmount `json:"changes,omitempty"`
	app.RunRecord
	app.Change
}

// Run runs the agent of a thread. Errors: T101, T105, T107, T102 and T103 for a thread
// that its agent cannot work on now, T108 if another process runs it or somebody has
// claimed it, T402 for an agent that wants all calls allowed, T903, T509; T701 to T704 if
// its agent cannot be started or gave up, T705 if it may use nothing more for now; T706 at a limit, T707 if the thread is not done
// then; T904; those of a write. A result accompanies all errors after the start.
func Run(c *app.Call, in Request) (*Result, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if err := mayAllowAll(c, in.Ask); err != nil {
		return nil, err
	}
	c.CatchSignals()
	s, err := prepareRun(c, in)
	if codes.Has(err, codes.NotWritable) {
		return finishKilled(c, in, err)
	}
	if err != nil {
		return nil, err
	}
	folder, release, err := c.Store().HoldRun(c.Context(), s.id)
	if errors.Is(err, fs.ErrExist) {
		return nil, c.RunsAlready(s.id)
	}
	if err != nil {
		return nil, err
	}
	defer release()
	if err := history.HoldAndRevertRolling(c, s.id); err != nil {
		return nil, err
	}
	if err := s.beginRun(c, folder); err != nil {
		return nil, err
	}
	threads.BeginWithDependencies(s.call(c.Context(), "run"), s.id)
	err = s.supervise()
	return s.result(), err
}

// finishKilled ends the run of a thread that ended before the process of the run was killed,
// and the processes that it left. Errors: refusal if there is no such run, T108 if its
// process is alive, T707 if the thread is not done, those of a write.
func finishKilled(c *app.Call, in Request, refusal error) (*Result, error) {
	s := &supervisor{c: c, in: in}
	var t thread.Thread
	look := func() (killed bool, err error) {
		_, err = c.View(func(st *thread.State) (err error) {
			t, err = st.Thread(c.ThreadOr(in.Thread))
			return err
		})
		return err == nil && t.Status.Terminated() && t.Status != thread.Archived && t.LastRun().Going(), err
	}
	if killed, err := look(); err != nil || !killed {
		return nil, cmp.Or(err, refusal)
	}
	folder, release, err := c.Store().HoldRun(c.Context(), t.ID)
	if errors.Is(err, fs.ErrExist) {
		return nil, c.RunsAlready(t.ID)
	}
	if err != nil {
		return nil, err
	}
	defer release()
	if killed, err := look(); err != nil || !killed { // its process ended it meanwhile
		return nil, cmp.Or(err, refusal)
	}
	err = s.endKilled(t, folder)
	return s.result(), err
}

// endKilled ends the run of a thread whose process was killed, and the processes that it left, as the thread is
// now: it has ended, or waits. The caller holds the run. Errors: those of Run at such an end.
func (s *supervisor) endKilled(t thread.Thread, folder string) (err error) {
	s.id, s.run, s.status, s.folder, s.elsewhere = t.ID, *t.LastRun(), t.Status, folder, t.LastRun().Elsewhere
	runner.EndLeftovers(runMarks(s.c, s.run.ID))
	s.log, err = transcript.Open(folder, transcript.Options{Run: string(s.run.ID), Now: s.c.Project().Environment().Now})
	s.unkept(err)
	s.run.Used.Cost = costAtKill(folder, s.run)
	e, _, err := s.finished()
	if err == nil && e != nil {
		err = s.end(e)
	}
	return err
}

// runMarks are the entries of the environment by which the processes of a run are found.
func runMarks(c *app.Call, id thread.RunID) []string {
	return []string{runner.PlaceVariable + "=" + c.Project().Root(), runner.MarkVariable + "=" + string(id)}
}

// prepareRun finds out what is to be run. It changes nothing.
func prepareRun(c *app.Call, in Request) (*supervisor, error) {
	s := &supervisor{c: c, in: in}
	t, err := s.chooseRun()
	if err != nil {
		return nil, err
	}
	patience, err := agents.StartTimeout(c)
	if err != nil {
		return nil, err
	}
	s.in.times.agent.Start = cmp.Or(s.in.times.agent.Start, patience)
	if err := s.in.times.configured(c); err != nil {
		return nil, err
	}
	s.rules, s.limits, err = Rules(c, t, in)
	return s, err
}

// chooseRun finds the thread and the agent that are to be run. Errors: those of a view, T101,
// T105, T107, T509, T903.
func (s *supervisor) chooseRun() (t thread.Thread, err error) {
	c, in := s.c, s.in
	all, chosen, err := agents.Profiles(c)
	if err != nil {
		return t, err
	}
	arg := c.ThreadOr(in.Thread)
	if _, err = c.View(func(st *thread.State) (err error) {
		t, err = st.LiveThread(arg)
		return err
	}); err != nil {
		return t, err
	}
	c.SetTarget(t.ID)
	s.id = t.ID
	last := ""
	if run := t.LastRun(); run != nil {
		last = run.Agent
	}
	if s.profile, err = agents.Named(all, cmp.Or(in.Agent, last, chosen)); err != nil {
		return t, codes.Of(err).With(fact.Of("threadId", t.ID))
	}
	if in.Mode != nil {
		s.profile.Mode = *in.Mode
	}
	if owned := t.OwnedCode(); owned != nil && owned.State == thread.CodeElsewhere {
		look := func(st *thread.State) (err error) {
			if t, err = st.LiveThread(arg); err == nil {
				err = c.RespectClaim(st, arg, c.Stamp())
			}
			return err
		}
		if _, err = c.View(look); err == nil {
			if dir, _ := threads.BringCode(c, t.ID); dir != "" {
				_, err = c.View(look)
			}
		}
		if err != nil {
			return t, err
		}
	}
	s.dir, err = threads.AgentFolder(c, t)
	return t, err
}

// runLimits is what a run may use; 0: anything.
type runLimits struct {
	turns  int
	tokens int64
	cost   float64
	time   time.Duration // of this call
	turn   time.Duration // of one turn
	tools  bool          // leslie's own, by a server that the agent starts
}

// Rules combines the rules of the user, of the project, and those that hold for
// everybody. What a project allows counts only if the user trusts it (W305).
func Rules(c *app.Call, t thread.Thread, in Request) (permit.Rules, runLimits, error) {
	user, project, err := c.Configs()
	if err != nil {
		return permit.Rules{}, runLimits{}, err
	}
	rules := permit.Rules{
		Deny: slices.Concat(user.Run.Deny, project.Run.Deny), Ask: slices.Concat(user.Run.Ask, project.Run.Ask), Allow: user.Run.Allow,
		Store: filepath.ToSlash(app.ResolveLinks(filepath.Dir(c.Store().Path("x")))), Home: filepath.ToSlash(c.Project().Environment().Home), Config: app.UserConfigFiles(*c.Project().Environment()),
	}
	root := filepath.ToSlash(app.ResolveLinks(c.Project().Root()))
	rules.Reads, rules.Resolve = []string{root}, func(name string) string { return filepath.ToSlash(app.ResolveLinks(name)) }
	rules.Writes = []string{filepath.ToSlash(app.ResolveLinks(c.Absolute(app.ThreadPath(t.ID))))}
	if temporary := filepath.ToSlash(app.ResolveLinks(os.TempDir())); !strings.HasPrefix(root+"/", temporary+"/") { // the person's files may be beside a project there
		rules.Writes = append(rules.Writes, temporary)
	}
	if user.Run.Allow == nil || user.Run.Profile != nil {
		rules.Allow = append(profileRules(c, t, app.ProfileOf(user, project)), user.Run.Allow...)
		rules.Allow = append(rules.Allow, checkRules(c, user, project)...)
	}
	rules.Allow = slices.Concat(rules.Allow, user.Run.Always)
	if theirs := "project"; len(project.Run.Allow) > 0 && c.Chooser(user, project)("run.allow", nil, &theirs) != "" {
		rules.Allow = slices.Concat(rules.Allow, project.Run.Allow)
	}
	for _, verdict := range []*permit.Verdict{user.Run.Default, project.Run.Default} {
		if verdict != nil && (rules.Default == "" || app.AllowsLess(*verdict, rules.Default)) {
			rules.Default = *verdict
		}
	}
	if rules.Default == permit.Allow && user.Run.Default == nil {
		rules.Default = permit.Ask // only the user widens
	}
	limits := runLimits{turns: in.Turns, tokens: in.MaxTokens, cost: in.MaxCost, time: in.MaxTime, tools: user.Run.MCP}
	if limits.turns == 0 {
		limits.turns = DefaultTurns
	}
	if limits.tokens == 0 {
		limits.tokens = lower(app.OrZero(user.Run.MaxTokens), app.OrZero(project.Run.MaxTokens))
	}
	if limits.cost == 0 {
		limits.cost = lower(app.OrZero(user.Run.MaxCost), app.OrZero(project.Run.MaxCost))
	}
	if limits.time == 0 {
		limits.time = lower(duration(user.Run.MaxTime), duration(project.Run.MaxTime))
	}
	limits.turn = lower(duration(user.Run.MaxTurnTime), duration(project.Run.MaxTurnTime))
	return rules, limits, nil
}

// duration is one of a configuration that was checked; 0 for none.
func duration(text *string) time.Duration {
	d, _ := time.ParseDuration(app.OrZero(text))
	return d
}

// lower returns the lower of two limits; 0 is none.
func lower[N int | int64 | float64 | time.Duration](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// profileRules are the rules of a profile for a thread: besides its own, that agents read in the
// project, and read and write the thread's artifacts.
func profileRules(c *app.Call, t thread.Thread, p permit.Profile) []permit.Rule {
	texts, own := p.Allows()
	texts = append(texts, toolRule)
	if t.OwnedCode() != nil {
		texts = append(texts, own...)
	}
	folder := func(name string, tools ...string) {
		name = filepath.ToSlash(app.ResolveLinks(name))
		if !strings.ContainsAny(name, "*?[]()") { // it would be a pattern
			for _, tool := range tools {
				texts = append(texts, tool+"("+name+"/**)")
			}
		}
	}
	folder(c.Absolute(app.ThreadPath(t.ID)), permit.Read, permit.Edit)
	if p != permit.Careful {
		folder(c.Project().Root(), permit.Read)
	}
	return parsed(texts)
}

// checkRules allow the commands that the configuration names as checks of code, as they are written there; a project's
// count only if the user trusts it.
func checkRules(c *app.Call, user, project app.Config) []permit.Rule {
	all := []app.Config{user}
	if user.Trusts(c.Project().Root(), project) {
		all = append(all, project)
	}
	var texts []string
	for _, cfg := range all {
		for _, name := range app.SortedKeys(cfg.Code.Checks) {
			texts = append(texts, permit.Bash+"("+cfg.Code.Checks[name]+")")
		}
		if cfg.Code.Validate != nil {
			texts = append(texts, permit.Bash+"("+*cfg.Code.Validate+")")
		}
	}
	return parsed(texts)
}

// parsed returns rules without those that a rule cannot express.
func parsed(texts []string) (out []permit.Rule) {
	for _, text := range texts {
		if rule, err := permit.Parse(text); err == nil {
			out = append(out, rule)
		}
	}
	return out
}

// errRunMoved says that a thread's last run is not as leslie run --next has seen it: it has ended meanwhile, say,
// and whether there is to be another has to be asked again.
var errRunMoved = errors.New("its run has changed meanwhile")

// sameRun reports whether two records of a thread's last run are of the same state of it; nil is none.
func sameRun(a, b *thread.Run) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Phase == b.Phase && a.Attempts == b.Attempts && a.Turns == b.Turns
}

// beginRun begins the run, claims the thread and opens the transcript.
func (s *supervisor) beginRun(c *app.Call, folder string) error {
	_, err := app.Write(c, func(st *thread.State, stamp thread.Stamp) (*Result, thread.ThreadID, error) {
		if was, err := st.Thread(string(s.id)); err == nil {
			if s.in.scheduled && !sameRun(s.in.seen, was.LastRun()) {
				return nil, "", errRunMoved
			}
			s.woke = wokenBy(st, was)
		}
		t, err := st.BeginRun(string(s.id), thread.NewRun{ID: thread.RunID(c.Project().Environment().NewID(thread.PrefixRun)), Agent: s.profile.Name, Dir: s.dir, Machine: c.Project().Machine(), Fresh: s.in.Fresh}, stamp)
		if err != nil {
			return nil, "", err
		}
		s.run, s.status = *t.LastRun(), t.Status
		return &Result{}, t.ID, nil
	})
	if err != nil {
		return err
	}
	s.folder = folder
	if s.log, err = transcript.Open(folder, transcript.Options{Run: string(s.run.ID), Now: c.Project().Environment().Now}); err != nil {
		return s.end(endOf(thread.RunFailed, codes.WriteFailed.OfPath(folder, err)))
	}
	return nil
}

func (s *supervisor) result() *Result {
	d := &Result{ThreadID: s.id, ThreadStatus: s.status, RunRecord: app.RunOf(s.run)}
	if !s.in.scheduled && s.run.Phase == thread.RunEnded { // leslie run --next answers for all of its runs
		d.Changes = code.AmountsWithLanded(s.c, s.id)[s.id]
	}
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

func endOf(stop thread.RunEnd, err error) *runEnd {
	return &runEnd{stop: stop, reason: err.Error(), err: err}
}

// end records how the run ends, and returns the caller's error.
func (s *supervisor) end(e *runEnd) error {
	s.limitsUntold()
	s.warnElsewhere()
	ctx, cancel := s.c.Cleaning()
	defer cancel()
	c := s.call(ctx, "run end")
	var needs []app.WaitingItem
	commit, err := c.System("run end", c.Now(), func(st *thread.State, stamp thread.Stamp) thread.ThreadID {
		if t, err := st.Thread(string(s.id)); err == nil && t.Status == thread.Completed && (e.stop == thread.RunInterrupted || e.stop == thread.RunStopped) {
			e.stop, e.reason = thread.RunDone, ""
		}
		t, err := st.EndRun(string(s.id), s.run.ID, stamp, func(r *thread.Run) {
			r.Stop, r.Reason, r.Used, r.Turns, r.SessionID = e.stop, app.Cut(e.reason, 500), s.run.Used, s.run.Turns, s.run.SessionID
			r.Elsewhere = s.elsewhere
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
		c.Notify(needs)
		s.c.SetRevision(&commit.Revision)
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
	return s.unfinished(e)
}

// unfinished is T707 for a run that ended before its thread was done. It says what lets
// the run go on; its next line only shows something.
func (s *supervisor) unfinished(e *runEnd) error {
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
func (s *supervisor) call(ctx context.Context, command string) *app.Call {
	who := app.Caller{As: thread.Agent, Actor: thread.RunHolder(s.id), Thread: string(s.id), Dir: s.dir, InAgent: true}
	return s.c.Project().Call(ctx, who, app.Request{Command: command})
}
