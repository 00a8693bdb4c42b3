package code

import (
	"context"

	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/external"
	"leslie/internal/git"
	"leslie/thread"
)

// This file counts the commits that a thread's code lacks. It is a service on top of what
// was asked: what cannot be known in OverlapTime is left out.

// BehindItem is a thread, or the branch in which a thread's code lands, with commits that
// the thread lacks.
type BehindItem struct {
	From    string `json:"from"`
	Commits int    `json:"commits"`
	Next    string `json:"next"`
}

// Behind counts the commits of other threads that a thread lacks, those that others have
// pushed to its branch, as far as they were fetched, and those of the branch in which its code
// lands ("" if that is a thread's), and adds W809.
func Behind(c *app.Call, t thread.Thread, others []thread.Thread, lands string) (out []BehindItem) {
	code := t.OwnedCode()
	if code == nil || code.State != thread.CodeReady {
		return nil
	}
	ctx, repo, cancel := OpenRepoBriefly(c)
	defer cancel()
	if repo == nil || !InRepo(t, repo) {
		return nil
	}
	type source struct {
		from, next string
		code       *thread.Code
	}
	var sources []source
	refs := []string{"refs/heads/" + t.Branch}
	for _, from := range others {
		if InRepo(from, repo) {
			sources = append(sources, source{string(from.ID), t.PullLine(from.ID), from.OwnedCode()})
			refs = append(refs, "refs/heads/"+from.Branch)
		}
	}
	if lands != "" {
		sources = append(sources, source{lands, pullLine(c, t, lands), &thread.Code{}})
		refs = append(refs, "refs/heads/"+lands)
	}
	tips, err := repo.Tips(ctx, refs)
	own := tips[refs[0]]
	if err != nil || own == "" {
		return nil
	}
	if u, ahead := pushed(ctx, repo, t, own); ahead {
		next := bringingLine(c, repo, t, own, u)
		c.Warn(t.CodeBehind(u.Name, u.Ahead, next))
		out = append(out, BehindItem{u.Name, u.Ahead, next})
	}
	for i, s := range sources {
		theirs := tips[refs[i+1]]
		if theirs == "" || theirs == own {
			continue
		}
		_, lacks, err := repo.Count(ctx, own, theirs)
		if err != nil || lacks == 0 {
			continue
		}
		if found, err := mergeOf(ctx, repo, nil, s.code, theirs, t.Branch, own); err != nil || !found.nothing {
			c.Warn(t.CodeBehind(s.from, lacks, s.next))
			out = append(out, BehindItem{s.from, lacks, s.next})
		}
	}
	return out
}

// pullLine brings a thread what the branch in which its code lands has.
func pullLine(c *app.Call, t thread.Thread, lands string) string {
	switch {
	case app.BranchOf(t.OwnedCode().Target) != lands:
		return mergeLine(c, t, lands)
	case t.ParentID == "" && len(t.DependsOn) == 0:
		return "leslie pull " + string(t.ID)
	}
	return "leslie pull " + string(t.ID) + " --from " + external.Word(lands)
}

// mergeLine merges a branch in a thread's worktree.
func mergeLine(c *app.Call, t thread.Thread, branch string) string {
	return gitLine(c, t, "merge", branch)
}

// bringingLine brings a thread's worktree, with its branch at tip, what others have of that.
func bringingLine(c *app.Call, repo *git.Repo, t thread.Thread, tip git.Commit, u git.Upstream) string {
	return gitLine(c, t, merging.Bringing(c.Context(), repo, t, c.Project().Machine(), tip, u)...)
}

// gitLine runs git in a thread's worktree.
func gitLine(c *app.Call, t thread.Thread, arguments ...string) string {
	return external.Line(append([]string{"git", "-C", WorktreeDir(c, t)}, arguments...)...)
}

// pushed returns what others have pushed to a thread's branch beyond its tip, as far as it was
// fetched; false where there is nothing, or git cannot say it.
func pushed(ctx context.Context, repo *git.Repo, t thread.Thread, tip git.Commit) (git.Upstream, bool) {
	u, ahead, err := repo.AheadOf(ctx, t.Branch, tip, t.OwnedCode().Target)
	return u, ahead && err == nil
}

// WarnOfPushed adds W809 if others have pushed to a thread's branch what is not here.
func WarnOfPushed(ctx context.Context, c *app.Call, repo *git.Repo, t thread.Thread, tip git.Commit) {
	if u, ahead := pushed(ctx, repo, t, tip); ahead {
		c.Warn(t.CodeBehind(u.Name, u.Ahead, bringingLine(c, repo, t, tip, u)))
	}
}
