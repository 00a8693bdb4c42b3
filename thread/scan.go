package thread

import "bytes"

// This file tells what a record says without decoding it, so that a rule that
// asks one thing of ten thousand records decodes the few that it is about.
//
// It may, because a record rests as encode writes it: no spaces, and in texts
// every quote is escaped. So the bytes status":" with bare quotes are the end of
// a key and nothing else can be, and where no other key of the record's type ends
// so, they stand once in its line. scan_internal_test.go holds the types
// against that, and every answer against the decoded record.
//
// What is looked for never begins with a quote. Package bytes goes from one place
// of the first byte to the next, which is fast as long as that byte is rare.

// pattern is how a record says that a key has this value, without the first quote.
// Values are ids and words, which are never escaped.
func pattern(key, value string) []byte { return []byte(key + `":"` + value + `"`) }

// needle is the part of a text that is looked for in its stead: without a quote
// in front, and of an id that leslie made the part that no other has.
func needle(text string) []byte {
	const own = len(`a1b2c3d4"`)
	if len(text) > 0 && text[0] == '"' {
		text = text[1:]
	}
	if made := len(text) - own; made > 0 && text[made-1] == '-' {
		text = text[made:]
	}
	return []byte(text)
}

// field is the text behind a key whose bytes, from behind its first quote to the
// opening quote of the text, are mark. ok is false where there is no such key, or
// where the text is escaped: then the record has to be decoded.
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

// statusIn is the status of a thread's line.
func statusIn(line []byte) Status {
	word, ok := field(line, []byte(`status":"`))
	if !ok {
		return decode[Thread](line).Status
	}
	for _, status := range Statuses() { // makes no text
		if string(word) == string(status) {
			return status
		}
	}
	return Status(word)
}

// isOf reports whether a thread's line says that it is an objective's.
func isOf(line []byte, id ObjectiveID) bool {
	text, ok := field(line, []byte(`objectiveId":"`))
	if !ok {
		return decode[Thread](line).ObjectiveID == id
	}
	return string(text) == string(id)
}

// endsOf are the threads that a reference's line ties.
func (s *State) endsOf(line Line) (from, target ThreadID) {
	a, okA := field(line.JSON, []byte(`from":"`))
	b, okB := field(line.JSON, []byte(`target":"`))
	if okA && okB {
		return ThreadID(a), ThreadID(b)
	}
	ref, _ := s.References.Peek(line.ID)
	return ref.From, ref.Target
}

// createdIn is when a thread's line says that it was made, as text that sorts as
// time does: RFC 3339 in UTC without its Z, a fraction without trailing zeros.
// What a thread holds may have been created too, so the last one counts: the
// thread's own time stands near the end.
func createdIn(line []byte) (at []byte, ok bool) {
	const key, value, seconds = `"created":`, `{"at":"`, len("2006-01-02T15:04:05")
	i := lastBrace(line) - len(key)
	if i < 0 || !bytes.HasPrefix(line[i:], []byte(key+value)) {
		i = bytes.LastIndex(line, []byte(key+value))
	}
	if i >= 0 {
		at, ok = field(line[i+len(key):], []byte(value))
	}
	at, utc := bytes.CutSuffix(at, []byte("Z"))
	return at, ok && utc && len(at) >= seconds && (len(at) == seconds || at[seconds] == '.')
}

// lastBrace is where the last brace opens that does so near the end.
func lastBrace(line []byte) int {
	const near = 256
	at := max(0, len(line)-near)
	last := -1
	for i := bytes.IndexByte(line[at:], '{'); i >= 0; i = bytes.IndexByte(line[at:], '{') {
		last, at = at+i, at+i+1
	}
	return last
}
