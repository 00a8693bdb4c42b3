package transcript

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"leslie/internal/fact"
)

// The kinds of entries. A newer leslie may write others.
const (
	Prompt     = "prompt"     // what leslie sent: Words
	Text       = "text"       // what the agent says: Words
	Thought    = "thought"    // what it thinks: Words
	Tool       = "tool"       // a call of a tool or what became of it: an update
	Permission = "permission" // what was asked, and the verdict
	Usage      = "usage"      // an update
	Junk       = "junk"       // a line of the agent's that is no message
	Refused    = "refused"    // a request of the agent's that leslie does not serve
	Session    = "session"    // a session was opened, lost or ended
	Error      = "error"      // Words
	End        = "end"        // of a turn
	Kept       = "kept"       // what a turn left
	Elsewhere  = "elsewhere"  // what changed in the project's checkout meanwhile
	Ended      = "ended"      // of the run
	Update     = "update"     // any other update
)

// Words are the fields of an entry that is a text.
type Words struct {
	Text string `json:"text"`
}

// Entry is an entry of a transcript. Its JSON is its line of the file, also with fields
// that this version does not know.
type Entry struct {
	N    int64     `json:"n"`
	At   time.Time `json:"at"`
	Run  string    `json:"run"`
	Turn int       `json:"turn"` // of the thread's runs, from 1; 0 before the first
	Kind string    `json:"kind"`
	Text string    `json:"text"`
	// Raw is an update as the agent sent it, one of its use with what the run has cost (runCost); of one that was too large, only what
	// identifies it, and Size says how many bytes it had.
	Raw  json.RawMessage `json:"raw"`
	Size int             `json:"size"`

	line []byte
}

// MarshalJSON returns the entry's line.
func (e Entry) MarshalJSON() ([]byte, error) { return e.line, nil }

// Decode reads the entry's fields into v, as json.Unmarshal does.
func (e Entry) Decode(v any) error { return json.Unmarshal(e.line, v) }

// parse reads a line; ok is false if it is no entry.
func parse(line []byte) (e Entry, ok bool) {
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &e) != nil || e.N <= 0 || e.Kind == "" {
		return Entry{}, false
	}
	e.line = bytes.ToValidUTF8(bytes.Clone(line), []byte("\uFFFD"))
	return e, true
}

// number returns the number of the entry in a line as this package writes it, 0 for any
// other line: then only parse can tell.
func number(line []byte) int64 {
	rest, ok := bytes.CutPrefix(line, []byte(`{"n":`))
	digits, _, found := bytes.Cut(rest[:min(len(rest), 20)], []byte(","))
	if n, err := strconv.ParseInt(string(digits), 10, 64); ok && found && err == nil && n > 0 {
		return n
	}
	return 0
}

const (
	// mostFields is the maximum size in bytes of the fields of an entry.
	mostFields = 1 << 20
	// mostLine is more than any line has, in bytes.
	mostLine = mostFields + 64<<10
	// mostIdentity limits each field that is kept of an update that is too large.
	mostIdentity = 300
)

// fieldsOf returns the members of an entry that say what happened, each behind a comma:
// those of a struct or a map, or of a json.RawMessage the member raw.
func fieldsOf(what any) []byte {
	raw, isRaw := what.(json.RawMessage)
	if isRaw && !json.Valid(raw) {
		return sizeField(len(raw))
	}
	if !isRaw {
		var err error
		if raw, err = fact.JSON(what); err != nil {
			return nil
		}
	}
	if bytes.ContainsAny(raw, "\n\r\t") { // between its values
		var one bytes.Buffer
		_ = json.Compact(&one, raw) // valid, as was seen
		raw = one.Bytes()
	}
	if raw = fact.Escaped(bytes.TrimSpace(raw)); len(raw) > mostFields {
		return append(identity(raw, isRaw), sizeField(len(raw))...)
	}
	if isRaw || raw[0] != '{' {
		return append([]byte(`,"raw":`), raw...)
	}
	if raw = raw[1 : len(raw)-1]; len(raw) == 0 {
		return nil
	}
	return append([]byte(","), raw...)
}

// appendString appends a text as JSON.
func appendString(b []byte, text string) []byte {
	encoded, err := fact.JSON(text)
	if err != nil {
		return append(b, `""`...) // no text is without a form in JSON
	}
	return append(b, fact.Escaped(encoded)...)
}

func sizeField(n int) []byte { return strconv.AppendInt([]byte(`,"size":`), int64(n), 10) }

// identity returns what is kept of an update that is too large.
func identity(raw []byte, isRaw bool) []byte {
	var kept struct {
		Update string `json:"sessionUpdate,omitempty"`
		ID     string `json:"toolCallId,omitempty"`
		Title  string `json:"title,omitempty"`
		Kind   string `json:"kind,omitempty"`
		Status string `json:"status,omitempty"`
	}
	if !isRaw || json.Unmarshal(raw, &kept) != nil {
		return nil
	}
	for _, field := range []*string{&kept.Update, &kept.ID, &kept.Title, &kept.Kind, &kept.Status} {
		*field = (*field)[:min(len(*field), mostIdentity)]
	}
	small, err := fact.JSON(kept)
	if err != nil {
		return nil
	}
	return append([]byte(`,"raw":`), small...)
}
