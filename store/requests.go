package store

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/filework"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/thread"
	"leslie/warnings"
)

// This file stores the answers of calls with a request id, so that repeating the call
// returns the first answer and changes nothing.
//
// An operation has its answer: in the state from the commit on, and in the journal.
// The file of an answer is the index by id, so that a retry costs the same after a
// million operations; it is written after the commit, at the latest by the next writer
// before its own. So the state or the file always has the answer, and the journal has
// it if the file is damaged.
//
// A call that changed nothing creates no operation: only the file has its answer
// (Keep). A crash before that loses nothing, because there was nothing to do.

const forgetEvery = 64 // revisions between two looks for old answers

// Answered checks without the lock whether the call's request was answered before; it
// returns nil if not, or if the call has no id. Update checks again under the lock, and a
// rule may, too.
// Errors: T903 if the id belongs to another call, T509.
func (s *Store) Answered(ctx context.Context, call Call) (*Commit, error) {
	if call.Request == "" {
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, codes.Interrupted.Wrap(context.Cause(ctx))
	}
	var last *journal.Operation
	if now, err := s.load(); err == nil { // else Update says what is wrong
		if len(filework.Undone(s.disk, now.Pending)) > 0 {
			return nil, nil // the answer tells of files that Update first puts into place
		}
		last = now.Operation
	}
	return s.answered(call, last)
}

// answered returns the commit of the call that first had this request id.
func (s *Store) answered(call Call, last *journal.Operation) (*Commit, error) {
	if call.Request == "" {
		return nil, nil
	}
	a, err := s.answerTo(call.Request, last)
	if err != nil || a == nil || journal.Forgotten(a.Time, s.now()) {
		return nil, err
	}
	if a.Digest != journal.Digest(call.Command, call.Params) {
		return nil, codes.InvalidArgument.New(
			fact.Of("reason", "The request id '"+call.Request+"' was used for another call"),
			fact.Of("requestId", call.Request))
	}
	c := &Commit{Revision: a.Revision, Operation: a.Operation, Replay: a.Answer}
	c.Warnings.Add(warnings.RequestReplayed.New(fact.Of("requestId", call.Request), fact.Of("operationId", a.Operation)))
	return c, nil
}

// Keep stores the answer of a call that succeeded at a revision and had nothing to
// change. An answer that the same call got in the meantime stays. Errors: T501, T502,
// T505, T506, T509, T904; T903 if the id belongs to another call by now.
func (s *Store) Keep(ctx context.Context, call Call, at thread.Revision, given json.RawMessage) error {
	unlock, err := s.lock(ctx, call.Wait)
	if err != nil {
		return err
	}
	defer unlock()
	now, err := s.load()
	if err != nil {
		return err
	}
	if first, err := s.answered(call, now.Operation); first != nil || err != nil {
		return err
	}
	if err := s.dropTemporary(); err != nil {
		return err
	}
	return s.writeAnswer(journal.Answer{
		ID: call.Request, Digest: journal.Digest(call.Command, call.Params), Revision: at, Time: call.Stamp.Time, Answer: given,
	})
}

// answerTo finds the answer in the state's own operation, in those that are in memory, or in
// its file; nil if there is none. For a damaged file it searches the journal.
func (s *Store) answerTo(id string, last *journal.Operation) (a *journal.Answer, err error) {
	take := func(e journal.Entry) {
		found := journal.AnswerOf(e)
		a = &found
	}
	if last != nil && last.RequestID == id {
		e, err := last.All()
		take(e)
		return a, err
	}
	if ahead := s.ahead.Load(); ahead != nil {
		for _, e := range *ahead {
			if e.RequestID == id {
				take(e)
				return a, nil
			}
		}
	}
	kept, err := s.readAnswer(requestFile(id))
	var d saferoot.Damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && len(kept.Answer) > 0:
		return &kept, nil
	case err != nil && !errors.As(err, &d):
		return nil, s.disk.ReadFailed(err)
	}
	err = s.inJournal(func(j journal.File) error {
		return j.Newest(func(e journal.Entry) bool {
			if e.RequestID == id {
				take(e)
			}
			return a == nil && !journal.Forgotten(e.Time, s.now())
		})
	})
	return a, err
}

// readAnswer reads the file of an answer. Errors: saferoot.Damage, else the system's.
func (s *Store) readAnswer(name string) (journal.Answer, error) {
	data, _, err := saferoot.ReadRegular(s.Path(name))
	if err != nil {
		return journal.Answer{}, err
	}
	a, ok := journal.ReadAnswer(data)
	switch {
	case !ok:
		return a, saferoot.Damage("its checksum does not fit")
	case requestFile(a.ID) != name:
		return a, saferoot.Damage("it is that of another request")
	}
	return a, nil
}

// keepAnswer writes the file of an operation's answer, if the operation has a request
// id and the file is not there yet. Errors: T505.
func (s *Store) keepAnswer(op *journal.Operation) error {
	if op == nil || op.RequestID == "" {
		return nil
	}
	if kept, err := s.readAnswer(requestFile(op.RequestID)); err == nil && kept.Operation == op.ID {
		return nil
	}
	e, err := op.All()
	if err != nil {
		return err
	}
	return s.writeAnswer(journal.AnswerOf(e))
}

// writeAnswer puts the file of an answer on disk. Errors: T505.
func (s *Store) writeAnswer(a journal.Answer) error { return s.writeAnswers(a) }

// writeAnswers puts the files of answers on disk. Errors: T505.
func (s *Store) writeAnswers(all ...journal.Answer) (err error) {
	if len(all) == 0 {
		return nil
	}
	fresh := !exists(s.Path(RequestsDir))
	if fresh {
		if err := s.disk.Mkdir(s.Path(RequestsDir)); err != nil {
			return s.disk.WriteFailed(err)
		}
	}
	if !isFolder(s.Path(RequestsDir)) {
		return s.disk.WriteFailed(&fs.PathError{Op: "open", Path: s.Path(RequestsDir), Err: saferoot.ErrNotFolder})
	}
	for _, a := range all {
		data, err := a.Encode()
		if err != nil {
			return err
		}
		if err := s.disk.Replace(requestFile(a.ID), data); err != nil {
			return err
		}
	}
	if fresh {
		err = s.disk.SyncDir(s.Path("."))
	}
	if err == nil {
		err = s.disk.SyncDir(s.Path(RequestsDir))
	}
	return s.disk.WriteFailed(err)
}

// forgetOld removes answers that are no longer kept, as far as it can.
func (s *Store) forgetOld() {
	entries, err := os.ReadDir(s.Path(RequestsDir))
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && journal.Forgotten(info.ModTime(), s.now()) {
			_ = s.disk.Remove(s.Path(RequestsDir + "/" + e.Name()))
		}
	}
}

// requestFile is the place of the answer to a request.
func requestFile(id string) string { return RequestsDir + "/" + journal.AnswerName(id) }

// now is the clock: of names, and of the age of answers.
func (s *Store) now() time.Time {
	if s.opts.Now != nil {
		return s.opts.Now()
	}
	return time.Now()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
