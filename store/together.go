package store

import (
	"os"
	"path"

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

// addsOnly reports whether steps add to what is there and move nothing away.
func (s *Store) addsOnly(p *thread.Pending) bool {
	if p == nil || !addsKinds(p) {
		return p == nil
	}
	w, err := s.openWork()
	if err != nil {
		return false
	}
	defer w.close()
	for _, step := range p.Steps {
		if taken, err := w.there(step.To); taken || err != nil {
			return false
		}
	}
	return true
}

// addAll carries steps out that only add, and returns what has to be on disk then.
// Errors: T505, T507, T509.
func (s *Store) addAll(p *thread.Pending) ([]flush, error) {
	standing := s.standing(ThreadsDir)
	w, err := s.openWork()
	if err != nil {
		return nil, s.writeFailed(err)
	}
	defer w.close()
	w.made[ThreadsDir] = standing // its own name goes to disk with the state's
	for i := range p.Steps {
		if err = w.carry(p, i); err != nil {
			break
		}
	}
	delete(w.touched, ".")
	return s.flushFolders(w.touched), s.writeFailed(err)
}

// flushAround is what has to be on disk so that steps which were done stay done.
func (s *Store) flushAround(p *thread.Pending) []flush {
	folders := map[string]bool{}
	for _, step := range p.Steps {
		for dir := path.Dir(step.To); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	return s.flushFolders(folders)
}

func (s *Store) flushFolders(folders map[string]bool) []flush {
	out := make([]flush, 0, len(folders))
	for _, rel := range deepestFirst(folders) {
		out = append(out, s.flushFolder(rel))
	}
	return out
}

// flushFolder is the names in a folder, which is not reached through a link.
func (s *Store) flushFolder(rel string) flush {
	at := s.Path(rel)
	if rel == "." {
		return flush{ActSyncDir, at, func() error { return syncFolder(at) }}
	}
	return flush{ActSyncDir, at, func() error {
		base, err := s.base()
		if err != nil {
			return err
		}
		defer base.Close()
		return syncInside(base, rel)
	}}
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
