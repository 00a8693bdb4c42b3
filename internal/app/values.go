package app

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"leslie/codes"
	"leslie/store"
	"leslie/thread"
)

// This file has small values that several use cases share.

// Items is a list as every use case returns one.
type Items[T any] struct {
	Items     []T  `json:"items"`
	Total     int  `json:"total"`
	Truncated bool `json:"truncated"`
}

// DefaultLimit is the default limit of lists.
const DefaultLimit = 50

// First cuts a list to limit items; 0 keeps all.
func First[T any](all []T, limit int) Items[T] {
	shown := all
	if limit > 0 && len(all) > limit {
		shown = all[:limit]
	}
	return Items[T]{Items: append([]T{}, shown...), Total: len(all), Truncated: len(shown) < len(all)}
}

// converted cuts a list of records, oldest first, to the first limit of them, or to the
// newest, and converts them; 0 keeps all.
func converted[R, T any](all []R, limit int, newest bool, of func(R) T) Items[T] {
	shown := First(all, limit)
	if newest {
		shown.Items = all[len(all)-len(shown.Items):]
	}
	out := Items[T]{Items: make([]T, len(shown.Items)), Total: shown.Total, Truncated: shown.Truncated}
	for i, r := range shown.Items {
		out.Items[i] = of(r)
	}
	return out
}

// orNull returns nil for an empty text, so that JSON has null.
func orNull[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}

// joined formats values as "a, b".
func joined[T ~string](values []T) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = string(v)
	}
	return strings.Join(parts, ", ")
}

// cut shortens a text to n characters, the last one then "…".
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// MaxFile is how large a file may be that leslie reads, in bytes.
const MaxFile = store.MaxFile

// ReplaceFile gives a file outside any store new content; see store.ReplaceFile.
func ReplaceFile(path string, data []byte, perm fs.FileMode) (undurable, err error) {
	return store.ReplaceFile(path, data, perm)
}

// StoreFolder is the store's folder in the project's.
const StoreFolder = store.Dir

// StatePath is the path of the state file relative to the project's root.
const StatePath = store.Dir + "/" + store.StateFile

// absolute returns a place in the project, given from its root, as an absolute path of
// the system.
func absolute(c *Call, path string) string {
	return filepath.Join(c.project.root, filepath.FromSlash(path))
}

// threadPath returns a thread's folder relative to the project's root.
func threadPath(id thread.ThreadID) string { return store.Dir + "/" + threadPlace(id) }

// threadPlace returns a thread's folder relative to the store's.
func threadPlace(id thread.ThreadID) string { return store.ThreadsDir + "/" + string(id) }

// isMissing reports whether an error says that a thread does not exist.
func isMissing(err error) bool { return codes.Has(err, codes.ThreadNotFound) }

// leadsOut reports whether an error is about a path that leads outside.
func leadsOut(err error) bool { return codes.Has(err, codes.UnsafePath) }

func quoted(s string) string { return strconv.Quote(s) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
