package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file removes a worktree and brings it back with what a rescue keeps.

// Removal is a worktree that is to be removed, and the ref that will keep its work. Each
// of its functions may be repeated after a kill; the ref says that the work is kept.
type Removal struct {
	Worktree
	Ref string
}

// aside is where the folder is while it is being removed: beside it, because there is
// always the same file system, and nobody else removes what is there.
func (m Removal) aside() string { return m.Dir + ".leslie-removing" }

// MoveAside gives the folder another name, so that nobody who looks for it works there.
// Errors: T805 if something has that name already; T505.
func (m Removal) MoveAside() error {
	if there(m.aside()) {
		if !there(m.Dir) {
			return nil
		}
		return m.busy("A removal that has not ended (" + m.aside() + ")")
	}
	if err := os.Rename(m.Dir, m.aside()); err != nil {
		return codes.WriteFailed.Wrap(err, fact.Of("path", m.Dir), fact.Of("reason", codes.Reason(err)))
	}
	return nil
}

// MoveBack gives the folder its name again.
func (m Removal) MoveBack() error {
	if there(m.Dir) || !there(m.aside()) {
		return nil
	}
	if err := os.Rename(m.aside(), m.Dir); err != nil {
		return codes.WriteFailed.Wrap(err, fact.Of("path", m.Dir), fact.Of("reason", codes.Reason(err)))
	}
	return nil
}

// Gone reports whether the folder is under neither of its names.
func (m Removal) Gone() bool { return !there(m.Dir) && !there(m.aside()) }

// Keep makes the rescue of the folder that was moved aside, and the ref, which is the
// head's commit if there is nothing more. Errors: those of Rescue.
func (m Removal) Keep(ctx context.Context, actor string) (Rescued, error) {
	w := m.Worktree
	w.Dir = m.aside()
	out, err := w.Rescue(ctx, actor)
	if err != nil {
		return Rescued{}, err
	}
	to := out.Commit
	if to == "" {
		to = out.Head
	}
	return out, m.repo.durable().UpdateRef(ctx, m.Ref, to, "", "leslie: rescue")
}

// Kept returns what the ref keeps, as far as it can be known afterwards; ok is false if
// there is no ref.
func (m Removal) Kept(ctx context.Context) (out Rescued, ok bool, err error) {
	kept, err := m.repo.Resolve(ctx, m.Ref)
	if err != nil || kept == "" {
		return Rescued{}, false, err
	}
	r, err := m.repo.readRescue(ctx, kept)
	if err != nil {
		return Rescued{}, false, err
	}
	if r == nil {
		return Rescued{Head: kept}, true, nil
	}
	return Rescued{Commit: kept, Head: r.head, Branch: r.branch}, true, nil
}

// Delete deletes the folder that was moved aside and what git knows of it, and nothing
// else. The work has to be kept.
func (m Removal) Delete() error { return removeBoth(m.aside(), m.Admin) }

func there(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// rescue is a rescue commit as it was read.
type rescue struct {
	head, index, rest, inner Commit
	branch                   string // "" for a detached head
}

// readRescue returns nil if the commit is no rescue.
func (r *Repo) readRescue(ctx context.Context, c Commit) (*rescue, error) {
	out, err := r.at(ctx, command{args: []string{"show", "-s", "--no-show-signature", "--format=%P%n%B", string(c)}})
	if err != nil {
		return nil, broken(err)
	}
	parents, message, _ := strings.Cut(string(out), "\n")
	ids := strings.Fields(parents)
	if len(ids) != 3 || !strings.HasPrefix(message, rescueMessage+"\n") {
		return nil, nil
	}
	found := &rescue{head: Commit(ids[0]), index: Commit(ids[1]), rest: Commit(ids[2])}
	if _, name, ok := strings.Cut(message, branchLine); ok {
		found.branch, _, _ = strings.Cut(name, "\n")
	}
	found.inner, err = r.Resolve(ctx, ids[2]+"^1")
	return found, err
}

// Restoring is a worktree that is to be brought back.
type Restoring struct {
	Dir    string // absolute; it must not exist
	Branch string
	Tip    Commit // of the branch when the worktree was removed
	Rescue Commit // "" if there was nothing more
}

// The texts of git's lock of a worktree that is being brought back, and once it is whole.
const (
	restoring = "leslie: restoring "
	restored  = "leslie: restored "
)

// Restore makes the worktree again with the branch's tip and what the rescue keeps, and
// finishes what an earlier Restore of the same left. git has it locked until Unlock.
// Errors: T803 if somebody else has the folder or the branch, or if the branch has moved
// so that the rescue does not fit; T808.
func (r *Repo) Restore(ctx context.Context, x Restoring) (Worktree, error) {
	if admin, known := r.admins()[x.Dir]; known {
		lock, _ := os.ReadFile(filepath.Join(admin, "locked"))
		text := strings.TrimSpace(string(lock))
		switch {
		case text == restored+string(x.Tip):
			return Worktree{r, x.Dir, admin}, nil
		case text != restoring+string(x.Tip):
			return Worktree{}, folderTaken(x.Dir, "git knows a worktree there")
		}
		if err := removeBoth(x.Dir, admin); err != nil {
			return Worktree{}, err
		}
	}
	if there(x.Dir) {
		return Worktree{}, folderTaken(x.Dir, "it exists")
	}
	w, err := r.restore(ctx, x)
	if err != nil && w.Admin != "" {
		_ = removeBoth(x.Dir, w.Admin)
	}
	return w, err
}

func (r *Repo) restore(ctx context.Context, x Restoring) (Worktree, error) {
	var kept *rescue
	args := []string{"worktree", "add", "--quiet", "--lock", "--reason", restoring + string(x.Tip)}
	branch, head := x.Branch, x.Tip
	if x.Rescue != "" {
		var err error
		if kept, err = r.readRescue(ctx, x.Rescue); err != nil {
			return Worktree{}, err
		}
		if kept == nil || kept.inner == "" {
			return Worktree{}, unavailable(nil, "the commit "+string(x.Rescue)+" is no rescue")
		}
		branch, head = kept.branch, kept.head
	}
	if branch == "" {
		args = append(args, "--detach", "--", x.Dir, string(head))
	} else {
		make, err := r.branchFor(ctx, branch, head, kept != nil)
		if err != nil {
			return Worktree{}, err
		}
		if make {
			args = append(args, "--no-track", "-b", branch, "--", x.Dir, string(head))
		} else {
			args = append(args, "--", x.Dir, branch)
		}
	}
	if err := r.CheckPrograms(ctx); err != nil {
		return Worktree{}, err
	}
	_, err := r.at(ctx, command{args: args})
	w := Worktree{r, x.Dir, r.admins()[x.Dir]}
	switch {
	case err != nil:
		return w, broken(err)
	case w.Admin == "":
		return w, unavailable(nil, "git worktree add made no worktree in "+x.Dir)
	}
	if kept != nil {
		if err := w.fill(ctx, x.Rescue, kept); err != nil {
			return w, err
		}
	}
	return w, w.lock(restored + string(x.Tip))
}

// branchFor checks that a worktree can have a branch, and whether it has to be made.
func (r *Repo) branchFor(ctx context.Context, branch string, head Commit, exactly bool) (make bool, err error) {
	all, err := r.Worktrees(ctx)
	if err != nil {
		return false, err
	}
	for _, w := range all {
		if w.Branch == branch {
			return false, taken(branch, "it is checked out in "+w.Dir)
		}
	}
	tip, err := r.Branch(ctx, branch)
	if err == nil && exactly && tip != "" && tip != head {
		return false, taken(branch, "it has moved since the worktree was removed, and what was kept fits only its commit "+string(head))
	}
	return tip == "", err
}

// lock writes the text of git's lock of the worktree.
func (w Worktree) lock(text string) error { return w.put("locked", []byte(text)) }

// put replaces a file of the worktree's own folder in the repository.
func (w Worktree) put(name string, content []byte) error {
	name = filepath.Join(w.Admin, name)
	err := os.WriteFile(name+".leslie", content, 0o644)
	if err == nil {
		err = os.Rename(name+".leslie", name)
	}
	if err != nil {
		return codes.WriteFailed.Wrap(err, fact.Of("path", name), fact.Of("reason", codes.Reason(err)))
	}
	return nil
}

// Unlock removes the lock that Restore left, once the worktree is recorded.
func (w Worktree) Unlock() error {
	name := filepath.Join(w.Admin, "locked")
	text, err := os.ReadFile(name)
	if err != nil || !strings.HasPrefix(string(text), restored) {
		return nil
	}
	if err := os.Remove(name); err != nil {
		return codes.WriteFailed.Wrap(err, fact.Of("path", name), fact.Of("reason", codes.Reason(err)))
	}
	return nil
}

// TakeBack removes what Restore made, unless somebody has unlocked it.
func (w Worktree) TakeBack() error {
	text, _ := os.ReadFile(filepath.Join(w.Admin, "locked"))
	if !strings.HasPrefix(string(text), restored) {
		return nil
	}
	return removeBoth(w.Dir, w.Admin)
}

// fill gives a fresh worktree the files and the index of a rescue.
func (w Worktree) fill(ctx context.Context, c Commit, kept *rescue) error {
	top, err := w.repo.entries(ctx, kept.head)
	if err != nil {
		return err
	}
	work, err := w.repo.entries(ctx, c)
	if err != nil {
		return err
	}
	rest, err := w.repo.entries(ctx, kept.rest)
	if err != nil {
		return err
	}
	state, err := w.repo.entries(ctx, kept.inner)
	if err != nil {
		return err
	}
	own, err := w.repo.Blobs(ctx, []string{state[keptIndex].Object, state[keptConverted].Object})
	if err != nil {
		return err
	}
	for _, name := range strings.Split(string(own[state[keptConverted].Object]), "\x00") {
		delete(work, name) // as git has written it
		delete(top, name)
	}
	files, err := os.OpenRoot(w.Dir)
	if err != nil {
		return codes.WriteFailed.Wrap(err, fact.Of("path", w.Dir), fact.Of("reason", codes.Reason(err)))
	}
	defer func() { _ = files.Close() }()
	f := filling{ctx, w, files}
	if err := f.remove(top, work); err != nil {
		return err
	}
	if err := f.write(work); err != nil {
		return err
	}
	if err := f.write(rest); err != nil {
		return err
	}
	return w.put("index", own[state[keptIndex].Object])
}

// entries lists all files of a commit.
func (r *Repo) entries(ctx context.Context, c Commit) (map[string]Blob, error) {
	out, err := r.at(ctx, command{args: []string{"ls-tree", "-r", "-z", "--full-tree", string(c)}})
	if err != nil {
		return nil, broken(err)
	}
	all := map[string]Blob{}
	for _, line := range splitNames(out) {
		head, name, _ := strings.Cut(line, "\t")
		if field := strings.Fields(head); len(field) == 3 {
			all[name] = Blob{field[0], field[2]}
		}
	}
	return all, nil
}

// filling writes files of a rescue, never outside the worktree.
type filling struct {
	ctx   context.Context
	w     Worktree
	files *os.Root
}

// remove removes what was checked out and was not there.
func (f filling) remove(checkedOut, there map[string]Blob) error {
	for name, b := range checkedOut {
		if is, ok := there[name]; ok && (is.Mode == "160000") == (b.Mode == "160000") {
			continue
		}
		for err := f.files.Remove(filepath.FromSlash(name)); err == nil; err = f.files.Remove(filepath.FromSlash(name)) {
			if name = path.Dir(name); name == "." {
				break
			}
		}
	}
	return nil
}

// batch is how many files are read at once.
const batch = 200

func (f filling) write(want map[string]Blob) error {
	now := newFolder(f.w.Dir)
	var names, objects []string
	flush := func() error {
		contents, err := f.w.repo.Blobs(f.ctx, unique(objects))
		for i := 0; i < len(names) && err == nil; i++ {
			if err = f.one(names[i], want[names[i]].Mode, contents[objects[i]]); err != nil {
				err = codes.WriteFailed.Wrap(err, fact.Of("path", filepath.Join(f.w.Dir, filepath.FromSlash(names[i]))), fact.Of("reason", codes.Reason(err)))
			}
		}
		names, objects = nil, nil
		return err
	}
	for name, b := range want {
		if b.Mode == "160000" {
			continue
		}
		is, err := now.blob(name, f.w.repo.hash)
		if err == nil && is.Blob == b {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if names, objects = append(names, name), append(objects, b.Object); len(names) == batch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (f filling) one(name, mode string, content []byte) error {
	name = filepath.FromSlash(name)
	if dir := filepath.Dir(name); dir != "." {
		if err := f.files.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	if err := f.files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch mode {
	case "120000":
		return f.files.Symlink(filepath.FromSlash(string(content)), name)
	case "100755":
		return f.files.WriteFile(name, content, 0o777)
	}
	return f.files.WriteFile(name, content, 0o666)
}

func unique(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, one := range list {
		if !seen[one] {
			seen[one] = true
			out = append(out, one)
		}
	}
	return out
}
