package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
)

// This file is batch: many commands in one operation, or none.
//
// Each line is a call of its own that runs against a draft: a State in memory on
// which the earlier lines have worked already. It stages its files, and its rule
// is kept. When every line has passed, the draft becomes the State under one hold of
// the lock; where somebody else has written since, all rules run again. So the lock is
// held no longer than for one command, and a batch does whatever its commands do,
// without knowing them.

const (
	maxBatchLines = 10_000
	maxBatchBytes = 16 << 20
	// maxLineErrors is how many failing lines are told at once.
	maxLineErrors = 20
)

type batchItem struct {
	Line int  `json:"line"` // 1-based
	Data Data `json:"data"`
}

// UnmarshalJSON keeps an answer that was kept for a request as it is.
func (i *batchItem) UnmarshalJSON(raw []byte) error {
	var kept struct {
		Line int             `json:"line"`
		Data json.RawMessage `json:"data"`
	}
	err := json.Unmarshal(raw, &kept)
	i.Line, i.Data = kept.Line, keptLine{kept.Data}
	return err
}

// keptLine is a line's answer as it was given before.
type keptLine struct{ json.RawMessage }

func (d keptLine) Text(p *page) { p.line("%s", string(d.RawMessage)) }

type batchData struct {
	items[batchItem]
	DryRun   bool            `json:"dryRun,omitempty"`
	Revision thread.Revision `json:"revision"`
	change
}

func (d *batchData) Text(p *page) {
	for _, item := range d.Items {
		p.line("line %d:", item.Line)
		item.Data.Text(p)
	}
	switch {
	case d.DryRun:
		p.line("%d commands would be done, in one operation; nothing was changed", d.Total)
	case d.Changed:
		p.line("%d commands done, in one operation", d.Total)
	default:
		p.line("%d commands; nothing changed", d.Total)
	}
}

func batchCommand() *command {
	return &command{
		name: "batch", summary: "do many writing commands in one operation, or none", writes: true, alone: true,
		teach: lesson{starting, "batch FILE"},
		detail: "Each line of FILE, or of standard input, is one command as a JSON array of its arguments:\n" +
			`["spawn", "--id", "api", "--intent", "Design the API"]` + "\n" +
			"A line sees what the lines before it did. When one fails, nothing is done and every failing\n" +
			"line is told. Commands that merge, undo or go back to a checkpoint are no lines of a batch.",
		example:  `leslie batch plan.jsonl`,
		operands: []operandSpec{{name: "FILE", kind: kindText, optional: true}},
		flags:    []flagSpec{{name: "dry-run", kind: kindSwitch, usage: "show what would happen; write nothing"}},
		run:      runBatch,
	}
}

func runBatch(c *call) (Data, error) {
	b := &batch{c: c}
	text := c.batchText()
	if len(c.faults) == 0 && c.ctx.Err() == nil {
		b.parse(text)
	}
	bad := c.usage()
	if bad != nil && len(b.lines) == 0 {
		return nil, bad
	}
	sum := sha256.Sum256(text)
	c.params["lines"], c.params["sha256"] = len(b.lines), hex.EncodeToString(sum[:])
	st, err := c.store()
	if err != nil {
		return nil, cmp.Or(bad, err)
	}
	for _, l := range b.lines {
		l.call.st = st
	}
	if bad == nil {
		if first, ok, err := answered[*batchData](c); ok || err != nil {
			return first, err
		}
	}
	defer b.endStages()
	failed, err := b.rehearse()
	switch {
	case bad != nil && len(failed) == 0: // the store could not be read
		return nil, bad
	case bad != nil:
		return nil, tellLines(bad, failed)
	case err != nil:
		return nil, err
	case len(failed) > 0:
		return nil, tellLines(codes.Of(failed[0].err).With(fact.Of("line", failed[0].line)), failed)
	}
	if c.on("dry-run") {
		return b.data(), nil
	}
	data, err := write(c, b.rule)
	b.stands = err == nil
	return data, err
}

// batchText is the file that is named, else standard input.
func (c *call) batchText() []byte {
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
			c.fault("FILE", c.operand(0), "FILE "+quoted(c.operand(0))+" cannot be read: "+plainReason(err))
			return nil
		}
		defer f.Close()
		in = f
	}
	text, err := c.readAll(in, maxBatchBytes)
	switch {
	case c.ctx.Err() != nil:
	case err != nil:
		c.fault("FILE", name, "FILE cannot be read: "+plainReason(err))
	case len(text) > maxBatchBytes:
		c.fault("FILE", name, fmt.Sprintf("FILE is longer than %d MiB", maxBatchBytes>>20))
	}
	return text
}

// batch is the lines of one call.
type batch struct {
	c      *call
	lines  []*batchLine
	draft  *draft
	stages []*store.Stage
	stands bool // the operation was committed

	commands []*command // what lines may be, and
	whole    []flagSpec // what is said once for all of them
}

// batchLine is one command of a batch.
type batchLine struct {
	number int
	call   *call
	data   Data // of its last run
	// again is the line's rule; nil for a line that has none.
	again func(*thread.State, thread.Stamp) (Data, error)
}

// draft is the State on which the lines of a batch are rehearsed.
type draft struct {
	state  *thread.State
	lapsed bool // the state shows what passed deadlines mean, which is not recorded yet
	stages []*store.Stage
	again  func(*thread.State, thread.Stamp) (Data, error) // of the line that runs
}

// begins reports whether the thread is one that the batch makes: it has no folder
// yet, and will have one.
func (d *draft) begins(id thread.ThreadID) bool {
	if d == nil {
		return false
	}
	t, ok := d.state.Threads.Peek(string(id))
	return ok && t.Revision > d.state.Revision
}

// drafted runs a rule on the draft and keeps it, to be run again under the lock.
func drafted[D written](c *call, rule func(*thread.State, thread.Stamp) (D, thread.ThreadID, error)) (D, error) {
	told := len(c.warnings)
	do := func(s *thread.State, stamp thread.Stamp) (D, error) {
		before := s.Edits()
		c.warnings = c.warnings[:told]
		d, _, err := rule(s, stamp)
		if err == nil {
			d.setChanged(s.Edits() > before)
		}
		return d, err
	}
	c.draft.again = func(s *thread.State, stamp thread.Stamp) (Data, error) { return do(s, stamp) }
	return do(c.draft.state, c.stamp())
}

// parse takes the lines apart; faults are told with their line.
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
			b.lines = nil // none is looked at
			return
		}
		var l line
		var argv []string
		if err := json.Unmarshal(raw, &argv); err == nil {
			l = parse(b.commands, argv)
		} else {
			l.faults = []fault{{Field: "line", Problem: `a line is a JSON array of arguments, such as ["done", "api"]`}}
		}
		b.add(number, l)
	}
	if len(b.lines) == 0 {
		b.c.fault("FILE", "", "FILE holds no command")
	}
}

// add makes the call of one line. What concerns the whole operation (who acts,
// where, how to answer) is said once, for the batch. A line that cannot be one of a
// batch is a fault of the batch, and fails when it is rehearsed.
func (b *batch) add(number int, l line) {
	e := b.c.env
	e.stdin, e.stdinTTY, e.stdoutTTY, e.stderrTTY = bytes.NewReader(nil), false, false, false
	sub := newCall(b.c.ctx, e, l)
	sub.faults = l.faults // those of the environment are the batch's own
	refused := l.cmd == nil
	refuse := func(f fault) { sub.faults, refused = append(sub.faults, f), true }
	speaks := sub.who.thread
	sub.who = b.c.who
	for _, f := range l.flags {
		switch name := f.spec.name; {
		case name == "thread":
			sub.who.thread = speaks
		case name == "wait", slices.ContainsFunc(b.whole, func(g flagSpec) bool { return g.name == name }):
			refuse(fault{Field: "--" + name, Problem: "--" + name + " belongs to the batch as a whole"})
		}
	}
	switch {
	case l.help || l.version:
		refuse(fault{Field: "command", Problem: "a line is a command that writes"})
	case l.cmd == nil && len(sub.faults) == 0:
		refuse(fault{Field: "command", Problem: "the command is missing"})
	case l.cmd != nil && !l.cmd.batchable():
		refuse(fault{Field: "command", Value: l.cmd.name, Problem: quoted(l.cmd.name) + " is no command for a batch", Allowed: batchable()})
		sub.line.cmd = nil // it never runs
	}
	if refused {
		for _, f := range sub.faults {
			b.fault(number, f)
		}
	}
	b.lines = append(b.lines, &batchLine{number: number, call: sub})
}

func (cmd *command) batchable() bool { return cmd.writes && !cmd.unrecorded && !cmd.alone }

// batchable are the commands that a line may hold.
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

// rehearse runs every line on a draft. A line that fails is left out and the
// others go on without it, so that the caller is told of all of them at once.
func (b *batch) rehearse() (failed []*lineError, err error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	for _, l := range b.lines {
		err := b.run(l)
		if err == nil {
			continue
		}
		if b.c.ctx.Err() != nil || !aboutLine(err) {
			return failed, err
		}
		failed = append(failed, &lineError{l.number, err})
		if l.again = nil; len(failed) == maxLineErrors {
			break
		}
		if err := b.reopen(l); err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// aboutLine reports whether an error concerns what the line says, not the store.
func aboutLine(err error) bool {
	e := codes.Of(err)
	return e != nil && (e.Code().ExitStatus() != 15 || codes.Has(err, codes.UnsafePath) || codes.Has(err, codes.TooLarge)) &&
		!codes.Has(err, codes.Internal) && !codes.Has(err, codes.Unknown)
}

// open makes a fresh draft.
func (b *batch) open() error {
	b.draft = &draft{}
	_, err := b.c.view(func(s *thread.State) error {
		b.draft.state, b.draft.lapsed = s, s.Edits() > 0
		return nil
	})
	return err
}

// reopen makes the draft anew from the lines in front of one that failed: what
// that one did in part is gone with the old draft.
func (b *batch) reopen(until *batchLine) error {
	b.keepStages()
	if err := b.open(); err != nil {
		return err
	}
	for _, l := range b.lines {
		if l == until {
			return nil
		}
		if l.again == nil {
			continue
		}
		if _, err := l.again(b.draft.state, b.c.stamp()); err != nil {
			return err
		}
	}
	return nil
}

// run rehearses one line. Its stage gets a name of its own.
func (b *batch) run(l *batchLine) error {
	stamp := b.c.stamp()
	stamp.Operation = thread.OperationID(b.c.env.newID(thread.PrefixOperation))
	l.call.stamped, l.call.draft, b.draft.again = &stamp, b.draft, nil
	data, err := l.call.do([]*command{l.call.line.cmd})
	if err != nil {
		return err
	}
	l.data, l.again = data, b.draft.again
	return nil
}

func (b *batch) keepStages() {
	if b.draft != nil {
		b.stages = append(b.stages, b.draft.stages...)
		b.draft.stages = nil
	}
}

// endStages ends what the lines staged: what an operation that stands has
// promised to place is left to it, everything else goes.
func (b *batch) endStages() {
	b.keepStages()
	for _, stage := range b.stages {
		b.c.endStage(stage, b.stands)
	}
}

// lineError is why a line failed.
type lineError struct {
	line int
	err  error
}

// tellLines is the error of a batch with every line that failed in its details.
func tellLines(err error, failed []*lineError) error {
	type told struct {
		Line    int        `json:"line"`
		Code    codes.Code `json:"code"`
		Message string     `json:"message"`
	}
	var all []told
	for _, f := range failed {
		all = append(all, told{f.line, codes.Of(f.err).Code(), f.err.Error()})
	}
	return codes.Of(err).With(fact.Of("errors", all))
}

// rule is the whole batch, under the lock: the draft, if the store still stands as
// it did when the draft was begun, else every line's rule again.
func (b *batch) rule(s *thread.State, stamp thread.Stamp) (*batchData, thread.ThreadID, error) {
	if b.draft.lapsed || !s.Become(b.draft.state) {
		if err := b.repeat(s, stamp); err != nil {
			return nil, "", err
		}
	}
	d := b.data()
	d.Revision = s.Revision + 1
	return d, "", nil
}

func (b *batch) repeat(s *thread.State, stamp thread.Stamp) error {
	for _, l := range b.lines {
		if l.again == nil {
			continue
		}
		data, err := l.again(s, stamp)
		if err != nil {
			var coded *codes.Error
			if errors.As(err, &coded) {
				err = coded.With(fact.Of("line", l.number))
			}
			return err
		}
		l.data = data
	}
	return nil
}

// data is the answer of the lines as they ran last, with what they warned of.
func (b *batch) data() *batchData {
	d := &batchData{DryRun: b.c.on("dry-run"), Revision: b.draft.state.Revision}
	for _, l := range b.lines {
		d.Items = append(d.Items, batchItem{l.number, l.data})
		b.c.warnings.Add(l.call.warnings...)
	}
	d.Total = len(d.Items)
	return d
}
