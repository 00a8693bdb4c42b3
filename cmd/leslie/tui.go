package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
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
	project, err := app.Open(c.who.dir, c.env.app())
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

// own is the environment of a line that the screen carries out: the same caller in the same
// project.
func (d desk) own(asks bool) env {
	e := d.env
	e.dir, e.ready = d.who.dir, nil
	set := map[string]string{"LESLIE_AS": string(d.who.as), "LESLIE_ACTOR": d.who.actor, "LESLIE_DIR": "", "LESLIE_THREAD": "", "LESLIE_FORMAT": "text"}
	if !(rendering{d.call}).colours(d.env.stdoutTTY) {
		set["NO_COLOR"] = "1"
	}
	if !asks {
		set["LESLIE_NO_INPUT"] = "1"
	}
	e.getenv = func(key string) string {
		if value, ok := set[key]; ok {
			return value
		}
		return d.env.getenv(key)
	}
	return e
}

// show carries out a line that asks nothing; its answer is for a terminal.
func (d desk) show(ctx context.Context, width int, line ...string) tui.Answer {
	e := d.own(false)
	var out bytes.Buffer
	e.stdin, e.stdout, e.stderr = strings.NewReader(""), &out, &out
	e.stdinTTY = false
	e.columns, e.rows = func() int { return width }, func() int { return math.MaxInt }
	status := perform(ctx, commands(), line, e)
	return tui.Answer{Text: out.String(), OK: status == 0}
}

// handed is a line that has the terminal for itself.
type handed struct {
	desk
	line []string
	in   io.Reader
	out  io.Writer
}

func (h *handed) SetStdin(in io.Reader)   { h.in = in }
func (h *handed) SetStdout(out io.Writer) { h.out = out }
func (h *handed) SetStderr(io.Writer)     {}

// Run carries the line out, and waits until its person has read the answer.
func (h *handed) Run() error {
	e := h.own(true)
	e.stdin, e.stdout, e.stderr = h.in, h.out, h.out
	_, _ = fmt.Fprintf(h.out, "$ leslie %s\n", strings.Join(h.line, " "))
	perform(h.ctx, commands(), h.line, e)
	_, _ = fmt.Fprint(h.out, "\nEnter goes back to the screen. ")
	_, err := bufio.NewReader(h.in).ReadString('\n')
	return err
}
