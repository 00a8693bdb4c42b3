package state

import (
	"context"
	"path"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/content"
	"leslie/store/internal/filework"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/store/internal/statefile"
	"leslie/thread"
	"leslie/warnings"
)

// This file commits a restored state: by the rename of the state, as every write does. The
// state then names what the next writer places if this process dies.

// Restore commits a restored state; kept are the lists of displaced files, by their
// operations.
func (s *Writer) Restore(ctx context.Context, now *Loaded, next statefile.Image, kept map[thread.OperationID][]byte) (notes warnings.List, err error) {
	w, err := filework.Open(s.Disk)
	if err != nil {
		return nil, s.WriteFailed(err)
	}
	defer w.Close()
	if err := w.Prepare(next.Pending); err != nil {
		return nil, err
	}
	for op, list := range kept { // of blobs, which harm nobody without the state
		if err := s.putKept(w, op, list); err != nil {
			return nil, err
		}
	}
	if err := saferoot.Stopped(ctx); err != nil {
		return nil, err
	}
	if err := s.Swap(now, next); err != nil {
		return nil, err
	}
	notes = now.Warnings
	durable := s.DoneOrWarn(&notes, durableState, s.SyncDir(s.Path(".")))
	if next.Pending != nil {
		s.placedOrWarn(&notes, next.Pending, w.CarryOut(next.Pending, durable && w.Reach(scan.Threads) == nil))
	}
	s.DoneOrWarn(&notes, keptAnswer, s.keepAnswers())
	return notes, nil
}

func (s *Writer) putKept(w filework.Work, op thread.OperationID, list []byte) error {
	if !saferoot.SingleName(string(op)) {
		return codes.UnsafePath.New(fact.Of("path", content.Kept+"/"+string(op)))
	}
	if err := w.Ensure(content.Kept); err != nil {
		return err
	}
	if err := w.Sync(); err != nil {
		return err
	}
	if err := s.Replace(path.Join(content.Kept, string(op)), list); err != nil {
		return err
	}
	return s.WriteFailed(s.SyncDir(s.Path(content.Kept)))
}
