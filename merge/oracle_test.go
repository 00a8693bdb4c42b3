package merge_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// An oracle runs git merge-file in its own folder.
type oracle struct {
	git string
	dir string
	env []string
}

func newOracle(t testing.TB) oracle {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not in PATH")
	}
	dir := t.TempDir()
	return oracle{git, dir, []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + dir, "LC_ALL=C"}}
}

// merge runs git. conflicts is git's exit status.
func (o oracle) merge(c threeWay) (merged []byte, conflicts int, err error) {
	for name, text := range map[string][]byte{"ours": c.ours, "base": c.base, "theirs": c.theirs} {
		if err := os.WriteFile(filepath.Join(o.dir, name), text, 0o600); err != nil {
			return nil, 0, err
		}
	}
	cmd := exec.Command(o.git, "merge-file", "--diff3", "-p", "ours", "base", "theirs")
	cmd.Dir, cmd.Env = o.dir, o.env
	merged, err = cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() < 128 {
		return merged, exit.ExitCode(), nil
	}
	return merged, 0, err
}

// render returns what git would have written.
func render(c threeWay) (merged []byte, conflicts int) {
	r := merge.Text(c.base, c.ours, c.theirs)
	m := merge.Named("base", "ours", "theirs")
	m.Length = 7
	return r.Render(m), len(r.Conflicts())
}

// agreement counts how the package and git compare.
type agreement struct {
	cases, repetitive, gitConflicts, identical     int
	falseConflicts, falseClean, otherClean, others int
	differing                                      []uint64
}

func (a *agreement) add(n uint64, c threeWay, ours, gits []byte, conflicts, gitConflicts int) {
	a.cases++
	if repetitive(c.base) {
		a.repetitive++
	}
	if gitConflicts > 0 {
		a.gitConflicts++
	}
	switch {
	case bytes.Equal(ours, gits) && (conflicts > 0) == (gitConflicts > 0):
		a.identical++
		return
	case conflicts > 0 && gitConflicts == 0:
		a.falseConflicts++
	case conflicts == 0 && gitConflicts > 0:
		a.falseClean++
	case conflicts == 0:
		a.otherClean++
	default:
		a.others++
	}
	a.differing = append(a.differing, n)
}

func (a *agreement) String() string {
	return fmt.Sprintf("%d cases, %d with repeated lines, %d conflicts in git: %d byte-identical (%.2f %%), "+
		"%d false conflicts, %d falsely clean, %d differing clean results, %d differing conflicts",
		a.cases, a.repetitive, a.gitConflicts, a.identical, 100*float64(a.identical)/float64(a.cases),
		a.falseConflicts, a.falseClean, a.otherClean, a.others)
}

// number reads a number from the environment, for longer runs.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	text, set := os.LookupEnv(name)
	if !set {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// LESLIE_MERGE_CASES sets the number of cases, LESLIE_MERGE_SEED the seed.
func TestTextAgreesWithGit(t *testing.T) {
	t.Parallel()
	cases, seed := number(t, "LESLIE_MERGE_CASES", 500), number(t, "LESLIE_MERGE_SEED", 1)
	var (
		all     agreement
		lock    sync.Mutex
		workers sync.WaitGroup
	)
	const parallel = 2
	for worker := range uint64(parallel) {
		git := newOracle(t)
		workers.Go(func() {
			for n := worker; n < cases; n += parallel {
				c := generate(seed, n)
				want, gitConflicts, err := git.merge(c)
				got, conflicts := render(c)
				lock.Lock()
				assert.NoError(t, err, "git on case %d", n)
				all.add(n, c, got, want, conflicts, gitConflicts)
				lock.Unlock()
			}
		})
	}
	workers.Wait()
	t.Logf("seed %d: %s", seed, &all)
	if len(all.differing) > 0 {
		t.Logf("differing: %v", all.differing[:min(10, len(all.differing))])
	}
	assert.Zero(t, all.falseConflicts, "conflicts where git has none")
	assert.Zero(t, all.falseClean, "clean results where git has a conflict")
	assert.Zero(t, all.otherClean, "clean results that differ from git's")
	assert.GreaterOrEqual(t, all.identical*1000, all.cases*995, "identical results")
	assert.GreaterOrEqual(t, all.gitConflicts*3, all.cases, "the generator must make enough conflicts")
	assert.GreaterOrEqual(t, all.repetitive*10, all.cases, "the generator must repeat enough lines")
}

func TestGitRefusesFilesWithNULBytes(t *testing.T) {
	t.Parallel()
	git := newOracle(t)
	for at, binary := range map[int]bool{0: true, 7999: true, 8000: false, 9000: false} {
		data := bytes.Repeat([]byte("a"), 10_000)
		data[at] = 0
		_, _, err := git.merge(threeWay{base: data, ours: data, theirs: []byte("b\n")})
		assert.Equal(t, binary, err != nil, "git, NUL at %d", at)
		assert.Equal(t, binary, merge.Binary(data), "NUL at %d", at)
	}
}
