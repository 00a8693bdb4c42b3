package app

import (
	"context"
	"encoding/json"
	"time"

	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// Environment has what use cases need from the process, as values.
type Environment struct {
	// Now is the clock.
	Now func() time.Time
	// NewID returns a random id with a prefix.
	NewID func(prefix string) string
	// Jitter returns a random duration in (0, most].
	Jitter func(most time.Duration) time.Duration
	// WithTimeout returns a context with a timeout; nil: context.WithTimeout.
	WithTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	// Engine opens the logs of projects on several machines; nil: there are none.
	Engine ledger.Engine
	// Credentials is the path of the file with the user's credentials for that, "" for none.
	Credentials string
	// Host returns the name of this machine.
	Host func() string
	// Offline: no log is asked, and so nothing can be written that has one.
	Offline bool
	// Home is the user's home folder with their configuration, "" if unknown.
	Home string
	// Program is leslie's own executable, absolute, and Version its version; "" if unknown.
	Program, Version string
	// Environ returns the environment for started programs (agents, validators).
	Environ func() []string
	// Notify starts a command of the user's own configuration in a folder, with an event
	// as JSON on its standard input, and does not wait for it; nil: nobody is told.
	Notify func(command, dir string, event []byte)
}

// timeout returns a context that ends after a duration.
func (e Environment) timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if e.WithTimeout == nil {
		return context.WithTimeout(ctx, d)
	}
	return e.WithTimeout(ctx, d)
}

// Project is one store with its environment. It is safe for concurrent use by many
// goroutines: each Call has its own handle of the store.
type Project struct {
	root string
	env  Environment
	link *store.Link // of a project on several machines
}

// Open finds the project of dir: see store.Find. Errors: T504 with the searched
// places.
func Open(dir string, env Environment) (*Project, error) {
	p := &Project{env: env}
	st, err := store.Find(dir, p.storeOptions())
	if err != nil {
		return nil, err
	}
	p.root = st.Root()
	return p, p.connect()
}

// Root is the project's folder, absolute.
func (p *Project) Root() string { return p.root }

func (p *Project) storeOptions() store.Options {
	return store.Options{Jitter: p.env.Jitter, Now: p.env.Now, Home: p.env.Home, Link: p.link}
}

// Caller is who acts.
type Caller struct {
	As    thread.ActorKind
	Actor string
	// Derived: nobody named the caller, so Actor is derived from its process.
	Derived bool
	// Unnamed: nor could a name be derived, so Actor is only the login name.
	Unnamed bool
	// Thread is the thread that the caller speaks for, "" for none.
	Thread string
	// Dir is the folder in which the caller works, absolute; "" if it is in none. An
	// agent in a thread's worktree speaks for that thread if Thread is "".
	Dir string
	// InAgent: the environment has an agent's marker, whatever As says.
	InAgent bool
}

// Request has the parameters that all calls have in common.
type Request struct {
	// Command is the operation's name in the journal ("reference refresh"). Params are
	// its parameters in the journal; an ID is bound to them.
	Command string
	Params  func() json.RawMessage
	// ID, if not empty, makes a repeated call return the first result (W901).
	ID string
	// Expect, if not nil, makes the call fail with T503 if what it changes has changed
	// after that revision.
	Expect *thread.Revision
	// ReadOnly: the call changes nothing, even if it finds unfinished work.
	ReadOnly bool
	// LockTimeout shortens the wait for the lock; 0 keeps the default. Waiting is
	// called if the wait takes longer than a second.
	LockTimeout time.Duration
	Waiting     func(path string)
	// NoteWaiting: remember what waits for a person, for Waiting.
	NoteWaiting bool
	// Progress, if not nil, is told how far a long call is. It may be called often, and from
	// several goroutines.
	Progress func(Progress)
	// Digest identifies the whole call in the log: equal calls have equal digests.
	Digest string
}

// Call is one use case in progress: who acts, on which store, and the warnings for the
// caller. It serves one goroutine, once.
type Call struct {
	ctx     context.Context
	project *Project
	caller  Caller
	request Request
	store   *store.Store

	warnings      warnings.List
	storeWarnings warnings.List // of the store, kept however often a reading is repeated
	covered       bool          // files are read as no operation has them half done
	revision      *thread.Revision
	stamp         *thread.Stamp
	target        thread.ThreadID // the thread that the call concerns, for the log
	changed       bool
	replayed      bool
	draft         *draft         // of the batch that this call is a line of
	staged        []*store.Stage // what the operation relies on
	reversal      thread.Reversal
	note          string        // what the log says of a call that worked
	looked        bool          // a State was read
	asked         bool          // the log of a project on several machines was asked
	refreshed     bool          // and what it has is here
	unread        thread.Unread // of the thread for which the caller speaks
	notices       warnings.List // see Notices
	waiting       []WaitingItem // see Waiting
	ownWaiting    map[string]bool
}

// Call starts one use case.
func (p *Project) Call(ctx context.Context, caller Caller, r Request) *Call {
	opts := p.storeOptions()
	opts.Progress, opts.Context = r.storeProgress(), ctx
	return &Call{
		ctx: ctx, project: p, caller: caller, request: r, target: thread.ThreadID(caller.Thread),
		store: store.Open(p.root, opts),
	}
}

// Root is the project's folder, absolute.
func (c *Call) Root() string { return c.project.root }

// Warnings returns the warnings for the caller, in order.
func (c *Call) Warnings() warnings.List {
	var all warnings.List
	all.Add(c.warnings...)
	all.Add(c.storeWarnings...)
	return all
}

// Revision returns the store's revision of the result, nil if nothing was read.
func (c *Call) Revision() *thread.Revision { return c.revision }

// Changed reports whether the call committed a change.
func (c *Call) Changed() bool { return c.changed }

// Target returns the thread that the call concerns, "" for none.
func (c *Call) Target() thread.ThreadID { return c.target }

// Warn adds warnings from the caller of the use case.
func (c *Call) Warn(w ...warnings.Warning) { c.warn(w...) }

// warn adds a warning.
func (c *Call) warn(w ...warnings.Warning) { c.warnings.Add(w...) }

// now returns the time as in records: milliseconds, UTC.
func (c *Call) now() time.Time { return clock(c).UTC().Truncate(time.Millisecond) }

// operation returns the stamp of this call's operation; a call has one stamp.
func (c *Call) operation() thread.Stamp {
	if c.stamp == nil {
		_ = askLog(c) // for the time; whoever reads or writes is told what is wrong
		c.stamp = &thread.Stamp{
			Operation: c.project.newOperation(),
			Time:      c.now(), As: c.caller.As, Actor: c.caller.Actor, Doubted: doubted(c), Speaks: thread.ThreadID(c.caller.Thread),
		}
	}
	return *c.stamp
}

// newOperation returns an id for an operation: a longer one where other machines make some
// as well.
func (p *Project) newOperation() thread.OperationID {
	id := p.env.NewID(thread.PrefixOperation)
	if p.link != nil {
		id += p.env.NewID("")
	}
	return thread.OperationID(id)
}

// doubted reports whether the caller claims to be a person in an agent's environment,
// and the user's own configuration does not trust that there.
func doubted(c *Call) bool {
	if !c.caller.InAgent || !c.caller.As.Person() {
		return false
	}
	set, err := configured(c)
	return err != nil || !set.trustAs
}

// byPerson reports whether the caller has a person's authority.
func byPerson(c *Call) bool { return c.caller.As.Person() && !doubted(c) }

// newID returns the wanted id, otherwise a fresh one that is not taken.
func (c *Call) newID(wanted, prefix string, taken func(string) bool) string {
	if wanted != "" {
		return wanted
	}
	for {
		if id := c.project.env.NewID(prefix); !taken(id) {
			return id
		}
	}
}

// threadOr returns the named thread, otherwise the one that the caller speaks for.
func (c *Call) threadOr(id string) string {
	if id == "" {
		id = c.caller.Thread
	}
	c.target = thread.ThreadID(id)
	return id
}

// warnSkipped adds W204 for entries that are not regular files.
func (c *Call) warnSkipped(paths []string) {
	if len(paths) > 0 {
		c.warn(warnings.SkippedFiles.NewOfPaths(paths, fact.List(nil)))
	}
}
