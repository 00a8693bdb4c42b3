package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/thread"
	"leslie/warnings"
)

// envelope is one answer in JSON and YAML.
type envelope struct {
	Success  bool             `json:"success"`
	Revision *thread.Revision `json:"revision,omitempty"`
	Error    *app.ErrorReply  `json:"error,omitempty"`
	Data     any              `json:"data,omitempty"`
	Warnings warnings.List    `json:"warnings,omitempty"`
}

// reply sends the one answer of a call: it logs it, renders it, and returns the exit
// status. success, no error and exit status 0 always go together.
func (c *call) reply(data Data, err error) int {
	failure := c.failure(err)
	endProgress(c)
	c.finish(failure)
	if line := (rendering{c}).debugLine(); line != nil {
		_, _ = c.env.stderr.Write(line)
	}
	if (rendering{c}).streams() {
		return rendering{c}.endStream(failure)
	}
	answer, failure := rendering{c}.rendered(data, failure)
	defer rendering{c}.aside(inbox{c}.news(data))
	if (pager{c}).wanted(answer) && (pager{c}).show(answer) {
		answer = nil
	}
	if _, err := c.env.stdout.Write(answer); err != nil && failure == nil && !errors.Is(err, io.ErrClosedPipe) {
		fmt.Fprintf(c.env.stderr, "leslie: the answer could not be written: %v\n", err)
		return codes.WriteFailed.ExitStatus()
	}
	if failure != nil {
		return failure.Code().ExitStatus()
	}
	return 0
}

// rendering writes a call's outcome: one document or a stream, in the requested format.
type rendering struct{ *call }

// rendered is render, but returns T901 if rendering panics.
func (c rendering) rendered(data Data, failure *codes.Error) (answer []byte, told *codes.Error) {
	defer func() {
		if r := recover(); r != nil {
			told = c.failure(c.recovered(r))
			if c.op != nil {
				app.LogFailure(c.op, told)
			}
			answer = c.render(nil, told)
		}
	}()
	return c.render(data, failure), failure
}

// partialResult is data that text format prints on stdout even if the call fails: a
// merge with its conflicts, like git merge-file.
type partialResult interface {
	Data
	isPartialResult()
}

// render returns the answer in the requested format; in text format warnings and
// errors go to stderr.
func (c rendering) render(data Data, failure *codes.Error) []byte {
	switch c.who.format {
	case "json":
		return c.json(c.envelope(data, failure))
	case "yaml":
		return toYAML(c.json(c.envelope(data, failure)))
	}
	c.textNotes(c.warnings, failure)
	if _, stands := data.(partialResult); data == nil || failure != nil && !stands {
		return nil
	}
	p := c.page()
	data.Text(p)
	return p.b.Bytes()
}

// page is an empty text answer.
func (c rendering) page() *page {
	p := &page{terminal: c.env.stdoutTTY, coloured: c.colours(c.env.stdoutTTY), from: places(c).place, now: c.env.now}
	if p.person = personReads(c.call, c.env.stdoutTTY); p.person {
		p.width = c.env.columns()
		if p.width <= 0 {
			p.width = defaultColumns
		}
	}
	p.timed = c.has("time")
	p.relative = c.text("time") == "relative" || p.width > 0 && !p.timed && c.line.cmd != nil && lookUp(c.line.cmd.flags, "time", true) != nil
	return p
}

// failure adds to err what every error has: the command, and whether something was
// changed. (A committed change is never an error but W505; only a bug in leslie can
// follow it.)
func (c *call) failure(err error) *codes.Error {
	if err == nil {
		return nil
	}
	if e := codes.Of(err); e != nil {
		err = c.asUsageError(e, "request-id")
	}
	e := app.Failed(err, c.operation(), c.op != nil && c.op.Changed())
	if line := repeatLine(c); line != "" && e.Code() == codes.OutcomeUnknown {
		e = e.WithNext(line)
	}
	var next []string
	for _, line := range e.Next() { // after the operation, which a next line may name
		next = append(next, rendering{c}.callerLine(places{c}.inLine(line)))
	}
	e = e.WithNext(next...).WithHint(places{c}.inText(e.Hint()))
	if options := optionsOf(e); options != nil {
		e = e.With(fact.Of("options", rendering{c}.callerOptions(options)))
	}
	if c.who.debug {
		if causes := causeChain(e.Unwrap()); len(causes) > 0 {
			e = e.With(fact.Of("causes", causes))
		}
	}
	return e
}

// repeatLine is the call's line again, which its --request-id makes safe: "" if it has none,
// or if it would need the same standard input.
func repeatLine(c *call) string {
	given := slices.Clone(c.line.operands)
	for _, f := range c.line.flags {
		given = append(given, f.text)
	}
	fromStdin := slices.Contains(given, "-") || c.line.cmd != nil && c.line.cmd.name == "batch" && len(c.line.operands) == 0
	if c.line.cmd == nil || c.text("request-id") == "" || fromStdin {
		return ""
	}
	return c.ownLine()
}

// callerLine returns a command for this caller to run unchanged: with the call's -C,
// and with its --as and --actor (and --thread) if they are recorded.
func (c rendering) callerLine(line string) string {
	rest, ours := strings.CutPrefix(line, "leslie ")
	if !ours || strings.HasPrefix(rest, "help") || strings.HasPrefix(rest, "-C ") {
		return line
	}
	flags := ""
	if c.who.moved != "" {
		flags += "-C " + shellQuote(c.who.moved) + " "
	}
	if cmd := begun(strings.Fields(rest)); cmd != nil && (cmd.writes && !cmd.unrecorded || cmd.marksSeen) {
		for _, f := range c.line.flags {
			if f.Name == "as" || f.Name == "actor" || f.Name == "thread" && cmd.marksSeen {
				flags += "--" + f.Name + " " + shellQuote(f.text) + " "
			}
		}
	}
	return "leslie " + flags + rest
}

// optionsOf returns what can be done about T502, nil for other errors.
func optionsOf(e *codes.Error) []app.RepairOption {
	found, _ := e.Facts().Get("options")
	options, _ := found.([]app.RepairOption)
	return options
}

func (c rendering) callerOptions(options []app.RepairOption) []app.RepairOption {
	own := slices.Clone(options)
	for i := range own {
		own[i].Command = c.callerLine(own[i].Command)
	}
	return own
}

func (c *given) operation() string {
	switch {
	case c.line.cmd != nil:
		return c.line.cmd.name
	case c.line.group != "":
		return c.line.group
	}
	return "leslie"
}

func causeChain(err error) []string {
	var out []string
	for err != nil {
		out = append(out, err.Error())
		err = errors.Unwrap(err)
	}
	return out
}

func (c rendering) envelope(data Data, failure *codes.Error) envelope {
	env := envelope{Success: failure == nil, Warnings: c.warnings}
	if data != nil {
		env.Data = data
	}
	if failure == nil {
		if c.op != nil {
			env.Revision = c.op.Revision()
		}
		return env
	}
	env.Error = app.ReplyOf(failure)
	return env
}

// json is the answer as one document: indented for a person, compact elsewhere.
func (c rendering) json(e envelope) []byte {
	raw, err := fact.JSON(e)
	if err != nil {
		raw = []byte(`{"success":false,"error":{"code":"T901","kind":"internal","message":"Internal error: the answer could not be written as JSON.","details":{"operation":` +
			quoted(c.operation()) + `,"changed":false}}}`)
	}
	raw = fact.Escaped(raw)
	if c.env.stdoutTTY && c.who.format == "json" {
		var b bytes.Buffer
		if json.Indent(&b, raw, "", "  ") == nil {
			raw = b.Bytes()
		}
	}
	return append(raw, '\n')
}

// textNotes writes warnings and the error to stderr.
func (c rendering) textNotes(told warnings.List, failure *codes.Error) {
	paint := c.painter()
	var b strings.Builder
	for _, w := range told {
		b.WriteString(c.notice("warning", bold, string(w.Code), w.Message, pairs(w.Context)))
	}
	if left := c.leftPending(failure); left != "" {
		b.WriteString(strings.Join(rowsOf(left, c.env.columns()), "\n") + "\n")
		failure = nil
	}
	if failure != nil {
		b.WriteString(c.notice("error", red, string(failure.Code()), places(c).inText(failure.Error()), pairs(places(c).inFacts(c.shownFacts(failure)))))
		b.WriteString(c.candidates(failure))
		if hint := failure.Hint(); hint != "" {
			b.WriteString(c.labelled("hint:", hint))
		}
		for _, line := range failure.Next() {
			if escape(line) != line {
				continue // shown as it is, it would speak with the terminal; escaped, it would not run
			}
			fmt.Fprintf(&b, "%s %s\n", paint(bold, "next:"), line)
		}
		for _, o := range optionsOf(failure) {
			fmt.Fprintf(&b, "%s %s (%s)\n", paint(bold, "option:"), escape(o.Command), escape(o.What))
		}
	}
	if b.Len() > 0 {
		_, _ = io.WriteString(c.env.stderr, b.String())
	}
}

// notice is the published line of a warning or an error. For a person at a terminal what
// they read stands out, and words are not broken.
func (c rendering) notice(kind, colour, code, message, facts string) string {
	if personReads(c.call, c.env.stderrTTY) {
		n := screen.Notice{Kind: kind, Code: code, Message: message, Facts: facts, Width: c.env.columns(), Colours: c.colours(true)}
		return strings.Join(n.Draw(), "\n") + "\n"
	}
	return fmt.Sprintf("%s code=%s msg=%q%s\n", c.painter()(colour, kind), code, message, facts)
}

// labelled is a text behind a label.
func (c rendering) labelled(label, text string) string {
	if personReads(c.call, c.env.stderrTTY) {
		return strings.Join(screen.Labelled(label, text, c.env.columns(), c.colours(true)), "\n") + "\n"
	}
	return fmt.Sprintf("%s %s\n", c.painter()(bold, label), escape(text))
}

// aside writes a dim line to the person at the terminal; nothing for "".
func (c rendering) aside(line string) {
	if line == "" {
		return
	}
	paint := c.painter()
	for _, row := range rowsOf(line, c.env.columns()) {
		_, _ = io.WriteString(c.env.stderr, string(paint(dim, row))+"\n")
	}
}

// rowsOf is a line for the person at the terminal, broken between words where that ends; 0
// for a terminal that does not tell its width.
func rowsOf(line string, columns int) []string {
	if columns == 0 {
		return []string{escape(line)}
	}
	return screen.Paragraph("", line, columns)
}

// shownFacts leaves out what readers do not need in the text line: the command, that
// nothing was changed, a reason that is the whole message, and structures, which are
// for programs.
func (c rendering) shownFacts(e *codes.Error) fact.List {
	var out fact.List
	listed := c.candidates(e) != ""
	for _, f := range e.Facts() {
		said := f.Key == "reason" && e.Code() == codes.InvalidArgument || f.Key == "candidates" && listed
		if said || f.Key == "operation" || f.Key == "changed" && (f.Value == false || f.Value == nil) || app.Structured(f.Value) {
			continue
		}
		out = append(out, f)
	}
	return out
}

func pairs(l fact.List) string { return string(l.AppendLogfmt(nil)) }

// Colours, as a terminal knows them.
const (
	red   = screen.SGRRed
	green = screen.SGRGreen
	blue  = screen.SGRBlue
	dim   = screen.SGRGrey
	bold  = "1"
)

// colours reports whether a stream gets colours.
func (c rendering) colours(terminal bool) bool {
	return c.who.color == "always" || c.who.color != "never" && terminal && c.env.getenv("NO_COLOR") == ""
}

// painter returns a function that colours text if colours are enabled.
func (c rendering) painter() func(code, s string) styled {
	on := c.colours(c.env.stderrTTY)
	return func(code, s string) styled {
		s = escape(s)
		if !on {
			return styled(s)
		}
		return styled("\x1b[" + code + "m" + s + "\x1b[0m")
	}
}

// run handles a call from start to end.
func run(ctx context.Context, argv []string, e env) int {
	return perform(ctx, commandsFor(argv), argv, e)
}

// perform runs argv against a table of commands. A panic anywhere in a command
// becomes T901 in the asked format.
func perform(ctx context.Context, all []*command, argv []string, e env) int {
	c, data, err := carryOut(ctx, all, argv, e)
	return c.reply(data, err)
}

// carryOut does what a line says, without an answer.
func carryOut(ctx context.Context, all []*command, argv []string, e env) (*call, Data, error) {
	c := newCall(ctx, e, lint(all, argv))
	c.argv = argv
	data, err := c.do(all)
	return c, data, err
}

func (c *call) do(all []*command) (data Data, err error) {
	defer func() {
		if r := recover(); r != nil {
			data, err = nil, c.recovered(r)
		}
	}()
	err = cliTree{c}.app(all).RunContext(c.ctx, c.line.argv())
	return c.data, c.leadToImport(err)
}

// isNil reports whether a failed command returned a typed nil.
func isNil(data Data) bool {
	v := reflect.ValueOf(data)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// recovered turns a panic into a coded error; a coded panic keeps its code.
func (c *call) recovered(r any) error {
	if err, ok := r.(error); ok {
		if e := codes.Of(err); e != nil {
			return e
		}
	}
	err := codes.Internal.New(fact.Of("reason", fmt.Sprint(r)))
	if c.who.debug {
		err = err.With(fact.Of("stack", strings.Split(string(debug.Stack()), "\n")))
	}
	return err
}
