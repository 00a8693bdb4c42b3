package projects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/replica"
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
	// Credentials is a file of credentials, of which the project keeps a copy on this machine; "": those
	// that the environment has.
	Credentials string
}

// Faults returns what is wrong with the request.
func (in RemoteInitRequest) Faults(name app.Names) []app.Fault { return urlFaults(name, in.URL) }

// otherURLFaults is urlFaults for an address that need not be given.
func otherURLFaults(name app.Names, url string) []app.Fault {
	if url == "" {
		return nil
	}
	return urlFaults(name, url)
}

func urlFaults(name app.Names, url string) []app.Fault {
	k := app.NewChecks(name)
	switch {
	case url == "":
		k.Add("URL", url, "is missing")
	case strings.Contains(strings.TrimSuffix(url, "/"), "@"):
		k.Add("URL", "", "has credentials in it: write them into a file of your own and name it in LESLIE_REMOTE_CREDS")
	}
	return k.Faults
}

// RemoteInitResult is the log that was made.
type RemoteInitResult struct {
	Project string `json:"project"`
	// URL is the address with which other machines connect.
	URL        string `json:"url"`
	Replicas   int    `json:"replicas"`
	Operations int    `json:"operations"`
	// Credentials: servers were given some, so whoever connects needs some.
	Credentials bool `json:"-"`
	app.Change
}

// RemoteInit makes a log on the servers of the request, uploads all that the store has,
// and connects the store. Interrupted, it goes on when it is called again. W513 warns of
// a single server. Errors: T106 if the project has a log, T402 for servers that are not set
// up for it or not allowed, T502, T505, T510, T512, T903.
func RemoteInit(c *app.Call, in RemoteInitRequest) (*RemoteInitResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if c.Project().Link() != nil {
		return nil, alreadyConnected(c.Project().Link().Remote)
	}
	creds, err := useCredentials(c, in.Credentials)
	if err != nil {
		return nil, err
	}
	servers := strings.Join(app.ServersOf(strings.TrimSuffix(in.URL, "/")), ",")
	remote := replica.Remote{URL: servers, Project: c.Project().Environment().NewID(prefixProject)}
	if begun, err := c.Store().Started(); err != nil {
		return nil, err
	} else if begun != nil && begun.URL == servers {
		remote = *begun
	}
	l, report, err := makeLog(*c.Project().Environment(), c.Context(), remote)
	if err != nil {
		return nil, err
	}
	if err := c.Store().Fill(c.Context(), c.LockWait(), l, uploading(c)); err != nil {
		return nil, err
	}
	if err := keepCredentials(c.Store(), creds); err != nil {
		return nil, err
	}
	c.Join(l)
	if report.Replicas < 2 {
		c.Warn(warnings.SingleServer.New(fact.Of("url", servers)))
	}
	published, err := publishAll(c, func(s *thread.State) {
		s.NameHolders(c.Project().NameHere)
		s.AtHome()
	})
	if err != nil {
		return nil, err
	}
	return &RemoteInitResult{Project: remote.Project, URL: connectURL(remote), Replicas: report.Replicas, Operations: int(published), Credentials: creds != nil, Change: app.Change{Changed: true}}, nil
}

// readCredentials reads a file of credentials, of which the store will have a copy; "" has none.
// Errors: T509.
func readCredentials(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, codes.ReadFailed.OfPath(file, err).
			WithHint("Check the path that --creds names").WithNext("leslie help remote")
	}
	return data, nil
}

// useCredentials lets a call use a file of credentials, "" for those that it has, and returns what
// it has. Errors: T509.
func useCredentials(c *app.Call, file string) (data []byte, err error) {
	if data, err = readCredentials(file); data != nil {
		c.Project().Environment().Credentials = file
	}
	return data, err
}

// keepCredentials gives the store its copy.
func keepCredentials(st *store.Store, data []byte) error {
	if data == nil {
		return nil
	}
	return st.KeepCredentials(data)
}

// uploading tells how many operations are in the log.
func uploading(c *app.Call) func(done, all int) {
	return func(done, all int) {
		c.Report(app.Progress{What: "uploading", Done: int64(done), Total: int64(all)})
	}
}

// alreadyConnected is T106 for a project that has a log.
func alreadyConnected(r replica.Remote) error {
	return codes.AlreadyExists.New(fact.Of("id", r.Project)).
		WithHint("The project has a remote already: " + connectURL(r)).WithNext("leslie remote status")
}

// connectURL is the address with which a machine connects.
func connectURL(r replica.Remote) string {
	urls := strings.Split(r.URL, ",")
	scheme, _, _ := strings.Cut(urls[0], "://")
	for i, u := range urls[1:] {
		urls[i+1] = strings.TrimPrefix(u, scheme+"://")
	}
	return strings.Join(urls, ",") + "/" + r.Project
}

// makeLog makes what the log of a project needs, and opens it.
func makeLog(e app.Environment, ctx context.Context, remote replica.Remote) (*replica.Link, ledger.Report, error) {
	making, cancel := e.Timeout(ctx, remoteFor)
	defer cancel()
	at := e.Address(remote.URL, remote.Project, "")
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
	l, err := e.Link(remote, e.NewMachine())
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
		denied := replica.Denied(err).WithNext("leslie help remote")
		if !errors.As(err, new(*ledger.LoginError)) {
			denied = denied.WithHint("It takes an administrator's credentials: name their file with --creds, or in LESLIE_REMOTE_CREDS")
		}
		return denied
	case errors.Is(err, ledger.ErrUnreachable), errors.Is(err, ledger.ErrUnknown), errors.Is(err, context.DeadlineExceeded):
		hint, reason := "Check the address, and that the servers run; those that were just started need some seconds", err.Error()
		if few, ok := errors.AsType[*ledger.TooFewError](err); ok {
			reason = few.Error()
		} else if errors.Is(err, context.DeadlineExceeded) {
			reason = "no answer within " + remoteFor.String() + "; of several servers too few may be there"
		}
		if replica.Untrusted(err) {
			hint = replica.CertificateHint(err)
		}
		return codes.RemoteUnreachable.Wrap(err, fact.Of("reason", reason)).WithHint(hint).WithNext("leslie help remote")
	case errors.Is(err, ledger.ErrFull):
		return codes.WriteFailed.Wrap(err, fact.Of("path", "the remote"), fact.Of("reason", err.Error()))
	case errors.Is(err, ledger.ErrSealed), errors.Is(err, ledger.ErrGap), errors.Is(err, ledger.ErrMissing):
		return replica.Error(ctx, err, "")
	}
	return app.Unusable(err)
}

// unfit is T402 for servers whose settings could lose what they acknowledged, or T510 where all that is wrong is
// that some did not say how they are set up.
func unfit(report ledger.Report) error {
	if report.OnlySilent() {
		do := "does"
		if report.Silent > 1 {
			do = "do"
		}
		reason := fmt.Sprintf("%d of %d servers %s not answer", report.Silent, report.Servers+report.Silent, do)
		return codes.RemoteUnreachable.New(fact.Of("reason", reason)).
			WithHint("Each of them has to say how it is set up: start it, then repeat the line. Meanwhile a project that is " +
				"on them goes on while more than half of them answer: leslie remote status says which do").
			WithNext("leslie help remote")
	}
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
	hint := "Change the servers' configuration, or let leslie remote config write one"
	if len(lines) > 0 {
		hint = "Add to the servers' configuration: " + strings.Join(app.SortedKeys(lines), "; ")
	}
	if report.Servers == 0 {
		wrong = append(wrong, "no server said how it is set up")
	}
	return codes.PermissionDenied.New(fact.Of("capability", "keeping a log on these servers"), fact.Of("reason", strings.Join(wrong, "; "))).
		WithHint(hint).WithNext("leslie help remote")
}

// publishAll publishes the files of all threads, together with a change of the state, and returns the revision.
func publishAll(c *app.Call, change func(*thread.State)) (thread.Revision, error) {
	var ids []thread.ThreadID
	rev := thread.Revision(0)
	if _, err := c.View(func(s *thread.State) error {
		rev = s.Revision
		for t := range s.Threads.All() {
			ids = append(ids, t.ID)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	commit, err := c.Update(c.StoreCall(), func(s *thread.State) (store.Outcome, error) {
		s.HandOn(ids...)
		change(s)
		return store.Outcome{}, nil
	})
	if err != nil {
		return rev, err
	}
	return commit.Revision, nil
}

// ConnectRequest makes a folder the copy of a project on several machines.
type ConnectRequest struct {
	Dir         string // absolute
	URL         string // with the project's id behind the last slash
	Credentials string // see RemoteInitRequest
	// Machine is the name that this machine had in the project before, "" for a new one: claims and
	// worktrees that are in its name are its own again.
	Machine string
}

// Faults returns what is wrong with the request.
func (in ConnectRequest) Faults(name app.Names) []app.Fault {
	if in.Machine != "" && app.HostOf(in.Machine) == "" {
		k := app.NewChecks(name)
		k.Add("Machine", in.Machine, "is no name of a machine, as leslie remote status shows them")
		return k.Faults
	}
	if faults := urlFaults(name, in.URL); len(faults) > 0 {
		return faults
	}
	if _, ok := splitURL(in.URL); !ok {
		k := app.NewChecks(name)
		k.Add("URL", in.URL, "does not end with the project's id, as leslie remote init and leslie remote status show it")
		return k.Faults
	}
	return nil
}

// splitURL splits an address into the servers and the project's id.
func splitURL(url string) (r replica.Remote, ok bool) {
	at := strings.LastIndex(url, "/")
	if at < 1 || url[at-1] == '/' || at == len(url)-1 {
		return r, false
	}
	r = replica.Remote{URL: strings.Join(app.ServersOf(url[:at]), ","), Project: url[at+1:]}
	return r, strings.HasPrefix(r.Project, prefixProject)
}

// ConnectResult is the copy that was made.
type ConnectResult struct {
	Root     string          `json:"root"`
	Project  string          `json:"project"`
	Machine  string          `json:"machine"`
	Revision thread.Revision `json:"revision"`
	Threads  int             `json:"threads"`
	// Was is the machine whose worktrees are in this repository: this one may be that, and have lost its
	// copy of the project. "" if there are none.
	Was string `json:"was,omitempty"`
	// NoCode says why threads of this copy cannot own code, although it is in a repository.
	NoCode string `json:"noCode,omitempty"`
	// Renewed is RemoteRejoinResult.Renewed.
	Renewed int `json:"renewed,omitempty"`
	// Kept is the folder that has what this machine did alone after it had left the project, "" for nothing.
	Kept string `json:"kept,omitempty"`
	// Alone has the threads that only Kept has, Notes the files of others that Kept has and the log has otherwise, or
	// not at all, and Operations what was done alone, oldest first.
	Alone      []PartedThread        `json:"alone,omitempty"`
	Notes      []KeptNotes           `json:"notes,omitempty"`
	Operations []app.OperationRecord `json:"operations,omitempty"`
	// Again are those of Operations whose command brings back what the log lacks of them, and nothing else does.
	Again []thread.OperationID `json:"again,omitempty"`
	// LastWrote is when the machine that the request names wrote last; null if it names none.
	LastWrote *time.Time `json:"lastWrote,omitempty"`
	// CredentialsNotKept: they are those that the environment names, of which the copy keeps none.
	CredentialsNotKept bool            `json:"credentialsNotKept,omitempty"`
	common             thread.Revision // up to which the log and the copy in Kept are the same
	app.Change
}

// Connect makes a store in a folder that has none, as the copy of a log, and brings it up
// to date. Interrupted, it goes on when it is called again. A store that has left the project is kept beside
// the new one if the machine is named that it was: a person does that. Errors: T106 if the folder is
// in a project, T108 while an agent runs in one that has left, T402, T505, T507, T510, T512, T903.
func Connect(ctx context.Context, env app.Environment, caller app.Caller, r app.Request, in ConnectRequest) (*app.Call, *ConnectResult, error) {
	if err := app.FaultsError(append(in.Faults(nil), homeFaults(in.Dir, env)...)); err != nil {
		return nil, nil, err
	}
	creds, err := readCredentials(in.Credentials)
	if err != nil {
		return nil, nil, err
	}
	remote, _ := splitURL(in.URL)
	env.Credentials = cmp.Or(in.Credentials, env.Credentials)
	p := app.NewProject(env, in.Dir)
	link, err := env.Link(remote, cmp.Or(in.Machine, env.NewMachine()))
	if err != nil {
		return nil, nil, err
	}
	left, err := mayConnect(p, remote, in)
	if err != nil {
		return nil, nil, err
	}
	asking, cancel := env.Timeout(ctx, remoteFor)
	defer cancel()
	switch _, err := link.Ledger.Head(asking); {
	case errors.Is(err, ledger.ErrMissing):
		return nil, nil, codes.InvalidArgument.Wrap(err, fact.Of("reason", "there is no project "+remote.Project+" on that remote")).
			WithHint("Take the address that leslie remote status shows on a machine that has the project").WithNext("leslie help connect")
	case errors.Is(err, ledger.ErrDenied):
		return nil, nil, replica.Denied(err).WithNext("leslie help connect")
	case err != nil:
		return nil, nil, remoteFailed(ctx, err)
	}
	if left != nil {
		return comeBack(app.NewProject(env, left.Root()).Call(ctx, caller, r), link, in, creds)
	}
	st, created, notes, err := store.Create(ctx, store.Wait{Timeout: r.LockTimeout, Notify: r.Waiting}, p.Root(), p.StoreOptions())
	if err != nil {
		return nil, nil, withoutStore(p, err)
	}
	p = app.NewProject(env, st.Root())
	c, d, err := copyFrom(p, ctx, st, link, caller, r, in, creds)
	if created && err != nil && !codes.Has(err, codes.Interrupted) && !codes.Has(err, codes.RemoteUnreachable) {
		if failed := st.Discard(ctx); failed != nil { // the same line could not go on with it
			return nil, nil, failed
		}
		if e := codes.Of(err); e != nil {
			err = e.WithNext("leslie help connect")
		}
		return nil, nil, err
	}
	if c != nil {
		c.Warn(notes...)
	}
	if err == nil && in.Machine != "" {
		killed, failed := finishReplacing(c, app.KeptOwn)
		if killed != nil { // a call before
			d.Kept, d.Alone, d.Notes, d.Renewed = killed.Kept, killed.Alone, killed.Notes, killed.Renewed
			d.Operations, d.Again = killed.Operations, killed.Again
		}
		err = failed
	}
	return c, d, err
}

// copyFrom connects a store to a log and brings it up to date. Errors: as Connect.
func copyFrom(p *app.Project, ctx context.Context, st *store.Store, link *replica.Link, caller app.Caller, r app.Request, in ConnectRequest, creds []byte) (*app.Call, *ConnectResult, error) {
	known, err := replica.Read(p.Root())
	if err != nil {
		return nil, nil, err
	}
	was := ""
	if known != nil {
		if was, err = st.Machine(); err != nil {
			return nil, nil, err
		}
	}
	renamed, wrote := known != nil && in.Machine != "" && in.Machine != was, time.Time{}
	if renamed {
		if wrote, err = lastWrote(ctx, st, in.Machine); err != nil {
			return nil, nil, err
		}
	}
	if known != nil && !renamed {
		link.Machine = was
	} else if err := st.Connect(ctx, store.Wait{Timeout: r.LockTimeout}, link); err != nil {
		return nil, nil, err
	}
	if err := keepCredentials(st, creds); err != nil {
		return nil, nil, err
	}
	c := p.Call(ctx, caller, r)
	c.Join(link)
	d := &ConnectResult{Root: p.Root(), Project: link.Remote.Project, Machine: link.Machine, Change: app.Change{Changed: true},
		CredentialsNotKept: creds == nil && p.Environment().NamedCredentials && st.Credentials() == ""}
	v, err := c.View(func(s *thread.State) error {
		d.Threads = s.Threads.Len()
		return nil
	})
	if err == nil && c.StoreWarned(warnings.CacheOld) {
		err = codes.RemoteUnreachable.New(fact.Of("reason", "the connection broke while the project came")).
			WithHint("Go on with the same line").WithNext("leslie connect " + in.URL)
	}
	d.Revision = v.Revision
	if err != nil {
		return c, d, err
	}
	if in.Machine != "" {
		if !renamed { // the store had nothing in which it could be looked for
			wrote, err = lastWrote(ctx, st, in.Machine)
		}
		d.LastWrote = &wrote
		return c, d, err
	}
	d.Was = code.MachineOfWorktrees(c)
	if app.Exists(filepath.Join(code.NearestGit(p.Root()), ".git")) {
		if _, err := code.OpenRepo(c); err != nil {
			d.NoCode = codes.Of(err).Facts().Text("reason")
		}
	}
	return c, d, nil
}

// lastWrote returns when a machine wrote last in the project, and refuses the name of one that never did.
// Errors: T903, those of reading.
func lastWrote(ctx context.Context, st *store.Store, machine string) (at time.Time, err error) {
	h, err := st.History(ctx, store.HistoryQuery{})
	if err != nil {
		return at, err
	}
	if i := slices.IndexFunc(h.Operations, func(op thread.Operation) bool { return op.Machine == machine }); i >= 0 {
		return h.Operations[i].Time, nil
	}
	return at, codes.InvalidArgument.New(fact.Of("reason", "no machine "+machine+" has written in this project")).
		WithHint("leslie remote status shows the names on a machine that has the project").WithNext("leslie help connect")
}

// mayConnect refuses a folder that is in a project, unless it is a copy that was begun. left is a store that
// has left a project, and is to be kept beside the new copy: in names the machine that it was.
// Errors: T106, T502, T509.
func mayConnect(p *app.Project, remote replica.Remote, in ConnectRequest) (left *store.Store, err error) {
	st, err := store.Find(p.Root(), p.StoreOptions())
	if err != nil {
		if codes.Has(err, codes.NotInitialized) {
			return nil, nil
		}
		return nil, err
	}
	known, err := replica.Read(st.Root())
	switch {
	case err != nil:
		return nil, err
	case known != nil && *known == remote && sameFolder(st.Root(), p.Root()):
		return nil, nil
	case known == nil && sameFolder(st.Root(), p.Root()) && st.Untouched():
		return nil, nil
	}
	shown := filepath.ToSlash(filepath.Join(st.Root(), store.Dir))
	if was, _ := st.Machine(); known == nil && was != "" && sameFolder(st.Root(), p.Root()) { // it has left
		if in.Machine == was {
			return st, nil
		}
		return nil, codes.AlreadyExists.New(fact.Of("id", shown), fact.Of("path", shown)).
			WithHint("This machine has left a project; as itself it comes back with: " + returnLine(connectURL(remote), was, in.Credentials != "")).WithNext("leslie help connect")
	}
	if known != nil && known.Project == remote.Project {
		return nil, codes.AlreadyExists.New(fact.Of("id", shown), fact.Of("path", shown)).
			WithHint("This is a copy of that project already: leslie remote status shows it. Its servers have another address: leslie remote move URL").WithNext("leslie remote status")
	}
	return nil, codes.AlreadyExists.New(fact.Of("id", shown), fact.Of("path", shown)).
		WithHint("A copy needs a folder without a store: make one beside it").WithNext("leslie help connect")
}

// RemoteStatusRequest asks how this machine's copy stands.
type RemoteStatusRequest struct{}

// ServerStanding is one of the project's servers.
type ServerStanding = ledger.ServerStanding

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
	Damaged   bool   `json:"damaged,omitempty"` // its last line cannot be read
	Reason    string `json:"reason,omitempty"`
	Hint      string `json:"hint,omitempty"` // what helps, if there is a Reason
	Untrusted bool   `json:"-"`              // nobody answered whose certificate this machine trusts
	// Return is the line with which this machine comes back to a project that it has left, "" for none.
	Return string `json:"return,omitempty"`
	// Servers are those of the URL, and ReadOnly that this machine's credentials do not let it write; both as far as
	// the servers have said it.
	Servers  []ServerStanding `json:"servers,omitempty"`
	ReadOnly bool             `json:"readOnly,omitempty"`
	// Machines are those that made the last operations, the latest first.
	Machines []app.Machine `json:"machines"`
	// Leaving has the threads that were released when this machine began to leave the project, which did not end.
	Leaving []thread.ThreadID `json:"leaving,omitempty"`
	// Kept has copies as they were before this machine rejoined the log, or came back to the project.
	Kept []app.KeptCopy `json:"kept,omitempty"`
}

// RemoteStatus says how this machine's copy stands, once it has what the log has, as far as that is possible. Errors:
// those of reading.
func RemoteStatus(c *app.Call, _ RemoteStatusRequest) (*RemoteStatusResult, error) {
	c.ReadOnly()
	d := &RemoteStatusResult{Machines: []app.Machine{}, Kept: c.KeptCopies()}
	l := c.Project().Link()
	c.ReadHere()
	look := func(s *thread.State) error {
		d.Leaving = c.LeavingBegan(s)
		return nil
	}
	v, err := c.Store().View(c.Context(), look)
	if err != nil {
		return nil, err
	}
	d.Revision = v.Revision
	c.SetRevision(&v.Revision)
	c.Warn(v.Warnings...)
	if l == nil {
		d.Return = wayBack(c)
		return d, nil
	}
	url := connectURL(l.Remote)
	d.Connected, d.Project, d.URL, d.Machine = true, &l.Remote.Project, &url, &l.Machine
	err = d.ask(c)
	if err == nil && *d.Lag > 0 {
		if notes, refreshed := c.Store().Refresh(c.Context(), nil); refreshed == nil {
			c.Warn(notes...)
			if v, err = c.Store().View(c.Context(), look); err != nil {
				return nil, err
			}
			d.Revision = v.Revision
			err = d.ask(c)
		}
	}
	if err != nil {
		d.Reason, d.Hint = codes.Reason(err), codes.Of(err).Hint()
		d.Untrusted = replica.Untrusted(err)
		d.Diverged, d.Damaged = codes.Has(err, codes.RemoteDiverged), codes.Has(err, codes.RemoteDamaged)
	}
	if !l.Offline && (d.Reachable || strings.Contains(l.Remote.URL, ",")) {
		asking, cancel := c.Project().Environment().Timeout(c.Context(), replica.AskFor)
		defer cancel()
		if d.Reachable {
			may, err := l.Ledger.MayAppend(asking)
			d.ReadOnly = err == nil && !may
		}
		d.Servers = l.Ledger.Servers(asking)
	}
	d.Machines, err = c.Machines()
	return d, err
}

// ask looks at the log's end.
func (d *RemoteStatusResult) ask(c *app.Call) error {
	head, notes, err := c.Store().Head(c.Context())
	c.Warn(notes...)
	if err != nil {
		return err
	}
	lag := int(head - d.Revision)
	d.Reachable, d.Head, d.Lag = true, &head, &lag
	return nil
}

// RemoteCheckRequest asks how servers are set up.
type RemoteCheckRequest struct {
	URL         string // "": those of the project
	Credentials string // a file of credentials, "" for those that the project or the environment has
}

// DamagedContent is content that no server has as it was stored.
type DamagedContent = doctor.DamagedContent

// DistinctDamage returns the first of each content that people cannot tell apart: several blobs may be of one list.
func DistinctDamage(all []DamagedContent) (distinct []DamagedContent) {
	type shown struct {
		what string
		here bool
	}
	said := map[shown]bool{}
	for _, one := range all {
		if at := (shown{one.What, one.Here}); !said[at] {
			said[at] = true
			distinct = append(distinct, one)
		}
	}
	return distinct
}

// RemoteCheckResult is how servers are set up.
type RemoteCheckResult struct {
	Fine bool `json:"fine"`
	// Log is how the project's log is, nil where a URL names servers alone.
	Log *doctor.LogCheck `json:"log"`
	// Content is how what the log keeps besides its lines is, nil where Log is.
	Content *doctor.ContentCheck `json:"content"`
	ledger.Report
}

// Faults returns what is wrong with the request.
func (in RemoteCheckRequest) Faults(name app.Names) []app.Fault { return otherURLFaults(name, in.URL) }

// RemoteCheck reads the settings of the project's servers, or of those of the request, and
// of the project every line of its log and all content. Errors: T402 if the settings are not
// what a log needs, T510 if some servers do not answer, T513 if lines or content cannot be read, both with the result; T509, T510, T903.
func RemoteCheck(c *app.Call, in RemoteCheckRequest) (*RemoteCheckResult, error) {
	c.ReadOnly()
	c.ReadHere()
	url := in.URL
	if url == "" && c.Project().Link() != nil {
		url = c.Project().Link().Remote.URL
	}
	if err := app.FaultsError(urlFaults(nil, url)); err != nil {
		return nil, err
	}
	if _, err := useCredentials(c, in.Credentials); err != nil {
		return nil, err
	}
	project := ""
	if c.Project().Link() != nil {
		project = c.Project().Link().Remote.Project
	}
	checking, cancel := c.Project().Environment().Timeout(c.Context(), remoteFor)
	defer cancel()
	report, err := c.Project().Environment().Engine.Check(checking, c.Project().Environment().Address(url, project, ""))
	if err != nil {
		return nil, remoteFailed(c.Context(), err)
	}
	d := &RemoteCheckResult{Fine: report.Fine(), Report: report}
	if c.Project().Link() != nil && in.URL == "" {
		if _, _, err := c.Store().Head(c.Context()); codes.Has(err, codes.RemoteDiverged) { // what it lacks follows from that
			return d, err
		}
		lines, content, err := ReadRemote(c)
		switch {
		case err != nil && report.OnlySilent(): // too few to read it
			return d, unfit(report)
		case err != nil:
			return nil, err
		}
		d.Log, d.Content, d.Fine = &lines, &content, d.Fine && len(lines.Damaged)+len(content.Damaged) == 0
	}
	switch {
	case !report.Fine():
		return d, unfit(report)
	case d.Fine:
		return d, nil
	case len(d.Log.Damaged) > 0:
		return d, d.Log.Err()
	}
	return d, d.Content.Err()
}

// StoreDoctor checks the store of a call, which reports how far that is.
func StoreDoctor(c *app.Call) doctor.Doctor {
	return doctor.Doctor{Store: c.Store(), Progress: c.ReportCheck}
}

// ReadRemote reads all that the project's log has: only that shows what a disk of the
// servers has damaged. Errors: T402, T510, T512, those of loading.
func ReadRemote(c *app.Call) (lines doctor.LogCheck, content doctor.ContentCheck, err error) {
	if lines, err = StoreDoctor(c).CheckLog(c.Context()); err == nil {
		content, err = StoreDoctor(c).CheckContent(c.Context())
	}
	return lines, content, err
}

// RemoteRestoreRequest makes the project's log anew from this machine's copy.
type RemoteRestoreRequest struct {
	URL         string // of other servers than those of the project, "" for these
	Credentials string // see RemoteInitRequest
}

// Faults returns what is wrong with the request.
func (in RemoteRestoreRequest) Faults(name app.Names) []app.Fault {
	return otherURLFaults(name, in.URL)
}

// RemoteRestoreResult is the log that was made, or left as it was.
type RemoteRestoreResult struct {
	RemoteInitResult
	// Credentials: this machine keeps a copy of these credentials, in place of those that the servers do not accept.
	Credentials bool `json:"credentials,omitempty"`
	// Renewed is how much damaged content was stored again.
	Renewed int `json:"renewed"`
	// Damaged is content that stays damaged, since this machine does not have it.
	Damaged []DamagedContent `json:"damaged"`
}

// RemoteRestore uploads this machine's copy as the log of the same project, whose servers
// have lost it, know less, or have it damaged. A log that is there is never replaced: what it
// lacks is appended where it has the beginning of what this machine knows. A person decides
// that: what only other machines know is lost to those that come after. Damaged content is
// stored again as far as this machine has it. Errors: T402 for anybody else; T106 if the log
// has all that this machine knows, and its content; T512 if it has other operations; T513 if
// it is damaged and goes on behind what this machine has; and as RemoteInit.
func RemoteRestore(c *app.Call, in RemoteRestoreRequest) (*RemoteRestoreResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	l, err := linkOf(c)
	if err != nil {
		return nil, err
	}
	if !c.ByPerson() {
		return nil, codes.PermissionDenied.New(fact.Of("capability", "restoring the project's log")).
			WithHint("A person decides that, on the machine that knows most").WithNext("leslie remote status")
	}
	refused := in.URL == "" && isRefused(c, l)
	l, creds, err := atServers(c, l, in.URL, in.Credentials)
	if err != nil {
		return nil, err
	}
	made, report, err := makeLog(*c.Project().Environment(), c.Context(), l.Remote)
	sealed := errors.Is(err, ledger.ErrSealed) // a restore was interrupted
	if err != nil && !sealed {
		return nil, err
	}
	again, err := discardDamaged(c, sealed)
	if again {
		made, report, err = makeLog(*c.Project().Environment(), c.Context(), l.Remote)
	}
	if err != nil {
		return nil, err
	}
	made.Machine = l.Machine
	c.ReadHere()
	if err := mayRestore(c); err != nil {
		return nil, err
	}
	if in.URL != "" || c.Store().Credentials() == "" || refused { // else a writer's machine would stay an administrator's
		if err := keepCredentials(c.Store(), creds); err != nil {
			return nil, err
		}
	}
	if err := c.Store().Fill(c.Context(), c.LockWait(), made, uploading(c)); err != nil {
		return nil, err
	}
	c.Join(made)
	renewed, err := StoreDoctor(c).RenewContent(c.Context())
	if err != nil {
		return nil, err
	}
	v, err := c.Store().View(c.Context(), func(*thread.State) error { return nil })
	if err != nil {
		return nil, err
	}
	left, err := StoreDoctor(c).CheckContent(c.Context())
	if err == nil && renewed > 0 {
		err = storesContent(c, made)
	}
	return &RemoteRestoreResult{
		Credentials: refused && creds != nil,
		RemoteInitResult: RemoteInitResult{
			Project: l.Remote.Project, URL: connectURL(l.Remote), Replicas: report.Replicas, Operations: int(v.Revision), Change: app.Change{Changed: true},
		},
		Renewed: renewed, Damaged: left.Damaged,
	}, err
}

// storesContent stores a few bytes, to see that the servers take content once more: what a disk has damaged may keep them
// from it. Errors: T510, those of the log.
func storesContent(c *app.Call, l *replica.Link) error {
	mark := []byte("content was stored again at " + c.Now().Format(time.RFC3339Nano))
	err := l.Ledger.PutBlob(c.Context(), replica.Sum(mark), mark)
	if err == nil || !errors.Is(err, ledger.ErrUnreachable) || c.Context().Err() != nil {
		return replica.Error(c.Context(), err, "")
	}
	return codes.RemoteUnreachable.Wrap(err, fact.Of("changed", true),
		fact.Of("reason", "what was damaged is stored again, and the servers store nothing else: the damage on their disks keeps them from it")).
		WithHint("Stop all servers, move the folder jetstream in the store_dir of each away, start them, and run leslie remote restore " +
			"--creds FILE here again, then leslie publish ID on machines that have content which this one lacks").
		WithNext("leslie remote status")
}

// isRefused reports whether the servers do not accept the credentials that this machine has: they were made anew.
func isRefused(c *app.Call, l *replica.Link) bool {
	asking, cancel := c.Project().Environment().Timeout(c.Context(), replica.AskFor)
	defer cancel()
	_, err := l.Ledger.Head(asking)
	return errors.As(err, new(*ledger.LoginError))
}

// mayRestore brings what the log has behind this machine's copy here, and refuses a log that
// has nothing to be restored: it knows all that this machine knows, or something else, and
// its content is whole. Errors: T106, T512, T513, those of the log.
func mayRestore(c *app.Call) error {
	_, refreshed := c.Store().Refresh(c.Context(), nil)
	v, err := c.Store().View(c.Context(), func(*thread.State) error { return nil })
	if err != nil {
		return err
	}
	head, _, err := c.Store().Head(c.Context())
	switch {
	case codes.Has(err, codes.RemoteDiverged) && head < v.Revision:
		return nil // none, or one that ends too early
	case err != nil:
		return err
	case head > v.Revision:
		return cmp.Or(refreshed, replica.Parted(fmt.Sprintf("it has %d operations, and this machine knows %d", head, v.Revision)))
	}
	content, err := StoreDoctor(c).CheckContent(c.Context())
	if err != nil || len(content.Damaged) > 0 {
		return err
	}
	return codes.AlreadyExists.New(fact.Of("id", c.Project().Link().Remote.Project)).
		WithHint(fmt.Sprintf("The log is there, with all %d operations that this machine knows and their content: there is nothing to restore", v.Revision)).
		WithNext("leslie remote status")
}

// discardDamaged discards a log of which lines cannot be read, or that is sealed: servers
// replace no line. This machine must have all that it has, with what others append until it
// is sealed. Interrupted behind that, the log is one that takes no operation, or that the
// servers have lost, and restoring it goes on. Errors: T513, those of makeLog.
func discardDamaged(c *app.Call, sealed bool) (discarded bool, err error) {
	found, err := StoreDoctor(c).CheckLog(c.Context())
	if err != nil || len(found.Damaged) == 0 && !sealed {
		return false, err
	}
	if err := knowsAll(c, found.Lines); err != nil {
		return false, err
	}
	remote := c.Project().Link().Remote
	at := c.Project().Environment().Address(remote.URL, remote.Project, "")
	making, cancel := c.Project().Environment().Timeout(c.Context(), remoteFor)
	defer cancel()
	last, err := c.Project().Environment().Engine.Seal(making, at)
	if err != nil {
		return false, remoteFailed(c.Context(), err)
	}
	if err := knowsAll(c, last); err != nil {
		return false, err
	}
	if err := c.Project().Environment().Engine.Discard(making, at); err != nil {
		return false, remoteFailed(c.Context(), err)
	}
	return true, nil
}

// knowsAll refuses a machine that does not have all operations up to a place of the log,
// after it has read what can be read. Errors: T513.
func knowsAll(c *app.Call, last int64) error {
	_, _ = c.Store().Refresh(c.Context(), nil)
	v, err := c.Store().View(c.Context(), func(*thread.State) error { return nil })
	if err != nil || last <= int64(v.Revision) {
		return err
	}
	has, knows := strconv.FormatInt(last, 10), strconv.Itoa(int(v.Revision))
	return codes.RemoteDamaged.New(fact.Of("reason", "it has "+has+" operations, and this machine knows "+knows)).
		WithHint("Restore it on a machine that knows all; leslie remote status shows what each knows")
}

// PublishRequest takes the files and commits of threads to the other machines.
type PublishRequest struct {
	Thread string // "": all threads whose files or commits have changed here
}

// PublishResult is what was published.
type PublishResult struct {
	Threads []PublishedThread `json:"threads"`
	// NotSent: commits that the other machines lack stay here, as W815 says, or because code.travel is off.
	NotSent bool `json:"notSent,omitempty"`
	// TravelOff: code.travel is off.
	TravelOff bool `json:"travelOff,omitempty"`
	// Left has the threads that cannot be published, with the reason.
	Left []LeftThread `json:"left,omitempty"`
	app.Change
}

// PublishedThread is one thread whose files or commits were published.
type PublishedThread struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Files    int             `json:"files"`
	// FilesChanged is how many of these the other machines lacked, or had otherwise, and FilesDeleted how many went.
	FilesChanged int `json:"filesChanged"`
	FilesDeleted int `json:"filesDeleted,omitempty"`
	// Commit is the newest of its branch, if that was published.
	Commit string `json:"commit,omitempty"`
	// Uncommitted is how many files of its worktree stay, because they are not committed.
	Uncommitted int `json:"uncommitted,omitempty"`
}

// LeftThread is a thread that cannot be published.
type LeftThread struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Code     codes.Code      `json:"code"`
	Reason   string          `json:"reason"`
}

// Publish takes the files and commits of a thread, or of all, to the other machines as they are here.
// Errors: T101, T105, T402, T510, T903 if the project has no log; those of a write; with the result that of
// the first of several threads that cannot be published, while the others are.
func Publish(c *app.Call, in PublishRequest) (*PublishResult, error) {
	if c.Project().Link() == nil {
		return nil, notLinked(c, "the project is on this machine alone, and its files are in place")
	}
	travel, err := c.Travel()
	if err != nil {
		return nil, err
	}
	var ids []thread.ThreadID
	if _, err := c.View(func(s *thread.State) error {
		if in.Thread != "" {
			t, err := s.Thread(in.Thread)
			c.SetTarget(t.ID)
			ids = append(ids, t.ID)
			return err
		}
		for t := range s.Threads.All() {
			ids = append(ids, t.ID)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	d := &PublishResult{Threads: []PublishedThread{}}
	err = d.publish(c, ids...)
	if len(ids) > 1 && isDamage(err) { // of one of them, which keeps none of the others
		err = d.publishEach(c, ids)
	}
	for _, w := range c.Warnings() {
		d.NotSent = d.NotSent || w.Code == warnings.CommitsNotSent
	}
	d.TravelOff = travel == app.TravelOff
	d.NotSent = d.NotSent || d.TravelOff
	slices.SortFunc(d.Threads, func(a, b PublishedThread) int { return strings.Compare(string(a.ThreadID), string(b.ThreadID)) })
	if err != nil && len(d.Left) == 0 {
		return nil, err
	}
	return d, err
}

// isDamage reports whether an error is about what one thread has: its folder, or a file in it or named by it.
func isDamage(err error) bool {
	return slices.ContainsFunc([]codes.Code{codes.TargetCorrupted, codes.WriteFailed, codes.UnsafePath, codes.TooLarge, codes.ReadFailed, codes.RemoteDamaged},
		func(code codes.Code) bool { return codes.Has(err, code) })
}

// publishEach publishes threads in an operation each. The error is that of the first that cannot be.
func (d *PublishResult) publishEach(c *app.Call, ids []thread.ThreadID) (first error) {
	for _, id := range ids {
		one := c.ForCommand("publish")
		err := d.publish(one, id)
		c.Include(one)
		switch {
		case isDamage(err):
			e := codes.Of(err)
			d.Left = append(d.Left, LeftThread{id, e.Code(), codes.Reason(e)})
			if first == nil {
				first = e
			}
		case err != nil:
			return err
		}
	}
	return first
}

// published is what the other machines have of a thread.
type published struct {
	files, commit string
	at            time.Time // when the commits were sent
	uncommitted   int
	held          bool // its newest commits could not be sent
}

func publishedOf(c *app.Call, t thread.Thread) (p published) {
	if t.Published != nil {
		p.files = string(t.Published.Manifest)
	}
	if code := t.OwnedCode(); code != nil {
		for _, sent := range code.AllSent() {
			if sent.Machine == c.Project().Machine() {
				p.commit, p.at, p.uncommitted, p.held = sent.Tip, sent.At, sent.Uncommitted, sent.Held != ""
			}
		}
	}
	return p
}

// publish publishes threads in one operation.
func (d *PublishResult) publish(c *app.Call, ids ...thread.ThreadID) error {
	var before map[thread.ThreadID]published
	call := c.StoreCall()
	call.Whole = c.Target() != "" // somebody asks for this thread
	commit, err := c.Update(call, func(s *thread.State) (store.Outcome, error) {
		s.HandOn(ids...)
		before = map[thread.ThreadID]published{}
		for _, id := range ids {
			t, _ := s.Threads.Peek(string(id))
			before[id] = publishedOf(c, t)
		}
		return store.Outcome{Thread: c.Target()}, nil
	})
	if err != nil {
		return err
	}
	c.Wrote(commit)
	d.Changed = d.Changed || commit.Changed
	_, err = c.View(func(s *thread.State) error {
		for _, id := range ids {
			t, _ := s.Threads.Peek(string(id))
			now, was := publishedOf(c, t), before[id]
			commits := !now.held && (!now.at.Equal(was.at) || now.commit != was.commit || now.uncommitted != was.uncommitted)
			if now.files == was.files && !commits {
				continue
			}
			one := PublishedThread{ThreadID: id}
			if t.Published != nil {
				one.Files = t.Published.Files
				one.FilesChanged, one.FilesDeleted = differ(c, was.files, now.files)
			}
			if commits {
				one.Uncommitted = now.uncommitted
			}
			if commits && (now.commit != was.commit || now.uncommitted == was.uncommitted) { // or sent again
				one.Commit = now.commit
			}
			d.Threads = append(d.Threads, one)
		}
		return nil
	})
	return err
}

// differ counts the files of a list that are not in the one before it, or otherwise, and those that went. A list that
// cannot be read has none.
func differ(c *app.Call, before, after string) (changed, deleted int) {
	var was, now store.Manifest
	if before != "" {
		was, _ = c.Store().Manifest(thread.BlobID(before))
	}
	if after != "" {
		now, _ = c.Store().Manifest(thread.BlobID(after))
	}
	for _, f := range now {
		if w, _ := was.Find(f.Path); w.SHA256 != f.SHA256 || w.Executable != f.Executable {
			changed++
		}
	}
	for _, f := range was {
		if _, there := now.Find(f.Path); !there {
			deleted++
		}
	}
	return changed, deleted
}

// CredentialsFile is where a user's credentials for remotes are, if nothing else is said:
// beside the user's configuration, or in ~/.leslie; "" if there are none.
func CredentialsFile(home, config string) string {
	var folders []string
	if config != "" {
		folders = append(folders, filepath.Dir(config))
	}
	if home != "" {
		folders = append(folders, filepath.Join(home, store.Dir))
	}
	for _, folder := range slices.Compact(folders) {
		if name := filepath.Join(folder, "remote.creds"); app.Exists(name) {
			return name
		}
	}
	return ""
}
