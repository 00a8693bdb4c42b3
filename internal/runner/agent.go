package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"leslie/codes"
	"leslie/internal/acp"
	"leslie/internal/fact"
)

// MarkVariable is the environment variable by whose value the processes of a run are
// found, whichever groups and sessions they are in.
const MarkVariable = "LESLIE_RUN"

// PlaceVariable is the environment variable with the project, which may have been copied
// with its runs.
const PlaceVariable = "LESLIE_DIR"

// Times limits how long an agent may take. Zero means the value that is named.
type Times struct {
	Start  time.Duration // without a sign of life, until its session is open: a minute
	Cancel time.Duration // to end a turn that is cancelled: ten seconds
	End    time.Duration // for each step of ending it: three seconds
	Replay time.Duration // without an update after a session was loaded: a fifth of a second
}

// strayTime is how long an agent's output may stay open after it ended.
const strayTime = 2 * time.Second

// Spec says which agent is started, and how.
type Spec struct {
	Argv []string
	Dir  string
	// Env is the complete environment. If it has MarkVariable, processes that the agent
	// leaves behind are found by it.
	Env     []string
	Client  acp.Implementation
	Handler acp.Handler
	// Stderr receives the agent's error output; nil discards it.
	Stderr io.Writer

	// Session is the session to go on with, "" for a new one. An agent that cannot open it
	// again gets a new one, and Agent.Lost says so.
	Session string
	// Folders are more folders in which the agent works.
	Folders []string
	Servers []acp.MCPServer
	// Mode is the mode in which the agent asks, "" to leave it as it is.
	Mode  string
	Times Times
	// Hurry, once it is closed, has the agent killed. It may be nil.
	Hurry <-chan struct{}
}

// Agent is a running agent with an open session.
type Agent struct {
	About   acp.Initialized
	Session string
	// Lost says why the wanted session could not be opened again, nil if it was.
	Lost error
	// ModeUnknown: the agent does not offer the wanted mode.
	ModeUnknown bool

	spec   Spec
	life   context.Context // that of no call
	cmd    *exec.Cmd
	conn   *acp.Conn
	replay *replayed
	stdin  io.Closer
	output *os.File
	exited chan struct{} // closed when the process has ended
	closed chan struct{} // closed when its output has ended, too
	// complained is closed when its error output has ended, or was given up.
	complained chan struct{}
	ending     sync.Once
	tail       *tail
}

// DefaultStart is Times.Start if nobody says.
const DefaultStart = time.Minute

// mostStarts is how many times Times.Start an agent may take in all that gives signs of life.
const mostStarts = 10

// Start starts an agent and opens a session. Errors: T701 if it cannot be started, T702
// if it ends or answers with an error, T703 if it takes too long, T704 if nobody is logged
// in, T904 if ctx ends. Nothing of it is left then.
func Start(ctx context.Context, spec Spec) (*Agent, error) {
	limit := cmp.Or(spec.Times.Start, DefaultStart)
	all, end := context.WithTimeout(ctx, mostStarts*limit)
	defer end()
	opening, stop := context.WithCancelCause(all)
	silence := time.AfterFunc(limit, func() { stop(context.DeadlineExceeded) })
	defer silence.Stop()
	heard := func() {
		if opening.Err() == nil {
			silence.Reset(limit)
		}
	}
	a, err := launch(context.WithoutCancel(ctx), spec, heard)
	if err == nil {
		err = a.open(opening)
	}
	late := context.Cause(opening)
	stop(nil)
	switch {
	case err == nil || a == nil:
		return a, err
	case late != nil:
		err = late
	}
	a.End()
	return nil, a.explain(ctx, err, limit)
}

// noting is a stream that tells when something comes.
type noting struct {
	io.Reader
	heard func()
}

// Read implements io.Reader.
func (n noting) Read(p []byte) (int, error) {
	count, err := n.Reader.Read(p)
	if count > 0 {
		n.heard()
	}
	return count, err
}

// launch starts the process and reads its streams. heard is called with each sign of life.
func launch(life context.Context, spec Spec, heard func()) (*Agent, error) {
	unavailable := func(err error) error { return unavailable(spec.Argv[0], err) }
	a := &Agent{spec: spec, life: life, exited: make(chan struct{}), closed: make(chan struct{}), complained: make(chan struct{}), tail: &tail{also: spec.Stderr}}
	name, err := Program(spec.Env, spec.Argv[0])
	if err != nil {
		return nil, err
	}
	a.cmd = exec.Command(name, spec.Argv[1:]...)
	a.cmd.Args[0] = spec.Argv[0]
	a.cmd.Dir, a.cmd.Env = spec.Dir, spec.Env
	ownGroup(a.cmd)
	stdin, err := a.cmd.StdinPipe()
	if err != nil {
		return nil, unavailable(err)
	}
	a.stdin = stdin
	// Pipes of our own: the process may end while a child of it keeps them open.
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, unavailable(err)
	}
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		_, _ = outRead.Close(), outWrite.Close()
		return nil, unavailable(err)
	}
	a.cmd.Stdout, a.cmd.Stderr, a.output = outWrite, errWrite, outRead
	err = a.cmd.Start()
	_, _ = outWrite.Close(), errWrite.Close()
	if err != nil {
		_, _ = outRead.Close(), errRead.Close()
		return nil, unavailable(err)
	}
	a.replay = &replayed{Handler: spec.Handler}
	a.conn = acp.NewConn(noting{outRead, heard}, stdin, a.replay)
	go func() {
		_ = a.conn.Serve(life)
		close(a.closed)
	}()
	go func() {
		_, _ = io.Copy(a.tail, noting{errRead, heard})
		close(a.complained)
	}()
	go func() {
		select {
		case <-spec.Hurry:
			a.Kill()
		case <-a.exited:
		}
	}()
	go func() {
		_ = a.cmd.Wait()
		close(a.exited)
		late, stop := context.WithTimeout(life, strayTime) // a child may have the output
		defer stop()
		for _, ended := range []chan struct{}{a.closed, a.complained} {
			select {
			case <-ended:
			case <-late.Done():
			}
		}
		_, _ = outRead.Close(), errRead.Close()
	}()
	return a, nil
}

// open opens the session.
func (a *Agent) open(ctx context.Context) (err error) {
	if a.About, err = a.conn.Initialize(ctx, a.spec.Client); err != nil {
		return err
	}
	o := acp.Opening{Dir: a.spec.Dir, Folders: a.spec.Folders, Servers: a.spec.Servers}
	if a.About.Agent.Session.Folders == nil {
		o.Folders = nil
	}
	opened, err := a.reopen(ctx, o)
	if err != nil || opened.SessionID == "" {
		if err != nil && (ctx.Err() != nil || errors.Is(err, acp.ErrClosed)) {
			return err
		}
		a.Lost = err
		if opened, err = a.conn.New(ctx, o); err != nil {
			return err
		}
	}
	a.Session = opened.SessionID
	if a.spec.Mode != "" {
		offered, err := a.conn.SetMode(ctx, opened, a.spec.Mode)
		a.ModeUnknown = !offered
		return err
	}
	return nil
}

// errNoSessions says that an agent cannot open a session again.
var errNoSessions = errors.New("the agent cannot open a session again")

// reopen opens the wanted session again. Without one it opens none, and is no error.
func (a *Agent) reopen(ctx context.Context, o acp.Opening) (acp.Opened, error) {
	o.SessionID = a.spec.Session
	switch {
	case o.SessionID == "":
		return acp.Opened{}, nil
	case a.About.Agent.Session.Resume != nil:
		opened, err := a.conn.Resume(ctx, o)
		if err == nil || ctx.Err() != nil || !a.About.Agent.LoadSession {
			return opened, err
		}
	case !a.About.Agent.LoadSession:
		return acp.Opened{}, errNoSessions
	}
	a.replay.begin()
	opened, err := a.conn.Load(ctx, o)
	a.replay.end(ctx, cmp.Or(a.spec.Times.Replay, 200*time.Millisecond))
	return opened, err
}

// explain returns the coded error for one of starting or prompting.
func (a *Agent) explain(ctx context.Context, err error, limit time.Duration) error {
	var answered *acp.Error
	switch {
	case ctx.Err() != nil:
		return codes.Interrupted.Wrap(context.Cause(ctx))
	case errors.Is(err, context.DeadlineExceeded):
		return codes.AgentTimeout.Wrap(err, fact.Of("duration", limit))
	case errors.As(err, &answered) && answered.Code == acp.CodeAuthRequired:
		var methods []string
		for _, m := range a.About.AuthMethods {
			methods = append(methods, m.Name)
		}
		return codes.AgentLogin.Wrap(err, fact.Of("command", a.spec.Argv[0]), fact.Of("methods", methods))
	}
	reason := err.Error()
	if errors.Is(err, acp.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, fs.ErrClosed) { // it may have ended before it was told anything
		select {
		case <-a.exited:
			reason = "it ended with " + a.cmd.ProcessState.String()
			<-a.complained // or a child has the output, and it is closed
		case <-time.After(strayTime):
		}
	}
	if text := a.tail.String(); text != "" {
		return codes.AgentConnection.Wrap(err, fact.Of("reason", reason), fact.Of("output", text))
	}
	return codes.AgentConnection.Wrap(err, fact.Of("reason", reason))
}

// Prompt sends a text and waits for the end of the turn. If ctx ends, the turn is
// cancelled first, and its end awaited for a while. Errors: T702, T704, T904 if ctx
// ends (with what the agent answered to the cancelling, if it did).
func (a *Agent) Prompt(ctx context.Context, text string) (acp.Prompted, error) {
	type end struct {
		acp.Prompted
		err error
	}
	ended := make(chan end, 1)
	waiting, stop := context.WithCancel(a.life)
	defer stop()
	go func() {
		p, err := a.conn.Prompt(waiting, a.Session, text)
		ended <- end{p, err}
	}()
	select {
	case e := <-ended:
		if e.err != nil {
			return e.Prompted, a.explain(ctx, e.err, 0)
		}
		return e.Prompted, nil
	case <-ctx.Done():
	}
	_ = a.conn.Cancel(a.Session)
	select {
	case e := <-ended:
		return e.Prompted, codes.Interrupted.Wrap(context.Cause(ctx))
	case <-time.After(cmp.Or(a.spec.Times.Cancel, 10*time.Second)):
		return acp.Prompted{}, codes.Interrupted.Wrap(context.Cause(ctx))
	}
}

// Kill ends the agent's process group at once. Call End all the same.
func (a *Agent) Kill() { killGroup(a.cmd) }

// Gone is closed when the agent's output has ended.
func (a *Agent) Gone() <-chan struct{} { return a.closed }

// End ends the agent: it closes the session, then the agent's input, then asks its
// process group to end, then kills it, and waits a while after each. It returns how many
// processes were left, which it killed, too.
func (a *Agent) End() (leftovers int) {
	a.ending.Do(func() {
		endTime := cmp.Or(a.spec.Times.End, 3*time.Second)
		if a.Session != "" && a.About.Agent.Session.Close != nil && !a.hasExited() {
			ctx, cancel := context.WithTimeout(a.life, endTime)
			_ = a.conn.Close(ctx, a.Session)
			cancel()
		}
		_ = a.stdin.Close()
		for _, step := range []func(*exec.Cmd){askGroup, killGroup} {
			if !a.exitsWithin(endTime) {
				step(a.cmd)
			}
		}
		<-a.exited
		killGroup(a.cmd)
		leftovers = EndLeftovers(a.spec.Env)
		<-a.closed
	})
	return leftovers
}

// EndLeftovers kills the processes that have the marks of an environment (MarkVariable,
// and PlaceVariable if it is there) in their own, and returns how many there were. It
// kills none if there is no mark. Only Linux shows the environment of processes.
func EndLeftovers(env []string) int {
	var marks []string
	marked := false
	for _, entry := range env {
		own := strings.HasPrefix(entry, MarkVariable+"=")
		if marked = marked || own; own || strings.HasPrefix(entry, PlaceVariable+"=") {
			marks = append(marks, entry)
		}
	}
	if !marked {
		return 0
	}
	return endMarked(marks)
}

func (a *Agent) hasExited() bool {
	select {
	case <-a.exited:
		return true
	default:
		return false
	}
}

func (a *Agent) exitsWithin(d time.Duration) bool {
	select {
	case <-a.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// tailBytes is how much of an agent's error output an error repeats.
const tailBytes = 2 << 10

// tail keeps the end of what is written, and passes it on.
type tail struct {
	mu   sync.Mutex
	last []byte
	also io.Writer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if over := len(t.last) - tailBytes; over > 0 {
		t.last = bytes.Clone(t.last[over:])
	}
	if t.also != nil {
		_, _ = t.also.Write(p)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.last), "?"))
}

// unavailable is T701 for a program that cannot be started.
func unavailable(program string, err error) error {
	reason := err.Error()
	if e := new(exec.Error); errors.As(err, &e) {
		reason = e.Err.Error()
	}
	return codes.AgentUnavailable.Wrap(err, fact.Of("command", program), fact.Of("reason", reason))
}

// Program finds an agent's program. Errors: T701.
func Program(env []string, program string) (string, error) {
	name, err := LookIn(env, program)
	if err != nil {
		return "", unavailable(program, err)
	}
	return name, nil
}

// LookIn finds a program as the agent's own environment would.
func LookIn(env []string, program string) (string, error) {
	if strings.ContainsRune(program, os.PathSeparator) || strings.Contains(program, "/") {
		return program, nil
	}
	for _, entry := range env {
		if list, is := strings.CutPrefix(entry, "PATH="); is {
			return lookPath(list, program)
		}
	}
	return exec.LookPath(program)
}
