package main

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
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
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

func (d batchText) Text(p *page) {
	for _, item := range d.Items.Items {
		p.line("line %d:", item.Line)
		switch data := item.Data.(type) {
		case Data:
			data.Text(p)
		case json.RawMessage: // kept for a request
			p.line("%s", string(data))
		}
	}
	switch {
	case d.DryRun:
		p.line("%s would be done, in one operation; nothing was changed", many(d.Total, "command"))
	case d.Changed:
		p.line("%s done, in one operation", many(d.Total, "command"))
	default:
		p.line("%s; nothing changed", many(d.Total, "command"))
	}
}

func batchCommand() *command {
	return &command{
		name: "batch", summary: "run many commands that write as one operation: all or none", writes: true, notBatchable: true,
		hint: hint{starting, "batch FILE"},
		detail: "Each line of FILE, or of standard input, is one command as a JSON array of its arguments:\n" +
			`  ["spawn", "--id", "api", "--intent", "Design the API"]` + "\n" +
			"A line sees the changes of the lines before it. If one line fails, nothing is changed and every failing line is reported. " +
			"merge, undo and rollback cannot be part of a batch.",
		example:  `leslie batch plan.jsonl`,
		operands: []operand{{value: anyText("FILE"), optional: true}},
		flags:    []cli.Flag{toggle("dry-run", "show what would happen without changing anything")},
		run:      runBatch,
	}
}

func runBatch(c *call) (Data, error) {
	b := &batch{c: c}
	text := batchInput(c)
	if len(c.faults) == 0 && c.ctx.Err() == nil {
		b.parse(text)
	}
	bad := c.usage()
	if bad != nil && len(b.lines) == 0 {
		return nil, bad
	}
	sum := sha256.Sum256(text)
	c.params["lines"], c.params["sha256"], c.params["commands"] = len(b.lines), hex.EncodeToString(sum[:]), b.recorded()
	op, err := c.open()
	if err != nil {
		return nil, cmp.Or(bad, err)
	}
	if bad != nil {
		return nil, alsoFailing(bad, app.Rehearse(op, b.useCases()))
	}
	d, err := app.Batch(op, app.BatchRequest{Lines: b.useCases(), DryRun: c.on("dry-run")})
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
		out = append(out, app.BatchLine{Number: l.number, Caller: l.call.caller(), Do: l.do})
	}
	return out
}

// do runs the line's command as a part of the batch.
func (l *batchLine) do(op *app.Call) (any, error) {
	l.call.op = op
	var own []*command
	if l.call.line.cmd != nil {
		own = []*command{l.call.line.cmd}
	}
	data, err := l.call.do(own)
	keepGiven(l.call)
	return data, err
}

// keepGiven keeps the line's values and releases the library's tables for it, because
// a batch may have thousands of lines.
func keepGiven(c *call) {
	if c.flags == nil {
		return
	}
	set := flag.NewFlagSet("", flag.ContinueOnError)
	for _, f := range c.line.flags {
		if v, ok := c.flags.Generic(f.Name).(*value); ok && set.Lookup(f.Name) == nil {
			set.Var(v, f.Name, "")
		}
	}
	_ = set.Parse(append([]string{"--"}, c.flags.Args().Slice()...)) // only operands
	c.flags = cli.NewContext(nil, set, nil)
}

// batchInput returns the named file, otherwise standard input.
func batchInput(c *call) []byte {
	var in io.Reader = c.env.stdin
	name := c.operand(0)
	if name == "" && c.env.stdinTTY {
		c.fault("FILE", "", "the operand FILE is missing (- reads what is typed)")
		return nil
	}
	if name != "" && name != "-" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.who.dir, name)
		}
		f, err := os.Open(name)
		if err != nil {
			c.fault("FILE", c.operand(0), "FILE "+quoted(c.operand(0))+" cannot be read: "+codes.Reason(err))
			return nil
		}
		defer f.Close()
		in = f
	}
	text, err := c.readAll(in, maxBatchBytes)
	switch {
	case c.ctx.Err() != nil:
	case err != nil:
		c.fault("FILE", name, "FILE cannot be read: "+codes.Reason(err))
	case len(text) > maxBatchBytes:
		c.fault("FILE", name, fmt.Sprintf("FILE is longer than %d MiB", maxBatchBytes>>20))
	}
	return text
}

// batch has the lines of one call.
type batch struct {
	c     *call
	lines []*batchLine

	commands []*command // the commands that lines may use
	whole    []cli.Flag // flags that belong to the batch, not to a line
}

// batchLine is one command of a batch.
type batchLine struct {
	number int
	argv   []string
	call   *call
}

// maxRecorded is how many characters of a line the journal keeps, for show. The records
// that the line changes have all of its texts.
const maxRecorded = 80

// recorded returns the lines as in the journal.
func (b *batch) recorded() []app.OperationLine {
	out := make([]app.OperationLine, len(b.lines))
	for i, l := range b.lines {
		var words strings.Builder
		for _, arg := range l.argv {
			if words.Len() > 0 {
				words.WriteByte(' ')
			}
			words.WriteString(shellQuote(cut(firstLine(arg), maxRecorded)))
			if words.Len() > 4*maxRecorded {
				break
			}
		}
		out[i] = app.OperationLine{Line: l.number, Command: cut(words.String(), maxRecorded)}
	}
	return out
}

// parse splits the lines; faults name their line.
func (b *batch) parse(text []byte) {
	b.commands, b.whole = commands(), slices.Concat(globalFlags(), writeFlags())
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		if len(b.lines) == maxBatchLines {
			b.fault(number, fault{Field: "FILE", Problem: fmt.Sprintf("a batch has at most %d commands", maxBatchLines)})
			b.lines = nil // check none of them
			return
		}
		var l line
		var argv []string
		if err := json.Unmarshal(raw, &argv); err == nil {
			l = lint(b.commands, argv)
		} else {
			l.faults = []fault{{Field: "line", Problem: `a line must be a JSON array of arguments, such as ["done", "api"]`}}
		}
		if at := slices.IndexFunc(argv, func(arg string) bool { return ownName(arg) != arg }); l.cmd != nil && at >= 0 && ownName(argv[at]) == l.cmd.name {
			argv[at] = l.cmd.name // an alias
		}
		b.add(number, argv, l)
	}
	if len(b.lines) == 0 {
		b.c.fault("FILE", "", "FILE contains no command")
	}
}

// add creates the call of one line. What concerns the whole operation (who acts,
// where, the output format) belongs to the batch. A line that cannot be part of a
// batch is a fault of the batch, and fails when it is rehearsed.
func (b *batch) add(number int, argv []string, l line) {
	e := b.c.env
	e.stdin, e.stdinTTY, e.stdoutTTY, e.stderrTTY = bytes.NewReader(nil), false, false, false
	sub := newCall(b.c.ctx, e, l)
	sub.faults = l.faults // those of the environment are the batch's own
	refused := l.cmd == nil
	refuse := func(f fault) { sub.faults, refused = append(sub.faults, f), true }
	sub.who = b.c.who
	for _, f := range l.flags {
		switch {
		case f.Name == "thread":
			sub.who.thread = f.text
		case f.Name == "wait", lookUp(b.whole, f.Name, true) != nil:
			refuse(fault{Field: "--" + f.Name, Problem: "--" + f.Name + " applies to the whole batch and cannot be used in a line"})
		}
	}
	switch {
	case l.help || l.version:
		refuse(fault{Field: "command", Problem: "a line must be a command that writes"})
	case l.cmd == nil && len(sub.faults) == 0:
		refuse(fault{Field: "command", Problem: "the command is missing"})
	case l.cmd != nil && !l.cmd.batchable():
		refuse(fault{Field: "command", Value: l.cmd.name, Problem: quoted(l.cmd.name) + " cannot be part of a batch", Allowed: batchable()})
		sub.line.cmd = nil // it never runs
	}
	if refused {
		for _, f := range sub.faults {
			b.fault(number, f)
		}
	}
	b.lines = append(b.lines, &batchLine{number: number, argv: argv, call: sub})
}

func (cmd *command) batchable() bool { return cmd.writes && !cmd.unrecorded && !cmd.notBatchable }

// batchable returns the commands that a line may contain.
func batchable() []string {
	var out []string
	for _, cmd := range commands() {
		if cmd.batchable() {
			out = append(out, cmd.name)
		}
	}
	return out
}

func (b *batch) fault(number int, f fault) {
	f.Line = number
	f.Problem = fmt.Sprintf("line %d: %s", number, f.Problem)
	b.c.faults = append(b.c.faults, f)
}
