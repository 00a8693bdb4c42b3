package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
)

// This file runs the agents of whatever is ready, and stops runs.

type runLoopText struct{ *app.RunLoopResult }

func (d runLoopText) Text(p *page) {
	runTable(p, d.Items.Items)
	if d.Total == 0 {
		p.line("nothing was ready to run")
	}
}

// runNext is run --next.
func runNext(c *call, run app.RunRequest) (Data, error) {
	in := app.RunLoopRequest{Run: run, Parallel: c.count("parallel", 0), UntilIdle: c.on("until-idle"), Objective: c.text("objective")}
	if c.operand(0) != "" {
		c.fault("--next", "", "--next chooses the threads: leave ID out")
	}
	c.meansNothing("with --next", "fresh")
	c.checkRequest(in.Faults, nil)
	if c.on("detach") {
		return detach(c, "")
	}
	d, err := useCase(c, app.RunLoop, in)
	if d == nil {
		return nil, err
	}
	return runLoopText{d}, err
}

// runNew is run --new: it creates an objective and a thread, and runs that.
func runNew(c *call, in app.RunRequest) (Data, error) {
	if c.operand(0) != "" {
		c.fault("--new", "", "--new creates the thread: leave ID out")
	}
	c.meansNothing("with --new", "next", "parallel", "until-idle", "objective", "fresh")
	c.checkRequest(in.Faults, nil)
	if len(c.faults) == 0 { // else standard input is left unread
		text := c.readContent("new", app.MaxContent)
		made, err := useCase(c, app.NewWork, app.NewWorkRequest{Text: text, Agent: in.Agent})
		if err != nil {
			return nil, err
		}
		in.Thread = string(made.ThreadID)
		if c.who.format == "text" {
			aside(c, "leslie: thread "+in.Thread+" of objective "+string(made.ObjectiveID)+"\n")
		}
		if c.on("detach") {
			return detach(c, in.Thread)
		}
	}
	d, err := useCase(c, app.Run, in)
	if d == nil {
		return nil, err
	}
	return runText{d}, err
}

type detachText struct{ *app.DetachResult }

func (d detachText) Text(p *page) {
	if d.ThreadID == nil {
		p.line("leslie run --next goes on in the background; leslie run stop --loop stops it")
	} else {
		p.line("run %s of %s goes on in the background, agent %s", *d.RunID, *d.ThreadID, d.Agent)
		p.line("leslie run log %s --follow shows what it does, leslie run stop %s stops it", *d.ThreadID, *d.ThreadID)
	}
	p.field("log", d.Log)
}

// detach starts the same line in the background, for a thread or for whatever is ready.
func detach(c *call, thread string) (Data, error) {
	args := []string{"run"}
	if thread != "" {
		args = append(args, thread)
	}
	for _, f := range c.line.flags {
		switch f.Name {
		case "detach", "new", "thread", "dir":
		default:
			args = append(args, "--"+f.Name+"="+f.text)
		}
	}
	args = append(args, "--dir="+c.who.dir, "--no-input=true")
	return runUseCase(c, app.Detach, app.DetachRequest{Thread: thread, Args: args}, func(d *app.DetachResult) Data { return detachText{d} })
}

func runStopCommand() *command {
	return &command{
		name: "run stop", summary: "stop a thread's run, and wait until it has stopped; --loop stops run --next", writes: true, unrecorded: true,
		detail: "Its agent is asked to end its turn; --now ends it at once. The next leslie run goes on with its session. --loop stops the process that runs " +
			"whatever is ready, with its agents; the next leslie run --next goes on with all of them.",
		example:  "leslie run stop thread-a1b2c3d4",
		operands: []operand{{value: anID("ID", threadIDs), optional: true}},
		flags:    []cli.Flag{toggle("now", "do not let the agent end its turn"), toggle("loop", "stop leslie run --next")},
		run: func(c *call) (Data, error) {
			if !c.on("loop") {
				return runUseCase(c, app.RunStop, app.RunStopRequest{Thread: c.targetThread(), Now: c.on("now")}, func(d *app.RunResult) Data { return runText{d} })
			}
			if c.operand(0) != "" {
				c.fault("--loop", "", "--loop stops all runs of leslie run --next: leave ID out")
			}
			c.meansNothing("with --loop", "now")
			return runUseCase(c, app.StopLoop, app.StopLoopRequest{}, func(d *app.StopLoopResult) Data { return stopLoopText{d} })
		},
	}
}

type stopLoopText struct{ *app.StopLoopResult }

func (d stopLoopText) Text(p *page) {
	if d.Changed {
		p.line("leslie run --next has stopped")
		return
	}
	p.line("leslie run --next was not running")
}
