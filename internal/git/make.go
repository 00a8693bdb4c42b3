package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file makes a worktree so that it can be taken back, and finished after the process
// that made it was killed.

// WorktreeSpec is a worktree that is to be made on a new branch.
type WorktreeSpec struct {
	Dir    string // absolute; it must not exist
	Branch string
	Start  Commit
	// Existing: the branch is there, and is never deleted; Start says nothing.
	Existing bool
}

// Check returns T803 if the branch or the folder cannot be new, and T808.
func (r *Repo) Check(ctx context.Context, m WorktreeSpec) error {
	if m.Existing {
		return r.checkFolder(ctx, m.Dir)
	}
	valid, err := r.ValidBranch(ctx, m.Branch)
	if err != nil {
		return err
	}
	if !valid || m.Branch == "HEAD" {
		return taken(m.Branch, "git does not accept the name")
	}
	// A branch is a file below the folders of its name: "a" and "a/b" exclude each other.
	names := []string{"refs/heads/" + m.Branch}
	for name := m.Branch; strings.Contains(name, "/"); names = append(names, "refs/heads/"+name) {
		name = name[:strings.LastIndexByte(name, '/')]
	}
	out, err := r.at(ctx, command{args: append([]string{"for-each-ref", "--format=%(refname)", "--"}, names...)})
	if err != nil {
		return broken(err)
	}
	for _, ref := range strings.Fields(string(out)) {
		switch {
		case ref == names[0]:
			return taken(m.Branch, "it exists").WithHint("Choose another with --branch. A thread without code is given a worktree that is there by leslie update ID --worktree DIR")
		case strings.HasPrefix(ref, names[0]+"/"), slices.Contains(names[1:], ref):
			return taken(m.Branch, "the branch '"+strings.TrimPrefix(ref, "refs/heads/")+"' exists, and git keeps no two branches of which one is a folder of the other")
		}
	}
	return r.checkFolder(ctx, m.Dir)
}

// checkFolder returns T803 if a worktree's folder cannot be new, and T808.
func (r *Repo) checkFolder(ctx context.Context, dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return folderTaken(dir, "it exists")
	}
	if _, known := r.admins()[dir]; known {
		return folderTaken(dir, "git knows a worktree there that is missing")
	}
	return r.CheckPrograms(ctx)
}

func taken(branch, reason string) *codes.Error {
	return codes.BranchTaken.New(fact.Of("what", "The branch '"+branch+"'"), fact.Of("reason", reason), fact.Of("branch", branch))
}

func folderTaken(dir, reason string) *codes.Error {
	return codes.BranchTaken.New(fact.Of("what", "The folder "+dir), fact.Of("reason", reason), fact.Of("path", dir))
}

// occupy locks the folder of a worktree while git makes it, which inherits the lock: a git
// that outlives a killed process would write into what the next one makes, and remove it.
// The lock is nil where there is no folder, or none that can be locked. Errors: T805 if a
// git is at it for too long, T904.
func occupy(ctx context.Context, dir string) (*os.File, error) {
	return awaitLock(ctx, func() (*os.File, error) {
		for {
			lock, err := holdFolder(dir)
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, codes.WorktreeBusy.Wrap(err, fact.Of("path", dir), fact.Of("what", "the making of a worktree")).
					WithHint("Wait until git has ended, then repeat the call")
			}
			if err != nil || lock == nil {
				return nil, nil
			}
			mine, err := lock.Stat()
			if now, nowErr := os.Stat(dir); err != nil || nowErr == nil && os.SameFile(mine, now) {
				return lock, nil
			}
			release(lock) // somebody has made another folder there
		}
	})
}

// quiet waits until no git makes a worktree in a folder, and removes the lock file of its
// branch, which a killed one may have left: nobody else makes the branch. Errors: those of
// occupy, T505.
func (r *Repo) quiet(ctx context.Context, m WorktreeSpec) error {
	lock, err := occupy(ctx, m.Dir)
	if err != nil {
		return err
	}
	defer release(lock)
	if m.Existing { // others use it, too
		return nil
	}
	left := filepath.Join(r.Admin, "refs", "heads", filepath.FromSlash(m.Branch)+".lock")
	if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return writeFailed(left, err)
	}
	return nil
}

// Make makes a worktree, or finishes what an earlier Make of the same left. Errors: T803
// if somebody else has made the branch or the folder since, T805 if an earlier git goes on,
// T808.
func (r *Repo) Make(ctx context.Context, m WorktreeSpec) (Worktree, error) {
	if err := r.quiet(ctx, m); err != nil {
		return Worktree{}, err
	}
	if admin, known := r.admins()[m.Dir]; known {
		if !initializing(admin) {
			return Worktree{r, m.Dir, admin}, nil
		}
		if err := removeBoth(m.Dir, admin); err != nil {
			return Worktree{}, err
		}
	}
	tip, err := r.Branch(ctx, m.Branch)
	switch {
	case err != nil:
		return Worktree{}, err
	case m.Existing && tip == "":
		return Worktree{}, taken(m.Branch, "somebody has deleted it in the meantime")
	case tip == "":
		return r.Add(ctx, m.Dir, m.Branch, m.Start)
	case m.Existing, tip == m.Start:
		return r.AddExisting(ctx, m.Dir, m.Branch)
	}
	return Worktree{}, taken(m.Branch, "somebody else has made it in the meantime")
}

// Unmake takes back what a Make has left, and the branch while it has no commit of its
// own. A finished worktree goes only if the caller has made it and told nobody of it.
// Error: T805 for another one that is finished, or if an earlier git goes on.
func (r *Repo) Unmake(ctx context.Context, m WorktreeSpec, finished bool) error {
	if err := r.quiet(ctx, m); err != nil {
		return err
	}
	if admin, known := r.admins()[m.Dir]; known {
		if !finished && !initializing(admin) {
			return codes.WorktreeBusy.New(fact.Of("what", "Work"), fact.Of("path", m.Dir))
		}
		if err := removeBoth(m.Dir, admin); err != nil {
			return err
		}
	}
	_ = os.Remove(m.Dir) // git makes it before it tells where
	tip, err := r.Branch(ctx, m.Branch)
	if err != nil || m.Existing || tip != m.Start {
		return err
	}
	return r.UpdateRef(ctx, "refs/heads/"+m.Branch, "", m.Start, "leslie: take back")
}

// initializing reports whether git was ended while it made a worktree: git locks it
// until all files are there.
func initializing(admin string) bool { return lockedFor(admin) == "initializing" }

// removeBoth removes the files of a worktree, then what git knows of it.
func removeBoth(dir, admin string) error {
	if err := removeAll(dir); err != nil {
		return err
	}
	return removeAll(admin)
}

// removeAll removes a folder with all that is in it, also from folders that were made
// read-only, as caches of modules are. Error: T505, with the path that stays.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if errors.Is(err, fs.ErrPermission) {
		_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, _ error) error {
			if e == nil || !e.IsDir() {
				return nil
			}
			if info, err := e.Info(); err == nil && info.Mode().Perm()&0o700 != 0o700 {
				_ = os.Chmod(name, info.Mode().Perm()|0o700) // what does not help shows below
			}
			return nil
		})
		err = os.RemoveAll(dir)
	}
	if err == nil {
		return nil
	}
	path := dir
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		path = e.Path
	}
	return writeFailed(path, err)
}

// Ref returns the full name of the ref that a revision names, "" if it names a commit in
// another way or nothing. For HEAD that is its branch.
func (r *Repo) Ref(ctx context.Context, revision string) (string, error) {
	out, err := r.at(ctx, command{args: []string{"rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options", revision}})
	if err != nil && !exited(err, 1) && !exited(err, 128) {
		return "", broken(err)
	}
	ref := strings.TrimSpace(string(out))
	if !strings.HasPrefix(ref, "refs/") {
		return "", nil
	}
	return ref, nil
}

// Upstream returns the ref that a branch follows, "" for none.
func (r *Repo) Upstream(ctx context.Context, ref string) (string, error) {
	out, err := r.at(ctx, command{args: []string{"for-each-ref", "--format=%(upstream)", "--", ref}})
	return strings.TrimSpace(string(out)), broken(err)
}

// Tracked returns those of some paths (with "/", from the top) that a commit has.
func (r *Repo) Tracked(ctx context.Context, in Commit, paths ...string) ([]string, error) {
	out, err := r.at(ctx, command{args: append([]string{"ls-tree", "-z", "--name-only", "--full-tree", string(in), "--"}, paths...)})
	if err != nil {
		return nil, broken(err)
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 }), nil
}
