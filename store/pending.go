package store

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/thread"
	"leslie/warnings"
)

// This file carries out the file-system work of an operation. The work is recorded
// with the state before it starts, so a process that holds the lock and finds it
// pending knows that its process is dead, and finishes it.
//
// Every step can be repeated:
//
//   - mkdir is done if the folder exists;
//   - place is done if the staged name is gone: a rename moved it;
//   - remove is done if the old content is in tmp/OP.displaced, or if that folder, which
//     was created before the commit, is gone;
//   - replace is done if the staged name is gone, which is removed last, and the file has
//     the content that the step names, or one that somebody saved since; a staged file
//     that is gone too early is restored from its blob;
//   - delete is done if nothing is there and nothing was displaced. Both check the file
//     before it is moved and again afterwards, and never take over a name that somebody
//     uses: what was saved since the plan stays where it is;
//   - append is done if the file has the line.
//
// Displaced content becomes blobs in that folder, which one rename then removes, as
// the last step: its absence says that everything is done, and nothing that somebody
// creates later at the same name is mistaken for what had to be removed. So no sweep
// removes the folders of an operation with pending work.

// These folders are next to the stage, not in it: its process may close the stage
// while a step is still pending.
const (
	stageLock = "lock"       // in tmp/OP/: held by the stage's maker
	displaced = ".displaced" // tmp/OP.displaced/: what stood in the way
	spent     = ".spent"     // tmp/OP.spent/: the same, kept as blobs, to be removed
)

// proper reports whether a step stays within its folders. A state from a stranger may
// contain anything.
func proper(step thread.Step) bool {
	if step.Do == thread.StepAppend {
		return fs.ValidPath(step.To) && step.From == "" && oneLine(step)
	}
	to := fs.ValidPath(step.To) && (strings.HasPrefix(step.To, ThreadsDir+"/") || strings.HasPrefix(step.To, MergesDir+"/"))
	from := step.From == ""
	if step.Do == thread.StepPlace || step.Do == thread.StepReplace {
		from = fs.ValidPath(step.From) && strings.HasPrefix(step.From, TmpDir+"/") && strings.Count(step.From, "/") >= 2
	}
	known := slices.Contains([]thread.StepKind{thread.StepMakeDir, thread.StepPlace, thread.StepRemove, thread.StepReplace, thread.StepDelete}, step.Do)
	return to && from && known
}

// stageRemovals checks the steps of an operation before it is committed (they
// stay in their places, and what they place is there) and makes the folder that
// takes what removals displace. Errors: T505, T901.
func (s *Store) stageRemovals(w fileWork, p *thread.Pending) error {
	if p == nil {
		return nil
	}
	for _, step := range p.Steps {
		if !proper(step) || !saferoot.SingleName(string(p.Operation)) {
			return stray(step)
		}
	}
	if !slices.ContainsFunc(p.Steps, func(step thread.Step) bool { return step.Do != thread.StepMakeDir }) {
		return nil // as for most: nothing was staged, and nothing goes
	}
	removes := false
	for _, step := range p.Steps {
		if err := w.staged(step); err != nil {
			return err
		}
		if step.Do == thread.StepAppend {
			if err := w.appendable(step.To); err != nil {
				return err
			}
		}
		removes = removes || step.Do == thread.StepRemove || step.Do == thread.StepDelete
	}
	if !removes {
		return nil
	}
	if err := w.Ensure(shelves(p)); err != nil {
		return err
	}
	return w.Sync()
}

// staged refuses a step that has nothing to place. Errors: T509, T901.
func (w fileWork) staged(step thread.Step) error {
	if step.Do != thread.StepPlace && step.Do != thread.StepReplace {
		return nil
	}
	there, err := w.Exists(step.From)
	if err == nil && !there {
		err = codes.Internal.New(fact.Of("reason", "nothing was staged to be placed at "+step.To))
	}
	return err
}

func stray(step thread.Step) error {
	return codes.Internal.New(fact.Of("reason", "a step leads out of its place: "+string(step.Do)+" "+step.To))
}

// fileWork is the store's folder, open for steps.
type fileWork struct{ *saferoot.Root }

func (s *Store) openWork() (fileWork, error) {
	root, err := s.disk.Open()
	return fileWork{root}, err
}

// undone returns the steps that are really undone.
func (s *Store) undone(p *thread.Pending) []thread.Step {
	if p == nil {
		return nil
	}
	w, err := s.openWork()
	if err != nil {
		return slices.Clone(p.Steps)
	}
	defer w.Close()
	return w.undone(p)
}

func (w fileWork) undone(p *thread.Pending) (out []thread.Step) {
	for i, step := range p.Steps {
		if done, err := w.done(p, i); proper(step) && (!done || err != nil) {
			out = append(out, step)
		}
	}
	return out
}

// done reports whether a step was carried out. Errors: T509.
func (w fileWork) done(p *thread.Pending, i int) (bool, error) {
	step := p.Steps[i]
	switch step.Do {
	case thread.StepMakeDir:
		return w.Exists(step.To)
	case thread.StepPlace:
		waiting, err := w.Exists(step.From)
		return !waiting, err
	case thread.StepReplace:
		return w.replaced(p, step)
	case thread.StepAppend:
		return w.appended(step)
	}
	shelved, err := w.Exists(shelves(p))
	if !shelved || err != nil {
		return !shelved, err
	}
	if err := w.homeOf(step); err != nil {
		return false, err
	}
	stands, err := w.Exists(step.To)
	if err != nil {
		return false, err
	}
	displaced, err := w.Exists(shelf(p, i))
	if step.Do == thread.StepDelete { // what was displaced may have to go back
		return !displaced && !stands, err
	}
	return displaced || !stands, err
}

// shelves is the folder for what an operation displaces, shelf the name that
// what step i displaces gets there.
func shelves(p *thread.Pending) string { return path.Join(TmpDir, string(p.Operation)+displaced) }

func shelf(p *thread.Pending, i int) string { return path.Join(shelves(p), strconv.Itoa(number(p, i))) }

// number is that of a step in its operation.
func number(p *thread.Pending, i int) int {
	if p.At != nil {
		return p.At[i]
	}
	return i
}

// carryOut does what is undone of an operation's steps, has it on disk, keeps
// what was displaced as blobs, and takes it away. It is called under the
// store's lock. known says that the folder of threads is there and its name on
// disk. Errors: T505, T507, T509.
func (s *Store) carryOut(w fileWork, p *thread.Pending, known bool) error {
	if known {
		w.Trust(ThreadsDir)
	}
	for i := range p.Steps {
		if err := w.carry(p, i); err != nil {
			return s.disk.WriteFailed(err)
		}
	}
	if err := w.Sync(); err != nil {
		return err
	}
	if err := w.dropLinked(p); err != nil {
		return s.disk.WriteFailed(err)
	}
	return s.disk.WriteFailed(s.clearShelves(w, p))
}

// dropLinked removes the staged names of files whose other name is on disk.
func (w fileWork) dropLinked(p *thread.Pending) error {
	for _, step := range p.Steps {
		if step.Do != thread.StepReplace {
			continue
		}
		there, err := w.Exists(step.From)
		if there && err == nil {
			err = w.Remove(step.From)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w fileWork) carry(p *thread.Pending, i int) error {
	step := p.Steps[i]
	if !proper(step) {
		return stray(step)
	}
	if step.Do == thread.StepMakeDir {
		return w.makeFolder(step.To)
	}
	done, err := w.done(p, i)
	if err != nil {
		return err
	}
	if done {
		w.touchStanding(path.Dir(step.To)) // done, but perhaps not on disk yet
		if step.Do == thread.StepAppend {
			return w.syncLines(step.To)
		}
		return nil
	}
	if err := w.homeOf(step); err != nil {
		return err
	}
	switch step.Do {
	case thread.StepAppend:
		return w.appendLine(step)
	case thread.StepReplace, thread.StepDelete:
		return w.exchange(p, i)
	}
	if err := w.displace(step.To, shelf(p, i)); err != nil {
		return err
	}
	if step.Do == thread.StepRemove {
		return nil
	}
	if err := w.Ensure(path.Dir(step.To)); err != nil {
		return err
	}
	w.Touch(path.Dir(step.To))
	return w.Rename(step.From, step.To)
}

// homeOf refuses a step whose thread, or merge, has a link in place of its folder:
// what the link leads to is not what the step was planned on. A folder that is
// missing is made. Errors: T507, T509.
func (w fileWork) homeOf(step thread.Step) error {
	home := path.Dir(step.To)
	for strings.Count(home, "/") > 1 {
		home = path.Dir(home)
	}
	err := w.Reach(home)
	if codes.Has(err, codes.UnsafePath) {
		return err
	}
	if saferoot.Uncertain(err) {
		return saferoot.CannotRead(home, err)
	}
	return nil
}

// makeFolder makes a folder where nothing stands: what does is left as it is.
func (w fileWork) makeFolder(rel string) error {
	dir := path.Dir(rel)
	if err := w.Ensure(dir); err != nil {
		return err
	}
	if err := w.Mkdir(rel); err != nil && !errors.Is(err, fs.ErrExist) {
		return saferoot.CannotWrite(rel, err)
	}
	w.Touch(dir)
	return nil
}

// touchStanding is touch for a folder that somebody may have taken away since:
// the steps of an operation are looked at until the next one is made.
func (w fileWork) touchStanding(rel string) {
	if w.Reach(rel) == nil {
		w.Touch(rel)
	}
}

// displace moves what stands at a name onto a shelf.
func (w fileWork) displace(name, shelf string) error {
	stands, err := w.Exists(name)
	if !stands || err != nil {
		return err
	}
	// A process may have died after it displaced, and somebody made the name anew.
	if shelf, err = w.Free(shelf, "+"); err != nil {
		return err
	}
	if err := w.Ensure(path.Dir(shelf)); err != nil {
		return err
	}
	w.Touch(path.Dir(name))
	return w.Rename(name, shelf)
}

// clearShelves keeps what was displaced as blobs and takes it away. What cannot
// be removed then is in nobody's way: sweeps try again, doctor names it.
// Errors: T505, T509; unkept.
func (s *Store) clearShelves(w fileWork, p *thread.Pending) error {
	gone := path.Join(TmpDir, string(p.Operation)+spent)
	shelved, err := w.Exists(shelves(p))
	if err != nil {
		return err
	}
	if shelved {
		kept, err := content.Keep(s.disk, shelves(p))
		if err != nil {
			return unkept{err}
		}
		if err := s.keepUnnamed(p, kept); err != nil {
			return err
		}
		if err := w.Rename(shelves(p), gone); err != nil {
			return err
		}
	}
	if left, err := w.Exists(gone); left && err == nil {
		_ = w.RemoveAll(gone)
	}
	return nil
}

// unkept says that all steps are done and on disk, and that what they displaced
// could not be put into blobs.
type unkept struct{ error }

func (e unkept) Unwrap() error { return e.error }

// clearUp is clearShelves for the steps of an earlier operation. What they displaced
// and nobody can read (a folder without permission, a bad sector) must not keep the
// store from being written for ever: it is moved aside. Errors: T505, T507, T509.
func (s *Store) clearUp(w fileWork, p *thread.Pending, out *warnings.List) error {
	err := s.clearShelves(w, p)
	var e unkept
	if !errors.As(err, &e) || !codes.Has(err, codes.ReadFailed) {
		return s.disk.WriteFailed(err)
	}
	to := s.disk.AsideName("displaced")
	if err := s.disk.Rename(s.Path(shelves(p)), to); err != nil {
		return s.disk.WriteFailed(err)
	}
	out.Add(warnings.NotSettled.New(
		fact.Of("what", "keeping what the operation '"+string(p.Operation)+"' displaced"),
		fact.Of("reason", s.disk.Reason(e.error)+"; it was moved aside to "+s.disk.Relative(to))))
	return nil
}

// keepUnnamed keeps a list of what an operation displaced and no list of its own names.
// Errors: T505.
func (s *Store) keepUnnamed(p *thread.Pending, all Manifest) error {
	var unnamed Manifest
	for _, f := range all {
		planned := slices.ContainsFunc(p.Steps, func(step thread.Step) bool { return step.Expect == f.SHA256 })
		if planned {
			continue
		}
		first, rest, _ := strings.Cut(f.Path, "/")
		for i, step := range p.Steps {
			if strconv.Itoa(number(p, i)) == strings.TrimRight(first, "+") {
				f.Path = path.Join(step.To, rest)
			}
		}
		unnamed = append(unnamed, f)
	}
	if len(unnamed) == 0 {
		return nil
	}
	return content.KeepList(s.disk, string(p.Operation), unnamed)
}
