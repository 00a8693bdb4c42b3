//go:build !windows

package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A landing that is killed before or after any call of git is finished by the same line, and
// there is never a second commit. A drop, too, is finished, and loses nothing.
func TestALandingOrADropThatIsKilledAtAGitCallIsFinishedByTheSameLine(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	start, api := r.again(), filepath.Join(r.worktrees, "api")
	main := r.git(r.dir, "rev-parse", "main")
	work := r.git(api, "rev-parse", "HEAD:new/c.txt")
	for _, line := range [][]string{
		{"land", "api", "--onto", "main"}, {"land", "api", "--onto", "main", "--squash"}, {"land", "api", "--onto", "main", "--rebase"},
		{"drop", "api", "--yes"},
	} {
		for _, when := range []string{"before", "after"} {
			for n := 1; ; n += orInShort(1, 5) {
				start()
				what := fmt.Sprint(line, ", killed ", when, " call ", n)
				if !r.killed(n, when, line...) {
					break
				}
				for range 2 { // the second time there is nothing left to do
					a, err := r.succeed(line...)
					require.NoError(t, err, what)
					require.Zero(t, a.status, what)
				}
				assert.NoDirExists(t, api, what)
				assert.Empty(t, r.git(r.dir, "branch", "--list", "leslie/api"), what)
				assert.Contains(t, r.git(r.dir, "rev-list", "--objects", "--all"), work, what)
				if line[0] == "drop" {
					continue
				}
				want := map[string]string{"--squash": "1", "--rebase": "1"}[line[len(line)-1]]
				if want == "" {
					want = "2" // the merge and the thread's own
				}
				assert.Equal(t, want, r.git(r.dir, "rev-list", "--count", main+"..main"), what)
				assert.Empty(t, r.git(r.dir, "status", "--porcelain", "--untracked-files=no"), what)
				assert.FileExists(t, filepath.Join(r.dir, "new", "c.txt"), what)
			}
		}
	}
	healthy := struct{ Healthy bool }{}
	r.ok("doctor").into(t, &healthy)
	assert.True(t, healthy.Healthy)
}

// TestRandomHistoriesAreLandedDroppedAndPrunedWithoutLoss makes histories as people do (behind,
// ahead, merged by hand, squashed, picked, reverted, rebased, amended, not committed), then lands,
// drops or prunes: whatever the branch and the worktree had is on a branch, under a ref of leslie
// or still in the worktree.
func TestRandomHistoriesAreLandedDroppedAndPrunedWithoutLoss(t *testing.T) {
	t.Parallel()
	r, rnd := newRepository(t), random(t)
	for n := range orInShort(200, 8) {
		id := fmt.Sprint("piece", n)
		r.ok("spawn", "--code", "--intent", "Piece", "--id", id)
		dir := filepath.Join(r.worktrees, id)
		did := []string{}
		step := func(name, script string, in string) {
			did = append(did, name)
			r.git(in, "-c", "alias.do=!sh -c '"+script+"'", "do")
		}
		quietly := "2>/dev/null >/dev/null"
		for i := range 2 + rnd.IntN(6) {
			file := fmt.Sprintf("f%d.txt", rnd.IntN(3))
			text := fmt.Sprintf("%d %d %d", n, i, rnd.IntN(1000))
			switch rnd.IntN(10) {
			case 0, 1, 2:
				step("commit", "echo "+text+" >>"+file+"; git add .; git commit -q -m work", dir)
			case 3:
				step("commit on main", "echo "+text+" >>"+file+"; git add "+file+"; git commit -q -m others", r.dir)
			case 4:
				step("merge of main", "git merge -q --no-edit main "+quietly+" || git merge --abort "+quietly+"; true", dir)
			case 5:
				step("merge by hand", "git merge -q --no-edit --no-ff leslie/"+id+" "+quietly+" || git merge --abort "+quietly+"; true", r.dir)
			case 6:
				step("squash by hand", "git merge -q --squash leslie/"+id+" "+quietly+" && git commit -q -m squash "+quietly+" || git reset -q --merge; true", r.dir)
			case 7:
				step("pick", "git cherry-pick leslie/"+id+" "+quietly+" || git cherry-pick --abort "+quietly+" || git reset -q --merge; true", r.dir)
			case 8:
				step("revert", "git revert --no-edit HEAD "+quietly+" || git revert --abort "+quietly+" || git reset -q --merge; true", r.dir)
			case 9:
				step("rebase", "git rebase -q main "+quietly+" || git rebase --abort "+quietly+"; true", dir)
			}
		}
		loose := ""
		if rnd.IntN(3) == 0 {
			loose = fmt.Sprint("loose ", n)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "loose.txt"), []byte(loose), 0o644))
			did = append(did, "not committed")
		}
		had := r.git(dir, "rev-list", "--objects", "HEAD")
		looseID := ""
		if loose != "" {
			looseID = r.git(dir, "hash-object", "loose.txt")
		}

		var line []string
		switch rnd.IntN(5) {
		case 0:
			line = []string{"land", id}
		case 1:
			line = []string{"land", id, "--squash"}
		case 2:
			line = []string{"land", id, "--rebase"}
		case 3:
			line = []string{"drop", id, "--yes"}
		case 4:
			r.ok("done", id)
			line = []string{"code", "prune"}
		}
		a, err := r.try(line...)
		require.NoError(t, err)
		what := fmt.Sprint(did, " ", line, " exit status ", a.status)
		if a.status != 0 && line[0] == "land" { // it conflicts, or something is not committed
			pending, err := r.try("merge", "list")
			require.NoError(t, err)
			for _, m := range mergesIn(t, pending) {
				r.ok("merge", "abort", m)
			}
		}

		_, statErr := os.Stat(dir)
		has := r.git(r.dir, "rev-list", "--objects", "--all")
		if statErr == nil {
			has += r.git(dir, "rev-list", "--objects", "HEAD")
		}
		for object := range strings.Lines(had) {
			id, _, _ := strings.Cut(strings.TrimSpace(object), " ")
			require.Contains(t, has, id, what)
		}
		if looseID != "" && statErr != nil {
			require.Contains(t, has, looseID, what)
		}
		require.Empty(t, r.git(r.dir, "status", "--porcelain", "--untracked-files=no"), what)
		if statErr == nil {
			r.ok("drop", id, "--yes")
			require.NoDirExists(t, dir, what)
		}
	}
}

// mergesIn returns the ids of listed merges.
func mergesIn(t *testing.T, a answer) (ids []string) {
	t.Helper()
	var list struct {
		Items []struct {
			MergeID string `json:"mergeId"`
		} `json:"items"`
	}
	a.into(t, &list)
	for _, m := range list.Items {
		ids = append(ids, m.MergeID)
	}
	return ids
}
