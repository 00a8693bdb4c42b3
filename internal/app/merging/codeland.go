package merging

import (
	"context"
	"errors"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
)

// This file lands merged code.
//
//	check    validators run on the merged code (validate.go)
//	objects  the merge commit, and a ref that keeps it
//	A        an operation records which branch is to move where
//	git      moves the branch and the files of its worktree: the commit point
//	B        the merge's own operation records that it has landed, with the artifacts
//
// A process may die anywhere. Whoever loads the merge next looks whether the branch has
// the commit (repairLanding): then only B is left; otherwise what git left half done is
// taken back, and the merge is planned again.

// CodeResult says what a merge does with code.
type CodeResult struct {
	// Branch is the target's, Old its commit before the merge.
	Branch string `json:"branch"`
	Old    string `json:"old"`
	// Commit is the merge commit, null before there is one.
	Commit *string `json:"commit"`
	// Landed: the branch has it.
	Landed bool   `json:"landed"`
	Files  int    `json:"files"` // that change, while no conflict is open
	How    string `json:"how"`   // merge, squash or rebase
	// Forward says that the branch moves forward to commits of its upstream first, which the
	// sources began with; nil if it does not.
	Forward *CodeForward `json:"forward,omitempty"`
	// Worktree has the branch checked out and is not the target's: it moves along once a
	// person has agreed. "" for none, and after the landing.
	Worktree string `json:"worktree,omitempty"`
	// Taken has the uncommitted work that this call has committed.
	Taken []TakenCode `json:"taken,omitempty"`
}

// CodeForward is how far a branch moves forward to its upstream.
type CodeForward struct {
	Upstream string `json:"upstream"`
	Commits  int    `json:"commits"`
}

// codeRecord is what the merge's record says of code.
func codeRecord(p *Planning) thread.MergeCode {
	if p.record.Code == nil {
		return thread.MergeCode{}
	}
	return *p.record.Code
}

// codeResult describes the code of the merge, nil for none.
func codeResult(p *Planning) *CodeResult {
	c := codeRecord(p)
	switch {
	case c.Landed:
		d := &CodeResult{Branch: c.Landing.Branch, Old: c.Landing.Old, Commit: &c.Landing.New, Landed: true, Files: p.landedFiles, How: c.How(), Taken: p.taken}
		if p.inputs != nil && p.inputs.code != nil {
			d.Forward = p.inputs.code.forward
		}
		return d
	case p.inputs == nil || p.inputs.code == nil:
		return nil
	}
	in := p.inputs.code
	return &CodeResult{Branch: in.branch, Old: string(in.was), Forward: in.forward, Files: len(p.planned.code.changes), How: c.How(), Worktree: p.moves, Taken: p.taken}
}

// land makes the merge commit and moves the target's branch to it. Until the session ends,
// others wait who would land in the same branch. Errors: errMoved, T805, T806, T808, and
// those of an operation; then no branch has moved.
func (a *application) land() error {
	in := a.inputs.code
	if in == nil {
		return nil
	}
	if err := holdLanding(a.Session); err != nil {
		return err
	}
	if in.in != nil {
		if err := in.in.CheckIdle(); err != nil { // before it is recorded
			return err
		}
	}
	if a.record.ID == "" { // which the commit names
		if err := a.call.View(func(st *thread.State) error {
			a.record.ID = thread.MergeID(a.call.NewID(thread.PrefixMerge, taken(&st.Merges)))
			return nil
		}); err != nil {
			return err
		}
	}
	landing, err := a.commitCode()
	if err != nil {
		return err
	}
	if err := in.repo.UpdateRef(a.call.Context, pendingRef(a.record.Target), git.Commit(landing.New), git.AnyOldValue, "leslie: merge"); err != nil {
		return err
	}
	if err := a.keepBases(landing); err != nil {
		return err
	}
	if err := a.recordLanding(landing); err != nil {
		return err
	}
	a.call.GoOn()
	err = in.repo.Land(a.call.Context, git.Landing{Branch: landing.Branch, Old: git.Commit(landing.Old), New: git.Commit(landing.New)})
	if err != nil {
		return a.notLanded(codeMoved(err))
	}
	noteLanded(a.Planning, len(a.planned.code.changes))
	return nil
}

// canLand returns what would prevent the landing of a merge without open conflicts. Errors: T805, T806, T808.
func (p *Planning) canLand() error {
	if p.inputs == nil || p.inputs.code == nil || p.inputs.code.in == nil || p.planned.code == nil || p.planned.code.tree == "" || p.plan.Open() > 0 {
		return nil
	}
	in := p.inputs.code
	err := in.in.CanLand(in.ctx, git.Landing{Branch: in.branch, Old: in.was}, p.planned.code.tree)
	if e := codes.Of(err); e != nil && p.record.Onto != "" {
		if codes.Has(err, codes.LandingBlocked) {
			e = e.WithHint("Commit or move these files first")
		}
		return e.WithNext("leslie diff " + string(p.record.Target))
	}
	return err
}

// holdLanding makes others wait who would land in the same branch. Errors: see
// Call.HoldLanding.
func holdLanding(s *Session) (err error) {
	if s.held == nil {
		s.held, err = s.call.HoldLanding(s.record)
	}
	return err
}

func releaseLanding(s *Session) {
	if s.held != nil {
		s.held()
		s.held = nil
	}
}

// noteLanded notes that the branch has the commit, which changes so many files.
func noteLanded(p *Planning, files int) {
	p.landedFiles = files
	code := codeRecord(p)
	code.Landed = true
	p.record.Code = &code
}

// notLanded adds the merge, which stays pending, to the reason why the code did not land.
func (a *application) notLanded(err error) error {
	refused := codes.Has(err, codes.LandingBlocked) || codes.Has(err, codes.WorktreeBusy) || codes.Has(err, codes.UntrustedGitConfig)
	if refused && a.fresh && a.record.Onto != "" && a.giveUp() {
		e := codes.Of(err)
		if codes.Has(err, codes.LandingBlocked) {
			e = e.WithHint("Commit or move these files, then land again: " + a.record.GoesOn())
		}
		return e.WithNext("leslie diff " + string(a.record.Target))
	}
	if refused {
		a.forgetLanding()
	}
	if e := codes.Of(err); e != nil && !codes.Has(err, codes.Interrupted) {
		return e.With(fact.Of("mergeId", a.record.ID)).WithNext("leslie merge status " + string(a.record.ID)).
			WithHint(e.Hint() + ": " + a.record.GoesOn())
	}
	return err
}

// giveUp ends a merge that this call has begun, in which nobody has decided anything, because it cannot land,
// and reports whether it has. If that cannot be recorded, the merge stays pending.
func (a *application) giveUp() bool {
	if err := a.call.Update(a.record.Target, nil, func(st *thread.State, stamp thread.Stamp) error {
		_, err := st.EndMerge(string(a.record.ID), "its code could not land", stamp)
		return err
	}); err != nil {
		return false
	}
	dropPending(a.Session)
	a.recorded = false
	return true
}

// forgetLanding records that git refused to land and wrote nothing. Otherwise somebody's
// own files that have what the landing would have written, because a source began with
// them, would be taken for half-written ones. If it cannot be recorded, the landing stays.
func (a *application) forgetLanding() {
	_ = a.call.Update(a.record.Target, nil, func(st *thread.State, _ thread.Stamp) error {
		rec, err := st.Merge(string(a.record.ID))
		if err != nil || rec.Code == nil {
			return err
		}
		code := *rec.Code
		code.Landing = nil
		a.record, err = st.SetMergeCode(rec.ID, code)
		return err
	})
}

// commitCode makes the merge commit.
func (a *application) commitCode() (thread.CodeLanding, error) {
	in := a.inputs.code
	landing := thread.CodeLanding{Branch: in.branch, Old: string(in.was), At: a.call.Now()}
	if in.was != in.tip {
		landing.Onto = string(in.tip)
	}
	for _, s := range in.sources {
		landing.Sources = append(landing.Sources, thread.CodeLandingSource{ThreadID: s.ID, Tip: string(s.tip), Base: string(in.bases[s.ID])})
	}
	commit, err := in.commit(a.planned.code, in.message(a.record), a.call.Actor)
	landing.New = string(commit)
	return landing, err
}

// message is that of the merge commit. Where the code of one thread lands on a branch of no
// thread, it is about the thread.
func (in *codeInputs) message(m thread.Merge) (text string) {
	if m.Onto == "" {
		var names []string
		for _, s := range in.sources {
			names = append(names, string(s.ID))
			text += string(s.ID) + ": " + s.Title + "\n"
		}
		return "Merge " + strings.Join(names, ", ") + " into " + string(m.Target) + "\n\n" + text + "\nLeslie-Merge: " + string(m.ID)
	}
	t := in.sources[0]
	if text = strings.TrimSpace(m.Code.Message); text == "" {
		text = Words(t.Thread)
	}
	return text + "\n\nThread: " + string(t.ID) + "\nLeslie-Merge: " + string(m.ID)
}

// Words are what the commit that lands a thread says of it without a message of its own: its title,
// and its intent.
func Words(t thread.Thread) string {
	if intent := strings.TrimSpace(t.Intent); intent != t.Title {
		return t.Title + "\n\n" + intent
	}
	return t.Title
}

// commit makes a commit of the merged tree on top of the target, and of the sources unless
// their commits are left out. Of a rebase it is the last copy, with its own message.
func (in *codeInputs) commit(made *codePlan, message, actor string) (git.Commit, error) {
	if in.how == thread.LandedRebase {
		return in.join(made.tree, made.onto, in.picks[len(in.picks)-1])
	}
	parents := []git.Commit{in.tip}
	for _, s := range in.sources {
		if in.how == thread.LandedMerge {
			parents = append(parents, s.tip)
		}
	}
	return in.repo.CommitTree(in.ctx, made.tree, parents, message, actor)
}

// keepBases keeps the bases that no branch need have, for a merge after an undo.
func (a *application) keepBases(landing thread.CodeLanding) error {
	in := a.inputs.code
	for i, s := range landing.Sources {
		if s.Base == "" {
			continue
		}
		ref := thread.BaseRef(s.ThreadID, len(in.sources[i].OwnedCode().Landed)+1)
		if err := in.repo.UpdateRef(in.ctx, ref, git.Commit(s.Base), git.AnyOldValue, "leslie: merge"); err != nil {
			return err
		}
	}
	return nil
}

// recordLanding is operation A.
func (a *application) recordLanding(landing thread.CodeLanding) error {
	code := codeRecord(a.Planning)
	code.Landing = &landing
	check := func(st *thread.State, stamp thread.Stamp) error {
		if a.consent.agreed != "" {
			if _, _, err := st.DecideGrant(string(a.consent.agreed), thread.Approve, "", stamp); err != nil {
				return err
			}
		}
		if err := a.consent.given(st, stamp.Time); err != nil {
			return err
		}
		moved, err := a.changes.Moved(a.call.Files)
		if err == nil && len(moved) > 0 {
			err = errMoved
		}
		return err
	}
	a.record.Code = &code
	if !a.recorded {
		err := a.recordPending(nil, check)
		a.consent.agreed = ""
		return err
	}
	err := a.call.Update(a.record.Target, nil, func(st *thread.State, stamp thread.Stamp) error {
		if err := a.respectClaim(st); err != nil {
			return err
		}
		rec, err := st.Merge(string(a.record.ID))
		switch {
		case err != nil:
			return err
		case !rec.Unchanged(a.record):
			return errMoved
		}
		if err := check(st, stamp); err != nil {
			return err
		}
		a.record, err = st.SetMergeCode(rec.ID, code)
		return err
	})
	a.consent.agreed = ""
	return err
}

// recordLanded says, in operation B, that the sources' code has landed.
func (a *application) recordLanded(st *thread.State, stamp thread.Stamp) error {
	code := codeRecord(a.Planning)
	if !code.Landed {
		return nil
	}
	return st.RecordLanding(a.record, *code.Landing, code.How(), stamp)
}

// pendingRef keeps the commit of a merge into a thread until the merge has ended, or the
// next one begins.
func pendingRef(target thread.ThreadID) string { return "refs/leslie/pending/" + string(target) }

// dropPending removes the ref of a merge that has ended. One that stays only keeps a
// commit, so a failure is no fault.
func dropPending(s *Session) {
	c := codeRecord(s.Planning)
	if c.Landing == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.call.Context), dropTime)
	defer cancel()
	if repo, err := s.call.Repository(s.inputs.target.Thread); err == nil {
		_ = repo.UpdateRef(ctx, pendingRef(s.record.Target), "", git.Commit(c.Landing.New), "leslie: merged")
	}
}

// dropTime is how long removing a ref may take.
const dropTime = 5 * time.Second

// repairLanding reports whether the code of the merge has landed. A caller that goes on
// with the merge has what a killed landing left taken back. Errors: T801, T805.
func repairLanding(p *Planning, target thread.Thread) (landed bool, err error) {
	code := codeRecord(p)
	if code.Landing == nil || code.Landed {
		return code.Landed, nil
	}
	repo, err := p.call.Repository(target)
	if err != nil {
		return false, err
	}
	l := git.Landing{Branch: code.Landing.Branch, Old: git.Commit(code.Landing.Old), New: git.Commit(code.Landing.New)}
	look := repo.RepairLanding
	if p.looking {
		look = repo.HasLanded
	}
	if landed, err = look(p.call.Context, l); err != nil || !landed {
		return false, err
	}
	changed, err := repo.Changes(p.call.Context, code.Landing.Base(), code.Landing.New)
	noteLanded(p, len(changed))
	return true, err
}

// refuseLanded returns T903 for a pending merge whose code has landed: it can be finished,
// and then undone, but not aborted.
func refuseLanded(c Call, id string) error {
	var rec thread.Merge
	var target thread.Thread
	err := c.View(func(st *thread.State) (err error) {
		if rec, err = st.Merge(id); err == nil {
			target, err = st.Thread(string(rec.Target))
		}
		return err
	})
	if err != nil || rec.Code == nil || rec.Code.Landing == nil {
		return err
	}
	p := &Planning{call: c, record: rec, recorded: true}
	landed, err := repairLanding(p, target)
	if err != nil || !landed {
		return err
	}
	return codes.InvalidArgument.New(fact.Of("reason", "the code of merge '"+string(rec.ID)+"' has landed as "+rec.Code.Landing.New), fact.Of("mergeId", rec.ID)).
		WithHint("Finish it with leslie merge continue " + string(rec.ID) + "; then it can be undone").WithNext("leslie merge status " + string(rec.ID))
}

// codeMoved is errMoved if a branch is not where it was when it was planned.
func codeMoved(err error) error {
	if errors.Is(err, git.ErrMoved) {
		return errMoved
	}
	return err
}
