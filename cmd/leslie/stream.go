package main

import (
	"errors"
	"io"
	"syscall"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/warnings"
)

// This file is the other way to answer: a stream, for commands that tell what
// happens while it happens. Objects go to stdout one by one, without an envelope
// around them: a line of JSON each, a YAML document each, or what their text
// says. stdout holds nothing else. Warnings go to stderr in front of what they
// are about, and so does an error, which ends the stream: in the asked format,
// in JSON as one line.
//
// A signal is how a stream that follows ends: exit status 130. A reader that
// goes away ends it, too, and in silence.

// always is the streams of a command that never answers otherwise.
func always(line) bool { return true }

// following is the streams of a command that --follow turns into a stream.
func following(l line) bool { return l.has("follow") }

// streams reports whether this call's answer is a stream.
func (c *call) streams() bool {
	cmd := c.line.cmd
	return cmd != nil && cmd.streams != nil && !c.line.asks() && cmd.streams(c.line)
}

// errUnread says that nobody reads the stream.
var errUnread = errors.New("nobody reads the stream")

// stream answers with what run emits, as it comes. emit fails when there is
// nobody left to tell: run then ends with that error. The command that calls it
// is one whose line streams.
func (c *call) stream(run func(emit func(Data) error) error) (Data, error) {
	err := run(func(d Data) error {
		c.tellWarnings()
		return c.send(c.item(d))
	})
	if errors.Is(err, errUnread) {
		err = nil
	}
	return nil, err
}

// send puts bytes on stdout. Errors: errUnread when its reader has gone, T505.
func (c *call) send(b []byte) error {
	_, err := c.env.stdout.Write(b)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE):
		return errUnread
	}
	return codes.WriteFailed.Wrap(err, fact.Of("path", "standard output"), fact.Of("reason", plainReason(err)))
}

// item is one object of a stream in the asked format.
func (c *call) item(d Data) []byte {
	if c.who.format == "text" {
		p := &page{}
		d.Text(p)
		return []byte(p.String())
	}
	return c.streamed(d)
}

// streamed is a value as one line of JSON or one YAML document.
func (c *call) streamed(v any) []byte {
	raw, err := marshal(v)
	if err != nil {
		panic(err) // T901, like every answer that cannot be written
	}
	if c.who.format == "yaml" {
		return append([]byte("---\n"), toYAML(raw)...)
	}
	return append(raw, '\n')
}

// tellWarnings says on stderr what was not said yet. What follows tells that in
// the meantime, so it is not kept back until the end.
func (c *call) tellWarnings() {
	if c.op != nil {
		c.warnings.Add(c.op.Warnings()...)
	}
	fresh := c.warnings[c.told:]
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

// endStream says what is left to say and returns the exit status.
func (c *call) endStream(failure *codes.Error) int {
	c.tellWarnings()
	if failure == nil {
		return 0
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

// stopped reports whether a failure is only how a stream ends that follows; the
// log has no use for that.
func (c *call) stopped(failure *codes.Error) bool {
	return failure != nil && failure.Code() == codes.Interrupted && c.streams()
}
