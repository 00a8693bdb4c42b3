// Package scope selects artifacts: a Set of patterns for the paths in one thread's
// folder, as in --scope and in references.
//
// A pattern is an exact path (plan.md), a folder (design or design/) or a glob
// (notes/*.md, **/*.md). It is never a prefix: "plan" does not match plan.md. A
// pattern that matches a folder matches everything below it. A pattern that ends in /
// matches only folders.
//
// What belongs here: parsing and matching of strings. The package opens no files.
package scope

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"leslie/codes"
	"leslie/internal/fact"
)

// maxPattern is the length limit of a pattern in bytes, which is also the longest path
// on the systems that leslie supports.
const maxPattern = 4096

// Set is a list of patterns. It contains a path if one of them matches. The zero value
// contains everything.
type Set struct {
	patterns []pattern
}

// Parse parses patterns and normalises them: without "." and double slashes, without
// duplicates, in the given order. No pattern means everything.
//
// Errors: T507 (path) for a pattern that leads out of the folder: absolute, or with
// "..". T903 (reason, pattern) for one that is empty, too long, not UTF-8, not a
// valid glob, or contains a backslash or a NUL.
func Parse(patterns []string) (Set, error) {
	var set Set
	for _, text := range patterns {
		p, err := parse(text)
		if err != nil {
			return Set{}, err
		}
		if !slices.Contains(set.Strings(), p.text) {
			set.patterns = append(set.patterns, p)
		}
	}
	return set, nil
}

// Match reports whether the set contains a path. The path is relative to the thread's
// folder, with "/"; a folder's path ends in "/".
func (s Set) Match(path string) bool {
	return s.Everything() || slices.ContainsFunc(s.patterns, func(p pattern) bool { return p.match(path) })
}

// Reaches reports whether the set may contain something in a folder. A walk can skip
// every folder for which it returns false.
func (s Set) Reaches(folder string) bool {
	return s.Everything() || slices.ContainsFunc(s.patterns, func(p pattern) bool { return p.reaches(folder) })
}

// Everything reports whether the set has no pattern and so contains everything.
func (s Set) Everything() bool { return len(s.patterns) == 0 }

// Unmatched returns the patterns that match none of these paths, in the order of the
// set. Paths have the form described at Match.
func (s Set) Unmatched(paths []string) []string {
	var out []string
	for _, p := range s.patterns {
		if !slices.ContainsFunc(paths, p.match) {
			out = append(out, p.text)
		}
	}
	return out
}

// Exact returns the patterns that are not globs, without a final slash.
func (s Set) Exact() []string {
	var out []string
	for _, p := range s.patterns {
		if len(p.segments) > 0 && !p.isGlob() {
			out = append(out, strings.Join(p.segments, "/"))
		}
	}
	return out
}

// Strings returns the patterns in the normalised form, which Parse accepts.
func (s Set) Strings() []string {
	out := make([]string, len(s.patterns))
	for i, p := range s.patterns {
		out[i] = p.text
	}
	return out
}

func parse(text string) (pattern, error) {
	if reason := fault(text); reason != "" {
		return pattern{}, bad(text, reason)
	}
	if leadsOut(text) {
		return pattern{}, codes.UnsafePath.New(fact.Of("path", text))
	}
	clean := path.Clean(text)
	if clean == "." {
		return pattern{text: clean}, nil
	}
	p := pattern{segments: strings.Split(clean, "/"), folder: strings.HasSuffix(text, "/")}
	for _, segment := range p.segments {
		g, err := glob(segment)
		if err != nil {
			return pattern{}, bad(text, "is not a glob: "+wrongGlob(segment))
		}
		p.globs = append(p.globs, g)
	}
	p.text = clean
	if p.folder {
		p.text += "/"
	}
	return p, nil
}

// fault says what is wrong with the text of a pattern, or "".
func fault(text string) string {
	switch {
	case text == "":
		return "is empty"
	case len(text) > maxPattern:
		return "is too long"
	case !utf8.ValidString(text):
		return "is not UTF-8"
	case strings.ContainsRune(text, 0):
		return "contains a NUL"
	case strings.ContainsRune(text, '\\'):
		return "contains a backslash; use '/' in paths"
	}
	return ""
}

func leadsOut(text string) bool {
	return strings.HasPrefix(text, "/") || slices.Contains(strings.Split(text, "/"), "..")
}

func bad(text, reason string) error {
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "..."
	}
	return codes.InvalidArgument.New(
		fact.Of("reason", "The scope '"+text+"' "+reason),
		fact.Of("pattern", text),
	)
}
