package merge

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Range is a run of lines of one version, 1-based and inclusive. An empty range has
// Last == First-1 and is before line First.
type Range struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// Len returns the number of lines.
func (r Range) Len() int { return r.Last - r.First + 1 }

// HunkKind is the kind of a hunk.
type HunkKind int

const (
	// Kept: no side changed these lines.
	Kept HunkKind = iota
	// Changed: one side changed them, or several made the same change.
	Changed
	// Conflicting: changes of different sides overlap or touch. It needs a decision.
	Conflicting
	// Settled: a conflict that was resolved.
	Settled
)

// String returns the kind as a word.
func (k HunkKind) String() string {
	switch k {
	case Kept:
		return "kept"
	case Changed:
		return "changed"
	case Conflicting:
		return "conflict"
	case Settled:
		return "settled"
	}
	return "unknown"
}

// Hunk is a section of the merge.
type Hunk struct {
	Kind HunkKind
	// Base has the hunk's lines of the base, Sides those of every side, in the order
	// of the sides.
	Base  Range
	Sides []Range
	// By has the sides that changed these lines, ascending; empty for a kept hunk.
	By []int
	// Text and How are the answer of a settled hunk, and who or what gave it.
	Text []byte
	How  string
}

// Result is a merge as data. It does not alias its input texts, and it is immutable;
// the methods that answer conflicts return another Result.
type Result struct {
	// Hunks cover the base and every side completely, in order. Two hunks that are
	// not Kept are never adjacent.
	Hunks []Hunk

	base  *version
	sides []*version
}

// Text merges two sides that are derived from one base, line by line.
//
// A change is clean if the other side changed neither the same lines of the base nor
// a position next to them, or if both sides changed the same lines to the same lines.
// Everything else is a conflict. Text(x, x, x) is x; if only one side differs from
// the base, the result is that side; swapping the sides swaps them in the conflicts
// and changes nothing else.
func Text(base, ours, theirs []byte) *Result { return Texts(base, ours, theirs) }

// Texts merges any number of sides that are derived from one base, all at once, so
// that their order affects neither what is clean nor its text. With two sides it is
// Text; with one side the result is that side.
func Texts(base []byte, sides ...[]byte) *Result {
	in := newInterner(base)
	r := &Result{base: in.cut(base)}
	known := len(in)
	for _, side := range sides {
		r.sides = append(r.sides, in.cutAs(side, newTrail(r.base, known)))
	}
	edits := make([][]change, len(sides))
	for i, side := range r.sides {
		edits[i] = diff(r.base.id, side.id, len(in))
	}
	r.Hunks = weave(r.base, r.sides, edits)
	return r
}

// weave groups the changes of all sides into hunks that cover the base.
func weave(base *version, sides []*version, edits [][]change) []Hunk {
	w := weaver{sides: sides, edits: edits, shift: make([]int, len(edits))}
	changed := 0
	for _, e := range edits {
		changed += len(e)
	}
	hunks := make([]Hunk, 0, 2*changed+1)
	done := 0
	for {
		g, more := w.next()
		if !more {
			break
		}
		if done < g.lo {
			hunks = append(hunks, w.kept(done, g.lo))
		}
		hunks = append(hunks, w.hunk(g))
		done = g.hi
	}
	if done < base.len() {
		hunks = append(hunks, w.kept(done, base.len()))
	}
	return hunks
}

// weaver goes through the changes of all sides from the first line to the last.
type weaver struct {
	sides []*version
	// edits has the remaining changes of each side.
	edits [][]change
	// shift has, per side, by how many lines the side is ahead of the base at the
	// current position.
	shift []int
}

// cluster has touching changes, and the lines [lo,hi) of the base that they cover.
type cluster struct {
	lo, hi int
	// of has each side's changes in it: a subslice of the side's changes.
	of [][]change
}

// next removes the first changes and all that touch them; it returns false if no
// change is left. Changes touch if they share a line of the base, or if one begins
// where the other ends, because their order would then be a guess.
func (w *weaver) next() (cluster, bool) {
	first, found := 0, false
	for _, edits := range w.edits {
		if len(edits) > 0 && (!found || edits[0].aLo < first) {
			first, found = edits[0].aLo, true
		}
	}
	g := cluster{lo: first, hi: first, of: make([][]change, len(w.edits))}
	for found && w.grow(&g) {
	}
	return g, found
}

// grow adds the next change of every side if it touches; it returns false if none
// does.
func (w *weaver) grow(g *cluster) bool {
	grown := false
	for i, edits := range w.edits {
		if len(edits) > 0 && edits[0].aLo <= g.hi {
			g.hi = max(g.hi, edits[0].aHi)
			if g.of[i] == nil {
				g.of[i] = edits[:0]
			}
			g.of[i] = g.of[i][:len(g.of[i])+1] // what follows there follows here
			w.edits[i] = edits[1:]
			grown = true
		}
	}
	return grown
}

// kept returns the hunk of the base's lines [lo,hi), which no side changed.
func (w *weaver) kept(lo, hi int) Hunk {
	h := Hunk{Base: Range{lo + 1, hi}, Sides: make([]Range, 0, len(w.shift))}
	for _, shift := range w.shift {
		h.Sides = append(h.Sides, Range{lo + 1 + shift, hi + shift})
	}
	return h
}

// hunk converts a cluster to a hunk and moves past it.
func (w *weaver) hunk(g cluster) Hunk {
	h := Hunk{Kind: Conflicting, Base: Range{g.lo + 1, g.hi}, Sides: make([]Range, 0, len(g.of))}
	for i, changes := range g.of {
		first := g.lo + 1 + w.shift[i]
		if len(changes) > 0 {
			last := changes[len(changes)-1]
			w.shift[i] = last.bHi - last.aHi
			h.By = append(h.By, i)
		}
		h.Sides = append(h.Sides, Range{first, g.hi + w.shift[i]})
	}
	if w.agreed(g, h.By) {
		h.Kind = Changed
	}
	return h
}

// agreed reports whether the sides made the same change.
func (w *weaver) agreed(g cluster, by []int) bool {
	for _, i := range by {
		if len(g.of[i]) != 1 || !w.same(by[0], g.of[by[0]][0], i, g.of[i][0]) {
			return false
		}
	}
	return true
}

func (w *weaver) same(i int, c change, j int, d change) bool {
	return c.aLo == d.aLo && c.aHi == d.aHi &&
		slices.Equal(w.sides[i].id[c.bLo:c.bHi], w.sides[j].id[d.bLo:d.bHi])
}

// Conflicts returns the indexes of the hunks that are still in conflict.
func (r *Result) Conflicts() []int {
	var open []int
	for i, h := range r.Hunks {
		if h.Kind == Conflicting {
			open = append(open, i)
		}
	}
	return open
}

// Merged returns the merged text, or false while a hunk is in conflict.
func (r *Result) Merged() ([]byte, bool) {
	var out []byte
	for i, h := range r.Hunks {
		if h.Kind == Conflicting {
			return nil, false
		}
		out = append(out, r.clean(i)...)
	}
	return out, true
}

// clean returns the text of a hunk that is not in conflict.
func (r *Result) clean(hunk int) string {
	switch h := r.Hunks[hunk]; h.Kind {
	case Settled:
		return string(h.Text)
	case Changed:
		return r.sides[h.By[0]].slice(h.Sides[h.By[0]])
	default:
		return r.base.slice(h.Base)
	}
}

// Base returns the base's text in a hunk.
func (r *Result) Base(hunk int) []byte { return []byte(r.base.slice(r.Hunks[hunk].Base)) }

// Side returns the text of one side in a hunk.
func (r *Result) Side(hunk, side int) []byte {
	return []byte(r.sides[side].slice(r.Hunks[hunk].Sides[side]))
}

// Context returns up to n lines of the merged text before and after a hunk, but none
// beyond the next conflict on either side.
func (r *Result) Context(hunk, n int) (before, after []byte) {
	var up, down []string
	for i := hunk - 1; i >= 0 && len(up) < n && r.Hunks[i].Kind != Conflicting; i-- {
		up = append(slices.Collect(strings.Lines(r.clean(i))), up...)
	}
	for i := hunk + 1; i < len(r.Hunks) && len(down) < n && r.Hunks[i].Kind != Conflicting; i++ {
		down = slices.AppendSeq(down, strings.Lines(r.clean(i)))
	}
	up, down = up[max(0, len(up)-n):], down[:min(n, len(down))]
	return join(up), join(down)
}

// Answer resolves one hunk: the text that replaces it, and who or what gave it, for
// example "list".
type Answer struct {
	Hunk int
	Text []byte
	How  string
}

// Answered returns r with these hunks settled. A later answer to a hunk replaces an
// earlier one. Answers to hunks that were never in conflict are ignored.
func (r *Result) Answered(answers ...Answer) *Result {
	out := *r
	out.Hunks = slices.Clone(r.Hunks)
	for _, a := range answers {
		if h := &out.Hunks[a.Hunk]; h.Kind == Conflicting || h.Kind == Settled {
			h.Kind, h.Text, h.How = Settled, bytes.Clone(a.Text), a.How
		}
	}
	return &out
}

// sniffed is how many bytes are searched for a NUL, as git does.
const sniffed = 8000

// Binary reports whether data is not text: it has a NUL in the first 8,000 bytes, or
// is not UTF-8. Such data is never merged by lines.
func Binary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0 || !utf8.Valid(data)
}
