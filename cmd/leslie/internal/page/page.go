package page

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"

	"leslie/internal/fact"
)

// Page builds a text answer. Values from outside are escaped, so that no title or
// content can move a cursor, forge a line or control the terminal.
type Page struct {
	B bytes.Buffer
	// Terminal: a person's terminal shows it, which must not act on a file's content.
	Terminal bool
	// Person: a person reads it at their terminal, and no agent.
	Person   bool
	Coloured bool
	// Width is that of a person's terminal, in cells; 0 for anybody else.
	Width int
	// Relative: tables say how long ago a time was; otherwise they have it in RFC 3339.
	// timed: the caller said which.
	Relative, Timed bool
	Now             func() time.Time
	// From converts a path from the project's root to one that is right from the caller's
	// working folder; nil: they are the same.
	From func(path string) string
}

// Place is a path from the project's root as the caller has to write it.
func (p *Page) Place(path string) string {
	if p.From == nil || path == "" {
		return path
	}
	return p.From(path)
}

// String is what the page has so far.
func (p *Page) String() string { return p.B.String() }

// Line writes one line; its arguments are escaped.
func (p *Page) Line(format string, args ...any) { fmt.Fprintf(&p.B, format+"\n", Escaped(args)...) }

// Styled is text that is written unchanged; its visible parts were escaped.
type Styled string

// Escaped escapes the arguments of a line, whatever their type; numbers and booleans
// stay.
func Escaped(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		if s, ok := plainText(a); ok {
			a = Escape(s)
		}
		out[i] = a
	}
	return out
}

// Content writes lines of a file's content or of the unified format: as they are, but at
// a terminal without characters that it would act on. A colour is for a terminal.
func (p *Page) Content(colour string, lines ...string) {
	for _, line := range lines {
		if p.Terminal {
			line = Visible(line)
		}
		if p.Coloured && colour != "" {
			line = "\x1b[" + colour + "m" + line + "\x1b[0m"
		}
		p.B.WriteString(line + "\n")
	}
}

// Visible escapes a line but keeps its tabs.
func Visible(line string) string {
	parts := strings.Split(line, "\t")
	for i := range parts {
		parts[i] = Escape(parts[i])
	}
	return strings.Join(parts, "\t")
}

// Field writes "name: value" and leaves out an empty value.
func (p *Page) Field(name string, value any) {
	if s, ok := plainText(value); ok {
		if s != "" {
			p.Line("%s: %s", name, s)
		}
		return
	}
	p.Line("%s: %v", name, value)
}

// Table writes rows in columns under a header; nothing when there are no rows.
func (p *Page) Table(header string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	if p.Width > 0 {
		p.Draw(plainTable(strings.Fields(header), rows))
		return
	}
	p.rows(append([][]string{strings.Fields(header)}, rows...))
}

// rows writes rows in columns.
func (p *Page) rows(rows [][]string) {
	w := tabwriter.NewWriter(&p.B, 0, 0, 2, ' ', tabwriter.StripEscape)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = Escape(cell)
			if cell == "" {
				row[i] = "-"
			}
		}
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
}

// Lines writes a text under a name: behind it if it is one line, else indented below.
func (p *Page) Lines(name, text string) {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if !strings.Contains(text, "\n") {
		p.Field(name, text)
		return
	}
	p.Line("%s:", name)
	for line := range strings.SplitSeq(text, "\n") {
		p.Line("%s", Styled(strings.TrimRight("  "+Visible(line), " \t")))
	}
}

// Rest says how many items of a list were not shown.
func (p *Page) Rest(shown, total int) {
	if shown < total {
		p.Line("(%d of %d shown; --limit 0 shows all)", shown, total)
	}
}

// plainText returns a value as text; ok is false for numbers and booleans, and for
// styled text.
func plainText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case Styled:
		return "", false
	case fmt.Stringer:
		return v.String(), true
	}
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.Pointer {
		if r.IsNil() {
			return "", true
		}
		r = r.Elem()
	}
	switch {
	case r.Kind() == reflect.String:
		return r.String(), true
	case r.CanInt() || r.CanUint() || r.CanFloat() || r.Kind() == reflect.Bool:
		return "", false
	}
	return fmt.Sprint(v), true
}

// Escape makes control and format characters visible, newlines among them.
func Escape(s string) string { return fact.Visible(s, fact.Hidden) }

// MaxTitle is how many characters of a title, a name or a reason a line shows.
const MaxTitle = 200
