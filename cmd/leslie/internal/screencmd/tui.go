package screencmd

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/viewcmd"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/runs"
	"leslie/internal/app/threads"
	"leslie/internal/app/views"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/tui"
	"leslie/thread"
)

// This file implements tui: the screen that a person keeps open. Everything on it is the
// answer of a line of leslie.

// Tui is the command leslie tui.
func Tui() *cli.Command {
	return &cli.Command{
		Name: "tui", Lasts: true, Summary: "show all threads and what waits on one screen, and work from there",
		Detail: "Threads as a tree, what there is to know of the selected one, and what waits for you: answer it " +
			"there, tell agents something, merge, run and stop. ? shows the keys. It follows what others do. " +
			"Quitting ends nothing that runs. It needs a terminal with a person.",
		Example: "leslie tui",
		Streams: cli.Always, Run: runTUI,
	}
}

func runTUI(c *cli.Call) (cli.Data, error) {
	if err := c.Usage(); err != nil {
		return nil, err
	}
	project, err := app.Open(c.Who.Dir, c.Environment())
	if err != nil {
		return nil, err
	}
	look := project.Call(c.Ctx, c.Caller(), readOnlyRequest())
	if _, err := threads.Overview(look, threads.OverviewRequest{}); err != nil {
		return nil, err
	}
	if !c.Env.StdinTTY || !c.PersonReads(c.Env.StdoutTTY) || c.Who.NoInput {
		return nil, codes.InvalidArgument.New(fact.Of("reason",
			"leslie tui needs a terminal, and a person in front of it")).
			WithHint("Read the same in text or JSON").WithNext("leslie status", "leslie list --tree")
	}
	err = c.Lend(func(in io.Reader, out io.Writer) error {
		return tui.Run(c.Ctx, backend{c, project}.functions(), in, out, c.Env.Environ())
	})
	if err != nil {
		return nil, codes.WriteFailed.Wrap(err, fact.Of("path", "the terminal"), fact.Of("reason", err.Error()))
	}
	return nil, nil
}

// readOnlyRequest is a request that changes nothing.
func readOnlyRequest() app.Request { return app.Request{Command: "observe", ReadOnly: true} }

// backend is what the screen shows and does.
type backend struct {
	*cli.Call
	project *app.Project
}

func (d backend) functions() tui.Backend {
	return tui.Backend{
		Actor: d.project.NameHere(d.Who.Actor),
		Overview: func(ctx context.Context) (*threads.OverviewResult, error) {
			return threads.Overview(d.project.Call(ctx, d.Caller(), readOnlyRequest()), threads.OverviewRequest{})
		},
		Show: d.show,
		Hand: func(line ...string) tui.Command { return &foregroundCommand{backend: d, line: line} },
		Type: func(text string) tui.Command { return &foregroundCommand{backend: d, text: text} },
		Watch: func(ctx context.Context, changed func()) error {
			told := func(app.OperationRecord) error { changed(); return nil }
			return views.Observe(d.project.Call(ctx, d.Caller(), readOnlyRequest()), views.ObserveRequest{Follow: true}, told)
		},
		Follow: func(ctx context.Context, id thread.ThreadID, changed func()) error {
			told := func(runs.TranscriptEntry) error { changed(); return nil }
			return runs.FollowTranscript(d.project.Call(ctx, d.Caller(), readOnlyRequest()),
				runs.TranscriptRequest{Thread: string(id), Limit: 1}, told)
		},
		Colours: d.Call.Colours(d.Env.StdoutTTY), ASCII: viewcmd.OnlyASCII(d.Call),
	}
}

// variables are those of lines that the screen carries out: the same caller in the same
// project.
func (d backend) variables(asks bool) map[string]string {
	set := map[string]string{"LESLIE_AS": string(d.Who.As), "LESLIE_ACTOR": d.Who.Actor, "LESLIE_DIR": "",
		"LESLIE_THREAD": "", "LESLIE_FORMAT": "text"}
	if !d.Call.Colours(d.Env.StdoutTTY) {
		set["NO_COLOR"] = "1"
	}
	if !asks {
		set["LESLIE_NO_INPUT"] = "1"
	}
	return set
}

// show carries out a line that asks nothing; its answer is for a terminal.
func (d backend) show(ctx context.Context, width int, line ...string) tui.Answer {
	e, set := d.Env, d.variables(false)
	e.Dir, e.Ready = d.Who.Dir, nil
	e.Getenv = func(key string) string {
		if value, ok := set[key]; ok {
			return value
		}
		return d.Env.Getenv(key)
	}
	var out bytes.Buffer
	e.Stdin, e.Stdout, e.Stderr = strings.NewReader(""), &out, &out
	e.StdinTTY = false
	e.Columns, e.Rows = func() int { return width }, func() int { return math.MaxInt }
	status := cli.RunWith(ctx, e.Commands.All(), line, e)
	return tui.Answer{Text: out.String(), OK: status == 0}
}

// foregroundCommand is a line that has the terminal for itself. It is a process of its own: Ctrl-C ends
// that, and nothing of it goes on reading what is typed on the screen later.
type foregroundCommand struct {
	backend
	line []string
	text string // the line as it was typed
	in   io.Reader
	out  io.Writer
}

func (h *foregroundCommand) SetStdin(in io.Reader)   { h.in = in }
func (h *foregroundCommand) SetStdout(out io.Writer) { h.out = out }
func (h *foregroundCommand) SetStderr(io.Writer)     {}

// Run carries the line out, and waits until its person has read the answer.
func (h *foregroundCommand) Run() error {
	_, _ = fmt.Fprintf(h.out, "$ leslie %s\n", cmp.Or(h.text, strings.Join(h.line, " ")))
	if err := h.perform(); err != nil {
		_, _ = fmt.Fprintln(h.out, err)
	}
	_, _ = fmt.Fprint(h.out, "\nEnter goes back to the screen. ")
	read := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(h.in).ReadString('\n')
		read <- err
	}()
	select {
	case err := <-read:
		return err
	case <-h.Ctx.Done():
		return h.Ctx.Err()
	}
}

func (h *foregroundCommand) perform() error {
	line := h.line
	if line == nil {
		var err error
		if line, err = external.Split(h.text); err != nil {
			return err
		}
		if line[0] == "leslie" { // out of habit
			line = line[1:]
		}
	}
	cmd := exec.CommandContext(h.Ctx, h.Env.Program, line...)
	cmd.Dir, cmd.Env = h.Who.Dir, h.Env.Environ()
	for name, value := range h.variables(true) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = h.in, h.out, h.out
	var exit *exec.ExitError
	if err := h.RunLent(cmd); !errors.As(err, &exit) { // it has said itself what is wrong
		return err
	}
	return nil
}
