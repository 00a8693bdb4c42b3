package historycmd

import (
	"slices"
	"strconv"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/history"
	"leslie/internal/fact"
	"leslie/internal/nearest"
	"leslie/warnings"
)

// This file implements logs: errors and warnings of earlier calls, line by line.

type logText struct{ history.LogLine }

func (d logText) Text(p *page.Page) {
	line := strings.TrimPrefix(string(d.front().AppendLogfmt(nil)), " ")
	p.B.WriteString(line + " msg=" + strconv.Quote(d.List.Text("msg")) + string(d.behind().AppendLogfmt(nil)) + "\n")
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

type logsText struct{ *history.LogsResult }

func (d logsText) Text(p *page.Page) {
	for _, l := range d.Items.Items {
		logText{l}.Text(p)
	}
	p.Rest(len(d.Items.Items), d.Total)
	if d.Total == 0 {
		p.Line("no lines match")
	}
}

// Logs is the command leslie logs.
func Logs() *cli.Command {
	return &cli.Command{
		Name: "logs", Summary: "show errors and warnings of earlier calls, oldest first",
		Detail:  "Shows the newest 50 by default. Here --thread is a filter.",
		Example: "leslie logs --level error --since 24h",
		Flags: []cli.Flag{
			cli.NewFlag("level", cli.OneOf(history.LogLevels()...), "only this level and above"),
			cli.NewFlag("code", aCode().Offering(cli.CodeNames), "only with this code"),
			cli.FromFlag("only entries"),
			cli.Toggle("follow", "keep printing new entries"),
			cli.LimitFlag(),
		},
		Streams: cli.Following, Run: runLogs,
	}
}

// logsRequest reads the line.
func logsRequest(c *cli.Call) history.LogsRequest {
	return history.LogsRequest{
		Level: c.Text("level"), Code: strings.ToUpper(c.Text("code")), Limit: c.Count("limit", app.DefaultLimit),
		Since: c.From(), Thread: c.Text("thread"), // LESLIE_THREAD is not a filter
	}
}

// aCode is a code of an error or a warning.
func aCode() *cli.Value { return &cli.Value{Shown: "C", Check: checkCode} }

func checkCode(text string) *cli.Fault {
	known, code := knownCodes(), strings.ToUpper(text)
	if slices.Contains(known, code) {
		return nil
	}
	return &cli.Fault{Problem: "must be a code such as T101, not " + strconv.Quote(text),
		Nearest: nearest.Name(code, known)}
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

func runLogs(c *cli.Call) (cli.Data, error) {
	in := logsRequest(c)
	if !c.On("follow") {
		return cli.RunUseCase(c, history.Logs, in, func(d *history.LogsResult) cli.Data { return logsText{d} })
	}
	if err := c.Usage(); err != nil {
		return nil, err
	}
	op, err := c.Open()
	if err != nil {
		return nil, err
	}
	return c.Stream(func(emit func(cli.Data) error) error {
		return history.FollowLogs(op, in, func(l history.LogLine) error { return emit(logText{l}) })
	})
}
