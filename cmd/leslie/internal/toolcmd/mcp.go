package toolcmd

import (
	"io"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/threadcmd"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/internal/toolserver"
	"leslie/thread"
)

// This file implements mcp: leslie as a server of tools for the client of a model.

// beatEvery is how often a client hears that a call goes on for which it waits: clients
// give up after a minute of silence.
const beatEvery = 10 * time.Second

// Mcp is the command leslie mcp.
func Mcp() *cli.Command {
	return &cli.Command{
		Name: "mcp", Summary: "serve leslie's tools to an agent's client by the Model Context Protocol (stdio)",
		Detail: "A client starts this as a program and talks with it on standard input and output: leslie help topics mcp " +
			"has the tools, and what to configure. Its caller is always an agent. Who that is, and for which thread " +
			"it speaks, comes from --actor and --thread or from LESLIE_ACTOR and LESLIE_THREAD, never from the " +
			"argument of a tool. It ends when its standard input does.",
		Example: "leslie mcp",
		Streams: cli.Always, Run: runMCP,
	}
}

func runMCP(c *cli.Call) (cli.Data, error) {
	if c.Has("as") && c.Who.As != thread.Agent {
		c.Fault("--as", c.Text("as"), "--as must be agent: whoever calls a tool is one")
	}
	if err := c.Usage(); err != nil {
		return nil, err
	}
	if c.Env.StdinTTY {
		return nil, codes.InvalidArgument.New(fact.Of("reason",
			"standard input is a terminal: a client starts leslie mcp, and talks with it there")).
			WithHint("Configure a client with it").WithNext("leslie help topics mcp")
	}
	asAgent(c)
	settings := toolserver.Settings{
		Version: c.Env.Version, Caller: c.Caller(), Beat: beating,
		Open: func() (*app.Project, error) { return app.Open(c.Who.Dir, c.Environment()) },
		Context: func(op *app.Call, id string, seen bool) (thread.Thread, string, error) {
			return toolContext(c, op, id, seen)
		},
		Line: func(op *app.Call, line string) string { return toolLine(toolCall(c, op), line) },
	}
	if c.Who.Derived { // from a process that may have started several servers
		settings.Named = func(p *app.Project) string {
			name, _, err := p.Call(c.Ctx, c.Caller(), app.Request{}).Store().HoldName(c.Who.Actor)
			if err != nil { // a store that cannot be written has no claims either
				return c.Who.Actor
			}
			return name
		}
	}
	err := c.Lend(func(in io.Reader, out io.Writer) error { return toolserver.Serve(c.Ctx, in, out, settings) })
	if err != nil && c.Ctx.Err() != nil {
		err = codes.Interrupted.Wrap(err)
	}
	return nil, err
}

// asAgent makes the caller an agent, whatever its environment says, with a name that holds
// as long as the server: its own, that of the agent's process, else a new one.
func asAgent(c *cli.Call) {
	if !c.Has("thread") && c.Env.Getenv("LESLIE_THREAD") == "" {
		c.Who.Thread = "" // a person's default: the folder in which they are
	}
	c.Who.As = thread.Agent
	if c.Who.Unnamed {
		c.Who.Actor, c.Who.Unnamed = "", false
		c.Who.NameActor(c.Env)
	}
	if c.Who.Unnamed {
		c.Who.Actor, c.Who.Unnamed, c.Who.Derived = c.Env.NewID("agent-"), false, true
	}
}

// toolCall is a call of a tool: the server's caller and line, with a use case of its own.
func toolCall(c *cli.Call, op *app.Call) *cli.Call {
	return &cli.Call{Ctx: c.Ctx, Given: c.Given, Op: op}
}

// toolLine is a command of an error in the form in which the caller can run it.
func toolLine(c *cli.Call, line string) string { return c.CallerLine(c.InLine(line)) }

// toolContext is a thread and the block of its context.
func toolContext(c *cli.Call, op *app.Call, id string, seen bool) (thread.Thread, string, error) {
	d, err := threads.Context(op, threads.ContextRequest{Thread: id})
	if err != nil {
		return thread.Thread{}, "", err
	}
	data, shown := threadcmd.ShownContext(toolCall(c, op), d)
	if seen && d.Speaks {
		op.WillShow(d.Thread, shown)
	}
	return d.Thread, data.Context, nil
}

func beating() (<-chan time.Time, func()) {
	t := time.NewTicker(beatEvery)
	return t.C, t.Stop
}
