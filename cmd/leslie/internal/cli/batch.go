package cli

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/views"
	"leslie/internal/external"
	"leslie/internal/fact"
)

// This file implements batch: many commands in one operation, or none.
//
// Each line is its own call on a draft: a State in memory on which the earlier lines
// have already run. The line stages its files, and its rule is kept. When every line
// has succeeded, the draft becomes the State under one lock; if somebody else has
// written since, all rules run again. So the lock is held no longer than for one
// command, and a batch supports its commands without knowing them.

const (
	maxBatchLines = 10_000
	maxBatchBytes = 16 << 20
)

// batchText is a batch's answer.
type batchText struct{ *app.BatchResult }

func (d batchText) Text(p *page.Page) {
	for _, item := range d.Items.Items {
		p.Line("line %d:", item.Line)
		switch data := item.Data.(type) {
		case Data:
			data.Text(p)
		case json.RawMessage: // kept for a request
			p.Line("%s", string(data))
		}
	}
	switch {
	case d.DryRun:
		p.Line("%s would be done, in one operation; nothing was changed", fact.Plural(d.Total, "command"))
	case d.Changed:
		p.Line("%s done, in one operation", fact.Plural(d.Total, "command"))
	default:
		p.Line("%s; nothing changed", fact.Plural(d.Total, "command"))
	}
}

// Batch is the command leslie batch.
func Batch() *Command {
	return &Command{
		Name: "batch", Summary: "run many commands that write as one operation: all or none", Writes: true,
		NotBatchable: true,
		Detail: "Each line of FILE, or of standard input, is one command as a JSON array of its arguments:\n" +
			`  ["spawn", "--id", "api", "--intent", "Design the API"]` + "\n" +
			"A line sees the changes of the lines before it. If one line fails, nothing is changed and every failing " +
			"line is reported. merge, undo, rollback and spawn --code cannot be part of a batch.",
		Example:  `leslie batch plan.jsonl`,
		Operands: []Operand{{Value: Text("FILE"), Optional: true}},
		Flags:    []Flag{Toggle("dry-run", "show what would happen without changing anything")},
		Run:      runBatch,
	}
}

func runBatch(c *Call) (Data, error) {
	b := &batch{c: c}
	text := batchInput(c)
	if len(c.Faults) == 0 && c.Ctx.Err() == nil {
		b.parse(text)
	}
	bad := c.Usage()
	if bad != nil && len(b.lines) == 0 {
		return nil, bad
	}
	sum := sha256.Sum256(text)
	c.Params["lines"], c.Params["sha256"], c.Params["commands"] = len(b.lines), hex.EncodeToString(sum[:]), b.recorded()
	op, err := c.Open()
	if err != nil {
		return nil, cmp.Or(bad, err)
	}
	if bad != nil {
		return nil, alsoFailing(bad, app.Rehearse(op, b.useCases()))
	}
	d, err := app.Batch(op, app.BatchRequest{Lines: b.useCases(), DryRun: c.On("dry-run")})
	if err != nil {
		return nil, err
	}
	return batchText{d}, nil
}

// alsoFailing adds the errors of the other lines, found by rehearsing them, to the
// faults of a batch.
func alsoFailing(bad, err error) error {
	if e := codes.Of(err); e != nil {
		if failed, ok := e.Facts().Get("errors"); ok {
			return codes.Of(bad).With(fact.Of("errors", failed))
		}
	}
	return bad
}

// useCases returns the lines as use cases.
func (b *batch) useCases() []app.BatchLine {
	var out []app.BatchLine
	for _, l := range b.lines {
		out = append(out, app.BatchLine{Number: l.number, Caller: l.call.Caller(), Do: l.do})
	}
	return out
}

// do runs the line's command as a part of the batch.
func (l *batchLine) do(op *app.Call) (any, error) {
	l.call.Op = op
	var own []*Command
	if l.call.Line.Cmd != nil {
		own = []*Command{l.call.Line.Cmd}
	}
	data, err := l.call.Do(own)
	KeepGiven(l.call)
	return data, err
}

// KeepGiven keeps the line's values and releases the library's tables for it, because
// a batch may have thousands of lines.
func KeepGiven(c *Call) {
	if c.Flags == nil {
		return
	}
	set := flag.NewFlagSet("", flag.ContinueOnError)
	for _, f := range c.Line.Flags {
		if v, ok := c.Flags.Generic(f.Name).(*Value); ok && set.Lookup(f.Name) == nil {
			set.Var(v, f.Name, "")
		}
	}
	_ = set.Parse(append([]string{"--"}, c.Flags.Args().Slice()...)) // only operands
	c.Flags = urfave.NewContext(nil, set, nil)
}

// batchInput returns the named file, otherwise standard input.
func batchInput(c *Call) []byte {
	var in io.Reader = c.Env.Stdin
	name := c.Operand(0)
	if name == "" && c.Env.StdinTTY {
		c.Fault("FILE", "", "the operand FILE is missing (- reads what is typed)")
		return nil
	}
	if name != "" && name != "-" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.Who.Dir, name)
		}
		f, err := os.Open(name)
		if err != nil {
			c.Fault("FILE", c.Operand(0), "FILE "+strconv.Quote(c.Operand(0))+" cannot be read: "+codes.Reason(err))
			return nil
		}
		defer f.Close()
		in = f
	}
	text, err := c.ReadAll(in, maxBatchBytes)
	switch {
	case c.Ctx.Err() != nil:
	case err != nil:
		c.Fault("FILE", name, "FILE cannot be read: "+codes.Reason(err))
	case len(text) > maxBatchBytes:
		c.Fault("FILE", name, fmt.Sprintf("FILE is longer than %d MiB", maxBatchBytes>>20))
	}
	return text
}

// batch has the lines of one call.
type batch struct {
	c     *Call
	lines []*batchLine

	commands []*Command // the commands that lines may use
	whole    []Flag     // flags that belong to the batch, not to a line
}

// batchLine is one command of a batch.
type batchLine struct {
	number int
	argv   []string
	call   *Call
}

// maxRecorded is how many characters of a line the journal keeps, for show. The records
// that the line changes have all of its texts.
const maxRecorded = 80

// recorded returns the lines as in the journal.
func (b *batch) recorded() []views.OperationLine {
	out := make([]views.OperationLine, len(b.lines))
	for i, l := range b.lines {
		var words strings.Builder
		for _, arg := range l.argv {
			if words.Len() > 0 {
				words.WriteByte(' ')
			}
			words.WriteString(external.Word(app.Cut(app.FirstLine(arg), maxRecorded)))
			if words.Len() > 4*maxRecorded {
				break
			}
		}
		out[i] = views.OperationLine{Line: l.number, Command: app.Cut(words.String(), maxRecorded)}
	}
	return out
}

// parse splits the lines; faults name their line.
func (b *batch) parse(text []byte) {
	b.commands, b.whole = b.c.Env.Commands.All(), slices.Concat(globalFlags(), writeFlags())
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		if len(b.lines) == maxBatchLines {
			b.fault(number, Fault{Field: "FILE",
				Problem: fmt.Sprintf("a batch has at most %d commands", maxBatchLines)})
			b.lines = nil // check none of them
			return
		}
		var l Line
		var argv []string
		if err := json.Unmarshal(raw, &argv); err == nil {
			l = ParseLine(b.commands, argv)
		} else {
			problem := `a line must be a JSON array of arguments, such as ["done", "api"]`
			if at := fact.Where(raw, err); at != "" { // of this line
				problem += ", and this is not valid JSON (" + strings.TrimPrefix(at, "line 1, ") + ")"
			}
			l.Faults = []Fault{{Field: "line", Problem: problem}}
		}
		if at := slices.IndexFunc(argv, func(arg string) bool {
			return ownName(b.commands,
				arg) != arg
		}); l.Cmd != nil && at >= 0 && ownName(b.commands, argv[at]) == l.Cmd.Name {
			argv[at] = l.Cmd.Name // an alias
		}
		b.add(number, argv, l)
	}
	if len(b.lines) == 0 {
		b.c.Fault("FILE", "", "FILE contains no command")
	}
}

// add creates the call of one line. What concerns the whole operation (who acts,
// where, the output format) belongs to the batch. A line that cannot be part of a
// batch is a fault of the batch, and fails when it is rehearsed.
func (b *batch) add(number int, argv []string, l Line) {
	e := b.c.Env
	e.Stdin, e.StdinTTY, e.StdoutTTY, e.StderrTTY = bytes.NewReader(nil), false, false, false
	sub := NewCall(b.c.Ctx, e, l)
	sub.Faults = l.Faults // those of the environment are the batch's own
	refused := l.Cmd == nil
	refuse := func(f Fault) { sub.Faults, refused = append(sub.Faults, f), true }
	sub.Who = b.c.Who
	for _, f := range l.Flags {
		switch {
		case f.Name == "thread":
			sub.Who.Thread = f.Text
		case f.Name == "wait", lookUp(b.whole, f.Name, true) != nil:
			refuse(Fault{Field: "--" + f.Name,
				Problem: "--" + f.Name + " applies to the whole batch and cannot be used in a line"})
		}
	}
	switch {
	case l.Help || l.Version:
		refuse(Fault{Field: "command", Problem: "a line must be a command that writes"})
	case l.Cmd == nil && len(sub.Faults) == 0:
		refuse(Fault{Field: "command", Problem: "the command is missing"})
	case l.Cmd != nil && !l.Cmd.batchable():
		refuse(Fault{Field: "command", Value: l.Cmd.Name,
			Problem: strconv.Quote(l.Cmd.Name) + " cannot be part of a batch", Allowed: batchable(b.commands)})
		sub.Line.Cmd = nil // it never runs
	}
	if refused {
		for _, f := range sub.Faults {
			b.fault(number, f)
		}
	}
	b.lines = append(b.lines, &batchLine{number: number, argv: argv, call: sub})
}

func (cmd *Command) batchable() bool { return cmd.Writes && !cmd.Unrecorded && !cmd.NotBatchable }

// batchable returns the commands that a line may contain.
func batchable(all []*Command) []string {
	var out []string
	for _, cmd := range all {
		if cmd.batchable() {
			out = append(out, cmd.Name)
		}
	}
	return out
}

func (b *batch) fault(number int, f Fault) {
	f.Line = number
	f.Problem = fmt.Sprintf("line %d: %s", number, f.Problem)
	b.c.Faults = append(b.c.Faults, f)
}
