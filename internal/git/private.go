package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
)

// This file keeps worktrees of leslie's own, in which commits are checked out one after the
// other: what git ignores stays from one to the next, so that builds are fast. git has
// such a worktree locked, with a reason that says whose it is.

// PrivateWorktree is a worktree that leslie keeps for itself.
type PrivateWorktree struct {
	Dir string // absolute
	// Owner is the reason for which git has the worktree locked, one line. Folders with
	// another one belong to somebody else.
	Owner string
}

// CheckOut checks a commit out in a private worktree, detached, and makes that where it is not
// there or damaged. Whatever somebody did there is undone, but files that git ignores stay.
// The caller sees to it that nobody else uses the worktree. Errors: T803 if the folder is
// somebody else's, T805 if the git of a killed process goes on there, T808, T505.
func (r *Repo) CheckOut(ctx context.Context, p PrivateWorktree, commit Commit) error {
	if err := r.CheckPrograms(ctx); err != nil {
		return err
	}
	lock, err := occupy(ctx, p.Dir)
	if err != nil {
		return err
	}
	admin, known := r.admins()[p.Dir]
	if known && lockedFor(admin) != p.Owner {
		release(lock)
		return folderTaken(p.Dir, "git knows a worktree there that leslie did not make for this")
	}
	ready := known && r.again(ctx, Worktree{r, p.Dir, admin}, commit, lock)
	release(lock)
	switch {
	case ready:
		return nil
	case ctx.Err() != nil:
		return codes.Interrupted.Wrap(context.Cause(ctx))
	case known:
		if err := removeBoth(p.Dir, admin); err != nil {
			return err
		}
	}
	info, err := os.Lstat(p.Dir)
	if err == nil && info.IsDir() && os.Remove(p.Dir) == nil { // git makes it before it tells where
		err = fs.ErrNotExist
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return folderTaken(p.Dir, "it exists, and leslie did not make it").WithHint("Move it away; leslie makes it again")
	}
	_, err = r.add(ctx, p.Dir, "--detach", "--lock", "--reason", p.Owner, "--", p.Dir, string(commit))
	return err
}

// again checks a commit out in a private worktree that is there, and reports whether it could.
func (r *Repo) again(ctx context.Context, w Worktree, commit Commit, lock *os.File) bool {
	if info, err := os.Lstat(w.Dir); err != nil || !info.IsDir() || w.points() != w.Admin {
		return false
	}
	for _, name := range []string{"index.lock", "HEAD.lock"} { // nobody works there, so a kill left them
		_ = os.Remove(filepath.Join(w.Admin, name))
	}
	for _, args := range [][]string{
		{"checkout", "--quiet", "--force", "--detach", string(commit)},
		{"clean", "-ffdq"},
	} {
		if _, err := w.run(ctx, command{files: inherited(lock), args: args}); err != nil {
			return false
		}
	}
	return true
}

// points returns the folder in the repository that the worktree's .git file names, "" if it
// names none.
func (w Worktree) points() string {
	text, err := os.ReadFile(filepath.Join(w.Dir, ".git"))
	admin, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	switch {
	case err != nil || !ok:
		return ""
	case !filepath.IsAbs(filepath.FromSlash(admin)):
		return filepath.Join(w.Dir, filepath.FromSlash(admin))
	}
	return filepath.FromSlash(admin)
}

// lockedFor is the reason for which git has a worktree locked, "" if it has not.
func lockedFor(admin string) string {
	text, _ := os.ReadFile(filepath.Join(admin, "locked"))
	return strings.TrimSpace(string(text))
}

// InPrivate returns a private worktree that is checked out.
func (r *Repo) InPrivate(p PrivateWorktree) Worktree { return Worktree{r, p.Dir, r.admins()[p.Dir]} }

// PrivateWorktrees returns the private worktrees of an owner, by folder.
func (r *Repo) PrivateWorktrees(owner string) []PrivateWorktree {
	var all []PrivateWorktree
	for dir, admin := range r.admins() {
		if lockedFor(admin) == owner {
			all = append(all, PrivateWorktree{dir, owner})
		}
	}
	slices.SortFunc(all, func(a, b PrivateWorktree) int { return strings.Compare(a.Dir, b.Dir) })
	return all
}

// RemovePrivate removes a private worktree with all that is in it. Errors: T803 if it is somebody else's,
// T505.
func (r *Repo) RemovePrivate(p PrivateWorktree) error {
	admin, known := r.admins()[p.Dir]
	if !known || lockedFor(admin) != p.Owner {
		return folderTaken(p.Dir, "leslie did not make it for this")
	}
	return removeBoth(p.Dir, admin)
}

// WithoutRepository returns an environment without the variables that say which repository
// git works in, for a program that works in a worktree of its own.
func WithoutRepository(environ []string) []string {
	var out []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
			"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE",
			"GIT_REPLACE_REF_BASE", "GIT_NO_REPLACE_OBJECTS", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT":
		default:
			out = append(out, entry)
		}
	}
	return out
}
