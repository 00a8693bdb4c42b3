package cli

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

	urfave "github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/thread"
	"leslie/warnings"
)

// Call is one run of one command: who acts, what was requested, which store, and the
// warnings for the caller.
type Call struct {
	Given
	Ctx     context.Context
	argv    []string     // as it was written
	data    Data         // what the command answers with
	Printed bytes.Buffer // what the library printed, which is part of the answer

	Warnings warnings.List
	told     int       // how many of the warnings a stream has written
	Op       *app.Call // the use case, once its project is found
}

// Given is what the caller gave a command: its line, read and checked, and where it
// came from. Commands read their options by its methods and note their faults.
type Given struct {
	Env    Env
	Line   Line
	Flags  *urfave.Context // of the command; nil before the library has read the line
	Who    globals
	Faults []Fault
	Params map[string]any // values that a command recorded instead of a flag's text
}

// globals are the flags of every command, with their environment.
type globals struct {
	Format  string // text, json or yaml
	Dir     string // absolute
	moved   string // the value of -C, "" without it
	As      thread.ActorKind
	Actor   string
	Derived bool // no name was given; it was derived from the agent's process
	Unnamed bool // nor could one be derived: the actor is the login name
	Thread  string
	NoInput bool
	offline bool // the project's remote is not to be asked
	noPager bool
	color   string
	debug   bool
}

// NewCall returns the call of a line that lint has read.
func NewCall(ctx context.Context, e Env, l Line) *Call {
	return &Call{Ctx: ctx, Given: Given{Env: e, Line: l, Faults: l.Faults, Params: map[string]any{},
		Who: globals{Format: "text"}}}
}

// globals reads the flags of every command: flag over environment over default.
func (c *Call) globals() globals {
	known := globalFlags()
	value := func(name string) string {
		if c.Has(name) {
			return c.Text(name)
		}
		return c.fromEnv(lookUp(known, name, true))
	}
	g := globals{
		Format: value("format"), As: thread.ActorKind(value("as")), Actor: value("actor"), Thread: value("thread"),
		NoInput: value("no-input") == "true", offline: value("offline") == "true", noPager: value("no-pager") == "true",
		color: value("color"), debug: value("debug") == "true",
	}
	if g.Format == "" || g.Format == "table" {
		g.Format = "text"
	}
	if g.As == "" {
		g.As = c.Env.defaultAs()
	}
	if g.Actor == "" && c.Line.Cmd != nil {
		g.NameActor(c.Env)
	}
	g.Dir = c.Env.Dir
	if dir := value("dir"); dir != "" {
		g.moved, g.Dir = dir, dir
		if !filepath.IsAbs(dir) {
			g.Dir = filepath.Join(c.Env.Dir, dir)
		}
		if info, err := os.Stat(g.Dir); err != nil || !info.IsDir() {
			label := "LESLIE_DIR"
			if c.Has("dir") {
				label = "--dir"
			}
			c.Fault(label, dir, label+" "+strconv.Quote(dir)+" is not a directory")
		}
	}
	if g.Thread == "" && g.As != thread.Agent { // who may be there to edit another's file
		g.Thread = idFromPath(g.Dir, "threads")
	}
	return g
}

// fromEnv returns a global flag's value from the environment, checked like the flag.
func (c *Call) fromEnv(o *option) string {
	for _, name := range o.EnvVars {
		text := c.Env.Getenv(name)
		switch {
		case text == "":
			continue
		case o.Typed().Toggle:
			return strconv.FormatBool(text != "0" && text != "false")
		}
		if f := o.Typed().Fault(name, text); f != nil {
			c.Faults = append(c.Faults, *f)
			return ""
		}
		return text
	}
	return ""
}

// agentMarkers are environment variables that a coding agent sets for the
// commands it runs, and the one that leslie sets for an agent that it runs.
func agentMarkers() []string {
	return []string{"AI_AGENT", "AGENT", "CLAUDECODE", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE", "QWEN_CODE",
		"CURSOR_AGENT", "COPILOT_CLI", "LESLIE_RUN"}
}

// inAgent reports whether the environment has an agent's marker.
func (e Env) inAgent() bool {
	return slices.ContainsFunc(agentMarkers(), func(key string) bool { return e.Getenv(key) != "" })
}

func (e Env) defaultAs() thread.ActorKind {
	if e.inAgent() {
		return thread.Agent
	}
	return thread.User
}

// NameActor names a caller whom the line does not name: an agent by its session, else by
// its process, a person by the login name.
func (g *globals) NameActor(e Env) {
	for _, key := range []string{"CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "QWEN_CODE_SESSION_ID"} {
		if g.Actor = e.Getenv(key); g.Actor != "" {
			return
		}
	}
	if g.As == thread.Agent {
		if g.Actor = e.Session(); g.Actor != "" {
			g.Derived = true
			return
		}
	}
	if g.Actor, g.Unnamed = e.Login(), true; g.Actor == "" {
		g.Actor = "unknown"
	}
}

// Fault adds a fault of the command line; only the first fault of a flag or an operand
// counts. What is missing because of a flag that does not exist is no fault of its own.
func (c *Given) Fault(field, value, problem string) {
	if !c.alreadyFaulty(field) && (value != "" || !missedBy(c.Line, field)) {
		c.Faults = append(c.Faults, Fault{Field: field, Value: value, Problem: problem})
	}
}

// missedBy reports whether a field may be missing only because of a flag that does not
// exist: an operand that stands behind it. A flag with the nearest name is missing all the
// same (the contract has a specimen of that).
func missedBy(l Line, field string) bool {
	return l.unsure > 0 && l.Cmd != nil && slices.ContainsFunc(l.Cmd.Operands,
		func(o Operand) bool { return o.Shown == field })
}

// usageIgnoringEnv is usage for help and version, which work with any environment, because a
// caller with a bad environment is sent to them.
func (c *Call) usageIgnoringEnv() error {
	c.Faults = slices.DeleteFunc(c.Faults, func(f Fault) bool { return strings.HasPrefix(f.Field, "LESLIE_") })
	return c.Usage()
}

// longestShown is how many characters of a bad value an answer repeats: enough to know it
// by, whatever a script has passed.
const longestShown = 500

// Usage returns T903 with every fault of the line, nil if there is none.
func (c *Call) Usage() error {
	if len(c.Faults) == 0 {
		return nil
	}
	faults, sentences := slices.Clone(c.Faults), make([]string, len(c.Faults))
	for i := range faults {
		f := &faults[i]
		f.Field, f.Value, f.Problem = app.Cut(f.Field, longestShown), app.Cut(f.Value, longestShown),
			app.Cut(f.Problem, 2*longestShown)
		sentences[i] = f.Error()
	}
	err := codes.InvalidArgument.New(fact.Of("reason", strings.Join(sentences, "; ")), fact.Of("fields", faults))
	switch {
	case len(c.Faults) == 1 && c.Faults[0].Next != "":
		return err.WithHint(c.Faults[0].Hint).WithNext(c.Faults[0].Next)
	case c.Line.Cmd != nil:
		return err.WithHint(c.usageHint()).WithNext("leslie help " + c.Line.Cmd.Name)
	case c.Line.Group != "":
		return err.WithHint("See what " + c.Line.Group + " can do").WithNext("leslie help " + c.Line.Group)
	}
	return err.WithHint("See the commands").WithNext("leslie help")
}

// OwnLine returns the call's line with more flags, without the global ones, which
// CallerLine adds.
func (c *Given) OwnLine(more ...string) string {
	words := append([]string{"leslie"}, c.Line.Cmd.Path()...)
	for _, operand := range c.Line.Operands {
		words = append(words, external.Word(operand))
	}
	every := globalFlags()
	for _, f := range c.Line.Flags {
		switch {
		case lookUp(every, f.Name, true) != nil && f.Name != "thread":
		case f.Typed().Toggle && f.Text == "true":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name, external.Word(f.Text))
		}
	}
	return strings.Join(append(words, more...), " ")
}

// AsUsageError converts a T903 that only a rule or the store can find to the form of a
// fault of the line: with the flag and the usage line. It returns other errors
// unchanged.
func (c *Call) AsUsageError(err error, flag string) error {
	e := codes.Of(err)
	if !codes.Has(err, codes.InvalidArgument) || (e.Facts().Text("requestId") != "") != (flag == "request-id") {
		return err
	}
	if _, told := e.Facts().Get("fields"); told {
		return err
	}
	f := Fault{Field: "--" + flag, Value: strings.Join(c.Texts(flag), " "), Problem: e.Facts().Text("reason")}
	return e.With(fact.Of("fields", []Fault{f})).WithHint(c.usageHint())
}

// MeantSubcommand returns T903 instead of T101 if the first operand of a group's own
// command is no thread, but like the name of a subcommand: merge contnue merge-a1b2c3d4.
func (c *Call) MeantSubcommand(err error, group string, operands ...string) error {
	if !codes.Has(err, codes.ThreadNotFound) || len(operands) == 0 {
		return err
	}
	facts := codes.Of(err).Facts()
	f := unknownSubcommand(c.Env.Commands.All(), group, operands)
	another := slices.Index(operands, facts.Text("threadId")) > 0
	if f.Nearest == "" || another || facts.Text("nearest") != "" {
		return err
	}
	c.Faults, c.Line.Group, c.Line.Cmd = append(c.Faults, f), group, nil
	return c.Usage()
}

// usageHint is the usage line with an example; for the person at the terminal without, so
// that it is one line there.
func (c *Call) usageHint() string {
	if c.PersonReads(c.Env.StderrTTY) {
		return "Usage: " + c.Line.Cmd.UsageLine(true)
	}
	return c.Line.Cmd.UsageHint()
}

// Faulty reports whether a flag already has a fault: then it is not missing, and its
// value must not be used.
func (c *Given) Faulty(name string) bool { return c.alreadyFaulty("--" + name) }

// alreadyFaulty reports whether a field of the line has a fault: an operand, a flag, or the
// operand that stands for this flag.
func (c *Given) alreadyFaulty(field string) bool {
	operand := field
	if cmd := c.Line.Cmd; cmd != nil && len(cmd.Operands) > 0 {
		if o := cmd.Operands[0]; o.Sets != "" && (field == "--"+o.Sets || field == "--"+o.LastSets) {
			operand = o.Shown
		}
	}
	return slices.ContainsFunc(c.Faults, func(f Fault) bool { return f.Field == field || f.Field == operand })
}

// Has reports whether a flag was given.
func (c *Given) Has(name string) bool { return len(c.Texts(name)) > 0 }

// Text is a flag's value, "" when it was not given.
func (c *Given) Text(name string) string { return strings.Join(c.Texts(name), ",") }

// TextOr is a flag's value, or def when it was not given, also in the journal. A bad one
// is not given, but has its fault.
func (c *Given) TextOr(name, def string) string {
	if c.Has(name) {
		return c.Text(name)
	}
	c.Params[camel(name)] = def
	return def
}

// Optional is a flag's value, nil when it was not given.
func (c *Given) Optional(name string) *string {
	if !c.Has(name) {
		return nil
	}
	v := c.Text(name)
	return &v
}

// On reports whether a switch was given.
func (c *Given) On(name string) bool { return c.Text(name) == "true" }

// Texts returns the values of a flag that may be repeated. The library's own IsSet
// sorts all flags on each call, which takes time in a long batch.
func (c *Given) Texts(name string) []string {
	if c.Flags == nil {
		return nil
	}
	if v, ok := c.Flags.Generic(name).(*Value); ok {
		return v.Given
	}
	return nil
}

// Parts are the values of a flag that takes several, separated by commas.
func (c *Given) Parts(name string) []string {
	var out []string
	for _, v := range c.Texts(name) {
		out = append(out, strings.Split(v, ",")...)
	}
	return out
}

// Count is a whole number, or def when the flag was not given.
func (c *Given) Count(name string, def int) int {
	if !c.Has(name) {
		return def
	}
	n, _ := strconv.Atoi(c.Text(name)) // checked with the line
	return n
}

// Operand is the i-th operand, "" when it was not given.
func (c *Given) Operand(i int) string { return c.Flags.Args().Get(i) }

// TargetThread returns the thread of a command: its operand, otherwise the thread that
// the call speaks for; neither is a usage fault.
func (c *Call) TargetThread() string {
	if id := c.Operand(0); id != "" {
		return id
	}
	return c.OwnThread("ID")
}

// OwnThread is the thread that the call speaks for, or in whose worktree it is made; neither is a
// usage fault of an operand.
func (c *Call) OwnThread(operand string) string {
	if c.Who.Thread == "" {
		c.Who.Thread = c.WorktreeThread()
	}
	if c.Who.Thread == "" {
		c.Fault(operand, "", "the operand "+operand+" is missing (or give --thread)")
	}
	return c.Who.Thread
}

// WorktreeThread returns the thread in whose registered worktree the caller is, "" for
// none.
func (c *Call) WorktreeThread() string {
	project, err := app.Open(c.Who.Dir, c.offlineEnvironment())
	if err != nil {
		return ""
	}
	return string(project.Call(c.Ctx, c.Caller(), app.Request{}).WorktreeThread())
}

// SayWaiting tells the person at the terminal which decision the call waits for.
func (c *Call) SayWaiting(id thread.ApprovalID) {
	if c.Who.Format == "text" {
		_, _ = c.Env.Stderr.Write([]byte("leslie: " + string(id) + " waits for a person: leslie approve " + string(id) +
			", or leslie deny " + string(id) + "\n"))
	}
}

// SayAsked tells a person for which answer the call waits.
func (c *Call) SayAsked(id thread.QuestionID) {
	if c.Who.Format == "text" {
		_, _ = c.Env.Stderr.Write([]byte("leslie: " + string(id) + " waits for an answer: leslie answer " + string(id) +
			" TEXT\n"))
	}
}

// WriteAside tells whoever looks on something before the answer. The text is visible as it is.
func (c *Call) WriteAside(text string) { _, _ = c.Env.Stderr.Write([]byte(text)) }

// Now is the time as records carry it.
func (c *Call) Now() time.Time { return c.Env.Now().UTC().Truncate(time.Millisecond) }

// writes reports whether the call may change the store. A dry run may not, nor a
// command without the flag that makes it write.
func (c *Given) writes() bool {
	cmd := c.Line.Cmd
	if cmd == nil || !cmd.Writes || c.On("dry-run") {
		return false
	}
	return cmd.OnlyWith == "" || c.On(cmd.OnlyWith)
}

// LockTimeout returns --lock-timeout, 0 if it was not given.
func (c *Given) LockTimeout() time.Duration {
	d, _ := time.ParseDuration(c.Text("lock-timeout")) // checked with the line
	return d
}

// recordedParams returns the command's own flags and operands, as in the journal; a
// request id is bound to them.
func (c *Given) recordedParams() json.RawMessage {
	params := map[string]any{}
	for _, o := range Options(slices.Concat(c.Line.Cmd.Flags, c.Line.Cmd.Further)) {
		switch {
		case !c.Has(o.Name):
		case o.Typed().Toggle:
			params[camel(o.Name)] = c.On(o.Name)
		case o.Typed().repeats:
			params[camel(o.Name)] = c.Texts(o.Name)
		default:
			params[camel(o.Name)] = c.Text(o.Name)
		}
	}
	if args := c.Flags.Args().Slice(); len(args) > 0 {
		params["operands"] = args
	}
	if c.Who.Thread != "" {
		params["thread"] = c.Who.Thread
	}
	for key, value := range c.Params {
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

// From is --since of FromFlag, zero if it was not given.
func (c *Call) From() time.Time {
	from, _ := past(c.Text("since"), c.Env.Now()) // checked with the line
	return from
}

// past parses a time, or an age before now: 2h30m, 3d, today, 2026-02-09, or RFC 3339. Days are
// those of now's time zone.
func past(text string, now time.Time) (time.Time, bool) {
	if text == "today" {
		return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location()).UTC(), true
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 {
			return now.UTC().AddDate(0, 0, -n).Truncate(time.Millisecond), true
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d).UTC().Truncate(time.Millisecond), true
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return at.UTC(), true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

// pastForms is what past parses, as a fault says it.
const pastForms = "a time such as today, 2026-02-09 or 2026-02-09T16:00:00Z, or an age such as 2h30m or 3d"

// Since is --since of SinceFlag: the revision, or the time; nil and zero if it was not given.
func (c *Call) Since() (rev *thread.Revision, from time.Time) {
	text := c.Text("since")
	if _, err := strconv.Atoi(text); err == nil {
		return c.RevisionOf("since"), from
	}
	return nil, c.From()
}

// ChangedSince is Since of a list for which all is since revision 0.
func (c *Call) ChangedSince() (thread.Revision, time.Time) {
	since, from := c.Since()
	return app.OrZero(since), from
}

// ActorFilter is what a list with ByFlags selects.
func (c *Call) ActorFilter() app.ActorFilter {
	return app.ActorFilter{Mine: c.On("mine"), By: c.Text("by")}
}

// RecordFilter is what a list with RecordFlags selects; its operands are threads.
func (c *Call) RecordFilter() app.RecordFilter {
	f := app.RecordFilter{Threads: c.Flags.Args().Slice(), ActorFilter: c.ActorFilter()}
	f.Since, f.From = c.ChangedSince()
	c.CheckRequest(f.Faults, nil)
	return f
}

// FiltersBy adds a fault for --actor on the line of a list with the filter --by: without --mine it says who acts,
// and would filter nothing.
func (c *Call) FiltersBy() {
	if actor := c.Text("actor"); actor != "" && !c.On("mine") {
		line := c.Line.Cmd.Name + " --by " + external.Word(actor)
		c.Faults = append(c.Faults, Fault{Field: "--actor", Value: actor,
			Problem: "--actor says who acts, and filters nothing; what " + actor + " did: --by " + actor,
			Hint:    "leslie " + line + " shows what " + actor + " did", Next: "leslie " + line})
	}
}

// SinceFault converts an error about --since that only the store can find to a fault
// of the line. It returns other errors unchanged.
func (c *Call) SinceFault(err error) error {
	if !codes.Has(err, codes.InvalidArgument) {
		return err
	}
	reason := codes.Of(err).Facts().Text("reason")
	c.Fault("--since", c.Text("since"), "--since"+strings.TrimPrefix(reason, "Since"))
	return c.Usage()
}

// WaitTakesNoValue adds a fault for --wait 60s where --wait is a switch, so that the duration became an operand.
func (c *Call) WaitTakesNoValue() {
	text := c.Operand(0)
	if d, err := time.ParseDuration(text); err == nil && d > 0 && c.On("wait") {
		c.Fault("--wait", text, "--wait takes no value here: --wait --timeout "+text)
	}
}

// RevisionOf is the revision that a flag names, nil when it was not given.
func (c *Given) RevisionOf(flag string) *thread.Revision {
	if !c.Has(flag) {
		return nil
	}
	rev := thread.Revision(c.Count(flag, 0))
	return &rev
}

// MeansNothing adds a fault for each given flag that has no meaning here.
func (c *Given) MeansNothing(where string, flags ...string) {
	for _, name := range flags {
		if c.Has(name) {
			c.Fault("--"+name, "", "--"+name+" cannot be used "+where)
		}
	}
}
