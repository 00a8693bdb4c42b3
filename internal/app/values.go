package app

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"leslie/codes"
	"leslie/store"
	"leslie/thread"
)

// This file holds small values that several use cases share.

// Items is a list as every use case returns one.
type Items[T any] struct {
	Items     []T  `json:"items"`
	Total     int  `json:"total"`
	Truncated bool `json:"truncated"`
}

// DefaultLimit is how many items a list shows unless its request says otherwise.
const DefaultLimit = 50

// First cuts a list to limit items; 0 keeps all.
func First[T any](all []T, limit int) Items[T] {
	shown := all
	if limit > 0 && len(all) > limit {
		shown = all[:limit]
	}
	return Items[T]{Items: append([]T{}, shown...), Total: len(all), Truncated: len(shown) < len(all)}
}

// orNull is nil for an empty text, so that JSON shows null.
func orNull[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}

// joined reads as "a, b".
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

// StatePath is the state's file from the project's root.
const StatePath = store.Dir + "/" + store.StateFile

// threadPath is a thread's folder from the project's root.
func threadPath(id thread.ThreadID) string { return store.Dir + "/" + threadPlace(id) }

// threadPlace is the same folder from the store's.
func threadPlace(id thread.ThreadID) string { return store.ThreadsDir + "/" + string(id) }

// isMissing reports whether an error says that a thread does not exist.
func isMissing(err error) bool { return codes.Has(err, codes.ThreadNotFound) }

// leadsOut reports whether an error is about a path that leads outside.
func leadsOut(err error) bool { return codes.Has(err, codes.UnsafePath) }

// plainReason is a cause as one sentence says it, without its wrapping.
func plainReason(err error) string {
	if e := codes.Of(err); e != nil {
		if reason := e.Facts().Text("reason"); reason != "" {
			return reason
		}
	}
	var path *fs.PathError
	if errors.As(err, &path) { // the path is told beside it, from the project's root
		err = path.Err
	}
	return strings.TrimSpace(err.Error())
}

func quoted(s string) string { return strconv.Quote(s) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
