package main

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
	// redrawProgressAfter is how long a line stands at least.
	redrawProgressAfter = 100 * time.Millisecond
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
	over   bool
}

// watchProgress returns what a use case tells its progress to; nil if no person sees
// stderr, or if a stream goes to the same terminal.
func watchProgress(c *call) func(app.Progress) {
	if !personReads(c, c.env.stderrTTY) || c.env.stdoutTTY && (rendering{c}).streams() {
		return nil
	}
	p := &progressLine{out: c.env.stderr, now: c.env.now, columns: c.env.columns}
	c.env.stderr = p
	return p.tell
}

// endProgress removes the line for good.
func endProgress(c *call) {
	if p, ok := c.env.stderr.(*progressLine); ok {
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
	if p.over || now.Sub(p.begun) < showProgressAfter || now.Sub(p.drawn) < redrawProgressAfter {
		return
	}
	p.drawn, p.stands = now, true
	width := p.columns()
	if width <= 0 {
		width = defaultColumns
	}
	line := screen.Progress{What: how.What, Done: how.Done, Total: how.Total, Unit: screen.Unit(how.Unit)}.Line(now.Sub(p.since), width)
	_, _ = io.WriteString(p.out, "\r"+line+eraseRest)
}

// eraseRest erases what is on the line behind the cursor.
const eraseRest = "\x1b[K"

// clear removes the line.
func (p *progressLine) clear() {
	if p.stands {
		_, _ = io.WriteString(p.out, "\r"+eraseRest)
		p.stands = false
	}
}

// Write removes the line and writes.
func (p *progressLine) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.out.Write(b)
}
