package thread

import (
	"bytes"

	"leslie/codes"
)

// This file reads single members of a record without decoding it, so that a rule that
// needs one member of ten thousand records decodes only the few that matter.
//
// Bytes alone never decide: a later version may add members to a record whose own parts
// are named like those of this one. What a line has to contain is searched for first,
// because that is quick; MemberOf then says whether it is there.
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

// field returns the text value of a member. ok is false if there is no such member or
// the value contains an escape: then the record has to be decoded.
func field(line []byte, key string) (text []byte, ok bool) {
	value, _ := MemberOf(line, key)
	return textOf(value)
}

// textOf returns a text as a record has it; ok is false if it is none, or has an escape.
func textOf(value []byte) (text []byte, ok bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// holds reports whether a member of a record is an object: a part that it may lack.
func holds(line []byte, key string) bool {
	if !bytes.Contains(line, []byte(key+`":{`)) {
		return false
	}
	value, ok := MemberOf(line, key)
	return ok && value[0] == '{'
}

// statusIn returns the status in a thread's line.
func statusIn(line []byte) Status {
	word, ok := field(line, "status")
	if !ok {
		return decode[Thread](line).Status
	}
	return statusOf(word)
}

// statusOf returns the status that a word says.
func statusOf(word []byte) Status {
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
		if title, ok := field(line.JSON, "title"); ok {
			out[i].Label = shortLabel(string(title))
		} else {
			out[i].Label = decode[Thread](line.JSON).label()
		}
	}
	return out
}

// parentIn returns the parent in a thread's line. Ids have no escapes.
func parentIn(line []byte) (parent []byte, ok bool) {
	if !bytes.Contains(line, []byte(`parentId":"`)) {
		return nil, false
	}
	return field(line, "parentId")
}

// isOf reports whether a thread's line names this objective as its own.
func isOf(line []byte, id ObjectiveID) bool {
	text, ok := field(line, "objectiveId")
	if !ok {
		return decode[Thread](line).ObjectiveID == id
	}
	return string(text) == string(id)
}

// endsOf returns the two threads of a reference's line.
func (s *State) endsOf(line Line) (from, target ThreadID) {
	a, okA := field(line.JSON, "from")
	b, okB := field(line.JSON, "target")
	if okA && okB {
		return ThreadID(a), ThreadID(b)
	}
	ref, _ := s.References.Peek(line.ID)
	return ref.From, ref.Target
}

// createdIn returns the creation time in a thread's line as text that sorts like
// times: RFC 3339 in UTC without the Z, fractions without trailing zeros.
func createdIn(line []byte) (at []byte, ok bool) {
	const begin, ends = `,"created":`, 2
	// Its braces are the last, but for the record's own, in nearly all lines: then it is no part of a part.
	if i := lastBrace(line); i >= 0 && bytes.HasSuffix(line[:i], []byte(begin)) && bytes.Count(line[i:], []byte("}")) == ends {
		return sortable(field(line[i:], "at"))
	}
	created, _ := lateMemberOf(line, "created")
	return sortable(field(created, "at"))
}

// lastBrace returns where the last opening brace near the end of a line is, -1 for none.
func lastBrace(line []byte) (last int) {
	const near = 256
	last = -1
	for at := max(0, len(line)-near); ; at = last + 1 {
		i := bytes.IndexByte(line[at:], '{')
		if i < 0 {
			return last
		}
		last = at + i
	}
}

// changedIn returns the time of the last change in a thread's line, in the form of
// createdIn.
func changedIn(line []byte) (at []byte, ok bool) {
	updated, _ := lateMemberOf(line, "updatedAt")
	return sortable(textOf(updated))
}

// sortable returns a time as text that sorts like times; ok is false for another form.
func sortable(at []byte, ok bool) ([]byte, bool) {
	const seconds = len("2006-01-02T15:04:05")
	at, utc := bytes.CutSuffix(at, []byte("Z"))
	return at, ok && utc && len(at) >= seconds && (len(at) == seconds || at[seconds] == '.')
}
