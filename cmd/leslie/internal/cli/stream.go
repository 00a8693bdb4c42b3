package cli

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

// Always is for commands that always stream.
func Always(Line) bool { return true }

// Following is for commands that stream with --follow.
func Following(l Line) bool { return l.Has("follow") }

// Streams reports whether this call's answer is a stream.
func (c *Call) Streams() bool {
	cmd := c.Line.Cmd
	return cmd != nil && cmd.Streams != nil && !c.Line.Asks() && cmd.Streams(c.Line)
}

// errUnread says that nobody reads the stream.
var errUnread = errors.New("nobody reads the stream")

// Stream answers with what run emits, immediately. emit fails if the reader has gone:
// run then ends with that error. Only a command whose line streams may call it.
func (c *Call) Stream(run func(emit func(Data) error) error) (Data, error) {
	err := run(func(d Data) error {
		c.TellWarnings()
		return c.Send(c.item(d))
	})
	if errors.Is(err, errUnread) {
		err = nil
	}
	return nil, err
}

// Lend lends stdin and stdout to a protocol of its own, which nothing else writes to.
func (c *Call) Lend(talk func(in io.Reader, out io.Writer) error) error {
	return talk(c.Env.Stdin, c.Env.Stdout)
}

// Send writes bytes to stdout. Errors: errUnread if its reader has gone, T505.
func (c *Call) Send(b []byte) error {
	_, err := c.Env.Stdout.Write(b)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE):
		return errUnread
	}
	return codes.WriteFailed.OfPath("standard output", err)
}

// item is one object of a stream in the asked format.
func (c *Call) item(d Data) []byte {
	if c.Who.Format == "text" {
		p := c.page()
		d.Text(p)
		return []byte(p.String())
	}
	return c.Streamed(d)
}

// Streamed is a value as one line of JSON or one YAML document.
func (c *Call) Streamed(v any) []byte {
	raw, err := fact.JSON(v)
	if err != nil {
		panic(err) // T901, like every answer that cannot be written
	}
	if c.Who.Format == "yaml" {
		return append([]byte("---\n"), ToYAML(raw)...)
	}
	return append(fact.Escaped(raw), '\n')
}

// TellWarnings writes new warnings to stderr, and notices, which are not kept. They
// concern what follows, so they are not left for the end.
func (c *Call) TellWarnings(notices ...warnings.Warning) {
	if c.Op != nil {
		c.Warnings.Add(c.Op.Warnings()...)
	}
	fresh := slices.Concat(c.Warnings[c.told:], notices)
	c.told = len(c.Warnings)
	switch {
	case len(fresh) == 0:
	case c.Who.Format == "text":
		c.textNotes(fresh, nil)
	default:
		_, _ = c.Env.Stderr.Write(c.Streamed(struct {
			Warnings warnings.List `json:"warnings"`
		}{fresh}))
	}
}

// endStream writes what is left and returns the exit status.
func (c *Call) endStream(failure *codes.Error) int {
	c.TellWarnings()
	switch {
	case failure == nil:
		return 0
	// they typed Ctrl-C, and see that it ended
	case c.stopped(failure) && c.PersonReads(c.Env.StdoutTTY && c.Env.StderrTTY):
		return failure.Code().ExitStatus()
	}
	if c.Who.Format == "text" {
		c.textNotes(nil, failure)
	} else {
		e := c.envelope(nil, failure)
		e.Warnings = nil
		_, _ = c.Env.Stderr.Write(c.Streamed(e))
	}
	return failure.Code().ExitStatus()
}

// stopped reports whether a failure is only the normal end of a stream that follows,
// which is not logged.
func (c *Call) stopped(failure *codes.Error) bool {
	return failure != nil && failure.Code() == codes.Interrupted && c.Streams()
}
