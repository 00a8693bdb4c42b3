package store

import (
	"os"
	"path"

	"leslie/internal/atomicfile"
	"leslie/thread"
)

// This file is the short way behind a commit, for operations that only add: a few
// folders, or staged things at places where nothing stands. To be put on disk one
// after the other, the state's name, the folders and the journal's line take a disk
// three times as long as all at once; and where nothing is moved away, it does not
// matter which of them a power cut keeps.

// fewSteps is how many steps may be added at once.
const fewSteps = 8

// addsKinds reports whether steps are of the kinds that add.
func addsKinds(p *thread.Pending) bool {
	if p == nil || len(p.Steps) > fewSteps {
		return p == nil
	}
	for _, step := range p.Steps {
		if step.Do != thread.StepMakeDir && step.Do != thread.StepPlace || !proper(step) {
			return false
		}
	}
	return true
}

// addsOnly reports whether steps add to what is there and move nothing away. A folder
// that is to be made may stand already.
func (w fileWork) addsOnly(p *thread.Pending) bool {
	if p == nil || !addsKinds(p) {
		return p == nil
	}
	for _, step := range p.Steps {
		if step.Do == thread.StepMakeDir {
			continue
		}
		if taken, err := w.there(step.To); taken || err != nil {
			return false
		}
	}
	return true
}

// addAll carries steps out that only add, and returns what has to be on disk then.
// Errors: T505, T507, T509.
func (s *Store) addAll(w fileWork, p *thread.Pending) ([]flush, error) {
	w.knows(ThreadsDir) // its own name goes to disk with the state's
	var err error
	for i := range p.Steps {
		if err = w.carry(p, i); err != nil {
			break
		}
	}
	delete(w.touched, ".")
	return w.unsettled(), s.writeFailed(err)
}

// flushAround is what has to be on disk so that steps which were done stay done. A
// folder that somebody has taken away since has no names to be kept.
func (w fileWork) flushAround(p *thread.Pending) []flush {
	for _, step := range p.Steps {
		for dir := path.Dir(step.To); dir != "."; dir = path.Dir(dir) {
			w.touchStanding(dir)
		}
	}
	return w.unsettled()
}

// flushStore is the names in the store's own folder.
func (s *Store) flushStore() flush {
	at := s.Path(".")
	return flush{ActSyncDir, at, func() error { return atomicfile.SyncFolder(at) }}
}

// flushJournal is the journal's lines.
func (s *Store) flushJournal() flush {
	at := s.Path(JournalFile)
	return flush{ActSync, at, func() error {
		f, err := os.OpenFile(at, os.O_WRONLY|openCareful, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Sync()
	}}
}
