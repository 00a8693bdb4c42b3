package scope

import (
	"path"
	"strings"
)

// pattern is one pattern, cut at its slashes. Matching goes segment by segment,
// so nothing but ** ever crosses a slash, a negated class neither.
type pattern struct {
	text     string   // canonical
	segments []string // none: the thread's folder itself, hence everything
	globs    []string // the segments as path.Match reads them
	folder   bool     // it ended in "/": folders alone
}

// match reports whether the pattern matches the path, or a folder that the path
// lies in.
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

// reaches reports whether the pattern may match something in the folder: the
// folder itself or one above it matches, or leads on to the pattern's rest.
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

// matchParts is the usual match of wildcards over segments, where ** stands for
// any number of them. Going back to the last ** is enough: an earlier one cannot
// match what the last one could not. So its cost is at most the product of the
// lengths.
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
	if p.segments[at] == part { // a name with a bracket in it is found by itself
		return true
	}
	ok, err := path.Match(p.globs[at], part)
	return ok && err == nil
}

// glob reads one segment as path.Match does, with [!a] for [^a].
func glob(segment string) (string, error) {
	out := []byte(segment)
	open := -1 // where the class began that we are in
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

func split(name string) []string {
	name = strings.TrimSuffix(name, "/")
	if name == "" || name == "." {
		return nil
	}
	return strings.Split(name, "/")
}
