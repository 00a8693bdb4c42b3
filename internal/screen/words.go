package screen

import (
	"strings"
	"unicode"

	"leslie/merge"
)

// This file finds what a side changed in the base: lines, and the words in them.

// marked is a line of a text, with the parts that differ from another text.
type marked struct {
	parts   []part
	changed bool
}

// part is a piece of a line.
type part struct {
	text    string
	changed bool
}

// maxWords is up to how many words of a change are compared with each other.
const maxWords = 20_000

// alike is how much of two versions of lines, in percent, must be equal for the words
// that differ to be marked; otherwise the lines differ as a whole.
const alike = 30

// marks returns the lines of a text, with what differs from another.
func marks(was, is []string) (lines []marked) {
	at := 0
	same := func(to int) {
		for _, text := range is[at:to] {
			lines = append(lines, marked{parts: []part{{text: text}}})
		}
	}
	for _, c := range merge.DiffTokens(was, is) {
		same(c.ToFirst)
		lines = append(lines, words(was[c.FromFirst:c.FromEnd], is[c.ToFirst:c.ToEnd])...)
		at = c.ToEnd
	}
	same(len(is))
	return lines
}

// also returns the lines of a text with what differs from any of two others.
func also(one, another []marked) []marked {
	if one == nil {
		return another
	}
	for i := range another {
		if !one[i].changed {
			one[i] = another[i]
		}
	}
	return one
}

// words returns lines that replace others, with the words that differ.
func words(was, is []string) []marked {
	from, to := wordsOf(was), wordsOf(is)
	differs := make([]bool, len(to))
	if len(from)+len(to) > maxWords || !compare(from, to, differs) {
		for i := range differs {
			differs[i] = true
		}
	}
	out := make([]marked, 0, len(is))
	one := marked{changed: true}
	for i, word := range to {
		if word == "\n" {
			out, one = append(out, one), marked{changed: true}
			continue
		}
		if n := len(one.parts); n > 0 && one.parts[n-1].changed == differs[i] {
			one.parts[n-1].text += word
			continue
		}
		one.parts = append(one.parts, part{word, differs[i]})
	}
	return out
}

// compare sets differs for the words that were not there before. It returns false if too
// little is the same.
func compare(from, to []string, differs []bool) bool {
	for _, c := range merge.DiffTokens(from, to) {
		for i := c.ToFirst; i < c.ToEnd; i++ {
			differs[i] = true
		}
	}
	same, all := 0, 0
	for i, word := range to {
		if strings.TrimSpace(word) == "" {
			continue
		}
		all += len(word)
		if !differs[i] {
			same += len(word)
		}
	}
	return same*100 >= all*alike && same > 0
}

// wordsOf cuts lines into words: letters and digits, white space, or one other character.
// "\n" ends each line.
func wordsOf(lines []string) (out []string) {
	for _, text := range lines {
		start, kind := 0, 0
		for i, r := range text {
			if now := kindOf(r); i > 0 && (now != kind || now == other) {
				out = append(out, text[start:i])
				start = i
			}
			kind = kindOf(r)
		}
		if text != "" {
			out = append(out, text[start:])
		}
		out = append(out, "\n")
	}
	return out
}

// Kinds of characters in words.
const (
	other = iota
	letter
	space
)

func kindOf(r rune) int {
	switch {
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), r == '_':
		return letter
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// linesOf returns the lines of a text, safe to print. Line feeds are left out, and so are
// carriage returns before them if crlf.
func linesOf(text string, crlf bool) []string {
	var out []string
	for one := range strings.Lines(text) {
		one = strings.TrimSuffix(one, "\n")
		if crlf {
			one = strings.TrimSuffix(one, "\r")
		}
		out = append(out, visible(one))
	}
	return out
}

// crlf reports whether every line of the texts ends in a carriage return and a line feed.
func crlf(texts ...string) bool {
	n := 0
	for _, text := range texts {
		for one := range strings.Lines(text) {
			if !strings.HasSuffix(one, "\r\n") && strings.HasSuffix(one, "\n") {
				return false
			}
			n++
		}
	}
	return n > 0
}
