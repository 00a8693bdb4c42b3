package git

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
)

// This file keeps the work in a worktree as it is at a moment, and brings it back in
// place. A saved work is a commit in the shape of a rescue, without what git ignores and
// without repositories within: bringing it back does not touch those.

// Work is the work in a worktree, saved as a commit.
type Work struct {
	Commit Commit
	Head   Commit // its first parent: the head of the worktree then
	Branch string // "" if the head was detached
}

// SaveWork makes a commit of the work: what is committed, staged, changed and new. It changes
// neither the worktree nor its index, and no ref. The objects are on disk if they have to
// last whatever happens (durable); else as those of git are. Errors: T805 if something is
// in progress there.
func (w Worktree) SaveWork(ctx context.Context, actor string, durable bool) (Work, error) {
	if durable {
		w.repo = w.repo.durable()
	}
	s, err := w.survey(ctx, ownWork)
	if err != nil {
		return Work{}, err
	}
	out := Work{Head: s.status.Head, Branch: s.status.Branch}
	out.Commit, err = s.keep(ctx, actor)
	return out, err
}

// SaveWorkAs is SaveWork for work that is changed next: it is on disk, under a ref that does
// not exist yet.
func (w Worktree) SaveWorkAs(ctx context.Context, actor, ref string) (Work, error) {
	work, err := w.SaveWork(ctx, actor, true)
	if err == nil {
		err = w.repo.durable().UpdateRef(ctx, ref, work.Commit, "", "leslie: kept")
	}
	return work, err
}

// SameWork reports whether two saved works are equal: head, index and files.
func (r *Repo) SameWork(ctx context.Context, a, b Commit) (bool, error) {
	if a == "" || b == "" {
		return false, nil
	}
	args := []string{"rev-parse"}
	for _, c := range []Commit{a, b} {
		for _, part := range []string{"^1", "^{tree}", "^2^{tree}", "^3^{tree}"} {
			args = append(args, string(c)+part)
		}
	}
	out, err := r.at(ctx, command{args: args})
	if exited(err, 128) { // one is gone, or is no saved work
		return false, nil
	}
	parts := strings.Fields(string(out))
	return err == nil && len(parts) == 8 && slices.Equal(parts[:4], parts[4:]), broken(err)
}

// stored is a saved work with its files.
type stored struct {
	rescue
	files     map[string]Blob // tracked or not, by path
	converted map[string]bool // those that git writes itself, through its filters
	state     map[string]Blob
	indexTree string
}

// readWork reads a saved work. Errors: T801 if it is gone.
func (r *Repo) readWork(ctx context.Context, c Commit) (*stored, error) {
	kept, err := r.readRescue(ctx, c)
	if err != nil {
		return nil, err
	}
	if kept == nil || kept.inner == "" {
		return nil, unavailable(nil, "the commit "+string(c)+" keeps no work")
	}
	s := &stored{rescue: *kept, converted: map[string]bool{}}
	if s.files, err = r.entries(ctx, c); err != nil {
		return nil, err
	}
	rest, err := r.entries(ctx, kept.rest)
	if err != nil {
		return nil, err
	}
	maps.Copy(s.files, rest)
	maps.DeleteFunc(s.files, func(_ string, b Blob) bool { return b.Submodule() })
	if s.state, err = r.entries(ctx, kept.inner); err != nil {
		return nil, err
	}
	list := s.state[keptConverted].Object
	own, err := r.Blobs(ctx, []string{list})
	if err != nil {
		return nil, err
	}
	for _, name := range splitNames(own[list]) {
		s.converted[name] = true
	}
	s.indexTree, err = r.tree(ctx, kept.index)
	return s, err
}

// ForeignPaths returns the paths of a saved work whose files are in neither of two others:
// somebody else wrote them.
func (r *Repo) ForeignPaths(ctx context.Context, of, a, b Commit) ([]string, error) {
	var all [3]*stored
	for i, c := range []Commit{of, a, b} {
		var err error
		if all[i], err = r.readWork(ctx, c); err != nil {
			return nil, err
		}
	}
	var out []string
	for name, is := range all[0].files {
		if is != all[1].files[name] && is != all[2].files[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Exchange is a worktree whose work is to be exchanged for another: files, index and the
// branch that it has checked out.
type Exchange struct {
	Worktree
	Branch   string
	From, To Commit // saved work: what is there, and what is to be there

	from, to *stored
	checked  [2]Commit // what has been checked
}

// Check reports what prevents the exchange, as far as it can be known before. Errors: T806
// if a file is not as From has it, nor as To, or if something that git ignores is in the
// place of one; T805 if another branch is, or was, checked out; T801, T808.
func (x *Exchange) Check(ctx context.Context) error {
	if now := [2]Commit{x.From, x.To}; x.checked != now {
		if err := x.check(ctx); err != nil {
			return err
		}
		x.checked = now
	}
	strange, err := x.strangers()
	if err == nil && len(strange) > 0 {
		return x.blocked("files in its worktree are not as they were", strange...)
	}
	return err
}

// check is Check without the files.
func (x *Exchange) check(ctx context.Context) (err error) {
	if x.from, err = x.repo.readWork(ctx, x.From); err != nil {
		return err
	}
	if x.to, err = x.repo.readWork(ctx, x.To); err != nil {
		return err
	}
	for _, branch := range []string{x.from.branch, x.to.branch} {
		if branch != x.Branch {
			what := "Another branch (" + branch + ")"
			if branch == "" {
				what = "No branch"
			}
			return x.busy(what).WithHint("Bring the files back by hand: the commit " + string(x.To) + " has them; leslie moves only the branch '" + x.Branch + "', checked out")
		}
	}
	all, err := x.repo.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.Branch == x.Branch && o.Admin != x.Admin {
			return x.busy("The branch '" + x.Branch + "', also in " + o.Dir + ",")
		}
	}
	if len(x.toConvert()) > 0 {
		return x.repo.CheckPrograms(ctx)
	}
	return nil
}

func (x *Exchange) blocked(reason string, paths ...string) *codes.Error {
	return Landing{Branch: x.Branch}.blocked(x.Dir, reason, paths...)
}

// Untouched reports whether head and index are still as From has them.
func (x *Exchange) Untouched(ctx context.Context) (bool, error) {
	s, err := x.Status(ctx)
	if err != nil || s.Head != x.from.head || s.Branch != x.from.branch || len(s.Unmerged) > 0 {
		return false, err
	}
	p, err := x.copyIndex(ctx)
	if err != nil {
		return false, err
	}
	defer p.close()
	tree, err := p.writeTree(ctx)
	return tree == x.from.indexTree, err
}

// strangers returns the paths that the exchange would change and that are as neither of
// the works has them.
func (x *Exchange) strangers() (out []string, err error) {
	now := newFolder(x.Dir)
	for _, name := range x.paths() {
		was, had := x.from.files[name]
		will, has := x.to.files[name]
		if x.from.converted[name] || had && has && was == will && !x.to.converted[name] {
			continue
		}
		is, err := now.blob(name, x.repo.hash)
		there := err == nil
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if there != had && there != has || there && !(had && is.Blob == was) && !(has && is.Blob == will) {
			out = append(out, name)
		}
	}
	return out, nil
}

// Head is the commit to which Run moves the branch, known after Check.
func (x *Exchange) Head() Commit { return x.to.head }

func (x *Exchange) paths() []string {
	all := maps.Clone(x.from.files)
	maps.Copy(all, x.to.files)
	return slices.Sorted(maps.Keys(all))
}

// toConvert returns the paths that git has to write itself.
func (x *Exchange) toConvert() (out []string) {
	for name := range x.to.converted {
		if !x.from.converted[name] || x.from.files[name] != x.to.files[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Run carries the exchange out: the files, the index, then the branch. What git ignores,
// and files that neither work has, stay. If it fails, or is killed, Keep and another
// exchange bring From back. Errors: those of Check; T505; T805 if the branch moves.
func (x *Exchange) Run(ctx context.Context) error {
	if err := x.Check(ctx); err != nil {
		return err
	}
	files, err := openRoot(x.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	f := filling{ctx, x.Worktree, files}
	if err := f.remove(x.from.files, x.to.files); err != nil {
		return err
	}
	for name := range x.to.files {
		if info, err := files.Lstat(filepath.FromSlash(name)); err == nil && info.IsDir() {
			return x.blocked("a folder with files that git ignores is in the place of a file", name)
		}
	}
	write := maps.Clone(x.to.files)
	maps.DeleteFunc(write, func(name string, _ Blob) bool { return x.to.converted[name] })
	if err := f.write(write); err != nil {
		return err
	}
	object := x.to.state[keptIndex].Object
	own, err := x.repo.Blobs(ctx, []string{object})
	if err == nil {
		err = x.put("index", own[object])
	}
	if err != nil {
		return err
	}
	if names := x.toConvert(); len(names) > 0 {
		if _, err := x.run(ctx, command{stdin: []byte(strings.Join(names, "\x00")), args: []string{"checkout-index", "-f", "-q", "-z", "--stdin"}}); err != nil {
			return broken(err)
		}
	}
	if x.from.head == x.to.head {
		return nil
	}
	err = x.repo.updateRef(ctx, x.run, x.Admin, "refs/heads/"+x.Branch, x.to.head, x.from.head, "leslie: rollback")
	if errors.Is(err, ErrMoved) {
		return x.busy("Another change of the branch '" + x.Branch + "'")
	}
	return err
}

// Refs of saved work: that of turns by thread and turn, and what a rollback, or its undo,
// exchanged.
const (
	turnRefs    = "refs/leslie/turn/"
	rolledRefs  = "refs/leslie/rolled/"
	mostRolled  = 20
	keptMessage = "leslie: turn"
)

// TurnRef is the ref of the work of a thread at a turn's end.
func TurnRef(id string, turn int) string { return turnRefs + id + "/" + strconv.Itoa(turn) }

// SetTurn sets the ref of a turn, and deletes those of the thread's turns before another
// one and of later ones.
func (r *Repo) SetTurn(ctx context.Context, id string, turn, oldest int, c Commit) error {
	refs, err := r.numbered(ctx, turnRefs+id+"/")
	if err != nil {
		return err
	}
	if err := r.UpdateRef(ctx, TurnRef(id, turn), c, AnyOldValue, keptMessage); err != nil {
		return err
	}
	return r.deleteRefs(ctx, refs, func(n int) bool { return n < oldest || n > turn })
}

// NewRolled returns the name of a new ref for what is exchanged in a thread's worktree,
// and deletes the oldest if there are many.
func (r *Repo) NewRolled(ctx context.Context, id string) (string, error) {
	refs, err := r.numbered(ctx, rolledRefs+id+"/")
	if err != nil {
		return "", err
	}
	last := 0
	for n := range refs {
		last = max(last, n)
	}
	err = r.deleteRefs(ctx, refs, func(n int) bool { return n <= last+1-mostRolled })
	return rolledRefs + id + "/" + strconv.Itoa(last+1), err
}

// deleteRefs deletes those of some refs whose number says so.
func (r *Repo) deleteRefs(ctx context.Context, refs map[int]string, goes func(n int) bool) error {
	for n, ref := range refs {
		if goes(n) {
			if err := r.UpdateRef(ctx, ref, "", AnyOldValue, keptMessage); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbered returns the refs below a name, by the number at their end.
func (r *Repo) numbered(ctx context.Context, below string) (map[int]string, error) {
	out, err := r.at(ctx, command{args: []string{"for-each-ref", "--format=%(refname)", "--", below}})
	if err != nil {
		return nil, broken(err)
	}
	all := map[int]string{}
	for ref := range strings.FieldsSeq(string(out)) {
		if n, err := strconv.Atoi(strings.TrimPrefix(ref, below)); err == nil {
			all[n] = ref
		}
	}
	return all, nil
}

// DeleteIfReachable deletes a ref whose commit a branch has, and reports whether it is gone.
func (r *Repo) DeleteIfReachable(ctx context.Context, ref string) (gone bool, err error) {
	at, err := r.Resolve(ctx, ref)
	if err != nil || at == "" {
		return err == nil, err
	}
	with, err := r.BranchWith(ctx, at)
	if err != nil || with == "" {
		return false, err
	}
	err = r.UpdateRef(ctx, ref, "", at, "leslie: no longer needed")
	return err == nil, err
}

// DropRef deletes a ref, wherever it is.
func (r *Repo) DropRef(ctx context.Context, ref string) error {
	at, err := r.Resolve(ctx, ref)
	if err != nil || at == "" {
		return err
	}
	return r.UpdateRef(ctx, ref, "", at, "leslie: no longer needed")
}
