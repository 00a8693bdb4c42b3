package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/thread"
	"leslie/warnings"
)

// call is one run of one command: who acts, what was requested, which store, and the
// warnings for the caller.
type call struct {
	given
	ctx     context.Context
	argv    []string     // as it was written
	data    Data         // what the command answers with
	printed bytes.Buffer // what the library printed, which is part of the answer

	warnings warnings.List
	told     int       // how many of the warnings a stream has written
	op       *app.Call // the use case, once its project is found
}

// given is what the caller gave a command: its line, read and checked, and where it
// came from. Commands read their options by its methods and note their faults.
type given struct {
	env    env
	line   line
	flags  *cli.Context // of the command; nil before the library has read the line
	who    globals
	faults []fault
	params map[string]any // values that a command recorded instead of a flag's text
}

// globals are the flags of every command, with their environment.
type globals struct {
	format  string // text, json or yaml
	dir     string // absolute
	moved   string // the value of -C, "" without it
	as      thread.ActorKind
	actor   string
	derived bool // no name was given; it was derived from the agent's process
	unnamed bool // nor could one be derived: the actor is the login name
	thread  string
	noInput bool
	offline bool // the project's remote is not to be asked
	noPager bool
	color   string
	debug   bool
}

func newCall(ctx context.Context, e env, l line) *call {
	return &call{ctx: ctx, given: given{env: e, line: l, faults: l.faults, params: map[string]any{}, who: globals{format: "text"}}}
}

// globals reads the flags of every command: flag over environment over default.
func (c *call) globals() globals {
	known := globalFlags()
	value := func(name string) string {
		if c.has(name) {
			return c.text(name)
		}
		return c.fromEnv(lookUp(known, name, true))
	}
	g := globals{
		format: value("format"), as: thread.ActorKind(value("as")), actor: value("actor"), thread: value("thread"),
		noInput: value("no-input") == "true", offline: value("offline") == "true", noPager: value("no-pager") == "true", color: value("color"), debug: value("debug") == "true",
	}
	if g.format == "" || g.format == "table" {
		g.format = "text"
	}
	if g.as == "" {
		g.as = c.env.defaultAs()
	}
	if g.actor == "" && c.line.cmd != nil {
		g.nameActor(c.env)
	}
	g.dir = c.env.dir
	if dir := value("dir"); dir != "" {
		g.moved, g.dir = dir, dir
		if !filepath.IsAbs(dir) {
			g.dir = filepath.Join(c.env.dir, dir)
		}
		if info, err := os.Stat(g.dir); err != nil || !info.IsDir() {
			label := "LESLIE_DIR"
			if c.has("dir") {
				label = "--dir"
			}
			c.fault(label, dir, label+" "+quoted(dir)+" is not a directory")
		}
	}
	if g.thread == "" && g.as != thread.Agent { // who may be there to edit another's file
		g.thread = folderOf(g.dir, "threads")
	}
	return g
}

// fromEnv returns a global flag's value from the environment, checked like the flag.
func (c *call) fromEnv(o *option) string {
	for _, name := range o.EnvVars {
		text := c.env.getenv(name)
		switch {
		case text == "":
			continue
		case o.value().toggle:
			return strconv.FormatBool(text != "0" && text != "false")
		}
		if f := o.value().fault(name, text); f != nil {
			c.faults = append(c.faults, *f)
			return ""
		}
		return text
	}
	return ""
}

// agentMarkers are environment variables that a coding agent sets for the
// commands it runs, and the one that leslie sets for an agent that it runs.
func agentMarkers() []string {
	return []string{"AI_AGENT", "AGENT", "CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE", "QWEN_CODE", "CURSOR_AGENT", "COPILOT_CLI", "LESLIE_RUN"}
}

// inAgent reports whether the environment has an agent's marker.
func (e env) inAgent() bool {
	return slices.ContainsFunc(agentMarkers(), func(key string) bool { return e.getenv(key) != "" })
}

func (e env) defaultAs() thread.ActorKind {
	if e.inAgent() {
		return thread.Agent
	}
	return thread.User
}

// nameActor names a caller whom the line does not name: an agent by its session, else by
// its process, a person by the login name.
func (g *globals) nameActor(e env) {
	for _, key := range []string{"CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "QWEN_CODE_SESSION_ID"} {
		if g.actor = e.getenv(key); g.actor != "" {
			return
		}
	}
	if g.as == thread.Agent {
		if g.actor = e.session(); g.actor != "" {
			g.derived = true
			return
		}
	}
	if g.actor, g.unnamed = e.login(), true; g.actor == "" {
		g.actor = "unknown"
	}
}

// fault adds a fault of the command line; only the first fault of a flag or an operand
// counts.
func (c *given) fault(field, value, problem string) {
	if !slices.ContainsFunc(c.faults, func(f fault) bool { return f.Field == field }) {
		c.faults = append(c.faults, fault{Field: field, Value: value, Problem: problem})
	}
}

// lineUsage is usage for help and version, which work with any environment, because a
// caller with a bad environment is sent to them.
func (c *call) lineUsage() error {
	c.faults = slices.DeleteFunc(c.faults, func(f fault) bool { return strings.HasPrefix(f.Field, "LESLIE_") })
	return c.usage()
}

// usage returns T903 with every fault of the line, nil if there is none.
func (c *call) usage() error {
	if len(c.faults) == 0 {
		return nil
	}
	sentences := make([]string, len(c.faults))
	for i, f := range c.faults {
		sentences[i] = f.Error()
	}
	err := codes.InvalidArgument.New(fact.Of("reason", strings.Join(sentences, "; ")), fact.Of("fields", c.faults))
	switch {
	case len(c.faults) == 1 && c.faults[0].next != "":
		return err.WithHint(c.faults[0].hint).WithNext(c.faults[0].next)
	case c.line.cmd != nil:
		return err.WithHint(c.usageHint()).WithNext("leslie help " + c.line.cmd.name)
	case c.line.group != "":
		return err.WithHint("See what " + c.line.group + " can do").WithNext("leslie help " + c.line.group)
	}
	return err.WithHint("See the commands").WithNext("leslie help")
}

// ownLine returns the call's line with more flags, without the global ones, which
// callerLine adds.
func (c *given) ownLine(more ...string) string {
	words := append([]string{"leslie"}, c.line.cmd.path()...)
	for _, operand := range c.line.operands {
		words = append(words, shellQuote(operand))
	}
	every := globalFlags()
	for _, f := range c.line.flags {
		switch {
		case lookUp(every, f.Name, true) != nil && f.Name != "thread":
		case f.value().toggle && f.text == "true":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name, shellQuote(f.text))
		}
	}
	return strings.Join(append(words, more...), " ")
}

// asUsageError converts a T903 that only a rule or the store can find to the form of a
// fault of the line: with the flag and the usage line. It returns other errors
// unchanged.
func (c *call) asUsageError(err error, flag string) error {
	e := codes.Of(err)
	if !codes.Has(err, codes.InvalidArgument) || (e.Facts().Text("requestId") != "") != (flag == "request-id") {
		return err
	}
	if _, told := e.Facts().Get("fields"); told {
		return err
	}
	f := fault{Field: "--" + flag, Value: strings.Join(c.texts(flag), " "), Problem: e.Facts().Text("reason")}
	return e.With(fact.Of("fields", []fault{f})).WithHint(c.usageHint())
}

// meantSubcommand returns T903 instead of T101 if the first operand of a group's own
// command is no thread, but like the name of a subcommand: merge contnue merge-a1b2c3d4.
func (c *call) meantSubcommand(err error, group string, operands ...string) error {
	if !codes.Has(err, codes.ThreadNotFound) || len(operands) == 0 {
		return err
	}
	facts := codes.Of(err).Facts()
	f := unknownSubcommand(commands(), group, operands)
	another := slices.Index(operands, facts.Text("threadId")) > 0
	if f.Nearest == "" || another || facts.Text("nearest") != "" {
		return err
	}
	c.faults, c.line.group, c.line.cmd = append(c.faults, f), group, nil
	return c.usage()
}

// usageHint is the usage line with an example; for the person at the terminal without, so
// that it is one line there.
func (c *call) usageHint() string {
	if personReads(c, c.env.stderrTTY) {
		return "Usage: " + c.line.cmd.usageLine(true)
	}
	return c.line.cmd.usageHint()
}

// faulty reports whether a flag already has a fault: then it is not missing, and its
// value must not be used.
func (c *given) faulty(name string) bool {
	return slices.ContainsFunc(c.faults, func(f fault) bool { return f.Field == "--"+name })
}

// has reports whether a flag was given.
func (c *given) has(name string) bool { return len(c.texts(name)) > 0 }

// text is a flag's value, "" when it was not given.
func (c *given) text(name string) string { return strings.Join(c.texts(name), ",") }

// textOr is a flag's value, or def when it was not given, also in the journal. A bad one
// is not given, but has its fault.
func (c *given) textOr(name, def string) string {
	if c.has(name) {
		return c.text(name)
	}
	c.params[camel(name)] = def
	return def
}

// optional is a flag's value, nil when it was not given.
func (c *given) optional(name string) *string {
	if !c.has(name) {
		return nil
	}
	v := c.text(name)
	return &v
}

// on reports whether a switch was given.
func (c *given) on(name string) bool { return c.text(name) == "true" }

// texts returns the values of a flag that may be repeated. The library's own IsSet
// sorts all flags on each call, which takes time in a long batch.
func (c *given) texts(name string) []string {
	if c.flags == nil {
		return nil
	}
	if v, ok := c.flags.Generic(name).(*value); ok {
		return v.given
	}
	return nil
}

// parts are the values of a flag that takes several, separated by commas.
func (c *given) parts(name string) []string {
	var out []string
	for _, v := range c.texts(name) {
		out = append(out, strings.Split(v, ",")...)
	}
	return out
}

// count is a whole number, or def when the flag was not given.
func (c *given) count(name string, def int) int {
	if !c.has(name) {
		return def
	}
	n, _ := strconv.Atoi(c.text(name)) // checked with the line
	return n
}

// operand is the i-th operand, "" when it was not given.
func (c *given) operand(i int) string { return c.flags.Args().Get(i) }

// targetThread returns the thread of a command: its operand, otherwise the thread that
// the call speaks for; neither is a usage fault.
func (c *call) targetThread() string {
	if id := c.operand(0); id != "" {
		return id
	}
	if c.who.thread == "" {
		c.who.thread = worktreeThread(c)
	}
	if c.who.thread == "" {
		c.fault("ID", "", "the operand ID is missing (or give --thread)")
	}
	return c.who.thread
}

// worktreeThread returns the thread in whose registered worktree an agent calls, "" for
// none.
func worktreeThread(c *call) string {
	project, err := app.Open(c.who.dir, ownCopy(c))
	if err != nil {
		return ""
	}
	return string(app.WorktreeThread(project.Call(c.ctx, c.caller(), app.Request{})))
}

// sayWaiting tells the person at the terminal which decision the call waits for.
func sayWaiting(c *call, id thread.ApprovalID) {
	if c.who.format == "text" {
		_, _ = c.env.stderr.Write([]byte("leslie: " + string(id) + " waits for a person: leslie approve " + string(id) + ", or leslie deny " + string(id) + "\n"))
	}
}

// sayAsked tells a person for which answer the call waits.
func sayAsked(c *call, id thread.QuestionID) {
	if c.who.format == "text" {
		_, _ = c.env.stderr.Write([]byte("leslie: " + string(id) + " waits for an answer: leslie answer " + string(id) + " TEXT\n"))
	}
}

// aside tells whoever looks on something before the answer. The text is visible as it is.
func aside(c *call, text string) { _, _ = c.env.stderr.Write([]byte(text)) }

// now is the time as records carry it.
func (c *call) now() time.Time { return c.env.now().UTC().Truncate(time.Millisecond) }

// writes reports whether the call may change the store. A dry run may not, nor a
// command without the flag that makes it write.
func (c *given) writes() bool {
	cmd := c.line.cmd
	if cmd == nil || !cmd.writes || c.on("dry-run") {
		return false
	}
	return cmd.onlyWith == "" || c.on(cmd.onlyWith)
}

// lockTimeout returns --lock-timeout, 0 if it was not given.
func (c *given) lockTimeout() time.Duration {
	d, _ := time.ParseDuration(c.text("lock-timeout")) // checked with the line
	return d
}

// recordedParams returns the command's own flags and operands, as in the journal; a
// request id is bound to them.
func (c *given) recordedParams() json.RawMessage {
	params := map[string]any{}
	for _, o := range options(c.line.cmd.flags) {
		switch {
		case !c.has(o.Name):
		case o.value().toggle:
			params[camel(o.Name)] = c.on(o.Name)
		case o.value().repeats:
			params[camel(o.Name)] = c.texts(o.Name)
		default:
			params[camel(o.Name)] = c.text(o.Name)
		}
	}
	if args := c.flags.Args().Slice(); len(args) > 0 {
		params["operands"] = args
	}
	if c.who.thread != "" {
		params["thread"] = c.who.thread
	}
	for key, value := range c.params {
		params[key] = value
	}
	raw, err := fact.JSON(params)
	if err != nil {
		return nil
	}
	return raw
}

func camel(name string) string {
	parts := strings.Split(name, "-")
	for i, p := range parts[1:] {
		parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}
