package store

import (
	"io"
	"io/fs"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// OpenArtifact opens one of the thread's files, which was listed in the same
// Consistent or Settled, to be read piece by piece, however large it is. Errors:
// T507, T509 with fs.ErrNotExist in its chain where there is none.
func (s *Store) OpenArtifact(id thread.ThreadID, rel string) (io.ReadCloser, error) {
	root, err := s.openThread(id)
	if err != nil {
		return nil, saferoot.CannotRead(threadPath(id, rel), err)
	}
	defer root.Close()
	if !fs.ValidPath(rel) || codes.Has(saferoot.RealFolder(root, rel), codes.UnsafePath) {
		return nil, codes.UnsafePath.New(fact.Of("path", saferoot.Shown(threadPath(id, rel))))
	}
	f, _, err := saferoot.OpenIn(root, rel)
	if err != nil {
		return nil, saferoot.CannotRead(threadPath(id, rel), err)
	}
	return f, nil
}
