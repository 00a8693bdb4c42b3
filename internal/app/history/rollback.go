package history

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/changes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

// RollbackRequest restores a thread's artifacts: of To, or with its code as they were at
// the end of a turn.
type RollbackRequest struct {
	Thread string // "": the thread that the caller speaks for
	To     string // a checkpoint: its id, a prefix of its id, or its name
	Turn   int    // of the thread's runs, from 1; 0: To
	DryRun bool   // only say what would change
}

// Faults returns what is wrong with the request.
func (in RollbackRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	switch {
	case in.Turn < 0:
		k.Add("Turn", strconv.Itoa(in.Turn), "must not be negative")
	case in.Turn > 0 && in.To != "":
		k.Add("Turn", strconv.Itoa(in.Turn), "takes the place of a checkpoint: name one of them")
	case in.Turn == 0 && in.To == "":
		k.Add("To", "", "name a checkpoint or a turn")
	}
	return k.Faults
}

// RollbackResult says how the thread's artifacts changed.
type RollbackResult struct {
	// CheckpointID is the checkpoint of the previous files; null if nothing was
	// replaced.
	CheckpointID *thread.CheckpointID `json:"checkpointId"`
	ThreadID     thread.ThreadID      `json:"threadId"`
	To           thread.CheckpointID  `json:"to"`
	Files        []RollbackFile       `json:"files"`
	// Code says what became of the thread's code, nil if nothing did.
	Code     *RollbackCode   `json:"code,omitempty"`
	Revision thread.Revision `json:"revision"`
	DryRun   bool            `json:"dryRun,omitempty"`
	app.Change
}

// RollbackFile says how one file changed.
type RollbackFile struct {
	Path string `json:"path"`
	How  string `json:"how"` // replaced, restored, removed
}

// Rollback restores a thread's artifacts from a checkpoint; the current files are
// saved as a checkpoint first. With a turn the thread's code is restored, too: T802 if its
// worktree is not there or the turn's code was not kept, T805 if something is in progress
// there, T806 if something is in the way, T801, T808. Errors: T101, T102, T105, T108, T111,
// T505 if the files keep changing, T507 for a link in the way, T508, T509, T903, those of a
// write.
func Rollback(c *app.Call, in RollbackRequest) (*RollbackResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	if first, ok, err := app.Answered[RollbackResult](c); ok || err != nil {
		return first, err
	}
	if in.DryRun {
		c.ReadOnly()
	}
	if in.Turn > 0 {
		return rollbackTurn(c, in)
	}
	return rollback(c, c.ThreadOr(in.Thread), in.To, nil, in.DryRun)
}

// rollback restores a checkpoint, and records that code is exchanged, nil for none.
func rollback(c *app.Call, id, to string, code *WorkExchange, dryRun bool) (*RollbackResult, error) {
	for range app.Attempts {
		r := &rolling{c: c, code: code, dryRun: dryRun}
		data, err := r.run(id, to)
		if !errors.Is(err, app.ErrMoved) {
			return data, err
		}
	}
	return nil, codes.WriteFailed.New(
		fact.Of("path", app.ThreadPath(c.Target())), fact.Of("reason", "its artifacts kept changing"),
		fact.Of("threadId", c.Target()), fact.Of("attempts", app.Attempts)).
		WithHint("Roll back again when nobody is writing to the thread").WithNext("leslie artifacts " + string(c.Target()))
}

// rolling is one rollback, planned from the thread's current files.
type rolling struct {
	c        *app.Call
	id       thread.ThreadID
	to       thread.Checkpoint
	stage    *store.Stage
	now      store.Manifest // the current files
	want     store.Manifest // the checkpoint's files
	manifest thread.BlobID  // of the current files
	list     thread.BlobID  // of the replaced files
	changes  changes.Set
	files    []RollbackFile
	code     *WorkExchange // nil for none
	dryRun   bool
}

// run plans without the lock and carries out under it. Its error is app.ErrMoved if
// somebody saved a file in between.
func (r *rolling) run(id, to string) (*RollbackResult, error) {
	c := r.c
	told := len(c.Warnings())
	_, err := c.View(func(s *thread.State) error {
		t, err := s.LiveThread(id)
		if err != nil {
			return err
		}
		c.SetTarget(t.ID)
		r.id = t.ID
		if r.to, err = t.CheckpointOf(to); err == nil && r.dryRun {
			_, err = s.RespectClaim(string(t.ID), c.Stamp())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.want, err = r.c.Store().Manifest(r.to.Manifest); err != nil {
		return nil, err
	}
	if r.dryRun {
		return r.foresee()
	}
	if r.stage, err = r.c.Store().Stage(c.Stamp().Operation); err != nil {
		return nil, err
	}
	if err := r.plan(); err != nil {
		c.EndStage(r.stage, false)
		return nil, err
	}
	data, err := app.Write(c, r.rule)
	c.EndStage(r.stage, err == nil)
	switch {
	case errors.Is(err, app.ErrMoved):
		c.WarnAnew(told) // the next plan warns again
	case err == nil:
		warnSaved(c, r.changes, "what the checkpoint holds")
	}
	return data, err
}

// foresee is the answer of a dry run, which writes nothing. Errors: see Rollback.
func (r *rolling) foresee() (*RollbackResult, error) {
	entries, err := artifacts.ListArtifacts(r.c, r.id)
	if err != nil {
		return nil, err
	}
	differ, err := r.c.Store().Compare(r.c.Context(), r.id, r.want, scope.Set{})
	if err != nil {
		return nil, err
	}
	d := &RollbackResult{ThreadID: r.id, To: r.to.ID, Files: []RollbackFile{}, DryRun: true}
	for _, path := range differ {
		f, wanted := r.want.Find(path)
		how := "removed"
		if there := slices.ContainsFunc(entries, func(e store.Entry) bool { return e.Path == path }); wanted && there {
			how = "replaced"
		} else if wanted {
			how = "restored"
		}
		d.Files = append(d.Files, RollbackFile{path, how})
		r.changes.Files = append(r.changes.Files, changes.File{Path: path, After: f.SHA256})
	}
	if r.code != nil {
		d.Code = &RollbackCode{Branch: r.code.x.Branch, Commit: string(r.code.x.Head()), Was: string(r.code.was.Head)}
	}
	return d, r.unobstructed()
}

// plan saves the current files, and stages the files to restore.
func (r *rolling) plan() error {
	var skipped []string
	var err error
	if r.now, skipped, err = artifacts.TakeSnapshot(r.c, r.stage, r.id, scope.Set{}); err != nil {
		return err
	}
	r.c.WarnSkipped(skipped)
	r.compare()
	if len(r.files) == 0 {
		return nil
	}
	if err := r.unobstructed(); err != nil {
		return err
	}
	if r.manifest, err = r.stage.PutManifest(r.now); err != nil {
		return err
	}
	if r.list, err = r.changes.PutList(r.stage); err != nil {
		return err
	}
	content := func(f changes.File) ([]byte, error) { return r.stage.Blob(f.After) }
	if err := r.changes.Stage(r.c.Context(), r.stage, "result", content); err != nil {
		return err
	}
	return r.c.RelyOn(r.stage)
}

// compare determines the change of each path that differs.
func (r *rolling) compare() {
	r.files, r.changes = []RollbackFile{}, changes.Set{Thread: r.id}
	note := func(was, is store.FileAt, path, how string) {
		r.files = append(r.files, RollbackFile{path, how})
		r.changes.Files = append(r.changes.Files, changes.File{
			Path: path, Before: was.SHA256, After: is.SHA256, WasExecutable: was.Executable, Executable: is.Executable,
		})
	}
	for _, f := range r.want {
		was, there := r.now.Find(f.Path)
		switch {
		case !there:
			note(was, f, f.Path, "restored")
		case was.SHA256 != f.SHA256 || was.Executable != f.Executable:
			note(was, f, f.Path, "replaced")
		}
	}
	for _, f := range r.now {
		if _, stays := r.want.Find(f.Path); !stays {
			note(f, store.FileAt{}, f.Path, "removed")
		}
	}
	slices.SortFunc(r.files, func(a, b RollbackFile) int { return strings.Compare(a.Path, b.Path) })
}

// unobstructed returns T507 if a link or a special file is where a restored file has
// to go: leslie never writes through it and never removes it.
func (r *rolling) unobstructed() error {
	entries, err := artifacts.ListArtifacts(r.c, r.id)
	if err != nil {
		return err
	}
	for _, special := range artifacts.Specials(entries) {
		inTheWay := slices.ContainsFunc(r.changes.Files, func(f changes.File) bool {
			return f.After != "" && (special == f.Path || strings.HasPrefix(f.Path, special+"/") || strings.HasPrefix(special, f.Path+"/"))
		})
		if inTheWay {
			return codes.UnsafePath.New(fact.Of("path", special), fact.Of("threadId", r.id)).
				WithHint("The checkpoint has a file at this path: move the link or special file away")
		}
	}
	return nil
}

// rule is the rollback, under the lock.
func (r *rolling) rule(s *thread.State, stamp thread.Stamp) (*RollbackResult, thread.ThreadID, error) {
	if err := r.c.RespectClaim(s, string(r.id), stamp); err != nil {
		return nil, "", err
	}
	t, err := s.LiveThread(string(r.id))
	if err != nil {
		return nil, "", err
	}
	if _, err := t.CheckpointOf(string(r.to.ID)); err != nil {
		return nil, "", err
	}
	id := r.c.NewCheckpointID(t)
	moved, err := r.c.Store().Compare(r.c.Context(), r.id, r.now, scope.Set{})
	switch {
	case err != nil:
		return nil, "", err
	case len(moved) > 0:
		return nil, "", app.ErrMoved
	}
	d := &RollbackResult{ThreadID: t.ID, To: r.to.ID, Files: r.files, Revision: t.Revision}
	if r.code != nil {
		if err := r.code.end(s, stamp, d); err != nil {
			return nil, "", err
		}
	}
	if len(r.files) == 0 {
		return d, t.ID, nil
	}
	ck, t, err := s.Checkpoint(thread.NewCheckpoint{ID: id, Thread: string(t.ID), Manifest: r.manifest, Files: len(r.now), Undo: r.list, To: r.to}, stamp)
	if err != nil {
		return nil, "", err
	}
	s.Plan(r.changes.Steps(r.stage, "result")...)
	d.CheckpointID, d.Revision = &ck.ID, t.Revision
	return d, t.ID, nil
}

// warnSaved names files that somebody saved at the moment of the commit.
func warnSaved(c *app.Call, set changes.Set, what string) {
	artifacts := func() ([]store.Entry, error) { return artifacts.ListArtifacts(c, set.Thread) }
	c.Warn(set.SavedMeanwhile(c.Store(), artifacts, what)...)
}
