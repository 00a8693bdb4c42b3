package toolserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/warnings"
)

// tool is one tool: what a model reads of it, and the use case that it calls.
type tool struct {
	name, title, description string
	arguments                []argument
	// reads: it changes nothing. takesBack: it may undo or end what others rely on.
	reads, takesBack bool
	run              func(c *call) (any, error)
}

// tools are all tools, in the order of an agent's work. Each costs every request of the
// model its description, so there are few.
func tools() []tool {
	return []tool{
		contextTool(), claimNextTool(), spawnTool(), statusTool(), referenceTool(), diffTool(),
		injectTool(), askTool(), answerTool(), commentsTool(), waitTool(), checkpointTool(), landTool(), mergeTool(), resolveTool(), transferTool(), doneTool(),
	}
}

// described is the tool as the library lists it.
func (t tool) described() *mcp.Tool {
	closed := false
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: schema(t.arguments),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.reads, DestructiveHint: &t.takesBack, OpenWorldHint: &closed},
	}
}

// call is one call of a tool.
type call struct {
	*arguments
	*server
	tool      string
	ctx       context.Context
	req       *mcp.CallToolRequest
	ownThread string    // the thread that the call is about, if no argument names it
	op        *app.Call // the use case, once its project is found
	as        string    // its command in the journal
}

// handler carries out calls of a tool.
func (s *server) handler(t tool) mcp.ToolHandler {
	return func(request context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, cancel := s.during(request)
		defer cancel()
		c := &call{server: s, tool: t.name, as: t.name, ctx: ctx, req: req, arguments: read(t.arguments, req.Params.Arguments)}
		data, err := c.carryOut(t)
		return c.result(data, err), nil
	}
}

// carryOut runs the tool; a panic is T901.
func (c *call) carryOut(t tool) (data any, err error) {
	defer func() {
		if r := recover(); r != nil {
			data = nil
			if e, ok := r.(error); ok && codes.Of(e) != nil {
				err = e
				return
			}
			err = codes.Internal.New(fact.Of("reason", fmt.Sprint(r)))
		}
	}()
	data, err = t.run(c)
	return data, c.usageOf(c.tool, err)
}

// beginOperation begins the use case as a command of the journal. Errors: T903 with what is wrong
// with the arguments, T504.
func (c *call) beginOperation(command string, reads bool) (*app.Call, error) {
	if c.op != nil {
		return c.op, nil
	}
	c.as = command
	if err := c.refusal(c.tool); err != nil {
		return nil, err
	}
	return c.open(reads)
}

// open opens the project and begins a call. Errors: T504.
func (c *call) open(reads bool) (*app.Call, error) {
	project, err := c.project()
	if err != nil {
		return nil, err
	}
	c.op = project.Call(c.ctx, c.who(), app.Request{Command: c.as, Params: c.recorded, ReadOnly: reads, Digest: c.digest()})
	return c.op, nil
}

// recorded are the arguments, as in the journal.
func (c *call) recorded() json.RawMessage {
	params := map[string]any{}
	for name, v := range c.values {
		params[name] = v
	}
	if c.ownThread != "" && params["thread"] == nil {
		params["thread"] = c.ownThread
	}
	raw, err := fact.JSON(params)
	if err != nil {
		return nil
	}
	return raw
}

// digest identifies the call in the log: equal calls have equal digests.
func (c *call) digest() string {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s %s", c.tool, c.req.Params.Arguments)
	return fmt.Sprintf("%08x", h.Sum32())
}

// useCase runs a use case if nothing is wrong with the arguments. Errors: T903, T504, and
// those of the use case, which may return a result as well.
func useCase[In, Out any](c *call, command string, reads bool, do func(*app.Call, In) (*Out, error), in In) (any, error) {
	op, err := c.beginOperation(command, reads)
	if err != nil {
		return nil, err
	}
	d, err := do(op, in)
	if d == nil {
		return nil, err
	}
	return d, err
}

// own returns the thread that a call is about: its argument, else the caller's own, that in whose
// worktree the server runs, or the only one that the caller holds. Without any that is a fault.
func (c *call) own() string {
	if id := c.text("thread"); id != "" {
		return id
	}
	if c.ownThread = c.who().Thread; c.ownThread == "" {
		if project, err := c.project(); err == nil {
			op := project.Call(c.ctx, c.who(), app.Request{})
			c.ownThread = string(cmp.Or(op.WorktreeThread(), op.OnlyHeld()))
		}
	}
	if c.ownThread == "" {
		c.fault("thread", "", "thread is missing: you have claimed none, or several; claim_next claims one")
	}
	return c.ownThread
}

// result ends the call, and returns what its caller gets: the data of the command line's
// answer, with the warnings beside it, or the error.
func (c *call) result(data any, err error) *mcp.CallToolResult {
	raw := rawJSON("{}")
	if data != nil {
		var problem error
		if raw, problem = fact.JSON(data); problem != nil {
			raw, err = rawJSON("{}"), codes.Internal.Wrap(problem, fact.Of("reason", "the answer could not be written as JSON"))
		}
	}
	var failure *codes.Error
	if err != nil {
		failure = c.failure(err)
		problem := refused{Error: app.ReplyOf(failure)}
		if data != nil {
			problem.Data = raw
		}
		raw = encoded(problem)
	}
	if all := c.finish(failure); len(all) > 0 {
		raw = raw.with(encoded(beside{all}))
	}
	var meta mcp.Meta
	if failure == nil && c.op != nil && c.op.Shown() != nil {
		meta = mcp.Meta{shownKey: c.op.Shown()}
	}
	return &mcp.CallToolResult{
		Meta:    meta,
		Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}, StructuredContent: raw, IsError: failure != nil,
	}
}

// shownKey is the member of a result's _meta that names the messages which it shows.
const shownKey = "leslie/shown"

// written is told each result that the client got: the messages that it shows count as
// read. The library does not say when that is, so the result names them.
func (s *server) written(result json.RawMessage) {
	if !bytes.Contains(result, []byte(shownKey)) {
		return
	}
	var r struct {
		Meta struct {
			Shown *app.ShownMessages `json:"leslie/shown"`
		} `json:"_meta"`
	}
	if json.Unmarshal(result, &r) != nil || r.Meta.Shown == nil {
		return
	}
	if project, err := s.project(); err == nil {
		threads.MarkSeen(project.Call(s.life, s.who(), app.Request{}), r.Meta.Shown)
	}
}

// failure completes an error for this caller.
func (c *call) failure(err error) *codes.Error {
	e := app.Failed(err, c.as, c.op != nil && c.op.Changed())
	next := e.Next()
	for i, line := range next {
		call, ok := asCall(line)
		switch {
		case ok:
			next[i] = call
		case c.Line != nil:
			next[i] = c.Line(c.op, line)
		}
	}
	return e.WithNext(next...)
}

// finish writes the log and returns the warnings for the caller. Arguments that are
// refused count as a failed call, too.
func (c *call) finish(failure *codes.Error) (all warnings.List) {
	if c.op == nil {
		if _, err := c.open(true); err != nil {
			return nil
		}
	}
	c.op.Finish(failure)
	all.Add(c.op.Warnings()...)
	all.Add(c.op.Notices()...)
	return all
}
