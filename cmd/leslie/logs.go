package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/nearest"
	"leslie/warnings"
)

// This file implements logs: errors and warnings of earlier calls, line by line.

type logText struct{ app.LogLine }

func (d logText) Text(p *page) {
	line := strings.TrimPrefix(string(d.front().AppendLogfmt(nil)), " ")
	p.b.WriteString(line + " msg=" + strconv.Quote(d.List.Text("msg")) + string(d.behind().AppendLogfmt(nil)) + "\n")
}

// front and behind return the pairs before and after the message, in the order of the
// line.
func (d logText) front() fact.List { return d.List[:d.message()] }

func (d logText) behind() fact.List { return d.List[min(d.message()+1, len(d.List)):] }

func (d logText) message() int {
	i := slices.IndexFunc(d.List, func(f fact.Fact) bool { return f.Key == "msg" })
	if i < 0 {
		return len(d.List)
	}
	return i
}

type logsText struct{ *app.LogsResult }

func (d logsText) Text(p *page) {
	for _, l := range d.Items.Items {
		logText{l}.Text(p)
	}
	p.rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.line("no lines match")
	}
}

func logsCommand() *command {
	return &command{
		name: "logs", summary: "show errors and warnings of earlier calls, oldest first",
		detail:  "Shows the newest 50 by default. Here --thread is a filter. --since takes a time (2026-02-09T16:00:00Z) or an age (2h30m).",
		example: "leslie logs --level error --since 24h",
		flags: []cli.Flag{
			newOption("level", oneOf(app.LogLevels()...), "only this level and above"),
			newOption("code", aCode(), "only with this code"),
			newOption("since", anyText("T"), "only entries since this time"),
			toggle("follow", "keep printing new entries"),
			limitFlag(),
		},
		streams: following, run: runLogs,
	}
}

// logsRequest reads the line.
func logsRequest(c *call) app.LogsRequest {
	in := app.LogsRequest{
		Level: c.text("level"), Code: strings.ToUpper(c.text("code")), Limit: c.count("limit", app.DefaultLimit),
		Thread: c.text("thread"), // LESLIE_THREAD is not a filter
	}
	if since := c.text("since"); since != "" {
		var ok bool
		if in.Since, ok = c.past(since); !ok {
			c.fault("--since", since, "--since must be a time such as 2026-02-09T16:00:00Z or an age such as 2h30m, not "+quoted(since))
		}
	}
	return in
}

// past parses a time, or an age as a duration.
func (c *call) past(text string) (time.Time, bool) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return c.now().Add(-d), true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

// aCode is a code of an error or a warning.
func aCode() *value { return &value{shown: "C", check: checkCode} }

func checkCode(text string) *fault {
	known, code := knownCodes(), strings.ToUpper(text)
	if slices.Contains(known, code) {
		return nil
	}
	return &fault{Problem: "must be a code such as T101, not " + quoted(text), Nearest: nearest.Name(code, known)}
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

func runLogs(c *call) (Data, error) {
	in := logsRequest(c)
	if !c.on("follow") {
		return runUseCase(c, app.Logs, in, func(d *app.LogsResult) Data { return logsText{d} })
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	op, err := c.open()
	if err != nil {
		return nil, err
	}
	return rendering{c}.stream(func(emit func(Data) error) error {
		return app.FollowLogs(op, in, func(l app.LogLine) error { return emit(logText{l}) })
	})
}
