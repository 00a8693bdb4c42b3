package runcmd

import (
	"fmt"
	"strings"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/app/runs"
	"leslie/internal/screen"
)

type agentsText struct{ *agents.ListResult }

// nightText is what would stop the agent of a thread that nobody watches.
type nightText struct{ *runs.NightResult }

func (d nightText) Text(p *page.Page) {
	agentsText{&d.ListResult}.Text(p)
	n := d.Night
	if len(n.Stops) == 0 {
		p.Line("nothing is known that would stop %s on %s (profile %s)", n.Agent, n.ThreadID, string(n.Profile))
	} else {
		p.Line("what would stop %s on %s (profile %s):", n.Agent, n.ThreadID, string(n.Profile))
	}
	for _, item := range n.Stops {
		p.Line("  %s%s", item.What, page.WithSeparator("  ", item.Next))
	}
	for _, item := range n.Notes {
		p.Line("note: %s%s", item.What, page.WithSeparator("  ", item.Next))
	}
}

func (d agentsText) Text(p *page.Page) {
	page.TableOf(p, d.Items, []page.Column[agents.Item]{
		{Column: screen.Column{Name: "AGENT"}, Cell: page.Text(agentName)},
		{Column: screen.Column{Name: "STATE", Shrinks: true}, Cell: page.Text(agentState)},
		{Column: screen.Column{Name: "MODE", DropOrder: 2},
			Cell: page.Text(func(i agents.Item) string { return app.OrZero(i.Mode) }), HideIfEmpty: true},
		{Column: screen.Column{Name: "COMMAND", DropOrder: 1, Shrinks: true},
			Cell: page.Text(func(i agents.Item) string { return strings.Join(i.Command, " ") })},
	})
}

// agentName marks the agent that runs when no other is named.
func agentName(i agents.Item) string {
	if i.Default {
		return i.Name + " (default)"
	}
	return i.Name
}

// agentState says whether an agent can be started.
func agentState(i agents.Item) string {
	switch {
	case i.Check != nil && i.Check.OK:
		var said []string
		if name := strings.TrimSpace(i.Check.Agent + " " + i.Check.Version); name != "" { // not all say it
			said = append(said, name)
		}
		if !i.Check.ModeSet {
			said = append(said, "has no mode "+*i.Mode)
		}
		return strings.Join(append(said, fmt.Sprintf("ready in %d ms", i.Check.Ms)), ", ")
	case i.Check != nil:
		return string(i.Check.Code) + ": " + i.Check.Message
	case i.Program == nil && i.Package != "":
		return "not installed (npm install -g " + i.Package + ")"
	case i.Program == nil:
		return "not found"
	}
	if i.LimitedUntil != nil {
		return "installed, may use nothing more until " + i.LimitedUntil.Format(time.RFC3339)
	}
	return "installed"
}

// Agents is the command leslie agents.
func Agents() *cli.Command {
	return &cli.Command{
		Name: "agents", Summary: "list the coding agents that leslie can start, and check that they do",
		Detail: "--check starts each that is installed, in the project's folder, opens a session and ends it; no prompt is sent, so " +
			"it costs nothing. With a NAME, a failure is an error. Your own configuration names others (run.agents), and the " +
			"one to run (run.agent). --night says, before you leave it alone, what would stop the agent of a thread: that it " +
			"does not start, that nobody has allowed what the thread needs, that git knows no name to commit with.",
		Example:  "leslie agents --check",
		Operands: []cli.Operand{{Value: cli.Text("NAME").Offering(cli.AgentNames), Optional: true}},
		Flags: []cli.Flag{
			cli.Toggle("check", "start each one, open a session and end it"),
			cli.NewFlag("night", cli.ID("ID", cli.ThreadIDs), "say what would stop the agent of this thread"),
		},
		Run: runAgents,
	}
}

func runAgents(c *cli.Call) (cli.Data, error) {
	if c.Has("night") {
		return cli.RunUseCase(c, runs.Night, runs.NightRequest{Thread: c.Text("night"), Agent: c.Operand(0)},
			func(d *runs.NightResult) cli.Data { return nightText{d} })
	}
	return cli.RunUseCase(c, agents.List, agents.ListRequest{Name: c.Operand(0), Check: c.On("check")},
		func(d *agents.ListResult) cli.Data { return agentsText{d} })
}
