package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"leslie/store/internal/jsonl"
	"leslie/thread"
)

// remembered is how long the answer to a request is kept.
const remembered = 7 * 24 * time.Hour

// Answer is what a call with a request id was answered: one sealed line in a file of
// its own, so that finding it costs the same however long the journal is.
type Answer struct {
	ID        string             `json:"id"`
	Digest    string             `json:"digest"`      // of command and params
	Operation thread.OperationID `json:"operationId"` // "" if there was nothing to change
	Revision  thread.Revision    `json:"revision"`
	Time      time.Time          `json:"time"`
	Answer    json.RawMessage    `json:"answer"`
}

// AnswerOf is the answer that an operation has, null where its line has none.
func AnswerOf(e Entry) Answer {
	a := Answer{
		ID: e.RequestID, Digest: Digest(e.Command, e.Params), Operation: e.ID,
		Revision: e.Seq, Time: e.Time, Answer: e.Answer,
	}
	if len(a.Answer) == 0 {
		a.Answer = json.RawMessage("null")
	}
	return a
}

// ReadAnswer reads an answer's file; ok is false for a damaged one.
func ReadAnswer(data []byte) (a Answer, ok bool) {
	line := bytes.TrimSuffix(data, []byte("\n"))
	ok = len(line) == len(data)-1 && jsonl.Intact(line) && json.Unmarshal(line, &a) == nil
	return a, ok
}

// Encode is the answer's file. Errors: T901.
func (a Answer) Encode() ([]byte, error) {
	body, err := jsonl.Marshal(a)
	if err != nil {
		return nil, err
	}
	return append(jsonl.Seal(body), '\n'), nil
}

// Forgotten reports whether an answer given at a time is no longer kept.
func Forgotten(given, now time.Time) bool { return now.Sub(given) > remembered }

// AnswerName is the name of an answer's file: ids are the caller's own text, so it is
// their SHA-256.
func AnswerName(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// Digest is equal for two calls that are the same command with the same params.
func Digest(command string, params json.RawMessage) string {
	compact, err := jsonl.Marshal(params)
	if err != nil {
		compact = params
	}
	h := sha256.New()
	h.Write([]byte(command))
	h.Write([]byte{0})
	h.Write(compact)
	return hex.EncodeToString(h.Sum(nil))
}
