package merge_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// unifiedText returns what diff -u prints after its two lines of names.
func unifiedText(from, to []byte, context int) string {
	var b strings.Builder
	for _, h := range merge.Diff(from, to, context) {
		b.WriteString(h.Header() + "\n")
		for _, line := range h.Lines {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func TestDiffIsUnified(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to, want string }{
		"equal":                  {"a\n", "a\n", ""},
		"both empty":             {"", "", ""},
		"new":                    {"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"emptied":                {"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		"a line of one":          {"a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"},
		"end without newline":    {"a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		"both without newline":   {"a\nz", "b\nz", "@@ -1,2 +1,2 @@\n-a\n+b\n z\n\\ No newline at end of file\n"},
		"carriage returns stay":  {"a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n"},
		"six equal lines join":   {"x\n1\n2\n3\n4\n5\n6\nx\n", "y\n1\n2\n3\n4\n5\n6\ny\n", "@@ -1,8 +1,8 @@\n-x\n+y\n 1\n 2\n 3\n 4\n 5\n 6\n-x\n+y\n"},
		"seven equal lines part": {"x\n1\n2\n3\n4\n5\n6\n7\nx\n", "y\n1\n2\n3\n4\n5\n6\n7\ny\n", "@@ -1,4 +1,4 @@\n-x\n+y\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-x\n+y\n"},
	} {
		assert.Equal(t, c.want, unifiedText([]byte(c.from), []byte(c.to), merge.DiffContext), name)
	}
	assert.Equal(t, "@@ -1,0 +2 @@\n+b\n", unifiedText([]byte("a\nc\n"), []byte("a\nb\nc\n"), 0), "an empty range starts at the line before it")
}

func TestHunksCountTheirChanges(t *testing.T) {
	t.Parallel()
	hunks := merge.Diff([]byte("a\nb\nc"), []byte("a\nx\ny\nc"), merge.DiffContext)
	require.Len(t, hunks, 1)
	added, removed := hunks[0].Changed()
	assert.Equal(t, 2, added)
	assert.Equal(t, 1, removed)
}

// An outsideDiff runs a diff program on two files.
type outsideDiff struct {
	oracle
	args []string
}

// hunks runs the program, and returns its output from the first hunk on, without
// the functions that git adds to a hunk's header.
func (o outsideDiff) hunks(t *testing.T, from, to []byte) string {
	for name, text := range map[string][]byte{"from": from, "to": to} {
		require.NoError(t, os.WriteFile(filepath.Join(o.dir, name), text, 0o600))
	}
	cmd := exec.Command(o.args[0], append(o.args[1:], "from", "to")...)
	cmd.Dir, cmd.Env = o.dir, o.env
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		require.NoError(t, err, "%v", o.args)
	}
	at := bytes.Index(out, []byte("\n@@ -"))
	if at < 0 {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(string(out[at+1:])) {
		if head, _, ok := strings.Cut(strings.TrimPrefix(line, "@@ "), " @@"); ok && strings.HasPrefix(line, "@@ -") {
			line = "@@ " + head + " @@\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// LESLIE_MERGE_CASES sets the number of cases, LESLIE_MERGE_SEED the seed.
func TestDiffHasGitsHunks(t *testing.T) {
	t.Parallel()
	git := newOracle(t)
	o := outsideDiff{git, []string{git.git, "diff", "--no-index", "--no-indent-heuristic", "--no-color", "--text"}}
	for n := range number(t, "LESLIE_MERGE_CASES", 300) {
		c := generate(number(t, "LESLIE_MERGE_SEED", 1), n)
		require.Equal(t, o.hunks(t, c.base, c.ours), unifiedText(c.base, c.ours, merge.DiffContext), "case %d", n)
	}
}

// maxSearched is how many changed lines both programs find a shortest script for; git,
// and so merge, caps the cost of longer ones (myers.go).
const maxSearched = 256

// GNU diff chooses otherwise among several shortest scripts. Where there is only one,
// there is nothing to choose.
func TestDiffHasTheHunksOfDiffWhereOneShortestScriptExists(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("diff")
	if err != nil {
		t.Skip("diff is not in PATH")
	}
	o := outsideDiff{oracle{dir: t.TempDir(), env: []string{"LC_ALL=C"}}, []string{program, "-u", "--text"}}
	unique, others, same := 0, 0, 0
	for n := range number(t, "LESLIE_MERGE_CASES", 300) {
		c := generate(number(t, "LESLIE_MERGE_SEED", 1), n)
		want, got := o.hunks(t, c.base, c.ours), unifiedText(c.base, c.ours, merge.DiffContext)
		if length, one := shortestScript(c.base, c.ours); !one || length > maxSearched {
			others++
			if want == got {
				same++
			}
			continue
		}
		unique++
		assert.Equal(t, want, got, "case %d", n)
	}
	t.Logf("one shortest script: %d; several, or a long one: %d, of them %d with the same hunks", unique, others, same)
	assert.Positive(t, unique)
}

// shortestScript returns how many lines the shortest script removes and adds, and
// whether only one pairing of equal lines gives it.
func shortestScript(from, to []byte) (length int, one bool) {
	a, b := bytes.SplitAfter(from, []byte("\n")), bytes.SplitAfter(to, []byte("\n"))
	// common[i][j] is the longest common subsequence of a[i:] and b[j:], ways[i][j] the
	// number of its pairings, up to 2.
	common := make([][]int, len(a)+1)
	ways := make([][]int, len(a)+1)
	for i := len(a); i >= 0; i-- {
		common[i], ways[i] = make([]int, len(b)+1), make([]int, len(b)+1)
		for j := len(b); j >= 0; j-- {
			if i == len(a) || j == len(b) {
				ways[i][j] = 1
				continue
			}
			equal := bytes.Equal(a[i], b[j])
			best := max(common[i+1][j], common[i][j+1])
			if equal {
				best = max(best, common[i+1][j+1]+1)
			}
			n := 0
			if equal && common[i+1][j+1]+1 == best {
				n += ways[i+1][j+1]
			}
			if common[i+1][j] == best {
				n += ways[i+1][j]
			}
			if common[i][j+1] == best {
				n += ways[i][j+1]
			}
			if common[i+1][j] == best && common[i][j+1] == best && common[i+1][j+1] == best {
				n -= ways[i+1][j+1] // counted in both
			}
			common[i][j], ways[i][j] = best, min(n, 2)
		}
	}
	return len(a) + len(b) - 2*common[0][0], ways[0][0] == 1
}
