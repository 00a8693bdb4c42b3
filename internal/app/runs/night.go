package runs

import (
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/app/code"
	"leslie/internal/permit"
	"leslie/thread"
)

// This file says, before an agent is left alone, what would stop it.

// NightRequest asks what would stop the agent of a thread that nobody watches.
type NightRequest struct {
	Thread string
	Agent  string // "": as for a run
}

// NightResult is the agent, which was started and ended, and what would stop it.
type NightResult struct {
	agents.ListResult
	Night NightCheck `json:"night"`
}

// NightCheck is what would stop the agent of a thread.
type NightCheck struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Agent    string          `json:"agent"`
	Profile  permit.Profile  `json:"profile"`
	// Stops are what would stop it; Notes what else there is to know.
	Stops []NightItem `json:"stops"`
	Notes []NightItem `json:"notes"`
}

// NightItem is one thing, with the command that helps; "" for none.
type NightItem struct {
	What string `json:"what"`
	Next string `json:"next,omitempty"`
}

func (n *NightCheck) stop(what, next string) { n.Stops = append(n.Stops, NightItem{what, next}) }
func (n *NightCheck) note(what, next string) { n.Notes = append(n.Notes, NightItem{what, next}) }

// Night starts the agent of a thread as agents --check does, and looks at the rules for what a thread usually needs:
// to look at the project, to run its checks, builds and tests, to commit. Errors: T101, T105, T107, T509, T903.
func Night(c *app.Call, in NightRequest) (*NightResult, error) {
	c.ReadOnly()
	s := &supervisor{c: c, in: Request{Thread: in.Thread, Agent: in.Agent}}
	t, err := s.chooseRun()
	if err != nil {
		return nil, err
	}
	rules, limits, err := Rules(c, t, s.in)
	if err != nil {
		return nil, err
	}
	user, project, err := c.Configs()
	if err != nil {
		return nil, err
	}
	found, err := agents.List(c, agents.ListRequest{Name: s.profile.Name})
	if err != nil {
		return nil, err
	}
	d := &NightResult{ListResult: *found, Night: NightCheck{ThreadID: t.ID, Agent: s.profile.Name, Profile: app.ProfileOf(user, project), Stops: []NightItem{}, Notes: []NightItem{}}}
	n := &d.Night
	d.Items[0].Check = agents.CheckStart(c, s.profile)
	n.start(d.Items[0])
	n.thread(c, t)
	n.rules(c, rules, s.dir, t)
	n.identity(c, t)
	if limits.cost == 0 && limits.tokens == 0 && limits.time == 0 {
		n.note("nothing limits what it may cost or how long it may work (run.maxCost, run.maxTime)", "leslie help topics configuration")
	}
	if limits.cost > 0 && !slices.Contains([]string{"claude", "opencode"}, s.profile.Name) {
		n.note(s.profile.Name+" may not say what it costs, and then --max-cost does not limit it: limit the time, too", "leslie help run")
	}
	return d, nil
}

// start says why the agent cannot be started.
func (n *NightCheck) start(item agents.Item) {
	switch {
	case !item.Check.OK:
		n.stop(item.Name+" does not start: "+item.Check.Message, "leslie agents --check "+item.Name)
	case !item.Check.ModeSet:
		n.note(item.Name+" has no mode in which it asks before it acts", "leslie agents --check "+item.Name)
	}
	if item.LimitedUntil != nil {
		n.stop(item.Name+" may use nothing more until "+item.LimitedUntil.Format("15:04 MST"), "leslie agents")
	}
}

// thread says why the thread would not be run.
func (n *NightCheck) thread(c *app.Call, t thread.Thread) {
	id := string(t.ID)
	if t.Status != thread.Active {
		n.stop("the thread is "+string(t.Status), "leslie status "+id)
	}
	var holds []thread.Hold
	var lost []thread.Thread
	_, _ = c.View(func(s *thread.State) error {
		holds, lost = s.Readiness().Holds(t), s.LostDependencies(t)
		return nil
	})
	for _, h := range holds {
		n.stop("it begins only when "+string(h.On)+" is done, which is "+string(h.Status), "leslie status "+string(h.On))
	}
	for _, on := range lost {
		n.note(string(on.ID)+", on which it depends, is "+string(on.Status)+": it begins without that", "leslie status "+string(on.ID))
	}
	if run := t.LastRun(); run != nil && run.Phase == thread.RunEnded {
		n.stop("its last run has ended ("+string(run.Stop)+"), and leslie run --next begins no other until the thread changes", "leslie run log "+id)
	}
	if t.Executor != thread.ByAgent {
		n.stop("its executor is a person", "leslie help transfer")
	}
	switch held := t.Held(c.Now()); {
	case held == nil:
	case held.Holder == c.Caller().Actor:
		n.stop("you have claimed it: leslie run --next leaves it to you, leslie run "+id+" does not", "leslie status "+id)
	default:
		n.stop("it is claimed by "+held.Holder, "leslie status "+id)
	}
	switch owned := t.OwnedCode(); {
	case t.PersonsCheckout():
		n.stop("its worktree is one that leslie did not make: no loop starts an agent there", "leslie code "+id)
	case owned == nil:
		n.note("it has no worktree of its own: what it edits in the project is asked about", "leslie help spawn")
	}
}

// rules says which of the commands that a thread usually needs would be asked about.
func (n *NightCheck) rules(c *app.Call, rules permit.Rules, dir string, t thread.Thread) {
	asked := func(command string) bool {
		return rules.Decide(permit.Call{Tool: permit.Bash, Command: command, Dir: app.ResolveLinks(dir)}).Verdict != permit.Allow
	}
	var usual []string
	for _, command := range []string{"ls", "git diff"} {
		if asked(command) {
			usual = append(usual, command)
		}
	}
	if t.OwnedCode() != nil && asked("git add . && git commit -m x") {
		usual = append(usual, "git commit")
	}
	if len(usual) > 0 {
		n.stop("a person is asked about "+strings.Join(usual, ", ")+": the profile is "+string(n.Profile), "leslie help permissions")
	}
	may, _, err := code.ChecksOf(c)
	if err == nil && t.OwnedCode() != nil {
		for _, name := range t.OwnedCode().Accept {
			if command := may[name]; command != "" && asked(command) {
				n.stop("a person is asked when it runs its check "+name+" ("+command+")", "leslie config show")
			}
		}
	}
	var builds []string
	for _, text := range app.BuildRules(c.Project().Root()) {
		command := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(text, permit.Bash+"("), ")"), ":*")
		if asked(command) {
			builds = append(builds, command)
		}
	}
	if len(builds) > 0 {
		n.stop("a person is asked about what builds and tests the project: "+strings.Join(builds, ", "), "leslie config allow")
	}
}

// identity says that git would refuse to commit.
func (n *NightCheck) identity(c *app.Call, t thread.Thread) {
	if t.OwnedCode() == nil {
		return
	}
	repo, err := code.RepoOf(c, t)
	if err != nil {
		n.stop("git cannot be used: "+codes.Reason(err), "leslie doctor")
		return
	}
	if len(repo.Identity(c.Context())) == 0 {
		n.stop("git does not know who commits: git config --global user.name NAME, and user.email", "leslie help agents")
	}
}
