package merging

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"leslie/store"
	"leslie/thread"
)

// This file has small values that several files share.

// taken returns a function that reports whether a table has an id.
func taken[T any](table interface {
	Peek(id string) (T, bool)
}) func(id string) bool {
	return func(id string) bool {
		_, there := table.Peek(id)
		return there
	}
}

func namesOf[T ~string](ids []T) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}

// joined formats ids as "a, b".
func joined(ids []thread.ThreadID) string { return strings.Join(namesOf(ids), ", ") }

// cut shortens a text to n characters, the last one then "…".
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

func quoted(s string) string { return strconv.Quote(s) }

// shown returns a text as it is, or quoted if it contains invisible characters.
func shown(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	return strconv.QuoteToASCII(s)
}

// maxAnswer is the size limit of an agent's file, in bytes.
const maxAnswer = store.MaxFile

func readAnswer(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxAnswer {
		return nil, os.ErrInvalid
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxAnswer))
}
