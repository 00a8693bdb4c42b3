package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/jsonl"
	"leslie/store/internal/saferoot"
	"leslie/thread"
	"leslie/warnings"
)

// This file stores the answers of calls with a request id, so that repeating the call
// returns the first answer and changes nothing.
//
// The state's own operation has id and answer from the commit on; the file of the
// answer is written after it, at the latest by the next writer before its own commit.
// So one of the two always has the answer.
//
// A call that changed nothing creates no operation: only the file has its answer
// (Keep). A crash before that loses nothing, because there was nothing to do.

const (
	remembered  = 7 * 24 * time.Hour
	forgetEvery = 64 // revisions between two looks for old answers
)

// answer is one sealed line: the file of a request.
type answer struct {
	ID        string             `json:"id"`
	Digest    string             `json:"digest"`      // of command and params
	Operation thread.OperationID `json:"operationId"` // "" where nothing was to change
	Revision  thread.Revision    `json:"revision"`
	Time      time.Time          `json:"time"`
	Answer    json.RawMessage    `json:"answer"`
}

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
	var last *operation
	if now, err := s.load(); err == nil { // else Update says what is wrong
		if len(s.undone(now.pending)) > 0 {
			return nil, nil // the answer tells of files that Update first puts into place
		}
		last = now.operation
	}
	return s.answered(call, last)
}

// answered returns the commit of the call that first carried this request id.
func (s *Store) answered(call Call, last *operation) (*Commit, error) {
	if call.Request == "" {
		return nil, nil
	}
	a, err := s.answerTo(call.Request, last)
	if err != nil || a == nil || s.now().Sub(a.Time) > remembered {
		return nil, err
	}
	if a.Digest != digest(call.Command, call.Params) {
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
	if first, err := s.answered(call, now.operation); first != nil || err != nil {
		return err
	}
	if err := s.dropTemporary(); err != nil {
		return err
	}
	return s.writeAnswer(answer{
		ID: call.Request, Digest: digest(call.Command, call.Params), Revision: at, Time: call.Stamp.Time, Answer: given,
	})
}

// answerTo finds the answer in the state's own operation or in its file; nil if there
// is none. A damaged file counts as none, but then the journal knows whether the
// request was executed.
func (s *Store) answerTo(id string, last *operation) (*answer, error) {
	if last != nil && last.RequestID == id {
		e, err := last.all()
		a := owed(e)
		return &a, err
	}
	data, _, err := saferoot.ReadRegular(s.Path(requestFile(id)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var d saferoot.Damage
	if err != nil && !errors.As(err, &d) {
		return nil, s.disk.ReadFailed(err)
	}
	var a answer
	if err == nil && len(data) > 0 && jsonl.Intact(data[:len(data)-1]) && json.Unmarshal(data, &a) == nil && a.ID == id && len(a.Answer) > 0 {
		return &a, nil
	}
	return s.answerInJournal(id)
}

func (s *Store) answerInJournal(id string) (a *answer, err error) {
	j, err := s.openJournal()
	if err != nil {
		return nil, err
	}
	defer j.close()
	err = j.newest(func(e entry) bool {
		if e.RequestID == id {
			found := owed(e)
			a = &found
		}
		return a == nil && s.now().Sub(e.Time) <= remembered
	})
	return a, s.disk.ReadFailed(err)
}

// owed is the answer as it is kept for an operation.
func owed(op entry) answer {
	a := answer{
		ID: op.RequestID, Digest: digest(op.Command, op.Params), Operation: op.ID,
		Revision: op.Seq, Time: op.Time, Answer: op.Answer,
	}
	if len(a.Answer) == 0 {
		a.Answer = json.RawMessage("null")
	}
	return a
}

// keepAnswer writes the file of the answer that an operation owes, if it owes
// one. Errors: T505.
func (s *Store) keepAnswer(op *operation) error {
	if op == nil || op.RequestID == "" {
		return nil
	}
	name := s.Path(requestFile(op.RequestID))
	if old, _, err := saferoot.ReadRegular(name); err == nil && len(old) > 0 && jsonl.Intact(old[:len(old)-1]) {
		var a answer
		if json.Unmarshal(old, &a) == nil && a.Operation == op.ID {
			return nil
		}
	}
	e, err := op.all()
	if err != nil {
		return err
	}
	return s.writeAnswer(owed(e))
}

// writeAnswer puts the file of an answer on disk. Errors: T505.
func (s *Store) writeAnswer(a answer) error {
	data, err := a.encode()
	if err != nil {
		return err
	}
	fresh := !exists(s.Path(RequestsDir))
	if fresh {
		if err := s.disk.Mkdir(s.Path(RequestsDir)); err != nil {
			return s.disk.WriteFailed(err)
		}
	}
	if info, err := os.Lstat(s.Path(RequestsDir)); err != nil || !info.IsDir() {
		return s.disk.WriteFailed(&fs.PathError{Op: "open", Path: s.Path(RequestsDir), Err: saferoot.ErrNotFolder})
	}
	if err := s.disk.Replace(requestFile(a.ID), data); err != nil {
		return err
	}
	if fresh {
		err = s.disk.SyncDir(s.Path("."))
	}
	if err == nil {
		err = s.disk.SyncDir(s.Path(RequestsDir))
	}
	return s.disk.WriteFailed(err)
}

// forgetOld removes answers that are no longer owed, as far as it can.
func (s *Store) forgetOld() {
	entries, err := os.ReadDir(s.Path(RequestsDir))
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && s.now().Sub(info.ModTime()) > remembered {
			_ = s.disk.Remove(s.Path(RequestsDir + "/" + e.Name()))
		}
	}
}

// requestFile is where the answer to a request lies: ids are the caller's own
// text, so the name is their SHA-256.
func requestFile(id string) string {
	sum := sha256.Sum256([]byte(id))
	return RequestsDir + "/" + hex.EncodeToString(sum[:])
}

// digest is what two calls have in common that are the same line.
func digest(command string, params json.RawMessage) string {
	compact, err := plainJSON(params)
	if err != nil {
		compact = params
	}
	h := sha256.New()
	h.Write([]byte(command))
	h.Write([]byte{0})
	h.Write(compact)
	return hex.EncodeToString(h.Sum(nil))
}

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
