package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/fact"
	"leslie/warnings"
)

// note is an object of the streams in these tests.
type note struct {
	Say string `json:"say"`
}

func (n note) Text(p *page.Page) { p.Line("says %s", n.Say) }

// streaming is a command that streams.
func streaming(run func(c *cli.Call, emit func(cli.Data) error) error) []*cli.Command {
	return []*cli.Command{{Name: "tell", Streams: cli.Always, Run: func(c *cli.Call) (cli.Data, error) {
		if err := c.Usage(); err != nil {
			return nil, err
		}
		return c.Stream(func(emit func(cli.Data) error) error { return run(c, emit) })
	}}}
}

func TestAStreamIsItsObjectsAlone(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"text": "says one\nsays t\\nwo\n",
		"json": `{"say":"one"}` + "\n" + `{"say":"t\nwo"}` + "\n",
		"yaml": "---\nsay: one\n---\nsay: |-\n  t\n  wo\n",
	}
	for format, want := range tests {
		for _, terminal := range []bool{false, true} {
			b := newProject(t)
			b.StdoutTTY = terminal
			assert.Zero(t, b.perform(context.Background(), streaming(func(_ *cli.Call, emit func(cli.Data) error) error {
				return errors.Join(emit(note{"one"}), emit(note{"t\nwo"}))
			}), "tell", "--format", format))
			assert.Equal(t, want, b.out.String())
			assert.Empty(t, b.err.String())
		}
	}
}

// both has what stdout and stderr got, in that order.
func both(b *bench) *bytes.Buffer {
	var all bytes.Buffer
	b.Stdout, b.Stderr = io.MultiWriter(&b.out, &all), io.MultiWriter(&b.err, &all)
	return &all
}

func TestAStreamTellsWarningsWhereTheyBelongAndItsErrorAtTheEnd(t *testing.T) {
	t.Parallel()
	run := func(c *cli.Call, emit func(cli.Data) error) error {
		require.NoError(t, emit(note{"one"}))
		c.Warnings.Add(warnings.RepeatedFailure.New(fact.Of("count", 3), fact.Of("code", "T101")))
		require.NoError(t, emit(note{"two"}))
		return codes.ReadFailed.New(fact.Of("path", "x"), fact.Of("reason", "y"))
	}
	b := newProject(t)
	all := both(b)
	assert.Equal(t, 15, b.perform(context.Background(), streaming(run), "tell", "--format", "json"))
	lines := strings.Split(all.String(), "\n")
	require.Len(t, lines, 5)
	assert.Equal(t, `{"say":"one"}`, lines[0])
	assert.Regexp(t, `^\{"warnings":\[\{"code":"W104",.*\}\]\}$`, lines[1])
	assert.Equal(t, `{"say":"two"}`, lines[2])
	assert.Regexp(t, `^\{"success":false,"error":\{"code":"T509",.*"operation":"tell","changed":false,"retryAfterMs":60000\}\}\}$`, lines[3])
	assert.Equal(t, "{\"say\":\"one\"}\n{\"say\":\"two\"}\n", b.out.String())

	b = newProject(t)
	all = both(b)
	assert.Equal(t, 15, b.perform(context.Background(), streaming(run), "tell"))
	assert.Regexp(t, `^says one\nwarning code=W104 .*\nsays two\nerror code=T509 .*\nhint: .*\nnext: leslie doctor\n$`, all.String())
}

func TestAStreamThatBreaksSaysSoOnStderr(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*cli.Call, func(cli.Data) error) error{
		"in the command": func(_ *cli.Call, emit func(cli.Data) error) error { _ = emit(note{"one"}); panic("boom") },
		"in the rendering": func(_ *cli.Call, emit func(cli.Data) error) error {
			_ = emit(note{"one"})
			return emit(&broken{onJSON: "boom"})
		},
	} {
		b := newProject(t)
		assert.Equal(t, 1, b.perform(context.Background(), streaming(run), "tell", "--format", "json"), name)
		assert.Equal(t, "{\"say\":\"one\"}\n", b.out.String(), name)
		assert.Equal(t, "T901", document(t, b.err.Bytes()).Error.Code, name)
	}
	b := newProject(t)
	assert.Equal(t, 2, b.perform(context.Background(), streaming(nil), "tell", "--form", "x", "--format", "json"))
	assert.Empty(t, b.out.String())
	assert.Equal(t, "T903", document(t, b.err.Bytes()).Error.Code)
}

// unwritable is a standard output that accepts a number of writes and then fails.
type unwritable struct {
	left int
	err  error
}

func (w *unwritable) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, w.err
	}
	return len(p), nil
}

func TestAStreamEndsWhenItsLinesCannotBeWritten(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err    error
		status int
		says   string
	}{
		{io.ErrClosedPipe, 0, "^$"},
		{syscall.EPIPE, 0, "^$"},
		{syscall.ENOSPC, 15, `^error code=T505 msg="Could not write standard output: no space left on device`},
	}
	for _, tt := range tests {
		b, told := newProject(t), 0
		b.Stdout = &unwritable{2, tt.err}
		status := b.perform(context.Background(), streaming(func(_ *cli.Call, emit func(cli.Data) error) error {
			for {
				if err := emit(note{"again"}); err != nil {
					return err
				}
				told++
			}
		}), "tell")
		assert.Equal(t, 2, told)
		assert.Equal(t, tt.status, status)
		assert.Regexp(t, tt.says, b.err.String())
	}
}

func TestOnlyACallThatFollowsIsAStream(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"observe": true, "observe --follow": true, "observe --bad": true, "observe --help": false, "help observe": false,
		"observe --version": false, "history": false, "": false, "wait main": false,
		"logs": false, "logs --follow": true, "logs --follow=false": false, "--follow logs --level x": true,
		"run log x": false, "run log --follow x": true, "transcript x": false,
	} {
		assert.Equal(t, want, streams(strings.Fields(line)), "%q", line)
	}
}
