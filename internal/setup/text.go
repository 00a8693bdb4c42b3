package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// This file has the pieces that are lines: a file that is leslie's as a whole, and a block
// between two marks in a file of somebody else. The first mark has a checksum of what it
// marks, which tells an older version of a piece from one that somebody edited.

// comment is how a sort of file writes a comment of one line.
type comment struct{ open, close string }

// mark is the line with the checksum of a body.
func (c comment) mark(name, body string) string {
	return c.open + "leslie setup: " + name + " " + checksum(body) + c.close
}

// end is the line behind a block.
func (c comment) end(name string) string { return c.open + "leslie setup: end of " + name + c.close }

// marked returns the checksum that a line has for a piece; ok is false if the line is no
// mark of it.
func (c comment) marked(name, line string) (sum string, ok bool) {
	rest, ok := strings.CutPrefix(line, c.open+"leslie setup: "+name+" ")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, c.close)
}

func checksum(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:6])
}

// plain is a text with the line ends of unix: a checkout may have others.
func plain(text []byte) string { return strings.ReplaceAll(string(text), "\r\n", "\n") }

// whole is a file that is leslie's: a body that ends with a newline, then its mark.
type whole struct {
	name string
	comment
	body string
}

func (w whole) text() string { return w.body + w.mark(w.name, w.body) + "\n" }

func (w whole) look(text []byte) (State, error) {
	if text == nil {
		return Missing, nil
	}
	is := plain(text)
	if is == w.text() {
		return Installed, nil
	}
	trimmed := strings.TrimSuffix(is, "\n")
	at := strings.LastIndexByte(trimmed, '\n') + 1
	if sum, ok := w.marked(w.name, trimmed[at:]); ok && sum == checksum(trimmed[:at]) {
		return Outdated, nil
	}
	return Edited, nil
}

func (w whole) install([]byte) ([]byte, error) { return []byte(w.text()), nil }

func (w whole) remove([]byte) ([]byte, error) { return nil, nil }

// block is a body between two marks, at the end of a file.
type block struct {
	name string
	comment
	body string // whole lines
	// elsewhere says how the piece stands in a text without the block; nil: it is missing.
	elsewhere func(text []byte) (State, error)
	// keeps returns why the text after a change is not the one before with the block, as the
	// reader of the file sees both; nil if every text will do.
	keeps func(before, after []byte) error
}

// span is where a block is in a text: its lines, without the end of the last one.
type span struct {
	from, to int
	sum      string
	body     string
}

// find returns the first block of the piece.
func (b block) find(text []byte) (s span, ok bool) {
	at := 0
	for line := range strings.Lines(string(text)) {
		bare := strings.TrimRight(line, "\r\n")
		if sum, is := b.marked(b.name, bare); is {
			s, ok = span{from: at, sum: sum}, true
		} else if ok && bare == b.end(b.name) {
			s.to = at + len(bare)
			_, inner, _ := strings.Cut(plain(text[s.from:at]), "\n")
			s.body = inner
			return s, true
		}
		at += len(line)
	}
	return span{}, false // a mark without an end is somebody's text
}

func (b block) look(text []byte) (State, error) {
	s, ok := b.find(text)
	switch {
	case !ok && b.elsewhere != nil && text != nil:
		return b.elsewhere(text)
	case !ok:
		return Missing, nil
	case s.body == b.body:
		return Installed, nil
	case s.sum == checksum(s.body):
		return Outdated, nil
	}
	return Edited, nil
}

func (b block) install(text []byte) ([]byte, error) {
	after := b.appended(text)
	if b.keeps != nil {
		if err := b.keeps(text, after); err != nil {
			return nil, err
		}
	}
	return after, nil
}

// appended is a text with the block at its end, after an empty line. A text that does not
// end with a newline does not get one, so that removing the block gives it back.
func (b block) appended(text []byte) []byte {
	newline := "\n"
	// A carriage return at the very end would make a line end with the newline behind it.
	if bytes.Contains(text, []byte("\r\n")) || bytes.HasSuffix(text, []byte("\r")) {
		newline = "\r\n"
	}
	lines := b.mark(b.name, b.body) + "\n" + b.body + b.end(b.name)
	out := append(bytes.Clone(text), strings.ReplaceAll(lines, "\n", newline)...)
	switch {
	case text == nil:
		return append(out, newline...)
	case len(text) == 0:
		return out
	case bytes.HasSuffix(text, []byte("\n")):
		return append(splice(out, len(text), len(text), newline), newline...)
	}
	return splice(out, len(text), len(text), newline+newline)
}

// splice replaces a part of a text.
func splice(text []byte, from, to int, with string) []byte {
	out := append(bytes.Clone(text[:from]), with...)
	return append(out, text[to:]...)
}

func (b block) remove(text []byte) ([]byte, error) {
	s, ok := b.find(text)
	if !ok { // it is there without leslie's block
		return text, nil
	}
	if before, rest := text[:s.from], text[s.to:]; len(bytes.TrimRight(rest, "\r\n")) == 0 {
		for _, without := range [][]byte{nil, {}, before, trimNewline(before), trimNewline(trimNewline(before))} {
			if older := b.with(s.body); bytes.Equal(older.appended(without), text) {
				return without, nil
			}
		}
	}
	to := s.to
	for _, newline := range []string{"\r\n", "\n"} {
		if bytes.HasPrefix(text[to:], []byte(newline)) {
			to += len(newline)
			break
		}
	}
	return splice(text, s.from, to, ""), nil
}

// with is the block with the body of another version.
func (b block) with(body string) block {
	b.body = body
	return b
}

func trimNewline(text []byte) []byte {
	if cut, ok := bytes.CutSuffix(text, []byte("\r\n")); ok {
		return cut
	}
	return bytes.TrimSuffix(text, []byte("\n"))
}
