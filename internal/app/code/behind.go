package code

import (
	"leslie/internal/app"
	"leslie/internal/external"
	"leslie/thread"
)

// This file counts the commits that a thread's code lacks. It is a service on top of what
// was asked: what cannot be known in OverlapTime is left out.

// ContextBehind is a thread, or the branch in which a thread's code lands, with commits that
// the thread lacks.
type ContextBehind struct {
	From    string `json:"from"`
	Commits int    `json:"commits"`
	Next    string `json:"next"`
}

// CodeBehind counts the commits of other threads that a thread lacks, and those of the branch
// in which its code lands ("" if that is a thread's), and adds W809.
func CodeBehind(c *app.Call, t thread.Thread, others []thread.Thread, lands string) (out []ContextBehind) {
	code := t.OwnedCode()
	if code == nil || code.State != thread.CodeReady || len(others) == 0 && lands == "" {
		return nil
	}
	ctx, repo, cancel := Briefly(c)
	defer cancel()
	if repo == nil || repo.Admin != code.Repo {
		return nil
	}
	type source struct {
		from, next string
		code       *thread.Code
	}
	var sources []source
	refs := []string{"refs/heads/" + t.Branch}
	for _, from := range others {
		if from.OwnedCode().Repo == repo.Admin {
			sources = append(sources, source{string(from.ID), t.PullLine(from.ID), from.OwnedCode()})
			refs = append(refs, "refs/heads/"+from.Branch)
		}
	}
	if lands != "" {
		sources = append(sources, source{lands, "git -C " + external.Word(WorktreeDir(c, t)) + " merge " + external.Word(lands), &thread.Code{}})
		refs = append(refs, "refs/heads/"+lands)
	}
	tips, err := repo.Tips(ctx, refs)
	own := tips[refs[0]]
	if err != nil || own == "" {
		return nil
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
			out = append(out, ContextBehind{s.from, lacks, s.next})
		}
	}
	return out
}
