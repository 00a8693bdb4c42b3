package merge

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
)

// This file writes the conflicts of one file for editors, with names that say
// where each part comes from, and tells whether an editor left any of them.

// Marked is a file with its open conflicts between markers:
//
//	<<<<<<< target main plan.md 2/3 8f31c2a9
//	||||||| base spawn of thread-a
//	=======
//	>>>>>>> source thread-a "Design API" 8f31c2a9
//
// A marker is 7 characters long, or longer than any such run in what was merged.
// Names are one line, whatever a title or a path holds.
type Marked struct {
	Text []byte
	// Length is how many characters a marker has.
	Length int

	labels map[string]bool
}

// Marked renders the change with its conflicts, which are picked from these (all
// of Plan.Conflicts will do); open ones get markers. A file in conflict as a whole has none,
// and no text here either.
func (c Change) Marked(conflicts []Conflict) Marked {
	m := Marked{Length: markerLength, labels: map[string]bool{}}
	if c.Merge == nil {
		return m
	}
	m.Length = c.markerLength()
	var open []Conflict
	for _, d := range c.own(conflicts) {
		names := c.labels(d)
		m.remember(names)
		if d.Status == Unresolved {
			open = append(open, d)
		}
	}
	m.Text = c.Merge.Render(Markers{Length: m.Length, Labels: func(n, _ int) Labels {
		if n > len(open) {
			return Labels{}
		}
		return c.labels(open[n-1])
	}})
	return m
}

// own are the conflicts of the change's path.
func (c Change) own(conflicts []Conflict) []Conflict {
	var out []Conflict
	for _, d := range conflicts {
		if d.Path == c.Path {
			out = append(out, d)
		}
	}
	return out
}

// markerLength is also longer than runs in what was answered so far.
func (c Change) markerLength() int {
	length := c.Merge.markerLength()
	for _, h := range c.Merge.Hunks {
		if h.Kind == Settled {
			length = max(length, MarkerLength(h.Text))
		}
	}
	return length
}

// labels names the parts of a conflict; the first part's name tells also where
// it is.
func (c Change) labels(d Conflict) Labels {
	l := Labels{Base: strings.TrimSpace("base " + inert(d.Base.From)), Sides: make([]string, len(c.Sides))}
	next := 0
	for i := range c.Sides {
		for at := next; at < len(d.Sides); at++ {
			if s := d.Sides[at]; s.Thread == c.Sides[i] && (at == 0) == (i == 0) {
				l.Sides[i], next = s.label(), at+1
				break
			}
		}
	}
	where := " " + inert(d.Path) + " " + strconv.Itoa(d.Hunk) + "/" + strconv.Itoa(d.Of)
	first := true
	for i, name := range l.Sides {
		if name == "" {
			continue
		}
		if first && (i > 0 || d.changedByTarget()) {
			name += where
			first = false
		}
		l.Sides[i] = name + " " + d.ID
	}
	return l
}

// changedByTarget reports whether the target's part is shown between markers.
func (d Conflict) changedByTarget() bool { return d.Sides[0].Text != d.Base.Text }

func (s ConflictSide) label() string {
	name := "source " + inert(s.Thread)
	if s.Role == TakeOurs {
		name = "target " + inert(s.Thread)
	}
	if title := inert(s.Title); title != "" {
		name += ` "` + strings.ReplaceAll(title, `"`, "'") + `"`
	}
	return name
}

// longestName is how many characters of a name are shown.
const longestName = 120

// inert is a name that cannot be more than a name: one line, without characters
// that control a terminal or the direction of text, and not too long.
func inert(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	if runes := []rune(name); len(runes) > longestName {
		name = string(runes[:longestName-1]) + "…"
	}
	return name
}

// remember keeps the markers that bear these names. A bare row of equals signs
// is not among them: it is a legal underline in Markdown.
func (m Marked) remember(names Labels) {
	keep := func(char, name string) {
		if name != "" {
			m.labels[strings.Repeat(char, m.Length)+" "+name] = true
		}
	}
	keep("|", names.Base)
	for _, name := range names.Sides {
		for _, char := range []string{"<", "=", ">"} {
			keep(char, name)
		}
	}
}

// Written is a rendering as it was written once, whatever has changed since. Its
// markers are the longest rows of marker characters that begin a line of it.
func Written(text []byte) Marked {
	m := Marked{Text: text, Length: longestRun(string(text)), labels: map[string]bool{}}
	for line := range bytes.Lines(text) {
		text := strings.TrimRight(string(line), " \t\r\n")
		if name, is := m.row(text, "<|=>"); is && name != "" {
			m.labels[text] = true
		}
	}
	return m
}

// Unmarked reports whether none of the markers with a name of this file's
// conflicts is left in what an editor made of it, open or decided since. Other
// lines that look like markers, a bare row of equals signs above all, do not
// count.
func (m Marked) Unmarked(edited []byte) bool { return m.left(edited, false) == 0 }

// left is the number of the first line that is a marker, 0 for none. A strict
// look counts every row of marker characters of the markers' length, but for
// bare equals signs.
func (m Marked) left(edited []byte, strict bool) int {
	n := 0
	for line := range bytes.Lines(edited) {
		n++
		text := strings.TrimRight(string(line), " \t\r\n")
		if _, row := m.row(text, "<|>"); m.labels[text] || strict && row {
			return n
		}
	}
	return 0
}

// row is what follows on a line that begins with a row of one of these characters
// just as long as a marker.
func (m Marked) row(line, chars string) (name string, is bool) {
	if line == "" || strings.IndexByte(chars, line[0]) < 0 {
		return "", false
	}
	name = strings.TrimLeft(line, line[:1])
	return name, len(line)-len(name) == m.Length && (name == "" || name[0] == ' ')
}
