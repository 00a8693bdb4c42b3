package projects

import (
	"bytes"
	"cmp"
	"os"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/store/replica"
	"leslie/thread"
	"leslie/warnings"
)

// This file lets a machine leave a project on several machines, or find its servers at another address.

// RemoteLeaveRequest makes a copy a store of its own.
type RemoteLeaveRequest struct{}

// RemoteLeaveResult is what the copy was of.
type RemoteLeaveResult struct {
	Project string `json:"project"`
	URL     string `json:"url"`
	// Return is the line with which the machine comes back.
	Return string `json:"return,omitempty"`
	// Old: nobody answered, so operations of others since Revision are not here.
	Old      bool            `json:"old,omitempty"`
	Revision thread.Revision `json:"revision"`
	// Missing has the threads whose published artifacts are not all here, Elsewhere those whose
	// worktrees are on other machines: leslie code setup makes one of what is here of them. Lacking says what
	// other content is not here.
	Missing []thread.ThreadID `json:"missing,omitempty"`
	Lacking []string          `json:"lacking,omitempty"`
	// Released has the threads that somebody on this machine held, and that the others can claim now; Held those whose
	// claims go on, to the others, until they expire.
	Released  []thread.ThreadID `json:"released,omitempty"`
	Held      []thread.ThreadID `json:"held,omitempty"`
	Elsewhere []thread.ThreadID `json:"elsewhere,omitempty"`
	app.Change
}

// RemoteLeave releases what somebody on this machine holds, if the servers answer, and brings all content and
// commits here, as far as they can be had. Then it makes the copy a store of its own, which the other machines do not
// see any more. Errors: T501, T505.
func RemoteLeave(c *app.Call, _ RemoteLeaveRequest) (*RemoteLeaveResult, error) {
	l := c.Project().Link()
	if l == nil {
		return &RemoteLeaveResult{}, nil
	}
	url := connectURL(l.Remote)
	d := &RemoteLeaveResult{
		Project: l.Remote.Project, URL: url, Return: returnLine(url, l.Machine, c.Store().Credentials() != ""),
		Change: app.Change{Changed: true},
	}
	var ids []thread.ThreadID
	var owners []thread.Thread
	v, err := c.View(func(s *thread.State) error {
		ids, owners, d.Elsewhere, d.Held, d.Released = nil, s.ThreadsWithCode(), nil, nil, c.LeavingBegan(s)
		for t := range s.Threads.All() {
			ids = append(ids, t.ID)
			if held := t.Held(c.Now()); held != nil && c.Project().IsHere(held.Holder) {
				d.Held = append(d.Held, t.ID)
			}
		}
		for _, t := range owners {
			if t.OwnedCode().State == thread.CodeElsewhere {
				d.Elsewhere = append(d.Elsewhere, t.ID)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.Old, d.Revision = c.StoreWarned(warnings.CacheOld), v.Revision
	if !d.Old && len(d.Held) > 0 {
		if err := c.Store().BeginLeave(); err != nil {
			return nil, err
		}
		d.giveBack(c)
	}
	for _, id := range ids {
		if err := c.Fetch(id); err != nil && (c.Context().Err() != nil || !notHere(err)) {
			return nil, err
		} else if err != nil {
			d.Missing = append(d.Missing, id)
		}
	}
	lacking, err := StoreDoctor(c).BringContent(c.Context(), !d.Old)
	if err != nil && (c.Context().Err() != nil || !notHere(err)) {
		return nil, err
	}
	d.Lacking = namesOf(lacking.Damaged)
	code.BringCommits(c, owners)
	if err := c.Store().Leave(c.Context(), c.LockWait()); err != nil {
		return nil, err
	}
	c.Leave()
	call := c.StoreCall()
	commit, err := c.Update(call, func(s *thread.State) (store.Outcome, error) {
		s.Alone(l.Machine)
		s.NameHolders(func(name string) string { return strings.TrimSuffix(name, "@"+l.Machine) })
		return store.Outcome{}, nil
	})
	if err != nil {
		return nil, err
	}
	c.Wrote(commit)
	return d, nil
}

// giveBack releases what is held, with what is to be handed on of it. What cannot be released stays held: a machine
// leaves all the same.
func (d *RemoteLeaveResult) giveBack(c *app.Call) {
	var released, held []thread.ThreadID
	commit, err := c.Update(c.StoreCall(), func(s *thread.State) (store.Outcome, error) {
		released, held = nil, nil
		for _, id := range d.Held {
			if _, err := s.Release(string(id), app.LeavesProject, c.Stamp()); err != nil {
				held = append(held, id)
			} else {
				released = append(released, id)
			}
		}
		return store.Outcome{}, nil
	})
	if err == nil {
		d.Released, d.Held, d.Revision = append(d.Released, released...), held, commit.Revision
		c.GoOn()
		for _, id := range released {
			c.WarnUncommittedHere(id)
		}
	}
}

// returnLine is the line with which a machine that has left comes back, and keeps what it did alone.
func returnLine(url, machine string, creds bool) string {
	line := "leslie connect " + url + " --machine " + machine
	if creds {
		line += " --creds FILE"
	}
	return line
}

// wayBack is returnLine for the store of a call that has left a project; "" for another one.
func wayBack(c *app.Call) string {
	if was, _ := c.Store().Machine(); was != "" && c.Project().Link() == nil {
		url := "URL"
		if left := c.Store().Left(); left != nil {
			url = connectURL(*left)
		}
		return returnLine(url, was, true)
	}
	return ""
}

// comeBack makes the store of a machine that has left a project a copy of its log again, and keeps what was done
// there alone beside it. Errors: as Connect.
func comeBack(c *app.Call, link *replica.Link, in ConnectRequest, creds []byte) (*app.Call, *ConnectResult, error) {
	if !c.ByPerson() {
		return nil, nil, codes.PermissionDenied.New(fact.Of("capability", "taking a project back to its servers")).
			WithHint("A person decides that").WithNext("leslie help connect")
	}
	if err := noRunHere(c); err != nil {
		return nil, nil, err
	}
	d, err := replaceCopy(c, app.KeptOwn, link, in, creds)
	if d == nil {
		return nil, nil, err
	}
	return c, d, err
}

// beyondLog returns the operations of a store that was kept which the log lacks, the newest first, and the revision up to
// which both are the same.
func beyondLog(c *app.Call, kept *store.Store) (beyond []thread.Operation, common thread.Revision, err error) {
	log, err := c.Store().History(c.Context(), store.HistoryQuery{})
	if err != nil {
		return nil, 0, err
	}
	has := map[thread.OperationID]bool{}
	for _, op := range log.Operations {
		has[op.ID], has[op.Continues] = true, true // a history lists only the last of those that are one
	}
	h, err := kept.History(c.Context(), store.HistoryQuery{})
	for _, op := range h.Operations {
		if has[op.ID] {
			common = op.Seq
			break
		}
		beyond = append(beyond, op)
	}
	return beyond, common, err
}

// notHere reports whether an error says that content could not be had.
func notHere(err error) bool {
	return codes.Has(err, codes.RemoteUnreachable) || codes.Has(err, codes.RemoteDamaged) || codes.Has(err, codes.ReadFailed) ||
		codes.Has(err, codes.PermissionDenied) || codes.Has(err, codes.RemoteDiverged)
}

// linkOf returns the connection of a project that has a log. Errors: T903 for one that has none.
func linkOf(c *app.Call) (*replica.Link, error) {
	if l := c.Project().Link(); l != nil {
		return l, nil
	}
	return nil, notLinked(c, "the project has no remote")
}

// notLinked is T903 for a project that has no log, with the line that makes one, or comes back to one.
func notLinked(c *app.Call, reason string) error {
	hint := "leslie remote init URL makes it one of several machines"
	if back := wayBack(c); back != "" {
		hint = "This machine has left a project, and comes back with: " + back
	}
	return codes.InvalidArgument.New(fact.Of("reason", reason)).WithHint(hint).WithNext("leslie help remote")
}

// atServers lets a call go on with the credentials in a file, "" for those that it has, and with the servers at another
// address, "" for those of the link. It returns the link to them, and the credentials. Errors: T509, T903.
func atServers(c *app.Call, l *replica.Link, url, file string) (*replica.Link, []byte, error) {
	creds, err := useCredentials(c, file)
	if err == nil && (url != "" || creds != nil) {
		l, err = elsewhere(c, l, cmp.Or(url, connectURL(l.Remote)))
	}
	return l, creds, err
}

// elsewhere lets a call go on with servers at another address, and returns the link to them.
func elsewhere(c *app.Call, was *replica.Link, url string) (*replica.Link, error) {
	remote, named := splitURL(url)
	if !named {
		remote = replica.Remote{URL: strings.Join(app.ServersOf(strings.TrimSuffix(url, "/")), ","), Project: was.Remote.Project}
	}
	if remote.Project != was.Remote.Project {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "this is a copy of "+was.Remote.Project+", and not of "+remote.Project)).WithNext("leslie remote status")
	}
	to, err := c.Project().Environment().Link(remote, was.Machine)
	if err == nil {
		c.ReadHere()
		c.Join(to)
		c.SetChanged(false)
	}
	return to, err
}

// RemoteMoveRequest says where the servers of the project are now.
type RemoteMoveRequest struct {
	URL         string // of one server or several, separated by commas; the project's id may follow
	Credentials string // see RemoteInitRequest
}

// Faults returns what is wrong with the request.
func (in RemoteMoveRequest) Faults(name app.Names) []app.Fault { return urlFaults(name, in.URL) }

// RemoteMoveResult is where the log is.
type RemoteMoveResult struct {
	Project string `json:"project"`
	URL     string `json:"url"`
	Was     string `json:"was"`
	// Credentials: this machine keeps a copy of other credentials than before.
	Credentials bool `json:"credentials,omitempty"`
	app.Change
}

// RemoteMove records that the servers of the project have another address, if the project's log is
// there, and has all that this machine knows. Errors: T402, T510, T512, T903, T505.
func RemoteMove(c *app.Call, in RemoteMoveRequest) (*RemoteMoveResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	l, err := linkOf(c)
	if err != nil {
		return nil, err
	}
	to, creds, err := atServers(c, l, in.URL, in.Credentials)
	if err != nil {
		return nil, err
	}
	d := &RemoteMoveResult{Project: to.Remote.Project, URL: connectURL(to.Remote), Was: connectURL(l.Remote)}
	asking, cancel := c.Project().Environment().Timeout(c.Context(), remoteFor)
	defer cancel()
	if _, err := to.Ledger.Head(asking); err != nil {
		return nil, remoteFailed(c.Context(), err)
	}
	if _, _, err := c.Store().Head(c.Context()); err != nil {
		if shared, failed := c.Store().Shared(c.Context()); failed == nil && shared.Common < min(shared.Own, shared.Log) {
			rejoin := "leslie remote rejoin " + d.URL
			if in.Credentials != "" {
				rejoin += " --creds " + external.Word(in.Credentials)
			}
			return nil, codes.Of(err).WithHint("The log there went on without what only this machine has: " + rejoin +
				" keeps that beside the project, and makes a new copy of that log").WithNext(rejoin + " --dry-run")
		}
		return nil, err
	}
	if d.Changed = to.Remote != l.Remote; d.Changed {
		err = c.Store().Connect(c.Context(), c.LockWait(), to)
	}
	if kept := c.Store().Credentials(); err == nil && creds != nil {
		if was, failed := os.ReadFile(kept); failed != nil || !bytes.Equal(was, creds) {
			d.Credentials, d.Changed = true, true
			err = keepCredentials(c.Store(), creds)
		}
	}
	c.SetChanged(d.Changed)
	return d, err
}
