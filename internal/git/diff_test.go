package git_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/git"
)

// patchesOf joins the patches of files.
func patchesOf(files []git.FileDiff) (text string) {
	for _, f := range files {
		text += f.Patch
	}
	return text
}

// TestADiffIsGitsOwn compares patches and counts with those of git diff, for random changes of
// files, modes, links, folders and names.
func TestADiffIsGitsOwn(t *testing.T) {
	t.Parallel()
	ctx, rnd := context.Background(), rand.New(rand.NewPCG(1, 49))
	r := newRepository(t)
	w := r.repo.Worktree(r.dir, r.repo.Admin)
	for range 12 {
		from := r.head()
		r.mess(rnd)
		r.write(string(rune('a'+rnd.IntN(20)))+" \"quo\tted\" ü", "diff --git a/x b/x\n"+text(rnd, 3)+"no newline")
		r.write("binary", "\x00"+text(rnd, 1))

		loose, err := w.Uncommitted(ctx, true)
		require.NoError(t, err)
		to := r.commit("more")
		files, err := r.repo.Diff(ctx, string(from), string(to), true)
		require.NoError(t, err)

		var counts []string
		for _, f := range files {
			added, removed := number(f.Added, f.Binary), number(f.Removed, f.Binary)
			counts = append(counts, added+"\t"+removed)
		}
		want := r.untrimmed(r.dir, "diff", "--no-color", "-M", string(from), string(to))
		var wantCounts []string
		for line := range strings.Lines(r.git("diff", "--numstat", "-M", string(from), string(to))) {
			parts := strings.SplitN(line, "\t", 3)
			wantCounts = append(wantCounts, parts[0]+"\t"+parts[1])
		}
		assert.Equal(t, unquoted(strings.TrimSuffix(want, "\n")), unquoted(strings.TrimSuffix(patchesOf(files), "\n")))
		assert.Equal(t, wantCounts, counts)
		assert.Equal(t, patchesOf(files), patchesOf(loose), "what is not committed is what a commit of it brings")

		without, err := r.repo.Diff(ctx, string(from), string(to), false)
		require.NoError(t, err)
		assert.Len(t, without, len(files))
		assert.Empty(t, patchesOf(without))
	}
	assert.Empty(t, r.git("status", "--porcelain"))
	entries, err := os.ReadDir(filepath.Join(r.repo.Admin, "leslie-scratch"))
	require.NoError(t, err)
	assert.Empty(t, entries, "nothing stays behind")
}

// unquoted leaves out how git quotes names that are not ASCII, which is a setting.
func unquoted(patch string) string { return strings.ReplaceAll(patch, `\303\274`, "ü") }

func number(n int, binary bool) string {
	if binary {
		return "-"
	}
	return strconv.Itoa(n)
}
