package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file has what a person does with the log of a project on several machines: make it,
// connect another machine, look at it, and leave it.

// prefixProject begins the ids of projects.
const prefixProject = "proj-"

// remoteFor is how long whoever makes or checks a log waits for the servers.
const remoteFor = 30 * time.Second

// RemoteInitRequest makes the project's store the log of a project on several machines.
type RemoteInitRequest struct {
	URL string // of one server or several, separated by commas
}

// Faults returns what is wrong with the request.
func (in RemoteInitRequest) Faults(name Names) []Fault { return urlFaults(name, in.URL) }

func urlFaults(name Names, url string) []Fault {
	k := newChecks(name)
	switch {
	case url == "":
		k.add("URL", url, "is missing")
	case strings.Contains(strings.TrimSuffix(url, "/"), "@"):
		k.add("URL", "", "has credentials in it: write them into a file of your own and name it in LESLIE_REMOTE_CREDS")
	}
	return k.faults
}

// RemoteInitResult is the log that was made.
type RemoteInitResult struct {
	Project string `json:"project"`
	// URL is the address with which other machines connect.
	URL        string `json:"url"`
	Replicas   int    `json:"replicas"`
	Operations int    `json:"operations"`
	Change
}

// RemoteInit makes a log on the servers of the request, uploads all that the store has,
// and connects the store. Interrupted, it goes on when it is called again. W513 warns of
// a single server. Errors: T106 if the project has a log, T402 for servers that are not set
// up for it or not allowed, T502, T505, T510, T512, T903.
func RemoteInit(c *Call, in RemoteInitRequest) (*RemoteInitResult, error) {
	if err := refused(in.Faults(nil)); err != nil {
		return nil, err
	}
	if c.project.link != nil {
		return nil, alreadyConnected(c.project.link.Remote)
	}
	servers := strings.Join(serversOf(strings.TrimSuffix(in.URL, "/")), ",")
	remote := store.Remote{URL: servers, Project: c.project.env.NewID(prefixProject)}
	if begun, err := c.store.Started(); err != nil {
		return nil, err
	} else if begun != nil && begun.URL == servers {
		remote = *begun
	}
	l, report, err := c.project.env.makeLog(c.ctx, remote)
	if err != nil {
		return nil, err
	}
	if err := c.store.Fill(c.ctx, c.lockWait(), l, uploading(c)); err != nil {
		return nil, err
	}
	c.project.link, c.changed = l, true
	c.store = openLinked(c)
	if report.Replicas < 2 {
		c.warn(warnings.SingleServer.New(fact.Of("url", servers)))
	}
	published, err := publishAll(c)
	if err != nil {
		return nil, err
	}
	return &RemoteInitResult{Project: remote.Project, URL: connectURL(remote), Replicas: report.Replicas, Operations: int(published), Change: Change{Changed: true}}, nil
}

// openLinked opens the store again, with the connection that it has by now.
func openLinked(c *Call) *store.Store {
	opts := c.project.storeOptions()
	opts.Context = c.ctx
	return store.Open(c.project.root, opts)
}

// uploading tells how many operations are in the log.
func uploading(c *Call) func(done, all int) {
	return func(done, all int) { progress(c, Progress{What: "uploading", Done: int64(done), Total: int64(all)}) }
}

// alreadyConnected is T106 for a project that has a log.
func alreadyConnected(r store.Remote) error {
	return codes.AlreadyExists.New(fact.Of("id", r.Project)).
		WithHint("The project has a remote already: " + connectURL(r)).WithNext("leslie remote status")
}

// connectURL is the address with which a machine connects.
func connectURL(r store.Remote) string {
	urls := strings.Split(r.URL, ",")
	scheme, _, _ := strings.Cut(urls[0], "://")
	for i, u := range urls[1:] {
		urls[i+1] = strings.TrimPrefix(u, scheme+"://")
	}
	return strings.Join(urls, ",") + "/" + r.Project
}

// makeLog makes what the log of a project needs, and opens it.
func (e Environment) makeLog(ctx context.Context, remote store.Remote) (*store.Link, ledger.Report, error) {
	making, cancel := e.timeout(ctx, remoteFor)
	defer cancel()
	at := e.address(remote.URL, remote.Project, "")
	report, err := e.Engine.Check(making, at)
	if err == nil && !report.Fine() {
		return nil, report, unfit(report)
	}
	if err == nil {
		err = e.Engine.Create(making, at)
	}
	if err != nil {
		return nil, report, remoteFailed(ctx, err)
	}
	l, err := e.link(remote, e.machineName())
	return l, report, err
}

// remoteFailed is the coded error of an engine that an administrator set out to use.
func remoteFailed(ctx context.Context, err error) error {
	var settings *ledger.SettingsError
	switch {
	case ctx.Err() != nil:
		return codes.Interrupted.Wrap(context.Cause(ctx))
	case errors.As(err, &settings):
		return unfit(settings.Report)
	case errors.Is(err, ledger.ErrDenied):
		denied := store.Denied(err).WithNext("leslie help remote")
		if !errors.As(err, new(*ledger.LoginError)) {
			denied = denied.WithHint("It takes an administrator's credentials: name their file in LESLIE_REMOTE_CREDS")
		}
		return denied
	case errors.Is(err, ledger.ErrUnreachable), errors.Is(err, ledger.ErrUnknown), errors.Is(err, context.DeadlineExceeded):
		return codes.RemoteUnreachable.Wrap(err, fact.Of("reason", err.Error())).WithHint("Check the address, and that the servers run").WithNext("leslie help remote")
	case errors.Is(err, ledger.ErrFull):
		return codes.WriteFailed.Wrap(err, fact.Of("path", "the remote"), fact.Of("reason", err.Error()))
	case errors.Is(err, ledger.ErrMissing):
		return codes.RemoteDiverged.Wrap(err, fact.Of("reason", "there is no log of this project"))
	}
	return unusable(err)
}

// unfit is T402 for servers whose settings could lose what they acknowledged.
func unfit(report ledger.Report) error {
	var wrong []string
	lines := map[string]bool{}
	for _, s := range report.Settings {
		if !s.Fine {
			text := s.What + " is " + s.Found + ", not " + s.Wanted
			if s.Server != "" {
				text = s.Server + ": " + text
			}
			wrong = append(wrong, text)
			lines[s.Lines] = true
		}
	}
	delete(lines, "")
	hint := "Change the servers' configuration as docs/machines.md shows it"
	if len(lines) > 0 {
		hint = "Add to the servers' configuration: " + strings.Join(sortedKeys(lines), "; ")
	}
	if report.Servers == 0 {
		wrong = append(wrong, "no server said how it is set up")
	}
	return codes.PermissionDenied.New(fact.Of("capability", "keeping a log on these servers"), fact.Of("reason", strings.Join(wrong, "; "))).
		WithHint(hint).WithNext("leslie help remote")
}

// machineName is a new name for this machine's copy: the host's, and something random.
func (e Environment) machineName() string {
	host := ""
	if e.Host != nil {
		host, _, _ = strings.Cut(e.Host(), ".")
	}
	host = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, strings.ToLower(host))
	if host == "" {
		host = "machine"
	}
	return e.NewID(host[:min(len(host), 24)] + "-")
}

// publishAll publishes the files of all threads, and returns the revision.
func publishAll(c *Call) (thread.Revision, error) {
	var ids []thread.ThreadID
	rev := thread.Revision(0)
	if _, err := c.view(func(s *thread.State) error {
		rev = s.Revision
		for t := range s.Threads.All() {
			ids = append(ids, t.ID)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	commit, err := c.update(publishCall(c, ids), func(*thread.State) (store.Outcome, error) { return store.Outcome{}, nil })
	if err != nil {
		return rev, err
	}
	return commit.Revision, nil
}

// publishCall is the operation that only takes files along.
func publishCall(c *Call, ids []thread.ThreadID) store.Call {
	call := c.storeCall()
	call.PublishAll = ids
	return call
}

// ConnectRequest makes a folder the copy of a project on several machines.
type ConnectRequest struct {
	Dir string // absolute
	URL string // with the project's id behind the last slash
}

// Faults returns what is wrong with the request.
func (in ConnectRequest) Faults(name Names) []Fault {
	if faults := urlFaults(name, in.URL); len(faults) > 0 {
		return faults
	}
	if _, ok := splitURL(in.URL); !ok {
		k := newChecks(name)
		k.add("URL", in.URL, "does not end with the project's id, as leslie remote init and leslie remote status show it")
		return k.faults
	}
	return nil
}

// splitURL splits an address into the servers and the project's id.
func splitURL(url string) (r store.Remote, ok bool) {
	at := strings.LastIndex(url, "/")
	if at < 1 || url[at-1] == '/' || at == len(url)-1 {
		return r, false
	}
	r = store.Remote{URL: strings.Join(serversOf(url[:at]), ","), Project: url[at+1:]}
	return r, strings.HasPrefix(r.Project, prefixProject)
}

// ConnectResult is the copy that was made.
type ConnectResult struct {
	Root     string          `json:"root"`
	Project  string          `json:"project"`
	Machine  string          `json:"machine"`
	Revision thread.Revision `json:"revision"`
	Threads  int             `json:"threads"`
	Change
}

// Connect makes a store in a folder that has none, as the copy of a log, and brings it up
// to date. Interrupted, it goes on when it is called again. Errors: T106 if the folder is
// in a project, T402, T505, T507, T510, T512, T903.
func Connect(ctx context.Context, env Environment, caller Caller, r Request, in ConnectRequest) (*Call, *ConnectResult, error) {
	if err := refused(in.Faults(nil)); err != nil {
		return nil, nil, err
	}
	remote, _ := splitURL(in.URL)
	p := &Project{env: env, root: in.Dir}
	link, err := env.link(remote, env.machineName())
	if err != nil {
		return nil, nil, err
	}
	if err := p.mayConnect(remote); err != nil {
		return nil, nil, err
	}
	asking, cancel := env.timeout(ctx, remoteFor)
	defer cancel()
	switch _, err := link.Ledger.Head(asking); {
	case errors.Is(err, ledger.ErrMissing):
		return nil, nil, codes.InvalidArgument.Wrap(err, fact.Of("reason", "there is no project "+remote.Project+" on that remote")).
			WithHint("Take the address that leslie remote status shows on a machine that has the project").WithNext("leslie help connect")
	case errors.Is(err, ledger.ErrDenied):
		return nil, nil, store.Denied(err).WithNext("leslie help connect")
	case err != nil:
		return nil, nil, remoteFailed(ctx, err)
	}
	st, _, notes, err := store.Create(ctx, store.Wait{Timeout: r.LockTimeout, Notify: r.Waiting}, p.root, p.storeOptions())
	if err != nil {
		return nil, nil, p.withoutStore(err)
	}
	p.root = st.Root()
	if known, err := store.ReadRemote(p.root); err != nil {
		return nil, nil, err
	} else if known == nil {
		if err := st.Connect(ctx, store.Wait{Timeout: r.LockTimeout}, link); err != nil {
			return nil, nil, err
		}
	} else if link.Machine, err = st.Machine(); err != nil {
		return nil, nil, err
	}
	p.link = link
	c := p.Call(ctx, caller, r)
	c.changed = true
	c.warn(notes...)
	d := &ConnectResult{Root: p.root, Project: remote.Project, Machine: link.Machine, Change: Change{Changed: true}}
	v, err := c.view(func(s *thread.State) error {
		d.Threads = s.Threads.Len()
		return nil
	})
	if err == nil && warned(c.storeWarnings, warnings.CacheOld) {
		err = codes.RemoteUnreachable.New(fact.Of("reason", "the connection broke while the project came")).
			WithHint("Go on with the same line").WithNext("leslie connect " + in.URL)
	}
	d.Revision = v.Revision
	return c, d, err
}

// mayConnect refuses a folder that is in a project, unless it is a copy that was begun.
// Errors: T106, T502, T509.
func (p *Project) mayConnect(remote store.Remote) error {
	st, err := store.Find(p.root, p.storeOptions())
	if err != nil {
		if codes.Has(err, codes.NotInitialized) {
			return nil
		}
		return err
	}
	known, err := store.ReadRemote(st.Root())
	switch {
	case err != nil:
		return err
	case known != nil && *known == remote && sameFolder(st.Root(), p.root):
		return nil
	case known == nil && sameFolder(st.Root(), p.root) && st.Untouched():
		return nil
	}
	shown := filepath.ToSlash(filepath.Join(st.Root(), store.Dir))
	return codes.AlreadyExists.New(fact.Of("id", shown), fact.Of("path", shown)).
		WithHint("A copy needs a folder without a store: make one beside it").WithNext("leslie help connect")
}

// RemoteStatusRequest asks how this machine's copy stands.
type RemoteStatusRequest struct{}

// RemoteStatusResult is how this machine's copy stands.
type RemoteStatusResult struct {
	Connected bool    `json:"connected"`
	Project   *string `json:"project"`
	URL       *string `json:"url"` // with which machines connect
	Machine   *string `json:"machine"`
	// Revision is what this machine knows, Head the log's end, nil if nobody answered; Lag
	// is how many operations this machine is behind.
	Revision thread.Revision  `json:"revision"`
	Head     *thread.Revision `json:"head"`
	Lag      *int             `json:"lag"`
	// Reachable: the log's engine answered; Reason says why not, or, of one that Diverged,
	// how its log differs from what this machine knows.
	Reachable bool   `json:"reachable"`
	Diverged  bool   `json:"diverged,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Machines are those that made the last operations, the latest first.
	Machines []RemoteMachine `json:"machines"`
}

// RemoteMachine is a machine that has written.
type RemoteMachine struct {
	Name string          `json:"name"`
	Own  bool            `json:"own"`
	Last time.Time       `json:"last"` // its newest operation
	Seq  thread.Revision `json:"seq"`
	// Operations is how many of the last operations are its own.
	Operations int `json:"operations"`
}

// machinesOf is how many of the last operations are looked at for machines.
const machinesOf = 1000

// RemoteStatus says how this machine's copy stands. It brings nothing up to date. Errors:
// those of reading.
func RemoteStatus(c *Call, _ RemoteStatusRequest) (*RemoteStatusResult, error) {
	c.readOnly()
	d := &RemoteStatusResult{Machines: []RemoteMachine{}}
	l := c.project.link
	c.refreshed = true
	v, err := c.store.View(c.ctx, func(*thread.State) error { return nil })
	if err != nil {
		return nil, err
	}
	d.Revision, c.revision = v.Revision, &v.Revision
	c.warn(v.Warnings...)
	if l == nil {
		return d, nil
	}
	url := connectURL(l.Remote)
	d.Connected, d.Project, d.URL, d.Machine = true, &l.Remote.Project, &url, &l.Machine
	if err := d.ask(c); err != nil {
		d.Reason = codes.Reason(err)
		d.Diverged = codes.Has(err, codes.RemoteDiverged)
	}
	return d, d.machines(c)
}

// ask looks at the log's end.
func (d *RemoteStatusResult) ask(c *Call) error {
	head, notes, err := c.store.Head(c.ctx)
	c.warn(notes...)
	if err != nil {
		return err
	}
	lag := int(head - d.Revision)
	d.Reachable, d.Head, d.Lag = true, &head, &lag
	return nil
}

// machines collects who wrote last.
func (d *RemoteStatusResult) machines(c *Call) error {
	h, err := c.store.History(c.ctx, store.HistoryQuery{Limit: machinesOf})
	if err != nil {
		return err
	}
	at := map[string]int{}
	for _, op := range h.Operations {
		if op.Machine == "" {
			continue
		}
		i, known := at[op.Machine]
		if !known {
			i = len(d.Machines)
			at[op.Machine] = i
			d.Machines = append(d.Machines, RemoteMachine{Name: op.Machine, Own: op.Machine == *d.Machine, Last: op.Time, Seq: op.Seq})
		}
		d.Machines[i].Operations++
	}
	return nil
}

// RemoteCheckRequest asks how servers are set up.
type RemoteCheckRequest struct {
	URL string // "": those of the project
}

// RemoteCheckResult is how servers are set up.
type RemoteCheckResult struct {
	Fine bool `json:"fine"`
	ledger.Report
}

// Faults returns what is wrong with the request.
func (in RemoteCheckRequest) Faults(name Names) []Fault {
	if in.URL == "" {
		return nil
	}
	return urlFaults(name, in.URL)
}

// RemoteCheck reads the settings of the project's servers, or of those of the request.
// Errors: T402 if they are not what a log needs, with the result; T510, T903.
func RemoteCheck(c *Call, in RemoteCheckRequest) (*RemoteCheckResult, error) {
	c.readOnly()
	c.refreshed = true
	url := in.URL
	if url == "" && c.project.link != nil {
		url = c.project.link.Remote.URL
	}
	if err := refused(urlFaults(nil, url)); err != nil {
		return nil, err
	}
	project := ""
	if c.project.link != nil {
		project = c.project.link.Remote.Project
	}
	checking, cancel := c.project.env.timeout(c.ctx, remoteFor)
	defer cancel()
	report, err := c.project.env.Engine.Check(checking, c.project.env.address(url, project, ""))
	if err != nil {
		return nil, remoteFailed(c.ctx, err)
	}
	d := &RemoteCheckResult{Fine: report.Fine(), Report: report}
	if !d.Fine {
		return d, unfit(report)
	}
	return d, nil
}

// RemoteLeaveRequest makes a copy a store of its own.
type RemoteLeaveRequest struct{}

// RemoteLeaveResult is what the copy was of.
type RemoteLeaveResult struct {
	Project string `json:"project"`
	URL     string `json:"url"`
	Change
}

// RemoteLeave brings all published files here and makes the copy a store of its own, which
// the other machines do not see any more. Errors: T510 if that is not possible now, T501,
// T505.
func RemoteLeave(c *Call, _ RemoteLeaveRequest) (*RemoteLeaveResult, error) {
	l := c.project.link
	if l == nil {
		return &RemoteLeaveResult{}, nil
	}
	var ids []thread.ThreadID
	if _, err := c.view(func(s *thread.State) error {
		for t := range s.Threads.All() {
			ids = append(ids, t.ID)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if warned(c.storeWarnings, warnings.CacheOld) {
		return nil, codes.RemoteUnreachable.New(fact.Of("reason", "what other machines have is not all here yet"))
	}
	if err := fetch(c, ids...); err != nil {
		return nil, err
	}
	if err := c.store.Leave(c.ctx, c.lockWait()); err != nil {
		return nil, err
	}
	c.changed = true
	return &RemoteLeaveResult{Project: l.Remote.Project, URL: connectURL(l.Remote), Change: Change{Changed: true}}, nil
}

// RemoteRestoreRequest makes the project's log anew from this machine's copy.
type RemoteRestoreRequest struct{}

// RemoteRestore uploads this machine's copy as the log of the same project, whose servers
// have lost it or know less. A person decides that: what only other machines know is lost
// to those that come after. Errors: T402 for anybody else, and as RemoteInit.
func RemoteRestore(c *Call, _ RemoteRestoreRequest) (*RemoteInitResult, error) {
	l := c.project.link
	if l == nil {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "the project has no remote")).WithNext("leslie help remote")
	}
	if !byPerson(c) {
		return nil, codes.PermissionDenied.New(fact.Of("capability", "restoring the project's log")).WithNext("leslie remote status")
	}
	made, report, err := c.project.env.makeLog(c.ctx, l.Remote)
	if err != nil {
		return nil, err
	}
	made.Machine = l.Machine
	c.refreshed = true
	if err := c.store.Fill(c.ctx, c.lockWait(), made, uploading(c)); err != nil {
		return nil, err
	}
	c.project.link, c.changed = made, true
	c.store = openLinked(c)
	at, err := publishAll(c)
	return &RemoteInitResult{
		Project: l.Remote.Project, URL: connectURL(l.Remote), Replicas: report.Replicas, Operations: int(at), Change: Change{Changed: true},
	}, err
}

// PublishRequest takes the files of threads to the other machines.
type PublishRequest struct {
	Thread string // "": all threads whose files have changed here
}

// PublishResult is what was published.
type PublishResult struct {
	Threads []PublishedThread `json:"threads"`
	Change
}

// PublishedThread is one thread whose files were published.
type PublishedThread struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Files    int             `json:"files"`
}

// Publish takes the files of a thread, or of all, to the other machines as they are here.
// Errors: T101, T105, T402, T510, T903 if the project has no log; those of a write.
func Publish(c *Call, in PublishRequest) (*PublishResult, error) {
	if c.project.link == nil {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "the project is on this machine alone, and its files are in place")).
			WithHint("leslie remote init URL makes it one of several machines").WithNext("leslie help remote")
	}
	var ids []thread.ThreadID
	if _, err := c.view(func(s *thread.State) error {
		if in.Thread != "" {
			t, err := s.LiveThread(in.Thread)
			c.target, ids = t.ID, append(ids, t.ID)
			return err
		}
		for t := range s.Threads.All() {
			ids = append(ids, t.ID)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var before map[thread.ThreadID]thread.BlobID
	d := &PublishResult{Threads: []PublishedThread{}}
	commit, err := c.update(publishCall(c, ids), func(s *thread.State) (store.Outcome, error) {
		before = map[thread.ThreadID]thread.BlobID{}
		for _, id := range ids {
			if t, ok := s.Threads.Peek(string(id)); ok && t.Published != nil {
				before[id] = t.Published.Manifest
			}
		}
		return store.Outcome{Thread: c.target}, nil
	})
	if err != nil {
		return nil, err
	}
	c.warn(commit.Warnings...)
	c.changed, d.Changed = commit.Changed, commit.Changed
	_, err = c.view(func(s *thread.State) error {
		for _, id := range ids {
			if t, ok := s.Threads.Peek(string(id)); ok && t.Published != nil && t.Published.Manifest != before[id] {
				d.Threads = append(d.Threads, PublishedThread{ThreadID: id, Files: t.Published.Files})
			}
		}
		return nil
	})
	slices.SortFunc(d.Threads, func(a, b PublishedThread) int { return strings.Compare(string(a.ThreadID), string(b.ThreadID)) })
	return d, err
}

// CredentialsFile is where a user's credentials for remotes are, if nothing else is said:
// "" if there are none.
func CredentialsFile(home string) string {
	name := filepath.Join(home, store.Dir, "remote.creds")
	if home == "" {
		return ""
	}
	if _, err := os.Stat(name); err != nil {
		return ""
	}
	return name
}
