package app

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

// This file implements batches: many use cases in one operation, or none.
//
// Each line is its own Call on a draft: a State in memory on which the earlier lines
// have already run. The line stages its files, and its rule is kept. When every line
// has succeeded, the draft becomes the State under one lock; if somebody else has
// written since, all rules run again. So the lock is held no longer than for one use
// case, and a batch supports any use case without knowing it.

// maxLineErrors is how many failing lines are reported at most.
const maxLineErrors = 20

// BatchLine is one use case of a batch.
type BatchLine struct {
	Number int // 1-based, of the caller's input
	Caller Caller
	// Do runs the use case on the given Call and returns its result. It may run only
	// once; if its rule has to run again, it changes the result in place.
	Do func(line *Call) (any, error)
}

// BatchRequest has the lines of a batch.
type BatchRequest struct {
	Lines []BatchLine
	// DryRun: run the lines without changing anything.
	DryRun bool
	// unnumbered: the caller knows nothing of lines (several.go).
	Unnumbered bool
}

// BatchItem is the result of one line.
type BatchItem struct {
	Line int `json:"line"` // 1-based
	Data any `json:"data"`
}

// UnmarshalJSON keeps a stored answer of a request unchanged.
func (i *BatchItem) UnmarshalJSON(raw []byte) error {
	var kept struct {
		Line int             `json:"line"`
		Data json.RawMessage `json:"data"`
	}
	err := json.Unmarshal(raw, &kept)
	i.Line, i.Data = kept.Line, kept.Data
	return err
}

// BatchResult has the results of a batch, line by line.
type BatchResult struct {
	Items[BatchItem]
	DryRun   bool            `json:"dryRun,omitempty"`
	Revision thread.Revision `json:"revision"`
	Change
}

// LineError says why a line failed.
type LineError struct {
	Line    int        `json:"line"`
	Code    codes.Code `json:"code"`
	Message string     `json:"message"`
}

// Batch executes all lines in one operation, or none. Errors: that of the first
// failing line, with its number (details: line) and every failing line (details:
// errors); those of a write.
func Batch(c *Call, in BatchRequest) (*BatchResult, error) {
	b := &batch{c: c, unnumbered: in.Unnumbered}
	for _, l := range in.Lines {
		b.lines = append(b.lines, &batchLine{BatchLine: l})
	}
	if first, ok, err := Answered[BatchResult](c); ok || err != nil {
		return first, err
	}
	defer b.endStages()
	if err := b.rehearse(); err != nil {
		return nil, err
	}
	if in.DryRun {
		d := b.data()
		d.DryRun = true
		return d, nil
	}
	data, err := Write(c, b.rule)
	b.stands = err == nil
	for _, l := range b.lines {
		if err == nil && l.call != nil && l.call.after != nil {
			l.call.after(c)
		}
	}
	return data, err
}

// Rehearse runs every line and changes nothing. It finds further errors of a batch
// that cannot be executed. Errors: as of Batch.
func Rehearse(c *Call, lines []BatchLine) error {
	b := &batch{c: c}
	for _, l := range lines {
		b.lines = append(b.lines, &batchLine{BatchLine: l})
	}
	defer b.endStages()
	return b.rehearse()
}

// batch is the lines of one call.
type batch struct {
	c      *Call
	lines  []*batchLine
	draft  *draft
	stages []*store.Stage
	stands bool // the operation was committed

	unnumbered bool // errors do not name their line
}

// at adds the line to its error.
func (b *batch) at(l *batchLine, err error) error {
	if e := codes.Of(err); e != nil && !b.unnumbered {
		return e.With(fact.Of("line", l.Number))
	}
	return err
}

// batchLine is one line with its last run.
type batchLine struct {
	BatchLine
	call *Call
	data any
	// again is the line's rule; nil if it has none.
	again func(*thread.State, thread.Stamp) error
}

// draft is the State on which the lines of a batch run.
type draft struct {
	state   *thread.State
	expired bool // the state shows what passed deadlines mean, which is not recorded yet
	stages  []*store.Stage
	again   func(*thread.State, thread.Stamp) error // of the line that runs
}

// InBatch reports whether the call is a line of a batch.
func (c *Call) InBatch() bool { return c.draft != nil }

// AfterBatch leaves something to do once all lines of the batch are committed.
func (c *Call) AfterBatch(do func(*Call)) { c.after = do }

// BeginsThread reports whether the batch that the call is a line of itself creates the thread, so
// that it has no folder yet.
func (c *Call) BeginsThread(id thread.ThreadID) bool { return c.draft.beginsThread(id) }

// ToCome returns nil in place of T202 for the folder of a thread that the batch itself
// creates. Errors: T203 for patterns, and err.
func (c *Call) ToCome(id thread.ThreadID, set scope.Set, err error) error {
	return c.draft.toCome(id, set, err)
}

// beginsThread reports whether the batch itself creates the thread, so that it has no folder
// yet.
func (d *draft) beginsThread(id thread.ThreadID) bool {
	if d == nil {
		return false
	}
	t, ok := d.state.Threads.Peek(string(id))
	return ok && t.Revision > d.state.Revision
}

// toCome returns nil in place of T202 for the folder of a thread that the batch itself
// creates: it has no files yet. Others keep their error. Errors: T203 for patterns.
func (d *draft) toCome(id thread.ThreadID, set scope.Set, err error) error {
	if !codes.Has(err, codes.TargetCorrupted) || !d.beginsThread(id) {
		return err
	}
	if none := set.Unmatched(nil); len(none) > 0 {
		return codes.ScopeNotFound.New(fact.Of("path", none[0]), fact.Of("threadId", id), fact.Of("paths", none))
	}
	return nil
}

// rehearse runs a rule on the draft and keeps it for another run under the lock, which
// then changes the caller's result in place.
func rehearse[T any, P written[T]](c *Call, do rule[T]) (*T, error) {
	kept := len(c.warnings)
	run := func(s *thread.State, stamp thread.Stamp) (*T, error) {
		before := s.Edits()
		c.WarnAnew(kept)
		d, id, err := do(s, stamp)
		if err != nil {
			return nil, err
		}
		P(d).SetChanged(s.Edits() > before)
		if id != "" {
			c.target = id
		}
		return d, nil
	}
	first, err := run(c.draft.state, c.Stamp())
	c.draft.again = func(s *thread.State, stamp thread.Stamp) error {
		c.covered = true // it runs under the lock
		defer func() { c.covered = false }()
		d, err := run(s, stamp)
		if err == nil {
			*first = *d
		}
		return err
	}
	return first, err
}

// rehearse runs every line on a draft. It leaves out failing lines and continues, so
// that the caller learns of all of them at once.
func (b *batch) rehearse() error {
	if err := b.open(); err != nil {
		return err
	}
	var failed []LineError
	var first error
	for i, l := range b.lines {
		b.c.Report(Progress{What: "running the lines", Done: int64(i), Total: int64(len(b.lines))})
		err := b.run(l)
		if err == nil {
			continue
		}
		if b.c.ctx.Err() != nil || !aboutLine(err) {
			return err
		}
		if first == nil {
			first = b.at(l, b.standing(err))
		}
		failed = append(failed, LineError{l.Number, codes.Of(err).Code(), err.Error()})
		if l.again = nil; len(failed) == maxLineErrors {
			break
		}
		if err := b.reopen(l); err != nil {
			return err
		}
	}
	if first == nil {
		return nil
	}
	return codes.Of(first).With(fact.Of("errors", failed))
}

// standing drops the next lines that name what only the batch makes: it is not there, because
// the batch does nothing.
func (b *batch) standing(err error) error {
	e := codes.Of(err)
	if e == nil {
		return err
	}
	next := e.Next()
	_, err = b.c.View(func(s *thread.State) error {
		next = slices.DeleteFunc(next, func(line string) bool {
			return slices.ContainsFunc(strings.Fields(line), func(word string) bool {
				_, drafted := b.draft.state.Threads.Peek(word)
				_, stands := s.Threads.Peek(word)
				_, objective := b.draft.state.Objectives.Peek(word)
				_, there := s.Objectives.Peek(word)
				return drafted && !stands || objective && !there
			})
		})
		return nil
	})
	if len(next) == 0 {
		next = []string{"leslie help batch"}
	}
	return cmp.Or(err, error(e.WithNext(next...)))
}

// aboutLine reports whether an error concerns the line, not the store.
func aboutLine(err error) bool {
	e := codes.Of(err)
	return e != nil && (e.Code().ExitStatus() != 15 || codes.Has(err, codes.UnsafePath) || codes.Has(err, codes.TooLarge)) &&
		!codes.Has(err, codes.Internal) && !codes.Has(err, codes.Unknown)
}

// open creates a fresh draft.
func (b *batch) open() error {
	b.draft = &draft{}
	_, err := b.c.View(func(s *thread.State) error {
		b.draft.state, b.draft.expired = s, s.Edits() > 0
		return nil
	})
	return err
}

// reopen creates the draft again from the lines before a failing one, to discard what
// that line did partly.
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
		if err := l.again(b.draft.state, b.c.Stamp()); err != nil {
			return err
		}
	}
	return nil
}

// run runs one line on the draft. Its stage gets its own name.
func (b *batch) run(l *batchLine) error {
	request := b.c.request
	request.ID, request.Expect, request.ReadOnly, request.Progress = "", nil, false, nil
	l.call = b.c.project.Call(b.c.ctx, l.Caller, request)
	l.call.draft, b.draft.again = b.draft, nil
	stamp := b.c.Stamp()
	stamp.Operation = thread.OperationID(b.c.project.env.NewID(thread.PrefixOperation))
	l.call.stamp = &stamp
	data, err := l.Do(l.call)
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

// endStages ends the stages of the lines: files that a committed operation still has
// to place stay, all others are removed.
func (b *batch) endStages() {
	b.keepStages()
	for _, stage := range b.stages {
		b.c.EndStage(stage, b.stands)
	}
}

// rule is the whole batch, under the lock: the draft if the store has not changed
// since the draft was created, otherwise every line's rule again.
func (b *batch) rule(s *thread.State, stamp thread.Stamp) (*BatchResult, thread.ThreadID, error) {
	if b.draft.expired || !s.Become(b.draft.state) {
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
		if err := l.again(s, stamp); err != nil {
			return b.at(l, err)
		}
	}
	return nil
}

// data returns the results and warnings of the last run of the lines.
func (b *batch) data() *BatchResult {
	d := &BatchResult{Revision: b.draft.state.Revision}
	for _, l := range b.lines {
		d.Items.Items = append(d.Items.Items, BatchItem{l.Number, l.data})
		b.c.Warn(slices.Clone(l.call.warnings)...)
	}
	d.Total = len(d.Items.Items)
	return d
}
