package merge

import (
	"fmt"
	"strings"
)

// This file formats the differences between two texts in the unified format of diff -u
// and git diff. The changes are those of the line merge (diff.go), so their positions are
// git's without its indent heuristic.

// DiffContext is how many equal lines diff -u shows around a change.
const DiffContext = 3

// MaxText is how many bytes a text may have that leslie merges or compares by lines.
const MaxText = maxBytes

// noNewline follows a last line without a line feed.
const noNewline = `\ No newline at end of file`

// DiffHunk is a group of changes with the equal lines around them.
type DiffHunk struct {
	// The hunk shows FromLines lines of the first text from line FromStart on, counted
	// from 1, and ToLines of the second from ToStart on. An empty range starts at the
	// line before it, 0 at the beginning of the text.
	FromStart int `json:"fromStart"`
	FromLines int `json:"fromLines"`
	ToStart   int `json:"toStart"`
	ToLines   int `json:"toLines"`
	// Lines has the lines without their line feeds, each behind a space (equal), "-"
	// (only in the first text) or "+" (only in the second). A last line without a line
	// feed is followed by "\ No newline at end of file".
	Lines []string `json:"lines"`
}

// Header is the hunk's first line in the unified format, without a line feed.
func (h DiffHunk) Header() string {
	return "@@ -" + unifiedRange(h.FromStart, h.FromLines) + " +" + unifiedRange(h.ToStart, h.ToLines) + " @@"
}

// unifiedRange omits a count of one.
func unifiedRange(start, lines int) string {
	if lines == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, lines)
}

// Changed returns how many lines the hunk adds and removes.
func (h DiffHunk) Changed() (added, removed int) {
	for _, line := range h.Lines {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// TooLargeToDiff reports whether a text has more bytes or lines than leslie compares
// line by line: 8 MiB, 200,000 lines.
func TooLargeToDiff(text []byte) bool { return len(text) > maxBytes || countLines(text) > maxLines }

// Diff returns the changes that turn one text into the other, in order, with up to
// context equal lines around each. Changes with at most twice as many equal lines
// between them share a hunk. Equal texts give none.
func Diff(from, to []byte, context int) []DiffHunk {
	in := newInterner(from)
	a := in.cut(from)
	b := in.cut(to)
	var out []DiffHunk
	all := diff(a.id, b.id, len(in))
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].aLo-all[n-1].aHi <= 2*context {
			n++
		}
		out = append(out, unified(a, b, all[:n], context))
		all = all[n:]
	}
	return out
}

// unified returns the hunk of neighbouring changes.
func unified(a, b *version, group []change, context int) DiffHunk {
	first, last := group[0], group[len(group)-1]
	before := min(context, first.aLo)
	after := min(context, a.len()-last.aHi)
	aLo, aHi, bLo, bHi := first.aLo-before, last.aHi+after, first.bLo-before, last.bHi+after
	h := DiffHunk{FromStart: unifiedStart(aLo, aHi), FromLines: aHi - aLo, ToStart: unifiedStart(bLo, bHi), ToLines: bHi - bLo}
	at := aLo
	for _, c := range group {
		h.show(' ', a, at, c.aLo)
		h.show('-', a, c.aLo, c.aHi)
		h.show('+', b, c.bLo, c.bHi)
		at = c.aHi
	}
	h.show(' ', a, at, aHi)
	return h
}

// unifiedStart returns the first of the lines [lo,hi), counted from 1.
func unifiedStart(lo, hi int) int {
	if lo == hi {
		return lo
	}
	return lo + 1
}

// show adds the lines [lo,hi) of a text.
func (h *DiffHunk) show(sign byte, v *version, lo, hi int) {
	for i := lo; i < hi; i++ {
		text, whole := strings.CutSuffix(v.line(i), "\n")
		h.Lines = append(h.Lines, string(sign)+text)
		if !whole {
			h.Lines = append(h.Lines, noNewline)
		}
	}
}
