package main

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"leslie/internal/external"
)

// page builds a text answer. Values from outside are escaped, so that no title or
// content can move a cursor, forge a line or control the terminal.
type page struct {
	b bytes.Buffer
	// terminal: a person's terminal shows it, which must not act on a file's content.
	terminal bool
	// person: a person reads it at their terminal, and no agent.
	person   bool
	coloured bool
	// width is that of a person's terminal, in cells; 0 for anybody else.
	width int
	// relative: tables say how long ago a time was; otherwise they have it in RFC 3339.
	// timed: the caller said which.
	relative, timed bool
	now             func() time.Time
	// from converts a path from the project's root to one that is right from the caller's
	// working folder; nil: they are the same.
	from func(path string) string
}

// place is a path from the project's root as the caller has to write it.
func (p *page) place(path string) string {
	if p.from == nil || path == "" {
		return path
	}
	return p.from(path)
}

func (p *page) String() string { return p.b.String() }

// line writes one line; its arguments are escaped.
func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", escaped(args)...) }

// styled is text that is written unchanged; its visible parts were escaped.
type styled string

// escaped escapes the arguments of a line, whatever their type; numbers and booleans
// stay.
func escaped(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		if s, ok := plainText(a); ok {
			a = escape(s)
		}
		out[i] = a
	}
	return out
}

// content writes lines of a file's content or of the unified format: as they are, but at
// a terminal without characters that it would act on. A colour is for a terminal.
func (p *page) content(colour string, lines ...string) {
	for _, line := range lines {
		if p.terminal {
			line = visible(line)
		}
		if p.coloured && colour != "" {
			line = "\x1b[" + colour + "m" + line + "\x1b[0m"
		}
		p.b.WriteString(line + "\n")
	}
}

// visible escapes a line but keeps its tabs.
func visible(line string) string {
	parts := strings.Split(line, "\t")
	for i := range parts {
		parts[i] = escape(parts[i])
	}
	return strings.Join(parts, "\t")
}

// field writes "name: value" and leaves out an empty value.
func (p *page) field(name string, value any) {
	if s, ok := plainText(value); ok {
		if s != "" {
			p.line("%s: %s", name, s)
		}
		return
	}
	p.line("%s: %v", name, value)
}

// table writes rows in columns under a header; nothing when there are no rows.
func (p *page) table(header string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	if p.width > 0 {
		p.draw(plainTable(strings.Fields(header), rows))
		return
	}
	p.rows(append([][]string{strings.Fields(header)}, rows...))
}

// rows writes rows in columns.
func (p *page) rows(rows [][]string) {
	w := tabwriter.NewWriter(&p.b, 0, 0, 2, ' ', tabwriter.StripEscape)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = escape(cell)
			if cell == "" {
				row[i] = "-"
			}
		}
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
}

// lines writes a text under a name: behind it if it is one line, else indented below.
func (p *page) lines(name, text string) {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if !strings.Contains(text, "\n") {
		p.field(name, text)
		return
	}
	p.line("%s:", name)
	for line := range strings.SplitSeq(text, "\n") {
		p.line("%s", styled(strings.TrimRight("  "+visible(line), " \t")))
	}
}

// rest says how many items of a list were not shown.
func (p *page) rest(shown, total int) {
	if shown < total {
		p.line("(%d of %d shown; --limit 0 shows all)", shown, total)
	}
}

// plainText returns a value as text; ok is false for numbers and booleans, and for
// styled text.
func plainText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case styled:
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

// escape makes control and format characters visible, newlines among them.
func escape(s string) string {
	if strings.IndexFunc(s, hidden) < 0 && strings.ToValidUTF8(s, "") == s {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if hidden(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden are characters that a terminal acts on or that hide or reorder others.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

func quoted(s string) string { return strconv.Quote(s) }

// shellQuote is s as one word of a POSIX shell.
func shellQuote(s string) string { return external.Word(s) }

// limitFlag is --limit of every list.
func limitFlag() cli.Flag {
	return newOption("limit", aCount("N"), "show at most N (default 50, 0 = all)")
}
