package thread

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file has the records of runs: leslie starts a thread's agent, gives it turns, and
// ends it. A run goes on until the thread is done or somebody stops it, however often its
// agent was started.

// Run is the newest run of a thread's agent, and what the earlier ones used.
type Run struct {
	ID RunID `json:"runId"`
	// Agent is its name in the configuration, AgentVersion what it calls its version.
	Agent        string `json:"agent"`
	AgentVersion string `json:"agentVersion,omitempty"`
	// SessionID is the agent's own session, which it can open again.
	SessionID string `json:"sessionId,omitempty"`
	Dir       string `json:"cwd,omitempty"` // where it works, absolute
	// Machine, in a project on several machines, is the one on which it is.
	Machine string   `json:"machine,omitempty"`
	Phase   RunPhase `json:"phase"`
	// Turns is how many have ended, Attempts how often the agent was started.
	Turns    int `json:"turns"`
	Attempts int `json:"attempts"`
	// Asked is set while somebody wants it to stop; Now: at once.
	Asked *RunStop `json:"asked,omitempty"`
	// Awaits is set while the thread is suspended by its own agent.
	Awaits RunAwait `json:"awaits,omitempty"`
	// NotBefore is when a parked run may go on, nil for at any time. Limits is how often
	// in a row its agents said that nothing is left to use.
	NotBefore *time.Time `json:"notBefore,omitempty"`
	Limits    int        `json:"limits,omitempty"`
	// Stop says why it was parked or ended, and Reason in words.
	Stop      RunEnd     `json:"stop,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Code      codes.Code `json:"code,omitempty"` // of the failure
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	Used      Use        `json:"used,omitzero"`
	// Elsewhere are files of the project's checkout that changed while the agent worked in a worktree of its own.
	Elsewhere []string `json:"elsewhere,omitempty"`
	// Replaced has what agents did in this run before others took their place.
	Replaced []AgentTotals `json:"replaced,omitempty"`
	// Before is what the thread's earlier runs used.
	Before *RunTotals `json:"before,omitempty"`

	Unknown Unknown `json:"-"`
}

// Use is what a run has used, as far as its agent says it. Tokens are counted by kind;
// nil is what no turn has told.
type Use struct {
	Input       *int64 `json:"input,omitempty"`
	Output      *int64 `json:"output,omitempty"`
	CachedRead  *int64 `json:"cachedRead,omitempty"`
	CachedWrite *int64 `json:"cachedWrite,omitempty"`
	Thought     *int64 `json:"thought,omitempty"`
	// Cost is in the currencies that agents name, ordered by them.
	Cost []Cost `json:"cost,omitempty"`

	Unknown Unknown `json:"-"`
}

// Cost is an amount of money.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`

	Unknown Unknown `json:"-"`
}

// RunTotals sums up runs.
type RunTotals struct {
	Runs  int `json:"runs"`
	Turns int `json:"turns"`
	Used  Use `json:"used,omitzero"`
	// Agents has what each agent did, ordered by their names. A run in which an agent took
	// another's place counts for both.
	Agents []AgentTotals `json:"agents,omitempty"`

	Unknown Unknown `json:"-"`
}

// AgentTotals sums up what one agent did in runs.
type AgentTotals struct {
	Agent string `json:"agent"`
	Runs  int    `json:"runs"`
	Turns int    `json:"turns"`
	Used  Use    `json:"used,omitzero"`

	Unknown Unknown `json:"-"`
}

// RunStop says who wants a run to stop.
type RunStop struct {
	By  Attribution `json:"by"`
	Now bool        `json:"now,omitempty"`

	Unknown Unknown `json:"-"`
}

// RunPhase says how far a run is.
type RunPhase string

// The phases. A wanted run has not been started; a parked one waits for something,
// without an agent.
const (
	RunWanted   RunPhase = "wanted"
	RunStarting RunPhase = "starting"
	RunRunning  RunPhase = "running"
	RunParked   RunPhase = "parked"
	RunEnded    RunPhase = "ended"
)

// RunEnd says why a run was parked or ended.
type RunEnd string

// A run that waits for a person, another thread or its children is parked; so is one
// whose process got a signal, and one whose agent may use nothing more for now. The other
// ends are final.
const (
	RunWaits       RunEnd = "waits"
	RunInterrupted RunEnd = "interrupted"
	RunLimited     RunEnd = "limited"

	RunDone       RunEnd = "done"
	RunUnfinished RunEnd = "unfinished"
	RunFailed     RunEnd = "failed"
	RunStopped    RunEnd = "stopped"
	RunBudget     RunEnd = "budget"
)

// parks reports whether a run that stops so may go on later.
func (e RunEnd) parks() bool { return e == RunWaits || e == RunInterrupted || e == RunLimited }

// RunAwait says what ends the wait of a thread that its own agent suspended.
type RunAwait string

// Messages end every such wait; AwaitsThreads also ends when all children and
// dependencies are terminated, of which one was not when the agent suspended the thread.
const (
	AwaitsMessage RunAwait = "message"
	AwaitsThreads RunAwait = "threads"
)

// LastRun returns the newest run of a thread, nil for none.
func (t Thread) LastRun() *Run {
	if len(t.Run) == 0 {
		return nil
	}
	return &t.Run[0]
}

// ThreadsWithRun returns the threads whose agent leslie has started and that are not
// archived, ordered as in a list.
func (s *State) ThreadsWithRun() []Thread {
	return inListOrder(s.Threads.where(`"run":[`, func(t Thread) bool { return t.LastRun() != nil }))
}

// Going reports whether the run was going on when it was last recorded. Its process may
// have been killed since.
func (r *Run) Going() bool { return r != nil && (r.Phase == RunStarting || r.Phase == RunRunning) }

// RunsElsewhere reports whether the thread's agent runs on another machine than this one:
// its process there extends the claim, so a claim that has expired says that it is gone. When the
// thread ends its claim does, before the run: that is gone if it does not end within RunClaim.
func (t Thread) RunsElsewhere(machine string, now time.Time) bool {
	run := t.LastRun()
	if !run.Going() || run.Machine == "" || run.Machine == machine {
		return false
	}
	if t.Status.Terminated() {
		return now.Before(t.Updated.Add(RunClaim))
	}
	held := t.Held(now)
	return held != nil && held.Holder == RunHolder(t.ID)
}

// RunHolder is the name under which the agent of a thread's run holds the thread.
func RunHolder(id ThreadID) string { return runHolders + string(id) }

const runHolders = "run:"

// IsRunHolder reports whether a name is that of a run's agent.
func IsRunHolder(name string) bool { return strings.HasPrefix(name, runHolders) }

// RunClaim is how long the claim of a run lasts.
const RunClaim = 15 * time.Minute

// NewRun has the parameters of a run.
type NewRun struct {
	ID    RunID
	Agent string
	Dir   string
	// Machine is the one that starts it, "" in a project on one machine.
	Machine string
	// Fresh: a new session, even if the thread's agent had one before.
	Fresh bool
}

// BeginRun begins a run, or goes on with one that is wanted, parked or was killed, in the
// name of whoever starts it, and claims the thread for the run. A thread that its own
// agent suspended is resumed if what it waits for is there. A person who has claimed the
// thread hands it to its agent. The caller makes sure that no other process runs it. Errors:
// T101, T105, T107, T103, T102 for a thread that is suspended otherwise and one that waits for
// a person, T108 if somebody else has claimed the thread.
func (s *State) BeginRun(arg string, in NewRun, stamp Stamp) (Thread, error) {
	t, err := s.LiveThread(arg)
	if err != nil {
		return Thread{}, err
	}
	if err := s.Limited(string(t.ID)); err != nil {
		return Thread{}, err
	}
	if err := t.Unmade(); err != nil {
		return Thread{}, err
	}
	if s.Wakes(t) {
		t.Status, t.Reason = Active, ""
	}
	if t.Status != Active || t.Executor != ByAgent {
		return Thread{}, notRunnable(t)
	}
	holder := stamp
	holder.As, holder.Actor = Agent, RunHolder(t.ID)
	if held := t.heldByOther(holder); held != nil {
		if held.Holder != stamp.Actor || !stamp.ByPerson() {
			return Thread{}, s.claimed(t, held, stamp)
		}
		t.givenUp(howHanded, holder.Actor, "", stamp) // whoever has it lets its agent go on
	}
	was := t.LastRun()
	if t.RunsElsewhere(in.Machine, stamp.Time) {
		return Thread{}, s.claimed(t, t.Held(stamp.Time), stamp)
	}
	moves := was != nil && was.Machine != "" && was.Machine != in.Machine
	// An agent keeps its sessions where it ran. And a process that is still alive there
	// finds that the run is no longer its own.
	run := nextRun(was, in.Agent, in.Fresh || moves)
	if was != nil && was.Phase != RunEnded && was.Agent == in.Agent && !in.Fresh && !moves { // it goes on
		run = *was
		run.Stop, run.Reason, run.Code, run.Asked, run.EndedAt, run.Awaits, run.NotBefore = "", "", "", nil, nil, "", nil
	}
	if run.ID == "" || run.Phase == RunWanted {
		run.ID, run.StartedAt = in.ID, stamp.Time
	}
	run.Agent, run.Dir, run.Machine, run.Phase = in.Agent, in.Dir, in.Machine, RunStarting
	run.Attempts++
	s.ofRun = true
	t = s.hold(t, RunClaim, holder)
	return s.putRun(t, run, stamp), nil
}

// nextRun is a run of an agent after another of the thread, nil for none.
func nextRun(was *Run, agent string, fresh bool) Run {
	var run Run
	if was == nil {
		return run
	}
	run.Before = was.Before
	if was.Phase != RunWanted {
		total := was.total()
		run.Before = &total
	}
	if was.Agent == agent && !fresh {
		run.SessionID = was.SessionID
	}
	return run
}

// WantRun notes that a thread's agent is to be started by whoever runs what is ready; ""
// for the agent that is configured. A run that goes on or is parked stays. Errors: T101,
// T105, T107.
func (s *State) WantRun(arg, agent string, stamp Stamp) (Thread, error) {
	t, err := s.LiveThread(arg)
	if err != nil {
		return Thread{}, err
	}
	was := t.LastRun()
	if was != nil && was.Phase != RunEnded && was.Phase != RunWanted {
		return t, nil
	}
	if agent == "" && was != nil {
		agent = was.Agent
	}
	run := nextRun(was, agent, false)
	run.Agent, run.Phase, run.StartedAt = agent, RunWanted, stamp.Time
	return s.putRun(t, run, stamp), nil
}

// Wakes reports whether a thread that its own agent suspended can go on: a message is
// there, or all threads that it waited for are terminated.
func (s *State) Wakes(t Thread) bool {
	run := t.LastRun()
	switch {
	case t.Status != Suspended || t.Mistakes != nil || run == nil || run.Awaits == "":
		return false
	case s.UnreadOf(t).Count > 0:
		return true
	}
	return run.Awaits == AwaitsThreads && !s.waitsForThreads(t)
}

// waitsForThreads reports whether a child or a dependency of a thread is not terminated.
func (s *State) waitsForThreads(t Thread) bool {
	return len(s.LiveChildren(t.ID)) > 0 || slices.ContainsFunc(t.DependsOn, func(id ThreadID) bool { return !s.StatusOf(id).Terminated() })
}

// suspendedBy notes who suspends a thread that has a run.
func (s *State) suspendedBy(t Thread, stamp Stamp) Thread {
	run := t.LastRun()
	if run == nil {
		return t
	}
	next := *run
	switch next.Awaits = ""; {
	case stamp.Actor != RunHolder(t.ID) || stamp.ByPerson():
	case s.waitsForThreads(t):
		next.Awaits = AwaitsThreads
	default:
		next.Awaits = AwaitsMessage
	}
	t.Run = []Run{next}
	return t
}

// RunsAgain reports whether a thread's agent may be started without anybody asking for
// it: its last run was not stopped and did not fail, or the thread has changed since, or got a message. A run that
// has reached its own limit is only followed by one that somebody asks for.
func (t Thread) RunsAgain() bool {
	run := t.LastRun()
	if run != nil && run.Phase == RunEnded && run.Stop == RunBudget {
		return false
	}
	if run == nil || run.Phase != RunEnded || run.Stop == RunDone || run.EndedAt == nil || t.Updated.After(*run.EndedAt) {
		return true
	}
	return slices.ContainsFunc(t.Unseen(), func(i Injection) bool { return i.Created.At.After(*run.EndedAt) })
}

// notRunnable is T102 for a thread whose agent has nothing to do now.
func notRunnable(t Thread) error {
	err := codes.InvalidTransition.New(fact.Of("threadId", t.ID), fact.Of("from", t.Status), fact.Of("to", "running"), fact.Of("current", t.Status))
	switch {
	case t.Status == Suspended:
		return err.WithHint("Resume the thread with leslie resume " + string(t.ID) + ", then run it").WithNext("leslie status " + string(t.ID))
	case t.Executor != ByAgent:
		return err.WithHint("A person works on it, who hands it to an agent first: leslie transfer " + string(t.ID) + " --to agent").
			WithNext("leslie status " + string(t.ID))
	}
	return err.WithHint("It waits for a person's decision").WithNext("leslie approvals")
}

// ChangeRun changes the newest run of a thread, as its process does it. Errors: T101,
// T105, T903 if the thread has another run by now.
func (s *State) ChangeRun(arg string, id RunID, stamp Stamp, change func(*Run)) (Thread, error) {
	t, err := s.Thread(arg)
	if err != nil {
		return Thread{}, err
	}
	run := t.LastRun()
	if run == nil || run.ID != id || t.Status == Archived {
		return Thread{}, codes.InvalidArgument.New(fact.Of("reason", "'"+string(t.ID)+"' has no run "+string(id)), fact.Of("threadId", t.ID)).
			WithHint("See its runs").WithNext("leslie run list")
	}
	next := *run
	change(&next)
	s.ofRun = true
	return s.putRun(t, next, stamp), nil
}

// StopRun asks the process of a run to stop, and ends a run that has no process: a wanted
// or a parked one. Errors: T101, T105.
func (s *State) StopRun(arg string, now bool, stamp Stamp) (Thread, error) {
	t, err := s.Thread(arg)
	if err != nil || t.LastRun() == nil || t.LastRun().Phase == RunEnded || t.Status == Archived {
		return t, err
	}
	s.ofRun = true
	next := *t.LastRun()
	if !next.Going() {
		next.Phase, next.Stop, next.Reason, next.EndedAt, next.NotBefore = RunEnded, RunStopped, "somebody stopped it ("+stamp.Actor+")", &stamp.Time, nil
		return s.putRun(t, next, stamp), nil
	}
	if next.Asked == nil || now && !next.Asked.Now {
		next.Asked = &RunStop{By: Attribution{At: stamp.Time, As: stamp.Authority(), Actor: stamp.Actor}, Now: now}
	}
	return s.putRun(t, next, stamp), nil
}

// EndRun parks or ends a run, and ends its claim. Errors: those of ChangeRun.
func (s *State) EndRun(arg string, id RunID, stamp Stamp, change func(*Run)) (Thread, error) {
	t, err := s.ChangeRun(arg, id, stamp, func(r *Run) {
		r.Phase, r.Asked = RunEnded, nil
		if change(r); r.Stop.parks() {
			r.Phase = RunParked
		}
		r.EndedAt = &stamp.Time
	})
	if err == nil && t.Claim != nil && t.Claim.Holder == RunHolder(t.ID) {
		t.Claim = nil
		t = s.Threads.Put(t)
	}
	return t, err
}

func (s *State) putRun(t Thread, run Run, stamp Stamp) Thread {
	was := t
	if t.Run = []Run{run}; same(was, t) {
		return was
	}
	t.Updated = stamp.Time
	return s.Threads.Put(t)
}

// ThreadsInPhase returns the threads whose newest run is in one of these phases and that
// are not archived, ordered as in a list.
func (s *State) ThreadsInPhase(phases ...RunPhase) []Thread {
	var found []Thread
	for _, phase := range phases {
		found = append(found, s.Threads.where(`"phase":"`+string(phase)+`"`, func(t Thread) bool { return t.LastRun() != nil && t.LastRun().Phase == phase })...)
	}
	return inListOrder(found)
}

// ReplaceAgent lets another agent go on with a run, in a session of its own.
func (r *Run) ReplaceAgent(name string) {
	r.Replaced = r.agents()
	r.Agent, r.SessionID, r.AgentVersion = name, "", ""
}

// agents is what each agent of a run did in it.
func (r *Run) agents() []AgentTotals {
	own := AgentTotals{Agent: r.Agent, Runs: 1, Turns: r.Turns, Used: r.Used.Plus(Use{})}
	for _, a := range r.Replaced {
		own.Turns -= a.Turns
		own.Used = own.Used.Minus(a.Used)
		if a.Agent == r.Agent {
			own.Runs = 0 // counted already
		}
	}
	return plusAgents(r.Replaced, own)
}

// total is what a run and those before it have used.
func (r *Run) total() RunTotals {
	sum := RunTotals{Runs: 1, Turns: r.Turns, Used: r.Used.Plus(Use{}), Agents: r.agents()}
	if r.Before != nil {
		sum = r.Before.plus(sum)
	}
	return sum
}

func (t RunTotals) plus(o RunTotals) RunTotals {
	return RunTotals{Runs: t.Runs + o.Runs, Turns: t.Turns + o.Turns, Used: t.Used.Plus(o.Used), Agents: plusAgents(t.Agents, o.Agents...)}
}

// plusAgents adds what agents did to what they had done.
func plusAgents(all []AgentTotals, more ...AgentTotals) []AgentTotals {
	all = slices.Clone(all)
	for _, a := range more {
		i, found := slices.BinarySearchFunc(all, a.Agent, func(b AgentTotals, name string) int { return strings.Compare(b.Agent, name) })
		if !found {
			all = slices.Insert(all, i, AgentTotals{Agent: a.Agent})
		}
		all[i] = AgentTotals{Agent: a.Agent, Runs: all[i].Runs + a.Runs, Turns: all[i].Turns + a.Turns, Used: all[i].Used.Plus(a.Used)}
	}
	return all
}

// RunsOf sums up the runs of a thread, nil for none. A run that is only wanted is none.
func RunsOf(t Thread) *RunTotals {
	run := t.LastRun()
	switch {
	case run == nil:
		return nil
	case run.Phase == RunWanted:
		return run.Before
	}
	sum := run.total()
	return &sum
}

// SumsOfRuns sums up the runs of all threads, and those of each objective; nil for none. Archived
// threads count, too: what was spent was spent. It reads one record a thread with runs, however
// many runs those had. Errors: those of reading the archive.
func (s *State) SumsOfRuns() (all *RunTotals, of map[ObjectiveID]*RunTotals, err error) {
	lines, err := s.archivedLines(TableThreads)
	if err != nil {
		return nil, nil, err
	}
	threads, mark := s.ThreadsWithRun(), needle(`"run":[`)
	for _, line := range lines {
		if bytes.Contains(line.JSON, mark) {
			threads = append(threads, decode[Thread](line.JSON))
		}
	}
	add := func(sum *RunTotals, own RunTotals) *RunTotals {
		if sum != nil {
			own = sum.plus(own)
		}
		return &own
	}
	of = map[ObjectiveID]*RunTotals{}
	for _, t := range threads {
		if own := RunsOf(t); own != nil {
			all, of[t.ObjectiveID] = add(all, *own), add(of[t.ObjectiveID], *own)
		}
	}
	return all, of, nil
}

// Plus adds up what was used. What neither knows stays unknown.
func (u Use) Plus(o Use) Use {
	out := Use{
		Input: sumOf(u.Input, o.Input), Output: sumOf(u.Output, o.Output), CachedRead: sumOf(u.CachedRead, o.CachedRead),
		CachedWrite: sumOf(u.CachedWrite, o.CachedWrite), Thought: sumOf(u.Thought, o.Thought), Cost: slices.Clone(u.Cost),
	}
	for _, c := range o.Cost {
		out.Cost = PlusCost(out.Cost, c)
	}
	return out
}

// Minus leaves out what was used before; it was part of u.
func (u Use) Minus(o Use) Use {
	out := Use{
		Input: restOf(u.Input, o.Input), Output: restOf(u.Output, o.Output), CachedRead: restOf(u.CachedRead, o.CachedRead),
		CachedWrite: restOf(u.CachedWrite, o.CachedWrite), Thought: restOf(u.Thought, o.Thought),
	}
	for _, c := range u.Cost {
		for _, before := range o.Cost {
			if before.Currency == c.Currency {
				c.Amount -= before.Amount
			}
		}
		if c.Amount != 0 {
			out.Cost = append(out.Cost, c)
		}
	}
	return out
}

// restOf is a number without a part of it, nil if nothing is left.
func restOf(all, part *int64) *int64 {
	switch {
	case all == nil || part != nil && *all == *part:
		return nil
	case part == nil:
		return all
	}
	n := *all - *part
	return &n
}

// PlusCost adds an amount to those of its currency.
func PlusCost(all []Cost, c Cost) []Cost {
	all = slices.Clone(all)
	for i := range all {
		if all[i].Currency == c.Currency {
			all[i].Amount += c.Amount
			return all
		}
	}
	all = append(all, c)
	slices.SortFunc(all, func(a, b Cost) int { return strings.Compare(a.Currency, b.Currency) })
	return all
}

// Tokens is how many tokens were used: read, written and thought, without those of a
// cache. known is false if nothing was told.
func (u Use) Tokens() (n int64, known bool) {
	for _, p := range []*int64{u.Input, u.Output, u.Thought} {
		if p != nil {
			n, known = n+*p, true
		}
	}
	return n, known
}

func sumOf(a, b *int64) *int64 {
	switch {
	case a == nil && b == nil:
		return nil
	case a == nil:
		a = b
		b = nil
	}
	n := *a
	if b != nil {
		n += *b
	}
	return &n
}
