package main

import (
	"github.com/urfave/cli/v2"

	"leslie/internal/app"
)

type initText struct{ *app.InitResult }

func (d initText) Text(p *page) {
	switch {
	case d.Created:
		p.line("created the store in %s/%s", d.Root, app.StoreFolder)
	case d.Changed:
		p.line("the store already exists in %s/%s", d.Root, app.StoreFolder)
	default:
		p.line("nothing to do: the store is in %s/%s", d.Root, app.StoreFolder)
		return
	}
	if d.AgentsFile != nil {
		p.line("%s tells agents how to use leslie", *d.AgentsFile)
	}
	for _, name := range d.Imports {
		p.line("%s imports %s", name, app.AgentsFile)
	}
	if d.Created {
		p.line("next: leslie objective create TITLE")
	}
}

func initCommand() *command {
	return &command{
		name: "init", summary: "create a store in this folder and tell agents about leslie in AGENTS.md", writes: true, unrecorded: true,
		detail: "If there is a store in this folder or above, only the block in AGENTS.md is updated. Text outside the block is never changed. " +
			"Some agents read only a file of their own: CLAUDE.md and GEMINI.md get the line @" + app.AgentsFile + " if that agent is used, as its " +
			"file or folder (.claude, .gemini) or --agents shows.",
		example: "leslie init",
		flags: []cli.Flag{
			toggle("no-agents", "do not change AGENTS.md"),
			toggle("here", "create a store in this folder even if there is one above"),
			newOption("agents", listOf(app.AgentsWithOwnFile()...), "agents that are used here"),
			formerSwitch("yes"),
		},
		run: runInit,
	}
}

func runInit(c *call) (Data, error) {
	in := app.InitRequest{Dir: c.who.dir, Here: c.on("here"), Agents: c.parts("agents")}
	if !c.on("no-agents") {
		in.Guide = agentsGuide()
	}
	env := environment(c)
	c.checkRequest(func(app.Names) []app.Fault { return in.Faults(env) }, nil)
	if err := c.usage(); err != nil {
		return nil, err
	}
	op, d, err := app.Init(c.ctx, env, c.caller(), c.request(), in)
	c.op = op
	if d == nil {
		return nil, err
	}
	return initText{d}, err
}
