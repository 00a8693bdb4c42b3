package merging

import (
	"context"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
)

// This file takes work that a source's agent has not committed, or cannot commit. A plan
// has it as a commit that no branch has; the source's branch moves to that commit before
// anybody is asked and before the merge is recorded.

// TakeUncommitted is the value of Request.Uncommitted that takes uncommitted work.
const TakeUncommitted = "take"

// TakenCode is the uncommitted work of a source, which is committed now.
type TakenCode struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Commit   string          `json:"commit"` // on the source's branch
	Files    int             `json:"files"`  // a folder with only new files counts as one
}

// uncommitted is T804.
func uncommitted(p *Planning, id thread.ThreadID, dir string, paths []string) error {
	err := codes.Uncommitted.New(fact.Of("id", id), fact.Of("count", len(paths)), fact.Of("paths", paths[:min(len(paths), maxUncommitted)]),
		fact.Of("path", dir), fact.Of("threadId", id))
	if p.recorded && p.record.Queued == nil {
		return err.WithHint("Commit them in its worktree, then continue the merge; or leslie merge abort "+string(p.record.ID)+", and merge again with --uncommitted take").
			WithNext("leslie code "+string(id), "leslie merge status "+string(p.record.ID))
	}
	if p.record.Queued != nil {
		err = err.WithHint("Commit them in its worktree, or queue the merge again with --uncommitted take")
	}
	look := preview(p, TakeUncommitted)
	if p.record.Queued == nil {
		err = err.WithHint("Commit them in its worktree, or let leslie commit them for it: " + strings.TrimSuffix(look, " --dry-run"))
	}
	return err.WithNext("leslie diff "+string(id)+" --code", look)
}

// CheckLandings returns T805 if a landing on a branch was interrupted: the files in its
// worktree, in dir, may be half-written ones, which nobody has made.
func CheckLandings(ctx context.Context, repo *git.Repo, landings []thread.Merge, branch, dir string) error {
	for _, m := range landings {
		if m.Code.Landing.Branch != branch {
			continue
		}
		l := m.Code.Landing
		landed, err := repo.HasLanded(ctx, git.Landing{Branch: l.Branch, Old: git.Commit(l.Old), New: git.Commit(l.New)})
		if err != nil {
			return err
		}
		if !landed {
			return codes.WorktreeBusy.New(fact.Of("path", dir), fact.Of("what", "The landing of merge '"+string(m.ID)+"'"), fact.Of("threadId", m.Target)).
				WithHint("Finish it with leslie merge continue " + string(m.ID) + ", then repeat the call").WithNext("leslie merge status " + string(m.ID))
		}
	}
	return nil
}

// take makes a commit of a source's uncommitted work the tip that is merged. Errors: T805.
func (in *codeInputs) take(p *Planning, source *codeSource, w git.Worktree) error {
	var landings []thread.Merge
	if err := p.call.View(func(st *thread.State) error { landings = st.Landings(); return nil }); err != nil {
		return err
	}
	if err := CheckLandings(in.ctx, in.repo, landings, source.Branch, w.Dir); err != nil {
		return err
	}
	message := "Uncommitted work of " + string(source.ID) + "\n\nleslie committed it to merge it into " + p.record.Into() + "."
	taken, err := w.CommitUncommitted(in.ctx, message, p.call.Actor)
	if err == nil && taken.Commit != "" {
		source.tip, source.taken = taken.Commit, &taken
	}
	return err
}

// commitTaken moves the sources' branches to what was taken. Errors: errMoved if one has
// moved since; T805.
func commitTaken(p *Planning) error {
	if p.inputs.code == nil {
		return nil
	}
	for i := range p.inputs.code.sources {
		source := &p.inputs.code.sources[i]
		if source.taken == nil {
			continue
		}
		if err := source.taken.Install(p.call.Context); err != nil {
			return codeMoved(err)
		}
		p.taken = append(p.taken, TakenCode{source.ID, string(source.taken.Commit), source.taken.Files})
		source.taken = nil
	}
	return nil
}
