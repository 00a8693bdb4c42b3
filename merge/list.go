package merge

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// How list answers are known.
const howList = "list"

// List is the merger for Markdown lists. It goes by items where the line
// merge goes by lines, and answers a conflict in which every line of the base
// and of the sides is a list item and every side kept all items of the base, in
// their order, and did nothing but
//
//   - tick or untick boxes: each box takes the state that a side gave it, and
//   - add items: all of them are taken, an item that several sides added alike
//     once.
//
// Items added by several sides in one place follow each other: those that lie
// deeper first, since they belong to the item above; then those of the first
// side (ours); then those of the other sides in the order of their bytes, so
// that the order in which sources are named does not show in the text.
//
// What it guarantees of an answer: every item of the base and every item that a
// side added is in it exactly once, under the same parent as where it came from,
// and every box that a side changed has that side's state. It refuses where it
// cannot: an item removed, moved or reworded; a line that is no item; one box
// changed in two ways; an item that reads like another one; numbered items from
// two sides in one place; text below that would hang on another item; lines
// that do not all end alike; code blocks, comments and front matter; a path that
// does not name a Markdown file.
func List(path string, r *Result) []Verdict {
	verdicts := make([]Verdict, 0)
	look := lister{result: r, read: map[*version]reading{}}
	for _, hunk := range r.Conflicts() {
		v := Verdict{Hunk: hunk, How: howList}
		if !markdown(path) {
			v.Refused = "the file is not Markdown"
		} else if text, err := look.settle(r.Hunks[hunk]); err != nil {
			v.Refused = err.Error()
		} else {
			v.Text = []byte(text)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

func markdown(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".mdown", ".mkd"}, strings.ToLower(path.Ext(name)))
}

// refusal is why a conflict stays one.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format, item string) error { return refusal(fmt.Sprintf(format, item)) }

// lister looks at the conflicts of one result.
type lister struct {
	result *Result
	// read remembers what was read of each version.
	read map[*version]reading
}

// reading is a Markdown text line by line: which lines are prose, and which is
// the first line from there on that is not blank. Both have one more place than
// the text has lines.
type reading struct {
	prose   []bool
	written []int
}

func (l *lister) reading(v *version) reading {
	r, known := l.read[v]
	if !known {
		r = reading{prose(v), written(v)}
		l.read[v] = r
	}
	return r
}

func written(v *version) []int {
	out := make([]int, v.len()+1)
	out[v.len()] = v.len()
	for i := v.len() - 1; i >= 0; i-- {
		if out[i] = i; strings.TrimSpace(v.line(i)) == "" {
			out[i] = out[i+1]
		}
	}
	return out
}

// entry is an item of one version in one conflict.
type entry struct {
	item
	// node is the number of the item among all versions: equal when its name and
	// the names of all items it lies under are.
	node int
}

// outline numbers items by where they lie.
type outline map[place]int

type place struct {
	parent int
	name   string
}

// part is one version's lines of a conflict.
type part struct {
	entries []entry
	// ended is false if the last line lacks its ending.
	ended bool
}

// settle answers one conflict, or says why not.
func (l *lister) settle(h Hunk) (string, error) {
	eol, err := l.ending(h)
	if err != nil {
		return "", err
	}
	o := outline{}
	base, err := l.part(o, l.result.base, h.Base)
	if err != nil {
		return "", err
	}
	m := listMerge{base: base}
	for _, side := range h.By {
		p, err := l.part(o, l.result.sides[side], h.Sides[side])
		if err != nil {
			return "", err
		}
		m.sides = append(m.sides, listSide{p, side == 0})
	}
	merged, err := m.merge(o)
	if err != nil {
		return "", err
	}
	if err := l.followed(h, merged.tail); err != nil {
		return "", err
	}
	var text strings.Builder
	for i, e := range merged.entries {
		text.WriteString(e.line)
		if i < len(merged.entries)-1 || m.ended() {
			text.WriteString(eol)
		}
	}
	return text.String(), nil
}

// ending is what ends all lines of the conflict. Only a last line may lack it.
func (l *lister) ending(h Hunk) (string, error) {
	lines := l.result.base.lines(h.Base)
	for _, side := range h.By {
		lines = append(lines, l.result.sides[side].lines(h.Sides[side])...)
	}
	found := ""
	for _, line := range lines {
		eol := line[len(strings.TrimRight(line, "\r\n")):]
		if eol != "" && eol != cmp.Or(found, eol) || eol != "" && !strings.HasSuffix(eol, "\n") {
			return "", refusal("its lines do not all end alike")
		}
		found = cmp.Or(found, eol)
	}
	if found == "" && h.Base.First > 1 {
		above := l.result.base.line(h.Base.First - 2)
		found = above[len(strings.TrimRight(above, "\r\n")):]
	}
	return cmp.Or(found, "\n"), nil
}

// part reads one version's lines as items.
func (l *lister) part(o outline, v *version, r Range) (part, error) {
	if !l.reading(v).prose[r.First-1] {
		return part{}, refusal("it lies in a code block, a comment or the front matter")
	}
	p := part{ended: true}
	for _, line := range v.lines(r) {
		bare := strings.TrimRight(line, "\r\n")
		it, ok := parseItem(bare)
		if !ok {
			return part{}, refuse("%q is no list item", bare)
		}
		p.entries = append(p.entries, entry{item: it})
		p.ended = bare != line
	}
	return p, o.number(p.entries)
}

// number gives every item its node; an item that reads like another one of the
// same version, under the same parent, cannot be told from it.
func (o outline) number(entries []entry) error {
	seen := map[int]bool{}
	var open []entry
	for i, e := range entries {
		for len(open) > 0 && open[len(open)-1].indent >= e.indent {
			open = open[:len(open)-1]
		}
		at := place{name: e.name()}
		if len(open) > 0 {
			at.parent = open[len(open)-1].node
		}
		if _, known := o[at]; !known {
			o[at] = len(o) + 1
		}
		e.node = o[at]
		if seen[e.node] {
			return refuse("%q stands there more than once", e.line)
		}
		seen[e.node] = true
		entries[i] = e
		open = append(open, e)
	}
	return nil
}

// followed looks at what stands below the conflict in every version: items
// added at its end (tail) must not come between it and what it belongs to.
func (l *lister) followed(h Hunk, tail []entry) error {
	if len(tail) == 0 {
		return nil
	}
	least := slices.MinFunc(tail, func(a, b entry) int { return a.indent - b.indent }).indent
	if err := l.below(l.result.base, h.Base.Last, least); err != nil {
		return err
	}
	for _, side := range h.By {
		if err := l.below(l.result.sides[side], h.Sides[side].Last, least); err != nil {
			return err
		}
	}
	return nil
}

// below looks at the first line from i on that is not blank.
func (l *lister) below(v *version, i, indent int) error {
	below := l.reading(v).written[i]
	if below == v.len() {
		return nil
	}
	line := strings.TrimRight(v.line(below), "\r\n")
	if it, ok := parseItem(line); ok {
		if it.indent > indent {
			return refuse("%q below would hang on another item", line)
		}
		return nil
	}
	indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
	if indented || below == i && !strings.HasPrefix(line, "#") {
		return refuse("%q below may belong to an item", line)
	}
	return nil
}
