package state

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
)

// This file reads and writes the stored answers of requests.

// AnswerTo finds the answer in the state's own operation, in those that are in memory, or in
// its file; nil if there is none. For a damaged file it searches the journal.
func (s *Files) AnswerTo(id string, last *journal.Operation, ahead []journal.Entry) (a *journal.Answer, err error) {
	take := func(e journal.Entry) {
		found := journal.AnswerOf(e)
		a = &found
	}
	if last != nil && last.RequestID == id {
		e, err := last.All()
		take(e)
		return a, err
	}
	for _, e := range ahead {
		if e.RequestID == id {
			take(e)
			return a, nil
		}
	}
	kept, err := s.ReadAnswer(AnswerFile(id))
	var d saferoot.Damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && len(kept.Answer) > 0:
		return &kept, nil
	case err != nil && !errors.As(err, &d):
		return nil, s.ReadFailed(err)
	}
	err = s.InJournal(func(j journal.File) error {
		return j.Newest(func(e journal.Entry) bool {
			if e.RequestID == id {
				take(e)
			}
			return a == nil && !journal.Forgotten(e.Time, s.Now())
		})
	})
	return a, err
}

// ReadAnswer reads the file of an answer. Errors: saferoot.Damage, else the system's.
func (s *Files) ReadAnswer(name string) (journal.Answer, error) {
	data, _, err := saferoot.ReadRegular(s.Path(name))
	if err != nil {
		return journal.Answer{}, err
	}
	a, ok := journal.ReadAnswer(data)
	switch {
	case !ok:
		return a, saferoot.Damage("its checksum does not fit")
	case AnswerFile(a.ID) != name:
		return a, saferoot.Damage("it is that of another request")
	}
	return a, nil
}

// keepAnswer writes the file of an operation's answer, if the operation has a request
// id and the file is not there yet. Errors: T505.
func (s *Writer) keepAnswer(op *journal.Operation) error {
	if op == nil || op.RequestID == "" {
		return nil
	}
	if kept, err := s.ReadAnswer(AnswerFile(op.RequestID)); err == nil && kept.Operation == op.ID {
		return nil
	}
	e, err := op.All()
	if err != nil {
		return err
	}
	return s.WriteAnswer(journal.AnswerOf(e))
}

// keepAnswers writes the answers of requests that are still remembered.
func (s *Writer) keepAnswers() error {
	j, err := s.openJournal()
	if err != nil {
		return err
	}
	defer j.Close()
	var owing []journal.Answer
	err = j.Newest(func(e journal.Entry) bool {
		forgotten := journal.Forgotten(e.Time, s.Now())
		if !forgotten && e.RequestID != "" {
			owing = append(owing, journal.AnswerOf(e))
		}
		return !forgotten
	})
	for _, a := range slices.Backward(owing) {
		if err == nil {
			err = s.WriteAnswer(a)
		}
	}
	return err
}

// WriteAnswer puts the file of an answer on disk. Errors: T505.
func (s *Writer) WriteAnswer(a journal.Answer) error { return s.writeAnswers(a) }

// writeAnswers puts the files of answers on disk. Errors: T505.
func (s *Writer) writeAnswers(all ...journal.Answer) (err error) {
	if len(all) == 0 {
		return nil
	}
	fresh := !saferoot.Exists(s.Path(RequestsDir))
	if fresh {
		if err := s.Mkdir(s.Path(RequestsDir)); err != nil {
			return s.WriteFailed(err)
		}
	}
	if !saferoot.IsFolder(s.Path(RequestsDir)) {
		return s.WriteFailed(&fs.PathError{Op: "open", Path: s.Path(RequestsDir), Err: saferoot.ErrNotFolder})
	}
	for _, a := range all {
		data, err := a.Encode()
		if err != nil {
			return err
		}
		if err := s.Replace(AnswerFile(a.ID), data); err != nil {
			return err
		}
	}
	if fresh {
		err = s.SyncDir(s.Path("."))
	}
	if err == nil {
		err = s.SyncDir(s.Path(RequestsDir))
	}
	return s.WriteFailed(err)
}

// forgetOld removes answers that are no longer kept, as far as it can.
func (s *Writer) forgetOld() {
	entries, err := os.ReadDir(s.Path(RequestsDir))
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && journal.Forgotten(info.ModTime(), s.Now()) {
			_ = s.Remove(s.Path(RequestsDir + "/" + e.Name()))
		}
	}
}

// AnswerFile is the place of the answer to a request.
func AnswerFile(id string) string { return RequestsDir + "/" + journal.AnswerName(id) }
