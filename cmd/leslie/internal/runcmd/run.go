package runcmd

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/guide"
	"leslie/cmd/leslie/internal/page"
	"leslie/cmd/leslie/internal/threadcmd"
	"leslie/internal/app"
	"leslie/internal/app/runs"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file runs the agents of threads, lists the runs and stops them.

type runText struct{ *runs.Result }

func (d runText) Text(p *page.Page) {
	if d.RunID == "" {
		p.Line("%s has no run", d.ThreadID)
		return
	}
	p.Line("run %s of %s  %s", d.RunID, d.ThreadID, page.RunEnding(d.RunRecord))
	p.Line("agent %s, %s%s", d.Agent, fact.Plural(d.Turns, "turn"), page.WithSeparator(", ", page.UsedText(d.Used)))
	if d.Changes == nil {
		return
	}
	p.Field("its code", page.ChangesText(d.Changes)+" (leslie diff "+string(d.ThreadID)+")")
	if d.Stop == thread.RunDone && d.Changes.Commits > 0 && !d.Changes.Landed {
		p.Field("it lands with", "leslie land "+string(d.ThreadID))
	}
}

// Run is the command leslie run.
func Run() *cli.Command {
	modes := make([]string, 0, len(runs.AskModes()))
	for _, m := range runs.AskModes() {
		modes = append(modes, string(m))
	}
	return &cli.Command{
		Name: "run", Lasts: true, Summary: "run a thread's agent, or with --next those of whatever is ready",
		Writes: true, Unrecorded: true,
		Detail: "The agent works in the thread's worktree, or in the project's folder, until the thread is done, " +
			"waits, or reaches a limit; rules say what it may do, --ask who decides the rest. The next run goes " +
			"on with its session. Status 0: it is done.",
		Example:  "leslie run write-docs --agent claude",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ThreadIDs), Optional: true}},
		Flags: []cli.Flag{
			cli.NewFlag("new", cli.Text("TEXT"), "make a thread (with code, in git) and run it"),
			cli.Toggle("next", "run what is ready or can go on, until a signal comes"),
			cli.NewFlag("parallel", cli.Positive("N"), "with --next: so many agents at once (run.parallel, 2)"),
			cli.Toggle("until-idle", "with --next: end when nothing is left to run"),
			cli.NewFlag("objective", cli.ID("ID", cli.ObjectiveIDs), "with --next: only its threads; --new: its"),
			cli.NewFlag("agent", cli.Text("NAME").Offering(cli.AgentNames), "run this agent (leslie agents)"),
			cli.Toggle("fresh", "begin a new session"),
			cli.NewFlag("turns", cli.Positive("N"), "end a run after N turns (20)"),
			cli.NewFlag("ask", cli.OneOf(modes...), "who answers what the rules ask about (person)"),
			cli.NewFlag("mode", cli.Text("MODE"), "the agent's own mode of asking"),
			cli.NewFlag("max-tokens", cli.Positive("N"), "most tokens of a run (with --next: of all)"),
			cli.NewFlag("max-cost", cli.Amount(), "most that it may cost (with --next: all)"),
			cli.NewFlag("max-time", cli.Duration(), "most time that it works (with --next: all)"),
			cli.Toggle("follow", "print what it says and does"),
			cli.Toggle("detach", "go on in the background (leslie run list)"),
		},
		Further:     newWorkFlags(),
		FurtherSaid: "With --new also --no-code, and flags of spawn such as --base: leslie help spawn",
		Run:         runRun,
	}
}

func runRun(c *cli.Call) (cli.Data, error) {
	in := runs.Request{
		Agent: c.Text("agent"), Fresh: c.On("fresh"), Turns: c.Count("turns", 0), Ask: runs.AskMode(c.Text("ask")),
		MaxTokens: int64(c.Count("max-tokens", 0)), Guide: guide.Block(),
		Context: func(d *threads.ContextResult, dir string) (string, []thread.InjectionID) {
			there := *c
			there.Env.Dir = dir
			return threadcmd.ContextText(&there, d, true)
		},
	}
	in.MaxCost, _ = strconv.ParseFloat(c.Text("max-cost"), 64) // checked with the line
	in.MaxTime, _ = time.ParseDuration(c.Text("max-time"))
	in.Mode = c.Optional("mode")
	defer followRun(c, &in)()
	if c.Has("new") || c.Faulty("new") {
		return runNew(c, in)
	}
	c.MeansNothing("without --new", cli.Names(newWorkFlags())...)
	if c.On("next") {
		return runNext(c, in)
	}
	in.Thread = c.TargetThread()
	c.MeansNothing("without --next", "parallel", "until-idle", "objective")
	c.CheckRequest(in.Faults, nil)
	if c.On("detach") {
		return detach(c, runs.DetachRequest{Thread: in.Thread, Agent: in.Agent})
	}
	d, err := cli.UseCase(c, runs.Run, in)
	if d == nil {
		return nil, err
	}
	return runText{d}, err
}

// followRun sets who is told what happens in a run: whoever reads the answer, with --follow and
// in JSON or YAML, as an object for each event in front of it; else a person. end ends that.
func followRun(c *cli.Call, in *runs.Request) (end func()) {
	end = func() {}
	loop := c.On("next")
	switch {
	case c.On("follow") && c.Who.Format != "text":
		in.Event = func(e runs.Event) { _ = c.Send(c.Streamed(e)) } // a run goes on though nobody reads
	case c.On("follow"):
		in.Event = (&runFollower{c: c, all: true, names: loop}).event
	case c.Who.Format == "text" && c.Env.StderrTTY:
		f := &runFollower{c: c, names: loop}
		in.Event = f.event
		if c.PersonReads(true) && c.Env.Getenv("TERM") != "dumb" {
			f.lines, end = watchRuns(c)
		}
	}
	return end
}

// runFollower prints what happens in a run beside the answer: all of it, or when a turn
// begins, what a person is asked, and that the agent is started again.
type runFollower struct {
	c     *cli.Call
	all   bool
	names bool      // of several threads
	open  bool      // a line of the agent's words is not ended
	lines *runLines // nil where no person looks on
}

func (f *runFollower) event(e runs.Event) {
	p := &page.Page{}
	if f.lines != nil {
		defer f.lines.happened(e)
	}
	switch {
	case f.lines != nil && e.Kind == "turn":
		return
	case !f.all && !slices.Contains([]string{"turn", "ask", "restart", "limit", "ended", "idle"}, e.Kind),
		e.Kind == "thought":
		return
	case e.Kind == "text":
		f.c.WriteAside(f.margin(visibleLines(e.Text)))
		return
	case f.open:
		p.Line("")
		f.open = false
	}
	who := ""
	if f.names {
		who = string(e.ThreadID) + ": "
	}
	switch e.Kind {
	case "idle":
		p.Line("-- %s", e.Text)
	case "ended":
		p.Line("-- %s%s", who, e.Text)
	case "turn":
		p.Line("-- %sturn %d", who, e.Turn)
	case "ask":
		id, what, _ := strings.Cut(e.Text, ": ")
		p.Line("-- %sit asks for %s (leslie approve %s, or leslie deny %s)", who, what, id, id)
	default:
		p.Line("-- %s%s%s", who, e.Kind, page.WithSeparator(": ", e.Text))
	}
	f.c.WriteAside(p.B.String())
}

// margin indents what the agent says, which comes in pieces: no line of it looks like one of
// leslie's own.
func (f *runFollower) margin(text string) string {
	if text == "" {
		return ""
	}
	begun := f.open
	f.open = !strings.HasSuffix(text, "\n")
	text = strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ")
	if !begun {
		text = "  " + text
	}
	if f.open {
		return text
	}
	return text + "\n"
}

// visibleLines makes what a program prints visible, and keeps its lines.
func visibleLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = page.Visible(lines[i])
	}
	return strings.Join(lines, "\n")
}

type runListText struct{ *runs.ListResult }

func (d runListText) Text(p *page.Page) {
	runTable(p, d.Items.Items)
	p.Rest(len(d.Items.Items), d.Total)
	switch {
	case d.Loop:
		p.Line("leslie run --next starts what is ready")
	case d.LoopKilled:
		p.Line("leslie run --next was killed; to go on: %s", d.LoopNext)
	case d.Total == 0:
		p.Line("no agent runs; leslie run THREAD starts one, leslie run --next those of whatever is ready")
	}
}

func runTable(p *page.Page, items []runs.Item) {
	page.TableOf(p, items, []page.Column[runs.Item]{
		{Column: screen.Column{Name: "THREAD"},
			Cell: page.Text(func(i runs.Item) thread.ThreadID { return i.ThreadID })},
		{Column: screen.Column{Name: "STATE", Shrinks: true},
			Cell: page.Text(func(i runs.Item) string { return page.RunEnding(i.RunRecord) })},
		{Column: screen.Column{Name: "AGENT"}, Cell: page.Text(func(i runs.Item) string { return i.Agent })},
		{Column: screen.Column{Name: "MACHINE", DropOrder: 3, Shrinks: true},
			Cell: page.Text(func(i runs.Item) string { return i.Machine }), HideIfEmpty: true},
		{Column: screen.Column{Name: "TURNS", DropOrder: 2},
			Cell: page.Text(func(i runs.Item) string { return strconv.Itoa(i.Turns) })},
		{Column: screen.Column{Name: "USED", DropOrder: 1},
			Cell: page.Text(func(i runs.Item) string { return page.UsedText(i.Used) }), HideIfEmpty: true},
	})
}

// RunList is the command leslie run list.
func RunList() *cli.Command {
	return &cli.Command{
		Name: "run list", Summary: "list the runs that go on or wait; --all adds those that have ended",
		Example:  "leslie run list",
		Operands: []cli.Operand{cli.ListedThreads()},
		Flags: []cli.Flag{cli.Toggle("all", "also runs that have ended"), cli.LimitFlag(),
			cli.FromFlag("only runs that began or ended")},
		Run: func(c *cli.Call) (cli.Data, error) {
			in := runs.ListRequest{Threads: c.Flags.Args().Slice(), All: c.On("all"), From: c.From(),
				Limit: c.Count("limit", app.DefaultLimit)}
			return cli.RunUseCase(c, runs.List, in,
				func(d *runs.ListResult) cli.Data { return runListText{d} })
		},
	}
}
