package git

import (
	"context"
	"slices"
	"strings"
)

// This file compares commits, trees and the files of a worktree, as git diff does.

// FileDiff is how a file differs between two commits or trees.
type FileDiff struct {
	Path string
	Was  string // its path before, if it was renamed
	// Old and New are the two versions; one that is not there is zero.
	Old, New       Blob
	Binary         bool // no lines: Added and Removed are 0
	Added, Removed int  // lines
	// Patch is the file's part of git's output, "" unless it was asked for.
	Patch string
}

// Diff compares two commits or trees, with renames found as git does. Without patches the
// files have only counts. No program that the repository names runs.
func (r *Repo) Diff(ctx context.Context, old, latest string, patches bool) ([]FileDiff, error) {
	return diff(ctx, r.at, []string{"diff-tree", "-r"}, patches, old, latest)
}

// Uncommitted compares the files of a worktree, whatever git does not ignore, with its head.
// Nothing is written in the repository.
func (w Worktree) Uncommitted(ctx context.Context, patches bool) (files []FileDiff, err error) {
	err = w.withContent(ctx, func(run runner) error {
		files, err = diff(ctx, run, []string{"diff-index", "--cached"}, patches, "HEAD")
		return err
	})
	return files, err
}

// diff runs a command of git that compares what is named.
func diff(ctx context.Context, run runner, how []string, patches bool, named ...string) ([]FileDiff, error) {
	args := append(slices.Clone(how), "-z", "-M", "--no-ext-diff", "--no-textconv", "--no-color", "--raw", "--numstat")
	if patches {
		args = append(args, "--patch")
	}
	out, err := run(ctx, command{args: append(append(args, named...), "--")})
	if err != nil {
		return nil, broken(err)
	}
	files, ok := parseDiff(string(out), patches)
	if !ok {
		return nil, unavailable(nil, "git "+how[0]+": unexpected answer")
	}
	return files, nil
}

// parseDiff reads the answer of git diff-tree or diff-index -z --raw --numstat --patch: first the names of
// all files with their versions, then their counts, then their patches, in the same order.
func parseDiff(out string, patches bool) (files []FileDiff, ok bool) {
	next := func() (field string) {
		field, out, _ = strings.Cut(out, "\x00")
		return field
	}
	for strings.HasPrefix(out, ":") {
		head := strings.Fields(next()[1:])
		if len(head) != 5 {
			return nil, false
		}
		f := FileDiff{Path: next(), Old: Blob{head[0], head[2]}, New: Blob{head[1], head[3]}}
		if strings.ContainsAny(head[4][:1], "RC") {
			f.Was, f.Path = f.Path, next()
		}
		for _, b := range []*Blob{&f.Old, &f.New} {
			if strings.Trim(b.Object, "0") == "" {
				*b = Blob{}
			}
		}
		files = append(files, f)
	}
	for i := range files {
		f := &files[i]
		counts := strings.SplitN(next(), "\t", 3)
		if len(counts) != 3 {
			return nil, false
		}
		if f.Was != "" { // two more fields have its names
			next()
			next()
		}
		f.Added, f.Removed, f.Binary = number(counts[0]), number(counts[1]), counts[0] == "-"
	}
	if !patches {
		return files, out == ""
	}
	return files, addPatches(files, strings.TrimPrefix(out, "\x00"))
}

// addPatches gives each file its patches. A file that became a link, or a link that became
// one, has two: its end and its beginning. No line of a patch begins as its head does, because
// those begin with a sign.
func addPatches(files []FileDiff, text string) (ok bool) {
	const head = "diff --git "
	for i := range files {
		f := &files[i]
		count := 1
		if f.Old.There() && f.New.There() && f.Old.kind() != f.New.kind() {
			count = 2
		}
		for range count {
			if !strings.HasPrefix(text, head) {
				return false
			}
			end := strings.Index(text, "\n"+head) + 1
			if end == 0 {
				end = len(text)
			}
			f.Patch, text = f.Patch+text[:end], text[end:]
		}
	}
	return text == ""
}

// kind is what a path is: a file, a link or a submodule.
func (b Blob) kind() string { return b.Mode[:min(2, len(b.Mode))] }

// Paths returns the paths of a commit's or tree's files, in order.
func (r *Repo) Paths(ctx context.Context, tree string) ([]string, error) {
	out, err := r.at(ctx, command{args: []string{"ls-tree", "-r", "-z", "--name-only", tree}})
	return slices.DeleteFunc(strings.Split(string(out), "\x00"), func(path string) bool { return path == "" }), broken(err)
}

// File returns what a commit has at a path, with "/", from the top; the zero Blob for nothing or a
// folder.
func (r *Repo) File(ctx context.Context, in Commit, path string) (Blob, error) {
	out, err := r.at(ctx, command{args: []string{"ls-tree", "-z", "--full-tree", string(in), "--", path}})
	if err != nil {
		return Blob{}, broken(err)
	}
	entry, name, _ := strings.Cut(strings.TrimSuffix(string(out), "\x00"), "\t")
	fields := strings.Fields(entry)
	if len(fields) != 3 || name != path || fields[1] == "tree" {
		return Blob{}, nil
	}
	return Blob{Mode: fields[0], Object: fields[2]}, nil
}

// MergeThatBrought returns the oldest merge below a branch's tip that has a commit which its
// first parent may lack, "" if no merge brought the commit there.
func (r *Repo) MergeThatBrought(ctx context.Context, commit, tip Commit) (Commit, error) {
	out, err := r.at(ctx, command{args: []string{"rev-list", "--reverse", "--ancestry-path", "--merges", string(commit) + ".." + string(tip)}})
	oldest, _, _ := strings.Cut(string(out), "\n")
	return Commit(oldest), broken(err)
}
