package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
	"leslie/internal/screen"
)

type agentsText struct{ *app.AgentsResult }

func (d agentsText) Text(p *page) {
	tableOf(p, d.Items, []column[app.AgentItem]{
		{Column: screen.Column{Name: "AGENT"}, cell: text(agentName)},
		{Column: screen.Column{Name: "STATE", Shrinks: true}, cell: text(agentState)},
		{Column: screen.Column{Name: "MODE", Goes: 2}, cell: text(func(i app.AgentItem) string { return orZero(i.Mode) }), used: true},
		{Column: screen.Column{Name: "COMMAND", Goes: 1, Shrinks: true}, cell: text(func(i app.AgentItem) string { return strings.Join(i.Command, " ") })},
	})
}

// agentName marks the agent that runs when no other is named.
func agentName(i app.AgentItem) string {
	if i.Default {
		return i.Name + " (default)"
	}
	return i.Name
}

// agentState says whether an agent can be started.
func agentState(i app.AgentItem) string {
	switch {
	case i.Check != nil && i.Check.OK:
		state := strings.TrimSpace(fmt.Sprintf("%s %s", i.Check.Agent, i.Check.Version))
		if !i.Check.ModeSet {
			state += ", has no mode " + *i.Mode
		}
		return fmt.Sprintf("%s, ready in %d ms", state, i.Check.Ms)
	case i.Check != nil:
		return string(i.Check.Code) + ": " + i.Check.Message
	case i.Program == nil && i.Package != "":
		return "not installed (npm install -g " + i.Package + ")"
	case i.Program == nil:
		return "not found"
	}
	return "installed"
}

func agentsCommand() *command {
	return &command{
		name: "agents", summary: "list the coding agents that leslie can start, and check that they do",
		detail: "--check starts each that is installed, opens a session and ends it; no prompt is sent, so it costs nothing. With a NAME, " +
			"a failure is an error. Your own configuration names others (run.agents), and the one to run (run.agent).",
		example:  "leslie agents --check",
		operands: []operand{{value: anyText("NAME"), optional: true}},
		flags:    []cli.Flag{toggle("check", "start each one, open a session and end it")}, run: runAgents,
	}
}

func runAgents(c *call) (Data, error) {
	return runUseCase(c, app.Agents, app.AgentsRequest{Name: c.operand(0), Check: c.on("check")}, func(d *app.AgentsResult) Data { return agentsText{d} })
}
