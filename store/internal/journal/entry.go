// Package journal knows the journal: every operation, one sealed line each, appended
// after the commit of its state. So the journal is never ahead of the state, and at
// most one line behind: the state has its own operation, and the next writer appends
// it. The package makes lines of operations and reads them, from the end, forward, or
// as a whole; the store opens the file and appends to it.
//
// A torn or damaged line stays where it is and is skipped; appending starts on a new
// line.
package journal

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"leslie/store/internal/archive"
	"leslie/store/internal/jsonl"
	"leslie/thread"
)

// Entry is one line of the journal.
type Entry struct {
	thread.Operation
	// Archived are the records that the operation moved to the archive, as they are
	// there.
	Archived []thread.Change `json:"archived,omitempty"`
	// Texts says where a parameter's text is that the changes have as well: it is null
	// in Params as the line has them.
	Texts map[string]string `json:"texts,omitempty"`
	// Answer is what the call answered if it had a request id.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Baseline: the changes name every record of the state, so a state can be rebuilt
	// from here, whatever the journal lost before.
	Baseline bool `json:"baseline,omitempty"`
	// Archive is the content of the archive when a baseline was made, line by line.
	Archive []archive.Line `json:"archive,omitempty"`
	// Pending is the file-system work of the operation if it was not done when the
	// line was written.
	Pending []thread.Step `json:"pending,omitempty"`
	// Quarantined are the steps of earlier operations that were not done either.
	Quarantined []thread.Quarantined `json:"quarantined,omitempty"`
}

// Read decodes a line; ok is false for a damaged one.
func Read(line []byte) (e Entry, ok bool) {
	if !jsonl.Intact(line) || json.Unmarshal(line, &e) != nil {
		return Entry{}, false
	}
	e.restore()
	return e, e.Seq > 0
}

// ForLog is an entry as the log of a project on several machines has it, with its steps:
// without what only this machine adds. Errors: T901.
func ForLog(e Entry, steps []thread.Step) ([]byte, error) {
	e.Chain, e.Machine, e.Pending, e.Quarantined = "", "", steps, nil
	return jsonl.Marshal(e.slim())
}

// FromLog decodes what ForLog made; ok is false for anything else.
func FromLog(text []byte) (e Entry, ok bool) {
	if thread.Decode(text, &e) != nil {
		return Entry{}, false
	}
	e.restore()
	return e, e.Seq > 0
}

// lineBegin is how every line begins.
const lineBegin = `{"seq":`

// number is the number of an intact line, without decoding the rest; ok is false for a
// damaged one.
func number(line []byte) (seq thread.Revision, ok bool) {
	if !jsonl.Intact(line) {
		return 0, false
	}
	rest, first := bytes.CutPrefix(line, []byte(lineBegin))
	digits, _, found := bytes.Cut(rest, []byte(","))
	if n, err := strconv.ParseInt(string(digits), 10, 64); first && found && err == nil {
		return thread.Revision(n), n > 0
	}
	e, ok := Read(line)
	return e.Seq, ok
}

// slim is the entry as it is written: without what its records say already.
func (e Entry) slim() Entry {
	if e.Baseline { // which is there to say all of it
		return e
	}
	e.Changes = slices.Clone(e.Changes)
	for i, c := range e.Changes {
		e.Changes[i] = c.Slim()
	}
	e.Params, e.Texts = thread.SlimParams(e.Params, e.Changes)
	return e
}

// restore gives an entry that was read its parameters back. Its changes stay as they
// are written: see thread.Change.Whole.
func (e *Entry) restore() {
	e.Params, e.Texts = thread.WholeParams(e.Params, e.Texts, e.Changes), nil
}

// ArchiveLines are the archive's lines that the entry has: those that it wrote, and
// those of a baseline.
func (e Entry) ArchiveLines() []archive.Line {
	return append(archive.LinesOf(e.Archived, e.Seq), e.Archive...)
}
