package app

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"leslie/internal/ledger"
	"leslie/internal/retry"
	"leslie/store"
	"leslie/store/replica"
	"leslie/thread"
	"leslie/warnings"
)

// Environ is the environment of started programs.
func (c *Call) Environ() []string {
	if c.project.env.Environ == nil {
		return nil
	}
	return c.project.env.Environ()
}

// cleanupTime is how long what a failed call has begun may take to be taken back.
const cleanupTime = 20 * time.Second

// Cleaning returns a context for taking back what a call has begun, also if the call's
// own has ended.
func (c *Call) Cleaning() (context.Context, context.CancelFunc) {
	return c.project.env.Timeout(context.WithoutCancel(c.ctx), cleanupTime)
}

// Environment has what use cases need from the process, as values.
type Environment struct {
	// Now is the clock.
	Now func() time.Time
	// NewID returns a random id with a prefix.
	NewID func(prefix string) string
	// Jitter returns a random duration in (0, most].
	Jitter func(most time.Duration) time.Duration
	// Retry is the schedule of the lock and of agents; its zero value is retry.Default().
	Retry retry.Policy
	// WithTimeout returns a context with a timeout; nil: context.WithTimeout.
	WithTimeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	// Engine opens the logs of projects on several machines; nil: there are none.
	Engine ledger.Engine
	// Credentials is the path of the file with the user's credentials for that, "" for none.
	Credentials string
	// NamedCredentials: the user has named them for this call, whatever the project keeps.
	NamedCredentials bool
	// Host returns the name of this machine.
	Host func() string
	// Offline: no log is asked, and so nothing can be written that has one.
	Offline bool
	// Home is the user's home folder, "" if unknown.
	Home string
	// Config is the file with the user's configuration (UserConfigPath), "" if unknown.
	Config string
	// Program is leslie's own executable, absolute, and Version its version; "" if unknown.
	Program, Version string
	// Send returns what of a thread's code goes to a project's other machines, nil for nothing, and
	// the content that this is to name; nil: no code does.
	Send func(c *Call, t thread.Thread, again bool) (*thread.CodeSent, []byte)
	// Environ returns the environment for started programs (agents, validators).
	Environ func() []string
	// Notify starts a command of the user's own configuration in a folder, with an event
	// as JSON on its standard input, and does not wait for it; nil: nobody is told.
	Notify func(command, dir string, event []byte)
}

// Timeout returns a context that ends after a duration.
func (e Environment) Timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
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
	link *replica.Link // of a project on several machines
}

// Open finds the project of dir: see store.Find. Errors: T504 with the searched
// places.
func Open(dir string, env Environment) (*Project, error) {
	p := &Project{env: env}
	st, err := store.Find(dir, p.StoreOptions())
	if err != nil {
		return nil, err
	}
	p.root = st.Root()
	return p, p.connect()
}

// NewProject is the project in a folder, absolute, where a store is or will be.
func NewProject(env Environment, root string) *Project { return &Project{env: env, root: root} }

// Root is the project's folder, absolute.
func (p *Project) Root() string { return p.root }

// Environment is what the project's calls get from outside.
func (p *Project) Environment() *Environment { return &p.env }

// Link is the project's connection with other machines, nil on one alone.
func (p *Project) Link() *replica.Link { return p.link }

// StoreOptions are what the project's stores are opened with.
func (p *Project) StoreOptions() store.Options {
	return store.Options{Lock: p.env.Retry, Jitter: p.env.Jitter, Now: p.env.Now, Home: p.env.NoProject(), Link: p.link}
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
	draft         *draft             // of the batch that this call is a line of
	staged        []*store.Stage     // what the operation relies on
	unless        *store.Call        // see UnlessAnswered
	last          thread.OperationID // what the call has recorded
	continues     thread.OperationID // see GoOn
	note          string             // what the log says of a call that worked
	looked        bool               // a State was read
	toldConfig    bool               // the call itself says what is wrong with the configuration
	asked         bool               // the log of a project on several machines was asked
	logEnd        *store.LogEnd      // and where it ended
	refreshed     bool               // and what it has is here
	unread        []unreadThread     // of the threads for which the caller speaks
	ended         warnings.List      // of claims of the caller: see Notices
	shown         *ShownMessages     // see WillShow
	waiting       []WaitingItem      // see Waiting
	ownWaiting    map[string]bool
	after         func(*Call) // what a line of a batch leaves to do once all of it is committed
	// waited: the call has waited for something, so that calling again is what it is for.
	waited bool
	kept   *sync.Map // see Keep
}

// Call starts one use case.
func (p *Project) Call(ctx context.Context, caller Caller, r Request) *Call {
	caller.Actor = p.NameHere(caller.Actor)
	c := &Call{ctx: ctx, project: p, caller: caller, request: r, target: thread.ThreadID(caller.Thread)}
	c.openStore()
	return c
}

// openStore gives the call a handle of the project's store.
func (c *Call) openStore() {
	opts := c.project.StoreOptions()
	opts.Context = c.ctx
	if send := c.project.env.Send; send != nil && c.project.link != nil {
		opts.Bundle = func(t thread.Thread, again bool) (*thread.CodeSent, []byte) { return send(c, t, again) }
	}
	c.store = store.Open(c.project.root, opts)
}

// Context is that of the caller.
func (c *Call) Context() context.Context { return c.ctx }

// Project is where the call works.
func (c *Call) Project() *Project { return c.project }

// Store is the call's own handle of the store.
func (c *Call) Store() *store.Store { return c.store }

// SetStore gives the call another handle of the same store.
func (c *Call) SetStore(st *store.Store) { c.store = st }

// Caller is who called.
func (c *Call) Caller() Caller { return c.caller }

// Request has what all calls have in common. A use case may change it for what it does next.
func (c *Call) Request() *Request { return &c.request }

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

// SetTarget names the thread that the call concerns.
func (c *Call) SetTarget(id thread.ThreadID) { c.target = id }

// SetRevision names the store's revision of the result.
func (c *Call) SetRevision(r *thread.Revision) { c.revision = r }

// SetChanged says whether the call committed a change.
func (c *Call) SetChanged(changed bool) { c.changed = changed }

// SetNote sets what the log says of a call that worked.
func (c *Call) SetNote(note string) { c.note = note }

// Replayed reports whether the result is that of an earlier call with the same request id.
func (c *Call) Replayed() bool { return c.replayed }

// Continues is the operation that the call's next one is a part of, "" for none: see GoOn.
func (c *Call) Continues() thread.OperationID { return c.continues }

// SetContinues names that operation.
func (c *Call) SetContinues(op thread.OperationID) { c.continues = op }

// Warn adds a warning.
func (c *Call) Warn(w ...warnings.Warning) { c.warnings.Add(w...) }

// NotHere returns the machines of which commits of a thread are not here, as W816 has said in this call.
func (c *Call) NotHere(id thread.ThreadID) (machines []string) {
	for _, w := range c.warnings {
		if w.Code == warnings.CommitsNotHere && w.Context.Text("threadId") == string(id) {
			machines = append(machines, w.Context.Text("machine"))
		}
	}
	return machines
}

// WarnAnew forgets all warnings but the first: what gave the others runs again.
func (c *Call) WarnAnew(first int) { c.warnings = c.warnings[:first] }

// Outlast lets the call go on although its caller has gone, waiting for the lock no longer
// than patience.
func (c *Call) Outlast(patience time.Duration) {
	c.ctx = context.WithoutCancel(c.ctx)
	c.request.LockTimeout, c.request.Waiting = patience, nil
}

// Join continues with the project on several machines that link has.
func (c *Call) Join(link *replica.Link) {
	c.project.link, c.changed = link, true
	c.caller.Actor = c.project.NameHere(c.caller.Actor)
	c.openStore()
}

// Leave continues with the project on this machine alone.
func (c *Call) Leave() {
	c.project.link, c.changed = nil, true
	c.openStore()
}

// Now returns the time as in records: milliseconds, UTC.
func (c *Call) Now() time.Time { return clock(c).UTC().Truncate(time.Millisecond) }

// Stamp returns the stamp of this call's operation; a call has one stamp.
func (c *Call) Stamp() thread.Stamp {
	if c.stamp == nil {
		_ = c.askLog() // for the time; whoever reads or writes is told what is wrong
		c.stamp = &thread.Stamp{
			Operation: c.project.newOperation(),
			Time:      c.Now(), As: c.caller.As, Actor: c.caller.Actor, Doubted: c.Doubted(), Speaks: thread.ThreadID(c.caller.Thread),
		}
	}
	return *c.stamp
}

// ReadHere lets the call read what is on this machine, without asking the project's log.
func (c *Call) ReadHere() { c.refreshed = true }

// TellsOfConfiguration says that the call itself tells what is wrong with the configuration.
func (c *Call) TellsOfConfiguration() { c.toldConfig = true }

// UnlessAnswered makes the call's operations fail with store.ErrAnswered once the request of
// whole, which is the call with all its operations, has its answer; nil ends that.
func (c *Call) UnlessAnswered(whole *store.Call) { c.unless = whole }

// NewOperation lets what the call writes next be an operation of its own, with a time of its
// own.
func (c *Call) NewOperation() { c.stamp, c.staged = nil, nil }

// ForCommand returns a call for another operation of the same line, as a command of its own.
func (c *Call) ForCommand(command string) *Call {
	return c.Next(Request{Command: command, LockTimeout: c.request.LockTimeout, Waiting: c.request.Waiting})
}

// Next returns a call for another operation of the same line.
func (c *Call) Next(r Request) *Call {
	next := c.project.Call(c.ctx, c.caller, r)
	next.kept = c.kept
	return next
}

// Within returns a call that only looks, and ends with a context. It asks the log of a project on several machines no
// more often than this one.
func (c *Call) Within(ctx context.Context) *Call {
	look := c.project.Call(ctx, c.caller, Request{ReadOnly: true})
	look.kept, look.asked, look.logEnd, look.refreshed = c.kept, c.asked, c.logEnd, c.refreshed
	return look
}

// EnableCache lets the call, and those that follow in its line, share what Kept makes. It is for lines that
// soon end: what is kept is not looked at again.
func (c *Call) EnableCache() {
	if c.kept == nil {
		c.kept = &sync.Map{}
	}
}

// Cached returns what was made for a key in this line, and makes it where nothing is kept.
func Cached[T any](c *Call, key string, make func() (T, error)) (T, error) {
	if c.kept == nil {
		return make()
	}
	if was, ok := c.kept.Load(key); ok {
		return was.(T), nil
	}
	made, err := make()
	if err == nil {
		c.kept.Store(key, made)
	}
	return made, err
}

// Include takes over what another call of the same line has done, and its warnings.
func (c *Call) Include(other *Call) {
	c.revision, c.changed = other.revision, c.changed || other.changed
	c.Warn(other.warnings...)
}

// Wrote notes an operation that the call has made beside its own, with its warnings.
func (c *Call) Wrote(commit store.Commit) {
	c.revision, c.changed = &commit.Revision, c.changed || commit.Changed
	c.Warn(commit.Warnings...)
}

// GoOn lets the next operation of the call have a stamp of its own, and be one with the
// last one to whoever called.
func (c *Call) GoOn() {
	c.continues, c.stamp = c.last, nil
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

// Doubted reports whether the caller claims to be a person in an agent's environment,
// and the user's own configuration does not trust that there.
func (c *Call) Doubted() bool {
	if !c.caller.InAgent || !c.caller.As.Person() {
		return false
	}
	set, err := c.Configured()
	return err != nil || !set.trustAs
}

// ByPerson reports whether the caller has a person's authority.
func (c *Call) ByPerson() bool { return c.caller.As.Person() && !c.Doubted() }

// NewID returns the wanted id, otherwise a fresh one that is not taken.
func (c *Call) NewID(wanted, prefix string, taken func(string) bool) string {
	if wanted != "" {
		return wanted
	}
	for {
		if id := c.project.env.NewID(prefix); !taken(id) {
			return id
		}
	}
}

// ThreadOr returns the named thread, otherwise the one that the caller speaks for.
func (c *Call) ThreadOr(id string) string {
	if id == "" {
		id = c.caller.Thread
	}
	c.target = thread.ThreadID(id)
	return id
}

// WarnSkipped adds W204 for entries that are not regular files, and W515 for names that
// are not UTF-8.
func (c *Call) WarnSkipped(paths []string) { c.Warn(warnings.LeftOut(paths)...) }

// Worktree returns a folder as stored in a thread: relative to the project's root if
// it is inside it, otherwise absolute.
func (p *Project) Worktree(dir string) string {
	if dir == "" {
		return ""
	}
	dir = p.Absolute(dir)
	if rel, err := filepath.Rel(p.root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(rel)
	}
	return dir
}

// Absolute returns a folder, absolute or from the project's root, as an absolute one.
func (p *Project) Absolute(dir string) string {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.root, dir)
	}
	return filepath.Clean(dir)
}
