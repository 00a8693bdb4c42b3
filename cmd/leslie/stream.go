package main

import (
	"errors"
	"io"
	"slices"
	"syscall"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/warnings"
)

// This file implements streams, for commands that report events as they happen.
// Objects go to stdout one by one, without an envelope: a line of JSON each, a YAML
// document each, or their text. stdout contains nothing else. Warnings go to stderr
// before the objects that they concern, and so does an error, which ends the stream:
// in the requested format, in JSON as one line.
//
// A signal is the normal end of a stream that follows: exit status 130. When its
// reader goes away, a stream ends silently.

// always is for commands that always stream.
func always(line) bool { return true }

// following is for commands that stream with --follow.
func following(l line) bool { return l.has("follow") }

// streams reports whether this call's answer is a stream.
func (c rendering) streams() bool {
	cmd := c.line.cmd
	return cmd != nil && cmd.streams != nil && !c.line.asks() && cmd.streams(c.line)
}

// errUnread says that nobody reads the stream.
var errUnread = errors.New("nobody reads the stream")

// stream answers with what run emits, immediately. emit fails if the reader has gone:
// run then ends with that error. Only a command whose line streams may call it.
func (c rendering) stream(run func(emit func(Data) error) error) (Data, error) {
	err := run(func(d Data) error {
		c.tellWarnings()
		return c.send(c.item(d))
	})
	if errors.Is(err, errUnread) {
		err = nil
	}
	return nil, err
}

// lend lends stdin and stdout to a protocol of its own, which nothing else writes to.
func lend(c *call, talk func(in io.Reader, out io.Writer) error) error {
	return talk(c.env.stdin, c.env.stdout)
}

// send writes bytes to stdout. Errors: errUnread if its reader has gone, T505.
func (c rendering) send(b []byte) error {
	_, err := c.env.stdout.Write(b)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE):
		return errUnread
	}
	return codes.WriteFailed.Wrap(err, fact.Of("path", "standard output"), fact.Of("reason", codes.Reason(err)))
}

// item is one object of a stream in the asked format.
func (c rendering) item(d Data) []byte {
	if c.who.format == "text" {
		p := c.page()
		d.Text(p)
		return []byte(p.String())
	}
	return c.streamed(d)
}

// streamed is a value as one line of JSON or one YAML document.
func (c rendering) streamed(v any) []byte {
	raw, err := fact.JSON(v)
	if err != nil {
		panic(err) // T901, like every answer that cannot be written
	}
	if c.who.format == "yaml" {
		return append([]byte("---\n"), toYAML(raw)...)
	}
	return append(fact.Escaped(raw), '\n')
}

// tellWarnings writes new warnings to stderr, and notices, which are not kept. They
// concern what follows, so they are not left for the end.
func (c rendering) tellWarnings(notices ...warnings.Warning) {
	if c.op != nil {
		c.warnings.Add(c.op.Warnings()...)
	}
	fresh := slices.Concat(c.warnings[c.told:], notices)
	c.told = len(c.warnings)
	switch {
	case len(fresh) == 0:
	case c.who.format == "text":
		c.textNotes(fresh, nil)
	default:
		_, _ = c.env.stderr.Write(c.streamed(struct {
			Warnings warnings.List `json:"warnings"`
		}{fresh}))
	}
}

// endStream writes what is left and returns the exit status.
func (c rendering) endStream(failure *codes.Error) int {
	c.tellWarnings()
	switch {
	case failure == nil:
		return 0
	case c.stopped(failure) && personReads(c.call, c.env.stdoutTTY && c.env.stderrTTY): // they typed Ctrl-C, and see that it ended
		return failure.Code().ExitStatus()
	}
	if c.who.format == "text" {
		c.textNotes(nil, failure)
	} else {
		e := c.envelope(nil, failure)
		e.Warnings = nil
		_, _ = c.env.stderr.Write(c.streamed(e))
	}
	return failure.Code().ExitStatus()
}

// stopped reports whether a failure is only the normal end of a stream that follows,
// which is not logged.
func (c rendering) stopped(failure *codes.Error) bool {
	return failure != nil && failure.Code() == codes.Interrupted && c.streams()
}
