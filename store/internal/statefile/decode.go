package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"leslie/internal/fact"
	"leslie/store/internal/journal"
	"leslie/store/internal/jsonl"
	"leslie/thread"
)

// Damage is why bytes are not a state file. It is data for a warning or for T502.
type Damage string

// Error says what is wrong.
func (d Damage) Error() string { return string(d) }

// Foreign is another program that wrote the file.
type Foreign string

// Error names the program.
func (f Foreign) Error() string { return "written by " + string(f) }

const (
	headVersion  = `{"version":"`
	headRevision = `","revision":`
	headChecksum = `,"checksum":"` + jsonl.SumPrefix
	headEnd      = "\",\n"
	digits       = 8 // of the checksum

	keyOperation   = `"operation":`
	keyQuarantined = `"quarantined":`
	keyPending     = `"pending":`

	longestVersion = 8

	// HeadSize is how many bytes a first line has at most.
	HeadSize = 128
)

// Decode reads a state file. The records are sub-slices of data. Errors: Damage and
// Foreign, nothing else.
func Decode(data []byte) (Image, error) {
	if len(data) == 0 {
		return Image{}, Damage("it is empty")
	}
	rev, at, ok := readHead(data)
	if !ok {
		return Image{}, whoWrote(data)
	}
	if !intact(data, at) {
		return Image{}, Damage("its checksum does not fit")
	}
	version, _, _ := readVersion(data)
	m, err := readBody(data[at+digits+len(headEnd):], version)
	if err != nil {
		return Image{}, err
	}
	m.Revision, m.Version = rev, version
	return m, nil
}

// Whole reports whether the bytes are a state file that this leslie reads, with a
// matching checksum.
func Whole(data []byte) bool {
	_, at, ok := readHead(data)
	return ok && intact(data, at)
}

// WholeFrom is Whole for a file that is only read: it keeps a piece of it in memory.
// Errors: the reader's.
func WholeFrom(in io.Reader) (bool, error) {
	piece := make([]byte, 256<<10)
	n, err := io.ReadFull(in, piece)
	_, at, ok := readHead(piece[:n])
	if !ok {
		return false, unlessEnd(err)
	}
	claimed := jsonl.SumPrefix + string(piece[at:at+digits])
	var sum jsonl.Sum
	sum.Add(piece[:at])
	sum.Add(piece[at+digits : n])
	for err == nil {
		n, err = io.ReadFull(in, piece)
		sum.Add(piece[:n])
	}
	return sum.String() == claimed, unlessEnd(err)
}

// unlessEnd is an error that is not the end of what is read.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// Known reports whether a file that begins like this is in a version that this leslie
// reads.
func Known(head []byte) bool {
	_, _, ok := readVersion(head)
	return ok
}

// RevisionOf is the revision in a file's first HeadSize bytes, 0 if there is none.
// Nothing confirms it yet.
func RevisionOf(head []byte) thread.Revision {
	rev, _, _ := readHead(head)
	return rev
}

// Claims is the revision that a damaged file probably had, 0 if it cannot be told: its
// first line and its operation agree, and no single damage changes both.
func Claims(data []byte) thread.Revision {
	rev, at, ok := readHead(data)
	if !ok || !bytes.HasPrefix(data[at+digits+len(headEnd):], fmt.Appendf(nil, `%s{"seq":%d,`, keyOperation, rev)) {
		return 0
	}
	return rev
}

// Sum writes the matching checksum into a state file that was changed, if it has a
// place for one. For tests, which play another program.
func Sum(data []byte) {
	if _, at, ok := readHead(data); ok {
		copy(data[at:], jsonl.Checksum(data[:at], data[at+digits:])[len(jsonl.SumPrefix):])
	}
}

// readVersion reads the beginning of the first line; ok is false for a version that
// this leslie cannot read.
func readVersion(data []byte) (version string, rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(data, []byte(headVersion))
	if !ok {
		return "", nil, false
	}
	n := max(0, bytes.IndexByte(rest[:min(len(rest), longestVersion)], '"'))
	version = string(rest[:n])
	rest, ok = bytes.CutPrefix(rest[n:], []byte(headRevision))
	return version, rest, ok && readable(version)
}

// readable reports whether this leslie reads a version: 3.x.
func readable(version string) bool {
	minor, ok := strings.CutPrefix(version, "3.")
	n, err := strconv.Atoi(minor)
	return ok && err == nil && n >= 0 && minor == strconv.Itoa(n)
}

// readHead reads the first line; at is where the checksum's digits are.
func readHead(data []byte) (rev thread.Revision, at int, ok bool) {
	_, rest, ok := readVersion(data)
	if !ok {
		return 0, 0, false
	}
	n := bytes.IndexByte(rest[:min(len(rest), 20)], ',')
	if n < 1 {
		return 0, 0, false
	}
	number, err := strconv.ParseInt(string(rest[:n]), 10, 64)
	if err != nil || number < 0 || !bytes.HasPrefix(rest[n:], []byte(headChecksum)) {
		return 0, 0, false
	}
	at = len(data) - len(rest) + n + len(headChecksum)
	if len(data) < at+digits || !bytes.HasPrefix(data[at+digits:], []byte(headEnd)) {
		return 0, 0, false
	}
	return thread.Revision(number), at, true
}

// intact reports whether the digits at at are the checksum of all other bytes.
func intact(data []byte, at int) bool {
	return jsonl.Checksum(data[:at], data[at+digits:]) == jsonl.SumPrefix+string(data[at:at+digits])
}

// readBody reads what follows the first line. The checksum matches, so if the form
// does not, a program wrote it that can compute the sum and yet does not know the
// format: damage all the same.
func readBody(rest []byte, version string) (m Image, err error) {
	m = Image{Records: thread.Records{}, tables: map[string][]byte{}}
	line, rest := cutLine(rest)
	var ok bool
	if m.Operation, ok = readOperation(line); !ok {
		return Image{}, Damage("its operation cannot be read")
	}
	for _, table := range thread.Tables() {
		lines, text, after, ok := readTable(rest, table)
		if !ok {
			return Image{}, Damage("its table " + table + " cannot be read")
		}
		m.Records[table], m.tables[table], rest = lines, text, after
	}
	if rest, ok = m.readQuarantined(rest, version); !ok {
		return Image{}, Damage("its end cannot be read")
	}
	line, rest = cutLine(rest)
	if string(rest) != "}\n" {
		return Image{}, Damage("its end cannot be read")
	}
	if string(line) != keyPending+"null" { // as it nearly always is
		m.unread = line
	}
	if len(line) > journal.LargeOperation {
		return m, nil
	}
	return m, m.ReadPending()
}

func readOperation(line []byte) (*journal.Operation, bool) {
	value, there := bytes.CutPrefix(line, []byte(keyOperation))
	text, ended := bytes.CutSuffix(value, []byte(","))
	if !there || !ended {
		return nil, false
	}
	if string(text) == "null" {
		return nil, true
	}
	return journal.Decode(text)
}

// readQuarantined reads the quarantined steps, and the unknown lines in front of them.
func (m *Image) readQuarantined(data []byte, version string) (rest []byte, ok bool) {
	at := 0
	if !bytes.HasPrefix(data, []byte(keyQuarantined)) { // it is behind lines that only a later version has
		if at = bytes.Index(data, []byte("\n"+keyQuarantined)) + 1; at == 0 || version == Version {
			return nil, false
		}
	}
	line, rest := cutLine(data[at:])
	line, ended := bytes.CutSuffix(line, []byte(","))
	if !ended || string(line) != keyQuarantined+"[]" && !readKey(line, "quarantined", &m.Quarantined) {
		return nil, false
	}
	m.unknown = data[:at:at]
	if m.Operation != nil {
		m.Operation.Held = m.Quarantined
	}
	return rest, true
}

func cutLine(data []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(data, []byte("\n"))
	return line, rest
}

// readKey decodes the value of "key":VALUE into v.
func readKey(line []byte, key string, v any) bool {
	value, ok := bytes.CutPrefix(line, []byte(`"`+key+`":`))
	return ok && thread.Decode(value, v) == nil
}

// whoWrote says what a file is whose first line is not this version's: another
// program's state, or damage. A file with a checksum of our form that does not match is
// damaged, whatever version it claims.
func whoWrote(data []byte) error {
	var probe struct {
		Version    json.RawMessage `json:"version"`
		Checksum   *string         `json:"checksum"`
		Operations json.RawMessage `json:"operations"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		if at := fact.Where(data, err); at != "" {
			return Damage("it is not valid JSON (" + at + ")")
		}
		return Damage("it is not valid JSON")
	}
	version := string(bytes.Trim(probe.Version, `"`))
	other := version != Version && version != ""
	switch {
	case other && (probe.Checksum == nil || !claimsOurs(*probe.Checksum) || sealedAnyhow(data)):
		return Foreign(writer(version, probe.Operations != nil))
	case probe.Checksum == nil && probe.Operations != nil:
		return Foreign(writer(version, true))
	case readable(version) && probe.Checksum != nil:
		return Damage("it was changed by another program")
	}
	return Damage("its first line cannot be read")
}

func claimsOurs(sum string) bool { return len(sum) >= 6 && sum[:6] == jsonl.SumPrefix[:6] }

// sealedAnyhow reports whether a file of another version has a matching checksum of our
// form: then a newer leslie wrote it.
func sealedAnyhow(data []byte) bool {
	mark := []byte(`"checksum":"` + jsonl.SumPrefix)
	i := bytes.Index(data, mark)
	return i >= 0 && i+len(mark)+digits <= len(data) && intact(data, i+len(mark))
}

func writer(version string, node bool) string {
	switch {
	case node && version == "":
		return "the Node edition of leslie"
	case node:
		return "the Node edition of leslie (version " + version + ")"
	}
	return "another edition of leslie (version " + version + ")"
}
