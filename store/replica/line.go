package replica

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"leslie/internal/ledger"
	"leslie/store/internal/content"
	"leslie/store/internal/journal"
	"leslie/store/internal/jsonl"
	"leslie/thread"
)

// Line is what a line of the log says.
type Line struct {
	Seq     thread.Revision    `json:"seq"`
	ID      thread.OperationID `json:"id"`
	Prev    string             `json:"prev"` // SHA-256 of the line before; of the first: of the project's id
	Machine string             `json:"machine,omitempty"`
	// Entry is the operation, and Body instead the blob that has it, if it is long.
	Entry json.RawMessage `json:"entry,omitempty"`
	Body  thread.BlobID   `json:"body,omitempty"`
}

// Sum is the hash of a line, which the next line has as Prev; that of the project's id is
// Prev of the first.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ReadLine takes a line of the log apart. whole is false if it does not name the operation
// that it has.
func ReadLine(line ledger.Line) (text Line, whole bool) {
	err := json.Unmarshal(line.Data, &text)
	return text, err == nil && int64(text.Seq) == line.Seq && string(text.ID) == line.ID
}

// MakeLine is the log's line for an operation, and the content of its body, if that is a
// blob. Errors: T901.
func MakeLine(e journal.Entry, steps []thread.Step, chain, machine string) (line ledger.Line, body []byte, err error) {
	text := Line{Seq: e.Seq, ID: e.ID, Prev: chain, Machine: machine}
	entry, err := journal.ForLog(e, steps)
	if err != nil {
		return line, nil, err
	}
	const around = 1 << 10 // what a line has besides its entry
	if len(entry) > ledger.MaxLine-around {
		text.Body, body = content.IDOf(entry), entry
	} else {
		text.Entry = entry
	}
	data, err := jsonl.Marshal(text)
	return ledger.Line{Seq: int64(e.Seq), ID: string(e.ID), Data: data}, body, err
}
