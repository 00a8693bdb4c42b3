package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/jsonl"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file is the format of the state file: one JSON object, one record a
// line, every key always there.
//
//	{"version":"3.0","revision":7,"checksum":"crc32c:0a1b2c3d",
//	"operation":{...},
//	"objectives":{
//	"obj-k3mx":{...}
//	},
//	"threads":{
//	},
//	...
//	"quarantined":[],
//	"pending":null
//	}
//
// The checksum covers every byte but its own eight digits. It fits: leslie wrote
// these bytes and validated them then, so nothing below the first lines is
// decoded before somebody asks for it. Anything else is not whole.
//
// A file of version 2.0 is read as well, and the first write makes it one of this
// version. So is one of a newer 3.x: what such a leslie adds to records, or in lines
// in front of "quarantined", is carried, and its version stays.

// Version is the format that this leslie writes; it reads and upgrades versionBefore.
const (
	Version       = "3.0"
	versionBefore = "2.0"
)

const (
	headVersion  = `{"version":"`
	headRevision = `","revision":`
	headChecksum = `,"checksum":"` + jsonl.SumPrefix
	headEnd      = "\",\n"
	tableEnd     = "},\n"
)

// image is a state as it rests: what one state file holds.
type image struct {
	revision  thread.Revision
	operation *operation // nil at revision 0
	records   thread.Records
	pending   *thread.Pending
	// quarantined are steps of earlier operations that are not done yet.
	quarantined []thread.Quarantined
	version     string // that was read, "" for this leslie's own
	// beyond are the lines behind the tables that only a newer leslie knows.
	beyond []byte
	unread []byte // the line of many pending steps, see readPending
	// bodies are the lines of each table as they were read; nil where they were
	// not. See encode.go.
	bodies map[string][]byte
}

// operation is the one that made a revision.
type operation struct {
	entry

	part bool                 // the entry is only what is in front of the changes
	made []byte               // the entry as JSON, see text
	held []thread.Quarantined // the state's, which the journal's line has as well
}

// text is the entry as JSON. It is made once: the state and the journal hold the
// same, and a batch makes it long.
func (o *operation) text() ([]byte, error) {
	var err error
	if o.made == nil {
		o.made, err = plainJSON(o.entry.slim())
	}
	return o.made, err
}

// inState is the operation as JSON, as the state holds it.
func (o *operation) inState() ([]byte, error) {
	if o == nil {
		return []byte("null"), nil
	}
	return o.text()
}

// line is the operation as a line of the journal, with the steps that are not done.
func (o *operation) line(undone []thread.Step) ([]byte, error) {
	text, err := o.text()
	if err == nil && len(undone) > 0 {
		text, err = withKey(text, "pending", undone)
	}
	if err == nil && len(o.held) > 0 {
		text, err = withKey(text, "quarantined", o.held)
	}
	if err != nil {
		return nil, err
	}
	return jsonl.Seal(text), nil
}

// withKey is an object with one key more, its last.
func withKey(object []byte, key string, v any) ([]byte, error) {
	value, err := plainJSON(v)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(object)+len(key)+len(value)+len(`,"":}`))
	out = append(out, object[:len(object)-1]...)
	out = append(out, `,"`+key+`":`...)
	return append(append(out, value...), '}'), nil
}

// largeOperation is from how many bytes on an operation is decoded in part.
const largeOperation = 16 << 10

// readOperation reads the state's own operation. What a large one changed is not
// decoded, since nobody who reads a record asks for it: see all.
func readOperation(line []byte) (*operation, bool) {
	value, there := bytes.CutPrefix(line, []byte(`"operation":`))
	text, ended := bytes.CutSuffix(value, []byte(","))
	if !there || !ended {
		return nil, false
	}
	if string(text) == "null" {
		return nil, true
	}
	o := &operation{made: text}
	if at := bytes.Index(text, []byte(`,"changes":[`)); at > 0 && len(text) > largeOperation {
		head := append(slices.Clone(text[:at]), '}')
		if o.part = thread.Decode(head, &o.entry) == nil && o.Seq > 0; o.part {
			return o, true
		}
		o.entry = entry{}
	}
	if thread.Decode(text, &o.entry) != nil {
		return nil, false
	}
	o.entry.whole()
	return o, true
}

// all is all of the operation. Errors: T901 for one that cannot be decoded although
// its checksum fits.
func (o *operation) all() (e entry, err error) {
	if !o.part {
		return o.entry, nil
	}
	if err := thread.Decode(o.made, &e); err != nil {
		return e, codes.Internal.Wrap(err, fact.Of("reason", "the state's operation cannot be read"))
	}
	e.whole()
	return e, nil
}

// foreign is another program that wrote the file.
type foreign string

func (f foreign) Error() string { return "written by " + string(f) }

// encode is the image as a file.
func (m image) encode() ([]byte, error) {
	parts, err := m.encodeFrom(image{})
	return bytes.Join(parts, nil), err
}

// head is the first line as far as the checksum's digits.
func (m image) head() []byte {
	version := m.version
	if version == "" || version == versionBefore {
		version = Version
	}
	return fmt.Appendf(nil, "%s%s%s%d%s", headVersion, version, headRevision, m.revision, headChecksum)
}

// tail is what stands behind the tables.
func (m image) tail() ([]byte, error) {
	quarantined, err := thread.Encode(append([]thread.Quarantined{}, m.quarantined...))
	if err != nil {
		return nil, codes.Internal.Wrap(err)
	}
	pending, err := thread.Encode(m.pending)
	if err != nil {
		return nil, codes.Internal.Wrap(err)
	}
	return fmt.Appendf(nil, "%s%s%s,\n%s%s\n}\n", m.beyond, tailQuarantined, quarantined, tailPending, pending), nil
}

// follows makes an image one that comes of another: what the other carries goes on.
func (m image) follows(was image) image {
	m.version, m.beyond = was.version, was.beyond
	return m
}

func cannotBeLine(table, id string) error {
	return codes.Internal.New(fact.Of("reason", "the record "+table+"/"+id+" cannot be written as one line"))
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

// decodeState reads a state file. The records are sub-slices of data. Errors:
// saferoot.Damage and foreign, nothing else.
func decodeState(data []byte) (image, error) {
	if len(data) == 0 {
		return image{}, saferoot.Damage("it is empty")
	}
	rev, at, ok := readHead(data)
	if !ok {
		return image{}, stranger(data)
	}
	if !fits(data, at) {
		return image{}, saferoot.Damage("its checksum does not fit")
	}
	version, _, _ := readVersion(data)
	m, err := readBody(data[at+8+len(headEnd):], version)
	m.revision, m.version = rev, version
	return m, err
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
	return version, rest, ok && readableVersion(version)
}

const longestVersion = 8

// readableVersion reports whether this leslie reads a version: the one before, and 3.x.
func readableVersion(version string) bool {
	if version == versionBefore || version == Version {
		return true
	}
	minor, ok := strings.CutPrefix(version, "3.")
	n, err := strconv.Atoi(minor)
	return ok && err == nil && n > 0 && minor == strconv.Itoa(n)
}

// readHead reads the first line; at is where the checksum's digits stand.
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
	if len(data) < at+8 || !bytes.HasPrefix(data[at+8:], []byte(headEnd)) {
		return 0, 0, false
	}
	return thread.Revision(number), at, true
}

// fits reports whether the eight digits at at are the checksum of all else.
func fits(data []byte, at int) bool {
	return jsonl.Checksum(data[:at], data[at+8:]) == jsonl.SumPrefix+string(data[at:at+8])
}

// whole reports whether the bytes are a state of this version with a checksum
// that fits.
func whole(data []byte) bool {
	_, at, ok := readHead(data)
	return ok && fits(data, at)
}

// readBody reads what follows the first line. The checksum has vouched for the
// bytes, so a form that does not fit means a program that can compute it and
// yet does not know the format: damage all the same.
func readBody(rest []byte, version string) (image, error) {
	m := image{records: thread.Records{}, bodies: map[string][]byte{}}
	made, rest := cutLine(rest)
	op, ok := readOperation(made)
	if !ok {
		return image{}, saferoot.Damage("its operation cannot be read")
	}
	m.operation = op
	tables := thread.Tables()
	if version == versionBefore {
		tables = tables[:tablesBefore]
	}
	for _, table := range tables {
		lines, body, after, ok := readTable(rest, table)
		if !ok {
			return image{}, saferoot.Damage("its table " + table + " cannot be read")
		}
		m.records[table], m.bodies[table], rest = lines, body, after
	}
	if version != versionBefore {
		at := bytes.Index(rest, []byte(tailQuarantined))
		if at < 0 || at > 0 && (rest[at-1] != '\n' || version == Version) {
			return image{}, saferoot.Damage("its end cannot be read")
		}
		line, end := cutLine(rest[at:])
		if string(line) != tailQuarantined+"[]," && !readKey(line, "quarantined", &m.quarantined) {
			return image{}, saferoot.Damage("its end cannot be read")
		}
		m.beyond, rest = rest[:at:at], end
		if m.operation != nil {
			m.operation.held = m.quarantined
		}
	}
	line, rest := cutLine(rest)
	switch {
	case string(rest) != "}\n":
		return image{}, saferoot.Damage("its end cannot be read")
	case string(line) == tailPending+"null": // as nearly always
	case len(line) > largeOperation:
		m.unread = line
	default:
		m.unread = line
		return m, m.readPending()
	}
	return m, nil
}

// readPending decodes the pending steps, which nobody asks for of an operation that
// is known to be done.
func (m *image) readPending() error {
	line := m.unread
	m.unread = nil
	if line != nil && !readKey(append(bytes.Clone(line), ','), "pending", &m.pending) {
		return saferoot.Damage("its end cannot be read")
	}
	return nil
}

const (
	tablesBefore    = 5 // so many tables has a file of the version before
	tailQuarantined = `"quarantined":`
	tailPending     = `"pending":`
)

func cutLine(data []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(data, []byte("\n"))
	return line, rest
}

// readKey decodes a line of the form "key":VALUE, into v.
func readKey(line []byte, key string, v any) bool {
	value, ok := bytes.CutPrefix(line, []byte(`"`+key+`":`))
	if !ok {
		return false
	}
	value, ok = bytes.CutSuffix(value, []byte(","))
	return ok && thread.Decode(value, v) == nil
}

// stranger says what a file is whose first line is not this version's: another
// program's state, or damage. A file with a checksum in our manner that does
// not fit is damaged, whatever version it claims.
func stranger(data []byte) error {
	var probe struct {
		Version    json.RawMessage `json:"version"`
		Checksum   *string         `json:"checksum"`
		Operations json.RawMessage `json:"operations"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return saferoot.Damage("it is not valid JSON")
	}
	version := string(bytes.Trim(probe.Version, `"`))
	switch {
	case version != Version && version != versionBefore && version != "" && (probe.Checksum == nil || !claimsOurs(*probe.Checksum) || sealedAnyhow(data)):
		return foreign(writer(version, probe.Operations != nil))
	case probe.Checksum == nil && probe.Operations != nil:
		return foreign(writer(version, true))
	case readableVersion(version) && probe.Checksum != nil:
		return saferoot.Damage("it was changed by another program")
	}
	return saferoot.Damage("its first line cannot be read")
}

func claimsOurs(sum string) bool { return len(sum) >= 6 && sum[:6] == jsonl.SumPrefix[:6] }

// sealedAnyhow reports whether a file of another version carries our checksum
// and it fits: then a newer leslie wrote it.
func sealedAnyhow(data []byte) bool {
	mark := []byte(`"checksum":"` + jsonl.SumPrefix)
	i := bytes.Index(data, mark)
	return i >= 0 && i+len(mark)+8 <= len(data) && fits(data, i+len(mark))
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

// plainJSON is v as one line of JSON without HTML escapes, so that raw parts
// keep their bytes.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, codes.Internal.Wrap(err, fact.Of("reason", "a value cannot be written as JSON"))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
