package main

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

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/tui"
	"leslie/thread"
)

// This file implements tui: the screen that a person keeps open. Everything on it is the
// answer of a line of leslie.

func tuiCommand() *command {
	return &command{
		name: "tui", lasts: true, summary: "show all threads and what waits on one screen, and work from there",
		detail: "Threads as a tree, what there is to know of the selected one, and what waits for you: answer it there, tell agents something, merge, run and stop. " +
			"? shows the keys. It follows what others do. Quitting ends nothing that runs. It needs a terminal with a person.",
		example: "leslie tui",
		streams: always, run: runTUI,
	}
}

func runTUI(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	project, err := app.Open(c.who.dir, environment(c))
	if err != nil {
		return nil, err
	}
	if _, err := app.Overview(project.Call(c.ctx, c.caller(), looking()), app.OverviewRequest{}); err != nil {
		return nil, err
	}
	if !c.env.stdinTTY || !personReads(c, c.env.stdoutTTY) || c.who.noInput {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "leslie tui needs a terminal, and a person in front of it")).
			WithHint("Read the same in text or JSON").WithNext("leslie status", "leslie list --tree")
	}
	err = lend(c, func(in io.Reader, out io.Writer) error {
		return tui.Run(c.ctx, desk{c, project}.functions(), in, out, c.env.environ())
	})
	if err != nil {
		return nil, codes.WriteFailed.Wrap(err, fact.Of("path", "the terminal"), fact.Of("reason", err.Error()))
	}
	return nil, nil
}

// looking is a request that changes nothing.
func looking() app.Request { return app.Request{Command: "observe", ReadOnly: true} }

// desk is what the screen shows and does.
type desk struct {
	*call
	project *app.Project
}

func (d desk) functions() tui.Desk {
	return tui.Desk{
		Overview: func(ctx context.Context) (*app.OverviewResult, error) {
			return app.Overview(d.project.Call(ctx, d.caller(), looking()), app.OverviewRequest{})
		},
		Show: d.show,
		Hand: func(line ...string) tui.Command { return &handed{desk: d, line: line} },
		Type: func(text string) tui.Command { return &handed{desk: d, text: text} },
		Watch: func(ctx context.Context, changed func()) error {
			told := func(app.OperationRecord) error { changed(); return nil }
			return app.Observe(d.project.Call(ctx, d.caller(), looking()), app.ObserveRequest{Follow: true}, told)
		},
		Follow: func(ctx context.Context, id thread.ThreadID, changed func()) error {
			told := func(app.TranscriptEntry) error { changed(); return nil }
			return app.FollowTranscript(d.project.Call(ctx, d.caller(), looking()), app.TranscriptRequest{Thread: string(id), Limit: 1}, told)
		},
		Colours: rendering{d.call}.colours(d.env.stdoutTTY), ASCII: onlyASCII(d.call),
	}
}

// variables are those of lines that the screen carries out: the same caller in the same
// project.
func (d desk) variables(asks bool) map[string]string {
	set := map[string]string{"LESLIE_AS": string(d.who.as), "LESLIE_ACTOR": d.who.actor, "LESLIE_DIR": "", "LESLIE_THREAD": "", "LESLIE_FORMAT": "text"}
	if !(rendering{d.call}).colours(d.env.stdoutTTY) {
		set["NO_COLOR"] = "1"
	}
	if !asks {
		set["LESLIE_NO_INPUT"] = "1"
	}
	return set
}

// show carries out a line that asks nothing; its answer is for a terminal.
func (d desk) show(ctx context.Context, width int, line ...string) tui.Answer {
	e, set := d.env, d.variables(false)
	e.dir, e.ready = d.who.dir, nil
	e.getenv = func(key string) string {
		if value, ok := set[key]; ok {
			return value
		}
		return d.env.getenv(key)
	}
	var out bytes.Buffer
	e.stdin, e.stdout, e.stderr = strings.NewReader(""), &out, &out
	e.stdinTTY = false
	e.columns, e.rows = func() int { return width }, func() int { return math.MaxInt }
	status := perform(ctx, commands(), line, e)
	return tui.Answer{Text: out.String(), OK: status == 0}
}

// handed is a line that has the terminal for itself. It is a process of its own: Ctrl-C ends
// that, and nothing of it goes on reading what is typed on the screen later.
type handed struct {
	desk
	line []string
	text string // the line as it was typed
	in   io.Reader
	out  io.Writer
}

func (h *handed) SetStdin(in io.Reader)   { h.in = in }
func (h *handed) SetStdout(out io.Writer) { h.out = out }
func (h *handed) SetStderr(io.Writer)     {}

// Run carries the line out, and waits until its person has read the answer.
func (h *handed) Run() error {
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
	case <-h.ctx.Done():
		return h.ctx.Err()
	}
}

func (h *handed) perform() error {
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
	cmd := exec.CommandContext(h.ctx, h.env.program, line...)
	cmd.Dir, cmd.Env = h.who.dir, h.env.environ()
	for name, value := range h.variables(true) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = h.in, h.out, h.out
	var exit *exec.ExitError
	if err := runLent(h.call, cmd); !errors.As(err, &exit) { // it has said itself what is wrong
		return err
	}
	return nil
}
