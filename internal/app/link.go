package app

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/store"
	"leslie/store/replica"
	"leslie/thread"
	"leslie/warnings"
)

// This file connects use cases with the log of a project on several machines. Each call
// first brings this machine's copy up to date; the files of threads come before somebody
// reads them, and go along with the operations that hand work on.

// connect prepares the connection to the project's log, if it has one. Credentials are those that the
// environment names, else those that the project keeps here, else the user's. Nobody is asked yet.
// Errors: T502, T509; T903 for an address or credentials that cannot be used.
func (p *Project) connect() error {
	remote, err := replica.Read(p.root)
	if remote == nil || err != nil || p.env.Engine == nil {
		return err
	}
	st := store.Open(p.root, store.Options{})
	machine, err := st.Machine()
	if err != nil {
		return err
	}
	if own := st.Credentials(); own != "" && !p.env.NamedCredentials {
		p.env.Credentials = own
	}
	p.link, err = p.env.Link(*remote, machine)
	return err
}

// Link is a connection to a log.
func (e Environment) Link(remote replica.Remote, machine string) (*replica.Link, error) {
	l := &replica.Link{Remote: remote, Machine: machine, Offline: e.Offline}
	at := e.Address(remote.URL, remote.Project, machine)
	at.Gap = l.NoteGap
	var err error
	l.Ledger, err = e.Engine.Open(at)
	return l, Unusable(err)
}

// Address is where a log is, and who asks.
func (e Environment) Address(url, project, name string) ledger.Address {
	return ledger.Address{URLs: ServersOf(url), Project: project, Credentials: e.Credentials, Name: name}
}

// ServersOf are the servers of a URL: those behind the first have its scheme if they have
// none.
func ServersOf(url string) []string {
	urls := strings.Split(url, ",")
	scheme, _, ok := strings.Cut(urls[0], "://")
	for i, u := range urls {
		if ok && !strings.Contains(u, "://") {
			urls[i] = scheme + "://" + u
		}
	}
	return urls
}

// Unusable is T903 for an address, or for credentials, that cannot be used.
func Unusable(err error) error {
	if err == nil || codes.Of(err) != nil {
		return err
	}
	return codes.InvalidArgument.Wrap(err, fact.Of("reason", "The remote cannot be used: "+err.Error())).
		WithHint("Correct the address, or the file of credentials that --creds or LESLIE_REMOTE_CREDS names").WithNext("leslie help remote")
}

// mayWriteFor is how long MayWrite waits for the log's engine: an election may be on.
const mayWriteFor = 20 * time.Second

// MayWrite asks the project's log whether it would take an operation of the caller, for a call that changes branches
// or worktrees before it records that. Errors: T402, T510, T904.
func (c *Call) MayWrite() error {
	l := c.project.link
	if l == nil {
		return nil
	}
	if l.Offline {
		return replica.Error(c.ctx, replica.Offline{}, "")
	}
	asking, cancel := c.project.env.Timeout(c.ctx, mayWriteFor)
	defer cancel()
	may, err := l.Ledger.MayAppend(asking)
	if err == nil && !may {
		err = ledger.ErrDenied
	}
	return replica.Error(c.ctx, err, "")
}

// askLog learns what time it is at the log, and where it ends, once for each call. What writes
// needs no more: Store.Update reads what is new. Errors: T402, T510, T904.
func (c *Call) askLog() (err error) {
	if c.project.link == nil || c.asked || c.draft != nil {
		return nil
	}
	c.asked = true
	c.logEnd, err = c.store.Ask(c.ctx)
	return err
}

// Refresh brings this machine's copy up to date, once for each call: unless somebody
// follows the log. Whatever looks at the store before it writes calls it. Errors: T402, T512,
// T904.
func (c *Call) Refresh() error {
	if c.project.link == nil || c.refreshed || c.draft != nil {
		return nil
	}
	c.asked, c.refreshed = true, true
	notes, err := c.store.Refresh(c.ctx, c.logEnd)
	c.storeWarnings.Add(notes...)
	return err
}

// Fetch brings the files of these threads here that other machines have published. What
// only reads goes on with what is here if that fails. Errors: those of Store.Fetch.
func (c *Call) Fetch(ids ...thread.ThreadID) error {
	if c.project.link == nil || c.draft != nil {
		return nil
	}
	if err := c.Refresh(); err != nil {
		return err
	}
	notes, err := c.store.Fetch(c.ctx, c.LockWait(), ids...)
	c.storeWarnings.Add(notes...)
	if err != nil && c.request.ReadOnly && c.ctx.Err() == nil && !codes.Has(err, codes.RemoteDiverged) && !codes.Has(err, codes.RemoteDamaged) {
		if codes.Has(err, codes.RemoteUnreachable) && !c.StoreWarned(warnings.CacheOld) {
			c.storeWarnings.Add(warnings.CacheOld.New(fact.Of("reason", codes.Reason(err)), fact.Of("age", "some time"), fact.Of("revision", c.revision)))
		}
		return nil
	}
	return err
}

// answeredByLog drops W508 of a call that wrote, or was refused, with the log's word after
// all: what it says is not old.
func (c *Call) answeredByLog() {
	if c.project.link != nil {
		c.storeWarnings = slices.DeleteFunc(c.storeWarnings, func(w warnings.Warning) bool { return w.Code == warnings.CacheOld })
	}
}

// StoreWarned reports whether the store has given a warning.
func (c *Call) StoreWarned(code warnings.Code) bool {
	return slices.ContainsFunc(c.storeWarnings, func(w warnings.Warning) bool { return w.Code == code })
}

// clock is the time of what is recorded: in a project on several machines that of its
// log's engine.
func clock(c *Call) time.Time { return c.project.env.Now().Add(c.project.link.Skew()) }

// mostHost is how many bytes of a host's name are in the name of a machine, randomPart how many random ones are behind
// it, as NewID makes them.
const (
	mostHost   = 24
	randomPart = 8
)

// NewMachine is a new name for this machine's copy of a project: the host's, and something random.
func (e Environment) NewMachine() string {
	host := ""
	if e.Host != nil {
		host, _, _ = strings.Cut(strings.ToLower(e.Host()), ".")
	}
	host = strings.Map(func(r rune) rune {
		if notInMachine(r) {
			return -1
		}
		return r
	}, host)
	if host == "" {
		host = "machine"
	}
	return e.NewID(host[:min(len(host), mostHost)] + "-")
}

// HostOf is the host in the name of a machine, "" for what is not named as NewMachine names machines.
func HostOf(machine string) string {
	at := strings.LastIndexByte(machine, '-')
	if at < 1 || at > mostHost || len(machine)-at-1 != randomPart || strings.ContainsFunc(machine, notInMachine) {
		return ""
	}
	return machine[:at]
}

func notInMachine(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }

// NameHere is the name of an actor on this machine: in a project on several machines two of
// one name are two actors, so a name there ends with its machine ("kim@laptop-a1b2c3d4"). What
// leslie does itself, and the runs of threads, which are recorded with their machine, keep
// their names.
func (p *Project) NameHere(actor string) string {
	if p.Machine() == "" || actor == "" || actor == SystemActor || thread.IsRunHolder(actor) || p.IsHere(actor) {
		return actor
	}
	return actor + "@" + p.Machine()
}

// NameOf is the name of an actor whom somebody on this machine names: with its machine, if that is
// said ("kim@tower-k3v7q2ma"), else on this one.
func (p *Project) NameOf(actor string) string {
	_, machine, _ := strings.Cut(actor, "@")
	if HostOf(machine) != "" {
		return actor
	}
	return p.NameHere(actor)
}

// IsHere reports whether somebody is on this machine, of a project on several.
func (p *Project) IsHere(actor string) bool {
	return p.Machine() != "" && strings.HasSuffix(actor, "@"+p.Machine())
}

// NoMachine is what an actor's name has in the place of a machine's, in a project on several machines, if no
// machine is named so and it is no address (ann@example.org); "" for none.
func (p *Project) NoMachine(actor string) string {
	_, machine, _ := strings.Cut(actor, "@")
	if p.Machine() == "" || p.NameOf(actor) == actor || strings.Contains(machine, ".") {
		return ""
	}
	return machine
}

// Machine is a machine that has written in a project on several.
type Machine struct {
	Name string          `json:"name"`
	Own  bool            `json:"own"`
	Last time.Time       `json:"last"` // its newest operation
	Seq  thread.Revision `json:"seq"`
}

// machinesOf is how many of the last operations are looked at for machines.
const machinesOf = 1000

// Machines returns the machines that made the last operations of a project on several machines, the latest first.
// Errors: those of reading.
func (c *Call) Machines() ([]Machine, error) {
	all := []Machine{}
	h, err := c.store.History(c.ctx, store.HistoryQuery{Limit: machinesOf})
	for _, op := range h.Operations {
		name := cmp.Or(op.Machine, c.project.Machine()) // before the project had a log, which this machine filled
		if !slices.ContainsFunc(all, func(m Machine) bool { return m.Name == name }) {
			all = append(all, Machine{Name: name, Own: name == c.project.Machine(), Last: op.Time, Seq: op.Seq})
		}
	}
	return all, err
}

// LeavesProject is why a machine that leaves the project releases what is held there.
const LeavesProject = "its machine leaves the project"

// LeavingBegan returns the threads that somebody here held until leslie remote leave began on this machine, and was
// killed: nobody has claimed them since.
func (c *Call) LeavingBegan(s *thread.State) (ids []thread.ThreadID) {
	if c.project.link == nil || !c.store.Leaving() {
		return nil
	}
	for t := range s.Threads.All() {
		if t.Claim != nil || t.Status.Terminated() || len(t.Handed) == 0 {
			continue
		}
		if last := t.Handed[0]; last.Reason == LeavesProject && c.project.IsHere(last.From) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// WarnUncommittedHere adds W817 if a thread that this machine has handed on has files here that are not committed.
func (c *Call) WarnUncommittedHere(id thread.ThreadID) {
	_, _ = c.View(func(s *thread.State) error {
		t, err := s.Thread(string(id))
		if err != nil || t.OwnedCode() == nil {
			return err
		}
		if sent := t.OwnedCode().Sent; sent != nil && sent.Machine == c.project.Machine() && sent.Uncommitted > 0 {
			c.Warn(sent.NotCommitted(id))
		}
		return nil
	})
}

// Machine is the name of this machine's copy of the project, "" if it is on one machine.
func (p *Project) Machine() string {
	if p.link == nil {
		return ""
	}
	return p.link.Machine
}
