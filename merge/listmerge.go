package merge

import (
	"cmp"
	"slices"
	"strings"
)

// listMerge merges the parts of one conflict by item. A gap is a position between
// items of the base: gap i is before item i, the last gap after all items.
type listMerge struct {
	base  part
	sides []listSide
}

// listSide is one side's part, and whether it is the first side of the merge.
type listSide struct {
	part
	first bool
}

// addition has the items that one side added in one gap.
type addition struct {
	entries []entry
	first   bool
}

// mergedList is the answer: all items, and in tail those that were added after the
// last item of the base.
type mergedList struct{ entries, tail []entry }

// merge returns the answer, or the reason why there is none.
func (m listMerge) merge(o outline) (mergedList, error) {
	items, gaps, err := m.collect()
	if err != nil {
		return mergedList{}, err
	}
	if err := inOnePlace(gaps); err != nil {
		return mergedList{}, err
	}
	var out mergedList
	for i, gap := range gaps {
		if out.tail, err = combine(gap); err != nil {
			return mergedList{}, err
		}
		out.entries = append(out.entries, out.tail...)
		if i < len(items) {
			out.entries = append(out.entries, items[i])
		}
	}
	return out, o.prove(out.entries)
}

// collect applies each side's changes to the items, and puts its additions into the
// gaps.
func (m listMerge) collect() (items []entry, gaps [][]addition, err error) {
	items = slices.Clone(m.base.entries)
	gaps = make([][]addition, len(items)+1)
	for _, side := range m.sides {
		kept, added, err := m.align(side)
		if err != nil {
			return nil, nil, err
		}
		for i, e := range kept {
			if err := apply(&items[i], m.base.entries[i], e); err != nil {
				return nil, nil, err
			}
		}
		for i, entries := range added {
			if len(entries) > 0 {
				gaps[i] = append(gaps[i], addition{entries, side.first})
			}
		}
	}
	return items, gaps, nil
}

// align finds the base's items in a side, all of them in order; everything between
// them was added.
func (m listMerge) align(side listSide) (kept []entry, added [][]entry, err error) {
	base, known := m.base.entries, map[int]bool{}
	for _, e := range base {
		known[e.node] = true
	}
	added = make([][]entry, len(base)+1)
	for _, e := range side.entries {
		switch at := len(kept); {
		case !known[e.node]:
			added[at] = append(added[at], e)
		case at < len(base) && e.node == base[at].node:
			kept = append(kept, e)
		default:
			return nil, nil, gone(base[at:])
		}
	}
	if len(kept) < len(base) {
		return nil, nil, gone(base[len(kept):])
	}
	return kept, added, nil
}

func gone(missing []entry) error {
	if len(missing) == 0 {
		return refusal("one side moved an item")
	}
	return refuse("one side removed, moved or reworded %q", missing[0].line)
}

// apply replaces an item by what a side made of it: its box, or the other cells of a
// row. It refuses if another side changed it differently.
func apply(merged *entry, base, side entry) error {
	if side.line == base.line {
		return nil
	}
	if merged.line != base.line && merged.line != side.line {
		return refuse("%q was changed in two ways", base.line)
	}
	merged.item = side.item
	return nil
}

// inOnePlace refuses an item that was added in different gaps.
func inOnePlace(gaps [][]addition) error {
	place := map[int]int{}
	for i, gap := range gaps {
		for _, a := range gap {
			for _, e := range a.entries {
				if at, known := place[e.node]; known && at != i {
					return refuse("%q was added in two places", e.line)
				}
				place[e.node] = i
			}
		}
	}
	return nil
}

// combine concatenates what several sides added in one gap. A block (an item with its
// descendants) that several sides added equally occurs once.
func combine(gap []addition) ([]entry, error) {
	gap = slices.Clone(gap)
	slices.SortStableFunc(gap, earlier)
	var out []entry
	taken, givers, numbered := map[int][]entry{}, 0, false
	for _, a := range gap {
		before := len(out)
		for _, block := range blocks(a.entries) {
			same, known := taken[block[0].node]
			switch {
			case !known:
				taken[block[0].node] = block
				out = append(out, block...)
			case !slices.Equal(same, block):
				return nil, refuse("%q was added in two ways", block[0].line)
			}
		}
		if len(out) > before {
			givers++
			numbered = numbered || slices.ContainsFunc(a.entries, func(e entry) bool { return e.numbered })
		}
	}
	if givers > 1 && numbered {
		return nil, refuse("several sides numbered items from %q on", out[0].line)
	}
	return out, nil
}

// earlier orders the additions in a gap: see List.
func earlier(a, b addition) int {
	if deeper := cmp.Compare(b.entries[0].indent, a.entries[0].indent); deeper != 0 {
		return deeper
	}
	if a.first != b.first {
		if a.first {
			return -1
		}
		return 1
	}
	return slices.CompareFunc(a.entries, b.entries, func(x, y entry) int { return strings.Compare(x.line, y.line) })
}

// blocks splits added items into blocks: an item with its descendants.
func blocks(entries []entry) [][]entry {
	var out [][]entry
	from := 0
	for i := 1; i <= len(entries); i++ {
		if i == len(entries) || entries[i].indent <= entries[from].indent {
			out = append(out, entries[from:i])
			from = i
		}
	}
	return out
}

// prove checks the answer by reading it again: every item has the same parent as in
// its version, and none occurs twice.
func (o outline) prove(entries []entry) error {
	read := slices.Clone(entries)
	if err := o.number(read); err != nil {
		return err
	}
	for i, e := range read {
		if e.node != entries[i].node {
			return refuse("%q would belong to another item", e.line)
		}
	}
	return nil
}

// ended reports whether the last line of the answer has a line ending: as in a side
// that changed it; if the base has no line here, whether any side's last line has
// one.
func (m listMerge) ended() bool {
	ended := m.base.ended && len(m.base.entries) > 0
	for _, side := range m.sides {
		if side.ended != ended {
			return side.ended
		}
	}
	return ended
}
