package git

import (
	"context"
	"path/filepath"
	"strings"
)

// This file makes a tree of the files of a worktree as they are, by way of a copy of its
// index: neither the worktree nor its own index changes.

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
