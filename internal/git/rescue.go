package git

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file keeps what a worktree has beyond its branch, as one commit in the shape of a
// stash:
//
//	rescue ── head of the worktree
//	   ├───── the index ── head
//	   └───── what git does not track ── the index file itself
//
// Files are kept as their bytes are, without conversion of line ends and without filters:
// the files are read here, and git is only asked which there are.

// Limits of what is kept of what git ignores.
const (
	ignoredSize  = 1 << 20 // of one file, in bytes
	ignoredFiles = 1000    // of one folder that is ignored as a whole
	ignoredTotal = 64 << 20
)

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
	w.repo = w.repo.durable()
	s, err := w.survey(ctx, everything)
	if err != nil {
		return Rescued{}, err
	}
	out := Rescued{
		Head: s.status.Head, Branch: s.status.Branch, Changed: s.changed, Untracked: len(s.untracked), Ignored: len(s.ignored), Dropped: s.dropped,
	}
	if out.Branch != "" && out.Changed+out.Untracked+out.Ignored == 0 {
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
	s, err := w.survey(ctx, everything)
	if err != nil {
		return Rescued{}, err
	}
	return Rescued{
		Head: s.status.Head, Branch: s.status.Branch, Changed: s.changed, Untracked: len(s.untracked), Ignored: len(s.ignored), Dropped: s.dropped,
	}, nil
}

// extent says what of a worktree is kept.
type extent bool

const (
	// everything: also what git ignores; repositories within prevent it.
	everything extent = true
	// ownWork leaves out what git ignores, and repositories within.
	ownWork extent = false
)

// survey is what a worktree has.
type survey struct {
	w      Worktree
	extent extent
	files  *folder
	status Status
	// differs has the tracked paths whose bytes are not the object in the index; converted
	// those of them that git writes itself when it checks the object out.
	differs, gone, converted    []string
	untracked, ignored, dropped []string
	changed                     int
}

func (w Worktree) survey(ctx context.Context, extent extent) (*survey, error) {
	if err := w.CheckIdle(); err != nil {
		return nil, err
	}
	s := &survey{w: w, extent: extent, files: newFolder(w.Dir)}
	var err error
	if s.status, err = w.Status(ctx); err != nil {
		return nil, err
	}
	switch {
	case len(s.status.Unmerged) > 0:
		return nil, w.busy("A merge (" + s.status.Unmerged[0] + " is not resolved)")
	case s.status.Head == "":
		return nil, w.busy("A branch without a commit")
	}
	if err := s.others(ctx); err != nil {
		return nil, err
	}
	if err := s.tracked(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (w Worktree) busy(what string) *codes.Error {
	return codes.WorktreeBusy.New(fact.Of("path", w.Dir), fact.Of("what", what))
}

// ownRepository is T805 for a folder with commits that are nowhere else.
func (w Worktree) ownRepository(name string) error {
	return codes.WorktreeBusy.New(fact.Of("path", w.Dir), fact.Of("what", "Work in a repository of its own ("+name+")")).
		WithHint("leslie does not look into submodules and nested repositories; move it away, then repeat the call")
}

// tracked compares each file of the index with its object.
func (s *survey) tracked(ctx context.Context) error {
	out, err := s.w.run(ctx, command{options: []string{"--no-optional-locks"}, args: []string{"ls-files", "-v", "--stage", "-z"}})
	if err != nil {
		return broken(err)
	}
	dirty := map[string]bool{}
	for _, name := range s.status.Dirty {
		dirty[name] = true
	}
	s.changed = len(s.status.Dirty)
	for _, line := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, name, _ := strings.Cut(line, "\t")
		field := strings.Fields(head) // tag, mode, object, stage
		if len(field) != 4 {
			continue
		}
		if field[1] == "160000" {
			if s.extent == everything && s.files.filled(name) {
				return s.w.ownRepository(name)
			}
			continue
		}
		is, err := s.files.blob(name, s.w.repo.hash)
		hidden := field[0] != "H" // git was told not to look at it
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.gone = append(s.gone, name)
		case err != nil:
			return err
		case is.Object == field[2] && is.Mode == field[1]:
			if is.size == 0 { // perhaps only its name was added, and the index as a tree lacks it
				s.differs = append(s.differs, name)
			}
		case !hidden && !dirty[name] && is.size > ignoredSize:
			s.converted = append(s.converted, name)
		default:
			s.differs = append(s.differs, name)
			if hidden && !dirty[name] {
				s.changed++
			}
		}
	}
	return nil
}

// others finds the files that git does not track.
func (s *survey) others(ctx context.Context) error {
	if s.extent == ownWork {
		all, err := s.list(ctx, "--others", "--exclude-standard")
		for _, name := range all {
			if !strings.HasSuffix(name, "/") && !s.files.ownGit(name) {
				s.untracked = append(s.untracked, name)
			}
		}
		return err
	}
	if err := s.files.readable(); err != nil {
		return err // git would pass over what is in it
	}
	all, err := s.list(ctx, "--others")
	if err != nil {
		return err
	}
	ignored, err := s.list(ctx, "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return err
	}
	dirs := map[string]*total{} // ignored as a whole
	files := map[string]bool{}
	for _, name := range ignored {
		if strings.HasSuffix(name, "/") {
			dirs[name] = &total{}
		} else {
			files[name] = true
		}
	}
	var kept []string
	for _, name := range all {
		if strings.HasSuffix(name, "/") || s.files.ownGit(name) {
			return s.w.ownRepository(strings.TrimSuffix(name, "/"))
		}
		dir, within := above(name, dirs)
		if !within && !files[name] {
			s.untracked = append(s.untracked, name)
			continue
		}
		info, err := s.files.lstat(name)
		if err != nil {
			return err
		}
		if info.Size() > ignoredSize {
			s.dropped = append(s.dropped, name)
			continue
		}
		kept = append(kept, name)
		if within {
			dir.files++
			dir.size += info.Size()
		}
	}
	for name, t := range dirs {
		if t.large() {
			s.dropped = append(s.dropped, name)
		}
	}
	for _, name := range kept {
		if dir, within := above(name, dirs); !within || !dir.large() {
			s.ignored = append(s.ignored, name)
		}
	}
	return nil
}

// total is how much an ignored folder has.
type total struct {
	files int
	size  int64
}

func (t total) large() bool { return t.files > ignoredFiles || t.size > ignoredTotal }

// above returns the folder of a set that a file is in.
func above(name string, dirs map[string]*total) (*total, bool) {
	for i := range len(name) {
		if name[i] == '/' {
			if t, ok := dirs[name[:i+1]]; ok {
				return t, true
			}
		}
	}
	return nil, false
}

func (s *survey) list(ctx context.Context, options ...string) ([]string, error) {
	out, err := s.w.run(ctx, command{options: []string{"--no-optional-locks"}, args: append([]string{"ls-files", "-z"}, options...)})
	if err != nil {
		return nil, broken(err)
	}
	return splitNames(out), nil
}

func splitNames(out []byte) []string {
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 })
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
		return "", readFailed(private.file, err)
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
	if len(plain) > 0 {
		var lines strings.Builder
		for _, name := range plain {
			lines.WriteString(s.files.path(name) + "\n")
		}
		out, err := s.w.repo.at(ctx, command{stdin: []byte(lines.String()), args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}})
		if err != nil {
			return broken(err)
		}
		objects = append(objects, strings.Fields(string(out))...)
	}
	all := append(special, plain...)
	if len(objects) != len(all) {
		return unavailable(nil, "git hash-object: unexpected answer")
	}
	for i, name := range all {
		into[name] = Blob{into[name].Mode, objects[i]}
	}
	return nil
}

// privateIndex is a copy of a worktree's index.
type privateIndex struct {
	w       Worktree
	remove  func()
	file    string
	filters []setting // git compares files that changed just now, through their filters, when it writes an index
}

// copyIndex copies the worktree's index, as one file and without what git remembers of
// the folder it is in.
func (w Worktree) copyIndex(ctx context.Context) (*privateIndex, error) {
	filters, err := w.repo.withoutFilters(ctx)
	if err != nil {
		return nil, err
	}
	dir, remove, err := w.repo.scratch()
	if err != nil {
		return nil, err
	}
	p := &privateIndex{w, remove, filepath.Join(dir, "index"), filters}
	if err := copyIndex(filepath.Join(w.Admin, "index"), p.file); err != nil {
		p.close()
		return nil, err
	}
	if _, err := p.run(ctx, command{args: []string{"update-index", "--no-split-index", "--no-untracked-cache", "--force-write-index"}}); err != nil {
		p.close()
		return nil, broken(err)
	}
	return p, nil
}

func (p *privateIndex) close() { p.remove() }

func (p *privateIndex) run(ctx context.Context, c command) ([]byte, error) {
	c.env = append(c.env, "GIT_INDEX_FILE="+p.file)
	c.with = append(c.with, p.filters...)
	return p.w.run(ctx, c)
}

func (p *privateIndex) writeTree(ctx context.Context) (string, error) {
	out, err := p.run(ctx, command{args: []string{"write-tree"}})
	return strings.TrimSpace(string(out)), broken(err)
}

// Snapshot returns a tree of the files that git tracks or would track, as they are now,
// and whether that differs from the head. Repositories within are left as the index has
// them. Errors: T805 for unmerged paths.
func (w Worktree) Snapshot(ctx context.Context) (tree string, changed bool, err error) {
	s, err := w.snapshot(ctx)
	return s.tree, s.changed, err
}

// snapshot is a tree of the files as they are.
type snapshot struct {
	status  Status
	tree    string
	changed bool // from the head
	// gone and there have the paths in which they differ from the index, NUL-terminated.
	gone, there string
}

func (w Worktree) snapshot(ctx context.Context) (s snapshot, err error) {
	if s.status, err = w.Status(ctx); err != nil {
		return s, err
	}
	if len(s.status.Unmerged) > 0 {
		return s, w.busy("A merge (" + s.status.Unmerged[0] + " is not resolved)")
	}
	p, err := w.copyIndex(ctx)
	if err != nil {
		return s, err
	}
	defer p.close()
	links, err := p.submodules(ctx)
	if err != nil {
		return s, err
	}
	out, err := p.run(ctx, command{args: []string{"ls-files", "-z", "-m", "-d", "-o", "--exclude-standard"}})
	if err != nil {
		return s, broken(err)
	}
	files := newFolder(w.Dir)
	for _, name := range splitNames(out) {
		switch _, err := files.lstat(name); {
		case strings.HasSuffix(name, "/") || links[name]:
		case err != nil:
			s.gone += name + "\x00"
		default:
			s.there += name + "\x00"
		}
	}
	if err := s.stage(ctx, p.run); err != nil {
		return s, err
	}
	if s.tree, err = p.writeTree(ctx); err != nil || s.status.Head == "" {
		s.changed = true
		return s, err
	}
	was, err := w.repo.tree(ctx, s.status.Head)
	s.changed = s.tree != was
	return s, err
}

// stage brings an index up to date with the files.
func (s snapshot) stage(ctx context.Context, run func(context.Context, command) ([]byte, error)) error {
	for _, update := range []command{
		{stdin: []byte(s.gone), args: []string{"update-index", "--force-remove", "-z", "--stdin"}},
		{stdin: []byte(s.there), args: []string{"update-index", "--add", "--remove", "--replace", "-z", "--stdin"}},
	} {
		if len(update.stdin) == 0 {
			continue
		}
		if _, err := run(ctx, update); err != nil {
			return broken(err)
		}
	}
	return nil
}

func (p *privateIndex) submodules(ctx context.Context) (map[string]bool, error) {
	out, err := p.run(ctx, command{args: []string{"ls-files", "--stage", "-z"}})
	if err != nil {
		return nil, broken(err)
	}
	links := map[string]bool{}
	for _, line := range splitNames(out) {
		if head, name, _ := strings.Cut(line, "\t"); strings.HasPrefix(head, "160000 ") {
			links[name] = true
		}
	}
	return links, nil
}

// tree returns the tree of a commit.
func (r *Repo) tree(ctx context.Context, c Commit) (string, error) {
	out, err := r.at(ctx, command{args: []string{"rev-parse", "--verify", "--end-of-options", string(c) + "^{tree}"}})
	return strings.TrimSpace(string(out)), broken(err)
}

func readFailed(name string, err error) error {
	return codes.ReadFailed.Wrap(err, fact.Of("path", name), fact.Of("reason", codes.Reason(err)))
}

// folder reads the files of a worktree, never through a link.
type folder struct {
	root string
	real map[string]bool // whether a folder is one and is not reached through a link
	gits map[string]bool // whether a folder has a .git
}

func newFolder(root string) *folder {
	return &folder{root, map[string]bool{".": true}, map[string]bool{".": false}}
}

func (f *folder) path(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }

func (f *folder) isReal(dir string) bool {
	is, known := f.real[dir]
	if !known {
		if is = f.isReal(path.Dir(dir)); is {
			info, err := os.Lstat(f.path(dir))
			is = err == nil && info.IsDir()
		}
		f.real[dir] = is
	}
	return is
}

// ownGit reports whether a file is in a folder, below the top, that has a .git.
func (f *folder) ownGit(name string) bool {
	dir := path.Dir(name)
	has, known := f.gits[dir]
	if !known {
		_, err := os.Lstat(filepath.Join(f.path(dir), ".git"))
		has = err == nil || f.ownGit(dir)
		f.gits[dir] = has
	}
	return has
}

// readable returns T509 if a folder cannot be read: what is in it would not be kept.
func (f *folder) readable() error {
	return filepath.WalkDir(f.root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return readFailed(name, err)
		}
		return nil
	})
}

// filled reports whether a folder has anything.
func (f *folder) filled(name string) bool {
	if !f.isReal(name) {
		return false
	}
	dir, err := os.Open(f.path(name))
	if err != nil {
		return true
	}
	defer func() { _ = dir.Close() }()
	_, err = dir.Readdirnames(1)
	return !errors.Is(err, io.EOF)
}

// lstat returns fs.ErrNotExist also for a folder, and behind a link.
func (f *folder) lstat(name string) (fs.FileInfo, error) {
	if !f.isReal(path.Dir(name)) {
		return nil, fs.ErrNotExist
	}
	info, err := os.Lstat(f.path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, readFailed(f.path(name), err)
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		return nil, fs.ErrNotExist
	}
	return info, nil
}

func (f *folder) read(name string) ([]byte, error) {
	info, err := f.lstat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		data, err := os.ReadFile(f.path(name))
		if err != nil {
			return nil, readFailed(f.path(name), err)
		}
		return data, nil
	}
	to, err := os.Readlink(f.path(name))
	if err != nil {
		return nil, readFailed(f.path(name), err)
	}
	return []byte(filepath.ToSlash(to)), nil
}

// hashed is a file as git would store its bytes.
type hashed struct {
	Blob
	size int64
}

// blob hashes a file. Errors: fs.ErrNotExist.
func (f *folder) blob(name string, length int) (hashed, error) {
	info, err := f.lstat(name)
	if err != nil {
		return hashed{}, err
	}
	out := hashed{Blob{Mode: modeOf(info)}, info.Size()}
	sum := hash.Hash(sha1.New())
	if length == 64 {
		sum = sha256.New()
	}
	if !info.Mode().IsRegular() {
		to, err := f.read(name)
		if err != nil {
			return hashed{}, err
		}
		_, _ = io.WriteString(sum, "blob "+strconv.Itoa(len(to))+"\x00"+string(to))
	} else {
		file, err := os.Open(f.path(name))
		if err != nil {
			return hashed{}, readFailed(f.path(name), err)
		}
		defer func() { _ = file.Close() }()
		_, _ = io.WriteString(sum, "blob "+strconv.FormatInt(info.Size(), 10)+"\x00")
		if _, err := io.Copy(sum, file); err != nil {
			return hashed{}, readFailed(f.path(name), err)
		}
	}
	out.Object = hex.EncodeToString(sum.Sum(nil))
	return out, nil
}

func modeOf(info fs.FileInfo) string {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return "120000"
	case info.Mode()&0o100 != 0:
		return "100755"
	}
	return "100644"
}
