package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"leslie/store/internal/jsonl"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file implements the journal: every operation, one sealed line each, appended
// after the commit of its state. So the journal is never ahead of the state, and at
// most one line behind: the state has its own operation, and the next writer appends
// it.
//
// A torn or damaged line stays where it is and is skipped; appending starts on a new
// line.

// entry is one line of the journal.
type entry struct {
	thread.Operation
	// Archived are the records that the operation moved to the archive, as
	// they lie there.
	Archived []thread.Change `json:"archived,omitempty"`
	// Texts says where a parameter's text is that the changes hold as well: it is null
	// in Params as the line has them.
	Texts map[string]string `json:"texts,omitempty"`
	// Answer is what the call answered, where it carried a request id.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Baseline says that the changes name every record of the state: a state
	// can be rebuilt from here, whatever the journal lost before.
	Baseline bool `json:"baseline,omitempty"`
	// Archive is what the archive held when a baseline was made, line by line.
	Archive []archived `json:"archive,omitempty"`
	// Pending is the file-system work of the operation, where it was not
	// done when the line was written.
	Pending []thread.Step `json:"pending,omitempty"`
	// Quarantined are the steps of earlier operations that were not done either.
	Quarantined []thread.Quarantined `json:"quarantined,omitempty"`
}

// readAhead is how much of the journal is read at once, line by line.
const readAhead = 64 << 10

// readEntry decodes a line; ok is false for one that is damaged.
func readEntry(line []byte) (e entry, ok bool) {
	if !jsonl.Intact(line) || json.Unmarshal(line, &e) != nil {
		return entry{}, false
	}
	e.whole()
	return e, e.Seq > 0
}

// slim is the entry as it is written: without what its records say already.
func (e entry) slim() entry {
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

// whole gives an entry that was read its parameters back. Its changes stay as they
// are written: see thread.Change.Whole.
func (e *entry) whole() {
	e.Params, e.Texts = thread.WholeParams(e.Params, e.Texts, e.Changes), nil
}

// numberOf is the number of an intact line, without decoding the rest; ok is
// false for one that is damaged.
func numberOf(line []byte) (seq thread.Revision, ok bool) {
	if !jsonl.Intact(line) {
		return 0, false
	}
	rest, first := bytes.CutPrefix(line, []byte(`{"seq":`))
	digits, _, found := bytes.Cut(rest, []byte(","))
	if n, err := strconv.ParseInt(string(digits), 10, 64); first && found && err == nil {
		return thread.Revision(n), n > 0
	}
	e, ok := readEntry(line)
	return e.Seq, ok
}

// journal is the journal file as it was when it was opened. The zero value is
// one that is missing, or that is no regular file.
type journal struct {
	file   *os.File
	size   int64
	broken string // why it is no file that can be read, "" when it is
}

func (s *Store) openJournal() (journal, error) {
	f, info, err := saferoot.OpenRegular(s.Path(JournalFile))
	var d saferoot.Damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return journal{}, nil
	case errors.As(err, &d):
		return journal{broken: string(d)}, nil
	case err != nil:
		return journal{}, s.disk.ReadFailed(err)
	}
	return journal{file: f, size: info.Size()}, nil
}

func (j journal) close() {
	if j.file != nil {
		_ = j.file.Close()
	}
}

// newest calls fn for the intact lines from the newest on until fn returns
// false.
func (j journal) newest(fn func(entry) bool) error {
	if j.file == nil {
		return nil
	}
	for line, err := range jsonl.Backwards(j.file, j.size) {
		if err != nil {
			return err
		}
		if e, ok := readEntry(line); ok && !fn(e) {
			return nil
		}
	}
	return nil
}

// tail is the end of the journal.
type tail struct {
	newest thread.Revision // of the intact lines; 0: there is none
	// settled says that the newest operation's steps were done, and on disk,
	// when its line was written: it carries none.
	settled bool
	// torn says that a damaged line stands behind them. An operation whose
	// line could not be finished is in the state, so a state that has not more
	// than newest has lost one.
	torn bool
}

// endsWith reports whether the journal ends with the line of a state's operation, all
// of whose steps are done: by its length, its beginning and its checksum. A line may
// be long, and a reader has its bytes in the state.
func (j journal) endsWith(o *operation) bool {
	if j.file == nil || o == nil || len(o.made) < largeOperation || len(o.held) > 0 {
		return false
	}
	open := o.made[:len(o.made)-1]
	end := []byte(jsonl.Ending(open) + "\n")
	begin := append([]byte("\n"), open[:64]...)
	at := j.size - int64(len(open)+len(end)) - 1
	if at == -1 {
		at, begin = 0, begin[1:] // the journal's only line
	}
	return j.holds(at, begin) && j.holds(j.size-int64(len(end)), end)
}

func (j journal) holds(at int64, want []byte) bool {
	got := make([]byte, len(want))
	_, err := j.file.ReadAt(got, at)
	return err == nil && bytes.Equal(got, want)
}

// tail reads the end of the journal.
func (j journal) tail() (end tail, err error) {
	if j.file == nil {
		return tail{}, nil
	}
	if line := j.last(); line != nil {
		if seq, ok := numberOf(line); ok {
			return tailOf(seq, line), nil
		}
	}
	torn := false
	for line, err := range jsonl.Backwards(j.file, j.size) {
		if err != nil {
			return tail{}, err
		}
		if seq, ok := numberOf(line); ok {
			end = tailOf(seq, line)
			break
		}
		torn = true
	}
	end.torn = torn
	return end, nil
}

func tailOf(seq thread.Revision, line []byte) tail {
	return tail{newest: seq, settled: !bytes.Contains(line, []byte(`"pending":[`))}
}

// last is the last line where it is whole within the last few kilobytes, as most
// are; nil where it has to be looked for.
func (j journal) last() []byte {
	few := make([]byte, min(j.size, 4<<10))
	if _, err := j.file.ReadAt(few, j.size-int64(len(few))); err != nil {
		return nil
	}
	few, ended := bytes.CutSuffix(few, []byte("\n"))
	if start := bytes.LastIndexByte(few, '\n'); ended && start >= 0 {
		return few[start+1:]
	}
	return nil
}

// after returns the operations that follow rev without a gap, oldest first, and
// the newest number that the journal knows. Errors: T509.
func (s *Store) after(rev thread.Revision) (ops []entry, newest thread.Revision, err error) {
	j, err := s.openJournal()
	if err != nil {
		return nil, 0, err
	}
	defer j.close()
	found := map[thread.Revision]entry{}
	err = j.newest(func(e entry) bool {
		newest = max(newest, e.Seq)
		if _, dup := found[e.Seq]; !dup && e.Seq > rev {
			found[e.Seq] = e
		}
		return e.Seq > rev
	})
	for next, ok := found[rev+1]; ok; next, ok = found[rev+1] {
		ops = append(ops, next)
		rev++
	}
	return ops, newest, s.disk.ReadFailed(err)
}

// record appends an operation to the journal, with its steps where they are not
// known to be done. Errors: T505.
func (s *Store) record(o *operation, undone []thread.Step) error {
	line, err := o.line(undone)
	if err != nil {
		return err
	}
	return s.disk.AppendLines(JournalFile, line)
}
