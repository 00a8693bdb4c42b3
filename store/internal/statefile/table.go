package statefile

import (
	"bytes"
	"slices"

	"leslie/thread"
)

// This file splits a table of a state file into its records, which stay the bytes that
// were read. A state has as many lines as threads, and every command splits it, so
// nothing is allocated per line: all ids are cut from one string.

const tableEnd = "},\n"

// readTable reads a table: its lines, the bytes that they are cut from, and what
// follows the table.
func readTable(data []byte, name string) (lines []thread.Line, body, rest []byte, ok bool) {
	body, ok = bytes.CutPrefix(data, []byte(`"`+name+"\":{\n"))
	if !ok {
		return nil, nil, nil, false
	}
	rest = body
	var ids, last []byte // all ids, one after the other
	var ends []int32     // where each ends
	more := true         // a comma says that a line follows
	for !bytes.HasPrefix(rest, []byte(tableEnd)) {
		if n := len(lines); n == cap(lines) {
			n = likely(n, len(body)-len(rest), len(rest))
			lines, ends, ids = slices.Grow(lines, n), slices.Grow(ends, n), slices.Grow(ids, n*16)
		}
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return nil, nil, nil, false
		}
		line := rest[:end]
		rest = rest[end+1:]
		follows := more
		line, more = bytes.CutSuffix(line, []byte(","))
		id, value := readRecord(line)
		if id == nil || !follows || bytes.Compare(id, last) <= 0 {
			return nil, nil, nil, false
		}
		last, ids = id, append(ids, id...)
		ends = append(ends, int32(len(ids)))
		lines = append(lines, thread.Line{JSON: value})
	}
	if more && len(lines) > 0 {
		return nil, nil, nil, false
	}
	text, start := string(ids), int32(0)
	for i, end := range ends {
		lines[i].ID, start = text[start:end], end
	}
	return lines, body[:len(body)-len(rest)], rest[len(tableEnd):], true
}

// likely is how many lines may follow n lines of so many bytes: as many as fit into
// what is left, but not too many at once, because other tables follow as well.
func likely(n, bytes, left int) int {
	const first, leap = 64, 64
	if n < first {
		return first
	}
	return min(left/(bytes/n)+1, n*leap)
}

// readRecord splits a line without its comma into id and value; id is nil if it is not
// a record.
func readRecord(line []byte) (id, value []byte) {
	if len(line) < len(`"i":{}`) || line[0] != '"' {
		return nil, nil
	}
	end := bytes.IndexByte(line[1:], '"') + 1
	if end < 2 || end+2 >= len(line) || line[end+1] != ':' {
		return nil, nil
	}
	if !plainID(line[1:end]) {
		return nil, nil
	}
	return line[1:end], line[end+2 : len(line) : len(line)]
}

// plainID reports whether an id needs no escaping in JSON.
func plainID[T string | []byte](id T) bool {
	for i := range len(id) {
		c := id[i]
		if c < 0x21 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return len(id) > 0
}
