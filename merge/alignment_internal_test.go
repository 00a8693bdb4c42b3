package merge

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// words returns every text of up to n lines that are x or y.
func words(n int) []string {
	all := []string{""}
	for from := 0; n > 0; n-- {
		to := len(all)
		for _, w := range all[from:to] {
			all = append(all, w+"x\n", w+"y\n")
		}
		from = to
	}
	return all
}

// splits returns every way to split a text, by brute force.
func splits(text string, segments []string) [][]string {
	rest, ok := strings.CutPrefix(text, segments[0])
	if !ok {
		return nil
	}
	if len(segments) == 1 {
		return [][]string{nil}
	}
	if len(segments) == 2 {
		if between, ok := strings.CutSuffix(rest, segments[1]); ok {
			return [][]string{{between}}
		}
		return nil
	}
	var out [][]string
	for at := 0; at <= len(rest); at += 2 { // a line has two bytes
		for _, more := range splits(rest[at:], segments[1:]) {
			out = append(out, append([]string{rest[:at]}, more...))
		}
	}
	return out
}

func TestAlignedFindsTheOnlySplit(t *testing.T) {
	t.Parallel()
	found := map[int]int{}
	for _, text := range words(7) {
		for _, between := range words(4)[1:] {
			for _, segments := range [][]string{{"", between, ""}, {"x\n", between, "y\n"}, {"", between, "x\n", "y\n"}} {
				want := splits(text, segments)
				got, wrong := aligned([]byte(text), segments)
				found[min(2, len(want))]++
				switch len(want) {
				case 0:
					require.NotNil(t, wrong)
					require.False(t, wrong.ambiguous, "%q %q", text, segments)
				case 1:
					require.Nil(t, wrong, "%q %q", text, segments)
					require.Len(t, got, len(want[0]))
					for i := range got {
						require.Equal(t, want[0][i], string(got[i]))
					}
				default:
					require.NotNil(t, wrong)
					require.True(t, wrong.ambiguous, "%q %q", text, segments)
				}
			}
		}
	}
	t.Logf("cuts: none %d, one %d, several %d", found[0], found[1], found[2])
	assert.Len(t, found, 3)
}

func TestFindReturnsTheFirstPlace(t *testing.T) {
	t.Parallel()
	ids := func(text string) []int32 {
		var out []int32
		for line := range strings.Lines(text) {
			out = append(out, int32(line[0]))
		}
		return out
	}
	for _, run := range []string{"x", "xxyxxx", "xyxyxx", "xxyxx", "xyxxyxy", "xxyxxxx"} {
		for _, text := range words(11) {
			run := strings.Join(slices.Collect(strings.SplitSeq(run, "")), "\n") + "\n"
			want := strings.Index(text, run)
			if want > 0 {
				want /= 2
			}
			require.Equal(t, want, find(ids(text), ids(run)), "%q in %q", run, text)
		}
	}
}
