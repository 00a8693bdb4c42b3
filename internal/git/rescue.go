package git

import (
	"cmp"
	"context"
	"os"
	"strings"

	"leslie/codes"
)

// This file keeps what a worktree has beyond its branch, as one commit in the shape of a
// stash:
//
//	rescue ── head of the worktree
//	   ├───── the index ── head
//	   └───── what git does not track ── the index file itself
//
// Files are kept as their bytes are, without conversion of line ends and without filters:
// leslie reads the files (folder.go), and git is only asked which there are (survey.go).

// Rescued says what a rescue keeps.
type Rescued struct {
	// Commit has all of it; "" if there is nothing and the head is on a branch.
	Commit Commit
	Head   Commit
	Branch string // "" if the head is detached
	// Changed, Untracked and Ignored are how many files it has.
	Changed, Untracked, Ignored int
	// Dropped has the ignored files and folders (with "/") that are too large to be kept.
	Dropped []string
}

// durable returns the repository for commands whose objects and refs are on disk when
// they end: what they keep is deleted elsewhere next.
func (r *Repo) durable() *Repo {
	d := *r
	d.system.durable = true
	return &d
}

// Rescue makes a commit of everything that the worktree has and its branch has not. It
// changes neither the worktree nor its index, and no ref. Errors: T805 if something is in
// progress there, or if it has repositories of its own, whose commits would not be kept.
func (w Worktree) Rescue(ctx context.Context, actor string) (Rescued, error) {
	return w.rescue(ctx, actor, "")
}

// rescue is Rescue for a worktree of a branch: of another one that it has checked out it makes a commit, too.
func (w Worktree) rescue(ctx context.Context, actor, own string) (Rescued, error) {
	w.repo = w.repo.durable()
	s, err := w.survey(ctx, everything)
	if err != nil {
		return Rescued{}, err
	}
	out := Rescued{
		Head: s.status.Head, Branch: s.status.Branch, Changed: s.changed, Untracked: len(s.untracked), Ignored: len(s.ignored), Dropped: s.dropped,
	}
	if out.Branch != "" && (own == "" || out.Branch == own) && out.Changed+out.Untracked+out.Ignored == 0 {
		return out, nil
	}
	out.Commit, err = s.keep(ctx, actor)
	return out, err
}

// CheckRemovable returns T805 where Rescue would, and if somebody has the worktree locked,
// and what Rescue would keep, without Commit.
func (w Worktree) CheckRemovable(ctx context.Context) (Rescued, error) {
	if err := w.CheckUnlocked(); err != nil {
		return Rescued{}, err
	}
	s, err := w.survey(ctx, amount)
	if err != nil {
		return Rescued{}, err
	}
	return Rescued{
		Head: s.status.Head, Branch: s.status.Branch, Changed: s.changed, Untracked: len(s.untracked), Ignored: len(s.ignored), Dropped: s.dropped,
	}, nil
}

// The message of a rescue; a line "Branch: NAME" follows for a head on a branch.
const rescueMessage = "leslie: what was not committed"

const branchLine = "\nBranch: "

// Files beside the index in the innermost commit.
const (
	keptIndex     = "index"
	keptConverted = "converted" // the paths that git writes by itself, NUL-separated
)

// keep makes the commits.
func (s *survey) keep(ctx context.Context, actor string) (Commit, error) {
	r := s.w.repo
	private, err := s.w.copyIndex(ctx)
	if err != nil {
		return "", err
	}
	defer private.close()
	staged, err := private.writeTree(ctx)
	if err != nil {
		return "", err
	}
	index, err := os.ReadFile(private.file)
	if err != nil {
		return "", codes.ReadFailed.OfPath(private.file, err)
	}
	work := map[string]Blob{}
	for _, name := range s.gone {
		work[name] = Blob{}
	}
	if err := s.put(ctx, s.differs, work); err != nil {
		return "", err
	}
	rest := map[string]Blob{}
	if err := s.put(ctx, append(s.untracked, s.ignored...), rest); err != nil {
		return "", err
	}
	objects, err := r.PutBlobs(ctx, [][]byte{index, []byte(strings.Join(s.converted, "\x00"))})
	if err != nil {
		return "", err
	}
	state := map[string]Blob{keptIndex: {"100644", objects[0]}, keptConverted: {"100644", objects[1]}}
	message := rescueMessage
	if s.status.Branch != "" {
		message += "\n" + branchLine + s.status.Branch
	}
	c := chain{ctx: ctx, repo: r, actor: actor}
	empty := c.empty()
	head := s.status.Head
	inner := c.commit(c.replace(empty, state), "leslie: the index file")
	second := c.commit(staged, "leslie: the index", head)
	third := c.commit(c.replace(empty, rest), "leslie: untracked and ignored files", inner)
	first := c.commit(c.replace(staged, work), message, head, second, third)
	return first, c.err
}

// chain makes trees and commits, until one fails.
type chain struct {
	ctx   context.Context
	repo  *Repo
	actor string
	err   error
}

func (c *chain) empty() string {
	out, err := c.repo.at(c.ctx, command{args: []string{"mktree"}})
	c.err = cmp.Or(c.err, broken(err))
	return strings.TrimSpace(string(out))
}

func (c *chain) replace(tree string, with map[string]Blob) string {
	if c.err != nil {
		return ""
	}
	tree, c.err = c.repo.Replace(c.ctx, tree, with)
	return tree
}

func (c *chain) commit(tree, message string, parents ...Commit) (made Commit) {
	if c.err == nil {
		made, c.err = c.repo.CommitTree(c.ctx, tree, parents, message, c.actor)
	}
	return made
}

// put stores files as they are.
func (s *survey) put(ctx context.Context, names []string, into map[string]Blob) error {
	var plain, special []string // names that git can read line by line, and others
	var contents [][]byte
	for _, name := range names {
		info, err := s.files.lstat(name)
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() && !strings.ContainsAny(s.files.path(name), "\n\r") {
			plain = append(plain, name)
			into[name] = Blob{Mode: modeOf(info)}
			continue
		}
		content, err := s.files.read(name)
		if err != nil {
			return err
		}
		special, contents = append(special, name), append(contents, content)
		into[name] = Blob{Mode: modeOf(info)}
	}
	objects, err := s.w.repo.PutBlobs(ctx, contents)
	if err != nil {
		return err
	}
	var paths []string
	for _, name := range plain {
		paths = append(paths, s.files.path(name))
	}
	more, err := s.w.repo.putFiles(ctx, paths)
	if err != nil {
		return err
	}
	objects = append(objects, more...)
	for i, name := range append(special, plain...) {
		into[name] = Blob{into[name].Mode, objects[i]}
	}
	return nil
}
