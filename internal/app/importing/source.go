package importing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// Kind is the program that a source comes from.
type Kind string

// The kinds of sources.
const (
	Leslie Kind = "leslie" // a store of the Node edition
	Beads  Kind = "beads"  // issues as JSON Lines
	Export Kind = "export" // what leslie export wrote
	Rules  Kind = "rules"  // the Node edition's permission file
)

// Limits of input.
const (
	// MaxJSON is the size of a file that is read as a whole, in bytes.
	MaxJSON = 128 << 20
	// MaxLine is the length of a line, in bytes.
	MaxLine = 16 << 20
)

// Source is what a store or a file of another program holds. Frozen references have no
// manifest yet: Copies says where their files are.
type Source struct {
	Kind Kind
	thread.Adoption
	// Folders are folders of the source that become a thread's artifacts, or a part of
	// them.
	Folders []Folder
	// Copies are folders of the source that a frozen reference keeps.
	Copies []Copy
	// Kept are files for a thread's folder that the source has in another form: the
	// original records, old operations.
	Kept []KeptFile
	// Artifacts are files that become artifacts of a thread.
	Artifacts []KeptFile
	// Renamed are ids that had characters outside leslie's alphabet, or were the same
	// without them.
	Renamed []Renamed
	// Unmapped says what has no place in leslie's records. Nothing of it is lost: Kept has
	// the original.
	Unmapped []Note
	// Rules are those of the permission file, nil if there is none. They are a suggestion.
	Rules *Permissions
}

// Folder is a folder of the source. Its files go to To below the thread's folder.
type Folder struct {
	From string // "/"-separated, in the source
	// Skip are names in it that do not belong to it.
	Skip   []string
	Thread thread.ThreadID
	To     string // "." or a path
}

// Copy is the content of a frozen reference.
type Copy struct {
	From      string
	Reference int // index in Source.References
}

// KeptFile is a new file in a thread's folder.
type KeptFile struct {
	Thread thread.ThreadID
	Path   string
	Data   []byte
}

// Renamed is an id that became another one.
type Renamed struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Note says what does not map.
type Note struct {
	Kind   string `json:"kind"`   // what many may be of: assignee, comments, dependency and so on
	Record string `json:"record"` // TABLE/ID, or a file
	What   string `json:"what"`
}

// KeptDir is where a thread's folder has what Source.Kept and the source's own
// bookkeeping give.
const KeptDir = ".meta/imported"

// note adds to Unmapped.
func (s *Source) note(kind, record, format string, args ...any) {
	s.Unmapped = append(s.Unmapped, Note{Kind: kind, Record: record, What: fmt.Sprintf(format, args...)})
}

func (s *Source) keep(id thread.ThreadID, name string, data []byte) {
	s.Kept = append(s.Kept, KeptFile{Thread: id, Path: KeptDir + "/" + name, Data: data})
}

// broken is T502 for input that cannot be read as what it claims to be.
func broken(from, reason string) *codes.Error {
	return codes.ParseError.New(fact.Of("reason", reason), fact.Of("path", from)).
		WithHint("Nothing was imported. Correct the input, or name its kind with --from").WithNext("leslie help import")
}

func tooLong(what, limit string) *codes.Error {
	return codes.TooLarge.New(fact.Of("what", what), fact.Of("limit", limit)).
		WithHint("Nothing was imported. Split the input").WithNext("leslie help import")
}

// withoutMark returns input without the mark with which some programs begin UTF-8.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// text checks that input is UTF-8: decoding JSON would silently replace what is not.
func text(from string, data []byte) error {
	if !utf8.Valid(data) {
		return broken(from, "it is not UTF-8")
	}
	return nil
}

// notJSON says where a text stops being JSON, and why.
func notJSON(text []byte, err error) string {
	why := "it is not valid JSON"
	at := fact.Where(text, err)
	if !bytes.Contains(text, []byte("\n")) { // whoever names the text has its line
		at = strings.TrimPrefix(at, "line 1, ")
	}
	if at != "" {
		why += " (" + at + ")"
	}
	return why + ": " + err.Error()
}

// Spread is T502 for a file of lines that begins with an object over several lines.
func Spread(from string, data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return broken(from, notJSON(data, err))
	}
	return broken(from, "it is one object over several lines, and a file of issues has one object in each line")
}

// object decodes the members of a JSON object in their order. Errors: T502, T106 for a
// member that occurs twice.
func object(from string, data []byte) ([]member, error) {
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return nil, broken(from, notJSON(data, err))
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, broken(from, "it is not a JSON object")
	}
	var out []member
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, broken(from, err.Error())
		}
		name, _ := key.(string) // as in all valid JSON
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, broken(from, err.Error())
		}
		if seen[name] {
			return nil, codes.AlreadyExists.New(fact.Of("id", name), fact.Of("path", from)).
				WithHint("The input has this name twice; nothing was imported").WithNext("leslie help import")
		}
		seen[name] = true
		out = append(out, member{name, value})
	}
	return out, nil
}

type member struct {
	name  string
	value json.RawMessage
}

// stampOf reads a time of the source; an absent one is the fallback.
func stampOf(from, text string, fallback time.Time) (time.Time, error) {
	if text == "" {
		return fallback, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, broken(from, fmt.Sprintf("%q is no time", text))
	}
	if t = t.UTC().Truncate(time.Millisecond); t.Year() < 0 || t.Year() > 9999 {
		return t, broken(from, fmt.Sprintf("%q is no time", text))
	}
	return t, nil
}
