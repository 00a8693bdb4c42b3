package main

import (
	"io"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/toolserver"
	"leslie/thread"
)

// This file implements mcp: leslie as a server of tools for the client of a model.

// beatEvery is how often a client hears that a call goes on for which it waits: clients
// give up after a minute of silence.
const beatEvery = 10 * time.Second

func mcpCommand() *command {
	return &command{
		name: "mcp", summary: "serve leslie's tools to an agent's client by the Model Context Protocol (stdio)",
		detail: "A client starts this as a program and talks with it on standard input and output: leslie help mcp has the tools, and what to configure. " +
			"Its caller is always an agent. Who that is, and for which thread it speaks, comes from --actor and --thread or from LESLIE_ACTOR and LESLIE_THREAD, " +
			"never from the argument of a tool. It ends when its standard input does.",
		example: "leslie mcp",
		streams: always, run: runMCP,
	}
}

func runMCP(c *call) (Data, error) {
	if c.has("as") && c.who.as != thread.Agent {
		c.fault("--as", c.text("as"), "--as must be agent: whoever calls a tool is one")
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	if c.env.stdinTTY {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "standard input is a terminal: a client starts leslie mcp, and talks with it there")).
			WithHint("Configure a client with it").WithNext("leslie help mcp")
	}
	asAgent(c)
	settings := toolserver.Settings{
		Version: version, Caller: c.caller(), Beat: beating,
		Open:    func() (*app.Project, error) { return app.Open(c.who.dir, environment(c)) },
		Context: func(op *app.Call, id string, seen bool) (any, string, error) { return toolContext(c, op, id, seen) },
		Line:    func(op *app.Call, line string) string { return toolLine(toolCall(c, op), line) },
	}
	err := lend(c, func(in io.Reader, out io.Writer) error { return toolserver.Serve(c.ctx, in, out, settings) })
	if err != nil && c.ctx.Err() != nil {
		err = codes.Interrupted.Wrap(err)
	}
	return nil, err
}

// asAgent makes the caller an agent, whatever its environment says, with a name that holds
// as long as the server: its own, that of the agent's process, else a new one.
func asAgent(c *call) {
	if !c.has("thread") && c.env.getenv("LESLIE_THREAD") == "" {
		c.who.thread = "" // a person's default: the folder in which they are
	}
	c.who.as = thread.Agent
	if c.who.unnamed {
		c.who.actor, c.who.unnamed = "", false
		c.who.nameActor(c.env)
	}
	if c.who.unnamed {
		c.who.actor, c.who.unnamed, c.who.derived = c.env.newID("agent-"), false, true
	}
}

// toolCall is a call of a tool: the server's caller and line, with a use case of its own.
func toolCall(c *call, op *app.Call) *call { return &call{ctx: c.ctx, given: c.given, op: op} }

// toolLine is a command of an error in the form in which the caller can run it.
func toolLine(c *call, line string) string { return rendering{c}.callerLine(places{c}.inLine(line)) }

// toolContext is a thread's context, as its data and as the block alone.
func toolContext(c *call, op *app.Call, id string, seen bool) (any, string, error) {
	d, err := app.Context(op, app.ContextRequest{Thread: id})
	if err != nil {
		return nil, "", err
	}
	data, shown := shownContext(toolCall(c, op), d)
	if seen && d.Speaks && len(shown) > 0 {
		app.MarkSeen(op, d.Thread.ID, shown)
	}
	return data, data.Context, nil
}

func beating() (<-chan time.Time, func()) {
	t := time.NewTicker(beatEvery)
	return t.C, t.Stop
}
