package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"leslie/internal/external"
)

// ErrMoved says that a branch or a ref is not where the caller saw it.
var ErrMoved = errors.New("the branch has moved")

// Worktree is a worktree of a repository, named by both of its folders.
type Worktree struct {
	repo *Repo
	// Dir has the files; Admin is its folder in the repository: its own in Admin/worktrees
	// for a linked one, the repository's for the main one. Both absolute.
	Dir, Admin string
}

// Worktree names a worktree by its folders; nothing is checked.
func (r *Repo) Worktree(dir, admin string) Worktree { return Worktree{r, dir, admin} }

// run runs git in the worktree, whatever its .git file says.
func (w Worktree) run(ctx context.Context, c command) ([]byte, error) {
	c.dir = w.Dir
	c.env = append(c.env, "GIT_DIR="+w.Admin, "GIT_WORK_TREE="+w.Dir)
	return w.repo.system.run(ctx, c)
}

// WorktreeOf returns the repository's worktree to which a folder belongs, the main one for
// a folder elsewhere.
func (r *Repo) WorktreeOf(ctx context.Context, dir string) (Worktree, error) {
	main := r.Worktree(r.Top, r.Admin)
	if dir == "" {
		return main, nil
	}
	out, err := r.system.run(ctx, command{dir: dir, args: []string{
		"rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir", "--show-toplevel",
	}})
	if err != nil {
		if exited(err, 128) {
			return main, nil // in no worktree, or in a folder that is gone
		}
		return main, broken(err)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != 3 || filepath.Clean(lines[0]) != r.Admin {
		return main, nil
	}
	return r.Worktree(filepath.FromSlash(lines[2]), filepath.Clean(lines[1])), nil
}

// HasUnpushed reports whether a submodule of the worktree has a commit that none of its remotes has, as it was
// fetched last.
func (w Worktree) HasUnpushed(ctx context.Context, path string, c Commit) bool {
	dir := filepath.Join(w.Dir, filepath.FromSlash(path))
	if !there(filepath.Join(dir, ".git")) {
		return false
	}
	if _, err := w.repo.system.run(ctx, command{dir: dir, args: []string{"cat-file", "-e", string(c) + "^{commit}"}}); err != nil {
		return false
	}
	out, err := w.repo.system.run(ctx, command{dir: dir, args: []string{"for-each-ref", "--count=1", "--contains=" + string(c), "refs/remotes"}})
	return err == nil && len(out) == 0
}

// Head is the revision by which the repository names what the worktree has checked out.
func (w Worktree) Head() string {
	if w.Admin == w.repo.Admin {
		return "HEAD"
	}
	return "worktrees/" + filepath.Base(w.Admin) + "/HEAD"
}

// Listed is a worktree as git lists it.
type Listed struct {
	Worktree
	Head   Commit // "" for a branch without a commit
	Branch string // without refs/heads/; "" if the head is detached or the repository bare
	// Missing: the folder is not there; it may be on a disk that is away.
	Missing bool
}

// Worktrees lists the repository's worktrees, the main one first.
func (r *Repo) Worktrees(ctx context.Context) ([]Listed, error) {
	out, err := r.at(ctx, command{args: []string{"worktree", "list", "--porcelain", "-z"}})
	if err != nil {
		return nil, broken(err)
	}
	admins := r.admins()
	var all []Listed
	for _, record := range bytes.Split(bytes.TrimSuffix(out, []byte{0}), []byte{0, 0}) {
		one := Listed{Worktree: Worktree{repo: r}}
		bare := false
		for _, line := range strings.Split(string(record), "\x00") {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				one.Dir = filepath.FromSlash(value)
			case "HEAD":
				if strings.Trim(value, "0") != "" {
					one.Head = Commit(value)
				}
			case "branch":
				one.Branch = strings.TrimPrefix(value, "refs/heads/")
			case "bare":
				bare = true
			case "prunable":
				one.Missing = true
			}
		}
		if one.Admin = admins[one.Dir]; one.Admin == "" {
			one.Admin = r.Admin
		}
		if !bare && one.Dir != "" {
			all = append(all, one)
		}
	}
	return all, nil
}

// admins returns the folder in the repository of each linked worktree, by its files' one.
func (r *Repo) admins() map[string]string {
	out := map[string]string{}
	entries, _ := os.ReadDir(filepath.Join(r.Admin, "worktrees"))
	for _, e := range entries {
		admin := filepath.Join(r.Admin, "worktrees", e.Name())
		if dir := placeOf(admin); dir != "" {
			out[dir] = admin
		}
	}
	return out
}

// placeOf returns the folder of a linked worktree's files, by its folder in the repository;
// "" if that says nothing.
func placeOf(admin string) string {
	text, err := os.ReadFile(filepath.Join(admin, "gitdir"))
	if err != nil {
		return ""
	}
	file := strings.TrimSuffix(string(text), "\n")
	if !filepath.IsAbs(file) {
		file = filepath.Join(admin, file)
	}
	return filepath.Dir(file)
}

// Add makes a linked worktree in a folder that does not exist, on a new branch that
// starts at a commit. Errors: T808.
func (r *Repo) Add(ctx context.Context, dir, branch string, start Commit) (Worktree, error) {
	return r.add(ctx, dir, "--no-track", "-b", branch, "--", dir, string(start))
}

// AddExisting makes a linked worktree on a branch that exists and is checked out nowhere.
// Errors: T808.
func (r *Repo) AddExisting(ctx context.Context, dir, branch string) (Worktree, error) {
	return r.add(ctx, dir, "--", dir, branch)
}

// add makes a linked worktree; with an error, what git knows of it.
func (r *Repo) add(ctx context.Context, dir string, args ...string) (Worktree, error) {
	if err := r.CheckPrograms(ctx); err != nil {
		return Worktree{}, err
	}
	_ = os.MkdirAll(dir, 0o777) // git says why that is impossible
	lock, err := occupy(ctx, dir)
	if err != nil {
		return Worktree{}, err
	}
	defer release(lock)
	_, err = r.at(ctx, command{args: append([]string{"worktree", "add", "--quiet"}, args...), files: inherited(lock)})
	w := Worktree{r, dir, r.admins()[dir]}
	switch {
	case err != nil:
		_ = os.Remove(dir) // if it is empty
		return w, broken(err)
	case w.Admin == "":
		return w, unavailable(nil, "git worktree add made no worktree in "+dir)
	}
	return w, nil
}

// RemoveClean removes a linked worktree. What is not committed there, and not ignored, prevents it.
func (r *Repo) RemoveClean(ctx context.Context, w Worktree) error {
	_, err := r.at(ctx, command{args: []string{"worktree", "remove", "--", w.Dir}})
	return broken(err)
}

// Status is what a worktree has that its branch has not.
type Status struct {
	Head   Commit // "" if the branch has no commit
	Branch string // "" if the head is detached
	// Dirty has the paths with tracked changes, Untracked the others that git does not
	// ignore (a folder with only such files is one path that ends in "/").
	Dirty, Untracked []string
	// Unmerged has the paths in the middle of a merge; they are also dirty.
	Unmerged []string
}

// Clean reports whether nothing is uncommitted.
func (s Status) Clean() bool { return len(s.Dirty) == 0 && len(s.Untracked) == 0 }

// Status reads what is uncommitted. It takes no lock and runs no filter of the
// repository's own.
func (w Worktree) Status(ctx context.Context) (Status, error) {
	filters, err := w.repo.withoutFilters(ctx)
	if err != nil {
		return Status{}, err
	}
	out, err := w.run(ctx, command{options: []string{"--no-optional-locks"}, with: filters, args: []string{
		"status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=dirty", "--untracked-files=normal", "--no-renames",
	}})
	if err != nil {
		return Status{}, broken(err)
	}
	return parseStatus(out), nil
}

func parseStatus(out []byte) Status {
	var s Status
	for _, line := range strings.Split(string(out), "\x00") {
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "#":
			key, value, _ := strings.Cut(rest, " ")
			switch {
			case key == "branch.oid" && value != "(initial)":
				s.Head = Commit(value)
			case key == "branch.head" && value != "(detached)":
				s.Branch = value
			}
		case "1":
			s.Dirty = append(s.Dirty, field(rest, 7))
		case "u":
			path := field(rest, 9)
			s.Dirty, s.Unmerged = append(s.Dirty, path), append(s.Unmerged, path)
		case "?":
			s.Untracked = append(s.Untracked, rest)
		}
	}
	return s
}

// field returns what comes after n fields that end in a space.
func field(line string, n int) string {
	parts := strings.SplitN(line, " ", n+1)
	return parts[len(parts)-1]
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// HasCheckedOut reports whether the worktree has a branch checked out, which may be gone.
func (w Worktree) HasCheckedOut(branch string) bool {
	data, err := os.ReadFile(filepath.Join(w.Admin, "HEAD"))
	return err == nil && strings.TrimSpace(string(data)) == "ref: refs/heads/"+branch
}

// LastTip is the commit at which the worktree had a branch last, by its log; "" if it has another one checked out, is
// not there, or its log does not say it.
func (w Worktree) LastTip(branch string) Commit {
	if w.Admin == "" || !w.HasCheckedOut(branch) {
		return ""
	}
	return w.LastHead()
}

// LastHead is the commit that the worktree had checked out last, by its log; "" if that does not say.
func (w Worktree) LastHead() Commit {
	data, err := os.ReadFile(filepath.Join(w.Admin, "logs", "HEAD"))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if words := strings.Fields(lines[len(lines)-1]); len(words) > 1 && len(words[1]) >= 40 {
		return Commit(words[1])
	}
	return ""
}

// Busy returns what is in progress in a worktree, such as "a rebase" or "another git
// command"; "" for nothing.
func (w Worktree) Busy() string {
	for _, one := range []struct{ name, what string }{
		{"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"}, {"MERGE_HEAD", "a merge"}, {"CHERRY_PICK_HEAD", "a cherry-pick"},
		{"REVERT_HEAD", "a revert"}, {"BISECT_LOG", "a bisect"}, {"index.lock", "another git command"},
	} {
		if _, err := os.Lstat(filepath.Join(w.Admin, one.name)); err == nil {
			return one.what
		}
	}
	return ""
}

// lockedByOther is what somebody has the worktree locked for (git worktree lock), and
// whether they have; a lock that leslie's own work left is none.
func (w Worktree) lockedByOther() (reason string, locked bool) {
	if _, err := os.Lstat(filepath.Join(w.Admin, "locked")); err != nil {
		return "", false
	}
	reason = lockedFor(w.Admin)
	return reason, reason != restoring && !strings.HasPrefix(reason, restored)
}

// CheckUnlocked returns T805 if somebody has the worktree locked: it is theirs.
func (w Worktree) CheckUnlocked() error {
	reason, locked := w.lockedByOther()
	if !locked {
		return nil
	}
	what := "A lock (somebody has it locked with git worktree lock)"
	if reason != "" {
		what = "A lock (git worktree lock, reason: " + reason + ")"
	}
	return w.busy(what).WithHint("Leave it to whoever locked it; if nobody needs the lock: git worktree unlock " + w.Dir)
}

// CheckIdle returns T805 if something is in progress in the worktree.
func (w Worktree) CheckIdle() error {
	what := w.Busy()
	if what == "" {
		return nil
	}
	goOn, giveUp := what[len("a "):]+" --continue", what[len("a "):]+" --abort"
	switch what {
	case "another git command":
		return w.busy(what)
	case "a merge":
		goOn = "commit"
	case "a bisect":
		goOn, giveUp = "bisect good", "bisect reset"
	}
	in := "git -C " + external.Word(w.Dir) + " "
	return w.busy(what).WithHint("Finish it (" + in + goOn + ") or give it up (" + in + giveUp + "), then repeat the call")
}
