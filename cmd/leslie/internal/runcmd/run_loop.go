package runcmd

import (
	"slices"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/cmd/leslie/internal/threadcmd"
	"leslie/internal/app"
	"leslie/internal/app/runs"
	"leslie/thread"
)

// This file runs the agents of whatever is ready, and stops runs.

type runLoopText struct{ *runs.LoopResult }

func (d runLoopText) Text(p *page.Page) {
	runTable(p, d.Items.Items)
	if d.Total == 0 {
		p.Line("nothing was ready to run")
	}
}

// runNext is run --next.
func runNext(c *cli.Call, run runs.Request) (cli.Data, error) {
	in := runs.LoopRequest{Run: run, Parallel: c.Count("parallel", 0), UntilIdle: c.On("until-idle"),
		Objective: c.Text("objective")}
	if c.Operand(0) != "" {
		c.Fault("--next", "", "--next chooses the threads: leave ID out")
	}
	c.MeansNothing("with --next", "fresh")
	c.CheckRequest(in.Faults, nil)
	if c.On("detach") {
		return detach(c, runs.DetachRequest{Loop: &in})
	}
	in.Flags = loopFlags(c)
	d, err := cli.UseCase(c, runs.Loop, in)
	if d == nil {
		return nil, err
	}
	return runLoopText{d}, err
}

// loopFlags are the flags with which the same is started again.
func loopFlags(c *cli.Call) (flags []string) {
	for _, f := range c.Line.Flags {
		switch f.Name {
		case "agent", "turns", "ask", "mode", "max-tokens", "max-cost", "max-time", "parallel", "objective":
			flags = append(flags, "--"+f.Name, f.Text)
		case "until-idle":
			flags = append(flags, "--"+f.Name)
		}
	}
	return flags
}

// newWorkFlags say what the thread of run --new is.
func newWorkFlags() []cli.Flag {
	return append(threadcmd.SpawnFlags(), cli.Toggle("no-code", "make no branch and no worktree"))
}

// runNew is run --new: it creates a thread, and an objective for it, and runs that.
func runNew(c *cli.Call, in runs.Request) (cli.Data, error) {
	if c.Operand(0) != "" {
		c.Fault("--new", "", "--new creates the thread: leave ID out")
	}
	c.MeansNothing("with --new", "next", "parallel", "until-idle", "fresh")
	c.CheckRequest(in.Faults, nil)
	work := runs.NewRequest{SpawnRequest: threadcmd.SpawnRequest(c), NoCode: c.On("no-code"), Agent: in.Agent}
	work.Intent = c.Text("new")
	labels := map[string]string{"Intent": "--new", "Refs": "--ref", "Tags": "--tag", "Accept": "--accept"}
	c.CheckRequest(work.Faults, labels)
	var made *runs.NewResult
	if len(c.Faults) == 0 { // else standard input is left unread
		var err error
		work.Intent = c.ReadContent("new", app.MaxContent)
		made, err = cli.UseCase(c, runs.RunNew, work)
		if err != nil {
			return nil, c.UsageOf(err, labels)
		}
		in.Thread = string(made.ThreadID)
		if c.Who.Format == "text" {
			where := ""
			if made.Worktree != "" {
				where = ", on " + made.Branch + " in " + made.Worktree
			}
			c.WriteAside("leslie: thread " + in.Thread + " of objective " + string(made.ObjectiveID) + where + "\n")
		}
		if c.On("detach") {
			data, err := detach(c, runs.DetachRequest{Thread: in.Thread, Agent: in.Agent})
			if err != nil {
				err = made.NotStarted(err)
			}
			return data, err
		}
	}
	d, err := cli.UseCase(c, runs.Run, in)
	if made != nil && err != nil && (d == nil || d.Turns == 0) {
		err = made.NotStarted(err)
	}
	if d == nil {
		return nil, err
	}
	return runText{d}, err
}

type detachText struct{ *runs.DetachResult }

func (d detachText) Text(p *page.Page) {
	if d.Idle {
		p.Line("nothing was ready to run")
		return
	}
	if d.ThreadID == nil {
		p.Line("leslie run --next goes on in the background; leslie run stop --loop stops it")
	} else {
		p.Line("run %s of %s goes on in the background, agent %s", *d.RunID, *d.ThreadID, d.Agent)
		if d.Phase == thread.RunStarting {
			p.Line("its agent has not opened a session yet; leslie run list says when it has")
		}
		p.Line("leslie run log %s --follow shows what it does, leslie run stop %s stops it", *d.ThreadID, *d.ThreadID)
	}
	p.Field("log", d.Log)
}

// detach starts the same line in the background, for a thread or for whatever is ready.
func detach(c *cli.Call, in runs.DetachRequest) (cli.Data, error) {
	args := []string{"run"}
	if in.Thread != "" {
		args = append(args, in.Thread)
	}
	ofThread := cli.Names(newWorkFlags())
	for _, f := range c.Line.Flags {
		if c.Has("new") && (f.Name == "objective" || slices.Contains(ofThread, f.Name)) {
			continue // the thread has it
		}
		switch f.Name {
		case "detach", "new", "thread", "dir":
		default:
			args = append(args, "--"+f.Name+"="+f.Text)
		}
	}
	args = append(args, "--dir="+c.Who.Dir, "--no-input=true")
	in.Args = args
	return cli.RunUseCase(c, runs.Detach, in, func(d *runs.DetachResult) cli.Data { return detachText{d} })
}

// RunStop is the command leslie run stop.
func RunStop() *cli.Command {
	return &cli.Command{
		Name: "run stop", Summary: "stop the runs of threads, and wait until they have stopped",
		Writes: true, Unrecorded: true,
		Detail: "An agent is asked to end its turn; --now ends it at once. The next leslie run goes on with its " +
			"session. --all stops every run of the project and the leslie run --next that starts them, --loop only " +
			"that one with its agents; the next leslie run --next goes on with all of them.",
		Example:  "leslie stop write-docs",
		Operands: []cli.Operand{{Value: cli.ID("ID", cli.ThreadIDs), Optional: true, Many: true}},
		Flags: []cli.Flag{cli.Toggle("all", "stop every run, and leslie run --next"),
			cli.Toggle("loop", "stop leslie run --next"),
			cli.Toggle("now", "do not let the agent end its turn")},
		Run: runStop,
	}
}

func runStop(c *cli.Call) (cli.Data, error) {
	ids, one := c.Flags.Args().Slice(), "loop"
	if c.On("all") {
		one = "all"
		c.MeansNothing("with --all", "loop")
	}
	switch {
	case !c.On(one):
		if len(ids) > 1 {
			return stopSeveral(c, runs.StopSeveralRequest{Threads: ids, Now: c.On("now")})
		}
		if len(ids) == 0 && c.Who.Thread == "" && c.WorktreeThread() == "" {
			c.Faults = append(c.Faults, cli.Fault{Field: "ID", Problem: "the operand ID is missing, or --all",
				Hint: "leslie stop ID stops the run of a thread, leslie stop --all all of them", Next: "leslie run list"})
		}
		return cli.RunUseCase(c, runs.Stop, runs.StopRequest{Thread: c.TargetThread(), Now: c.On("now")},
			func(d *runs.Result) cli.Data { return runText{d} })
	case len(ids) > 0:
		c.Fault("--"+one, "", "--"+one+" stops whatever runs: leave ID out")
	}
	if one == "all" {
		return stopSeveral(c, runs.StopSeveralRequest{All: true, Now: c.On("now")})
	}
	c.MeansNothing("with --loop", "now")
	return cli.RunUseCase(c, runs.StopLoop, runs.StopLoopRequest{},
		func(d *runs.StopLoopResult) cli.Data { return stopLoopText{d} })
}

func stopSeveral(c *cli.Call, in runs.StopSeveralRequest) (cli.Data, error) {
	return cli.RunUseCase(c, runs.StopSeveral, in, func(d *runs.StopSeveralResult) cli.Data { return stopSeveralText{d} })
}

type stopSeveralText struct{ *runs.StopSeveralResult }

func (d stopSeveralText) Text(p *page.Page) {
	for _, one := range d.Items {
		runText{one}.Text(p)
	}
	switch {
	case d.Loop:
		p.Line("leslie run --next has stopped")
	case len(d.Items) == 0:
		p.Line("no agent was running")
	}
}

type stopLoopText struct{ *runs.StopLoopResult }

func (d stopLoopText) Text(p *page.Page) {
	if d.Changed {
		p.Line("leslie run --next has stopped")
		return
	}
	p.Line("leslie run --next was not running")
}
