package merging

import (
	"os"
	"slices"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
)

// This file refuses merges that would leave code out without a word.

// codeReady returns T802 if code would be left out: that of a thread which has no worktree
// now, or any of a merge that was recorded as one of code.
func codeReady(p *Planning, found thread.MergeParties) error {
	code := codeRecord(p)
	if code.Only == OnlyCode || code.Planned {
		return haveCode(p, found)
	}
	switch {
	case p.looking:
		return nil
	case found.Target.OwnedCode() == nil && found.Branch == "":
		return landsNowhere(p, found)
	}
	return present(p, found)
}

// haveCode returns T802 unless a source owns code, and there is a branch in which that of
// all sources lands.
func haveCode(p *Planning, found thread.MergeParties) error {
	if p.looking {
		return nil
	}
	if err := present(p, found); err != nil {
		return err
	}
	if !slices.ContainsFunc(found.Sources, func(t thread.Thread) bool { return t.OwnedCode() != nil }) {
		return thread.NoCode(found.Sources[0].ID, "the merge is one of code")
	}
	return nil
}

// landsNowhere returns T802 for a source that has code to merge, none of which lands anywhere.
// What a thread builds on does not land in it.
func landsNowhere(p *Planning, found thread.MergeParties) error {
	for _, t := range found.Sources {
		if found.Elsewhere[t.ID] == "" || t.ID == found.Target.ParentID || slices.Contains(found.Target.DependsOn, t.ID) {
			continue
		}
		outstanding, err := hasCodeToMerge(p, t)
		if err != nil {
			return err
		}
		if outstanding {
			return whereLands(p, found)
		}
	}
	return nil
}

// hasCodeToMerge reports whether a thread has committed or changed anything that has not
// landed where it began.
func hasCodeToMerge(p *Planning, t thread.Thread) (bool, error) {
	owned := t.OwnedCode()
	if !ownsCode(t) {
		return !owned.Spent(), nil
	}
	repo, err := p.call.Repository(t)
	if err != nil {
		return false, err
	}
	tip, err := repo.Branch(p.call.Context, t.Branch)
	if err != nil || tip == "" {
		return true, err
	}
	if string(tip) != owned.Start && (!owned.LandedAt(string(tip)) || owned.TakenBack(string(tip))) {
		target, err := repo.Resolve(p.call.Context, owned.Target)
		if err != nil || target == "" {
			return true, err
		}
		if has, err := repo.Contains(p.call.Context, target, tip); err != nil || !has {
			return true, err
		}
	}
	worktrees, err := repo.Worktrees(p.call.Context)
	if err != nil {
		return false, err
	}
	for _, w := range worktrees {
		if !worksIn(t, w) || w.Missing {
			continue
		}
		if status, err := w.Status(p.call.Context); err != nil || !status.Clean() {
			return true, err
		}
	}
	return false, nil
}

// whereLands returns T802 for a source whose code does not land where that of the others
// does, or nowhere.
func whereLands(p *Planning, found thread.MergeParties) error {
	for _, t := range found.Sources {
		if why := found.Elsewhere[t.ID]; why != "" && !t.OwnedCode().Spent() {
			err := thread.NoCode(found.Target.ID, "the code of '"+string(t.ID)+"' does not land there, because "+why)
			if p.recorded {
				return err.WithHint("Give " + string(found.Target.ID) + " a branch (leslie update " + string(found.Target.ID) + " --worktree DIR), or abort the merge").
					WithNext("leslie merge status " + string(p.record.ID))
			}
			return err.WithHint("Give " + string(found.Target.ID) + " a branch (leslie update " + string(found.Target.ID) + " --worktree DIR), or merge without code: --only artifacts").WithNext("leslie code " + string(t.ID))
		}
	}
	return nil
}

// present returns T802 for code that lands nowhere, and for a thread with code that has no
// worktree now. A source that kept nothing when it was removed is passed over.
func present(p *Planning, found thread.MergeParties) error {
	if err := whereLands(p, found); err != nil {
		return err
	}
	for _, t := range threadsOf(found) {
		c := t.OwnedCode()
		if c == nil || p.looking || ownsCode(t) {
			continue
		}
		switch source := t.ID != found.Target.ID || p.record.Onto != ""; {
		case source && c.Spent(), p.record.Onto != "" && c.State == thread.CodeRemoving, !source && !slices.ContainsFunc(found.Sources, ownsCode):
			continue
		}
		return away(p, t, c.State)
	}
	return nil
}

// bringsCode reports whether there is code to merge.
func bringsCode(m thread.Merge, found thread.MergeParties) bool {
	return m.TakesCode() && found.Branch != "" && (found.Target.OwnedCode() == nil || ownsCode(found.Target)) &&
		slices.ContainsFunc(found.Sources, ownsCode)
}

// away is T802 for a thread whose worktree is in some state.
func away(p *Planning, t thread.Thread, state thread.CodeState) error {
	back, next := "Bring it back", []string{"leslie code " + string(t.ID)}
	if state == thread.CodeRemoved || state == thread.CodeLost {
		back += " with leslie code restore " + string(t.ID)
	}
	hint := back + ", or merge without code: --only artifacts"
	if p.record.Onto != "" {
		hint = back + ", then land it again"
	}
	if p.recorded {
		hint, next = back+", or abort the merge", append(next, "leslie merge status "+string(p.record.ID))
	}
	return thread.NoCode(t.ID, "its worktree is "+string(state)).WithHint(hint).WithNext(next...)
}

// worksIn reports whether a worktree is a thread's own, or has its branch checked out.
func worksIn(t thread.Thread, w git.Listed) bool {
	return w.Branch == t.Branch || w.Admin == t.OwnedCode().Admin && w.Admin != ""
}

// lookable reports whether the folder of a worktree is there; git calls it missing also
// if only its .git file is. Errors: T802 if it is the thread's own and gone, because what
// was staged there may still be in the repository.
func lookable(t thread.Thread, w git.Listed) (bool, error) {
	if !w.Missing {
		return true, nil
	}
	if _, err := os.Lstat(w.Dir); err == nil {
		return true, nil
	}
	if w.Admin == t.OwnedCode().Admin {
		return false, thread.NoCode(t.ID, "its worktree is lost").WithHint("Bring it back with leslie code restore " + string(t.ID) + ", then repeat the call").
			WithNext("leslie code " + string(t.ID))
	}
	return false, nil
}

// elsewhere returns T805 if a thread's own worktree has something else checked out than
// its branch, with work that the branch lacks.
func (in *codeInputs) elsewhere(t thread.Thread, w git.Listed, tip git.Commit, clean bool) error {
	if w.Branch == t.Branch {
		return nil
	}
	has, err := in.repo.Contains(in.ctx, tip, w.Head)
	if err != nil || has && clean {
		return err
	}
	what := "work on a detached head"
	if w.Branch != "" {
		what = "work on branch '" + w.Branch + "'"
	}
	bring := "git switch " + t.Branch
	if !has {
		bring += "; git merge " + string(w.Head)[:12]
	}
	return codes.WorktreeBusy.New(fact.Of("path", w.Dir), fact.Of("what", what), fact.Of("threadId", t.ID)).
		WithHint("Bring that work to " + t.Branch + " there (" + bring + "), or name its branch of now with leslie update " + string(t.ID) + " --branch B").
		WithNext("leslie code " + string(t.ID))
}

// codeLeft returns the sources whose code is not merged because it lands nowhere, and why.
func codeLeft(p *Planning) (left []thread.ThreadID, why map[thread.ThreadID]string) {
	if p.inputs == nil || codeRecord(p).Only != "" || !p.record.TakesCode() {
		return nil, nil
	}
	for _, t := range p.inputs.sources {
		if p.elsewhere[t.ID] != "" && !t.OwnedCode().Spent() {
			left = append(left, t.ID)
		}
	}
	if left != nil {
		why = p.elsewhere
	}
	return left, why
}
