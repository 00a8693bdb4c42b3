package cli

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/thread"
)

// Open finds the project and starts the call's use case. Errors: T504 with the
// searched places.
func (c *Call) Open() (*app.Call, error) {
	if c.Op != nil {
		return c.Op, nil
	}
	project, err := app.Open(c.Who.Dir, c.Environment())
	if err != nil {
		return nil, err
	}
	c.Op = project.Call(c.Ctx, c.Caller(), c.Request())
	return c.Op, nil
}

// AppEnvironment returns the environment in the form that use cases take.
func (e Env) AppEnvironment() app.Environment {
	return app.Environment{
		Now: e.Now, NewID: e.NewID, Jitter: e.Jitter, Retry: e.Retry, WithTimeout: e.WithTimeout,
		Home: e.Home, Config: e.config(), Program: e.Program, Version: e.Version,
		Environ: e.Environ, Notify: e.notify, Engine: e.Engine, Host: e.Host, Send: code.Send,
		Credentials: e.credentials(), NamedCredentials: e.Getenv("LESLIE_REMOTE_CREDS") != "",
	}
}

// Caller is who acts. A line that names no command has a caller, too: its failure counts.
func (c *Call) Caller() app.Caller {
	if c.Who.Actor == "" {
		c.Who.NameActor(c.Env)
	}
	return app.Caller{As: c.Who.As, Actor: c.Who.Actor, Derived: c.Who.Derived, Unnamed: c.Who.Unnamed,
		Thread: c.Who.Thread, Dir: c.Who.Dir, InAgent: c.Env.inAgent()}
}

// Request returns the line's parameters that all use cases have in common.
func (c *Call) Request() app.Request {
	r := app.Request{Command: c.operation(), ReadOnly: !c.writes(), Digest: c.lineDigest(), Waiting: c.sayLockWait,
		NoteWaiting: c.PersonReads(c.Env.StdoutTTY && c.Env.StderrTTY), Progress: c.watchProgress()}
	if c.Flags == nil { // the line names no command
		return r
	}
	r.ID, r.LockTimeout = c.Text("request-id"), c.LockTimeout()
	r.Params = c.recordedParams
	if c.Has("expect-revision") {
		rev := thread.Revision(c.Count("expect-revision", 0))
		r.Expect = &rev
	}
	return r
}

// sayLockWait reports on stderr that the call waits for the lock.
func (c *Call) sayLockWait(path string) {
	_, _ = c.Env.Stderr.Write([]byte("leslie: waiting for the lock " + path + ", which another process holds\n"))
}

// finish ends the call's use case, and takes over its results for the answer. It
// writes the log if there is a project. A signal is the normal end of a stream that
// follows, not a failure. Help is not a use case.
func (c *Call) finish(failure *codes.Error) {
	if c.stopped(failure) {
		failure = nil
	}
	if c.Line.Help || c.Line.Last != nil || c.Line.Version && failure == nil {
		return
	}
	begun := c.Op != nil || failure != nil // else the command needed no project
	if op, err := c.Open(); err == nil {
		op.Warn(c.Warnings...)
		op.Finish(failure)
		c.Warnings.Add(op.Warnings()...)
		if begun {
			c.Warnings.Add(op.Notices()...)
		}
	}
}

// RunUseCase runs a use case if the line has no faults, and converts its result to
// text form.
func RunUseCase[In, Out any](c *Call, do func(*app.Call, In) (*Out, error), in In, text func(*Out) Data) (Data, error) {
	d, err := UseCase(c, do, in)
	if err != nil {
		return nil, err
	}
	return text(d), nil
}

// UseCase runs a use case if the line has no faults. Errors: T903 with all faults,
// T504, and those of the use case.
func UseCase[In, Out any](c *Call, do func(*app.Call, In) (*Out, error), in In) (*Out, error) {
	if err := c.Usage(); err != nil {
		return nil, err
	}
	op, err := c.Open()
	if err != nil {
		return nil, err
	}
	return do(op, in)
}

// CheckRequest adds the faults of a use case's request to those of the line. labels
// has the flags and operands whose names differ from the fields.
func (c *Call) CheckRequest(faults func(app.Names) []app.Fault, labels map[string]string) {
	label := labelled(labels)
	for _, f := range faults(label) {
		if f.With == "" || !c.Faulty(strings.TrimPrefix(label(f.With), "--")) {
			c.Fault(label(f.Field), f.Value, f.Problem)
		}
	}
}

// UsageOf converts a use case's refusal of its request to flags; it returns other
// errors unchanged.
func (c *Call) UsageOf(err error, labels map[string]string) error {
	if !codes.Has(err, codes.InvalidArgument) {
		return err
	}
	found, _ := codes.Of(err).Facts().Get("fields")
	faults, ok := found.([]app.Fault)
	if !ok {
		return err
	}
	for _, f := range faults {
		c.Faults = append(c.Faults, Fault{
			Field: labelled(labels)(f.Field), Problem: f.Problem, Value: f.Value, Nearest: f.Nearest,
			Allowed: f.Allowed,
		})
	}
	return c.Usage()
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
func (c *Call) debugLine() []byte {
	if !c.Who.debug {
		return nil
	}
	root := ""
	if _, err := c.Open(); err == nil {
		root = c.Op.Root()
	}
	return app.DebugLine(c.Ctx, c.Environment(), c.Who.Dir, root, c.Caller(), c.Request())
}

// lineDigest identifies the command line in the log: equal lines have equal digests.
func (c *Call) lineDigest() string {
	h := fnv.New32a()
	for _, arg := range c.argv {
		_, _ = fmt.Fprintf(h, "%q ", arg)
	}
	return fmt.Sprintf("%08x", h.Sum32())
}

// Environment is the environment of use cases, as the line's flags have it.
func (c *Call) Environment() app.Environment {
	e := c.Env.AppEnvironment()
	e.Offline = c.Who.offline
	return e
}

// offlineEnvironment is the environment of a look at what this machine has, without asking a remote:
// for completion, and for what a line means.
func (c *Call) offlineEnvironment() app.Environment {
	e := c.Environment()
	e.Offline = true
	return e
}
