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
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file removes lock files that a killed git has left. git itself never does: no branch
// of the repository can be deleted, or none of a worktree changed, until somebody removes
// them by hand.
//
// A git that may leave some inherits a lock of leslie's, whose file names them while it
// runs. Whoever gets the lock and finds names in it knows that this git was killed.

// refsLock is the file that a change of refs locks, in the repository.
const refsLock = "leslie-refs.lock"

// foreignPause is how long a lock file stays the same that another program may have made
// since; git holds those for milliseconds.
const foreignPause = 300 * time.Millisecond

// holdRefs holds the lock of changes of refs, once no other process has it, and removes
// what a killed one left. Errors: T805 if that takes too long, T904, T505.
func (r *Repo) holdRefs(ctx context.Context) (*os.File, error) {
	return awaitLock(ctx, func() (*os.File, error) { return r.holdNamed(refsLock, "another change of branches") })
}

// AwaitQuiet waits until no git of leslie's changes refs: one may outlive the leslie that
// started it. Errors: those of UpdateRef's waiting: T805, T904, T505.
func (r *Repo) AwaitQuiet(ctx context.Context) error {
	lock, err := r.holdRefs(ctx)
	if err == nil {
		release(lock)
	}
	return err
}

// holdNamed holds the lock of a file in the repository, and removes what the git left that
// had it last if that was killed. Errors: T805 if another process has it, T505.
func (r *Repo) holdNamed(name, what string) (*os.File, error) {
	path := filepath.Join(r.Admin, name)
	lock, err := hold(path)
	switch {
	case err == nil:
		if err := dropLeft(lock); err != nil {
			release(lock)
			return nil, err
		}
		return lock, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, codes.WorktreeBusy.Wrap(err, fact.Of("path", r.Admin), fact.Of("what", what)).
			WithHint("Wait until it has ended, then repeat the call")
	}
	return nil, writeFailed(path, err)
}

// writeFailed is T505 for an error about a path, nil for none.
func writeFailed(path string, err error) error {
	if err == nil {
		return nil
	}
	return codes.WriteFailed.OfPath(path, err)
}

// leaving runs a git that may leave lock files, with the lock of leslie's that it inherits.
func leaving(ctx context.Context, run func(context.Context, command) ([]byte, error), c command, lock *os.File, left []string) ([]byte, error) {
	if _, err := lock.WriteAt([]byte(strings.Join(left, "\n")), 0); err != nil {
		return nil, writeFailed(lock.Name(), err)
	}
	c.files = inherited(lock)
	out, err := run(ctx, c)
	end := forget
	if ctx.Err() != nil || killed(err) {
		end = dropLeft
	}
	if left := end(lock); err == nil {
		err = left
	}
	return out, err
}

// forget says that no git with the lock runs, and that none was killed.
func forget(lock *os.File) error {
	if err := lock.Truncate(0); err != nil {
		return writeFailed(lock.Name(), err)
	}
	return nil
}

// dropLeft removes the lock files that the killed git left to which a lock belonged.
func dropLeft(lock *os.File) error {
	text, err := os.ReadFile(lock.Name())
	if err != nil || len(text) == 0 {
		return err
	}
	var left []fs.FileInfo
	names := strings.Split(string(text), "\n")
	for _, name := range names {
		left = append(left, lockThere(name))
	}
	waited := false
	for i, name := range names {
		if left[i] == nil {
			continue
		}
		if !waited {
			time.Sleep(foreignPause)
			waited = true
		}
		if now, err := os.Lstat(name); err != nil || !os.SameFile(left[i], now) {
			continue // it was somebody else's
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return writeFailed(name, err)
		}
	}
	return forget(lock)
}

// lockThere looks at a lock file; nil if it is not there, or can be none.
func lockThere(name string) fs.FileInfo {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || !filepath.IsAbs(name) || !strings.HasSuffix(name, ".lock") {
		return nil
	}
	return info
}

// LeftLocks returns the lock files that killed gits left; those of a git that goes on are
// none. It changes nothing.
func (r *Repo) LeftLocks() (left []string) {
	for _, name := range []string{refsLock, landingLock} {
		text, err := os.ReadFile(filepath.Join(r.Admin, name))
		if err != nil || len(text) == 0 {
			continue
		}
		lock, err := hold(filepath.Join(r.Admin, name))
		if err != nil {
			continue // it goes on
		}
		for _, path := range strings.Split(string(text), "\n") {
			if lockThere(path) != nil && !slices.Contains(left, path) {
				left = append(left, path)
			}
		}
		release(lock)
	}
	return left
}

// DropLocks removes the lock files that killed gits left. Errors: T805 if a git goes on,
// T505.
func (r *Repo) DropLocks() error {
	for name, what := range map[string]string{refsLock: "another change of branches", landingLock: "another landing"} {
		lock, err := r.holdNamed(name, what)
		if err != nil {
			return err
		}
		release(lock)
	}
	return nil
}

// refLocks are the lock files of a change of a ref in the worktree with the admin folder.
func (r *Repo) refLocks(admin, ref string) []string {
	return []string{
		filepath.Join(r.Admin, filepath.FromSlash(ref)+".lock"), filepath.Join(r.Admin, "packed-refs.lock"), filepath.Join(r.Admin, "HEAD.lock"), filepath.Join(admin, "HEAD.lock"),
	}
}

// landingLocks are the lock files of a landing.
func (w Worktree) landingLocks(branch string) []string {
	return append(w.repo.refLocks(w.Admin, "refs/heads/"+branch), filepath.Join(w.Admin, "index.lock"), filepath.Join(w.Admin, "ORIG_HEAD.lock"))
}
