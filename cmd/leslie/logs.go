package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/nearest"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file is logs: what went wrong, or was worth a warning, line by line.

// logLine is one line of the log: its pairs, in their order.
type logLine struct{ fact.List }

func (d logLine) Text(p *page) {
	line := strings.TrimPrefix(string(d.front().AppendLogfmt(nil)), " ")
	p.b.WriteString(line + " msg=" + strconv.Quote(d.List.Text("msg")) + string(d.behind().AppendLogfmt(nil)) + "\n")
}

// front and behind are the pairs in front of the message and behind it: as the
// line was written.
func (d logLine) front() fact.List { return d.List[:d.message()] }

func (d logLine) behind() fact.List { return d.List[min(d.message()+1, len(d.List)):] }

func (d logLine) message() int {
	i := slices.IndexFunc(d.List, func(f fact.Fact) bool { return f.Key == "msg" })
	if i < 0 {
		return len(d.List)
	}
	return i
}

type logsData struct{ items[logLine] }

func (d *logsData) Text(p *page) {
	for _, l := range d.Items {
		l.Text(p)
	}
	p.rest(len(d.Items), d.Total)
	if d.Total == 0 {
		p.line("no lines match")
	}
}

// levels are the log's, the least first.
func levels() []string { return []string{"debug", "info", "warn", "error"} }

func logsCommand() *command {
	return &command{
		name: "logs", summary: "show errors and warnings of earlier calls, oldest first",
		detail:  "Shows the newest 50 by default. Here --thread is a filter. --since takes a time (2026-02-09T16:00:00Z) or an age (2h30m).",
		example: "leslie logs --level error --since 24h",
		flags: []cli.Flag{
			newOption("level", oneOf(levels()...), "only this level and above"),
			newOption("code", anyText("C"), "only with this code"),
			newOption("since", anyText("T"), "only entries since this time"),
			toggle("follow", "keep printing new entries"),
			limitFlag(),
		},
		streams: following, run: runLogs,
	}
}

// logFilter says which lines are asked for.
type logFilter struct {
	level  int
	code   string
	since  time.Time
	thread thread.ThreadID
}

func (c *call) logFilter() logFilter {
	f := logFilter{level: slices.Index(levels(), c.text("level")), code: strings.ToUpper(c.text("code"))}
	if f.code != "" && !slices.Contains(knownCodes(), f.code) {
		c.faults = append(c.faults, fault{Field: "--code", Value: c.text("code"),
			Problem: "there is no code " + quoted(c.text("code")), Nearest: nearest.Name(f.code, knownCodes())})
	}
	if since := c.text("since"); since != "" {
		var ok bool
		if f.since, ok = c.past(since); !ok {
			c.fault("--since", since, "--since must be a time such as 2026-02-09T16:00:00Z or an age such as 2h30m, not "+quoted(since))
		}
	}
	return f
}

// past is a time that was written as one, or as how long ago it was.
func (c *call) past(text string) (time.Time, bool) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return c.now().Add(-d), true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

func knownCodes() []string {
	var out []string
	for _, e := range codes.Table() {
		out = append(out, string(e.Code))
	}
	for _, e := range warnings.Table() {
		out = append(out, string(e.Code))
	}
	return out
}

// wants reports whether a line passes.
func (f logFilter) wants(l fact.List) bool {
	if slices.Index(levels(), l.Text("level")) < f.level || f.code != "" && l.Text("code") != f.code {
		return false
	}
	if f.thread != "" && l.Text("threadId") != string(f.thread) {
		return false
	}
	if f.since.IsZero() {
		return true
	}
	at, err := time.Parse(time.RFC3339, l.Text("time"))
	return err == nil && !at.Before(f.since.Truncate(time.Second))
}

func runLogs(c *call) (Data, error) {
	f := c.logFilter()
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	if f.thread, err = c.filterThread(); err != nil {
		return nil, err
	}
	if c.on("follow") {
		return c.followLog(st, f)
	}
	all, err := c.loggedLines(st, f)
	if err != nil {
		return nil, err
	}
	d := &logsData{items[logLine]{Items: []logLine{}, Total: len(all)}}
	if limit := c.count("limit", defaultLimit); limit > 0 && len(all) > limit {
		all, d.Truncated = all[len(all)-limit:], true
	}
	d.Items = append(d.Items, all...)
	return d, nil
}

// filterThread is the thread that --thread names where it is a filter; the
// environment's is whom the call speaks for, and filters nothing.
func (c *call) filterThread() (id thread.ThreadID, err error) {
	arg := c.text("thread")
	if arg == "" {
		return "", nil
	}
	_, err = c.view(func(s *thread.State) error {
		t, err := s.Thread(arg)
		id = t.ID
		return err
	})
	return id, err
}

func (c *call) loggedLines(st *store.Store, f logFilter) ([]logLine, error) {
	var out []logLine
	for line, err := range st.Log(c.ctx) {
		if err != nil {
			return nil, err
		}
		if l, ok := fact.ParseLogfmt(line); ok && f.wants(l) {
			out = append(out, logLine{l})
		}
	}
	return out, nil
}

// followLog answers with the newest lines of the log as it is, and then with
// those that come.
func (c *call) followLog(st *store.Store, f logFilter) (Data, error) {
	w := st.Watch(store.LogsDir + "/leslie.log") // before the first look: nothing falls between
	defer w.Close()
	r := st.FollowLog()
	defer r.Close()
	return c.stream(func(emit func(Data) error) error {
		old, err := newLines(r, f)
		if err != nil {
			return err
		}
		if limit := c.count("limit", defaultLimit); limit > 0 && len(old) > limit {
			old = old[len(old)-limit:]
		}
		for {
			for _, l := range old {
				if err := emit(l); err != nil {
					return err
				}
			}
			if err := w.Next(c.ctx, 0); err != nil {
				return err
			}
			if old, err = newLines(r, f); err != nil {
				return err
			}
		}
	})
}

func newLines(r *store.LogReader, f logFilter) ([]logLine, error) {
	lines, err := r.Lines()
	var out []logLine
	for _, line := range lines {
		if l, ok := fact.ParseLogfmt(line); ok && f.wants(l) {
			out = append(out, logLine{l})
		}
	}
	return out, err
}
