package app

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/permit"
	"leslie/store"
	"leslie/thread"
)

// ScopePaths returns the paths of entries in the form that a scope matches.
func ScopePaths(entries []store.Entry) []string {
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = e.Path
		if e.Type == store.TypeFolder {
			paths[i] += "/"
		}
	}
	return paths
}

// CutBytes returns at most limit bytes of a text, cut between characters.
func CutBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// Exists reports whether there is something at a path.
func Exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// OrZero is what an optional value says, the zero value for nothing.
func OrZero[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// AllowsLess reports whether a verdict allows less than another.
func AllowsLess(a, b permit.Verdict) bool {
	order := map[permit.Verdict]int{permit.Allow: 0, permit.Ask: 1, permit.Deny: 2}
	return order[a] > order[b]
}

// Earlier is the earlier of two times; the zero time is none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// ResolveLinks returns a path with the links in it resolved, as far as it exists: a link to
// what does not exist yet leads there, too.
func ResolveLinks(name string) string {
	rest := ""
	for links := 0; ; {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			return filepath.Join(real, rest)
		}
		if to, err := os.Readlink(name); err == nil && links < maxLinks {
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(name), to)
			}
			name, links = to, links+1
			continue
		}
		parent := filepath.Dir(name)
		if parent == name {
			return filepath.Join(name, rest)
		}
		name, rest = parent, filepath.Join(filepath.Base(name), rest)
	}
}

// maxLinks is how many links in a row are followed.
const maxLinks = 40

// ToolLine is a call in a line, for a person.
func ToolLine(t *thread.ToolCall, title string) string {
	switch {
	case t.Command != "":
		return t.Tool + ": " + t.Command
	case len(t.Paths) > 0:
		return t.Tool + ": " + strings.Join(t.Paths, ", ")
	case title != "":
		return t.Tool + ": " + title
	}
	return t.Tool
}

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

// Converted cuts a list of records, oldest first, to the first limit of them, or to the
// newest, and converts them; 0 keeps all.
func Converted[R, T any](all []R, limit int, newest bool, of func(R) T) Items[T] {
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

// OrNull returns nil for an empty text, so that JSON has null.
func OrNull[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}

// Joined formats values as "a, b".
func Joined[T ~string](values []T) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = string(v)
	}
	return strings.Join(parts, ", ")
}

// Cut shortens a text to n characters, the last one then "…".
func Cut(text string, n int) string {
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

// Absolute returns a place in the project, given from its root, as an absolute path of
// the system.
func (c *Call) Absolute(path string) string {
	return filepath.Join(c.project.root, filepath.FromSlash(path))
}

// ThreadPath returns a thread's folder relative to the project's root.
func ThreadPath(id thread.ThreadID) string { return store.Dir + "/" + ThreadInStore(id) }

// ThreadInStore returns a thread's folder relative to the store's.
func ThreadInStore(id thread.ThreadID) string { return store.ThreadsDir + "/" + string(id) }

// IsMissing reports whether an error says that a thread does not exist.
func IsMissing(err error) bool { return codes.Has(err, codes.ThreadNotFound) }

// IsUnsafePath reports whether an error is about a path that leads outside.
func IsUnsafePath(err error) bool { return codes.Has(err, codes.UnsafePath) }

// Quoted is a text in quotation marks.
func Quoted(s string) string { return strconv.Quote(s) }

// SortedKeys are the keys of a map in order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
