package main

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
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
		name: "rollback", summary: "bring a thread's artifacts back to a checkpoint", writes: true, alone: true,
		teach: lesson{goingBack, "rollback ID --to NAME"},
		detail: "What is there is first kept as a checkpoint of its own, so nothing is lost: leslie undo takes the\n" +
			"rollback back, or roll back to that one.",
		example:  "leslie rollback thread-a1b2c3d4 --to ckpt-e5f6g7h8",
		operands: []operand{threadOperand()},
		flags:    []cli.Flag{newOption("to", anyText("CKPT|NAME").required(), "the checkpoint: its id, its name, or the beginning of its id")},
		run:      runRollback,
	}
}

func runRollback(c *call) (Data, error) {
	id := c.subject()
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
	undo     []undoFile
	files    []rolledFile
	steps    []thread.Step
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
		c.warnSaved(r.st, r.id, r.undo, "what the checkpoint holds")
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
	fresh := r.compare()
	if len(r.files) == 0 {
		return nil
	}
	if err := r.unobstructed(fresh); err != nil {
		return err
	}
	if r.manifest, err = r.stage.PutManifest(r.now); err != nil {
		return err
	}
	raw, err := marshal(r.undo)
	if err != nil {
		return err
	}
	if r.list, err = r.stage.Put(raw); err != nil {
		return err
	}
	if err := r.stage.Materialize(r.c.ctx, fresh, "result", false); err != nil {
		return err
	}
	r.order(fresh)
	return r.c.relyOn(r.stage)
}

// compare says what becomes of each path that differs, and returns the files that
// come.
func (r *rolling) compare() store.Manifest {
	r.files = []rolledFile{}
	var fresh store.Manifest
	note := func(was store.FileAt, is thread.BlobID, path, how string) {
		r.files = append(r.files, rolledFile{path, how})
		r.undo = append(r.undo, undoFile{Path: path, Before: was.SHA256, After: is, Executable: was.Executable})
	}
	for _, f := range r.want {
		was, there := r.now.Find(f.Path)
		switch {
		case !there:
			note(was, f.SHA256, f.Path, "restored")
		case was.SHA256 != f.SHA256 || was.Executable != f.Executable:
			note(was, f.SHA256, f.Path, "replaced")
		default:
			continue
		}
		fresh = append(fresh, f)
	}
	for _, f := range r.now {
		if _, stays := r.want.Find(f.Path); !stays {
			note(f, "", f.Path, "removed")
		}
	}
	slices.SortFunc(r.files, func(a, b rolledFile) int { return strings.Compare(a.Path, b.Path) })
	return fresh
}

// unobstructed is T507 where a link or a special file stands in the way of what
// comes: it is never written through, and never taken away.
func (r *rolling) unobstructed(fresh store.Manifest) error {
	entries, err := r.c.artifacts(r.st, r.id)
	if err != nil {
		return err
	}
	for _, special := range specials(entries) {
		inTheWay := slices.ContainsFunc(fresh, func(f store.FileAt) bool {
			return special == f.Path || strings.HasPrefix(f.Path, special+"/") || strings.HasPrefix(special, f.Path+"/")
		})
		if inTheWay {
			return codes.UnsafePath.New(fact.Of("path", special), fact.Of("threadId", r.id)).
				WithHint("A link or special file stands where the checkpoint has a file: move it away")
		}
	}
	return nil
}

// order lets what frees a name go first, and all other removals last.
func (r *rolling) order(fresh store.Manifest) {
	root := threadPlace(r.id) + "/"
	var added []string
	var placed []thread.Step
	for _, f := range fresh {
		was, there := r.now.Find(f.Path)
		if !there {
			added = append(added, f.Path)
		}
		placed = append(placed, thread.Step{Do: thread.StepReplace, From: r.stage.Rel("result/" + f.Path), To: root + f.Path, Expect: was.SHA256, Content: f.SHA256, Executable: f.Executable})
	}
	frees := freeing(added)
	var first, last []thread.Step
	for _, u := range r.undo {
		step := thread.Step{Do: thread.StepDelete, To: root + u.Path, Expect: u.Before}
		switch {
		case u.After != "":
		case frees(u.Path):
			first = append(first, step)
		default:
			last = append(last, step)
		}
	}
	r.steps = slices.Concat(first, placed, last)
}

// freeing tells of a path whether its name, or a name above or below it, is
// needed by one that is added: a file gives way to a folder, a folder to a file,
// a name to one that differs only in case.
func freeing(added []string) func(name string) bool {
	files, folders := map[string]bool{}, map[string]bool{} // by lower case
	for _, name := range added {
		name = strings.ToLower(name)
		files[name] = true
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	return func(name string) bool {
		name = strings.ToLower(name)
		if folders[name] {
			return true
		}
		for ; name != "."; name = path.Dir(name) {
			if files[name] {
				return true
			}
		}
		return false
	}
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
	s.Plan(r.steps...)
	d.CheckpointID, d.Revision = &ck.ID, t.Revision
	return d, t.ID, nil
}

// warnSaved names files that somebody saved in the moment of the commit: theirs
// stayed, and what was to replace it lies beside it.
func (c *call) warnSaved(st *store.Store, id thread.ThreadID, undo []undoFile, what string) {
	want := map[string]thread.BlobID{}
	for _, u := range undo {
		want[u.Path] = u.After
	}
	moved, err := st.Unmoved(id, want)
	if err != nil {
		return
	}
	slices.Sort(moved)
	entries, _ := c.artifacts(st, id)
	for _, path := range moved {
		beside := slices.ContainsFunc(entries, func(e store.Entry) bool { return strings.HasPrefix(e.Path, path+".merge-op-") })
		if beside {
			c.warnings.Add(warnings.NotSettled.New(fact.Of("what", "putting "+path+" into place"),
				fact.Of("reason", "it was saved meanwhile and stayed; "+what+" lies beside it as "+path+".merge-OPERATION")))
		}
	}
}
