package runcmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app/runs"
	"leslie/internal/screen"
	"leslie/thread"
)

// This file shows a person at a terminal what runs do: a line for each at the end of stderr,
// drawn again as things happen, and gone when the runs are over.

// runLines is a stream with these lines at its end. It is safe for concurrent use.
type runLines struct {
	out           io.Writer
	now           func() time.Time
	columns, rows func() int

	mu    sync.Mutex
	runs  []*runLine // in the order in which they began
	drawn time.Time
	shown int // lines on the screen
	lent  bool
	over  bool
}

// runLine is one run.
type runLine struct {
	id          thread.ThreadID
	agent, says string
	turn        int
	used        thread.Use
}

// watchRuns puts the lines at the end of stderr, until end.
func watchRuns(c *cli.Call) (l *runLines, end func()) {
	l = &runLines{out: c.Env.Stderr, now: c.Env.Now, columns: c.Env.Columns, rows: c.Env.Rows}
	c.Env.Stderr = l
	return l, l.end
}

// happened notes what happens and draws the lines, unless they were drawn just now and it is
// only something that an agent says.
func (l *runLines) happened(e runs.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || e.ThreadID == "" {
		return
	}
	at := slices.IndexFunc(l.runs, func(r *runLine) bool { return r.id == e.ThreadID })
	if e.Kind == "ended" {
		if at >= 0 {
			l.runs = slices.Delete(l.runs, at, at+1)
		}
		l.draw()
		return
	}
	if at < 0 {
		at = len(l.runs)
		l.runs = append(l.runs, &runLine{id: e.ThreadID})
	}
	r := l.runs[at]
	r.agent, r.turn, r.used = e.Agent, e.Turn, e.Used
	switch e.Kind {
	case "turn":
		r.says = ""
	case "text":
		r.says += e.Text
		r.says = strings.ToValidUTF8(r.says[max(0, len(r.says)-mostWords):], "")
	default:
		r.says = e.Kind + page.WithSeparator(": ", e.Text)
	}
	if e.Kind != "text" || l.now().Sub(l.drawn) >= cli.RedrawProgressAfter {
		l.draw()
	}
}

// mostWords is how many bytes of what an agent says are kept for its line.
const mostWords = 400

// lastLine is the last line of a text that has one.
func lastLine(text string) string {
	text = strings.TrimRight(text, " \r\n")
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return text
}

// draw writes the lines in place of those that are there.
func (l *runLines) draw() {
	if l.lent {
		return
	}
	width, rows := l.columns(), l.rows()
	if width <= 0 {
		width = cli.DefaultColumns
	}
	all := make([]string, len(l.runs))
	for i, r := range l.runs {
		all[i] = r.text(width - 1)
	}
	if most := max(rows-2, 1); rows > 0 && len(all) > most {
		all = append(all[:most-1], fmt.Sprintf("and %d more (leslie run list)", len(all)-most+1))
	}
	text := l.erased() + strings.Join(all, "\n")
	l.shown, l.drawn = len(all), l.now()
	_, _ = io.WriteString(l.out, text)
}

// erased moves to the first of the lines and erases them all.
func (l *runLines) erased() string {
	switch {
	case l.shown == 0:
		return ""
	case l.shown == 1:
		return "\r" + cli.EraseRest
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", l.shown-1)
}

// text is the run's line in at most width cells.
func (r *runLine) text(width int) string {
	parts := []string{string(r.id)}
	if r.agent != "" {
		parts = append(parts, r.agent)
	}
	parts = append(parts, fmt.Sprint("turn ", r.turn))
	if used := page.UsedText(r.used); used != "" {
		parts = append(parts, used)
	}
	return screen.Cut(page.Visible(strings.Join(append(parts, lastLine(r.says)), "  ")), width)
}

// Write puts text in front of the lines.
func (l *runLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := l.erased(); text != "" {
		_, _ = io.WriteString(l.out, text)
		l.shown = 0
	}
	n, err := l.out.Write(b)
	if !l.over && len(l.runs) > 0 && strings.HasSuffix(string(b), "\n") {
		l.draw()
	}
	return n, err
}

// Lend removes the lines until the terminal is given back.
func (l *runLines) Lend() (terminal io.Writer, back func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.out, l.erased())
	l.shown, l.lent = 0, true
	return l.out, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lent = false
		l.draw()
	}
}

// end removes the lines for good.
func (l *runLines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.out, l.erased())
	l.shown, l.over = 0, true
}
