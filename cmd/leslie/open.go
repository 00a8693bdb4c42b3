package main

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/thread"
)

// open finds the project and begins the call's use case. Errors: T504 with the
// places that were searched.
func (c *call) open() (*app.Call, error) {
	if c.op != nil {
		return c.op, nil
	}
	project, err := app.Open(c.who.dir, c.env.app())
	if err != nil {
		return nil, err
	}
	c.op = project.Call(c.ctx, c.caller(), c.request())
	return c.op, nil
}

// app is the environment as use cases take it.
func (e env) app() app.Environment {
	return app.Environment{Now: e.now, NewID: e.newID, Jitter: e.jitter, WithTimeout: e.withTimeout, Home: e.home, Environ: e.environ}
}

// caller is who acts.
func (c *call) caller() app.Caller {
	return app.Caller{As: c.who.as, Actor: c.who.actor, Unnamed: c.who.unnamed, Thread: c.who.thread}
}

// request is what the line says of every use case.
func (c *call) request() app.Request {
	r := app.Request{Command: c.operation(), ReadOnly: !c.writes(), Digest: c.lineDigest(), Waiting: c.sayLockWait}
	if c.flags == nil { // the line never got as far as a command
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

// sayLockWait tells a person that the lock is waited for.
func (c *call) sayLockWait(path string) {
	_, _ = c.env.stderr.Write([]byte("leslie: waiting for the lock " + path + ", which another process holds\n"))
}

// finish ends the call's use case, and takes over what the answer says of it. The
// log is written where there is a project. A signal is how a stream that follows
// ends, and no failure. Help is no use case.
func (c *call) finish(failure *codes.Error) {
	if c.stopped(failure) {
		failure = nil
	}
	if c.line.help || c.line.version && failure == nil {
		return
	}
	begun := c.op != nil
	op, err := c.open()
	if err != nil {
		return
	}
	if !begun {
		op.Takes(c.about, slices.Concat(c.warnings, c.met))
	}
	op.Finish(failure)
	c.warnings.Add(op.Warnings()...)
	if rev := op.Revision(); rev != nil {
		c.revision = rev
	}
}

// runUseCase carries a use case out, once the line has no faults, and gives its result
// the text form.
func runUseCase[In, Out any](c *call, do func(*app.Call, In) (*Out, error), in In, text func(*Out) Data) (Data, error) {
	d, err := useCase(c, do, in)
	if err != nil {
		return nil, err
	}
	return text(d), nil
}

// useCase carries a use case out, once the line has no faults. Errors: T903 with all
// of them, T504, and those of the use case.
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

// checkRequest adds what is wrong with a use case's request to the faults of the
// line. labels are the flags and operands whose name is not that of the field.
func (c *call) checkRequest(faults func(app.Names) []app.Fault, labels map[string]string) {
	label := labelled(labels)
	for _, f := range faults(label) {
		if f.With == "" || !c.faulty(strings.TrimPrefix(label(f.With), "--")) {
			c.fault(label(f.Field), f.Value, f.Problem)
		}
	}
}

// usageOf is a use case's refusal of its request as the command line tells it, with
// the flags; other errors stay.
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

// debugLine says, with --debug, what the call was taken for.
func (c *call) debugLine() []byte {
	if !c.who.debug {
		return nil
	}
	root := ""
	if _, err := c.open(); err == nil {
		root = c.op.Root()
	}
	return app.DebugLine(c.ctx, c.env.app(), c.who.dir, root, c.caller(), c.request())
}

// lineDigest stands for the command line in the log: the same line, the same
// digest.
func (c *call) lineDigest() string {
	h := fnv.New32a()
	for _, arg := range c.argv {
		_, _ = fmt.Fprintf(h, "%q ", arg)
	}
	return fmt.Sprintf("%08x", h.Sum32())
}
