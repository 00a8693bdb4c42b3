package merge_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

const header = "| name | state |\n|---|:-:|\n"

func TestTableSettlesWhatItCanProve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"both appended":             {"| a | 1 |\n", "| a | 1 |\n| b | 2 |\n", "| a | 1 |\n| c | 3 |\n", "| a | 1 |\n| b | 2 |\n| c | 3 |\n"},
		"both filled the table":     {"", "| b | 2 |\n", "| c | 3 |\n", "| b | 2 |\n| c | 3 |\n"},
		"the same row once":         {"| a | 1 |\n", "| a | 1 |\n| b | 2 |\n| c | 3 |\n", "| a | 1 |\n| c | 3 |\n| d | 4 |\n", "| a | 1 |\n| b | 2 |\n| c | 3 |\n| d | 4 |\n"},
		"before a paragraph":        {"| a | 1 |\n\ntext\n", "| a | 1 |\n| b | 2 |\n\ntext\n", "| a | 1 |\n| c | 3 |\n\ntext\n", "| a | 1 |\n| b | 2 |\n| c | 3 |\n\ntext\n"},
		"a bar in a cell":           {"| a | 1 |\n", "| a | 1 |\n| b \\| x | 2 |\n", "| a | 1 |\n| c | 3 |\n", "| a | 1 |\n| b \\| x | 2 |\n| c | 3 |\n"},
		"each side changed a row":   {"| a | 1 |\n| b | 1 |\n| c | 1 |\n", "| a | 1 |\n| b | 2 |\n| c | 1 |\n", "| a | 1 |\n| b | 1 |\n| c | 3 |\n", "| a | 1 |\n| b | 2 |\n| c | 3 |\n"},
		"a row changed alike":       {"| a | 1 |\n| b | 1 |\n", "| a | 2 |\n| b | 1 |\n", "| a | 2 |\n| b | 3 |\n", "| a | 2 |\n| b | 3 |\n"},
		"changed against appended":  {"| a | 1 |\n", "| a | 2 |\n", "| a | 1 |\n| b | 2 |\n", "| a | 2 |\n| b | 2 |\n"},
		"no final newline anywhere": {"| a | 1 |", "| a | 1 |\n| b | 2 |", "| a | 1 |\n| c | 3 |", "| a | 1 |\n| b | 2 |\n| c | 3 |"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, verdicts := settledTable(t, c.base, c.ours, c.theirs)
			for _, v := range verdicts {
				assert.Empty(t, v.Refused)
				assert.Equal(t, "table", r.Hunks[v.Hunk].How)
			}
			got, _ := r.Merged()
			assert.Equal(t, header+c.want, string(got))
		})
	}
}

func TestTableRefusesWhatItCannotProve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, ours, theirs, because string }{
		"a row in two ways":       {"| a | 1 |\n", "| a | 2 |\n", "| a | 3 |\n", `"| a | 1 |" was changed in two ways`},
		"only other blanks":       {"| a | 1 |\n", "| a  | 1 |\n", "| a | 3 |\n", `"| a | 1 |" was changed in two ways`},
		"a key changed":           {"| a | 1 |\n", "| b | 1 |\n", "| a | 1 |\n| c | 2 |\n", `one side removed, moved or reworded "| a | 1 |"`},
		"rows that were moved":    {"| a | 1 |\n| b | 1 |\n", "| b | 1 |\n| a | 1 |\n", "| a | 2 |\n| b | 1 |\n", `one side removed, moved or reworded "| a | 1 |"`},
		"a key that is not one":   {"| a | 1 |\n| a | 2 |\n", "| a | 3 |\n| a | 2 |\n", "| a | 1 |\n| a | 4 |\n", `more than one row is about "a"`},
		"a key also elsewhere":    {"| c | 0 |\n| x | 0 |\n| a | 1 |\n| c | 1 |\n", "| c | 0 |\n| x | 0 |\n| a | 2 |\n| c | 1 |\n", "| c | 0 |\n| x | 0 |\n| a | 1 |\n| c | 2 |\n", `more than one row is about "c"`},
		"removed against changed": {"| a | 1 |\n| b | 1 |\n", "| a | 1 |\n", "| a | 1 |\n| b | 2 |\n", `one side removed, moved or reworded "| b | 1 |"`},
		"a row removed":           {"| a | 1 |\n| b | 2 |\n", "| a | 1 |\n", "| a | 1 |\n| b | 2 |\n| c | 3 |\n", `one side removed, moved or reworded "| b | 2 |"`},
		"two rows about one":      {"| a | 1 |\n", "| a | 1 |\n| b | 2 |\n", "| a | 1 |\n| b | 3 |\n", `"| b | 3 |" was added in two ways`},
		"too many cells":          {"| a | 1 |\n", "| a | 1 |\n| b | 2 | 3 |\n", "| a | 1 |\n| c | 3 |\n", `"| b | 2 | 3 |" is not a row of its table`},
		"text":                    {"| a | 1 |\n", "| a | 1 |\ntext\n", "| a | 1 |\n| c | 3 |\n", `"text" is not a row of its table`},
		"text below":              {"| a | 1 |\ntext\n", "| a | 1 |\n| b | 2 |\ntext\n", "| a | 1 |\n| c | 3 |\ntext\n", `"text" below would become a row`},
		"another table's begin":   {"| a | 1 |\n", "| a | 1 |\n|---|---|\n", "| a | 1 |\n| c | 3 |\n", "the row below the header changed"},
		"different line ends":     {"| a | 1 |\n", "| a | 1 |\n| b | 2 |\r\n", "| a | 1 |\n| c | 3 |\n", "its line endings differ"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, verdicts := settledTable(t, c.base, c.ours, c.theirs)
			require.NotEmpty(t, verdicts)
			assert.Equal(t, c.because, verdicts[0].Refused)
			assert.NotEmpty(t, r.Conflicts(), "it stays a conflict")
		})
	}
	r := merge.Text([]byte("x\n"), []byte("x\n| b | 2 |\n"), []byte("x\n| c | 3 |\n"))
	assert.Equal(t, "it is not inside a table", merge.Table("plan.md", r)[0].Refused)
	assert.Equal(t, "the file is not Markdown", merge.Table("plan.txt", r)[0].Refused)
}

// settledTable merges rows under a header that all versions have.
func settledTable(t *testing.T, base, ours, theirs string) (*merge.Result, []merge.Verdict) {
	t.Helper()
	r := merge.Text([]byte(header+base), []byte(header+ours), []byte(header+theirs))
	require.NotEmpty(t, r.Conflicts(), "the line merge alone cannot do it")
	return merge.Settle("plan/progress.md", r, merge.Table)
}

// TestTableLosesNoRow merges generated tables: what it answers holds every row of
// the base and every row that a side added, once, and a header as it was.
func TestTableLosesNoRow(t *testing.T) {
	t.Parallel()
	answered, refused := 0, 0
	for n := range uint64(sample(5000)) {
		g := rand.New(rand.NewPCG(9, n))
		rows := func(of string, most int) (out []string) {
			for i := range g.IntN(most + 1) {
				out = append(out, fmt.Sprintf("| %s%d | %d |", of, i, g.IntN(3)))
			}
			return out
		}
		base := rows("a", 4)
		side := func(of string) []string {
			var out []string
			added := rows(of, 3)
			if g.IntN(8) == 0 {
				added = append(added, "| same | 1 |")
			}
			at := g.IntN(len(base) + 1)
			out = append(append(append(out, base[:at]...), added...), base[at:]...)
			if len(out) > 0 && g.IntN(6) == 0 {
				out[g.IntN(len(out))] = "| edited | 9 |"
			}
			return out
		}
		ours, theirs := side("b"), side("c")
		text := func(rows []string) []byte { return []byte(header + strings.Join(append(rows, ""), "\n")) }
		r := merge.Text(text(base), text(ours), text(theirs))
		if len(r.Conflicts()) == 0 {
			continue
		}
		settled, verdicts := merge.Settle("t.md", r, merge.Table)
		if len(settled.Conflicts()) > 0 {
			refused += len(verdicts)
			continue
		}
		answered++
		got, _ := settled.Merged()
		require.True(t, strings.HasPrefix(string(got), header), "case %d: %s", n, got)
		have := counted(got)
		for _, line := range slices.Concat(ours, theirs) {
			if slices.Contains(base, line) && !(slices.Contains(ours, line) && slices.Contains(theirs, line)) {
				continue // the other side changed it, elsewhere
			}
			require.Equal(t, 1, have[line], "case %d: %q in\n%s", n, line, got)
		}
		mirror, _ := merge.Settle("t.md", merge.Text(text(base), text(theirs), text(ours)), merge.Table)
		assert.Empty(t, mirror.Conflicts(), "case %d: swapped sides are answered alike", n)
	}
	assert.Positive(t, answered)
	assert.Positive(t, refused)
	t.Logf("answered %d, refused %d", answered, refused)
}

// TestTableMergesRowsByKey merges generated tables whose rows up to five sides change and
// add, and compares each answer with one that a map of rows gives.
func TestTableMergesRowsByKey(t *testing.T) {
	t.Parallel()
	answered, refused := 0, 0
	for n := range uint64(sample(5000)) {
		g := rand.New(rand.NewPCG(12, n))
		base := make([]string, 1+g.IntN(5))
		for i := range base {
			base[i] = fmt.Sprintf("| %c | open |", 'a'+i)
		}
		text := func(rows []string) []byte { return []byte(header + strings.Join(append(rows, ""), "\n")) }
		given, sides, twoWays := map[string]string{}, [][]byte{}, false
		for side := range 2 + g.IntN(4) {
			rows := slices.Clone(base)
			for i, row := range rows {
				if g.IntN(3) > 0 {
					continue
				}
				rows[i] = strings.Replace(row, "open", fmt.Sprint("by ", g.IntN(5), " ", side*g.IntN(2)), 1)
				twoWays = twoWays || given[row] != "" && given[row] != rows[i]
				given[row] = rows[i]
			}
			if g.IntN(3) == 0 {
				rows = append(rows, fmt.Sprintf("| new %d | open |", side))
				given[rows[len(rows)-1]] = rows[len(rows)-1]
			}
			sides = append(sides, text(rows))
		}
		settled, _ := merge.Settle("t.md", merge.Texts(text(base), sides...), merge.Table)
		got, clean := settled.Merged()
		require.Equal(t, !twoWays, clean, "case %d: refused only where a row was changed in two ways", n)
		if !clean {
			refused++
			continue
		}
		answered++
		want := slices.Clone(base)
		for i, row := range want {
			if changed := given[row]; changed != "" {
				want[i] = changed
			}
			delete(given, row)
		}
		want = append(want, slices.Sorted(maps.Values(given))...)
		require.Equal(t, string(text(want)), string(got), "case %d", n)
	}
	assert.Positive(t, answered)
	assert.Positive(t, refused)
	t.Logf("answered %d, refused %d", answered, refused)
}

// TestBothMakesNoSecondRow: both is no answer where a table would get two rows with one key.
func TestBothMakesNoSecondRow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, base, ours, theirs string
		fits                     bool
	}{
		"a row in two ways":        {"t.md", "| a | 1 |\n", "| a | 2 |\n", "| a | 3 |\n", false},
		"a row added in two ways":  {"t.md", "", "| a | 2 |\n", "| a | 3 |\n", false},
		"a row and its neighbours": {"t.md", "| a | 1 |\n| b | 1 |\n", "| a | 2 |\n| b | 1 |\n", "| a | 3 |\n", false},
		"rows in different tables": {"t.md", "x\n", "| a | 2 |\n\n| a | 1 |\n", "| c | 3 |\n", true},
		"different rows":           {"t.md", "x\n", "| a | 2 |\n", "| b | 3 |\n", true},
		"first cells are no keys":  {"t.md", "| a | 1 |\n| a | 2 |\n", "| a | 1 |\n| a | 3 |\n", "| a | 1 |\n| a | 4 |\n| b | 1 |\n", true},
		"not a Markdown file":      {"t.txt", "| a | 1 |\n", "| a | 2 |\n", "| a | 3 |\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(files{c.path: header + c.ours}, from{"a", files{c.path: header + c.base}, files{c.path: header + c.theirs}})
			in.Mergers = nil
			p := planOf(t, in)
			require.Len(t, p.Conflicts, 1)
			err := p.Conflicts[0].Fits(merge.TakeBoth)
			assert.Equal(t, c.fits, slices.Contains(p.Conflicts[0].Takes(), merge.TakeBoth))
			if c.fits {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, `more than one row about 'a'`)
			assert.False(t, p.Conflicts[0].Additions(), "additions both leaves it out")
		})
	}
}

// sample is how many of all cases a run looks at.
func sample(all int) int {
	if testing.Short() {
		return all / 25
	}
	return all
}
