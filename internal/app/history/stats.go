package history

import (
	"cmp"
	"iter"
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/thread"
	"leslie/warnings"
)

// StatsRequest asks for statistics of the log, and of runs.
type StatsRequest struct{}

// CodeStats says how often a code was logged.
type CodeStats struct {
	Code  string `json:"code"`
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	// Recovered counts how often a caller that had failed with this code then
	// succeeded with a writing command; Calls is how many calls that took, from the
	// first failure to the success.
	Recovered int            `json:"recovered"`
	Calls     *RecoveryCalls `json:"calls"` // null where nothing was recovered, and for warnings
}

// RecoveryCalls says how many calls it took to recover.
type RecoveryCalls struct {
	Median int `json:"median"`
	Max    int `json:"max"`
}

// CommandStats says how often a command failed or warned.
type CommandStats struct {
	Command  string `json:"command"`
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
}

// StatsResult has statistics of the log, and of runs.
type StatsResult struct {
	Since    *string        `json:"since"` // the time of the oldest line
	Errors   int            `json:"errors"`
	Warnings int            `json:"warnings"`
	Codes    []CodeStats    `json:"codes"`
	Commands []CommandStats `json:"commands"`
	// Runs is what the agents of all threads have used, archived ones too; null for none.
	Runs *thread.RunTotals `json:"runs"`
}

// Stats counts the lines of the log, which goes back only so far, and returns the sums of
// runs, which their records have. Errors: T509, T904, those of a view.
func Stats(c *app.Call, _ StatsRequest) (*StatsResult, error) {
	c.ReadOnly()
	t := NewTally()
	if err := t.Read(c.Store().Log(c.Context())); err != nil {
		return nil, err
	}
	d := t.Result()
	_, err := c.View(func(s *thread.State) (err error) {
		d.Runs, _, err = s.SumsOfRuns()
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Tally counts lines of the log in their order.
type Tally struct {
	since    string
	codes    map[string]*CodeStats
	calls    map[string][]int // of each code, one for each recovery
	commands map[string]*CommandStats
	open     map[string][]string // of each caller, the codes of its failures since its last success
}

// NewTally begins to count the lines of the log.
func NewTally() *Tally {
	return &Tally{codes: map[string]*CodeStats{}, calls: map[string][]int{}, commands: map[string]*CommandStats{}, open: map[string][]string{}}
}

// Read counts the lines of a log. Errors: those of reading.
func (t *Tally) Read(log iter.Seq2[string, error]) error {
	for line, err := range log {
		if err != nil {
			return err
		}
		if l, ok := fact.ParseLogfmt(line); ok {
			t.add(l)
		}
	}
	return nil
}

func (t *Tally) add(l fact.List) {
	t.since = cmp.Or(t.since, l.Text("time"))
	caller := l.Text("as") + " " + l.Text("actor") + " " + l.Text("speaks")
	switch l.Text("level") {
	case "error":
		t.count(l).Errors++
		t.open[caller] = append(t.open[caller], l.Text("code"))
	case "warn":
		t.count(l).Warnings++
	case "info":
		if l.Text("msg") == app.NoteRecovered {
			t.recovered(t.open[caller])
			delete(t.open, caller)
		}
	}
}

// count counts a line for its code and returns its command's counters.
func (t *Tally) count(l fact.List) *CommandStats {
	code := l.Text("code")
	s, ok := t.codes[code]
	if !ok {
		s = &CodeStats{Code: code, Kind: kindOf(code)}
		t.codes[code] = s
	}
	s.Count++
	name := l.Text("operation")
	if _, ok := t.commands[name]; !ok {
		t.commands[name] = &CommandStats{Command: name}
	}
	return t.commands[name]
}

// recovered counts a success for each code that it recovered from, since the code's
// first failure.
func (t *Tally) recovered(failed []string) {
	seen := map[string]bool{}
	for i, code := range failed {
		if !seen[code] {
			seen[code] = true
			t.calls[code] = append(t.calls[code], len(failed)-i+1)
		}
	}
}

func kindOf(code string) string {
	for _, e := range codes.Table() {
		if string(e.Code) == code {
			return e.Kind
		}
	}
	for _, e := range warnings.Table() {
		if string(e.Code) == code {
			return e.Kind
		}
	}
	return ""
}

// Result is what was counted.
func (t *Tally) Result() *StatsResult {
	d := &StatsResult{Since: app.OrNull(t.since), Codes: []CodeStats{}, Commands: []CommandStats{}}
	for _, code := range app.SortedKeys(t.codes) {
		s := *t.codes[code]
		if took := t.calls[code]; len(took) > 0 {
			slices.Sort(took)
			s.Recovered, s.Calls = len(took), &RecoveryCalls{Median: took[len(took)/2], Max: took[len(took)-1]}
		}
		d.Codes = append(d.Codes, s)
	}
	for _, name := range app.SortedKeys(t.commands) {
		d.Commands = append(d.Commands, *t.commands[name])
		d.Errors += t.commands[name].Errors
		d.Warnings += t.commands[name].Warnings
	}
	return d
}
