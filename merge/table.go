package merge

import (
	"slices"
	"strings"
)

// howTable is the How of answers by Table.
const howTable = "table"

// Table is the merger for the rows of Markdown tables (GitHub's extension of
// CommonMark). It answers a conflict in which every line of the base and of the
// sides is a row of one table, with as many cells as its header, and every side
// kept all rows of the base, as they are and in their order, and only added rows.
//
// Rows that several sides added in one place follow each other: first those of the first
// side (ours), then those of the other sides in the order of their bytes. Equal added
// rows are taken once.
//
// An answer guarantees that every row of the base and every added row is in it exactly
// once, in the same table. Table refuses if it cannot guarantee that: a row was removed,
// moved or changed; two rows have the same first cell, in the conflict or elsewhere in
// the table; the header or the delimiter row is in the conflict; the headers differ; a
// row has more or fewer cells than the header; text below would become a row; line
// endings differ; the conflict is in a code block, a comment or the front matter; the
// path is not a Markdown file.
func Table(path string, r *Result) []Verdict {
	look := tabler{lister{result: r, read: map[*version]reading{}}}
	return markdownVerdicts(path, r, howTable, look.settle)
}

// tabler reads the conflicts of one result as rows of tables.
type tabler struct{ lister }

// settle returns the answer to one conflict, or the reason why there is none.
func (t *tabler) settle(h Hunk) (string, error) {
	eol, err := t.ending(h)
	if err != nil {
		return "", err
	}
	keys := keyNumbers{}
	header, base, err := t.rows(keys, t.result.base, h.Base)
	if err != nil {
		return "", err
	}
	m := listMerge{base: base}
	for _, side := range h.By {
		other, p, err := t.rows(keys, t.result.sides[side], h.Sides[side])
		if err != nil {
			return "", err
		}
		if other != header {
			return "", refusal("its rows stand under different headers")
		}
		m.sides = append(m.sides, listSide{p, side == 0})
	}
	items, gaps, err := m.collect()
	if err != nil {
		return "", err
	}
	if err := inOnePlace(gaps); err != nil {
		return "", err
	}
	var merged []entry
	for i, gap := range gaps {
		added, err := combine(gap)
		if err != nil {
			return "", err
		}
		if merged = append(merged, added...); i < len(items) {
			merged = append(merged, items[i])
		}
	}
	if err := oneKeyEach(merged); err != nil {
		return "", err
	}
	if err := t.newToTheTable(h, m, merged); err != nil {
		return "", err
	}
	return joinLines(merged, eol, m.ended()), nil
}

// keyNumbers gives rows with equal keys equal numbers.
type keyNumbers map[string]int

func (n keyNumbers) of(cells []string) int {
	key := cells[0]
	if _, known := n[key]; !known {
		n[key] = len(n) + 1
	}
	return n[key]
}

// rows reads one version's lines as rows of a table; header is the table's header
// and delimiter row.
func (t *tabler) rows(numbers keyNumbers, v *version, r Range) (header string, p part, err error) {
	if !t.reading(v).prose[r.First-1] {
		return "", part{}, refusal("it is in a code block, a comment or the front matter")
	}
	header, cells, ok := headerAbove(v, r.First-1)
	if !ok {
		return "", part{}, refusal("it is not inside a table")
	}
	if below := bare(v, r.Last); below != "" && len(tableCells(below)) != cells {
		return "", part{}, refuse("%q below would become a row", below)
	}
	p.ended = true
	for _, line := range v.lines(r) {
		row := strings.TrimRight(line, "\r\n")
		found := tableCells(row)
		if len(found) != cells {
			return "", part{}, refuse("%q is not a row of its table", row)
		} else if delimiters(found) {
			return "", part{}, refusal("the row below the header changed")
		}
		p.entries = append(p.entries, entry{item: item{line: row}, node: numbers.of(found)})
		p.ended = row != line
	}
	return header, p, oneKeyEach(p.entries)
}

// bare returns line i without its ending, or "" after the last.
func bare(v *version, i int) string {
	if i >= v.len() {
		return ""
	}
	return strings.TrimSpace(v.line(i))
}

// headerAbove finds the header and the delimiter row of the table that line i of a
// version continues.
func headerAbove(v *version, i int) (header string, cells int, ok bool) {
	for at := i - 1; at > 0; at-- {
		found := tableCells(bare(v, at))
		if len(found) == 0 {
			return "", 0, false
		}
		if delimiters(found) {
			top := bare(v, at-1)
			return top + "\n" + bare(v, at), len(found), len(tableCells(top)) == len(found)
		}
	}
	return "", 0, false
}

// tableCells returns the cells of a row that begins and ends with a bar, nil for any
// other line. An escaped bar belongs to its cell.
func tableCells(line string) []string {
	line = strings.TrimSpace(line)
	if len(line) < 2 || line[0] != '|' || line[len(line)-1] != '|' || strings.HasSuffix(line, `\|`) {
		return nil
	}
	var cells []string
	from := 1
	for i := 1; i < len(line); i++ {
		if line[i] == '|' && line[i-1] != '\\' {
			cells = append(cells, strings.TrimSpace(line[from:i]))
			from = i + 1
		}
	}
	return cells
}

// delimiters reports whether cells are those of a delimiter row: dashes, with an optional
// colon at either end.
func delimiters(cells []string) bool {
	for _, cell := range cells {
		dashes := strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":")
		if dashes == "" || strings.Trim(dashes, "-") != "" {
			return false
		}
	}
	return len(cells) > 0
}

// oneKeyEach refuses two rows with the same first cell: they may describe the same
// thing.
func oneKeyEach(rows []entry) error {
	seen := map[string]bool{}
	for _, row := range rows {
		key := tableCells(row.line)[0]
		if seen[key] {
			return refuse("more than one row is about %q", key)
		}
		seen[key] = true
	}
	return nil
}

// newToTheTable refuses a changed or added row whose key is elsewhere in the table of some
// version: it may be the same row, moved.
func (t *tabler) newToTheTable(h Hunk, m listMerge, merged []entry) error {
	elsewhere := keysAround(t.result.base, h.Base)
	for side, lines := range h.Sides {
		elsewhere = append(elsewhere, keysAround(t.result.sides[side], lines)...)
	}
	for _, row := range merged {
		kept := slices.ContainsFunc(m.base.entries, func(e entry) bool { return e.line == row.line })
		if key := tableCells(row.line)[0]; !kept && slices.Contains(elsewhere, key) {
			return refuse("more than one row is about %q", key)
		}
	}
	return nil
}

// keysAround returns the first cells of a version's rows above and below some lines of a
// table.
func keysAround(v *version, r Range) []string {
	var keys []string
	for at := r.First - 2; at >= 0; at-- {
		cells := tableCells(bare(v, at))
		if len(cells) == 0 || delimiters(cells) {
			break
		}
		keys = append(keys, cells[0])
	}
	for at := r.Last; at < v.len(); at++ {
		cells := tableCells(bare(v, at))
		if len(cells) == 0 {
			break
		}
		keys = append(keys, cells[0])
	}
	return keys
}

// rowTwice returns the key that two rows of one table would have if both answered the
// conflict. If a side by itself repeats a key, first cells are no keys there.
func (d Conflict) rowTwice() (key string, twice bool) {
	if !markdown(d.Path) {
		return "", false
	}
	for _, s := range d.Sides {
		if _, twice := repeatedKey(d.Context.Before + s.Text + d.Context.After); twice {
			return "", false
		}
	}
	return repeatedKey(d.both())
}

// repeatedKey returns the first cell of a row that a row above in the same table has, too.
func repeatedKey(text string) (string, bool) {
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		cells := tableCells(line)
		switch {
		case len(cells) == 0:
			clear(seen)
		case delimiters(cells):
		case seen[cells[0]]:
			return cells[0], true
		default:
			seen[cells[0]] = true
		}
	}
	return "", false
}

// joinLines writes entries as lines; the last one has an ending if ended.
func joinLines(entries []entry, eol string, ended bool) string {
	var text strings.Builder
	for i, e := range entries {
		text.WriteString(e.line)
		if i < len(entries)-1 || ended {
			text.WriteString(eol)
		}
	}
	return text.String()
}
