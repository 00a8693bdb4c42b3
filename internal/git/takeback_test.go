package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/git"
)

func TestALandingIsTakenBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		after func(r *repository)
		how   string
		code  codes.Code
	}{
		"nobody else has it": {how: git.ByReset},
		"files that were written again": {after: func(r *repository) {
			require.NoError(r.t, os.Chtimes(filepath.Join(r.dir, "a.txt"), time.Unix(1, 0), time.Unix(1, 0)))
		}, how: git.ByReset},
		"beside local work": {after: func(r *repository) { r.write("mine.txt", "edited\n") }, how: git.ByReset},
		"under local work":  {after: func(r *repository) { r.write("a.txt", "edited\n") }, how: git.ByReset, code: codes.LandingBlocked},
		"beside what is staged": {after: func(r *repository) {
			r.write("mine.txt", "staged\n")
			r.write("new.txt", "staged\n")
			r.git("add", "mine.txt", "new.txt")
			r.write("mine.txt", "edited\n")
			require.NoError(r.t, os.Remove(filepath.Join(r.dir, "new.txt")))
		}, how: git.ByReset},
		"under what is staged": {after: func(r *repository) {
			r.write("a.txt", "staged\n")
			r.git("add", "a.txt")
		}, how: git.ByReset, code: codes.LandingBlocked},
		"its own branch has it": {after: func(r *repository) { r.git("branch", "-q", "own") }, how: git.ByReset},
		"somebody reverted it": {after: func(r *repository) {
			r.git("revert", "--no-edit", "-m1", "HEAD")
		}, how: git.AlreadyReverted},
		"another branch has it": {after: func(r *repository) { r.git("branch", "-q", "other") }, how: git.ByRevert},
		"it is published":       {after: func(r *repository) { r.git("update-ref", "refs/remotes/origin/main", "main") }, how: git.ByRevert},
		"under a later commit": {after: func(r *repository) {
			r.write("later.txt", "x\n")
			r.commit("later")
		}, how: git.ByRevert},
		"under one that changed the same": {after: func(r *repository) {
			r.write("a.txt", "else\n")
			r.commit("later")
		}, how: git.ByRevert, code: codes.LandingBlocked},
		"it is gone": {after: func(r *repository) { r.git("reset", "-q", "--hard", "HEAD~1") }, how: git.NothingToRevert},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, l := landing(t)
			r.git("branch", "-q", "-D", "work")
			require.NoError(t, r.repo.Land(ctx, l))
			l.Own = []string{"own"}
			if c.after != nil {
				c.after(r)
			}
			before, files := r.tip("main"), r.files()
			how, err := r.repo.RevertLanding(ctx, l, "Revert it", "bot")
			assert.Equal(t, c.how, how)
			if c.code != "" {
				require.True(t, codes.Has(err, c.code), "%v", err)
				assert.Equal(t, before, r.tip("main"))
				assert.Equal(t, files, r.files())
				return
			}
			require.NoError(t, err)
			assert.FileExists(t, filepath.Join(r.dir, "dir", "gone"))
			raw, err := os.ReadFile(filepath.Join(r.dir, "a.txt"))
			require.NoError(t, err)
			assert.Equal(t, "one\n", string(raw))
			switch name {
			case "beside local work":
				assert.Equal(t, " M mine.txt", r.untrimmed(r.dir, "status", "--porcelain"))
			case "beside what is staged":
				assert.Equal(t, "MM mine.txt\nAD new.txt", r.untrimmed(r.dir, "status", "--porcelain"))
				assert.Equal(t, "staged", r.git("show", ":mine.txt"))
				assert.Equal(t, "staged", r.git("show", ":new.txt"))
			default:
				assert.Empty(t, r.untrimmed(r.dir, "status", "--porcelain"))
			}
			if how == git.ByRevert {
				at := r.tip("main")
				again, err := r.repo.RevertLanding(ctx, l, "Revert it", "bot")
				require.NoError(t, err)
				assert.Equal(t, git.AlreadyReverted, again)
				assert.Equal(t, at, r.tip("main"), "it is reverted once")
			} else if how != git.AlreadyReverted {
				assert.Equal(t, l.Old, r.tip("main"))
			}
		})
	}
}

func TestALandingThatWasTakenBackLandsAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		before func(r *repository, l git.Landing)
		err    func(error) bool
	}{
		"nothing came since": {},
		"it is there":        {before: func(r *repository, l git.Landing) { r.git("merge", "-q", "--ff-only", string(l.New)) }},
		"checked out nowhere": {before: func(r *repository, _ git.Landing) {
			r.git("checkout", "-q", "--detach")
		}},
		"a git that did so was killed": {before: func(r *repository, l git.Landing) {
			r.write("a.txt", "two\n") // half of it
			require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, ".git", "leslie-undo"), []byte(string(l.Old)+" "+string(l.New)), 0o644))
		}},
		"under local work": {
			before: func(r *repository, _ git.Landing) { r.write("a.txt", "edited\n") },
			err:    func(err error) bool { return codes.Has(err, codes.LandingBlocked) },
		},
		"the branch went on": {
			before: func(r *repository, _ git.Landing) { r.git("commit", "-q", "--allow-empty", "-m", "later") },
			err:    func(err error) bool { return errors.Is(err, git.ErrMoved) },
		},
		"git has the commit no longer": {
			before: func(r *repository, _ git.Landing) {
				r.git("reflog", "expire", "--expire=all", "--all")
				r.git("gc", "-q", "--prune=now")
			},
			err: func(err error) bool { return errors.Is(err, git.ErrMoved) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, l := landing(t)
			r.git("branch", "-q", "-D", "work")
			require.NoError(t, r.repo.Land(ctx, l))
			_, err := r.repo.RevertLanding(ctx, l, "Revert it", "bot")
			require.NoError(t, err)
			if c.before != nil {
				c.before(r, l)
			}
			was, files := r.tip("main"), r.files()
			err = r.repo.Reland(ctx, l)
			if c.err != nil {
				require.True(t, c.err(err), "%v", err)
				assert.Equal(t, was, r.tip("main"))
				assert.Equal(t, files, r.files())
				return
			}
			require.NoError(t, err)
			assert.Equal(t, l.New, r.tip("main"))
			assert.NoFileExists(t, filepath.Join(r.dir, ".git", "leslie-undo"))
			if name != "checked out nowhere" {
				assert.Empty(t, r.untrimmed(r.dir, "status", "--porcelain"))
			}
		})
	}
}
