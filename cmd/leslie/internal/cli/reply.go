package cli

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
	"strconv"
	"strings"

	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/doctor"
	"leslie/internal/app/merging"
	"leslie/internal/app/threads"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/screen"
	"leslie/thread"
	"leslie/warnings"
)

// suggestImport completes a T506 about a store of the Node edition, which can be
// imported.
func (c *Call) suggestImport(err error) error {
	e := codes.Of(err)
	if !codes.Has(err, codes.UnsupportedVersion) || !strings.Contains(e.Facts().Text("writer"), "Node edition") {
		return err
	}
	root := c.Who.Dir
	if c.Op != nil {
		root = c.Op.Root()
	}
	return e.WithHint("See what would be imported, move " + app.StoreFolder +
		" to another name, run leslie init, then leslie import that folder").
		WithNext("leslie import " + external.Word(root) + " --dry-run")
}

// leftPending returns what a person sees instead of the error of a merge that was left
// pending: a no is no error. "" for every other error.
func (c *Call) leftPending(failure *codes.Error) string {
	if failure == nil {
		return ""
	}
	id := failure.Facts().Text("mergeId")
	if id == "" || !c.PersonReads(c.Env.StderrTTY) {
		return ""
	}
	on := "go on with " + c.CallerLine(goesOn(failure, "leslie merge continue "+id))
	left := errors.Is(failure.Unwrap(), merging.ErrLeft)
	switch {
	case failure.Code() == codes.Interrupted:
		return "interrupted; the merge is left pending; " + on
	case left && failure.Code() == codes.ApprovalDenied:
		return "denied; the merge is left pending; " + c.CallerLine("leslie merge abort "+id) + " ends it"
	case left:
		return "left pending; " + on
	}
	return ""
}

// goesOn is the line among an error's next ones that lands the code, else the given one.
func goesOn(failure *codes.Error, merge string) string {
	for _, line := range failure.Next() {
		if strings.HasPrefix(line, "leslie land ") {
			return line
		}
	}
	return merge
}

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
func (c *Call) reply(data Data, err error) int {
	failure := c.failure(err)
	c.endProgress()
	c.finish(failure)
	if line := c.debugLine(); line != nil {
		_, _ = c.Env.Stderr.Write(line)
	}
	if c.Streams() {
		return c.endStream(failure)
	}
	answer, failure := c.rendered(data, failure)
	defer c.aside(c.news(data))
	if c.NeedsPager(answer) && c.ShowInPager(answer) {
		answer = nil
	}
	_, err = c.Env.Stdout.Write(answer)
	switch {
	case failure != nil:
		return failure.Code().ExitStatus()
	case err == nil && c.Op != nil:
		threads.MarkSeen(c.Op, c.Op.Shown())
	case err != nil && !errors.Is(err, io.ErrClosedPipe):
		fmt.Fprintf(c.Env.Stderr, "leslie: the answer could not be written: %v\n", err)
		return codes.WriteFailed.ExitStatus()
	}
	return 0
}

// rendered is render, but returns T901 if rendering panics.
func (c *Call) rendered(data Data, failure *codes.Error) (answer []byte, told *codes.Error) {
	defer func() {
		if r := recover(); r != nil {
			told = c.failure(c.recovered(r))
			if c.Op != nil {
				c.Op.LogFailure(told)
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
	// IsPartialResult marks it; it does nothing.
	IsPartialResult()
}

// render returns the answer in the requested format; in text format warnings and
// errors go to stderr.
func (c *Call) render(data Data, failure *codes.Error) []byte {
	switch c.Who.Format {
	case "json":
		return c.json(c.envelope(data, failure))
	case "yaml":
		return ToYAML(c.json(c.envelope(data, failure)))
	}
	c.textNotes(c.Warnings, failure)
	if _, stands := data.(partialResult); data == nil || failure != nil && !stands {
		return nil
	}
	p := c.page()
	data.Text(p)
	return p.B.Bytes()
}

// page is an empty text answer.
func (c *Call) page() *page.Page {
	p := &page.Page{Terminal: c.Env.StdoutTTY, Coloured: c.Colours(c.Env.StdoutTTY), From: c.Place, Now: c.Env.Now}
	if p.Person = c.PersonReads(c.Env.StdoutTTY); p.Person {
		p.Width = c.Env.Columns()
		if p.Width <= 0 {
			p.Width = DefaultColumns
		}
	}
	p.Timed = c.Has("time")
	p.Relative = c.Text("time") == "relative" || p.Width > 0 && !p.Timed && c.Line.Cmd != nil &&
		lookUp(c.Line.Cmd.Flags, "time", true) != nil
	return p
}

// failure adds to err what every error has: the command, and whether something was
// changed. (A committed change is never an error but W505; only a bug in leslie can
// follow it.)
func (c *Call) failure(err error) *codes.Error {
	if err == nil {
		return nil
	}
	if e := codes.Of(err); e != nil {
		err = c.AsUsageError(e, "request-id")
	}
	e := app.Failed(err, c.operation(), c.Op != nil && c.Op.Changed())
	if line := c.repeatLine(); line != "" && e.Code() == codes.OutcomeUnknown {
		e = e.WithNext(line)
	}
	if e.Code() == codes.Interrupted && len(e.Next()) == 0 && c.Line.Cmd != nil {
		e = e.WithNext(c.afterInterrupt())
	}
	var next []string
	for _, line := range e.Next() { // after the operation, which a next line may name
		next = append(next, c.CallerLine(c.InLine(c.runnable(line))))
	}
	e = e.WithNext(next...).WithHint(c.InText(e.Hint()))
	if options := optionsOf(e); options != nil {
		e = e.With(fact.Of("options", c.CallerOptions(options)))
	}
	if c.Who.debug {
		if causes := causeChain(e.Unwrap()); len(causes) > 0 {
			e = e.With(fact.Of("causes", causes))
		}
	}
	return e
}

// runnable is a next line, or the command's help in place of doctor where there is no store.
func (c *Call) runnable(line string) string {
	if line != "leslie doctor" {
		return line
	}
	if _, err := c.Open(); codes.Has(err, codes.NotInitialized) {
		return strings.TrimSpace("leslie help " + c.operation())
	}
	return line
}

// repeatLine is the call's line again, which its --request-id makes safe: "" if it has none,
// or if it would need the same standard input.
func (c *Call) repeatLine() string {
	if c.Line.Cmd == nil || c.Text("request-id") == "" || c.fromStdin() {
		return ""
	}
	return c.OwnLine()
}

// fromStdin reports whether the line reads standard input.
func (c *Given) fromStdin() bool {
	words := slices.Clone(c.Line.Operands)
	for _, f := range c.Line.Flags {
		words = append(words, f.Text)
	}
	return slices.Contains(words, "-") || c.Line.Cmd.Name == "batch" && len(c.Line.Operands) == 0
}

// afterInterrupt is what to call after an interrupted call that changed nothing: the same
// again, or the help of one that needs the same standard input, or insists on something.
func (c *Given) afterInterrupt() string {
	insists := slices.ContainsFunc([]string{"force", "repair", "yes"}, func(name string) bool {
		return c.Flags != nil && lookUp(c.Line.Cmd.Flags, name, true) != nil && c.On(name)
	})
	if c.fromStdin() || insists {
		return "leslie help " + c.Line.Cmd.Name
	}
	return c.OwnLine()
}

// CallerLine returns a command for this caller to run unchanged: with the call's -C and --offline,
// and with its --as and --actor (and --thread) if they are recorded.
func (c *Call) CallerLine(line string) string {
	rest, ours := strings.CutPrefix(line, "leslie ")
	if !ours || strings.HasPrefix(rest, "help") || strings.HasPrefix(rest, "-C ") {
		return line
	}
	flags := ""
	if c.Who.moved != "" {
		flags += "-C " + external.Word(c.Who.moved) + " "
	}
	if slices.ContainsFunc(c.Line.Flags, func(f SetFlag) bool { return f.Name == "offline" }) {
		flags += "--offline "
	}
	if cmd := c.Env.Commands.named(strings.Fields(rest)); cmd != nil &&
		(cmd.Writes && !cmd.Unrecorded || cmd.MarksSeen) {
		for _, f := range c.Line.Flags {
			if f.Name == "as" || f.Name == "actor" || f.Name == "thread" && cmd.MarksSeen {
				flags += "--" + f.Name + " " + external.Word(f.Text) + " "
			}
		}
	}
	return "leslie " + flags + rest
}

// optionsOf returns what can be done about T502, nil for other errors.
func optionsOf(e *codes.Error) []doctor.RepairOption {
	found, _ := e.Facts().Get("options")
	options, _ := found.([]doctor.RepairOption)
	return options
}

// CallerOptions are options of a repair with the commands that this caller runs.
func (c *Call) CallerOptions(options []doctor.RepairOption) []doctor.RepairOption {
	own := slices.Clone(options)
	for i := range own {
		own[i].Command = c.CallerLine(own[i].Command)
	}
	return own
}

func (c *Given) operation() string {
	switch {
	case c.Line.Cmd != nil:
		return c.Line.Cmd.Name
	case c.Line.Group != "":
		return c.Line.Group
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

func (c *Call) envelope(data Data, failure *codes.Error) envelope {
	env := envelope{Success: failure == nil, Warnings: c.Warnings}
	if data != nil {
		env.Data = data
	}
	if failure == nil {
		if c.Op != nil {
			env.Revision = c.Op.Revision()
		}
		return env
	}
	env.Error = app.ReplyOf(failure)
	return env
}

// json is the answer as one document: indented for a person, compact elsewhere.
func (c *Call) json(e envelope) []byte {
	raw, err := fact.JSON(e)
	if err != nil {
		raw = []byte(`{"success":false,"error":{"code":"T901","kind":"internal",` +
			`"message":"Internal error: the answer could not be written as JSON.",` +
			`"details":{"operation":` + strconv.Quote(c.operation()) + `,"changed":false}}}`)
	}
	raw = fact.Escaped(raw)
	if c.Env.StdoutTTY && c.Who.Format == "json" {
		var b bytes.Buffer
		if json.Indent(&b, raw, "", "  ") == nil {
			raw = b.Bytes()
		}
	}
	return append(raw, '\n')
}

// textNotes writes warnings and the error to stderr.
func (c *Call) textNotes(told warnings.List, failure *codes.Error) {
	paint := c.painter()
	var b strings.Builder
	for _, w := range told {
		b.WriteString(c.notice("warning", Bold, string(w.Code), w.Message, pairs(w.Context)))
	}
	if left := c.leftPending(failure); left != "" {
		b.WriteString(strings.Join(rowsOf(left, c.Env.Columns()), "\n") + "\n")
		failure = nil
	}
	if failure != nil {
		b.WriteString(c.notice("error", Red, string(failure.Code()), c.InText(failure.Error()),
			pairs(c.inFacts(c.shownFacts(failure)))))
		b.WriteString(c.candidatesText(failure))
		if hint := failure.Hint(); hint != "" {
			b.WriteString(c.labelled("hint:", hint))
		}
		for _, line := range failure.Next() {
			if page.Escape(line) != line {
				continue // shown as it is, it would speak with the terminal; escaped, it would not run
			}
			fmt.Fprintf(&b, "%s %s\n", paint(Bold, "next:"), line)
		}
		for _, o := range optionsOf(failure) {
			fmt.Fprintf(&b, "%s %s (%s)\n", paint(Bold, "option:"), page.Escape(o.Command), page.Escape(o.What))
		}
	}
	if b.Len() > 0 {
		_, _ = io.WriteString(c.Env.Stderr, b.String())
	}
}

// notice is the published line of a warning or an error. For a person at a terminal what
// they read stands out.
func (c *Call) notice(kind, colour, code, message, facts string) string {
	if c.PersonReads(c.Env.StderrTTY) {
		n := screen.Notice{Kind: kind, Code: code, Message: message, Facts: facts, Colours: c.Colours(true)}
		return n.Draw() + "\n"
	}
	return fmt.Sprintf("%s code=%s msg=%q%s\n", c.painter()(colour, kind), code, message, facts)
}

// labelled is a text behind a label.
func (c *Call) labelled(label, text string) string {
	if c.PersonReads(c.Env.StderrTTY) {
		return strings.Join(screen.Labelled(label, text, c.Env.Columns(), c.Colours(true)), "\n") + "\n"
	}
	return fmt.Sprintf("%s %s\n", c.painter()(Bold, label), page.Escape(text))
}

// aside writes a dim line to the person at the terminal; nothing for "".
func (c *Call) aside(line string) {
	if line == "" {
		return
	}
	paint := c.painter()
	for _, row := range rowsOf(line, c.Env.Columns()) {
		_, _ = io.WriteString(c.Env.Stderr, string(paint(Dim, row))+"\n")
	}
}

// rowsOf is a line for the person at the terminal, broken between words where that ends; 0
// for a terminal that does not tell its width.
func rowsOf(line string, columns int) []string {
	if columns == 0 {
		return []string{page.Escape(line)}
	}
	return screen.Paragraph("", line, columns)
}

// shownFacts leaves out what readers do not need in the text line: the command, that
// nothing was changed, a reason that is the whole message, and structures, which are
// for programs.
func (c *Call) shownFacts(e *codes.Error) fact.List {
	var out fact.List
	listed := c.candidatesText(e) != ""
	for _, f := range e.Facts() {
		said := f.Key == "reason" && e.Code() == codes.InvalidArgument || f.Key == "candidates" && listed
		if said || f.Key == "operation" || f.Key == "changed" && (f.Value == false || f.Value == nil) ||
			app.Structured(f.Value) {
			continue
		}
		out = append(out, f)
	}
	return out
}

func pairs(l fact.List) string { return string(l.AppendLogfmt(nil)) }

// Colours, as a terminal knows them.
const (
	Red   = screen.SGRRed
	Green = screen.SGRGreen
	Blue  = screen.SGRBlue
	Dim   = screen.SGRGrey
	Bold  = "1"
)

// Colours reports whether a stream gets colours.
func (c *Call) Colours(terminal bool) bool {
	return c.Who.color == "always" || c.Who.color != "never" && terminal && c.Env.Getenv("NO_COLOR") == ""
}

// painter returns a function that colours text if colours are enabled.
func (c *Call) painter() func(code, s string) page.Styled {
	on := c.Colours(c.Env.StderrTTY)
	return func(code, s string) page.Styled {
		s = page.Escape(s)
		if !on {
			return page.Styled(s)
		}
		return page.Styled("\x1b[" + code + "m" + s + "\x1b[0m")
	}
}

// Run handles a call from start to end.
func Run(ctx context.Context, argv []string, e Env) int {
	return RunWith(ctx, e.Commands.NeededFor(argv), argv, e)
}

// RunWith runs argv against a table of commands. A panic anywhere in a command
// becomes T901 in the asked format.
func RunWith(ctx context.Context, all []*Command, argv []string, e Env) int {
	c, data, err := RunWithoutReply(ctx, all, argv, e)
	return c.reply(data, err)
}

// RunWithoutReply does what a line says, without an answer.
func RunWithoutReply(ctx context.Context, all []*Command, argv []string, e Env) (*Call, Data, error) {
	c := NewCall(ctx, e, ParseLine(all, argv))
	c.argv = argv
	data, err := c.Do(all)
	return c, data, err
}

// Do runs the command of the line and returns what it answers with.
func (c *Call) Do(all []*Command) (data Data, err error) {
	defer func() {
		if r := recover(); r != nil {
			data, err = nil, c.recovered(r)
		}
	}()
	err = c.App(all).RunContext(c.Ctx, c.Line.argv())
	return c.data, c.suggestImport(err)
}

// isNil reports whether a failed command returned a typed nil.
func isNil(data Data) bool {
	v := reflect.ValueOf(data)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// recovered turns a panic into a coded error; a coded panic keeps its code.
func (c *Call) recovered(r any) error {
	if err, ok := r.(error); ok {
		if e := codes.Of(err); e != nil {
			return e
		}
	}
	err := codes.Internal.New(fact.Of("reason", fmt.Sprint(r)))
	if c.Who.debug {
		err = err.With(fact.Of("stack", strings.Split(string(debug.Stack()), "\n")))
	}
	return err
}
