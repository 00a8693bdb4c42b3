package store

import (
	"errors"
	"io/fs"
	"os"

	"leslie/store/internal/journal"
	"leslie/store/internal/statefile"
	"leslie/thread"
)

// This file makes a state of the whole journal, and compares the two.

// indexJournal reads the whole journal; broken is why there is no file to read. Errors:
// T509.
func (s *Store) indexJournal() (x journal.Index, broken string, err error) {
	err = s.inJournal(func(j journal.File) error {
		broken = j.Broken
		x, err = journal.ReadIndex(j, s.now())
		return err
	})
	return x, broken, err
}

// rebuild makes a state of the journal alone. Where operations are missing, it applies
// the later ones all the same: each has its records whole, except for long texts that
// it did not change, which are those of the lines before it. ok is false if the journal
// has nothing to build from. Errors: T509.
func (s *Store) rebuild(x journal.Index) (m statefile.Image, ok bool, err error) {
	m = statefile.Image{Records: thread.Records{}}
	err = s.inJournal(func(j journal.File) error {
		return x.Replay(j, func(e journal.Entry) bool {
			if next, err := m.Apply(e); err == nil {
				m, ok = next, true
			}
			return true
		})
	})
	return m, ok, err
}

// contradicted returns the records about which the journal contradicts the state, in
// order. Errors: T509, T901.
func (s *Store) contradicted(x journal.Index, m statefile.Image) (records []string, err error) {
	err = s.inJournal(func(j journal.File) error {
		records, err = x.Contradicts(j, m.Revision, m.Operation, m.Records)
		return err
	})
	return records, err
}

// rebuildable reports whether Repair can make a state if neither file is whole.
func (s *Store) rebuildable() bool {
	x, broken, err := s.indexJournal()
	return err == nil && (!x.Empty() || s.unused(x, broken))
}

// unused reports whether nothing ever happened in the store: no operation, no archive,
// no thread. Then, and only then, the state is the empty one.
func (s *Store) unused(x journal.Index, broken string) bool {
	entries, err := os.ReadDir(s.Path(ThreadsDir))
	none := err == nil && len(entries) == 0 || errors.Is(err, fs.ErrNotExist)
	return none && len(x.Bad) == 0 && broken == "" && x.Empty() && !exists(s.Path(ArchiveFile))
}
