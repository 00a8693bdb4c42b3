package git_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/git"
)

// lfs is what "git lfs install" writes.
func lfs(r *repository, where ...string) {
	for key, value := range map[string]string{
		"filter.lfs.clean": "git-lfs clean -- %f", "filter.lfs.smudge": "git-lfs smudge -- %f",
		"filter.lfs.process": "git-lfs filter-process", "filter.lfs.required": "true",
	} {
		r.git(append(append([]string{"config"}, where...), key, value)...)
	}
}

// checked opens the repository anew and asks whether it may be checked out.
func checked(r *repository) error {
	r.t.Helper()
	repo, err := git.Open(context.Background(), r.dir, r.sys)
	require.NoError(r.t, err)
	return repo.CheckPrograms(context.Background())
}

func TestTheFiltersOfGitLFSAreKnown(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	lfs(r)
	require.NoError(t, checked(r))
	r.git("config", "filter.lfs.smudge", "git-lfs smudge --skip -- %f")
	r.git("config", "filter.lfs.process", "git-lfs filter-process --skip")
	require.NoError(t, checked(r))
	for key, value := range map[string]string{
		"filter.lfs.clean": "git-lfs clean -- %f; evil", "filter.lfs.smudge": "./git-lfs smudge -- %f", "filter.lfs.process": "git lfs filter-process",
	} {
		r.git("config", key, value)
		assert.True(t, codes.Has(checked(r), codes.UntrustedGitConfig), key)
		lfs(r)
	}
	r.git("config", "filter.LFS.clean", "git-lfs clean -- %f")
	assert.True(t, codes.Has(checked(r), codes.UntrustedGitConfig))
}

// git-lfs reads settings as lines KEY=VALUE, so a name or a value can have another key in it.
func TestWhatGitLFSWouldRunIsRefused(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		for name, set := range map[string][]string{
			"an extension":              {"lfs.extension.evil.clean", "evil"},
			"an extension's smudge":     {"lfs.extension.evil.smudge", "evil"},
			"a transfer agent":          {"lfs.customtransfer.evil.path", "evil"},
			"the only transfer agent":   {"lfs.standalonetransferagent", "evil"},
			"that of an address":        {"lfs.https://example.org/x.standalonetransferagent", "evil"},
			"a value with a line break": {"user.nickname", "x\nlfs.extension.evil.clean=evil"},
			"a name with a sign":        {"lfs.extension.evil.clean=evil;.x", "y"},
		} {
			r := newRepository(t)
			if own {
				lfs(r)
			} else {
				lfs(r, "--global")
			}
			require.NoError(t, checked(r))
			r.git("config", set[0], set[1])
			assert.True(t, codes.Has(checked(r), codes.UntrustedGitConfig), "%s, own filters: %v", name, own)
		}
	}
	r := newRepository(t)
	r.git("config", "lfs.extension.evil.clean", "evil")
	assert.NoError(t, checked(r), "where no git-lfs is, nobody runs it")
}

func TestAProgramOfSomeBranchOrWorktreeIsRefused(t *testing.T) {
	t.Parallel()
	evil := func(r *repository, name string) { r.write(name, "[filter \"evil\"]\n\tclean = evil\n") }
	for name, set := range map[string]func(*repository){
		"a branch": func(r *repository) {
			evil(r, "x.cfg")
			r.git("config", "includeIf.onbranch:leslie/**.path", "../x.cfg")
		},
		"within another": func(r *repository) {
			evil(r, "x.cfg")
			r.write("y.cfg", "[includeIf \"onbranch:x\"]\n\tpath = x.cfg\n")
			r.git("config", "includeIf.gitdir:/none/.path", "../y.cfg")
		},
		"of somebody's": func(r *repository) { r.git("config", "includeIf.onbranch:x.path", "~nobody/x.cfg") },
		"the home folder's": func(r *repository) {
			evil(r, "x.cfg")
			r.sys.Environ = append(r.sys.Environ, "HOME="+r.dir)
			r.git("config", "includeIf.onbranch:x.path", "~/x.cfg")
		},
		"a worktree": func(r *repository) {
			r.git("worktree", "add", "-q", "../w")
			r.git("config", "extensions.worktreeConfig", "true")
			r.in(filepath.Join(r.dir, "..", "w"), "config", "--worktree", "filter.evil.smudge", "evil")
		},
	} {
		r := newRepository(t)
		require.NoError(t, checked(r))
		set(r)
		assert.True(t, codes.Has(checked(r), codes.UntrustedGitConfig), name)
	}
}

// TestNoProgramOfTheRepositoryLoadsForGitLFS: with the user's own git-lfs, programs that the
// repository names for a download do not run, and the user's own do.
func TestNoProgramOfTheRepositoryLoadsForGitLFS(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	ran, bin := filepath.Join(t.TempDir(), "ran"), t.TempDir()
	// It filters as git-lfs does, and asks for a password and for the way to a server.
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git-lfs"), []byte(`#!/bin/sh
printf 'protocol=https\nhost=example.org\n\n' | git credential fill >/dev/null 2>&1
command=$(git config core.sshCommand); [ -z "$command" ] || sh -c "$command"
cat
`), 0o755))
	r.sys.Environ = append(r.sys.Environ, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	r.git("config", "--global", "filter.lfs.smudge", "git-lfs smudge -- %f")
	r.git("config", "--global", "credential.helper", "!echo mine >>"+ran+"; true")
	r.write(".gitattributes", "*.bin filter=lfs\n")
	r.write("x.bin", "x\n")
	tip := r.commit("content")
	for key, value := range map[string]string{
		"credential.helper": "helper", "credential.https://example.org.helper": "other", "core.sshCommand": "ssh", "core.askPass": "askpass",
	} {
		r.git("config", key, "!echo "+value+" >>"+ran+"; true")
	}
	r.git("config", "core.sshCommand", "echo ssh >>"+ran)
	repo, err := git.Open(ctx, r.dir, r.sys)
	require.NoError(t, err)
	_, err = repo.Add(ctx, filepath.Join(filepath.Dir(r.dir), "w"), "b", git.Commit(tip))
	require.NoError(t, err)
	got, err := os.ReadFile(ran)
	require.NoError(t, err)
	assert.Equal(t, "mine\n", string(got))
	all, err := repo.Programs(ctx)
	require.NoError(t, err)
	assert.Len(t, all, 4)
	// Whoever saw them may have them run, as long as they are the same.
	repo, err = git.Open(ctx, r.dir, r.sys)
	require.NoError(t, err)
	repo.Seen = git.Fingerprint(all)
	_, err = repo.Add(ctx, filepath.Join(filepath.Dir(r.dir), "v"), "c", git.Commit(tip))
	require.NoError(t, err)
	got, err = os.ReadFile(ran)
	require.NoError(t, err)
	assert.Contains(t, string(got), "helper\n")
	assert.Contains(t, string(got), "ssh\n")
}

func TestSeenProgramsRunUntilTheyChange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	r.git("config", "filter.evil.clean", "one")
	all, err := r.repo.Programs(ctx)
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, filepath.Join(r.dir, ".git", "config"), all[0].File)
	open := func() error {
		repo, err := git.Open(ctx, r.dir, r.sys)
		require.NoError(t, err)
		repo.Seen = git.Fingerprint(all)
		return repo.CheckPrograms(ctx)
	}
	require.NoError(t, open())
	r.git("config", "user.nickname", "x")
	require.NoError(t, open())
	r.git("config", "filter.evil.clean", "two")
	assert.True(t, codes.Has(open(), codes.UntrustedGitConfig))
	r.git("config", "filter.evil.clean", "one")
	require.NoError(t, open())
	r.git("config", "merge.evil.driver", "three")
	assert.True(t, codes.Has(open(), codes.UntrustedGitConfig))
}

// A filter's name may have a sign that ends a key on git's command line.
func TestNoFilterWithAnOddNameRunsWhereOneOnlyLooks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRepository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	r.write(".gitattributes", "* filter=a=b\n")
	r.commit("attributes")
	r.git("config", "filter.a=b.clean", "sh -c 'echo x >>"+ran+"; cat'")
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "a.txt"), []byte("changed\n"), 0o644))
	_, err := r.repo.Worktree(r.dir, r.repo.Admin).Status(ctx)
	require.NoError(t, err)
	assert.NoFileExists(t, ran)
}
