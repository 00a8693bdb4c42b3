package merge

import (
	"bytes"
	"strings"
)

// markerLength is the length of git's markers.
const markerLength = 7

// Labels has the names on the markers of one conflict: of the base, and of the sides
// in the order of the merge. An empty or missing name gives a bare marker. A name is
// one line.
type Labels struct {
	Base  string
	Sides []string
}

func (l Labels) side(i int) string {
	if i >= len(l.Sides) {
		return ""
	}
	return l.Sides[i]
}

// Markers says how to render conflicts.
type Markers struct {
	// Length is the number of characters of a marker; 0 means MarkerLength of all
	// versions.
	Length int
	// Labels returns the names for conflict n of total, from 1; nil for bare
	// markers.
	Labels func(n, total int) Labels
}

// Named returns Markers with the same names for every conflict.
func Named(base string, sides ...string) Markers {
	return Markers{Labels: func(int, int) Labels { return Labels{base, sides} }}
}

// MarkerLength returns 7, or one more than the longest run of a marker character at
// the start of a line, if that is 7 or longer. So no line of the texts starts like a
// marker of this length.
func MarkerLength(texts ...[]byte) int {
	length := markerLength
	for _, text := range texts {
		length = max(length, longestRun(string(text))+1)
	}
	return length
}

// longestRun returns the length of the longest run of one marker character at the
// start of a line.
func longestRun(text string) int {
	longest := 0
	for line := range strings.Lines(text) {
		if strings.IndexByte("<|=>", line[0]) < 0 {
			continue
		}
		longest = max(longest, len(line)-len(strings.TrimLeft(line, line[:1])))
	}
	return longest
}

// Render returns the merged text with every open conflict between markers, in git's
// diff3 style:
//
//	<<<<<<< first side
//	||||||| base
//	=======
//	>>>>>>> second side
//
// With more than two sides, only those that changed the conflict's lines are shown.
// Where several follow the base, a line `======= NAME` stands above each of them, as
// `<<<<<<< NAME` does above the first; `>>>>>>> NAME` ends the last. Markers end in
// CRLF if the lines around them do. Inside a conflict, a last line without a line
// ending gets one.
func (r *Result) Render(m Markers) []byte {
	text, _ := r.render(m)
	return text
}

// render is Render, and returns the lines of each conflict, settled ones included.
func (r *Result) render(m Markers) (text []byte, lines []Range) {
	p := printer{result: r, length: m.Length, total: len(r.Conflicts())}
	if p.length == 0 {
		p.length = r.markerLength()
	}
	p.out.Grow(p.likely())
	at := 0
	for i, h := range r.Hunks {
		before := p.out.Len()
		if h.Kind != Conflicting {
			p.out.WriteString(r.clean(i))
		} else {
			p.count++
			var names Labels
			if m.Labels != nil {
				names = m.Labels(p.count, p.total)
			}
			p.conflict(h, names)
		}
		n := countLines(p.out.Bytes()[before:])
		if h.Kind == Conflicting || h.Kind == Settled {
			lines = append(lines, Range{at + 1, at + n})
		}
		at += n
	}
	return p.out.Bytes(), lines
}

// likely estimates the length of the result from the longest version.
func (p *printer) likely() int {
	longest := len(p.result.base.text)
	for _, side := range p.result.sides {
		longest = max(longest, len(side.text))
	}
	return longest + longest/8 + 512
}

func (r *Result) markerLength() int {
	longest := longestRun(r.base.text)
	for _, side := range r.sides {
		longest = max(longest, longestRun(side.text))
	}
	return max(markerLength, longest+1)
}

// printer renders a result with markers.
type printer struct {
	out          bytes.Buffer
	result       *Result
	length       int
	count, total int
}

func (p *printer) conflict(h Hunk, names Labels) {
	eol := p.result.markerEnding(h)
	last := len(h.By) - 1
	for i, side := range h.By {
		p.side(i, last, p.result.sides[side].slice(h.Sides[side]), p.result.base.slice(h.Base), names.side(side), names.Base, eol)
	}
}

// side writes side i of a conflict, counted from 0 up to last; the base follows the
// first. A later side has its name above it where git, which knows two sides only, does
// not say whose it is.
func (p *printer) side(i, last int, text, base, name, baseName, eol string) {
	switch {
	case i == 0:
		p.marker('<', name, eol)
	case last == 1:
		p.marker('=', "", eol)
	default:
		p.marker('=', name, eol)
	}
	p.part(text, eol)
	switch i {
	case 0:
		p.marker('|', baseName, eol)
		p.part(base, eol)
	case last:
		p.marker('>', name, eol)
	}
}

// marker writes one marker line.
func (p *printer) marker(char byte, name, eol string) {
	p.out.WriteString(strings.Repeat(string(char), p.length))
	if name != "" {
		p.out.WriteString(" " + name)
	}
	p.out.WriteString(eol)
}

// part writes one version's lines of a conflict.
func (p *printer) part(text, eol string) {
	p.out.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		p.out.WriteString(eol)
	}
}

// ending is a kind of line ending.
type ending int

const (
	unknown ending = iota
	lf
	crlf
)

// markerEnding returns CRLF if the base's first line ends with it and no side ends the
// line before the conflict, or the conflict's first line, with a bare line feed. This
// is git's rule; a base without a line ending means a line feed.
func (r *Result) markerEnding(h Hunk) string {
	for _, side := range h.By {
		if r.sides[side].ending(max(0, h.Sides[side].First-2)) == lf {
			return "\n"
		}
	}
	if r.base.ending(0) == crlf {
		return "\r\n"
	}
	return "\n"
}

// ending returns the line ending of line i; for a last line without one, that of the
// line before.
func (v *version) ending(i int) ending {
	if i == v.len()-1 && i > 0 && !strings.HasSuffix(v.text, "\n") {
		i--
	}
	switch {
	case i >= v.len():
		return unknown
	case strings.HasSuffix(v.line(i), "\r\n"):
		return crlf
	case strings.HasSuffix(v.line(i), "\n"):
		return lf
	default:
		return unknown
	}
}
