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
		Name: "run stop", Summary: "stop a thread's run, and wait until it has stopped; --loop stops run --next",
		Writes: true, Unrecorded: true,
		Detail: "Its agent is asked to end its turn; --now ends it at once. The next leslie run goes on with its " +
			"session. --loop stops the process that runs whatever is ready, with its agents; the next leslie run " +
			"--next goes on with all of them.",
		Example:  "leslie run stop write-docs",
		Operands: []cli.Operand{{Value: cli.AnID("ID", cli.ThreadIDs), Optional: true}},
		Flags: []cli.Flag{cli.Toggle("now", "do not let the agent end its turn"),
			cli.Toggle("loop", "stop leslie run --next")},
		Run: func(c *cli.Call) (cli.Data, error) {
			if !c.On("loop") {
				return cli.RunUseCase(c, runs.Stop, runs.StopRequest{Thread: c.TargetThread(), Now: c.On("now")},
					func(d *runs.Result) cli.Data { return runText{d} })
			}
			if c.Operand(0) != "" {
				c.Fault("--loop", "", "--loop stops all runs of leslie run --next: leave ID out")
			}
			c.MeansNothing("with --loop", "now")
			return cli.RunUseCase(c, runs.StopLoop, runs.StopLoopRequest{},
				func(d *runs.StopLoopResult) cli.Data { return stopLoopText{d} })
		},
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
