package git_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/git"
)

// keep keeps the work in the worktree.
func (r *removing) keep() git.Work {
	r.t.Helper()
	work, err := r.tree.SaveWork(context.Background(), "ann", false)
	require.NoError(r.t, err)
	return work
}

func (r *removing) exchange(from, to git.Work) error {
	x := git.Exchange{Worktree: r.tree, Branch: "leslie/x", From: from.Commit, To: to.Commit}
	return x.Run(context.Background())
}

// looksOwn is looks without what git ignores.
func (r *removing) looksOwn() string {
	ignored, looks := map[string]bool{}, r.looks()
	for _, name := range strings.Split(r.in(r.tree.Dir, "ls-files", "-z", "--others", "--ignored", "--exclude-standard"), "\x00") {
		ignored[fmt.Sprintf("%q", "/"+name)] = true
		looks = strings.ReplaceAll(looks, "\n! "+name+"\n", "\n")
	}
	var out []string
	for _, line := range strings.Split(looks, "\n") {
		if quoted, err := firstQuoted(line); (err != nil || !ignored[quoted]) && !strings.HasPrefix(line, "! ") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

func firstQuoted(line string) (string, error) {
	var name string
	_, err := fmt.Sscanf(line, "%q", &name)
	return fmt.Sprintf("%q", name), err
}

func TestWorkIsExchangedInPlace(t *testing.T) {
	t.Parallel()
	files := func(r *repository) {
		r.write("b.txt", "b\n")
		r.write("dir/c", "c\n")
		r.write("tool", "#!/bin/sh\n")
	}
	scripts := map[string]string{
		"nothing":                    "true",
		"staged, then edited":        "echo 2 >a.txt; git add a.txt; echo 3 >a.txt",
		"commits":                    "echo 2 >a.txt; git commit -qam 2; echo 3 >n; git add n; git commit -qm 3; echo 4 >n",
		"untracked":                  "echo n >new; mkdir -p deep/er; echo n >deep/er/new; : >empty",
		"deleted":                    "rm a.txt; git rm -q dir/c",
		"renamed":                    "git mv a.txt z.txt; mv b.txt y.txt",
		"modes and links":            "chmod +x a.txt b.txt; git add a.txt; ln -s a.txt l; rm tool; ln -s x tool",
		"a file instead of a folder": "rm -r dir; echo f >dir",
		"a folder instead of a file": "rm a.txt; mkdir a.txt; echo f >a.txt/f",
		"a link instead of a folder": "mkdir away; mv dir/c away/c; rmdir dir; ln -s away dir",
		"line ends":                  "echo '*.txt text eol=crlf' >.gitattributes; printf '1\\r\\n2\\n' >a.txt; git add a.txt; printf 'x\\n' >b.txt; git add b.txt",
		"other rules":                "echo new >.gitignore; git commit -qam i; echo n >new",
	}
	for _, name := range sample(slices.Sorted(maps.Keys(scripts))) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemoving(t, files)
			r.sh("mkdir built; echo o >built/o")
			one, looked := r.keep(), r.looks()
			r.sh(scripts[name])
			two, then := r.keep(), r.looks()
			assert.Equal(t, then, r.looks(), "keeping changes nothing")
			require.NoError(t, r.exchange(two, one))
			if name != "other rules" {
				assert.Equal(t, looked, r.looks())
			}
			require.NoError(t, r.exchange(one, two))
			assert.Equal(t, then, r.looks())
			same, err := r.repo.SameWork(context.Background(), two.Commit, r.keep().Commit)
			require.NoError(t, err)
			assert.True(t, same)
			same, err = r.repo.SameWork(context.Background(), one.Commit, two.Commit)
			require.NoError(t, err)
			assert.Equal(t, name == "nothing", same)
		})
	}
}

// Large files that git converts are not kept twice: git writes them again.
func TestAnExchangeLetsGitWriteWhatItConverts(t *testing.T) {
	t.Parallel()
	r := newRemoving(t, func(r *repository) {
		r.git("config", "core.autocrlf", "true")
		r.write("big.txt", strings.Repeat("a line\n", 200_000))
	})
	one, looked := r.keep(), r.looks()
	r.sh("git rm -q big.txt; git commit -qm gone")
	two := r.keep()
	require.NoError(t, r.exchange(two, one))
	assert.Equal(t, looked, r.looks())
}

func TestAnExchangeOverwritesNothingThatIsNotKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ one, two, later, what string }{
		"an edit since":                 {"true", "echo 2 >a.txt", "echo 3 >a.txt", "a.txt"},
		"an ignored file in the place":  {"echo x >f.log; git add -f f.log", "git rm -q --cached f.log; echo mine >f.log", "true", "f.log"},
		"a new file in the place":       {"echo x >f", "rm f", "echo mine >f", "f"},
		"an ignored file in the folder": {"echo x >f", "rm f; mkdir f; echo i >f/i.log", "true", "f"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRemoving(t)
			r.sh(c.one)
			one := r.keep()
			r.sh(c.two)
			two := r.keep()
			r.sh(c.later)
			before := r.looks()
			err := r.exchange(two, one)
			require.True(t, codes.Has(err, codes.LandingBlocked), "%v", err)
			paths, _ := codes.Of(err).Facts().Get("paths")
			assert.Equal(t, []string{c.what}, paths)
			assert.Equal(t, before, r.looks())
		})
	}
	r := newRemoving(t)
	one := r.keep()
	r.sh("git checkout -q -b other; echo 2 >a.txt")
	err := r.exchange(r.keep(), one)
	assert.True(t, codes.Has(err, codes.WorktreeBusy), "%v", err)
	r.sh("git checkout -q leslie/x; git merge --no-commit -q --no-ff other || true; touch $(git rev-parse --git-dir)/index.lock")
	_, err = r.tree.SaveWork(context.Background(), "ann", false)
	assert.True(t, codes.Has(err, codes.WorktreeBusy), "%v", err)
}

// Repositories within, which an agent may have cloned, stay as they are.
func TestAnExchangeLeavesOtherRepositories(t *testing.T) {
	t.Parallel()
	r := newRemoving(t)
	r.sh("git init -q n; git -C n commit -q --allow-empty -m n; echo x >n/f")
	one := r.keep()
	r.sh("echo 2 >a.txt; git -c advice.addEmbeddedRepo=false add n; git commit -qam n")
	require.NoError(t, r.exchange(r.keep(), one))
	assert.FileExists(t, filepath.Join(r.tree.Dir, "n", "f"))
	assert.DirExists(t, filepath.Join(r.tree.Dir, "n", ".git"))
}

// TestRandomWorkIsExchanged is the property of saved work: back and forth, the same status
// and the same bytes, also if the exchange ended somewhere in the middle.
func TestRandomWorkIsExchanged(t *testing.T) {
	t.Parallel()
	cases := 150
	if testing.Short() {
		cases = 4
	}
	for seed := range cases {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 15))
			r := newRemoving(t, func(r *repository) {
				for range rnd.IntN(8) {
					r.write(randomName(rnd), randomText(rnd))
				}
				if rnd.IntN(3) == 0 {
					r.git("config", "core.autocrlf", "true")
				}
			})
			steps := ""
			some := func() (git.Work, string) {
				for range 1 + rnd.IntN(8) {
					steps += r.randomStep(rnd) + "\n"
				}
				return r.keep(), r.looksOwn()
			}
			one, looked := some()
			two, then := some()
			err := r.exchange(two, one)
			if codes.Has(err, codes.WorktreeBusy) || codes.Has(err, codes.LandingBlocked) { // a detached head, or something ignored in the way
				return
			}
			require.NoError(t, err, steps)
			require.Equal(t, looked, r.looksOwn(), steps)
			for name := range map[string]bool{"a.txt": rnd.IntN(2) == 0, "b": true} { // as if the next was cut short
				_ = os.RemoveAll(filepath.Join(r.tree.Dir, name))
			}
			half := r.keep()
			require.NoError(t, r.exchange(half, two), steps)
			require.Equal(t, then, r.looksOwn(), steps)
		})
	}
}

func TestRefsOfTurnsAreFew(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRemoving(t)
	at := r.tip("leslie/x")
	for n := range 7 {
		require.NoError(t, r.repo.SetTurn(ctx, "x", n+1, n-1, at))
	}
	require.NoError(t, r.repo.SetTurn(ctx, "x", 6, 4, at), "a later one is of another time")
	assert.Equal(t, "refs/leslie/turn/x/5\nrefs/leslie/turn/x/6", r.git("for-each-ref", "--format=%(refname)", "refs/leslie/turn"))
	for range 25 {
		ref, err := r.repo.NewRolled(ctx, "x")
		require.NoError(t, err)
		require.NoError(t, r.repo.UpdateRef(ctx, ref, at, "", "test"))
	}
	assert.Len(t, strings.Fields(r.git("for-each-ref", "--format=%(refname)", "refs/leslie/rolled")), 20)
}
