package thread

import (
	"bytes"

	"leslie/codes"
)

// This file reads single fields of a record without decoding it, so that a rule that
// needs one field of ten thousand records decodes only the few that matter.
//
// This is correct because encode writes records without spaces and escapes every
// quote in a text. The bytes status":" with unescaped quotes can therefore only be
// the end of a key, and if no other key of the record's type ends like that, they
// occur once in its line. scan_internal_test.go checks that for all types, and
// compares every result with the decoded record.
//
// Search patterns never start with a quote: package bytes jumps between occurrences
// of the first byte, which is fast only if that byte is rare.

// pattern returns the bytes by which a record says that a key has this value, without
// the first quote. Values are ids and words, which never need escaping.
func pattern(key, value string) []byte { return []byte(key + `":"` + value + `"`) }

// needle returns the part of a text to search for: without a leading quote, and for
// a generated id only its random part.
func needle(text string) []byte {
	const random = len(`a1b2c3d4"`)
	if len(text) > 0 && text[0] == '"' {
		text = text[1:]
	}
	if start := len(text) - random; start > 0 && text[start-1] == '-' {
		text = text[start:]
	}
	return []byte(text)
}

// field returns the text value of a key. mark has the bytes after the key's first
// quote up to the opening quote of the value. ok is false if there is no such key or
// the value contains an escape: then the record has to be decoded.
func field(line, mark []byte) (text []byte, ok bool) {
	i := bytes.Index(line, mark)
	if i < 0 {
		return nil, false
	}
	rest := line[i+len(mark):]
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return nil, false
	}
	return rest[:end], true
}

// statusIn returns the status in a thread's line.
func statusIn(line []byte) Status {
	word, ok := field(line, []byte(`status":"`))
	if !ok {
		return decode[Thread](line).Status
	}
	for _, status := range Statuses() { // does not allocate
		if string(word) == string(status) {
			return status
		}
	}
	return Status(word)
}

// ThreadCandidates describes all threads of the State, ordered by id: Candidates without
// decoding them.
func (s *State) ThreadCandidates() []codes.Candidate {
	lines := s.Threads.Lines()
	out := make([]codes.Candidate, len(lines))
	for i, line := range lines {
		out[i].ID = line.ID
		if title, ok := field(line.JSON, []byte(`title":"`)); ok {
			out[i].Label = shortLabel(string(title))
		} else {
			out[i].Label = decode[Thread](line.JSON).label()
		}
	}
	return out
}

// isOf reports whether a thread's line names this objective as its own.
func isOf(line []byte, id ObjectiveID) bool {
	text, ok := field(line, []byte(`objectiveId":"`))
	if !ok {
		return decode[Thread](line).ObjectiveID == id
	}
	return string(text) == string(id)
}

// endsOf returns the two threads of a reference's line.
func (s *State) endsOf(line Line) (from, target ThreadID) {
	a, okA := field(line.JSON, []byte(`from":"`))
	b, okB := field(line.JSON, []byte(`target":"`))
	if okA && okB {
		return ThreadID(a), ThreadID(b)
	}
	ref, _ := s.References.Peek(line.ID)
	return ref.From, ref.Target
}

// createdIn returns the creation time in a thread's line as text that sorts like
// times: RFC 3339 in UTC without the Z, fractions without trailing zeros. Parts of a
// thread have creation times too, so the last one counts: the thread's own is near
// the end of the line.
func createdIn(line []byte) (at []byte, ok bool) {
	const key, value = `"created":`, `{"at":"`
	i := lastBrace(line) - len(key)
	if i < 0 || !bytes.HasPrefix(line[i:], []byte(key+value)) {
		i = bytes.LastIndex(line, []byte(key+value))
	}
	if i >= 0 {
		at, ok = field(line[i+len(key):], []byte(value))
	}
	return sortable(at, ok)
}

// changedIn returns the time of the last change in a thread's line, in the form of
// createdIn.
func changedIn(line []byte) (at []byte, ok bool) {
	return sortable(field(line, []byte(`updatedAt":"`)))
}

// sortable returns a time as text that sorts like times; ok is false for another form.
func sortable(at []byte, ok bool) ([]byte, bool) {
	const seconds = len("2006-01-02T15:04:05")
	at, utc := bytes.CutSuffix(at, []byte("Z"))
	return at, ok && utc && len(at) >= seconds && (len(at) == seconds || at[seconds] == '.')
}

// lastBrace returns the index of the last opening brace near the end, or -1.
func lastBrace(line []byte) int {
	const near = 256
	at := max(0, len(line)-near)
	last := -1
	for i := bytes.IndexByte(line[at:], '{'); i >= 0; i = bytes.IndexByte(line[at:], '{') {
		last, at = at+i, at+i+1
	}
	return last
}
