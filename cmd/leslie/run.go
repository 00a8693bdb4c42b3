package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file runs the agents of threads, lists the runs and stops them.

type runText struct{ *app.RunResult }

func (d runText) Text(p *page) {
	if d.RunID == "" {
		p.line("%s has no run", d.ThreadID)
		return
	}
	p.line("run %s of %s  %s", d.RunID, d.ThreadID, runEnding(d.RunRecord))
	p.line("agent %s, %s%s", d.Agent, many(d.Turns, "turn"), behind(", ", usedText(d.Used)))
}

// behind puts a separator before a text that is not empty.
func behind(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// usedText says what a run has used, as far as its agent has told it.
func usedText(u thread.Use) string {
	var parts []string
	if n, known := u.Tokens(); known {
		parts = append(parts, strconv.FormatInt(n, 10)+" tokens")
	}
	if len(u.Cost) > 0 {
		parts = append(parts, costText(u.Cost))
	}
	return strings.Join(parts, ", ")
}

// costText is an amount in each currency.
func costText(all []thread.Cost) string {
	var parts []string
	for _, c := range all {
		parts = append(parts, fmt.Sprintf("%.2f %s", c.Amount, c.Currency))
	}
	return strings.Join(parts, ", ")
}

func runCommand() *command {
	modes := make([]string, 0, len(app.AskModes()))
	for _, m := range app.AskModes() {
		modes = append(modes, string(m))
	}
	return &command{
		name: "run", lasts: true, summary: "run a thread's agent, or with --next those of whatever is ready", writes: true, unrecorded: true,
		detail: "The agent works in the thread's worktree, or in the project's folder, until the thread is done, waits, or reaches a limit; rules say what it may do, " +
			"--ask what becomes of the rest: a person decides, or all is denied, or allowed. The next run goes on with its session. Status 0: it is done.",
		example:  "leslie run thread-a1b2c3d4 --agent claude",
		operands: []operand{{value: anID("ID", threadIDs), optional: true}},
		flags: []cli.Flag{
			newOption("new", anyText("TEXT"), "create an objective and a thread, and run that"),
			toggle("next", "run what is ready or can go on, until a signal comes"),
			newOption("parallel", aNumber("N"), "with --next: so many agents at once (run.parallel, 2)"),
			toggle("until-idle", "with --next: end when nothing is left to run"),
			newOption("objective", anID("ID", objectiveIDs), "with --next: only its threads"),
			newOption("agent", anyText("NAME"), "run this agent (leslie agents)"),
			toggle("fresh", "begin a new session"),
			newOption("turns", aNumber("N"), "end a run after N turns (20)"),
			newOption("ask", oneOf(modes...), "who answers what the rules ask about (person)"),
			newOption("mode", anyText("MODE"), "the agent's own mode of asking"),
			newOption("max-tokens", aNumber("N"), "end a run that has used N tokens"),
			newOption("max-cost", anAmount(), "end a run that has cost that much"),
			toggle("follow", "print what it says and does"),
			toggle("detach", "go on in the background (leslie run list)"),
		},
		run: runRun,
	}
}

func runRun(c *call) (Data, error) {
	in := app.RunRequest{
		Agent: c.text("agent"), Fresh: c.on("fresh"), Turns: c.count("turns", 0), Ask: app.AskMode(c.text("ask")),
		MaxTokens: int64(c.count("max-tokens", 0)), Guide: guide(commands()),
		Context: func(d *app.ContextResult, dir string) (string, []thread.InjectionID) {
			there := *c
			there.env.dir = dir
			return (&contextBlock{places{&there}.inContext(d), places{&there}.place(app.StatePath), true}).render()
		},
	}
	in.MaxCost, _ = strconv.ParseFloat(c.text("max-cost"), 64) // checked with the line
	in.Mode = c.optional("mode")
	defer followRun(c, &in)()
	if c.has("new") || c.faulty("new") {
		return runNew(c, in)
	}
	if c.on("next") {
		return runNext(c, in)
	}
	in.Thread = c.targetThread()
	c.meansNothing("without --next", "parallel", "until-idle", "objective")
	c.checkRequest(in.Faults, nil)
	if c.on("detach") {
		return detach(c, in.Thread)
	}
	d, err := useCase(c, app.Run, in)
	if d == nil {
		return nil, err
	}
	return runText{d}, err
}

// followRun sets who is told what happens in a run: whoever reads the answer, with --follow and
// in JSON or YAML, as an object for each event in front of it; else a person. end ends that.
func followRun(c *call, in *app.RunRequest) (end func()) {
	end = func() {}
	loop := c.on("next")
	switch {
	case c.on("follow") && c.who.format != "text":
		in.Event = func(e app.RunEvent) { _ = rendering{c}.send(rendering{c}.streamed(e)) } // a run goes on though nobody reads
	case c.on("follow"):
		in.Event = (&runFollower{c: c, all: true, names: loop}).event
	case c.who.format == "text" && c.env.stderrTTY:
		f := &runFollower{c: c, names: loop}
		in.Event = f.event
		if personReads(c, true) && c.env.getenv("TERM") != "dumb" {
			f.lines, end = watchRuns(c)
		}
	}
	return end
}

// runFollower prints what happens in a run beside the answer: all of it, or when a turn
// begins, what a person is asked, and that the agent is started again.
type runFollower struct {
	c     *call
	all   bool
	names bool      // of several threads
	open  bool      // a line of the agent's words is not ended
	lines *runLines // nil where no person looks on
}

func (f *runFollower) event(e app.RunEvent) {
	p := &page{}
	if f.lines != nil {
		defer f.lines.happened(e)
	}
	switch {
	case f.lines != nil && e.Kind == "turn":
		return
	case !f.all && !slices.Contains([]string{"turn", "ask", "restart", "limit", "ended", "idle"}, e.Kind), e.Kind == "thought":
		return
	case e.Kind == "text":
		aside(f.c, f.margin(visibleLines(e.Text)))
		return
	case f.open:
		p.line("")
		f.open = false
	}
	who := ""
	if f.names {
		who = string(e.ThreadID) + ": "
	}
	switch e.Kind {
	case "idle":
		p.line("-- %s", e.Text)
	case "ended":
		p.line("-- %s%s", who, e.Text)
	case "turn":
		p.line("-- %sturn %d", who, e.Turn)
	case "ask":
		id, what, _ := strings.Cut(e.Text, ": ")
		p.line("-- %sit asks for %s (leslie approve %s, or leslie deny %s)", who, what, id, id)
	default:
		p.line("-- %s%s%s", who, e.Kind, behind(": ", e.Text))
	}
	aside(f.c, p.b.String())
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
		lines[i] = visible(lines[i])
	}
	return strings.Join(lines, "\n")
}

type runListText struct{ *app.RunListResult }

func (d runListText) Text(p *page) {
	runTable(p, d.Items.Items)
	switch {
	case d.Loop:
		p.line("leslie run --next starts what is ready")
	case d.Total == 0:
		p.line("no agent runs; leslie run THREAD starts one, leslie run --next those of whatever is ready")
	}
}

func runTable(p *page, items []app.RunItem) {
	tableOf(p, items, []column[app.RunItem]{
		{Column: screen.Column{Name: "THREAD"}, cell: text(func(i app.RunItem) thread.ThreadID { return i.ThreadID })},
		{Column: screen.Column{Name: "STATE", Shrinks: true}, cell: text(runState)},
		{Column: screen.Column{Name: "AGENT"}, cell: text(func(i app.RunItem) string { return i.Agent })},
		{Column: screen.Column{Name: "MACHINE", Goes: 3, Shrinks: true}, cell: text(func(i app.RunItem) string { return i.Machine }), used: true},
		{Column: screen.Column{Name: "TURNS", Goes: 2}, cell: text(func(i app.RunItem) string { return strconv.Itoa(i.Turns) })},
		{Column: screen.Column{Name: "USED", Goes: 1}, cell: text(func(i app.RunItem) string { return usedText(i.Used) }), used: true},
	})
}

// runState says how a run stands.
func runState(i app.RunItem) string {
	if i.Stop == "" && !i.Alive && i.Phase != thread.RunWanted {
		return "its process was killed"
	}
	return runEnding(i.RunRecord)
}

// runEnding says how a run ended, or how far it was.
func runEnding(r app.RunRecord) string {
	if r.Stop == "" {
		return string(r.Phase)
	}
	return string(r.Stop) + behind(": ", r.Reason)
}

// totalsText says what runs have used.
func totalsText(r *thread.RunTotals) string {
	if r == nil {
		return ""
	}
	return many(r.Runs, "run") + ", " + many(r.Turns, "turn") + behind(", ", usedText(r.Used))
}

func runListCommand() *command {
	return &command{
		name: "run list", summary: "list the runs that go on or wait; --all adds those that have ended",
		example: "leslie run list",
		flags:   []cli.Flag{toggle("all", "also runs that have ended")},
		run: func(c *call) (Data, error) {
			return runUseCase(c, app.RunList, app.RunListRequest{All: c.on("all")}, func(d *app.RunListResult) Data { return runListText{d} })
		},
	}
}
