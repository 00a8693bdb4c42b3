package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file moves a branch forward to a commit, with the files of the worktree that has
// it checked out, and finishes or takes back what a killed git left half done.
//
// git writes the files first, then the index, then the branch. Moving the branch alone,
// under a worktree that has it checked out, would stage the reversal of the commit there.

// Landing is a branch that is to move from one commit to another that continues it.
type Landing struct {
	Branch   string
	Old, New Commit
	// Onto is a commit between the two, "" for Old: what leads to it is not taken back once
	// the branch has gone on.
	Onto Commit
	// Own are the branches of the code that landed: that they have the commit does not keep the branch from
	// moving back.
	Own []string
}

// base is the commit from which what the landing brought is told.
func (l Landing) base() Commit { return cmp.Or(l.Onto, l.Old) }

// landingLock is the file that a landing locks, in the repository.
const landingLock = "leslie-landing.lock"

// Land moves the branch. Local changes and untracked or ignored files stay as they are:
// where the landing would have to write them it changes nothing (T806 with the paths).
// It waits for another landing. Errors: ErrMoved if the branch is elsewhere; T805 if
// something is in progress in its worktree; T806; T808.
func (r *Repo) Land(ctx context.Context, l Landing) error {
	lock, err := r.awaitLanding(ctx)
	if err != nil {
		return err
	}
	defer release(lock)
	return r.land(ctx, l, lock)
}

// MoveTo moves a branch to a commit that does not go on from where it is, with the files of the worktree that has it
// checked out: of that, nothing may be uncommitted. Errors: ErrMoved, T805, T806, T808.
func (r *Repo) MoveTo(ctx context.Context, l Landing) error {
	lock, err := r.awaitLanding(ctx)
	if err != nil {
		return err
	}
	defer release(lock)
	at, err := r.checkedOut(ctx, l)
	if err != nil {
		return err
	}
	if at != nil {
		status, err := at.Status(ctx)
		if err != nil {
			return err
		}
		if paths := slices.Concat(status.Dirty, status.Untracked); len(paths) > 0 {
			return l.blocked(at.Dir, "files are not committed", paths...)
		}
	}
	return r.moveTo(ctx, l, "leslie: made anew elsewhere", lock)
}

func (r *Repo) land(ctx context.Context, l Landing, lock *os.File) error {
	at, err := r.checkedOut(ctx, l)
	if err != nil {
		return err
	}
	if at == nil {
		return r.UpdateRef(ctx, "refs/heads/"+l.Branch, l.New, l.Old, "leslie: merge")
	}
	if err := at.CheckIdle(); err != nil {
		return err
	}
	return at.forward(ctx, l, lock)
}

// How long a call waits for a lock that another process has, and how often it looks.
const (
	lockPatience = 30 * time.Second
	lockPace     = 10 * time.Millisecond
)

// awaitLanding holds the lock of landings, once no other process has it. A git that moves a
// branch which is checked out nowhere has ended, too. Errors: T805 if that takes too long,
// T904, T505.
func (r *Repo) awaitLanding(ctx context.Context) (*os.File, error) {
	lock, err := awaitLock(ctx, r.holdLanding)
	if err != nil {
		return nil, err
	}
	if err := r.AwaitQuiet(ctx); err != nil {
		release(lock)
		return nil, err
	}
	return lock, nil
}

// awaitLock takes a lock once no other process has it. Errors: T904, those of take; T805,
// with which take says that another process has it, only if that takes too long.
func awaitLock(ctx context.Context, take func() (*os.File, error)) (lock *os.File, err error) {
	patience, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		if lock, err = take(); !codes.Has(err, codes.WorktreeBusy) {
			return lock, err
		}
		select {
		case <-patience.Done():
			if ctx.Err() != nil {
				err = codes.Interrupted.Wrap(context.Cause(ctx))
			}
			return nil, err
		case <-time.After(lockPace):
		}
	}
}

// holdLanding holds the lock of landings, and removes what a killed one left. Errors: T805 if another process has it, T505.
func (r *Repo) holdLanding() (*os.File, error) {
	return r.holdNamed(landingLock, "another landing")
}

// checkedOut returns the worktree that has the branch checked out, nil if none has.
// Errors: ErrMoved; T806 if it is being rebased, or its worktree's folder is away.
func (r *Repo) checkedOut(ctx context.Context, l Landing) (*Worktree, error) {
	all, err := r.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	admins := []string{r.Admin}
	for _, w := range all {
		admins = append(admins, w.Admin)
	}
	for _, admin := range admins {
		for _, kind := range []string{"rebase-merge", "rebase-apply"} {
			name, _ := os.ReadFile(filepath.Join(admin, kind, "head-name"))
			if strings.TrimSpace(string(name)) == "refs/heads/"+l.Branch {
				return nil, l.blocked(admin, "a rebase of the branch is in progress").WithHint("Finish it there with git rebase --continue, or give it up with git rebase --abort")
			}
		}
	}
	for _, w := range all {
		switch {
		case w.Branch != l.Branch:
		case w.Missing:
			return nil, l.blocked(w.Dir, "its worktree "+w.Dir+" is not there")
		case w.Head != l.Old:
			return nil, ErrMoved
		default:
			return &w.Worktree, nil
		}
	}
	return nil, nil
}

// blocked is T806.
func (l Landing) blocked(path, reason string, paths ...string) *codes.Error {
	err := codes.LandingBlocked.New(fact.Of("branch", l.Branch), fact.Of("reason", reason), fact.Of("path", path))
	if len(paths) > 0 {
		return err.With(fact.Of("paths", paths))
	}
	return err
}

// forward moves the branch, the index and the files of its worktree. git inherits the
// lock, so that the landing lasts as long as either process.
func (w Worktree) forward(ctx context.Context, l Landing, lock *os.File) error {
	if err := w.repo.CheckPrograms(ctx); err != nil {
		return err
	}
	_, err := leaving(ctx, w.run, command{args: []string{
		"merge", "--ff-only", "--no-overwrite-ignore", "--no-squash", "--no-autostash", "--no-verify-signatures", "--no-stat", "--no-progress", "-q", string(l.New),
	}}, lock, w.landingLocks(l.Branch))
	if err == nil {
		return nil
	}
	if tip, lookErr := w.repo.Branch(ctx, l.Branch); lookErr == nil && tip != l.Old {
		if tip == l.New {
			return nil
		}
		return ErrMoved
	}
	if killed(err) { // nothing half written stays
		if landed, repairErr := w.repair(ctx, l, lock); repairErr != nil || landed {
			return repairErr
		}
	}
	if paths, reason := inTheWay(stderrOf(err)); len(paths) > 0 {
		return l.blocked(w.Dir, reason, paths...)
	}
	return broken(err)
}

// CanLand returns what would prevent that a branch which the worktree has checked out moves to a tree, as Land
// would: T805, T806, T808.
func (w Worktree) CanLand(ctx context.Context, l Landing, tree string) error {
	if err := w.CheckIdle(); err != nil {
		return err
	}
	if err := w.repo.CheckPrograms(ctx); err != nil {
		return err
	}
	refused, err := w.refusesTree(ctx, l.Old, tree)
	if err != nil || refused == "" {
		return err
	}
	changed, err := w.repo.Changes(ctx, string(l.Old), tree)
	if err != nil {
		return err
	}
	status, err := w.Status(ctx)
	if err != nil {
		return err
	}
	var local, others []string
	for _, c := range changed {
		_, is := w.content(c.Path)
		switch {
		case slices.Contains(status.Dirty, c.Path):
			local = append(local, c.Path)
		case !c.Old.There() && is == nil:
			others = append(others, c.Path)
		}
	}
	switch {
	case len(local) > 0:
		return l.blocked(w.Dir, "files with local changes are in the way", local...)
	case len(others) > 0:
		return l.blocked(w.Dir, "files that git does not track are in the way", others...)
	}
	return l.blocked(w.Dir, "files that git does not track are in the way", notUptodate(refused)...)
}

// refusesTree returns what git says that would not move the worktree from a commit to a tree, "" if it would. It
// changes nothing.
func (w Worktree) refusesTree(ctx context.Context, from Commit, tree string) (stderr string, err error) {
	index, err := w.copyIndex(ctx)
	if err != nil {
		return "", err
	}
	defer index.close()
	for _, args := range moving(from, tree, "-n") {
		_, err = index.run(ctx, command{args: args})
		if killed(err) || ctx.Err() != nil {
			return "", broken(err)
		}
	}
	if err == nil {
		return "", nil
	}
	if stderr = stderrOf(err); len(notUptodate(stderr)) == 0 {
		return "", broken(err)
	}
	return stderr, nil
}

// moving are git's commands that move a worktree and its index from a commit to a tree; flags are of the last.
func moving(from Commit, tree string, flags ...string) [][]string {
	return [][]string{
		{"update-index", "-q", "--refresh"}, // read-tree takes a file for changed whose times are not those of the index
		slices.Concat([]string{"read-tree"}, flags, []string{"-m", "-u", string(from), tree}),
	}
}

// inTheWay reads from git's message which files a merge would overwrite.
func inTheWay(stderr string) (paths []string, reason string) {
	for _, line := range strings.Split(stderr, "\n") {
		switch path, listed := strings.CutPrefix(line, "\t"); {
		case listed:
			paths = append(paths, strings.TrimSpace(path))
		case strings.Contains(line, "local changes"):
			reason = "files with local changes are in the way"
		case strings.Contains(line, "untracked working tree files"):
			reason = "files that git does not track are in the way"
		case strings.Contains(line, "lose untracked files"):
			reason = "folders with files that git does not track are in the way"
		}
	}
	if reason == "" {
		return nil, ""
	}
	return paths, reason
}

// RepairLanding finishes or takes back a landing that was interrupted, and reports whether the
// branch has the commit now. It changes only what git wrote: a file that is what the
// landing found, what it was writing, or a beginning of that. It waits for a landing that
// goes on. Errors: T805 if that, or something else, is in progress.
func (r *Repo) RepairLanding(ctx context.Context, l Landing) (landed bool, err error) {
	lock, err := r.awaitLanding(ctx)
	if err != nil {
		return false, err
	}
	defer release(lock)
	if has, err := r.HasLanded(ctx, l); err != nil || has {
		return has, err
	}
	if tip, err := r.Branch(ctx, l.Branch); err != nil || tip != l.Old {
		return false, err // somebody went on without it
	}
	at, err := r.checkedOut(ctx, l)
	if err != nil || at == nil {
		return false, err
	}
	return at.repair(ctx, l, lock)
}

// InspectLanding says what an interrupted landing left: landed, the branch has the commit; half,
// files of its worktree, or its index, have something of it. A landing that goes on has
// left nothing. It changes nothing.
func (r *Repo) InspectLanding(ctx context.Context, l Landing) (landed, half bool, err error) {
	for _, name := range []string{landingLock, refsLock} {
		lock, err := hold(filepath.Join(r.Admin, name))
		if err != nil {
			return false, false, nil
		}
		defer release(lock)
	}
	if landed, err = r.HasLanded(ctx, l); err != nil || landed {
		return landed, false, err
	}
	tip, err := r.Branch(ctx, l.Branch)
	if err != nil || tip != l.Old {
		return false, false, err
	}
	at, err := r.checkedOut(ctx, l)
	if err != nil || at == nil {
		return false, false, nil // rebased, or its disk is away: nothing can be repaired now
	}
	changed, err := r.Changes(ctx, string(l.Old), string(l.New))
	if err != nil {
		return false, false, err
	}
	if half, err = at.indexHas(ctx, l.New, changed); err != nil || half {
		return false, half, err
	}
	_, _, half, err = at.wrote(ctx, changed)
	return false, half, err
}

// HasLanded reports whether the branch has the commit.
func (r *Repo) HasLanded(ctx context.Context, l Landing) (bool, error) {
	tip, err := r.Branch(ctx, l.Branch)
	if err != nil || tip == "" {
		return false, err
	}
	return r.Contains(ctx, tip, l.New)
}

func (w Worktree) repair(ctx context.Context, l Landing, lock *os.File) (landed bool, err error) {
	if err := w.CheckIdle(); err != nil {
		return false, err
	}
	changed, err := w.repo.Changes(ctx, string(l.Old), string(l.New))
	if err != nil {
		return false, err
	}
	staged, err := w.indexHas(ctx, l.New, changed)
	if err != nil {
		return false, err
	}
	if staged { // files and index are done
		return true, w.repo.UpdateRef(ctx, "refs/heads/"+l.Branch, l.New, l.Old, "leslie: merge")
	}
	return false, w.putBack(ctx, changed, lock)
}

// TreeChange is a path that differs between two trees.
type TreeChange struct {
	Path     string
	Old, New Blob
}

// Changes lists the paths in which two trees, or commits, differ.
func (r *Repo) Changes(ctx context.Context, old, latest string) ([]TreeChange, error) {
	out, err := r.at(ctx, command{args: []string{"diff-tree", "-r", "-z", "--no-renames", old, latest}})
	if err != nil {
		return nil, broken(err)
	}
	var all []TreeChange
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		head := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(head) != 5 {
			return nil, unavailable(nil, "git diff-tree: unexpected answer")
		}
		c := TreeChange{Path: fields[i+1], Old: Blob{head[0], head[2]}, New: Blob{head[1], head[3]}}
		for _, b := range []*Blob{&c.Old, &c.New} {
			if strings.Trim(b.Object, "0") == "" {
				*b = Blob{}
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// Touched returns which paths the commits between an ancestor and a commit have changed,
// also those that were changed back.
func (r *Repo) Touched(ctx context.Context, ancestor, latest Commit, paths []string) (map[string]bool, error) {
	touched := map[string]bool{}
	if ancestor == latest || len(paths) == 0 {
		return touched, nil
	}
	out, err := r.at(ctx, command{args: append([]string{
		"log", "-z", "-m", "--format=", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=none", string(ancestor) + ".." + string(latest), "--",
	}, paths...)})
	if err != nil {
		return nil, broken(err)
	}
	for _, path := range splitNames(out) {
		touched[strings.TrimPrefix(path, "\n")] = true
	}
	return touched, nil
}

// indexHas reports whether the index has what a commit has in these paths.
func (w Worktree) indexHas(ctx context.Context, commit Commit, changed []TreeChange) (bool, error) {
	out, err := w.run(ctx, command{args: []string{"diff-index", "--cached", "-z", "--name-only", "--no-renames", string(commit)}})
	if err != nil {
		return false, broken(err)
	}
	differs := map[string]bool{}
	for _, path := range strings.Split(string(out), "\x00") {
		differs[path] = true
	}
	for _, c := range changed {
		if differs[c.Path] {
			return false, nil
		}
	}
	return true, nil
}

// wrote finds the paths that an interrupted landing wrote: back has those that were there
// before, extra those that were not. sure: one of them has something of the commit; where
// files are only missing, somebody else may have removed them.
func (w Worktree) wrote(ctx context.Context, changed []TreeChange) (back, extra []string, sure bool, err error) {
	var objects []string
	for _, c := range changed {
		if c.New.There() && !c.New.Submodule() {
			objects = append(objects, c.New.Object+" "+c.Path)
		}
	}
	written, err := w.filtered(ctx, objects)
	if err != nil {
		return nil, nil, false, err
	}
	for _, c := range changed {
		now, is := w.content(c.Path)
		content := written[c.Path]
		ours := is == fs.ErrNotExist || is == nil && c.New.There() && bytes.HasPrefix(content, now)
		switch {
		case !ours:
			continue
		case c.Old.There():
			back = append(back, c.Path)
		case is == nil:
			extra = append(extra, c.Path)
		}
		if is == nil && c.Old.Object != c.New.Object {
			was, err := w.filtered(ctx, objectAt(c.Old, c.Path))
			if err != nil {
				return nil, nil, false, err
			}
			sure = sure || !c.Old.There() || !bytes.Equal(was[c.Path], now)
		}
	}
	return back, extra, sure, nil
}

// objectAt is a version as filtered wants it, none for a submodule or nothing.
func objectAt(b Blob, path string) []string {
	if !b.There() || b.Submodule() {
		return nil
	}
	return []string{b.Object + " " + path}
}

// putBack returns files that an interrupted landing wrote to what the index has.
func (w Worktree) putBack(ctx context.Context, changed []TreeChange, lock *os.File) error {
	back, extra, _, err := w.wrote(ctx, changed)
	if err != nil {
		return err
	}
	for _, path := range extra {
		if err := os.Remove(filepath.Join(w.Dir, filepath.FromSlash(path))); err != nil {
			return writeFailed(path, err)
		}
	}
	if len(back) == 0 {
		return nil
	}
	_, err = w.run(ctx, command{files: inherited(lock), stdin: []byte(strings.Join(back, "\x00") + "\x00"), args: []string{"checkout-index", "-f", "-z", "--stdin"}})
	return broken(err)
}

// errOther says that something is in the place of a file.
var errOther = errors.New("not a file")

// content reads a file or a link of the worktree. Errors: fs.ErrNotExist, errOther.
func (w Worktree) content(path string) ([]byte, error) {
	name := filepath.Join(w.Dir, filepath.FromSlash(path))
	info, err := os.Lstat(name)
	switch {
	case err != nil:
		return nil, fs.ErrNotExist // also below a file
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(name)
		if err != nil {
			return nil, errOther
		}
		return []byte(filepath.ToSlash(to)), nil
	case !info.Mode().IsRegular():
		return nil, errOther
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, errOther
	}
	return data, nil
}

// filtered reads objects as a checkout writes them, by path; each line of names is an
// object and its path.
func (w Worktree) filtered(ctx context.Context, names []string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, name := range names {
		object, path, _ := strings.Cut(name, " ")
		content, err := w.run(ctx, command{args: []string{"cat-file", "--filters", "--path=" + path, object}})
		if err != nil {
			return nil, broken(err)
		}
		out[path] = content
	}
	return out, nil
}
