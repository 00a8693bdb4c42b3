package report

import (
	"io"

	"leslie/internal/fact"
)

// This file shows characters that would hide or reorder others: a command that somebody is
// asked to trust must read as what it is. Markup is html/template's business.

// hides reports whether a character hides, reorders or controls. What joins letters and
// emoji does not, nor do line breaks and tabs.
func hides(r rune) bool {
	switch r {
	case '\n', '\r', '\t', '\u200c', '\u200d':
		return false
	}
	return fact.Hidden(r)
}

// visible returns a text with such characters as escapes.
func visible(text string) string { return fact.Visible(text, hides) }

// escapingWriter writes what is written to it with such characters as escapes. Escapes have no
// character that HTML acts on. Each write has whole characters, as a template's have.
type escapingWriter struct{ io.Writer }

func (w escapingWriter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, visible(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
