package state

import (
	"errors"
	"io/fs"

	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file opens the journal, and appends to it.

// openJournal opens the journal. Errors: T509.
func (s *Files) openJournal() (journal.File, error) {
	f, info, err := saferoot.OpenRegular(s.Path(JournalFile))
	var d saferoot.Damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return journal.File{}, nil
	case errors.As(err, &d):
		return journal.File{Broken: string(d)}, nil
	case err != nil:
		return journal.File{}, s.ReadFailed(err)
	}
	return journal.NewFile(f, info.Size()), nil
}

// InJournal calls fn with the journal. Errors: those of fn, with a code, and T509.
func (s *Files) InJournal(fn func(journal.File) error) error {
	j, err := s.openJournal()
	if err != nil {
		return err
	}
	defer j.Close()
	return s.ReadFailed(fn(j))
}

// tailNow is the newest operation that the journal knows by now.
func (s *Files) tailNow(before thread.Revision) thread.Revision {
	j, err := s.openJournal()
	if err != nil {
		return before
	}
	defer j.Close()
	end, err := j.Tail()
	if err != nil {
		return before
	}
	return end.Newest
}

// Record appends an operation to the journal, with its steps if they are not known to
// be done. Errors: T505.
func (s *Writer) Record(o *journal.Operation, undone []thread.Step) error {
	line, err := o.Line(undone)
	if err != nil {
		return err
	}
	return s.AppendLines(JournalFile, line)
}
