package cli

import (
	"io"
	"sync"
	"time"

	"leslie/internal/app"
	"leslie/internal/screen"
)

// This file shows a person at a terminal how far a long call is: one line on stderr that
// is drawn again and again, and is gone when anything else is written, and at the end.

const (
	// showProgressAfter is how long a call takes before anything is shown.
	showProgressAfter = time.Second
	// RedrawProgressAfter is how long a line stands at least.
	RedrawProgressAfter = 100 * time.Millisecond
)

// progressLine is a stream with a line of progress at its end. It is safe for concurrent
// use.
type progressLine struct {
	out     io.Writer
	now     func() time.Time
	columns func() int

	mu     sync.Mutex
	begun  time.Time // of the call
	what   string
	since  time.Time // of what is being done
	drawn  time.Time
	stands bool // the line is on the screen
	over   bool // nothing is drawn
}

// watchProgress returns what a use case tells its progress to; nil if no person sees
// stderr, or if a stream goes to the same terminal.
func (c *Call) watchProgress() func(app.Progress) {
	if !c.PersonReads(c.Env.StderrTTY) || c.Env.StdoutTTY && c.Streams() {
		return nil
	}
	p := &progressLine{out: c.Env.Stderr, now: c.Env.Now, columns: c.Env.Columns}
	c.Env.Stderr = p
	return p.tell
}

// endProgress removes the line for good.
func (c *Call) endProgress() {
	if p, ok := c.Env.Stderr.(*progressLine); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clear()
		p.over = true
	}
}

// tell draws the line, unless it is too early.
func (p *progressLine) tell(how app.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.begun.IsZero() {
		p.begun = now
	}
	if how.What != p.what {
		p.what, p.since, p.drawn = how.What, now, time.Time{}
	}
	if p.over || now.Sub(p.begun) < showProgressAfter || now.Sub(p.drawn) < RedrawProgressAfter {
		return
	}
	p.drawn, p.stands = now, true
	width := p.columns()
	if width <= 0 {
		width = DefaultColumns
	}
	line := screen.Progress{What: how.What, Done: how.Done, Total: how.Total,
		Unit: screen.Unit(how.Unit)}.Line(now.Sub(p.since), width)
	_, _ = io.WriteString(p.out, "\r"+line+EraseRest)
}

// EraseRest erases what is on the line behind the cursor.
const EraseRest = "\x1b[K"

// clear removes the line.
func (p *progressLine) clear() {
	if p.stands {
		_, _ = io.WriteString(p.out, "\r"+EraseRest)
		p.stands = false
	}
}

// Lend removes the line until the terminal is given back.
func (p *progressLine) Lend() (terminal io.Writer, back func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	before := p.over
	p.over = true
	return p.out, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.over = before
	}
}

// Write removes the line and writes.
func (p *progressLine) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.out.Write(b)
}
