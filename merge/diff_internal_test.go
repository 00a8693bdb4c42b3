package merge

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ids returns one line per character.
func ids(text string) []int32 {
	out := make([]int32, 0, len(text))
	for _, c := range []byte(text) {
		out = append(out, int32(c))
	}
	return out
}

// changed returns a text with its marked lines in upper case.
func changed(text string, gone []bool) string {
	var out strings.Builder
	for i, c := range text {
		if gone[i] {
			out.WriteString(strings.ToUpper(string(c)))
		} else {
			out.WriteString(string(c))
		}
	}
	return out.String()
}

// marks is the inverse of changed.
func marks(text string) []bool {
	gone := make([]bool, len(text))
	for i, c := range text {
		gone[i] = strings.ToUpper(string(c)) == string(c)
	}
	return gone
}

func TestDiffMarksWhatChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ a, b, wantA, wantB string }{
		"nothing in either":           {"", "", "", ""},
		"nothing changed":             {"abc", "abc", "abc", "abc"},
		"all new":                     {"", "abc", "", "ABC"},
		"all gone":                    {"abc", "", "ABC", ""},
		"nothing in common":           {"abc", "xyz", "ABC", "XYZ"},
		"one line in the middle":      {"abc", "axc", "aBc", "aXc"},
		"at both ends":                {"abc", "xbz", "AbC", "XbZ"},
		"an insertion":                {"abcd", "abxcd", "abcd", "abXcd"},
		"a deletion":                  {"abxcd", "abcd", "abXcd", "abcd"},
		"one of equal lines more":     {"aaa", "aaaa", "aaa", "aaaA"},
		"one of equal lines less":     {"aaaa", "aaa", "aaaA", "aaa"},
		"a repeated block goes down":  {"xaby", "xababy", "xaby", "xabABy"},
		"a moved block":               {"abcdef", "cdefab", "ABcdef", "cdefAB"},
		"the example of Myers' paper": {"abcabba", "cbabac", "ABcAbba", "cbAbaC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goneA, goneB := make([]bool, len(c.a)), make([]bool, len(c.b))
			for _, d := range diff(ids(c.a), ids(c.b), 256) {
				for i := d.aLo; i < d.aHi; i++ {
					goneA[i] = true
				}
				for i := d.bLo; i < d.bHi; i++ {
					goneB[i] = true
				}
			}
			assert.Equal(t, c.wantA, changed(c.a, goneA))
			assert.Equal(t, c.wantB, changed(c.b, goneB))
		})
	}
}

func TestSlideMovesChangesToGitsPositions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, other, want string }{
		"nothing to move":                     {"aBc", "ac", "aBc"},
		"down as far as it goes":              {"aXxxb", "axxb", "axxXb"},
		"a block goes down by whole turns":    {"zABabab", "zabab", "zababAB"},
		"a block goes down by part of a turn": {"zABac", "zac", "zaBAc"},
		"not past another line":               {"aXybx", "aybx", "aXybx"},
		"two groups that meet become one":     {"aXxXb", "axb", "axXXb"},
		"up, and down with what it met there": {"aXxxbX", "axxb", "axxXbX"},
		"to a change of the other text":       {"aXxxb", "axYxb", "axXxb"},
		"to the lowest of such changes":       {"aXxxxb", "axYxYxb", "axxXxb"},
		"at the end of the text":              {"aXx", "ax", "axX"},
		"an empty text":                       {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, gone := strings.ToLower(c.text), marks(c.text)
			slide(ids(text), gone, marks(c.other))
			assert.Equal(t, c.want, changed(text, gone))
		})
	}
}

// Below the cost cap and without discarded lines, the diff is a shortest one: the test
// compares its length with the textbook table.
func TestDiffIsShortest(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	for range 3000 {
		a, b := letters(rng, rng.IntN(12)), letters(rng, rng.IntN(12))
		goneA, goneB := make([]bool, len(a)), make([]bool, len(b))
		whole := func(text string, gone []bool) kept {
			k := kept{id: ids(text), gone: gone}
			for i := range text {
				k.at = append(k.at, i)
			}
			return k
		}
		newSearch(whole(a, goneA), whole(b, goneB)).solve(box{0, len(a), 0, len(b)})
		require.Equal(t, len(a)-common(a, b), count(goneA), "%s -> %s", a, b)
		require.Equal(t, len(b)-common(a, b), count(goneB), "%s -> %s", a, b)
	}
}

func letters(rng *rand.Rand, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = "abcd"[rng.IntN(4)]
	}
	return string(out)
}

// common returns the length of the longest common subsequence.
func common(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

func count(gone []bool) int {
	n := 0
	for _, g := range gone {
		if g {
			n++
		}
	}
	return n
}

// The unmarked lines always correspond in order.
func TestDiffPairsEqualLines(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 8))
	for range 40 {
		alphabet := 2 + rng.IntN(500)
		a, b := random(rng, rng.IntN(2500), alphabet), random(rng, rng.IntN(2500), alphabet)
		i, j := 0, 0
		for _, c := range append(diff(a, b, alphabet), change{len(a), len(a), len(b), len(b)}) {
			require.Equal(t, c.aLo-i, c.bLo-j)
			require.Equal(t, a[i:c.aLo], b[j:c.bLo])
			i, j = c.aHi, c.bHi
		}
	}
}

func random(rng *rand.Rand, n, alphabet int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(rng.IntN(alphabet))
	}
	return out
}

func TestSqrtish(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{0: 1, 1: 2, 3: 2, 4: 4, 15: 4, 16: 8, 63: 8, 64: 16, 65535: 256, 65536: 512} {
		assert.Equal(t, want, sqrtish(n), "%d", n)
	}
}
