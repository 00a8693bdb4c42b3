package main

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/thread"
)

// open finds the project and starts the call's use case. Errors: T504 with the
// searched places.
func (c *call) open() (*app.Call, error) {
	if c.op != nil {
		return c.op, nil
	}
	project, err := app.Open(c.who.dir, environment(c))
	if err != nil {
		return nil, err
	}
	c.op = project.Call(c.ctx, c.caller(), c.request())
	return c.op, nil
}

// app returns the environment in the form that use cases take.
func (e env) app() app.Environment {
	return app.Environment{
		Now: e.now, NewID: e.newID, Jitter: e.jitter, WithTimeout: e.withTimeout, Home: e.home, Program: e.program, Version: version,
		Environ: e.environ, Notify: e.notify, Engine: e.engine, Credentials: e.credentials(), Host: e.host,
	}
}

// caller is who acts. A line that names no command has a caller, too: its failure counts.
func (c *call) caller() app.Caller {
	if c.who.actor == "" {
		c.who.nameActor(c.env)
	}
	return app.Caller{As: c.who.as, Actor: c.who.actor, Derived: c.who.derived, Unnamed: c.who.unnamed, Thread: c.who.thread, Dir: c.who.dir, InAgent: c.env.inAgent()}
}

// request returns the line's parameters that all use cases have in common.
func (c *call) request() app.Request {
	r := app.Request{Command: c.operation(), ReadOnly: !c.writes(), Digest: lineDigest(c), Waiting: c.sayLockWait, NoteWaiting: personReads(c, c.env.stdoutTTY && c.env.stderrTTY), Progress: watchProgress(c)}
	if c.flags == nil { // the line names no command
		return r
	}
	r.ID, r.LockTimeout = c.text("request-id"), c.lockTimeout()
	r.Params = c.recordedParams
	if c.has("expect-revision") {
		rev := thread.Revision(c.count("expect-revision", 0))
		r.Expect = &rev
	}
	return r
}

// sayLockWait reports on stderr that the call waits for the lock.
func (c *call) sayLockWait(path string) {
	_, _ = c.env.stderr.Write([]byte("leslie: waiting for the lock " + path + ", which another process holds\n"))
}

// finish ends the call's use case, and takes over its results for the answer. It
// writes the log if there is a project. A signal is the normal end of a stream that
// follows, not a failure. Help is not a use case.
func (c *call) finish(failure *codes.Error) {
	if (rendering{c}).stopped(failure) {
		failure = nil
	}
	if c.line.help || c.line.last != nil || c.line.version && failure == nil {
		return
	}
	begun := c.op != nil || failure != nil // else the command needed no project
	if op, err := c.open(); err == nil {
		op.Warn(c.warnings...)
		op.Finish(failure)
		c.warnings.Add(op.Warnings()...)
		if begun {
			c.warnings.Add(op.Notices()...)
		}
	}
}

// runUseCase runs a use case if the line has no faults, and converts its result to
// text form.
func runUseCase[In, Out any](c *call, do func(*app.Call, In) (*Out, error), in In, text func(*Out) Data) (Data, error) {
	d, err := useCase(c, do, in)
	if err != nil {
		return nil, err
	}
	return text(d), nil
}

// useCase runs a use case if the line has no faults. Errors: T903 with all faults,
// T504, and those of the use case.
func useCase[In, Out any](c *call, do func(*app.Call, In) (*Out, error), in In) (*Out, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	op, err := c.open()
	if err != nil {
		return nil, err
	}
	return do(op, in)
}

// checkRequest adds the faults of a use case's request to those of the line. labels
// has the flags and operands whose names differ from the fields.
func (c *call) checkRequest(faults func(app.Names) []app.Fault, labels map[string]string) {
	label := labelled(labels)
	for _, f := range faults(label) {
		if f.With == "" || !c.faulty(strings.TrimPrefix(label(f.With), "--")) {
			c.fault(label(f.Field), f.Value, f.Problem)
		}
	}
}

// usageOf converts a use case's refusal of its request to flags; it returns other
// errors unchanged.
func (c *call) usageOf(err error, labels map[string]string) error {
	if !codes.Has(err, codes.InvalidArgument) {
		return err
	}
	found, _ := codes.Of(err).Facts().Get("fields")
	faults, ok := found.([]app.Fault)
	if !ok {
		return err
	}
	for _, f := range faults {
		c.faults = append(c.faults, fault{
			Field: labelled(labels)(f.Field), Problem: f.Problem, Value: f.Value, Nearest: f.Nearest, Allowed: f.Allowed,
		})
	}
	return c.usage()
}

// labelled are the names that a command line has for a request's fields.
func labelled(labels map[string]string) app.Names {
	return func(field string) string {
		if name, ok := labels[field]; ok {
			return name
		}
		return flagOf(field)
	}
}

// flagOf is the flag for a request's field: DependsOn is --depends-on.
func flagOf(field string) string {
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return "--" + b.String()
}

// debugLine returns, with --debug, a log line of the parsed call.
func (c rendering) debugLine() []byte {
	if !c.who.debug {
		return nil
	}
	root := ""
	if _, err := c.open(); err == nil {
		root = c.op.Root()
	}
	return app.DebugLine(c.ctx, environment(c.call), c.who.dir, root, c.caller(), c.request())
}

// lineDigest identifies the command line in the log: equal lines have equal digests.
func lineDigest(c *call) string {
	h := fnv.New32a()
	for _, arg := range c.argv {
		_, _ = fmt.Fprintf(h, "%q ", arg)
	}
	return fmt.Sprintf("%08x", h.Sum32())
}
