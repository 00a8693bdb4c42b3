package importing

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file is the format of leslie export: a JSON object a line.
//
//	{"leslie":"export","format":1,"version":"3.0","revision":7}       the first line
//	{"record":"threads/main","value":{...}}                           a record of the state
//	{"archived":{"record":...,"value":...,"seq":5,"sum":...}}         a line of the archive
//	{"operation":{"seq":1,...,"sum":...}}                             a line of the journal
//	{"blob":"SHA256","text":"..."}                                    a blob
//	{"kept":"op-k3v7q2ma","text":"..."}                               a list of displaced files
//	{"folder":"threads/main/empty"}                                   an empty folder
//	{"file":"threads/main/plan.md","blob":"SHA256"}                   a file with a blob's content
//	{"file":"threads/main/run.sh","executable":true,"base64":"..."}   another file
//	{"more":"...","text":"..."}                                       the rest of the content before
//	{"end":12}                                                        how many lines came before
//
// The lines come in this order, sorted by name, so that equal stores have equal exports.
// Content that is UTF-8 is "text", any other "base64"; long content goes on in further
// lines.

const (
	exportFormat = 1
	// maxPart is about how much content a line has, in bytes.
	maxPart = 1 << 20
	// maxExportLine is the limit of a line: an operation may be long.
	maxExportLine = 1 << 30
	// maxContent is the limit of one file or blob.
	maxContent = 1 << 30
)

// Head is the first line of an export.
type Head struct {
	Leslie   string `json:"leslie"`
	Format   int    `json:"format"`
	Version  string `json:"version"` // of the state
	Revision int64  `json:"revision"`
}

// File is a file or an empty folder of an export.
type File struct {
	Path       string
	Folder     bool
	Executable bool
	ReadOnly   bool
	Blob       string // if a blob has its content
	Content    []byte
}

// Writer writes an export.
type Writer struct {
	w     io.Writer
	lines int
}

// NewWriter writes the first line.
func NewWriter(w io.Writer, head Head) (*Writer, error) {
	head.Leslie, head.Format = string(Export), exportFormat
	out := &Writer{w: w}
	return out, out.object(head)
}

func (w *Writer) object(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return w.line(b.Bytes())
}

func (w *Writer) line(parts ...[]byte) error {
	w.lines++
	_, err := w.w.Write(bytes.Join(parts, nil))
	return err
}

// Record writes a record of the state; name is TABLE/ID, value its JSON.
func (w *Writer) Record(name string, value []byte) error {
	return w.line([]byte(`{"record":`+strconv.Quote(name)+`,"value":`), value, []byte("}\n"))
}

// Archived and Operation write sealed lines.
func (w *Writer) Archived(line []byte) error {
	return w.line([]byte(`{"archived":`), line, []byte("}\n"))
}

// Operation writes a line of the journal.
func (w *Writer) Operation(line []byte) error {
	return w.line([]byte(`{"operation":`), line, []byte("}\n"))
}

// Blob writes a blob.
func (w *Writer) Blob(id string, content []byte) error {
	return w.content(exportLine{Blob: id}, content)
}

// Kept writes the list of what an operation displaced.
func (w *Writer) Kept(op string, list []byte) error { return w.content(exportLine{Kept: op}, list) }

// File writes a file or an empty folder.
func (w *Writer) File(f File) error {
	switch {
	case f.Folder:
		return w.object(exportLine{Folder: f.Path})
	case f.Blob != "":
		return w.object(exportLine{File: f.Path, Executable: f.Executable, ReadOnly: f.ReadOnly, Blob: f.Blob})
	}
	return w.content(exportLine{File: f.Path, Executable: f.Executable, ReadOnly: f.ReadOnly}, f.Content)
}

// End writes the last line.
func (w *Writer) End() error {
	return w.object(struct {
		End int `json:"end"`
	}{w.lines})
}

// exportLine is a line as it is written and read; of each only its own members are set.
type exportLine struct {
	Record     string          `json:"record,omitempty"`
	Value      json.RawMessage `json:"value,omitempty"`
	Archived   json.RawMessage `json:"archived,omitempty"`
	Operation  json.RawMessage `json:"operation,omitempty"`
	Kept       string          `json:"kept,omitempty"`
	Folder     string          `json:"folder,omitempty"`
	File       string          `json:"file,omitempty"`
	Executable bool            `json:"executable,omitempty"`
	ReadOnly   bool            `json:"readOnly,omitempty"`
	Blob       string          `json:"blob,omitempty"`
	More       bool            `json:"more,omitempty"`
	Text       *string         `json:"text,omitempty"`
	Base64     *string         `json:"base64,omitempty"`
	End        *int            `json:"end,omitempty"`
}

// content writes a line with content, and further ones for what is longer.
func (w *Writer) content(l exportLine, content []byte) error {
	isText := utf8.Valid(content)
	for first := true; first || len(content) > 0; first = false {
		n := min(len(content), maxPart)
		for isText && n < len(content) && !utf8.RuneStart(content[n]) {
			n--
		}
		part := content[:n]
		content = content[n:]
		if !first {
			l = exportLine{More: true}
		}
		if isText {
			text := string(part)
			l.Text = &text
		} else {
			code := base64.StdEncoding.EncodeToString(part)
			l.Base64 = &code
		}
		if err := w.object(l); err != nil {
			return err
		}
	}
	return nil
}

// Reading takes what ReadExport reads, line by line. Bytes are the taker's own.
type Reading interface {
	Head(Head) error
	Record(table, id string, value []byte) error
	Archived(line []byte) error
	Operation(line []byte) error
	Blob(id string, content []byte) error
	Kept(op string, list []byte) error
	File(File) error
}

// IsExport reports whether input begins as an export does.
func IsExport(first []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(first), []byte("\n"))
	var head Head
	return json.Unmarshal(line, &head) == nil && head.Leslie == string(Export)
}

// ReadExport reads an export. Names are checked: files lie below threads/ID/ or
// merges/ID/. Errors: those of to; T502 with the line, also for an export that was cut
// off; T506 for a newer format; T106 for a name that occurs twice; T507 for a file that
// leads out; T508; what r returns.
func ReadExport(r io.Reader, from string, to Reading) error {
	e := &exportReader{from: from, to: to, seen: map[string]bool{}}
	if err := Lines(r, from, maxExportLine, e.line); err != nil {
		return err
	}
	if !e.ended {
		return broken(from, "it is cut off: its last line is missing")
	}
	return nil
}

type exportReader struct {
	from  string
	to    Reading
	lines int
	ended bool
	seen  map[string]bool

	open    *exportLine // with content that may go on
	content []byte
}

func (e *exportReader) line(number int, line []byte) error {
	at := e.from + ", line " + strconv.Itoa(number)
	if err := text(at, line); err != nil {
		return err
	}
	if e.lines++; e.lines == 1 {
		return e.head(at, line)
	}
	var l exportLine
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil || dec.More() || e.ended {
		return broken(at, "it is no line of an export")
	}
	if l.More {
		return e.more(at, l)
	}
	if err := e.flush(); err != nil {
		return err
	}
	return e.kind(at, l)
}

func (e *exportReader) head(at string, line []byte) error {
	var head Head
	if json.Unmarshal(line, &head) != nil || head.Leslie != string(Export) {
		return broken(at, "it is no export of leslie")
	}
	if head.Format != exportFormat {
		return codes.UnsupportedVersion.New(fact.Of("path", e.from), fact.Of("writer", "another edition of leslie (export format "+strconv.Itoa(head.Format)+")")).
			WithNext("leslie help import")
	}
	return e.to.Head(head)
}

// kind handles a line by its one kind.
func (e *exportReader) kind(at string, l exportLine) error {
	switch {
	case l.End != nil:
		if *l.End != e.lines-1 {
			return broken(at, "lines are missing")
		}
		e.ended = true
		return nil
	case l.Record != "":
		table, id, ok := strings.Cut(l.Record, "/")
		if !ok || len(l.Value) == 0 {
			return broken(at, "a record needs a name and a value")
		}
		if err := e.once(at, "record "+l.Record); err != nil {
			return err
		}
		return e.to.Record(table, id, bytes.Clone(l.Value))
	case len(l.Archived) > 0:
		return e.to.Archived(bytes.Clone(l.Archived))
	case len(l.Operation) > 0:
		return e.to.Operation(bytes.Clone(l.Operation))
	case l.Folder != "":
		if err := e.place(at, l.Folder); err != nil {
			return err
		}
		return e.to.File(File{Path: l.Folder, Folder: true})
	case l.File != "" && l.Blob != "":
		if err := e.place(at, l.File); err != nil {
			return err
		}
		return e.to.File(File{Path: l.File, Executable: l.Executable, ReadOnly: l.ReadOnly, Blob: l.Blob})
	case l.File == "" && l.Blob == "" && l.Kept == "":
		return broken(at, "it is no line of an export")
	}
	if l.File != "" {
		if err := e.place(at, l.File); err != nil {
			return err
		}
	} else if err := e.once(at, "content "+l.Blob+" "+l.Kept); err != nil {
		return err
	}
	e.open, e.content = &l, nil
	return e.more(at, l)
}

// more adds content to the line that is open.
func (e *exportReader) more(at string, l exportLine) error {
	var part []byte
	switch {
	case e.open == nil || (l.Text == nil) == (l.Base64 == nil):
		return broken(at, "content is missing, or belongs to nothing")
	case l.Text != nil:
		part = []byte(*l.Text)
	default:
		var err error
		if part, err = base64.StdEncoding.DecodeString(*l.Base64); err != nil {
			return broken(at, "its content is not base64")
		}
	}
	if e.content = append(e.content, part...); len(e.content) > maxContent {
		return tooLong(at, "1 GiB")
	}
	return nil
}

// flush hands over the content that is complete.
func (e *exportReader) flush() error {
	l, content := e.open, e.content
	e.open, e.content = nil, nil
	switch {
	case l == nil:
		return nil
	case l.File != "":
		return e.to.File(File{Path: l.File, Executable: l.Executable, ReadOnly: l.ReadOnly, Content: content})
	case l.Kept != "":
		return e.to.Kept(l.Kept, content)
	}
	return e.to.Blob(l.Blob, content)
}

func (e *exportReader) once(at, name string) error {
	if e.seen[name] {
		return codes.AlreadyExists.New(fact.Of("id", name), fact.Of("path", at)).
			WithHint("The input has this twice; nothing was imported").WithNext("leslie help import")
	}
	e.seen[name] = true
	return nil
}

// place checks where a file lies.
func (e *exportReader) place(at, name string) error {
	home, below, _ := strings.Cut(name, "/")
	known := (home == "threads" || home == "merges") && strings.Contains(below, "/")
	if !fs.ValidPath(name) || !known || strings.Contains(name, "\x00") {
		return codes.UnsafePath.New(fact.Of("path", name)).
			WithHint("The input puts a file there (" + at + "); nothing was imported").WithNext("leslie help import")
	}
	return e.once(at, "file "+name)
}
