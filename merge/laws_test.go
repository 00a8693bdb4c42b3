package merge_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

const lawCases = 400

// obeys checks the properties that hold for every three texts.
func obeys(t *testing.T, base, ours, theirs []byte) {
	t.Helper()
	r := merge.Text(base, ours, theirs)
	tiles(t, r, base, ours, theirs)
	keepsAdditions(t, r, base, ours, theirs)
	mirrors(t, r, merge.Text(base, theirs, ours))
	is := func(want []byte, sides ...[]byte) {
		got, clean := merge.Texts(sides[0], sides[1:]...).Merged()
		require.True(t, clean)
		require.Equal(t, string(want), string(got))
	}
	is(base, base, base, base)
	is(ours, base, ours, ours)
	is(ours, base, ours, base)
	is(theirs, base, base, theirs)
}

// tiles: the concatenated hunks are the base and every side, byte for byte; kept hunks
// are equal in all of them.
func tiles(t *testing.T, r *merge.Result, base []byte, sides ...[]byte) {
	t.Helper()
	var whole []byte
	parts := make([][]byte, len(sides))
	line := make([]int, len(sides)+1)
	for i, h := range r.Hunks {
		whole = append(whole, r.Base(i)...)
		for j := range sides {
			parts[j] = append(parts[j], r.Side(i, j)...)
			if h.Kind == merge.Kept || !slices.Contains(h.By, j) {
				require.Equal(t, string(r.Base(i)), string(r.Side(i, j)))
			}
		}
		for j, at := range append([]merge.Range{h.Base}, h.Sides...) {
			require.Equal(t, line[j]+1, at.First)
			line[j] = at.Last
		}
		require.True(t, i == 0 || h.Kind == merge.Kept || r.Hunks[i-1].Kind == merge.Kept)
		require.Equal(t, h.Kind == merge.Kept, len(h.By) == 0)
	}
	require.Equal(t, string(base), string(whole))
	for j := range sides {
		require.Equal(t, string(sides[j]), string(parts[j]))
	}
}

// keepsAdditions: a line that a side added is in the result equally often.
func keepsAdditions(t *testing.T, r *merge.Result, base []byte, sides ...[]byte) {
	t.Helper()
	was, is := counted(base), counted(r.Render(merge.Named("b", "o", "t")))
	for _, side := range sides {
		for line, n := range counted(side) {
			if was[line] == 0 {
				require.GreaterOrEqual(t, is[line], n, "%q", line)
			}
		}
	}
}

// counted counts lines without their endings.
func counted(text []byte) map[string]int {
	count := map[string]int{}
	for line := range strings.Lines(string(text)) {
		count[strings.TrimRight(line, "\r\n")]++
	}
	return count
}

// mirrors: with the sides swapped, the same lines are in conflict and the rest is equal.
func mirrors(t *testing.T, r, swapped *merge.Result) {
	t.Helper()
	require.Len(t, swapped.Hunks, len(r.Hunks))
	for i, h := range r.Hunks {
		s := swapped.Hunks[i]
		require.Equal(t, h.Kind, s.Kind)
		require.Equal(t, h.Base, s.Base)
		require.Equal(t, h.Sides[0], s.Sides[1])
		require.Equal(t, h.Sides[1], s.Sides[0])
	}
	got, clean := r.Merged()
	again, cleanToo := swapped.Merged()
	require.Equal(t, clean, cleanToo)
	require.Equal(t, string(got), string(again))
}

func TestTextHasItsProperties(t *testing.T) {
	t.Parallel()
	for n := range uint64(lawCases) {
		c := generate(101, n)
		obeys(t, c.base, c.ours, c.theirs)
	}
}

// orders returns every order of three.
func orders() [][3]int {
	return [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
}

// threeSources returns three sides of one base.
func threeSources(seed, n uint64) (base []byte, sources [3][]byte) {
	c, d := generate(seed, n), generate(seed, n)
	g := newGen(seed+1, n)
	edited := g.edited(strings.Split(string(d.base), "\n"), kinds()[g.IntN(len(kinds()))], nil)
	return c.base, [3][]byte{c.ours, c.theirs, []byte(strings.Join(edited, "\n"))}
}

func TestSourcesOfOneBaseMergeTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	clean := 0
	for n := range uint64(lawCases) {
		base, s := threeSources(202, n)
		first := merge.Texts(base, base, s[0], s[1], s[2])
		want, wantClean := first.Merged()
		for _, o := range orders() {
			r := merge.Texts(base, base, s[o[0]], s[o[1]], s[o[2]])
			got, gotClean := r.Merged()
			require.Equal(t, wantClean, gotClean)
			require.Equal(t, string(want), string(got))
			require.Equal(t, first.Conflicts(), r.Conflicts())
		}
		if wantClean {
			clean++
		}
	}
	t.Logf("%d of %d were clean", clean, lawCases)
	assert.Positive(t, clean)
}

// mergerCases is how often each merger has to prove itself.
const mergerCases = 5000

// TestMergersHaveTheirProperties: both mergers stand under the same laws, on lists and
// tables of one generator; no line is lost.
func TestMergersHaveTheirProperties(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		merger merge.Merger
		name   func(line string) string
		draw   func(seed, n uint64) ([]byte, [][]byte)
	}{"list": {merge.List, unticked, listCase}, "table": {merge.Table, firstCell, tableCase}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settled, refused := 0, 0
			for n := range uint64(mergerCases) {
				base, sides := of.draw(303, n)
				r := merge.Texts(base, sides...)
				for _, v := range provesItself(t, of.merger, of.name, r) {
					if v.Refused == "" {
						settled++
					} else {
						refused++
					}
				}
				anyOrderOfSources(t, of.merger, base, sides)
			}
			t.Logf("%d conflicts settled, %d refused", settled, refused)
			assert.Greater(t, settled, mergerCases/20)
			assert.Greater(t, refused, mergerCases/20)
		})
	}
}

// anyOrderOfSources: the first side is the target; the order of the others does not
// affect a merger's answers.
func anyOrderOfSources(t *testing.T, merger merge.Merger, base []byte, sides [][]byte) {
	t.Helper()
	if len(sides) < 3 {
		return
	}
	r, _ := merge.Settle("plan.md", merge.Texts(base, sides...), merger)
	swapped := slices.Clone(sides)
	slices.Reverse(swapped[1:])
	s, _ := merge.Settle("plan.md", merge.Texts(base, swapped...), merger)
	want, _ := r.Merged()
	got, _ := s.Merged()
	require.Equal(t, string(want), string(got))
}

// provesItself checks every answer of a merger by lines only: it contains each line of
// a side, unless the base has the line and another side changed it: the box of an item,
// the other cells of a row, which keep its name. It contains nothing else, no line more
// often than the sides together, and no row's name twice.
func provesItself(t *testing.T, merger merge.Merger, name func(string) string, r *merge.Result) []merge.Verdict {
	t.Helper()
	verdicts := merger("progress.md", r)
	require.Len(t, verdicts, len(r.Conflicts()))
	for _, v := range verdicts {
		if v.Refused != "" {
			require.Empty(t, v.Text)
			continue
		}
		was, is := counted(r.Base(v.Hunk)), counted(v.Text)
		changed, given := map[string]bool{}, map[string]int{}
		for line := range is {
			require.False(t, changed[name(line)] && v.How == "table", "%q has two rows", name(line))
			changed[name(line)] = true
		}
		total := 0
		for _, side := range r.Hunks[v.Hunk].By {
			for line, n := range counted(r.Side(v.Hunk, side)) {
				given[line] += n
				require.True(t, is[line] > 0 || was[line] > 0 && changed[name(line)], "%q is missing", line)
			}
		}
		for line, n := range is {
			require.LessOrEqual(t, n, given[line], "%q came from nowhere", line)
			total += n
		}
		require.GreaterOrEqual(t, total, bytes.Count(r.Base(v.Hunk), []byte("\n")), "an item of the base is missing")
	}
	return verdicts
}

func unticked(line string) string {
	return strings.NewReplacer("[x]", "[ ]", "[X]", "[ ]").Replace(line)
}

// firstCell is what names a row.
func firstCell(line string) string {
	if cells := strings.Split(line, "|"); len(cells) > 1 {
		return strings.TrimSpace(cells[1])
	}
	return line
}

// listCase returns a list and two or three sides that tick, add, and sometimes do what
// the list merger must refuse.
func listCase(seed, n uint64) (base []byte, sides [][]byte) {
	g := newGen(seed, n)
	list := append([]string{"# List", ""}, many(g, 0, 6, freshItem)...)
	if g.chance(20) {
		list = append(list, g.pick("", "text", "## Next", "  more", "- [ ] last", "  - deeper"))
	}
	ending := endings()[g.IntN(len(endings()))]
	sides = make([][]byte, g.between(2, 3))
	for i := range sides {
		sides[i] = ending.join(g, g.editedList(list))
	}
	return ending.join(g, list), sides
}

// tableCase is listCase for the rows of a table.
func tableCase(seed, n uint64) (base []byte, sides [][]byte) {
	g := newGen(seed, n)
	table := append([]string{"# Table", "", "| name | state |", g.pick("|---|---|", "|:--|--:|")}, many(g, 0, 6, freshRow)...)
	if g.chance(20) {
		table = append(table, g.pick("", "text", "## Next", "| one |", "| a | b | c |", "```"))
	}
	if g.chance(10) {
		table[2+g.IntN(2)] = g.pick("name | state", "|---|", "")
	}
	ending := endings()[g.IntN(len(endings()))]
	sides = make([][]byte, g.between(2, 3))
	for i := range sides {
		sides[i] = ending.join(g, g.editedTable(table))
	}
	return ending.join(g, table), sides
}

func freshRow(g gen) string {
	name := g.words(1, 3) + g.pick("", " 1", " 2", " 3", " 4")
	row := "| " + name + " | " + g.pick("1", "open", "open", `c \| d`, "") + " |"
	if g.chance(3) {
		row += g.pick(" x", " more |")
	}
	return row
}

func (g gen) editedTable(table []string) []string {
	out := slices.Clone(table)
	for range g.between(1, 3) {
		at := g.between(min(4, len(out)), len(out))
		switch g.IntN(8) {
		case 0, 1, 2:
			out = slices.Insert(out, at, many(g, 1, 2, freshRow)...)
		case 3, 4:
			out = append(out, freshRow(g))
		case 5, 6:
			if at < len(out) {
				out[at] = strings.Replace(out[at], "open", g.pick("done", "done", "lost"), 1)
			}
		default:
			if at < len(out) && g.chance(50) {
				out = slices.Delete(out, at, at+1)
			}
		}
	}
	return out
}

func freshItem(g gen) string {
	return g.pick("", "", "", "  ") + g.pick("- [ ] ", "- [ ] ", "- [x] ", "- ", "1. ") + g.words(1, 3)
}

func (g gen) editedList(list []string) []string {
	out := slices.Clone(list)
	for range g.between(1, 3) {
		at := g.between(2, len(out))
		switch g.IntN(8) {
		case 0, 1, 2:
			out = slices.Insert(out, at, many(g, 1, 2, freshItem)...)
		case 3:
			out = append(out, freshItem(g))
		case 4, 5, 6:
			if at < len(out) {
				out[at] = strings.Replace(out[at], "[ ]", "[x]", 1)
			}
		default:
			if at < len(out) {
				out = slices.Delete(out, at, at+1)
			}
		}
	}
	return out
}

func FuzzText(f *testing.F) {
	for n := range uint64(12) {
		c := generate(404, n)
		f.Add(c.base, c.ours, c.theirs)
	}
	f.Add([]byte("a\nb\nc"), []byte("a\r\nb\r\nc"), []byte("a\nb\nc\n"))
	f.Add([]byte(""), []byte("\n"), []byte("\x00\n"))
	f.Add([]byte("x\nx\nx\n"), []byte("x\nx\nx\nx\n"), []byte("x\nx\n"))
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) { obeys(t, base, ours, theirs) })
}

func FuzzList(f *testing.F) {
	for n := range uint64(12) {
		base, sides := listCase(505, n)
		f.Add(base, sides[0], sides[1])
	}
	f.Add([]byte("- [ ] a\n"), []byte("- [x] a\n- b"), []byte("- [ ] a\n- c\n"))
	f.Add([]byte("1. a\n"), []byte("1. a\n2. b\n"), []byte("1. a\n2. c\n"))
	f.Add([]byte("- a\n\t- b\n"), []byte("- a\n\t- b\n\t- c\n"), []byte("- a\n\t- b\n- d\n"))
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		provesItself(t, merge.List, unticked, merge.Text(base, ours, theirs))
		provesItself(t, merge.List, unticked, merge.Text(base, theirs, ours))
	})
}

func FuzzTable(f *testing.F) {
	for n := range uint64(12) {
		base, sides := tableCase(606, n)
		f.Add(base, sides[0], sides[1])
	}
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		provesItself(t, merge.Table, firstCell, merge.Text(base, ours, theirs))
		provesItself(t, merge.Table, firstCell, merge.Text(base, theirs, ours))
	})
}
