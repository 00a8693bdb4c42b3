package projects

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/store/replica"
	"leslie/thread"
)

// This file makes a copy whose history parted from the log's a copy of the log again.

// RemoteRejoinRequest takes this machine back to the project's log.
type RemoteRejoinRequest struct {
	URL         string // where the log is now, "" for where it was
	Credentials string // see RemoteInitRequest
	DryRun      bool   // only say what the log lacks
}

// Faults returns what is wrong with the request.
func (in RemoteRejoinRequest) Faults(name app.Names) []app.Fault { return otherURLFaults(name, in.URL) }

// RemoteRejoinResult is what only this machine has, and where it is now.
type RemoteRejoinResult struct {
	Project string `json:"project"`
	URL     string `json:"url"`
	Machine string `json:"machine"`
	// Revision is the newest that this machine knows of the log, Common the last that both histories have.
	Revision thread.Revision `json:"revision"`
	Common   thread.Revision `json:"common"`
	// Operations are those of this copy that the log lacks, oldest first; Threads those threads.
	Operations []app.OperationRecord `json:"operations"`
	Threads    []PartedThread        `json:"threads"`
	// Again is ConnectResult.Again.
	Again []thread.OperationID `json:"again,omitempty"`
	// Notes are files of threads that the log has otherwise, or not at all.
	Notes []KeptNotes `json:"notes,omitempty"`
	// Renewed is how much content the log had lost, and has again from this machine.
	Renewed int `json:"renewed,omitempty"`
	// Kept is the folder that has the copy as it was, "" in a dry run.
	Kept string `json:"kept,omitempty"`
	app.Change
}

// PartedThread is a thread that the log lacks, has another of its id, or has without its landing. Its worktree stays
// where it is, and its branch, but for its name where the log's other thread has that.
type PartedThread struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Title    string          `json:"title"`
	// ObjectiveID is the objective that it was of, if the log has that.
	ObjectiveID thread.ObjectiveID `json:"objectiveId,omitempty"`
	Branch      string             `json:"branch,omitempty"` // if it is there
	// Renamed is the name that Branch had until now; "" if it has the same.
	Renamed  string `json:"renamed,omitempty"`
	Worktree string `json:"worktree,omitempty"` // if it is there
	// LandedOn is where its code had landed; "" if it had not.
	LandedOn string `json:"landedOn,omitempty"`
	// Other: the log has another thread of that id.
	Other bool `json:"other,omitempty"`
	// Tip, of a thread that the log has without its landing, is the commit of it that landed; "" for another one.
	Tip string `json:"tip,omitempty"`
	// BranchGone is the name of its branch, if that is not there.
	BranchGone string `json:"branchGone,omitempty"`
	// GoesOn: of a thread with a Tip, the log has commits that did not land with it, or somebody has claimed it.
	GoesOn bool `json:"goesOn,omitempty"`
}

// KeptNotes are files of a thread in a store that was kept, which are not as the log has them.
type KeptNotes struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Paths    []string        `json:"paths"`
}

// RemoteRejoin moves a copy that has operations which the log lacks, and lacks some that the log has, into
// a folder beside it, and makes a new copy of the log in its place, under the name that this machine has
// there. Nothing is deleted. Killed before that, it changed nothing, but for a folder that begins with
// .leslie-parted. Errors: T402 for an agent; T106 if the log has all that this machine knows; T512 if it has
// nothing else, and leslie remote restore keeps all; T108 while an agent runs here; T505, T510, T903.
func RemoteRejoin(c *app.Call, in RemoteRejoinRequest) (*RemoteRejoinResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	l, err := linkOf(c)
	if err != nil {
		return nil, err
	}
	if !in.DryRun && !c.ByPerson() {
		return nil, codes.PermissionDenied.New(fact.Of("capability", "giving up what only this machine has")).
			WithHint("A person decides that: --dry-run shows what the log lacks").WithNext("leslie remote rejoin --dry-run")
	}
	l, creds, err := atServers(c, l, in.URL, in.Credentials)
	if err != nil {
		return nil, err
	}
	c.ReadHere()
	d := &RemoteRejoinResult{
		Project: l.Remote.Project, URL: connectURL(l.Remote), Machine: l.Machine,
		Threads: []PartedThread{}, Operations: []app.OperationRecord{},
	}
	if err := d.compare(c); codes.Has(err, codes.AlreadyExists) && !in.DryRun {
		killed, failed := finishReplacing(c, app.KeptParted) // which a call before did not end
		if killed == nil {
			return nil, cmp.Or(failed, err)
		}
		d.Common = killed.common
		return d.took(killed), failed
	} else if err != nil {
		return nil, err
	}
	if in.DryRun {
		c.ReadOnly()
		return d, nil
	}
	if err := noRunHere(c); err != nil {
		return nil, err
	}
	return d, d.exchange(c, l, creds)
}

// compare finds where the histories part, and what the log lacks. Errors: T106, T512, those of the log.
func (d *RemoteRejoinResult) compare(c *app.Call) error {
	shared, err := c.Store().Shared(c.Context())
	if err != nil {
		return err
	}
	d.Revision, d.Common = shared.Log, shared.Common
	switch d.Common {
	case shared.Own:
		return codes.AlreadyExists.New(fact.Of("id", d.Project)).
			WithHint("The log has all that this machine knows: there is nothing to rejoin. leslie remote status names copies that are kept").
			WithNext("leslie remote status")
	case shared.Log:
		return replica.EndsEarly(shared.Log, shared.Own)
	}
	h, err := c.Store().History(c.Context(), store.HistoryQuery{Since: d.Common})
	for _, op := range slices.Backward(h.Operations) {
		d.Operations = append(d.Operations, app.OperationOf(op, ""))
	}
	return err
}

// noRunHere refuses to take the store away from an agent that runs on this machine. Errors: T108, those of
// reading.
func noRunHere(c *app.Call) error {
	var all []thread.Thread
	if _, err := c.View(func(s *thread.State) error {
		all = s.ThreadsWithRun()
		return nil
	}); err != nil {
		return err
	}
	for _, t := range all {
		if held, err := c.Store().RunHeld(t.ID); err != nil {
			return err
		} else if held {
			return c.RunsAlready(t.ID)
		}
	}
	loop, err := c.Store().Loop()
	if err == nil && loop.Held {
		err = codes.Claimed.New(fact.Of("threadId", "leslie run --next"), fact.Of("holder", "its process"), fact.Of("until", "it ends")).
			WithHint("leslie run --next starts agents here: leslie run stop --loop ends it").WithNext("leslie run list")
	}
	return err
}

// exchange makes a new copy of the log, and puts it in the place of this one, whose credentials it gets if there are no
// others.
func (d *RemoteRejoinResult) exchange(c *app.Call, l *replica.Link, creds []byte) (err error) {
	if creds == nil {
		if creds, err = readCredentials(c.Store().Credentials()); err != nil {
			return err
		}
	}
	name, err := d.nameThere(c)
	if err != nil {
		return err
	}
	made, err := c.Project().Environment().Link(l.Remote, name)
	if err != nil {
		return err
	}
	copied, err := replaceCopy(c, app.KeptParted, made, ConnectRequest{URL: d.URL}, creds)
	d.took(copied)
	return err
}

// took adds what became of the copy that was exchanged; nil for none.
func (d *RemoteRejoinResult) took(copied *ConnectResult) *RemoteRejoinResult {
	if copied == nil {
		return nil
	}
	d.Changed, d.Kept, d.Threads, d.Machine, d.Revision = true, copied.Kept, copied.Alone, copied.Machine, copied.Revision
	d.Notes, d.Operations, d.Again, d.Renewed = copied.Notes, copied.Operations, copied.Again, copied.Renewed
	return d
}

// replaceCopy puts a new copy of a log in the place of a call's store, which it keeps in a folder beside it that is
// named after why, and lets the call go on with the new one. Until then nothing is changed; a call that is killed behind
// that is finished by finishReplacing. Errors: those of Connect, T501, T505.
func replaceCopy(c *app.Call, why string, link *replica.Link, in ConnectRequest, creds []byte) (*ConnectResult, error) {
	kept, err := keptFolder(c.Root(), why)
	if err != nil {
		return nil, err
	}
	in.Dir = filepath.Join(kept, newFolder)
	d, err := newCopy(c, link, in, creds)
	if err != nil { // the store that is to be kept has not come there yet
		return nil, errors.Join(err, cannotWrite(kept, os.RemoveAll(kept)))
	}
	if err := c.Store().Exchange(c.Context(), c.LockWait(), in.Dir); err != nil {
		return nil, err
	}
	d.Root = c.Root()
	c.SetChanged(true)
	c.Join(link)
	if err := d.settle(c, kept); err != nil {
		return d, err
	}
	_, err = keptUnfinished(c, why) // those of calls before, which were killed earlier
	return d, err
}

// settle finds what only the store has that was put into a folder, renames branches of threads that the log has others
// of, stores content with the log again that it has lost, and ends the exchange. Errors: those of reading.
func (d *ConnectResult) settle(c *app.Call, kept string) error {
	if d.Kept = kept; !app.Exists(filepath.Join(kept, store.Dir)) {
		d.Kept = filepath.Join(kept, newFolder)
		if os.Rename(filepath.Join(d.Kept, store.Dir), filepath.Join(kept, store.Dir)) == nil {
			d.Kept = kept
		}
	}
	_ = os.Remove(filepath.Join(kept, newFolder)) // if it is empty
	was := store.Open(d.Kept, store.Options{})
	before, err := threadsIn(c, d.Kept)
	if err == nil {
		d.Alone, err = partedThreads(c, before)
	}
	if err == nil {
		d.Notes, err = differingNotes(c, was, d.Alone)
	}
	if err == nil {
		err = d.lost(c, was)
	}
	if err != nil {
		return err
	}
	d.Renewed, _ = StoreDoctor(c).RenewContent(c.Context()) // what stays away is T513 for whoever looks at it
	return cannotWrite(kept, os.RemoveAll(filepath.Join(kept, app.UnfinishedMark)))
}

// lost finds the operations of a store that was kept which the log lacks, and those of them to do again. Errors: those
// of reading.
func (d *ConnectResult) lost(c *app.Call, kept *store.Store) error {
	beyond, common, err := beyondLog(c, kept)
	d.common = common
	made, undone := map[string]bool{}, map[thread.OperationID]bool{}
	for _, op := range beyond { // the newest first: an undo that was taken back undoes nothing
		if op.Undoes != "" && !undone[op.ID] {
			undone[op.Undoes] = true
		}
		for _, ch := range op.Changes {
			if _, id, _ := strings.Cut(ch.Record, "/"); thread.Absent(ch.Before) {
				made[id] = true
			}
		}
	}
	for _, op := range slices.Backward(beyond) {
		if op.Command == "remote leave" {
			continue
		}
		d.Operations = append(d.Operations, app.OperationOf(op, ""))
		if !undone[op.ID] && isDoneAgain(op, made) && !d.otherInLog(op.ThreadID) {
			d.Again = append(d.Again, op.ID)
		}
	}
	return err
}

// isDoneAgain reports whether somebody who wants the effect of an operation that the log lacks calls its command again.
// What belongs to a machine (claims, runs, worktrees), files (KeptNotes), threads and landings (PartedThread) come back
// otherwise. made has the records that only the operations that were lost made: what is about one of them, but for a
// thread, begins with making that again.
func isDoneAgain(op thread.Operation, made map[string]bool) bool {
	switch op.Command {
	case "ask", "comment", "inject", "transfer", "reference", "update", "done", "cancel", "suspend", "resume", "reopen",
		"archive", app.DropCommand, "objective create", "objective done", "objective cancel":
		return true
	case "answer", "approve", "deny", "revoke", "comment resolve", "reference remove":
		var params struct{ Operands []string }
		return json.Unmarshal(op.Params, &params) == nil && len(params.Operands) > 0 && !made[params.Operands[0]]
	}
	return false
}

// otherInLog reports whether the log has another thread of that id.
func (d *ConnectResult) otherInLog(id thread.ThreadID) bool {
	return slices.ContainsFunc(d.Alone, func(p PartedThread) bool { return p.ThreadID == id && p.Other })
}

// finishReplacing ends what a call of replaceCopy began that was killed behind the exchange; nil for nothing. Errors: those
// of settle.
func finishReplacing(c *app.Call, why string) (*ConnectResult, error) {
	kept, err := keptUnfinished(c, why)
	if err != nil || kept == "" {
		return nil, err
	}
	l := c.Project().Link()
	v, err := c.View(func(*thread.State) error { return nil })
	if err != nil {
		return nil, err
	}
	d := &ConnectResult{
		Root: c.Root(), Project: l.Remote.Project, Machine: l.Machine, Revision: v.Revision, Change: app.Change{Changed: true},
	}
	c.SetChanged(true)
	return d, d.settle(c, kept)
}

// keptUnfinished returns a folder with a store that was kept by a call which was killed before it had ended, "" for none,
// and deletes the new copies of the log that such calls left. A copy of the log is connected, and has no operation that
// the log lacks; the store that it was to replace has some, or has left. Errors: those of reading.
func keptUnfinished(c *app.Call, why string) (found string, err error) {
	folders, err := filepath.Glob(app.KeptFolder(c.Root(), why, "*"))
	if err != nil {
		return "", codes.ReadFailed.OfPath(c.Root(), err)
	}
	for _, kept := range folders {
		at := filepath.Join(kept, newFolder)
		switch {
		case !app.Exists(filepath.Join(kept, app.UnfinishedMark)):
			continue
		case app.Exists(filepath.Join(kept, store.Dir)):
			found = kept
			continue
		}
		switch copied, err := isCopyOfLog(c, at); {
		case err != nil: // whoever can read it has to say what it is
		case !copied:
			found = kept
		default:
			if err := deleteCopy(c, kept); err != nil {
				return "", err
			}
		}
	}
	return found, nil
}

// isCopyOfLog reports whether the store in a folder is a copy of the log, or was going to be one.
func isCopyOfLog(c *app.Call, dir string) (bool, error) {
	if !app.Exists(filepath.Join(dir, store.Dir)) { // between renames, where an exchange takes three, one is aside
		return !app.Exists(filepath.Join(dir, store.Dir+"-aside")), nil
	}
	at := filepath.Join(dir, store.Dir)
	if !app.Exists(filepath.Join(at, store.StateFile)) && !app.Exists(filepath.Join(at, store.BackupFile)) { // not made yet
		return true, nil
	}
	remote, err := replica.Read(dir)
	if err != nil {
		return false, err
	}
	beyond, common, err := beyondLog(c, store.Open(dir, store.Options{}))
	return len(beyond) == 0 && (remote != nil || common == 0), err
}

// deleteCopy deletes the folder of a new copy that a killed call left. It goes aside first, and is looked at again: a call
// that is at it still may have exchanged the copies since, and finds nothing to exchange from then on. Errors: T505, those
// of reading.
func deleteCopy(c *app.Call, kept string) error {
	aside := kept + "-removed"
	if err := os.Rename(kept, aside); err != nil {
		return cannotWrite(kept, err)
	}
	copied, err := isCopyOfLog(c, filepath.Join(aside, newFolder))
	if err == nil && copied { // the mark last
		return cannotWrite(aside, cmp.Or(os.RemoveAll(filepath.Join(aside, newFolder)), os.RemoveAll(aside)))
	}
	return errors.Join(err, cannotWrite(kept, os.Rename(aside, kept)))
}

// threadsIn returns all threads of the store in a folder, as its machine saw them.
func threadsIn(c *app.Call, dir string) ([]thread.Thread, error) {
	env := c.Project().Environment()
	look := app.NewProject(*env, dir).Call(c.Context(), c.Caller(), app.Request{ReadOnly: true})
	remote, err := replica.Read(dir)
	if err != nil {
		return nil, err
	}
	if remote != nil {
		machine, err := look.Store().Machine()
		if err != nil {
			return nil, err
		}
		link, err := env.Link(*remote, machine)
		if err != nil {
			return nil, err
		}
		look.Join(link)
	}
	look.ReadHere()
	return threadsOf(look)
}

// differingNotes returns the files that a store which was kept has, and which are not as the log has them: of threads
// that the log lacks, or has others of their ids, all. Those that are only older than the log's, and what cannot be
// read, are left out.
func differingNotes(c *app.Call, kept *store.Store, alone []PartedThread) (all []KeptNotes, err error) {
	differing := func(id thread.ThreadID, lists ...store.Manifest) { // that are as in none of the lists
		var paths []string
		for i, list := range lists {
			differ, err := kept.Compare(c.Context(), id, list, scope.Set{})
			if err != nil {
				return
			}
			if i == 0 {
				paths = differ
			}
			paths = slices.DeleteFunc(paths, func(path string) bool { return !slices.Contains(differ, path) })
		}
		paths = slices.DeleteFunc(paths, func(path string) bool { // not here, or deleted
			return !app.Exists(filepath.Join(kept.Path(store.ThreadsDir), string(id), filepath.FromSlash(path)))
		})
		if len(paths) > 0 {
			all = append(all, KeptNotes{id, paths})
		}
	}
	now, err := threadsOf(c)
	for _, t := range now {
		if slices.ContainsFunc(alone, func(p PartedThread) bool { return p.ThreadID == t.ID }) {
			continue
		}
		had, name, err := kept.PublishedList(t.ID)
		log := []store.Manifest{had}
		switch {
		case err != nil:
			continue
		case t.Published == nil:
			log[0] = nil
		case name != t.Published.Manifest:
			has, err := c.Store().Manifest(t.Published.Manifest)
			if err != nil {
				continue
			}
			log[0] = has
			if wasPublished(c, name) {
				log = append(log, had)
			}
		}
		differing(t.ID, log...)
	}
	for _, p := range alone {
		differing(p.ThreadID, nil)
	}
	return all, err
}

// wasPublished reports whether an operation of the log has published a list of files.
func wasPublished(c *app.Call, name thread.BlobID) bool {
	names := func(op thread.Operation) bool {
		return slices.ContainsFunc(op.Changes, func(ch thread.Change) bool { return bytes.Contains(ch.After, []byte(name)) })
	}
	_, found, err := c.Store().FindOperation(c.Context(), names, string(name))
	return err == nil && found
}

// newCopy makes a copy of a log in a folder that is made for it. Errors: those of Connect, T505.
func newCopy(c *app.Call, link *replica.Link, in ConnectRequest, creds []byte) (*ConnectResult, error) {
	if err := os.Mkdir(in.Dir, 0o755); err != nil {
		return nil, cannotWrite(in.Dir, err)
	}
	p := app.NewProject(*c.Project().Environment(), in.Dir)
	st, _, _, err := store.Create(c.Context(), c.LockWait(), in.Dir, p.StoreOptions())
	if err != nil {
		return nil, err
	}
	_, d, err := copyFrom(p, c.Context(), st, link, c.Caller(), *c.Request(), in, creds)
	return d, err
}

// partedThreads returns those of the threads that a store had which its new copy lacks, or has others of their ids.
func partedThreads(c *app.Call, before []thread.Thread) ([]PartedThread, error) {
	parted := []PartedThread{}
	now, err := threadsOf(c)
	objectives := map[thread.ObjectiveID]bool{}
	if err == nil {
		_, err = c.View(func(s *thread.State) error {
			for _, o := range s.ObjectivesInOrder() {
				objectives[o.ID] = true
			}
			return nil
		})
	}
	for _, t := range before {
		one := PartedThread{ThreadID: t.ID, Title: t.Title}
		if objectives[t.ObjectiveID] {
			one.ObjectiveID = t.ObjectiveID
		}
		at := slices.IndexFunc(now, func(other thread.Thread) bool { return other.ID == t.ID })
		if at >= 0 {
			there := now[at].Created
			one.Other = !there.At.Equal(t.Created.At) || there.Actor != t.Created.Actor
		}
		owned := t.OwnedCode()
		if at >= 0 && !one.Other {
			if one.Tip = landingUnknown(owned, now[at]); one.Tip == "" {
				continue
			}
			one.GoesOn = goesOn(c, now[at], one.Tip)
		}
		if owned != nil {
			if l, ok := owned.LastLanded(); ok {
				one.LandedOn = l.Place()
			}
			if !code.HasBranch(c, t.Branch) {
				one.BranchGone = t.Branch
			} else {
				one.Branch = t.Branch
				if one.Other && owned.Made.Branch && now[at].Branch == t.Branch && !c.Project().IsHere(now[at].Created.Actor) {
					one.rename(c)
				}
			}
			if dir := code.WorktreeDir(c, t); !code.FolderMissing(dir) {
				one.Worktree = dir
			}
		}
		parted = append(parted, one)
	}
	return parted, err
}

// goesOn reports whether somebody on another machine works on a thread of the log, or has sent commits of it that did
// not land here with tip.
func goesOn(c *app.Call, t thread.Thread, tip string) bool {
	if held := t.Held(c.Now()); held != nil && !c.Project().IsHere(held.Holder) {
		return true
	}
	sent := t.OwnedCode().Sent
	if sent == nil || sent.Machine == c.Project().Machine() {
		return false
	}
	repo, err := code.OpenRepo(c)
	if err != nil {
		return false
	}
	has, err := repo.Contains(c.Context(), git.Commit(tip), git.Commit(sent.Tip))
	return err != nil || !has // an error: it is not here
}

// landingUnknown is the commit of a thread's code that landed, if the log has the thread, which goes on there, without
// that; "" otherwise.
func landingUnknown(was *thread.Code, there thread.Thread) string {
	if was == nil || there.Status.Terminated() {
		return ""
	}
	l, landed := was.LastLanded()
	if has := there.OwnedCode(); !landed || has == nil || has.LandedAt(l.Tip) || has.TakenBack(l.Tip) {
		return ""
	}
	return l.Tip
}

// rename gives the branch a name that is not that of the log's thread, which would have it as its own. Where git does
// not do that, it keeps its name, and the text says what to do.
func (t *PartedThread) rename(c *app.Call) {
	repo, err := code.OpenRepo(c)
	if err != nil {
		return
	}
	name := t.Branch + "-own"
	for n := 2; code.HasBranch(c, name); n++ {
		name = t.Branch + "-own-" + strconv.Itoa(n)
	}
	if repo.RenameBranch(c.Context(), t.Branch, name) == nil {
		t.Branch, t.Renamed = name, t.Branch
	}
}

// threadsOf returns all threads, archived ones too.
func threadsOf(c *app.Call) (all []thread.Thread, err error) {
	_, err = c.View(func(s *thread.State) (err error) {
		all, err = s.List(thread.Filter{All: true})
		return err
	})
	return all, err
}

// nameThere is the name that this machine has in the log, a new one if it has written only what that lacks.
func (d *RemoteRejoinResult) nameThere(c *app.Call) (string, error) {
	h, err := c.Store().History(c.Context(), store.HistoryQuery{Before: d.Common + 1})
	if slices.ContainsFunc(h.Operations, func(op thread.Operation) bool { return op.Machine == d.Machine }) {
		return d.Machine, err
	}
	return c.Project().Environment().NewMachine(), err
}

// newFolder is where a new copy is made in the folder that will keep the other one.
const newFolder = "new"

// keptFolder makes a free folder for a copy as it was.
func keptFolder(root, why string) (string, error) {
	for n := 1; ; n++ {
		dir := app.KeptFolder(root, why, strconv.Itoa(n))
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, app.UnfinishedMark), nil, 0o644)
		}
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return dir, cannotWrite(dir, err)
		}
	}
}

// cannotWrite is T505 for an error of the system, nil for none.
func cannotWrite(path string, err error) error {
	if err == nil {
		return nil
	}
	return codes.WriteFailed.OfPath(path, err)
}
