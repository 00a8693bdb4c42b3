package scope

import (
	"path"
	"strconv"
	"strings"
)

// pattern is one pattern, split at its slashes. Matching goes segment by segment, so
// only ** matches across a slash; a negated class does not.
type pattern struct {
	text     string   // canonical
	segments []string // empty: the thread's folder itself, that is, everything
	globs    []string // the segments as path.Match reads them
	folder   bool     // it ends in "/": matches only folders
}

// match reports whether the pattern matches the path or one of its parent folders.
func (p pattern) match(name string) bool {
	isFolder := strings.HasSuffix(name, "/")
	parts := split(name)
	if p.folder && !isFolder {
		parts = parts[:max(0, len(parts)-1)]
	}
	for n := len(parts); n > 0; n-- {
		if p.matchParts(parts[:n]) {
			return true
		}
	}
	return len(p.segments) == 0
}

// reaches reports whether the pattern may match something in the folder: it matches
// the folder or a folder above it, or its start matches the folder's path.
func (p pattern) reaches(folder string) bool {
	parts := split(folder)
	if p.match(strings.Join(parts, "/") + "/") {
		return true
	}
	for i, segment := range p.segments {
		if segment == "**" || i == len(parts) {
			return true
		}
		if !p.matchPart(i, parts[i]) {
			return false
		}
	}
	return false
}

// isGlob reports whether the pattern may match more than one path.
func (p pattern) isGlob() bool { return strings.ContainsAny(p.text, "*?[") }

// matchParts is the usual wildcard match over segments, where ** matches any number of
// them. Backtracking to the last ** is enough, because an earlier one cannot match
// what the last one could not. The cost is at most the product of the lengths.
func (p pattern) matchParts(parts []string) bool {
	at, n := 0, 0
	star, from := -1, 0
	for n < len(parts) {
		switch {
		case at < len(p.segments) && p.segments[at] == "**":
			star, from = at, n
			at++
		case at < len(p.segments) && p.matchPart(at, parts[n]):
			at++
			n++
		case star >= 0:
			from++
			at, n = star+1, from
		default:
			return false
		}
	}
	for at < len(p.segments) && p.segments[at] == "**" {
		at++
	}
	return at == len(p.segments)
}

func (p pattern) matchPart(at int, part string) bool {
	if p.segments[at] == part { // a name that contains a bracket matches itself
		return true
	}
	ok, err := path.Match(p.globs[at], part)
	return ok && err == nil
}

// glob converts one segment to the syntax of path.Match: [!a] becomes [^a].
func glob(segment string) (string, error) {
	out := []byte(segment)
	open := -1 // start of the current class
	for i, c := range out {
		switch {
		case open < 0 && c == '[':
			open = i
		case open >= 0 && c == ']':
			open = -1
		case c == '!' && open == i-1 && open >= 0:
			out[i] = '^'
		}
	}
	_, err := path.Match(string(out), "")
	return string(out), err
}

// wrongGlob says why a segment is no glob: path.Match accepts every one without a
// fault in a class.
func wrongGlob(segment string) string {
	class := segment[strings.IndexByte(segment, '['):]
	for at := strings.IndexByte(class, ']'); at >= 0; at = strings.IndexByte(class, ']') {
		if _, err := glob(class[:at+1]); err != nil {
			return strconv.Quote(class[:at+1]) + " is not a class of characters such as [a-c] or [!x]"
		}
		_, rest, more := strings.Cut(class[at+1:], "[")
		if !more {
			break
		}
		class = "[" + rest
	}
	return strconv.Quote(class) + " has no closing ']'"
}

func split(name string) []string {
	name = strings.TrimSuffix(name, "/")
	if name == "" || name == "." {
		return nil
	}
	return strings.Split(name, "/")
}
