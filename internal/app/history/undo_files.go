package history

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/artifacts"
	"leslie/internal/app/changes"
	"leslie/internal/external"
	"leslie/store"
	"leslie/thread"
)

// This file does the file work of an undo. It stages what it restores without the
// lock; under the lock it checks what it removes: a folder or a copy is removed only
// if it contains nothing but what the operation put there.

// Undoing is one undo with its file work.
type Undoing struct {
	c      *app.Call
	op     thread.Operation
	first  thread.Operation // of a redo: what is done again; zero if the journal lacks it
	dryRun bool
	result UndoResult
	Invert func(*thread.State, thread.Operation, thread.Stamp) (thread.Inversion, error)

	in       thread.Inversion
	sets     []changes.Set // the files to restore, by thread
	stage    *store.Stage  // nil when there is nothing to stage
	steps    []thread.Step
	reversal thread.Reversal
	roll     *codeUndo
	bases    map[thread.ThreadID]thread.CodeBase // of later merges of code that was reverted
	reopened []thread.ThreadID                   // before the landing that completed them was undone
	kept     []keptRef                           // of sources whose commits no branch has any more
}

// NewUndoing begins to take back an operation.
func NewUndoing(c *app.Call, op thread.Operation, dryRun bool) *Undoing {
	return &Undoing{
		c: c, op: op, dryRun: dryRun, Invert: (*thread.State).Invert,
		result:   UndoResult{OperationID: op.ID, Command: op.Command, Files: []string{}},
		reversal: thread.Reversal{Undoes: op.ID, Redoes: op.Undoes},
	}
}

// plan decides which files are restored, and reads what that needs. It writes nothing.
func (u *Undoing) plan() error {
	if err := u.planFiles(); err != nil {
		return err
	}
	for _, set := range u.sets {
		for _, f := range set.Files {
			if f.After != "" && u.dryRun { // else Stage reads it
				if _, err := u.c.Store().Blob(f.After); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// prepare stages what the undo restores, and plans the steps.
func (u *Undoing) prepare() (err error) {
	if len(u.in.Replaced)+len(u.in.Copied)+len(u.in.Remade) > 0 {
		if u.stage, err = u.c.Store().Stage(u.c.Stamp().Operation); err != nil {
			return err
		}
	}
	for _, part := range []func() error{u.putBackFiles, u.remakeFolders, u.putBackCopies} {
		if err := part(); err != nil {
			return err
		}
	}
	for _, ref := range u.in.Dropped {
		u.steps = append(u.steps, thread.Step{Do: thread.StepRemove, To: artifacts.FrozenPlace(ref.From, ref.ID)})
	}
	for _, t := range u.in.Removed {
		u.steps = append(u.steps, thread.Step{Do: thread.StepRemove, To: app.ThreadInStore(t.ID)})
	}
	if u.stage == nil {
		return nil
	}
	return u.c.RelyOn(u.stage)
}

// planFiles finds the files that the operation replaced and that have not changed since.
// Errors: T110 if there is none; of an undo, if one has changed: a merge that is recorded
// again must have all of its files.
func (u *Undoing) planFiles() error {
	all := 0
	for _, r := range u.in.Replaced {
		files, err := changes.List(u.c.Store(), r.List)
		if err != nil {
			return err
		}
		all += len(files)
		back := changes.Set{Thread: r.ThreadID, Files: files}.Inverse()
		var kept []string
		err = u.c.ReadConsistent(func() (err error) {
			if kept, err = back.Moved(u.c.Store()); err == nil {
				var entries []store.Entry
				entries, err = u.c.Store().Artifacts(r.ThreadID)
				kept = append(kept, inTheWay(back.Files, kept, entries)...)
				noteModes(back.Files, entries)
			}
			return err
		}, r.ThreadID)
		if err != nil {
			return err
		}
		if u.op.Undoes != "" && len(kept) > 0 {
			return u.repeated(u.conflict("files of thread '" + string(r.ThreadID) + "' were changed since: " + SomeOf(kept)))
		}
		back.Files = slices.DeleteFunc(back.Files, func(f changes.File) bool { return slices.Contains(kept, f.Path) })
		for _, f := range files {
			if slices.Contains(kept, f.Path) {
				u.result.Kept = append(u.result.Kept, f.Path)
			} else {
				u.result.Files = append(u.result.Files, f.Path)
				if f.Before == "" {
					u.result.Removed = append(u.result.Removed, f.Path)
				}
			}
		}
		u.sets = append(u.sets, back)
	}
	if all > 0 && len(u.result.Files) == 0 {
		return u.conflict("every file that it changed was changed since")
	}
	return nil
}

// noteModes notes which files are executable now, for a redo.
func noteModes(files []changes.File, entries []store.Entry) {
	executable := map[string]bool{}
	for _, e := range entries {
		executable[e.Path] = e.Executable
	}
	for i := range files {
		files[i].WasExecutable = executable[files[i].Path]
	}
}

// putBackFiles stages the files of planFiles, and the lists of what they replace.
func (u *Undoing) putBackFiles() error {
	for _, set := range u.sets {
		dir := "back/" + string(set.Thread)
		content := func(f changes.File) ([]byte, error) { return u.c.Store().Blob(f.After) }
		if err := set.Stage(u.c.Context(), u.stage, dir, content); err != nil {
			return err
		}
		list, err := set.PutList(u.stage)
		if err != nil {
			return err
		}
		u.reversal.Files = append(u.reversal.Files, thread.Replaced{ThreadID: set.Thread, List: list})
		u.steps = append(u.steps, set.Steps(u.stage, dir)...)
	}
	return nil
}

// repeated adds to a T110 the line that does again what cannot be redone.
func (u *Undoing) repeated(err *codes.Error) error {
	for _, c := range u.first.Changes {
		var t thread.Thread
		if !strings.HasPrefix(c.Record, thread.TableThreads+"/") || json.Unmarshal(c.After, &t) != nil {
			continue
		}
		var sources []thread.ThreadID
		for _, share := range t.Shared {
			if share.At == u.first.Seq {
				sources = append(sources, share.With)
			}
		}
		if len(sources) > 0 {
			return err.WithHint("Merge again: " + app.MergeLine(t.ID, sources...))
		}
	}
	var params struct{ To string }
	if json.Unmarshal(u.first.Params, &params) == nil && params.To != "" {
		return err.WithHint("Roll back again: leslie rollback " + string(u.first.ThreadID) + " --to " + external.Word(params.To))
	}
	return err.WithHint("Merge or roll back again")
}

// inTheWay returns the files that cannot be restored to their names: there is a folder
// that is not empty, or a file in place of a parent folder, and the same undo does not
// remove it.
func inTheWay(back []changes.File, moved []string, entries []store.Entry) (out []string) {
	goes := map[string]bool{}
	for _, f := range back {
		goes[f.Path] = f.After == "" && !slices.Contains(moved, f.Path)
	}
	stays, holds := map[string]bool{}, map[string]bool{} // files, and the folders above them
	for _, e := range entries {
		if e.Type == store.TypeFolder || goes[e.Path] {
			continue
		}
		stays[e.Path] = true
		for dir := path.Dir(e.Path); dir != "."; dir = path.Dir(dir) {
			holds[dir] = true
		}
	}
	for _, f := range back {
		blocked := holds[f.Path]
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			blocked = blocked || stays[dir]
		}
		if blocked && f.Before == "" && !slices.Contains(moved, f.Path) {
			out = append(out, f.Path)
		}
	}
	return out
}

// remakeFolders stages the folders of restored threads: as the undo found them that removed
// them, or else with what they inherited when they were spawned, or got by an import.
func (u *Undoing) remakeFolders() error {
	var displaced store.Manifest
	if len(u.in.Remade) > 0 {
		var err error
		if displaced, err = u.c.Store().Displaced(u.op.ID); err != nil {
			return err
		}
	}
	for _, t := range u.in.Remade {
		name := "thread/" + string(t.ID)
		had := below(displaced, app.ThreadInStore(t.ID))
		filled := len(had) > 0
		if filled {
			if err := u.stage.Materialize(u.c.Context(), had, name, false); err != nil {
				return err
			}
		}
		for _, share := range t.Shared {
			if share.How == "spawn" && len(had) == 0 {
				if err := u.materialize(share.Manifest, name, false); err != nil {
					return err
				}
				filled = true
			}
		}
		for _, c := range t.Checkpoints {
			if filled || c.Name != app.ImportedCheckpoint || c.Files == 0 {
				continue
			}
			if err := u.materialize(c.Manifest, name, false); err != nil {
				return err
			}
			filled = true
		}
		for _, ref := range u.in.Copied {
			if ref.From == t.ID {
				if err := u.materialize(ref.Manifest, name+"/"+store.InheritedDir+"/"+string(ref.ID), true); err != nil {
					return err
				}
				filled = true
			}
		}
		step := thread.Step{Do: thread.StepMakeDir, To: app.ThreadInStore(t.ID)}
		if filled {
			step = thread.Step{Do: thread.StepPlace, From: u.stage.Rel(name), To: step.To}
		}
		u.steps = append(u.steps, step)
	}
	return nil
}

// below returns the files of a list that are in a thread's folder, by their paths in it, without
// the copies of references.
func below(all store.Manifest, folder string) (out store.Manifest) {
	for _, f := range all {
		rel, in := strings.CutPrefix(f.Path, folder+"/")
		if !in || strings.HasPrefix(rel, store.InheritedDir+"/") {
			continue
		}
		f.Path = rel
		out = append(out, f)
	}
	return out
}

// putBackCopies stages the frozen copies of references whose threads kept their
// folders.
func (u *Undoing) putBackCopies() error {
	for _, ref := range u.in.Copied {
		if slices.ContainsFunc(u.in.Remade, func(t thread.Thread) bool { return t.ID == ref.From }) {
			continue
		}
		name := "copy/" + string(ref.ID)
		if err := u.materialize(ref.Manifest, name, true); err != nil {
			return err
		}
		u.steps = append(u.steps,
			thread.Step{Do: thread.StepMakeDir, To: app.ThreadInStore(ref.From) + "/" + store.InheritedDir},
			thread.Step{Do: thread.StepPlace, From: u.stage.Rel(name), To: artifacts.FrozenPlace(ref.From, ref.ID), Content: ref.Manifest})
	}
	return nil
}

func (u *Undoing) materialize(list thread.BlobID, to string, readOnly bool) error {
	m, err := u.c.Store().Manifest(list)
	if err != nil {
		return err
	}
	return u.stage.Materialize(u.c.Context(), m, to, readOnly)
}

// free refuses to create a folder where one exists. Call it before the records are
// restored, because they would count as the folder's owner.
func (u *Undoing) free(s *thread.State) error {
	for _, t := range u.in.Remade {
		if s.Exists(t.ID) {
			return u.conflict("another folder is in the place of thread '" + string(t.ID) + "'")
		}
	}
	return nil
}

// untouched refuses to remove what somebody has written since.
func (u *Undoing) untouched() error {
	for _, t := range u.in.Removed {
		found, err := u.written(t)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return u.conflict("artifacts were written in thread '" + string(t.ID) + "': " + SomeOf(found)).
				WithHint("End the thread with leslie cancel; its artifacts stay").
				WithNext("leslie artifacts " + string(t.ID))
		}
	}
	for _, ref := range u.in.Dropped {
		entries, damaged, err := u.c.Store().CheckFrozen(u.c.Context(), ref)
		if err != nil {
			return err
		}
		if len(entries) > 0 && len(damaged) > 0 {
			return u.conflict("the frozen copy of '" + string(ref.ID) + "' was changed: " + SomeOf(damaged)).
				WithHint("Remove the reference with leslie reference remove").
				WithNext("leslie reference list --from " + string(ref.From))
		}
	}
	return nil
}

// written returns the paths in a thread's folder that spawn or import did not put there, or
// that have changed since.
func (u *Undoing) written(t thread.Thread) ([]string, error) {
	var given store.Manifest
	for _, share := range t.Shared {
		m, err := u.c.Store().Manifest(share.Manifest)
		if err != nil {
			return nil, err
		}
		given = append(given, m...)
	}
	for _, c := range t.Checkpoints { // of an import: one that was made later is later work
		m, err := u.c.Store().Manifest(c.Manifest)
		if err != nil {
			return nil, err
		}
		given = append(given, m...)
	}
	refs := slices.DeleteFunc(slices.Clone(u.in.Taken), func(ref thread.Reference) bool { return ref.From != t.ID })
	return u.c.Store().UnknownEntries(u.c.Context(), t.ID, given, refs)
}

// SomeOf names the first few of many.
func SomeOf(paths []string) string {
	const few = 5
	if len(paths) <= few {
		return app.Joined(paths)
	}
	return app.Joined(paths[:few]) + " and " + strconv.Itoa(len(paths)-few) + " more"
}
