package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// This file removes a worktree and brings it back with what a rescue keeps.

// Removal is a worktree that is to be removed, and the ref that will keep its work. Each
// of its functions may be repeated after a kill; the ref says that the work is kept.
type Removal struct {
	Worktree
	Ref string
	Own string // the branch that the worktree is for: that it has another one checked out is kept, too
}

// aside is where the folder is while it is being removed: beside it, because there is
// always the same file system, and nobody else removes what is there.
func (m Removal) aside() string { return m.Dir + ".leslie-removing" }

// MoveAside gives the folder another name, so that nobody who looks for it works there.
// Errors: T805 if something has that name already, or if somebody has the worktree locked;
// T505.
func (m Removal) MoveAside() error {
	if err := m.CheckUnlocked(); err != nil {
		return err
	}
	if there(m.aside()) {
		if !there(m.Dir) {
			return nil
		}
		return m.busy("A removal that has not ended (" + m.aside() + ")")
	}
	return writeFailed(m.Dir, os.Rename(m.Dir, m.aside()))
}

// MoveBack gives the folder its name again.
func (m Removal) MoveBack() error { return rename(m.aside(), m.Dir) }

// Gone reports whether the folder is under neither of its names.
func (m Removal) Gone() bool { return !there(m.Dir) && !there(m.aside()) }

// RescueWork makes the rescue of the folder that was moved aside, and the ref, which is the
// head's commit if there is nothing more. Errors: those of Rescue.
func (m Removal) RescueWork(ctx context.Context, actor string) (Rescued, error) {
	w := m.Worktree
	w.Dir = m.aside()
	out, err := w.rescue(ctx, actor, m.Own)
	if err != nil {
		return Rescued{}, err
	}
	to := out.Commit
	if to == "" {
		to = out.Head
	}
	return out, m.repo.durable().UpdateRef(ctx, m.Ref, to, "", "leslie: rescue")
}

// Rescued returns what the ref keeps, as far as it can be known afterwards; ok is false if
// there is no ref.
func (m Removal) Rescued(ctx context.Context) (out Rescued, ok bool, err error) {
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

// Detach takes the folder that was moved aside out of the repository: it gets another name
// again, under which anybody may delete it, and git forgets it. The work has to be kept.
func (m Removal) Detach() error {
	if there(m.aside()) {
		to := m.leftover()
		for n := 2; there(to); n++ {
			to = m.leftover() + "-" + strconv.Itoa(n)
		}
		if err := rename(m.aside(), to); err != nil {
			return err
		}
	}
	if there(m.Dir) || placeOf(m.Admin) != m.Dir || m.RestoreEnded() || m.IsRestoringFiles() {
		return nil // another worktree has that place by now
	}
	return removeAll(m.Admin)
}

// leftover is where a folder is whose work is kept, until it is deleted.
func (m Removal) leftover() string { return m.Dir + ".leslie-removed" }

// Leftovers returns the folders of removed worktrees that could not be deleted: what was in
// them is kept.
func (m Removal) Leftovers() (left []string) {
	all, _ := os.ReadDir(filepath.Dir(m.Dir))
	for _, e := range all {
		name, _, _ := strings.Cut(e.Name(), ".leslie-removed")
		if name != e.Name() && name == filepath.Base(m.Dir) {
			left = append(left, filepath.Join(filepath.Dir(m.Dir), e.Name()))
		}
	}
	return left
}

// Delete detaches the folder and deletes it. Error: T505; the same call again finishes it.
func (m Removal) Delete() error {
	if err := m.Detach(); err != nil {
		return err
	}
	return m.DeleteLeft()
}

// DeleteLeft deletes what Detach left. Error: T505.
func (m Removal) DeleteLeft() error {
	for _, dir := range m.Leftovers() {
		if err := removeAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// DeleteBranch deletes a branch that is at a commit and checked out nowhere; it reports whether
// the branch is gone.
func (r *Repo) DeleteBranch(ctx context.Context, branch string, at Commit) (bool, error) {
	all, err := r.Worktrees(ctx)
	if err != nil {
		return false, err
	}
	for _, w := range all {
		if w.Branch == branch {
			return false, nil
		}
	}
	tip, err := r.Branch(ctx, branch)
	if err != nil || tip != at {
		return tip == "", err
	}
	if err = r.UpdateRef(ctx, "refs/heads/"+branch, "", at, "leslie: landed"); errors.Is(err, ErrMoved) {
		tip, err = r.Branch(ctx, branch)
		return tip == "" && err == nil, err
	}
	return err == nil, err
}

// RenameBranch gives a branch another name, also where a worktree has it checked out.
func (r *Repo) RenameBranch(ctx context.Context, from, to string) error {
	_, err := r.at(ctx, command{args: []string{"branch", "--move", "--", from, to}})
	return broken(err)
}

// rescues is where rescues are kept.
const rescues = "refs/leslie/rescue/"

// FreeRescue returns the name of a ref that keeps nothing yet, below a name.
func (r *Repo) FreeRescue(ctx context.Context, name string) (string, error) {
	for n := 1; ; n++ {
		ref := rescues + name + "/" + strconv.Itoa(n)
		if at, err := r.Resolve(ctx, ref); err != nil || at == "" {
			return ref, err
		}
	}
}

// RescueOf returns the name below which FreeRescue found a ref.
func RescueOf(ref string) string { return path.Base(path.Dir(ref)) }

// Rescues returns all refs that keep removed worktrees, with their commits.
func (r *Repo) Rescues(ctx context.Context) (map[string]Commit, error) {
	return r.refsBelow(ctx, rescues)
}

// ownRefs is where all refs of leslie are.
const ownRefs = "refs/leslie/"

// OwnRefs returns all refs that leslie made, with their commits.
func (r *Repo) OwnRefs(ctx context.Context) (map[string]Commit, error) {
	return r.refsBelow(ctx, ownRefs)
}

// DropOwn deletes refs that leslie made, and what else it left in the repository: lock files, and folders of
// refs without any. Errors: ErrMoved, T505, T801.
func (r *Repo) DropOwn(ctx context.Context, refs map[string]Commit) error {
	for ref, at := range refs {
		if err := r.UpdateRef(ctx, ref, "", at, "leslie: removed"); err != nil {
			return err
		}
	}
	for _, below := range []string{"", "logs"} {
		var folders []string
		_ = filepath.WalkDir(filepath.Join(r.Admin, below, ownRefs), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				folders = append(folders, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(folders) {
			_ = os.Remove(dir) // if it is empty
		}
	}
	for _, name := range []string{landingLock, refsLock, scratchDir} {
		_ = os.Remove(filepath.Join(r.Admin, name))
	}
	return nil
}

func (r *Repo) refsBelow(ctx context.Context, prefix string) (map[string]Commit, error) {
	out, err := r.at(ctx, command{args: []string{"for-each-ref", "--format=%(refname) %(objectname)", "--", prefix}})
	if err != nil {
		return nil, broken(err)
	}
	all := map[string]Commit{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if ref, commit, ok := strings.Cut(line, " "); ok {
			all[ref] = Commit(commit)
		}
	}
	return all, nil
}

// IsRestoringFiles reports whether RestoreFiles has not ended.
func (w Worktree) IsRestoringFiles() bool {
	lock, _ := os.ReadFile(filepath.Join(w.Admin, "locked"))
	return string(lock) == restoring
}

// RestoreFiles gives a worktree whose folder is gone its files again, as they are in its index:
// what was staged comes back, what was not is lost with the folder. It finishes what an
// earlier RestoreFiles left. Errors: T803 if something else is in the folder, T805 if somebody has
// it locked, T808.
func (w Worktree) RestoreFiles(ctx context.Context) error {
	if there(w.Dir) && !w.IsRestoringFiles() {
		return folderTaken(w.Dir, "it exists")
	}
	if err := w.CheckUnlocked(); err != nil {
		return err // its folder may be on a disk that is away
	}
	if err := w.repo.CheckPrograms(ctx); err != nil {
		return err
	}
	if err := w.lock(restoring); err != nil {
		return err
	}
	if err := os.MkdirAll(w.Dir, 0o777); err != nil {
		return writeFailed(w.Dir, err)
	}
	if err := w.link(filepath.Join(w.Dir, ".git")); err != nil {
		return err
	}
	if _, err := w.run(ctx, command{args: []string{"checkout-index", "-a", "-f", "-q"}}); err != nil {
		return broken(err)
	}
	return w.lock(restored)
}

// MovedTo returns the folder to which somebody moved the worktree; "" if it is not
// there, or still in its own.
func (w Worktree) MovedTo() string {
	dir := placeOf(w.Admin)
	if dir == "" || there(w.Dir) || !there(dir) {
		return ""
	}
	return dir
}

// RestoreGitFile gives the folder of a linked worktree its .git file again if that is gone, and
// reports whether it was.
func (w Worktree) RestoreGitFile() (bool, error) {
	file := filepath.Join(w.Dir, ".git")
	if there(file) {
		return false, nil
	}
	return true, w.link(file)
}

func (w Worktree) link(file string) error {
	return writeFailed(w.Dir, os.WriteFile(file, []byte("gitdir: "+w.Admin+"\n"), 0o666))
}

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
	// Whole: the branch is to have the tip. One of that name that lacks it is somebody else's.
	Whole bool
}

// The texts of git's lock of a worktree that is being brought back, and once it is whole.
const (
	restoring = "leslie: restoring"
	restored  = "leslie: restored "
)

// Restore makes the worktree again with the branch's tip and what the rescue keeps, and
// finishes what an earlier Restore of the same left. It works under another name beside
// the folder, so that nobody meets half a worktree. git has it locked until Unlock.
// Errors: T803 if somebody else has the folder or the branch, or if the branch has moved
// so that the rescue does not fit; T808.
func (r *Repo) Restore(ctx context.Context, x Restoring) (Worktree, error) {
	aside := x.Dir + ".leslie-restoring"
	if err := r.quiet(ctx, WorktreeSpec{Dir: aside, Branch: x.Branch}); err != nil {
		return Worktree{}, err
	}
	admins := r.admins()
	if admin, known := admins[x.Dir]; known {
		lock, _ := os.ReadFile(filepath.Join(admin, "locked"))
		if strings.TrimSpace(string(lock)) != restored+string(x.Tip) {
			return Worktree{}, folderTaken(x.Dir, "git knows a worktree there")
		}
		return Worktree{r, x.Dir, admin}, rename(aside, x.Dir)
	}
	if there(x.Dir) {
		return Worktree{}, folderTaken(x.Dir, "it exists")
	}
	left := aside // of a Restore that was killed
	if admin, known := admins[aside]; known {
		left = admin
	}
	if err := removeBoth(aside, left); err != nil {
		return Worktree{}, err
	}
	w, err := r.restore(ctx, x, aside)
	if err != nil && w.Admin != "" {
		_ = removeBoth(aside, w.Admin)
	}
	if err != nil {
		return Worktree{}, err
	}
	// From here on the worktree is whole; another Restore finishes this.
	if err := w.put("gitdir", []byte(filepath.Join(x.Dir, ".git")+"\n")); err != nil {
		return Worktree{}, err
	}
	w.Dir = x.Dir
	return w, rename(aside, x.Dir)
}

// rename gives a folder its name if it has it not yet.
func rename(from, to string) error {
	if there(to) || !there(from) {
		return nil
	}
	return writeFailed(from, os.Rename(from, to))
}

func (r *Repo) restore(ctx context.Context, x Restoring, dir string) (Worktree, error) {
	var kept *rescue
	args := []string{"--lock", "--reason", restoring}
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
		args = append(args, "--detach", "--", dir, string(head))
	} else {
		make, err := r.branchFor(ctx, branch, head, kept != nil, x.Whole)
		if err != nil {
			return Worktree{}, err
		}
		if make {
			args = append(args, "--no-track", "-b", branch, "--", dir, string(head))
		} else {
			args = append(args, "--", dir, branch)
		}
	}
	w, err := r.add(ctx, dir, args...)
	if err != nil {
		return w, err
	}
	if kept != nil {
		if err := w.fill(ctx, x.Rescue, kept); err != nil {
			return w, err
		}
	}
	return w, w.lock(restored + string(x.Tip))
}

// branchFor checks that a worktree can have a branch, and whether it has to be made.
func (r *Repo) branchFor(ctx context.Context, branch string, head Commit, exactly, whole bool) (make bool, err error) {
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
	if err == nil && whole && tip != "" {
		has, err := r.Contains(ctx, tip, head)
		if err == nil && !has {
			err = taken(branch, "there is another branch of that name by now, without the commit "+string(head)[:12])
		}
		return false, err
	}
	return tip == "", err
}

// CanRestore returns why Restore would refuse: T803.
func (r *Repo) CanRestore(ctx context.Context, x Restoring) error {
	if there(x.Dir) {
		return folderTaken(x.Dir, "it exists")
	}
	branch, head := x.Branch, x.Tip
	if x.Rescue != "" {
		kept, err := r.readRescue(ctx, x.Rescue)
		if err != nil || kept == nil {
			return err
		}
		branch, head = kept.branch, kept.head
	}
	if branch == "" {
		return nil
	}
	_, err := r.branchFor(ctx, branch, head, x.Rescue != "", x.Whole)
	return err
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
	return writeFailed(name, err)
}

// RestoreEnded reports whether Restore or RestoreFiles has ended and Unlock has not run.
func (w Worktree) RestoreEnded() bool {
	text, err := os.ReadFile(filepath.Join(w.Admin, "locked"))
	return err == nil && strings.HasPrefix(string(text), restored)
}

// Unlock removes the lock that Restore left, once the worktree is recorded.
func (w Worktree) Unlock() error {
	name := filepath.Join(w.Admin, "locked")
	if !w.RestoreEnded() {
		return nil
	}
	return writeFailed(name, os.Remove(name))
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
	files, err := openRoot(w.Dir)
	if err != nil {
		return err
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

func openRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, writeFailed(dir, err)
	}
	return root, nil
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
		if is, ok := there[name]; ok && is.Submodule() == b.Submodule() {
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
				err = writeFailed(filepath.Join(f.w.Dir, filepath.FromSlash(names[i])), err)
			}
		}
		names, objects = nil, nil
		return err
	}
	for name, b := range want {
		if b.Submodule() {
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
