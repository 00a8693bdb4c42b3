package app

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"leslie/thread"
)

// maxSlug is how long the id that a title gives is at most, in characters: 24 with a number.
const maxSlug = 21

// Slug returns the id that a title gives: its words in lower case, joined by '-', as many as
// fit. Letters lose their accents; articles and what no id may have are left out, and so is
// a first word with which ids of other records begin. "" if nothing remains.
func Slug(title string) string {
	var plain strings.Builder
	for _, r := range norm.NFD.String(title) {
		switch {
		case unicode.Is(unicode.Mn, r), r == '\'', r == '’':
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			plain.WriteRune(unicode.ToLower(r))
		default:
			plain.WriteByte(' ')
		}
	}
	words := slices.DeleteFunc(strings.Fields(plain.String()), func(word string) bool { return word == "a" || word == "an" || word == "the" })
	for len(words) > 0 && thread.BeginsID(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	id := words[0][:min(len(words[0]), maxSlug)]
	for _, word := range words[1:] {
		if len(id)+1+len(word) > maxSlug {
			break
		}
		id += "-" + word
	}
	return id
}
