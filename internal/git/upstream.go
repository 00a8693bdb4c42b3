package git

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// This file finds what others have pushed to branches, as far as it was fetched, and what other
// machines of the project have sent.

const (
	heads    = "refs/heads/"
	remotes  = "refs/remotes/"
	machines = "refs/leslie/machines/" // see MachineRef
)

// Upstreams has the branches of remotes that branches here may have been pushed to: those with
// the same name, and the one that is configured; and those that other machines have sent. Refs
// with commits, by branch.
type Upstreams map[string]map[string]Commit

// Upstream is a branch of a remote, as it was fetched last, that has commits which a branch
// here lacks.
type Upstream struct {
	Name   string // "origin/leslie/health", "leslie/machines/tower-k3v7q2ma/leslie/health"
	Commit Commit
	// Ahead is how many commits it has that the branch lacks; Behind is how many the branch
	// has that it lacks: 0 if the branch can be moved forward to it.
	Ahead, Behind int
}

// IsRemote reports whether a ref is a branch of a remote, as it was fetched or pushed to last.
func IsRemote(ref string) bool { return strings.HasPrefix(ref, remotes) }

// Upstreams finds the upstreams of branches.
func (r *Repo) Upstreams(ctx context.Context, branches ...string) (Upstreams, error) {
	args := []string{"for-each-ref", "--format=%(objectname) %(refname) %(upstream)", "--"}
	for _, branch := range branches {
		args = append(args, heads+branch, remotes+"*/"+branch, machines+"*/"+branch)
	}
	out, err := r.at(ctx, command{args: args})
	if err != nil {
		return nil, broken(err)
	}
	all, commits := Upstreams{}, map[string]Commit{}
	add := func(branch, ref string) {
		if all[branch] == nil {
			all[branch] = map[string]Commit{}
		}
		all[branch][ref] = ""
	}
	for line := range strings.Lines(string(out)) {
		commit, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		ref, configured, _ := strings.Cut(rest, " ")
		if branch, own := strings.CutPrefix(ref, heads); own {
			if strings.HasPrefix(configured, remotes) {
				add(branch, configured)
			}
			continue
		}
		commits[ref] = Commit(commit)
		_, branch, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(ref, remotes), machines), "/")
		add(branch, ref)
	}
	var unknown []string
	for _, refs := range all {
		for ref := range refs {
			if commits[ref] == "" {
				unknown = append(unknown, ref)
			}
		}
	}
	more, err := r.Tips(ctx, unknown)
	maps.Copy(commits, more)
	for _, refs := range all {
		for ref := range refs {
			refs[ref] = commits[ref]
		}
	}
	return all, err
}

// AheadOf is Ahead for one branch.
func (r *Repo) AheadOf(ctx context.Context, branch string, tip Commit, begun string) (found Upstream, ok bool, err error) {
	all, err := r.Upstreams(ctx, branch)
	if err != nil {
		return found, false, err
	}
	return r.Ahead(ctx, all, branch, tip, begun)
}

// Ahead returns the upstream that is furthest ahead of a branch with its tip; ok is false if
// none is. begun is the ref from which the branch began, "" for none: what others do there is
// not the branch's.
func (r *Repo) Ahead(ctx context.Context, all Upstreams, branch string, tip Commit, begun string) (found Upstream, ok bool, err error) {
	for _, ref := range slices.Sorted(maps.Keys(all[branch])) {
		commit := all[branch][ref]
		_, name, _ := strings.Cut(strings.TrimPrefix(ref, remotes), "/")
		if commit == "" || commit == tip || ref == begun || heads+name == begun {
			continue
		}
		u := Upstream{Name: strings.TrimPrefix(strings.TrimPrefix(ref, remotes), "refs/"), Commit: commit}
		if u.Behind, u.Ahead, err = r.Count(ctx, tip, commit); err != nil {
			return found, false, err
		}
		if u.Ahead > found.Ahead {
			found = u
		}
	}
	return found, found.Ahead > 0, nil
}
