package merge

import (
	"bytes"
	"maps"
	"strings"
)

// This file reads decisions from a file with markers that somebody edits while the
// merge is pending.

// Edits has what somebody decided in a file with markers.
type Edits struct {
	// Parts has the new text of each conflict whose lines were changed and have no
	// marker left, by its id.
	Parts map[string][]byte
	// Whole is the file as it was edited if no marker is left in it and lines outside
	// the conflicts were changed: then Parts is not all of it. Otherwise it is nil.
	Whole []byte
}

// WorkFile is the rendering of a path for editing: with markers around open conflicts
// and with the text of the resolved ones, or what a decision about the whole path says.
// It has no text for a path that is in conflict as a whole, or is going to be deleted.
// read returns content by its hash. Errors: those of read.
func (c Change) WorkFile(conflicts []Conflict, read func(hash string) ([]byte, error)) (Marked, error) {
	if c.Merge != nil || c.How != Decided || !c.After.There() {
		return c.Marked(conflicts), nil
	}
	m := Marked{Length: markerLength, labels: map[string]bool{}, Text: c.Content}
	for _, d := range c.own(conflicts) {
		if d.Whole() {
			return Marked{}, nil
		}
		m.remember(c.labels(d))
	}
	var err error
	if m.Text == nil {
		m.Text, err = read(c.After.Hash)
	}
	return m, err
}

// Knowing returns m with the markers of an earlier rendering of the same path.
func (m Marked) Knowing(earlier Marked) Marked {
	m.labels = maps.Clone(m.labels)
	maps.Copy(m.labels, earlier.labels)
	return m
}

// Edits compares an edited file with the rendering from which it was edited.
func (m Marked) Edits(edited []byte) Edits {
	out := Edits{Parts: map[string][]byte{}}
	r := Texts(m.Text, edited)
	outside := false
	for _, h := range r.Hunks {
		inside := h.Kind == Kept
		for _, g := range m.regions {
			inside = inside || g.holds(h)
		}
		outside = outside || !inside
	}
	for _, g := range m.regions {
		text, changed := g.text(r)
		if changed && m.Unmarked(text) {
			out.Parts[g.conflict] = text
		}
	}
	if outside && m.Unmarked(edited) {
		out.Whole = edited
	}
	return out
}

// holds reports whether a change is between the first and the last line of the region,
// or where it was if it is empty.
func (g region) holds(h Hunk) bool {
	return g.lines.First <= h.Base.First && h.Base.Last <= g.lines.Last
}

// text returns what stands in place of the region now. It is unchanged if nothing
// changed there, and where a change goes beyond the region: then nobody can say which of
// the new lines are the region's.
func (g region) text(r *Result) (text []byte, changed bool) {
	for i, h := range r.Hunks {
		switch {
		case h.Kind != Kept && g.holds(h):
			text, changed = append(text, r.Side(i, 0)...), true
		case h.Base.Last < g.lines.First || h.Base.First > g.lines.Last:
		case h.Kind != Kept:
			return nil, false
		default:
			at := Range{max(h.Base.First, g.lines.First), min(h.Base.Last, g.lines.Last)}
			text = append(text, r.base.slice(at)...)
		}
	}
	return text, changed
}

// Left returns the numbers of the lines at which markers are left in an edited file: the
// first one of each conflict.
func (m Marked) Left(edited []byte) []int {
	var out []int
	n, inside := 0, ""
	for line := range bytes.Lines(edited) {
		n++
		text := strings.TrimRight(string(line), " \t\r\n")
		if !m.labels[text] {
			continue
		}
		words := strings.Fields(text)
		conflict := words[len(words)-1]
		if text[0] == '|' { // which does not say whose it is
			conflict = unknownConflict
		}
		begins := text[0] == '<' || inside != unknownConflict && conflict != unknownConflict
		if inside == "" || conflict != inside && begins {
			out = append(out, n)
		}
		if inside == "" || conflict != unknownConflict {
			inside = conflict
		}
		if text[0] == '>' {
			inside = ""
		}
	}
	return out
}

// unknownConflict is the conflict of a marker that does not name it.
const unknownConflict = "|"
