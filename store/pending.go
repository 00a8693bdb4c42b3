package store

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/fact"
	"leslie/thread"
)

// This file carries out the file-system work of an operation. The work is
// recorded with the state before it is begun, so a lock holder that finds it
// there and undone knows that its maker is dead, and sees it through.
//
// Every step can be done again:
//
//   - mkdir is done when the folder is there;
//   - place is done when the staged name is gone: a rename took it away;
//   - remove is done when what stood there lies in tmp/OP.displaced, or when
//     that folder, which was made before the operation was committed, is gone;
//   - replace is done when the staged name is gone, which is taken away last;
//     delete when nothing stands there and nothing was displaced. Both look at
//     what stands there, before it is moved and again after, and take no name
//     that somebody has: what was saved since the plan stays where it is.
//
// What is displaced becomes blobs in that folder, which is then taken away by
// one rename, the last thing to happen: its absence says that all is done, and
// nothing that somebody makes later at the same name is taken for what had to
// go.

// These folders stand beside the stage, not in it: its maker may close the stage
// while a step is still undone.
const (
	stageLock = "lock"       // in tmp/OP/: held by the stage's maker
	displaced = ".displaced" // tmp/OP.displaced/: what stood in the way
	spent     = ".spent"     // tmp/OP.spent/: the same, kept as blobs, to be removed
)

// proper reports whether a step stays where steps belong. A state that came
// from a stranger may hold anything.
func proper(step thread.Step) bool {
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
func (s *Store) stageRemovals(p *thread.Pending) error {
	if p == nil {
		return nil
	}
	w, err := s.openWork()
	if err != nil {
		return s.writeFailed(err)
	}
	defer w.close()
	removes := false
	for _, step := range p.Steps {
		if !proper(step) || !singleName(string(p.Operation)) {
			return stray(step)
		}
		placed := step.Do == thread.StepPlace || step.Do == thread.StepReplace
		if placed && !w.there(step.From) {
			return codes.Internal.New(fact.Of("reason", "nothing was staged to be placed at "+step.To))
		}
		removes = removes || step.Do == thread.StepRemove || step.Do == thread.StepDelete
	}
	if !removes {
		return nil
	}
	if err := w.ensure(shelves(p)); err != nil {
		return err
	}
	return w.settle()
}

func stray(step thread.Step) error {
	return codes.Internal.New(fact.Of("reason", "a step leads out of its place: "+string(step.Do)+" "+step.To))
}

// work is the store's folder, open for steps.
type work struct{ *folders }

func (s *Store) openWork() (work, error) {
	root, err := s.base()
	if err != nil {
		return work{}, err
	}
	return work{newFolders(s.rooted(root))}, nil
}

func (w work) close() { _ = w.root.Close() }

func (w work) there(rel string) bool {
	_, err := w.root.Lstat(rel)
	return err == nil
}

// undone returns the steps that are really undone.
func (s *Store) undone(p *thread.Pending) []thread.Step {
	if p == nil {
		return nil
	}
	w, err := s.openWork()
	if err != nil {
		return p.Steps
	}
	defer w.close()
	var out []thread.Step
	for i, step := range p.Steps {
		if proper(step) && !w.done(p, i) {
			out = append(out, step)
		}
	}
	return out
}

func (w work) done(p *thread.Pending, i int) bool {
	step := p.Steps[i]
	switch step.Do {
	case thread.StepMakeDir:
		return w.there(step.To)
	case thread.StepPlace, thread.StepReplace:
		return !w.there(step.From)
	}
	if step.Do == thread.StepDelete { // what was displaced may have to go back
		return !w.there(shelves(p)) || !w.there(shelf(p, i)) && !w.there(step.To)
	}
	return !w.there(shelves(p)) || w.there(shelf(p, i)) || !w.there(step.To)
}

// shelves is the folder for what an operation displaces, shelf the name that
// what step i displaces gets there.
func shelves(p *thread.Pending) string { return path.Join(TmpDir, string(p.Operation)+displaced) }

func shelf(p *thread.Pending, i int) string { return path.Join(shelves(p), strconv.Itoa(i)) }

// carryOut does what is undone of an operation's steps, has it on disk, keeps
// what was displaced as blobs, and takes it away. It is called under the
// store's lock. Errors: T505, T507, T509.
func (s *Store) carryOut(p *thread.Pending) error {
	w, err := s.openWork()
	if err != nil {
		return s.writeFailed(err)
	}
	defer w.close()
	for i := range p.Steps {
		if err := w.carry(p, i); err != nil {
			return s.writeFailed(err)
		}
	}
	if err := w.settle(); err != nil {
		return err
	}
	for _, step := range p.Steps {
		if step.Do != thread.StepReplace || !w.there(step.From) {
			continue
		}
		if err := w.remove(step.From); err != nil { // its other name is on disk
			return s.writeFailed(err)
		}
	}
	return s.writeFailed(s.clearShelves(w, p))
}

func (w work) carry(p *thread.Pending, i int) error {
	step := p.Steps[i]
	if !proper(step) {
		return stray(step)
	}
	if w.done(p, i) {
		w.touchStanding(path.Dir(step.To)) // done, but perhaps not on disk yet
		return nil
	}
	switch step.Do {
	case thread.StepMakeDir:
		return w.ensure(step.To)
	case thread.StepReplace, thread.StepDelete:
		return w.exchange(p, i)
	}
	if err := w.displace(step.To, shelf(p, i)); err != nil {
		return err
	}
	if step.Do == thread.StepRemove {
		return nil
	}
	if err := w.ensure(path.Dir(step.To)); err != nil {
		return err
	}
	w.touch(path.Dir(step.To))
	return w.rename(step.From, step.To)
}

// touchStanding is touch for a folder that somebody may have taken away since:
// the steps of an operation are looked at until the next one is made.
func (w work) touchStanding(rel string) {
	if realFolder(w.root, rel) == nil {
		w.touch(rel)
	}
}

// displace moves what stands at a name onto a shelf.
func (w work) displace(name, shelf string) error {
	if !w.there(name) {
		return nil
	}
	for w.there(shelf) { // a process died after it displaced, and somebody made the name anew
		shelf += "+"
	}
	if err := w.ensure(path.Dir(shelf)); err != nil {
		return err
	}
	w.touch(path.Dir(name))
	return w.rename(name, shelf)
}

// clearShelves keeps what was displaced as blobs and takes it away.
func (s *Store) clearShelves(w work, p *thread.Pending) error {
	gone := path.Join(TmpDir, string(p.Operation)+spent)
	if w.there(shelves(p)) {
		if err := s.keepTree(s.Path(shelves(p))); err != nil {
			return err
		}
		if err := w.rename(shelves(p), gone); err != nil {
			return err
		}
	}
	if !w.there(gone) {
		return nil
	}
	return w.removeAll(gone)
}
