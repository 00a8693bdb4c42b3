package state

import (
	"errors"
	"io/fs"
	"os"

	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/store/internal/statefile"
	"leslie/thread"
)

// This file makes a state of the whole journal, and compares the two.

// IndexJournal reads the whole journal; broken is why there is no file to read. Errors:
// T509.
func (s *Files) IndexJournal() (x journal.Index, broken string, err error) {
	err = s.InJournal(func(j journal.File) error {
		broken = j.Broken
		x, err = journal.ReadIndex(j, s.Now())
		return err
	})
	return x, broken, err
}

// Rebuild makes a state of the journal alone. Where operations are missing, it applies
// the later ones all the same: each has its records whole, except for long texts that
// it did not change, which are those of the lines before it. broken is why
// there is no journal to read. It is nil if the journal has nothing to build from, unless
// nothing ever happened in the store. Errors: T509.
func (s *Files) Rebuild(x journal.Index, broken string) (*Loaded, error) {
	m, ok := statefile.Image{Records: thread.Records{}}, false
	err := s.InJournal(func(j journal.File) error {
		return x.Replay(j, func(e journal.Entry) bool {
			if next, err := m.Apply(e); err == nil {
				m, ok = next, true
			}
			return true
		})
	})
	if err != nil || !ok && !s.unused(x, broken) {
		return nil, err
	}
	return &Loaded{Image: m, broken: true, Tail: m.Revision}, nil
}

// Contradicted returns the records about which the journal contradicts the state, in
// order. Errors: T509, T901.
func (s *Files) Contradicted(x journal.Index, m statefile.Image) (records []string, err error) {
	err = s.InJournal(func(j journal.File) error {
		records, err = x.Contradicts(j, m.Revision, m.Operation, m.Records)
		return err
	})
	return records, err
}

// Rebuildable reports whether Repair can make a state if neither file is whole.
func (s *Files) Rebuildable() bool {
	x, broken, err := s.IndexJournal()
	return err == nil && (!x.Empty() || s.unused(x, broken))
}

// unused reports whether nothing ever happened in the store: no operation, no archive,
// no thread. Then, and only then, the state is the empty one.
func (s *Files) unused(x journal.Index, broken string) bool {
	entries, err := os.ReadDir(s.Path(scan.Threads))
	none := err == nil && len(entries) == 0 || errors.Is(err, fs.ErrNotExist)
	return none && len(x.Bad) == 0 && broken == "" && x.Empty() && !saferoot.Exists(s.Path(ArchiveFile))
}
