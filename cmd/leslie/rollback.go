package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
)

type rollbackData struct {
	// CheckpointID is of what was there before; null where nothing was replaced.
	CheckpointID *thread.CheckpointID `json:"checkpointId"`
	ThreadID     thread.ThreadID      `json:"threadId"`
	To           thread.CheckpointID  `json:"to"`
	Files        []rolledFile         `json:"files"`
	Revision     thread.Revision      `json:"revision"`
	change
}

type rolledFile struct {
	Path string `json:"path"`
	How  string `json:"how"` // replaced, restored, removed
}

func (d *rollbackData) Text(p *page) {
	if d.CheckpointID == nil {
		p.line("nothing to do: %s holds what checkpoint %s holds", d.ThreadID, d.To)
		return
	}
	p.line("%s is back at checkpoint %s", d.ThreadID, d.To)
	for _, f := range d.Files {
		p.line("  %s  %s", f.How, f.Path)
	}
	p.line("what was there before is checkpoint %s", *d.CheckpointID)
}

func rollbackCommand() *command {
	return &command{
		name: "rollback", summary: "restore a thread's artifacts from a checkpoint", writes: true, alone: true,
		teach:    lesson{goingBack, "rollback ID --to NAME"},
		detail:   "The current files are saved as a checkpoint first, so nothing is lost: undo the rollback, or roll back to that checkpoint.",
		example:  "leslie rollback thread-a1b2c3d4 --to ckpt-e5f6g7h8",
		operands: []operand{threadOperand()},
		flags:    []cli.Flag{newOption("to", anyText("CKPT|NAME").required(), "the checkpoint: its id, a prefix of its id, or its name")},
		run:      runRollback,
	}
}

func runRollback(c *call) (Data, error) {
	id := c.targetThread()
	c.require("to")
	if err := c.usage(); err != nil {
		return nil, err
	}
	st, err := c.store()
	if err != nil {
		return nil, err
	}
	if first, ok, err := answered[rollbackData](c); ok || err != nil {
		return first, err
	}
	for range tries {
		r := &rolling{c: c, st: st}
		data, err := r.run(id, c.text("to"))
		if !errors.Is(err, errMoved) {
			return data, err
		}
	}
	return nil, codes.WriteFailed.New(
		fact.Of("path", threadPath(c.about)), fact.Of("reason", "its artifacts were saved again and again meanwhile"),
		fact.Of("threadId", c.about), fact.Of("attempts", tries)).
		WithHint("Roll back again when nobody writes there").WithNext("leslie artifacts " + string(c.about))
}

// tries is how often something is planned anew because the files moved.
const tries = 3

// errMoved says that files are not what was planned on.
var errMoved = errors.New("the files changed since that was planned")

// rolling is one rollback, planned on what the thread holds.
type rolling struct {
	c        *call
	st       *store.Store
	id       thread.ThreadID
	to       thread.Checkpoint
	stage    *store.Stage
	now      store.Manifest // what is there
	want     store.Manifest // what the checkpoint holds
	manifest thread.BlobID  // of what is there
	list     thread.BlobID  // of what is replaced
	changes  app.ChangeSet
	files    []rolledFile
}

// run plans without the lock and carries out under it. Its error is errMoved when
// somebody saved something in between.
func (r *rolling) run(id, to string) (*rollbackData, error) {
	c := r.c
	told := len(c.warnings)
	_, err := c.view(func(s *thread.State) error {
		t, err := s.LiveThread(id)
		if err != nil {
			return err
		}
		r.id, c.about = t.ID, t.ID
		r.to, err = t.CheckpointOf(to)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.want, err = r.st.Manifest(r.to.Manifest); err != nil {
		return nil, err
	}
	if r.stage, err = r.st.Stage(c.stamp().Operation); err != nil {
		return nil, err
	}
	if err := r.plan(); err != nil {
		c.endStage(r.stage, false)
		return nil, err
	}
	data, err := write(c, r.rule)
	c.endStage(r.stage, err == nil)
	switch {
	case errors.Is(err, errMoved):
		c.warnings = c.warnings[:told] // the next plan says what it leaves out
	case err == nil:
		c.warnSaved(r.st, r.changes, "what the checkpoint holds")
	}
	return data, err
}

// plan keeps what is there, and stages what is to come.
func (r *rolling) plan() error {
	var skipped []string
	var err error
	if r.now, skipped, err = r.c.takeSnapshot(r.st, r.stage, r.id, scope.Set{}); err != nil {
		return err
	}
	r.c.warnSkipped(skipped)
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
	content := func(f app.FileChange) ([]byte, error) { return r.stage.Blob(f.After) }
	if err := r.changes.Stage(r.c.ctx, r.stage, "result", content); err != nil {
		return err
	}
	return r.c.relyOn(r.stage)
}

// compare says what becomes of each path that differs.
func (r *rolling) compare() {
	r.files, r.changes = []rolledFile{}, app.ChangeSet{Thread: r.id}
	note := func(was, is store.FileAt, path, how string) {
		r.files = append(r.files, rolledFile{path, how})
		r.changes.Files = append(r.changes.Files, app.FileChange{
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
	slices.SortFunc(r.files, func(a, b rolledFile) int { return strings.Compare(a.Path, b.Path) })
}

// unobstructed is T507 where a link or a special file stands in the way of what
// comes: it is never written through, and never taken away.
func (r *rolling) unobstructed() error {
	entries, err := r.c.artifacts(r.st, r.id)
	if err != nil {
		return err
	}
	for _, special := range specials(entries) {
		inTheWay := slices.ContainsFunc(r.changes.Files, func(f app.FileChange) bool {
			return f.After != "" && (special == f.Path || strings.HasPrefix(f.Path, special+"/") || strings.HasPrefix(special, f.Path+"/"))
		})
		if inTheWay {
			return codes.UnsafePath.New(fact.Of("path", special), fact.Of("threadId", r.id)).
				WithHint("A link or special file stands where the checkpoint has a file: move it away")
		}
	}
	return nil
}

// rule is the rollback, under the lock.
func (r *rolling) rule(s *thread.State, stamp thread.Stamp) (*rollbackData, thread.ThreadID, error) {
	t, err := s.LiveThread(string(r.id))
	if err != nil {
		return nil, "", err
	}
	if _, err := t.CheckpointOf(string(r.to.ID)); err != nil {
		return nil, "", err
	}
	id := r.c.newCheckpointID(t)
	moved, err := r.st.Compare(r.c.ctx, r.id, r.now, scope.Set{})
	switch {
	case err != nil:
		return nil, "", err
	case len(moved) > 0:
		return nil, "", errMoved
	}
	d := &rollbackData{ThreadID: t.ID, To: r.to.ID, Files: r.files, Revision: t.Revision}
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

// warnSaved names files that somebody saved in the moment of the commit: theirs
// stayed, and what was to replace it lies beside it.
func (c *call) warnSaved(st *store.Store, changes app.ChangeSet, what string) {
	artifacts := func() ([]store.Entry, error) { return c.artifacts(st, changes.Thread) }
	c.warnings.Add(changes.SavedMeanwhile(st, artifacts, what)...)
}
