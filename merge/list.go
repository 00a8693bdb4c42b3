package merge

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// howList is the How of answers by List.
const howList = "list"

// List is the merger for Markdown lists. It merges items instead of lines. It answers
// a conflict if every line of the base and of the sides is a list item, and every
// side kept all items of the base in their order and only
//
//   - ticked or unticked boxes: each box gets the state that a side gave it; or
//   - added items: the answer has all of them, and an item that several sides added
//     equally only once.
//
// Items that several sides added in one place come in this order: deeper items
// first, because they belong to the item above; then those of the first side (ours);
// then those of the other sides, sorted by their bytes, so that the order of the
// sources does not matter.
//
// An answer guarantees that every item of the base and every added item is in it
// exactly once, under the same parent as in its version, and that every box that a
// side changed has that side's state. List refuses if it cannot guarantee that: an
// item was removed, moved or reworded; a line is not an item; a box was changed in
// two ways; two items read the same; two sides added numbered items in one place;
// the text below would belong to another item; line endings differ; the conflict is
// in a code block, a comment or the front matter; the path is not a Markdown file.
func List(path string, r *Result) []Verdict {
	look := lister{result: r, read: map[*version]reading{}}
	return markdownVerdicts(path, r, howList, look.settle)
}

// markdownVerdicts returns the answers of a merger for Markdown to all conflicts.
func markdownVerdicts(path string, r *Result, how string, settle func(Hunk) (string, error)) []Verdict {
	verdicts := make([]Verdict, 0)
	for _, hunk := range r.Conflicts() {
		v := Verdict{Hunk: hunk, How: how}
		if !markdown(path) {
			v.Refused = "the file is not Markdown"
		} else if text, err := settle(r.Hunks[hunk]); err != nil {
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

// refusal says why a conflict is not resolved.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format, item string) error { return refusal(fmt.Sprintf(format, item)) }

// lister resolves the conflicts of one result.
type lister struct {
	result *Result
	// read caches the reading of each version.
	read map[*version]reading
}

// reading has, for each line of a Markdown text and the position after the last,
// whether it is prose, and the first line from there on that is not blank.
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
	// node is the number of the item among all versions. It is equal if the item's
	// name and the names of all its ancestors are equal.
	node int
}

// outline numbers items by parent and name.
type outline map[place]int

type place struct {
	parent int
	name   string
}

// part has one version's lines of a conflict.
type part struct {
	entries []entry
	// ended is false if the last line lacks its ending.
	ended bool
}

// settle returns the answer to one conflict, or the reason why there is none.
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
	return joinLines(merged.entries, eol, m.ended()), nil
}

// ending returns the line ending of the conflict. Only a last line may lack it.
func (l *lister) ending(h Hunk) (string, error) {
	lines := l.result.base.lines(h.Base)
	for _, side := range h.By {
		lines = append(lines, l.result.sides[side].lines(h.Sides[side])...)
	}
	found := ""
	for _, line := range lines {
		eol := line[len(strings.TrimRight(line, "\r\n")):]
		if eol != "" && eol != cmp.Or(found, eol) || eol != "" && !strings.HasSuffix(eol, "\n") {
			return "", refusal("its line endings differ")
		}
		found = cmp.Or(found, eol)
	}
	if found == "" && h.Base.First > 1 {
		above := l.result.base.line(h.Base.First - 2)
		found = above[len(strings.TrimRight(above, "\r\n")):]
	}
	return cmp.Or(found, "\n"), nil
}

// part parses one version's lines as items.
func (l *lister) part(o outline, v *version, r Range) (part, error) {
	if !l.reading(v).prose[r.First-1] {
		return part{}, refusal("it is in a code block, a comment or the front matter")
	}
	p := part{ended: true}
	for _, line := range v.lines(r) {
		bare := strings.TrimRight(line, "\r\n")
		it, ok := parseItem(bare)
		if !ok {
			return part{}, refuse("%q is not a list item", bare)
		}
		p.entries = append(p.entries, entry{item: it})
		p.ended = bare != line
	}
	return p, o.number(p.entries)
}

// number gives every item its node. It refuses two items of one version with the same
// name and the same parent, because they cannot be distinguished.
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
			return refuse("%q occurs more than once", e.line)
		}
		seen[e.node] = true
		entries[i] = e
		open = append(open, e)
	}
	return nil
}

// followed checks the text below the conflict in every version: items added at its
// end (tail) must not come between that text and the item it belongs to.
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

// below checks the first line from i on that is not blank.
func (l *lister) below(v *version, i, indent int) error {
	below := l.reading(v).written[i]
	if below == v.len() {
		return nil
	}
	line := strings.TrimRight(v.line(below), "\r\n")
	if it, ok := parseItem(line); ok {
		if it.indent > indent {
			return refuse("%q below would belong to another item", line)
		}
		return nil
	}
	indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
	if indented || below == i && !strings.HasPrefix(line, "#") {
		return refuse("%q below may belong to an item", line)
	}
	return nil
}
