package toolserver

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"leslie/internal/app"
	"leslie/thread"
)

// Settings are what a server needs from its process.
type Settings struct {
	// Version is leslie's own.
	Version string
	// Open finds the project of a call. Errors: T504.
	Open func() (*app.Project, error)
	// Caller is who calls, and the thread that it speaks for; without one the server speaks for the thread
	// that its client has claimed last.
	Caller app.Caller
	// Named returns the caller's name in a project, where no other living server may have it; nil for the
	// caller's own. It is called once.
	Named func(*app.Project) string
	// Context returns a thread and the text of its context. With seen, the messages
	// that it shows to the thread's own agent count as read.
	Context func(op *app.Call, thread string, seen bool) (of thread.Thread, block string, err error)
	// Line returns a command of a failure in the form in which this caller can run it; nil
	// leaves it as it is.
	Line func(op *app.Call, command string) string
	// Beat returns a channel that is ready whenever a caller who waits should hear that the
	// work goes on, until stop is called.
	Beat func() (beat <-chan time.Time, stop func())
}

// server is one server with its client.
type server struct {
	Settings
	life context.Context // that of the process
	mcp  *mcp.Server

	session struct { // what the calls change
		sync.Mutex
		speaks string // the thread that the client has claimed last
		named  bool   // see Settings.Named
	}

	mu         sync.Mutex
	watching   bool
	subscribed map[string]int      // resources by URI
	listed     map[string]struct{} // resources that the library knows
}

// instructions tell a model how the tools belong together.
const instructions = `leslie splits an objective into threads of work that people and agents share. Begin with context; without a thread of your own, with claim_next. ` +
	`A thread's artifacts (plan.md, progress.md, design, notes) are files in the folder that context names: read and write them with your own tools, and change nothing else in .leslie. ` +
	`The argument thread is what a call is about; left out, it is your own thread: the one that you claimed last. ` +
	`An answer with the warning W105 says that messages wait for you: call context at once. A failed call has changed nothing unless it says so; its error has a code, a hint, and next: calls of tools, or commands for a shell, which begin with leslie. ` +
	`Change only your own thread, and commit what you change in code on its branch. Only a person approves. End your thread with done. ` +
	`leslie help working, in a shell, says how to plan, split, merge and hand over work.`

// Serve talks with a client until it closes in, or until ctx ends. Requests that are being
// carried out have two more seconds after the client has closed in, none after ctx has
// ended; then they are cancelled, and nothing of them is half done. Errors: those of ctx.
func Serve(ctx context.Context, in io.Reader, out io.Writer, settings Settings) error {
	return newServer(ctx, settings).serve(ctx, in, out)
}

// serve is Serve.
func (s *server) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := newLines(in, out)
	lines.written = s.written
	err := s.mcp.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(lines), Writer: lines, MaxLineLength: -1})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && !lines.over() {
		return err
	}
	return nil
}

// newServer makes a server that speaks with nobody yet.
func newServer(life context.Context, settings Settings) *server {
	s := &server{Settings: settings, life: life, subscribed: map[string]int{}, listed: map[string]struct{}{}}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "leslie", Title: "leslie", Version: settings.Version}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{},
		SubscribeHandler: s.subscribe, UnsubscribeHandler: s.unsubscribe,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	for _, t := range tools() {
		s.mcp.AddTool(t.described(), s.handler(t))
	}
	s.addResources()
	s.addPrompts()
	s.mcp.AddReceivingMiddleware(s.received)
	return s
}

// who is the caller, with the thread for which it speaks now.
func (s *server) who() app.Caller {
	s.session.Lock()
	defer s.session.Unlock()
	caller := s.Caller
	if caller.Thread == "" {
		caller.Thread = s.session.speaks
	}
	return caller
}

// speakFor makes a thread that the client has claimed its own.
func (s *server) speakFor(id thread.ThreadID) {
	s.session.Lock()
	defer s.session.Unlock()
	s.session.speaks = string(id)
}

// speakNoMore ends that for a thread that has ended, or that another gets.
func (s *server) speakNoMore(id thread.ThreadID) {
	s.session.Lock()
	defer s.session.Unlock()
	if s.session.speaks == string(id) {
		s.session.speaks = ""
	}
}

// project finds the project of a call; the first one names the caller. Errors: T504.
func (s *server) project() (*app.Project, error) {
	project, err := s.Open()
	if err != nil {
		return nil, err
	}
	s.session.Lock()
	defer s.session.Unlock()
	if s.Named != nil && !s.session.named {
		s.Caller.Actor, s.session.named = s.Named(project), true
	}
	return project, nil
}

// during returns a context that ends with a request, and with the process.
func (s *server) during(request context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(request)
	stop := context.AfterFunc(s.life, cancel)
	return ctx, func() { stop(); cancel() }
}
