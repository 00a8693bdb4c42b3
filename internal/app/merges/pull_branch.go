package merges

import (
	"context"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/merging"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/merge"
	"leslie/thread"
)

// This file brings a thread's branch up to date with the branch of no thread from which it began,
// as git merges branches. No record changes.

// pulledBranch returns the ref that a thread without a parent's code is brought up to date from,
// and the branch or remote branch that it is; "" for none.
func pulledBranch(t thread.Thread) (ref, name string) {
	owned := t.OwnedCode()
	if owned == nil || owned.Target == "" {
		return "", ""
	}
	return owned.Target, app.BranchOf(owned.Target)
}

// pullBranch merges the branch from which a thread's code began into the thread's branch and its
// worktree. What is not committed there stays. Errors: T903 for what only goes with a thread; T801;
// T802 if that branch is gone; T805; T806 for lines that both changed, and for local work that is
// in the way; T808.
func pullBranch(c *app.Call, in PullRequest, t thread.Thread) (*Result, error) {
	if in.DryRun {
		c.ReadOnly()
	}
	ref, name := pulledBranch(t)
	if len(in.Scope) > 0 || in.Strategy != "" || in.RequireApproval || in.Only == merging.OnlyArtifacts || in.Squash || in.Queue || in.Uncommitted != "" || in.Agent != "" || in.Validate != "" {
		return nil, codes.InvalidArgument.New(fact.Of("reason", "thread '"+string(t.ID)+"' builds on no thread: what it pulls is the branch "+name+", as git merges it; only a dry run goes with that"), fact.Of("threadId", t.ID)).
			WithNext("leslie context " + string(t.ID))
	}
	release, err := code.Hold(c, t.ID)
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := c.View(func(s *thread.State) error { return c.RespectClaim(s, string(t.ID), c.Stamp()) }); err != nil {
		return nil, err
	}
	repo, err := code.RepoOf(c, t)
	if err != nil {
		return nil, err
	}
	if err := repo.Worktree(code.WorktreeDir(c, t), t.OwnedCode().Admin).CheckIdle(); err != nil {
		return nil, thread.Busy(err, t.ID)
	}
	p := &merging.PulledBranch{From: name, Branch: t.Branch}
	d := &Result{Target: t.ID, Sources: []thread.ThreadID{}, Files: []merging.File{}, Conflicts: []merge.Conflict{}, Branch: p, Status: merging.NothingToDo}
	to, commits, err := joinBranch(c, repo, t, ref, name, p)
	if err != nil || commits == 0 {
		return d, err
	}
	d.Status, p.Commits = merging.Merged, commits
	if in.DryRun {
		d.Status, p.Commit = merging.Planned, ""
		return d, nil
	}
	landing := git.Landing{Branch: t.Branch, Old: git.Commit(p.Was), New: to}
	if err := repo.Land(c.Context(), landing); err != nil {
		if e := codes.Of(err); codes.Has(err, codes.LandingBlocked) {
			return nil, e.WithHint("Commit these files in the worktree, or move them, then pull again").WithNext("leslie diff " + string(t.ID) + " --code")
		}
		return nil, err
	}
	d.Changed, p.Commit = true, string(to)
	p.Undo = "git -C " + external.Word(code.WorktreeDir(c, t)) + " reset --keep " + p.Was
	c.SetChanged(true)
	return d, nil
}

// joinBranch makes the commit that a thread's branch is to be at; commits is how many it lacks, 0
// for none. Errors: see pullBranch.
func joinBranch(c *app.Call, repo *git.Repo, t thread.Thread, ref, name string, p *merging.PulledBranch) (to git.Commit, commits int, err error) {
	ctx := c.Context()
	tips, err := repo.Tips(ctx, []string{"refs/heads/" + t.Branch, ref})
	if err != nil {
		return "", 0, err
	}
	own, theirs := tips["refs/heads/"+t.Branch], tips[ref]
	switch {
	case own == "":
		return "", 0, merging.BranchGone(repo, t)
	case theirs == "":
		return "", 0, thread.NoCode(t.ID, "the branch from which it began, '"+name+"', is gone")
	}
	p.Was, p.Commit = string(own), string(own)
	ahead, lacks, err := repo.Count(ctx, own, theirs)
	if err != nil || lacks == 0 {
		return "", 0, err
	}
	if p.Forward = ahead == 0; p.Forward {
		return theirs, lacks, nil
	}
	to, err = mergedBranch(ctx, c, repo, t, name, own, theirs)
	return to, lacks, err
}

// mergedBranch makes the merge commit.
func mergedBranch(ctx context.Context, c *app.Call, repo *git.Repo, t thread.Thread, name string, own, theirs git.Commit) (git.Commit, error) {
	w := repo.Worktree(code.WorktreeDir(c, t), t.OwnedCode().Admin)
	merged, err := repo.MergeTree(ctx, &w, "", own, theirs)
	if err != nil {
		return "", err
	}
	var paths []string
	for _, u := range merged.Unmerged {
		paths = append(paths, u.Path)
	}
	if len(paths) > 0 {
		return "", codes.LandingBlocked.New(fact.Of("branch", t.Branch), fact.Of("reason", "both changed the same lines: "+app.Joined(paths)),
			fact.Of("paths", paths), fact.Of("threadId", t.ID)).
			WithHint("Merge them in the worktree and commit the result: git -C " + external.Word(code.WorktreeDir(c, t)) + " merge " + external.Word(name)).
			WithNext("leslie diff " + string(t.ID) + " --code")
	}
	return repo.CommitTree(ctx, merged.Tree, []git.Commit{own, theirs}, "Merge branch '"+name+"' into "+t.Branch, c.Caller().Actor)
}
