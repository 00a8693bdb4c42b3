package git

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// This file takes commits of a branch to another clone of the repository, as git bundles them.

// MachineRef is the ref that keeps what another machine has sent of a branch.
func MachineRef(machine, branch string) string { return machines + machine + "/" + branch }

// Bundled is what a branch had when it was bundled.
type Bundled struct {
	Tip Commit
	// Data is the git bundle with what no remote of the repository is known to have; nil for
	// nothing.
	Data []byte
}

// TooLargeError says that what would be bundled is larger than the caller's limit.
type TooLargeError struct{ Size, Limit int64 } // in bytes, as git has it on the disk

// Error names the sizes.
func (e *TooLargeError) Error() string {
	return "they take " + strconv.FormatInt(e.Size>>20, 10) + " MiB, and " + strconv.FormatInt(e.Limit>>20, 10) + " MiB is the limit"
}

// Bundle bundles a branch, unless what it has is larger than limit (in bytes). The zero value is
// for a branch that is not there. Errors: a *TooLargeError.
func (r *Repo) Bundle(ctx context.Context, branch string, limit int64) (b Bundled, err error) {
	if b.Tip, err = r.Branch(ctx, branch); err != nil || b.Tip == "" {
		return b, err
	}
	out, err := r.at(ctx, command{args: []string{"rev-list", "--objects", "--disk-usage", string(b.Tip), "--not", "--remotes"}})
	if err != nil {
		return b, broken(err)
	}
	size, _ := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	switch {
	case size == 0:
		return b, nil
	case size > limit:
		return b, &TooLargeError{size, limit}
	}
	out, err = r.at(ctx, command{args: []string{"bundle", "create", "--quiet", "-", heads + branch, "--not", "--remotes"}})
	if err != nil {
		return b, broken(err)
	}
	if tip := bundledTip(out, heads+branch); tip != "" {
		b.Tip = tip
	}
	b.Data = out
	return b, nil
}

// headOf has the lines with which a bundle begins: "-COMMIT ..." for each that it builds on, then
// "COMMIT REF" for each that it has.
func headOf(bundle []byte) iter.Seq[string] {
	head, _, _ := bytes.Cut(bundle, []byte("\n\n"))
	return strings.Lines(string(head))
}

// bundledTip is the commit of a ref that a bundle's head names.
func bundledTip(bundle []byte, ref string) Commit {
	for line := range headOf(bundle) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == ref {
			return Commit(id)
		}
	}
	return ""
}

// LacksError says that a bundle is for clones with commits that this one lacks.
type LacksError struct{ Commits []Commit }

// Error names the first.
func (e *LacksError) Error() string {
	return "this clone lacks the commit " + string(e.Commits[0])[:12] + " on which they build"
}

// Unbundle adds the commits of a bundle to the repository. No ref moves. Errors: a *LacksError;
// T505, T801.
func (r *Repo) Unbundle(ctx context.Context, bundle []byte) error {
	dir, remove, err := r.scratch()
	if err != nil {
		return err
	}
	defer remove()
	file := filepath.Join(dir, "bundle")
	if err := os.WriteFile(file, bundle, 0o600); err != nil {
		return writeFailed(file, err)
	}
	_, err = r.at(ctx, command{args: []string{"bundle", "unbundle", file}})
	var f *failure
	if errors.As(err, &f) && strings.Contains(f.stderr, "prerequisite commits") {
		if lacks := r.prerequisites(ctx, bundle); len(lacks) > 0 {
			return &LacksError{lacks}
		}
	}
	return broken(err)
}

// prerequisites are the commits that a bundle builds on and the repository lacks.
func (r *Repo) prerequisites(ctx context.Context, bundle []byte) (lacks []Commit) {
	for line := range headOf(bundle) {
		id, is := strings.CutPrefix(line, "-")
		id, _, _ = strings.Cut(strings.TrimSpace(id), " ")
		if !is || len(id) != r.hash {
			continue
		}
		if at, err := r.Resolve(ctx, id); err == nil && at == "" {
			lacks = append(lacks, Commit(id))
		}
	}
	return lacks
}

// CheckedOut returns the worktree that has a branch checked out, nil for none.
func (r *Repo) CheckedOut(ctx context.Context, branch string) (*Listed, error) {
	all, err := r.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(all, func(w Listed) bool { return w.Branch == branch }); i >= 0 {
		return &all[i], nil
	}
	return nil, nil
}
