package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/filework"
	"leslie/store/internal/journal"
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

// Answered checks without the lock whether the call's request was answered before; it
// returns nil if not, or if the call has no id. Update checks again under the lock.
// Errors: T903 if the id belongs to another call, T509.
func (s *Store) Answered(ctx context.Context, call Call) (*Commit, error) {
	if call.Request == "" {
		return nil, nil
	}
	if ctx.Err() != nil {
		return nil, codes.Interrupted.Wrap(context.Cause(ctx))
	}
	var last *journal.Operation
	if now, err := s.files.Load(); err == nil { // else Update says what is wrong
		if len(filework.Undone(s.disk, now.Pending)) > 0 {
			return nil, nil // the answer tells of files that Update first puts into place
		}
		last = now.Operation
	}
	return s.answered(call, last, nil)
}

// ErrAnswered says that the request of Call.Unless has its answer.
var ErrAnswered = errors.New("the request is answered")

// answered returns the commit of the call that first had this request id. last is the
// state's own operation, and ahead are operations that are only in memory.
func (s *Store) answered(call Call, last *journal.Operation, ahead []journal.Entry) (*Commit, error) {
	if call.Request == "" {
		return nil, nil
	}
	a, err := s.files.AnswerTo(call.Request, last, ahead)
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
	w, err := s.files.Lock(ctx, call.Wait)
	if err != nil {
		return err
	}
	defer w.Unlock()
	now, err := s.files.Load()
	if err != nil {
		return err
	}
	if first, err := s.answered(call, now.Operation, now.Ahead); first != nil || err != nil {
		return err
	}
	if err := w.DropTemporary(); err != nil {
		return err
	}
	return w.WriteAnswer(journal.Answer{
		ID: call.Request, Digest: journal.Digest(call.Command, call.Params), Revision: at, Time: call.Stamp.Time, Answer: given,
	})
}

// now is the clock: of names, and of the age of answers.
func (s *Store) now() time.Time {
	if s.opts.Now != nil {
		return s.opts.Now()
	}
	return time.Now()
}
