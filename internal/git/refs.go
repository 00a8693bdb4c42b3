package git

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// Commit is the full object id of a commit.
type Commit string

// Resolve returns the commit that a revision names, "" if it names none.
func (r *Repo) Resolve(ctx context.Context, revision string) (Commit, error) {
	out, err := r.at(ctx, command{args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"}})
	if err != nil {
		if exited(err, 1) || exited(err, 128) {
			return "", nil
		}
		return "", broken(err)
	}
	return Commit(strings.TrimSpace(string(out))), nil
}

// Branch returns the commit at the tip of a branch, "" if there is no such branch.
func (r *Repo) Branch(ctx context.Context, name string) (Commit, error) {
	return r.Resolve(ctx, "refs/heads/"+name)
}

// ValidBranch reports whether git accepts a name for a branch.
func (r *Repo) ValidBranch(ctx context.Context, name string) (bool, error) {
	_, err := r.at(ctx, command{args: []string{"check-ref-format", "--branch", name}})
	if err != nil && !exited(err, 1) && !exited(err, 128) {
		return false, broken(err)
	}
	return err == nil, nil
}

// MergeBase returns the best common ancestor of two commits, "" if they have none.
func (r *Repo) MergeBase(ctx context.Context, a, b Commit) (Commit, error) {
	out, err := r.at(ctx, command{args: []string{"merge-base", string(a), string(b)}})
	if err != nil && !exited(err, 1) {
		return "", broken(err)
	}
	return Commit(strings.TrimSpace(string(out))), nil
}

// Contains reports whether a commit is an ancestor of another, or the same.
func (r *Repo) Contains(ctx context.Context, descendant, ancestor Commit) (bool, error) {
	_, err := r.at(ctx, command{args: []string{"merge-base", "--is-ancestor", string(ancestor), string(descendant)}})
	if err != nil && !exited(err, 1) {
		return false, broken(err)
	}
	return err == nil, nil
}

// SameTree reports whether two revisions have the same content; each may be a tree.
func (r *Repo) SameTree(ctx context.Context, a, b string) (bool, error) {
	out, err := r.at(ctx, command{args: []string{"rev-parse", a + "^{tree}", b + "^{tree}"}})
	trees := strings.Fields(string(out))
	return len(trees) == 2 && trees[0] == trees[1], broken(err)
}

// OnRemote reports whether a branch of a remote, as it was seen last, has a commit.
func (r *Repo) OnRemote(ctx context.Context, c Commit) (bool, error) {
	out, err := r.at(ctx, command{args: []string{"for-each-ref", "--count=1", "--contains=" + string(c), "--format=%(refname)", "refs/remotes/"}})
	if err != nil {
		return false, broken(err)
	}
	return len(strings.TrimSpace(string(out))) > 0, nil
}

// Identity returns the variables by which git commits as it does here, whatever configuration it
// reads: none where it does not know who commits.
func (r *Repo) Identity(ctx context.Context) (env []string) {
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		out, err := r.at(ctx, command{args: []string{"var", "GIT_" + who + "_IDENT"}})
		name, rest, ok := strings.Cut(string(out), " <")
		email, _, whole := strings.Cut(rest, ">")
		if err != nil || !ok || !whole {
			return nil
		}
		env = append(env, "GIT_"+who+"_NAME="+name, "GIT_"+who+"_EMAIL="+email)
	}
	return env
}

// Newest returns the newest commits that a commit has and none of others has, the newest first, with their first
// lines. One of the others that is not there has nothing.
func (r *Repo) Newest(ctx context.Context, most int, of Commit, without ...Commit) ([]CommitSummary, error) {
	args := []string{"log", "--format=%H %s", "--ignore-missing", "--max-count=" + strconv.Itoa(most), string(of)}
	for _, other := range without {
		args = append(args, "^"+string(other))
	}
	out, err := r.at(ctx, command{args: append(args, "--")})
	return summaries(out), broken(err)
}

// summaries reads lines with a commit and its subject.
func summaries(out []byte) (all []CommitSummary) {
	for line := range strings.Lines(string(out)) {
		id, subject, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all = append(all, CommitSummary{Commit: Commit(id), Subject: subject})
	}
	return all
}

// mostDangling is how many commits Dangling returns at most.
const mostDangling = 5

// Dangling returns commits that go on from another one and that no branch, no other ref and no other commit has, the
// newest first, without those of leslie's own: the last ones of branches that were deleted. Git looks at all objects for
// it.
func (r *Repo) Dangling(ctx context.Context, from Commit) (all []CommitSummary, err error) {
	out, err := r.at(ctx, command{args: []string{"fsck", "--dangling", "--no-reflogs", "--connectivity-only", "--no-progress"}})
	if err != nil {
		return nil, broken(err)
	}
	var dangling []string
	for line := range strings.Lines(string(out)) {
		if id, is := strings.CutPrefix(strings.TrimSpace(line), "dangling commit "); is {
			dangling = append(dangling, id)
		}
	}
	if len(dangling) == 0 {
		return nil, nil
	}
	after, err := r.commits(ctx, command{
		args:  []string{"rev-list", "--ancestry-path", "--stdin"},
		stdin: []byte("^" + string(from) + "\n" + strings.Join(dangling, "\n") + "\n"),
	})
	if err != nil {
		return nil, err
	}
	later := slices.DeleteFunc(dangling, func(id string) bool { return !after[Commit(id)] })
	if len(later) == 0 {
		return nil, nil
	}
	// In this order: git walks for a count that comes behind.
	args := []string{
		"log", "--max-count=" + strconv.Itoa(mostDangling), "--no-walk=sorted", "--invert-grep", "--grep=^leslie: ",
		"--format=%H %s",
	}
	out, err = r.at(ctx, command{args: append(args, later...)})
	return summaries(out), broken(err)
}

// BranchWith returns a branch that has a commit, none of those that are named; "" for none.
func (r *Repo) BranchWith(ctx context.Context, c Commit, but ...string) (string, error) {
	out, err := r.at(ctx, command{args: []string{"for-each-ref", "--count=" + strconv.Itoa(len(but)+1), "--contains=" + string(c), "--format=%(refname)", "refs/heads/"}})
	for _, ref := range strings.Fields(string(out)) {
		if branch := strings.TrimPrefix(ref, "refs/heads/"); !slices.Contains(but, branch) {
			return branch, nil
		}
	}
	return "", broken(err)
}

// RemotesWith returns the remotes that have a branch, as they were fetched or pushed to last.
func (r *Repo) RemotesWith(ctx context.Context, branch string) (names []string, err error) {
	out, err := r.at(ctx, command{args: []string{"for-each-ref", "--format=%(refname)", remotes + "*/" + branch}})
	for _, ref := range strings.Fields(string(out)) {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(ref, remotes), "/"+branch))
	}
	return names, broken(err)
}

// Fetched reports whether a branch of some remote, as it was fetched last, has a commit.
func (r *Repo) Fetched(ctx context.Context, branch string, c Commit) (bool, error) {
	if branch == "" {
		return false, nil
	}
	out, err := r.at(ctx, command{args: []string{
		"for-each-ref", "--count=1", "--contains=" + string(c), "--format=%(refname)", remotes + "*/" + branch,
	}})
	return err == nil && len(out) > 0, broken(err)
}

// Count returns how many commits each of two commits has that the other has not.
func (r *Repo) Count(ctx context.Context, a, b Commit) (onlyA, onlyB int, err error) {
	out, err := r.at(ctx, command{args: []string{"rev-list", "--left-right", "--count", string(a) + "..." + string(b)}})
	if err != nil {
		return 0, 0, broken(err)
	}
	left, right, _ := strings.Cut(strings.TrimSpace(string(out)), "\t")
	return number(left), number(right), nil
}

// Remade returns the commits of two lines that the other line has again, as after a rebase: as a commit of the same
// author, time and first line that makes the same change.
func (r *Repo) Remade(ctx context.Context, one, other Commit) (map[Commit]bool, error) {
	args := []string{"log", "--cherry-mark", "--format=%m%H %at %ae %s", string(one) + "..." + string(other), "--"}
	out, err := r.at(ctx, command{args: args})
	if err != nil {
		return nil, broken(err)
	}
	same := map[string][]Commit{}
	for line := range strings.Lines(string(out)) {
		if rest, is := strings.CutPrefix(line, "="); is { // no change equals no change, too
			id, made, _ := strings.Cut(rest, " ")
			same[made] = append(same[made], Commit(id))
		}
	}
	commits := map[Commit]bool{}
	for _, all := range same {
		for _, commit := range all {
			commits[commit] = len(all) > 1
		}
	}
	return commits, nil
}

// Brings returns the arguments of git that bring a worktree of a branch, at its tip, what an upstream has: a merge, or,
// where the upstream has each of the branch's commits again, as after a rebase, a move to there.
func (r *Repo) Brings(ctx context.Context, tip Commit, u Upstream) []string {
	merge := []string{"merge", u.Name}
	if u.Behind == 0 {
		return merge
	}
	again, err := r.Remade(ctx, tip, u.Commit)
	if err != nil {
		return merge
	}
	own, err := r.CommitsNotIn(ctx, []Commit{tip}, []Commit{u.Commit})
	for commit := range own {
		if !again[commit] {
			return merge
		}
	}
	if err != nil || len(own) == 0 {
		return merge
	}
	return []string{"reset", "--keep", u.Name}
}

// CommitsNotIn returns the commits that some commits have and none of the others, nor any of
// these, has. A commit that is not there has nothing.
func (r *Repo) CommitsNotIn(ctx context.Context, of, without []Commit) (map[Commit]bool, error) {
	return r.only(ctx, of, without)
}

// OwnCommitsNotIn is Only for what was committed on the lines that end with these commits: what a
// merge brought is left out, the merge is not.
func (r *Repo) OwnCommitsNotIn(ctx context.Context, of, without []Commit) (map[Commit]bool, error) {
	return r.only(ctx, of, without, "--first-parent")
}

func (r *Repo) only(ctx context.Context, of, without []Commit, options ...string) (map[Commit]bool, error) {
	var revisions strings.Builder
	for _, commit := range of {
		revisions.WriteString(string(commit) + "\n")
	}
	for _, commit := range without {
		revisions.WriteString("^" + string(commit) + "\n")
	}
	args := append([]string{"rev-list", "--ignore-missing", "--stdin"}, options...)
	return r.commits(ctx, command{args: args, stdin: []byte(revisions.String())})
}

// FastForwards returns the commits to which merges moved a branch without a merge commit,
// as far back as git keeps its moves.
func (r *Repo) FastForwards(ctx context.Context, branch string) (map[Commit]bool, error) {
	args := []string{"rev-list", "--walk-reflogs", "--grep-reflog=: Fast-forward$", "refs/heads/" + branch, "--"}
	return r.commits(ctx, command{args: args})
}

// HasBeenAt reports whether a branch was at a commit, as far back as git keeps its moves.
func (r *Repo) HasBeenAt(ctx context.Context, branch string, at Commit) (bool, error) {
	places, err := r.commits(ctx, command{args: []string{"rev-list", "--walk-reflogs", "refs/heads/" + branch, "--"}})
	return places[at], err
}

// commits returns the commits that git prints.
func (r *Repo) commits(ctx context.Context, c command) (map[Commit]bool, error) {
	out, err := r.at(ctx, c)
	if err != nil {
		return nil, broken(err)
	}
	commits := map[Commit]bool{}
	for _, line := range strings.Fields(string(out)) {
		commits[Commit(line)] = true
	}
	return commits, nil
}

// AnyOldValue is an old commit for UpdateRef that says: wherever it is.
const AnyOldValue Commit = "any"

// UpdateRef moves a ref to a commit if it is where the caller saw it; old "" means that
// it does not exist yet, and to "" deletes it. Error: ErrMoved if it is elsewhere.
func (r *Repo) UpdateRef(ctx context.Context, ref string, to, old Commit, reason string) error {
	return r.updateRef(ctx, r.at, r.Admin, ref, to, old, reason)
}

// updateRef is UpdateRef by a git that also notes it for the head of the worktree with the
// admin folder.
func (r *Repo) updateRef(ctx context.Context, run func(context.Context, command) ([]byte, error), admin, ref string, to, old Commit, reason string) error {
	zero := strings.Repeat("0", r.hash)
	from, target := string(old), string(to)
	if from == "" {
		from = zero
	}
	if target == "" {
		target = zero
	}
	args := []string{"update-ref", "--create-reflog", "-m", reason, "--no-deref", ref, target, from}
	if old == AnyOldValue {
		args = args[:len(args)-1]
	}
	lock, err := r.holdRefs(ctx)
	if err != nil {
		return err
	}
	defer release(lock)
	if _, err = leaving(ctx, run, command{args: args}, lock, r.refLocks(admin, ref)); err == nil {
		return nil
	}
	now, lookErr := r.Resolve(ctx, ref)
	switch {
	case lookErr != nil:
	case now == to && killed(err): // when it had done its work
		return nil
	case now != old && old != AnyOldValue:
		return ErrMoved
	}
	return broken(err)
}
