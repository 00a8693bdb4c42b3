package history

import (
	"slices"
	"time"

	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
)

// LogLine is one line of the log: its pairs in order.
type LogLine struct{ fact.List }

// LogLevels returns the levels of the log, the lowest first.
func LogLevels() []string { return []string{"debug", "info", "warn", "error"} }

// LogsRequest asks for lines of the log.
type LogsRequest struct {
	Level  string    // only of this level and above; "": all
	Code   string    // only with this code; "": all
	Since  time.Time // only from this time on; zero: all
	Thread string    // only about this thread; "": all
	Limit  int       // only the newest; 0: all
}

// LogsResult has the lines, oldest first.
type LogsResult struct{ app.Items[LogLine] }

// Logs returns the newest lines of the log. Errors: T101, T105, T509, T904.
func Logs(c *app.Call, in LogsRequest) (*LogsResult, error) {
	c.ReadOnly()
	f, err := in.filter(c)
	if err != nil {
		return nil, err
	}
	all := []LogLine{}
	for line, err := range c.Store().Log(c.Context()) {
		if err != nil {
			return nil, err
		}
		all = f.with(all, line)
	}
	d := &LogsResult{app.Items[LogLine]{Total: len(all)}}
	d.Items.Items = newest(all, in.Limit)
	d.Truncated = len(d.Items.Items) < len(all)
	return d, nil
}

// FollowLogs calls emit with the newest lines of the log, and then with each new line,
// until the call's context ends. An error of emit ends it and is returned. Errors:
// T101, T105, T509, T904.
func FollowLogs(c *app.Call, in LogsRequest, emit func(LogLine) error) error {
	c.ReadOnly()
	f, err := in.filter(c)
	if err != nil {
		return err
	}
	w := c.Store().Watch(store.LogsDir + "/leslie.log") // before the first look, so that no line is missed
	defer w.Close()
	r := c.Store().FollowLog()
	defer r.Close()
	fresh := func() (found []LogLine, err error) {
		lines, err := r.Lines()
		for _, line := range lines {
			found = f.with(found, line)
		}
		return found, err
	}
	lines, err := fresh()
	if err != nil {
		return err
	}
	lines = newest(lines, in.Limit)
	for {
		for _, l := range lines {
			if err := emit(l); err != nil {
				return err
			}
		}
		if err := w.Next(c.Context(), 0); err != nil {
			return err
		}
		if lines, err = fresh(); err != nil {
			return err
		}
	}
}

// newest returns the last lines; 0 keeps all.
func newest(lines []LogLine, limit int) []LogLine {
	if limit > 0 && len(lines) > limit {
		return lines[len(lines)-limit:]
	}
	return lines
}

// logFilter selects log lines.
type logFilter struct {
	LogsRequest
	level  int
	thread thread.ThreadID
}

func (in LogsRequest) filter(c *app.Call) (logFilter, error) {
	id, err := filterThread(c, in.Thread)
	return logFilter{in, slices.Index(LogLevels(), in.Level), id}, err
}

// with appends a line that matches.
func (f logFilter) with(lines []LogLine, raw string) []LogLine {
	if l, ok := fact.ParseLogfmt(raw); ok && f.wants(l) {
		return append(lines, LogLine{l})
	}
	return lines
}

func (f logFilter) wants(l fact.List) bool {
	if slices.Index(LogLevels(), l.Text("level")) < f.level || f.Code != "" && l.Text("code") != f.Code {
		return false
	}
	if f.thread != "" && l.Text("threadId") != string(f.thread) {
		return false
	}
	if f.Since.IsZero() {
		return true
	}
	at, err := time.Parse(time.RFC3339, l.Text("time"))
	return err == nil && !at.Before(f.Since.Truncate(time.Second))
}
