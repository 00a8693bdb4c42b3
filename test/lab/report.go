//go:build unix

package lab

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"time"

	"leslie/test/harness"
)

// Report counts the calls of all workers, and prints violations at once.
type Report struct {
	Out   io.Writer
	Start time.Time
	// How repeats the run: "-seed 41".
	How string

	Total      Tally
	Violations []string // those that were printed
	Broken     int

	mu       sync.Mutex
	tallies  map[string]*Tally
	warnings map[string]int
}

// Tally is one row of the table.
type Tally struct {
	Calls, OK, Aimed, Killed, Answered int // Aimed at by a kill, Answered before it
	codes                              map[string]int
	typical                            time.Duration
}

// NewReport begins a report.
func NewReport(out io.Writer, how string) *Report {
	return &Report{Out: out, Start: time.Now(), How: how, tallies: map[string]*Tally{}, warnings: map[string]int{}}
}

func (r *Report) tally(command string) *Tally {
	if r.tallies[command] == nil {
		r.tallies[command] = &Tally{codes: map[string]int{}, typical: 50 * time.Millisecond}
	}
	return r.tallies[command]
}

// Typical returns how long a call of a command takes on average, at most a second.
func (r *Report) Typical(command string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tally(command).typical
}

// Moment draws a moment of a call, mostly before its end.
func (r *Report) Moment(random *rand.Rand, command string) time.Duration {
	return 1 + time.Duration(random.Float64()*1.2*float64(r.Typical(command)))
}

// Count counts a call.
func (r *Report) Count(l Line, o Outcome, kill Interruption) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tally(l.Command)
	t.Calls++
	if kill.Kills() {
		t.Aimed++
	}
	code := o.Code()
	if doc, _ := harness.Read(o.Stderr); l.Stream && doc != nil && doc.Error != nil {
		code = doc.Error.Code
	}
	switch {
	case o.Killed && kill.Signal == syscall.SIGTERM:
		t.codes["SIGTERM"]++
	case o.Killed:
		t.Killed++
		if o.Doc != nil {
			t.Answered++
		}
	case o.Status == 0:
		t.OK++
	default:
		t.codes[code]++
	}
	if !o.Killed {
		t.typical += (min(o.End.Sub(o.Begin), time.Second) - t.typical) / 8
	}
	if o.Doc != nil {
		for _, w := range o.Doc.Warnings {
			r.warnings[w.Code]++
		}
	}
}

// Say prints a line of progress.
func (r *Report) Say(format string, args ...any) {
	fmt.Fprintf(r.Out, "%6s  %s\n", time.Since(r.Start).Round(time.Second), fmt.Sprintf(format, args...))
}

// most is how many violations are printed; later ones follow from them.
const most = 10

// Violate prints a violation: by whom, what, and the last calls before it.
func (r *Report) Violate(who, what string, last ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Broken++; r.Broken > most {
		return
	}
	text := fmt.Sprintf("VIOLATION (%s, %s): %s\n", who, r.How, what)
	for _, l := range last {
		text += "    " + l + "\n"
	}
	fmt.Fprint(r.Out, text)
	r.Violations = append(r.Violations, text)
}

// Table prints the calls of each command, and sums them up in Total.
func (r *Report) Table() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Total = Tally{codes: map[string]int{}}
	fmt.Fprintf(r.Out, "\n%-18s %7s %7s %7s %7s  %s\n", "command", "calls", "ok", "aimed", "killed", "codes")
	for _, name := range Sorted(r.tallies) {
		t := r.tallies[name]
		r.row(name, t)
		r.Total.Calls += t.Calls
		r.Total.OK += t.OK
		r.Total.Aimed += t.Aimed
		r.Total.Killed += t.Killed
		r.Total.Answered += t.Answered
		for code, n := range t.codes {
			r.Total.codes[code] += n
		}
	}
	r.row("total", &r.Total)
	fmt.Fprintf(r.Out, "\nwarnings: %s\n", counted(r.warnings))
}

func (r *Report) row(name string, t *Tally) {
	fmt.Fprintf(r.Out, "%-18s %7d %7d %7d %7d  %s\n", name, t.Calls, t.OK, t.Aimed, t.Killed, counted(t.codes))
}

// counted prints counts in the order of their keys.
func counted(m map[string]int) string {
	var parts []string
	for _, key := range Sorted(m) {
		parts = append(parts, fmt.Sprintf("%s %d", key, m[key]))
	}
	return strings.Join(parts, ", ")
}

// Conclude prints the last line, whose beginning says what was done, and the violations once more
// for readers of only the last lines. It reports whether there were none.
func (r *Report) Conclude(what string) bool {
	conclusion := "every promise was kept"
	if r.Broken > 0 {
		conclusion = fmt.Sprintf("%d violations", r.Broken)
	}
	fmt.Fprintf(r.Out, "%s: %s\n%s", what, conclusion, strings.Join(r.Violations, ""))
	return r.Broken == 0
}
