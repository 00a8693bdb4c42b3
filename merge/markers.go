package merge

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
)

// This file renders the conflicts of one file for editing, with names that say where
// each part comes from, and detects markers that are left after editing.

// Marked is a file with its open conflicts between markers:
//
//	<<<<<<< target main plan.md 2/3 8f31c2a9
//	||||||| base spawn of thread-a
//	=======
//	>>>>>>> source thread-a "Design API" 8f31c2a9
//
// A marker has 7 characters, or more if the merged texts contain such runs. A name is
// one line, whatever a title or a path contains.
type Marked struct {
	Text []byte
	// Length is the number of characters of a marker.
	Length int

	labels  map[string]bool
	regions []region // of the conflicts, in order
}

// region has the lines of one conflict in a rendering.
type region struct {
	conflict string
	lines    Range
}

// Marked renders the change with markers around its open conflicts. It selects them
// from conflicts, so callers may pass all of Plan.Conflicts. For a file that is in
// conflict as a whole it returns no text.
func (c Change) Marked(conflicts []Conflict) Marked {
	m := Marked{Length: markerLength, labels: map[string]bool{}}
	if c.Merge == nil {
		return m
	}
	m.Length = c.markerLength()
	var open []Conflict
	own := c.own(conflicts)
	for _, d := range own {
		names := c.labels(d)
		m.remember(names)
		if d.Status == Unresolved {
			open = append(open, d)
		}
	}
	text, lines := c.Merge.render(Markers{Length: m.Length, Labels: func(n, _ int) Labels {
		if n > len(open) {
			return Labels{}
		}
		return c.labels(open[n-1])
	}})
	m.Text = text
	for i, at := range lines[:min(len(lines), len(own))] {
		m.regions = append(m.regions, region{own[i].ID, at})
	}
	return m
}

// Marked renders one conflict for an editor: its sides and base between markers, as
// Change.Marked does for a whole file. What the editor leaves of it is the conflict's
// text. It is an *InvalidChoice (TakeText) where a side is not shown as text.
func (d Conflict) Marked() (Marked, error) {
	if err := d.Fits(TakeText); err != nil {
		return Marked{}, err
	}
	texts := [][]byte{[]byte(d.Base.Text)}
	for _, s := range d.Sides {
		if d.Whole() && !s.Absent && s.Lines == (Range{}) {
			return Marked{}, d.invalidChoice(TakeText, "the file is not shown as text; choose a side")
		}
		texts = append(texts, []byte(s.Text))
	}
	m := Marked{Length: MarkerLength(texts...), labels: map[string]bool{}}
	var sides []ConflictSide
	for i, s := range d.Sides {
		if i > 0 || len(d.Sides) == 2 || d.Whole() || d.changedByTarget() {
			sides = append(sides, s)
		}
	}
	names := Labels{Base: strings.TrimSpace("base " + inert(d.Base.From))}
	p := printer{length: m.Length}
	eol := eolOf(d.Sides[0].Text, d.Sides[1].Text, d.Context.Before)
	for i, s := range sides {
		name := s.label()
		if i == 0 {
			name += d.where()
		}
		name += " " + d.ID
		names.Sides = append(names.Sides, name)
		p.side(i, len(sides)-1, s.Text, d.Base.Text, name, names.Base, eol)
	}
	m.Text = p.out.Bytes()
	m.remember(names)
	return m, nil
}

// where tells which conflict of which file it is.
func (d Conflict) where() string {
	return " " + inert(d.Path) + " " + strconv.Itoa(d.Hunk) + "/" + strconv.Itoa(d.Of)
}

// own returns the conflicts of the change's path.
func (c Change) own(conflicts []Conflict) []Conflict {
	var out []Conflict
	for _, d := range conflicts {
		if d.Path == c.Path {
			out = append(out, d)
		}
	}
	return out
}

// markerLength also considers runs in the answers so far.
func (c Change) markerLength() int {
	length := c.Merge.markerLength()
	for _, h := range c.Merge.Hunks {
		if h.Kind == Settled {
			length = max(length, MarkerLength(h.Text))
		}
	}
	return length
}

// labels names the parts of a conflict. The first part's name also says where the
// conflict is.
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
	first := true
	for i, name := range l.Sides {
		if name == "" {
			continue
		}
		if first && (i > 0 || d.changedByTarget()) {
			name += d.where()
			first = false
		}
		l.Sides[i] = name + " " + d.ID
	}
	return l
}

// changedByTarget reports whether the target's part is between the markers.
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

// longestName is the length limit of a name, in characters.
const longestName = 120

// inert returns a name that is safe to print: one line of limited length, without
// characters that control a terminal or the direction of text.
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

// remember records the markers with these names. It leaves out a bare row of equals
// signs, which is a valid underline in Markdown.
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

// Written returns the Marked of a rendering that was written earlier. Its markers are
// the longest rows of marker characters at the start of a line.
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

// Unmarked reports whether an edited file contains none of the markers that name this
// file's conflicts, open or resolved since. Other lines that look like markers, in
// particular a bare row of equals signs, do not count.
func (m Marked) Unmarked(edited []byte) bool { return m.left(edited, false) == 0 }

// left returns the number of the first line that is a marker, 0 for none. If strict,
// every row of marker characters of the markers' length counts, except bare equals
// signs.
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

// row returns the rest of a line that starts with a row of one of these characters,
// exactly as long as a marker.
func (m Marked) row(line, chars string) (name string, is bool) {
	if line == "" || strings.IndexByte(chars, line[0]) < 0 {
		return "", false
	}
	name = strings.TrimLeft(line, line[:1])
	return name, len(line)-len(name) == m.Length && (name == "" || name[0] == ' ')
}
