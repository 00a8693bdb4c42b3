package history

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
)

// This file takes back code that a merge has landed, before its records are: an undo that
// is interrupted in between is finished by the same undo.

// UndoneCode says what became of landed code.
type UndoneCode struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"` // of the merge
	// How is reset, revert, gone if the branch did not have the commit any more, or reverted if somebody had reverted it; landed
	// for a redo; restored for a rollback, with the commit where the branch is now.
	How string `json:"how"`
	// Uncommitted: so is what was not committed when its worktree was removed.
	Uncommitted bool `json:"uncommitted,omitempty"`
	// MergeAgain is the line that brings the code again, if a redo would not.
	MergeAgain string `json:"mergeAgain,omitempty"`
	// Restored has the threads whose worktrees and branches, which went because the code had landed,
	// are back; Restore the lines that bring back others which were removed since.
	Restored []thread.ThreadID `json:"restored,omitempty"`
	Restore  []string          `json:"restore,omitempty"`
	// Reopened has the threads that the landing completed and that go on again, Ended others
	// whose code it was and that stay completed.
	Reopened []thread.ThreadID `json:"reopened,omitempty"`
	Ended    []thread.ThreadID `json:"ended,omitempty"`

	// Remade has the branches that are made again, because no other had the commits that landed; Kept the
	// refs that keep such commits of a branch which somebody has moved.
	Remade []string     `json:"remade,omitempty"`
	Kept   []KeptCommit `json:"kept,omitempty"`

	// Stays has the threads whose code landed again and whose worktrees stay.
	Stays []thread.ThreadID `json:"stays,omitempty"`

	gone []thread.ThreadID // because the code had landed
}

// KeptCommit is a ref that keeps a commit which no branch has.
type KeptCommit struct {
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
}

// restoreSources brings back what went because the code had landed, as undos of these removals. What
// prevents it is left to the line that does it later.
func (u *Undoing) restoreSources(repo *git.Repo) {
	d := u.result.Code
	for _, id := range d.gone {
		if u.dryRun {
			if code.CheckRestorable(u.c, id) == nil {
				d.Restored = append(d.Restored, id)
			} else {
				d.Restore = append(d.Restore, "leslie code restore "+string(id))
			}
			continue
		}
		removal, ok, err := u.c.Store().FindOperation(u.c.Context(), func(op thread.Operation) bool {
			of, began := thread.RemovedIn(op)
			return of == id && !began
		}, string(id))
		if ok = ok && err == nil && u.c.Request().Expect == nil; ok {
			call := u.c.ForCommand("undo")
			call.SetContinues(removal.ID) // a redo passes over it
			_, err = code.Restore(call, code.RestoreRequest{Thread: string(id), Undoes: &removal})
			u.c.Include(call)
		}
		if !ok || err != nil {
			d.Restore = append(d.Restore, "leslie code restore "+string(id))
			continue
		}
		d.Restored = append(d.Restored, id)
		u.kept = slices.DeleteFunc(u.kept, func(k keptRef) bool {
			if k.id != id {
				return false
			}
			gone, err := repo.DeleteIfReachable(u.c.Context(), k.ref) // if its branch has it again
			return err == nil && gone
		})
	}
}

// reopen undoes the completion of the threads that the landing completed. What prevents it leaves
// the thread completed.
func (u *Undoing) reopen() {
	d, ended := u.result.Code, u.result.Code.Ended
	d.Ended, d.Reopened = nil, u.reopened
	for _, id := range ended {
		if u.undoDone(id) {
			d.Reopened = append(d.Reopened, id)
		} else {
			d.Ended = append(d.Ended, id)
		}
	}
}

// undoDone undoes the completion of a thread by the landing, and reports whether it could.
func (u *Undoing) undoDone(id thread.ThreadID) bool {
	known := undone{}
	done, ok, err := u.c.Store().FindOperation(u.c.Context(), func(op thread.Operation) bool {
		removed, _ := thread.RemovedIn(op)
		return !known.has(op) && op.Continues == u.op.ID && op.ThreadID == id && removed == ""
	}, string(u.op.ID))
	if !ok || err != nil || u.c.Request().Expect != nil {
		return false
	}
	call := u.c.ForCommand("undo")
	call.SetContinues(done.ID)
	_, err = NewUndoing(call, done, u.dryRun).Run()
	u.c.Include(call)
	return err == nil
}

// reopenFirst undoes the completion of the threads that the landing completed before the landing itself, which
// changed their status, too; it reports whether there was one.
func (u *Undoing) reopenFirst() bool {
	m := landedBy(u.op)
	if m == nil || u.dryRun {
		return false
	}
	for _, source := range m.Code.Landing.Sources {
		if u.undoDone(source.ThreadID) {
			u.reopened = append(u.reopened, source.ThreadID)
		}
	}
	return len(u.reopened) > 0
}

// How code was taken back.
const (
	Restored        = "restored"
	Reset           = git.ByReset
	Reverted        = git.ByRevert
	Gone            = git.NothingToRevert
	AlreadyReverted = git.AlreadyReverted
	LandedAgain     = "landed"
)

// landedBy returns the merge with which the operation landed code; nil for none.
func landedBy(op thread.Operation) *thread.Merge {
	for _, change := range op.Changes {
		if id, ok := strings.CutPrefix(change.Record, thread.TableMerges+"/"); ok && id != "" && thread.Absent(change.After) {
			var m thread.Merge
			if json.Unmarshal(change.Before, &m) == nil && m.Code != nil && m.Code.Landing != nil && landedIn(op, m.Code.Landing.New) {
				return &m
			}
		}
	}
	return nil
}

// withLanding returns the landing from which an operation went on: it completed the thread, or removed its
// worktree. It returns the operation where there is none, or that is undone. Errors: T509.
func withLanding(c *app.Call, op thread.Operation) (thread.Operation, error) {
	if op.Continues == "" {
		return op, nil
	}
	last, known := op, undone{}
	_, _, err := c.Store().FindOperation(c.Context(), func(o thread.Operation) bool {
		back := known.has(o)
		if last.Continues != o.ID {
			return last.Continues == ""
		}
		last = o
		return back || landedBy(o) != nil
	}, string(op.ThreadID))
	if err != nil || landedBy(last) == nil || known[last.ID] {
		return op, err
	}
	return last, nil
}

// landedAgain is the line that makes such a merge anew.
func landedAgain(m thread.Merge) string {
	if m.Onto != "" {
		return "leslie land " + string(m.Target) + " --onto " + external.Word(m.Onto) + " --" + m.Code.How()
	}
	line := app.MergeLine(m.Target, m.Sources...)
	if m.Code.Only != "" {
		line += " --only " + m.Code.Only
	}
	if m.Code.Squash {
		line += " --squash"
	}
	return line
}

// landedIn reports whether the operation records that a commit has landed, or takes that
// back.
func landedIn(op thread.Operation, commit string) bool {
	for _, change := range op.Changes {
		if !strings.HasPrefix(change.Record, thread.TableThreads+"/") {
			continue
		}
		var before, after thread.Thread
		_, _ = json.Unmarshal(change.Before, &before), json.Unmarshal(change.After, &after)
		if landed(before, commit) != landed(after, commit) {
			return true
		}
	}
	return false
}

func landed(t thread.Thread, commit string) bool {
	if t.OwnedCode() == nil {
		return false
	}
	for _, l := range t.OwnedCode().Landed {
		if l.Commit == commit {
			return true
		}
	}
	return false
}

// takeBackCode takes landed code back, or lands it again for a redo, or with a dry run says
// how. Errors: T110 where local work or later commits are in the way; T805, T808, T801.
func (u *Undoing) takeBackCode() error {
	if id, rolled, back := thread.RolledIn(u.op); rolled != nil {
		if back {
			return u.conflict("its code was exchanged").WithHint("Roll back again: leslie rollback " + string(id) + " --turn " + strconv.Itoa(rolled.Turn))
		}
		return u.takeBackRoll(id, *rolled)
	}
	m := landedBy(u.op)
	switch {
	case m != nil:
	case u.op.Undoes != "" && landedBy(u.first) != nil:
		return u.landAgain(*landedBy(u.first))
	default:
		return nil
	}
	repo, err := u.repoToChange()
	if err != nil {
		return err
	}
	l := m.Code.Landing
	landing := git.Landing{Branch: l.Branch, Old: git.Commit(l.Old), New: git.Commit(l.New), Onto: git.Commit(l.Onto)}
	if landing.Own, err = u.branchesOf(*l); err != nil {
		return err
	}
	if err := u.landedHere(repo, *m); err != nil {
		return err
	}
	how, tip, err := repo.PlanRevert(u.c.Context(), landing)
	if err == nil && u.dryRun {
		err = repo.CheckRevert(u.c.Context(), landing, how, tip)
	}
	kept := &UndoneCode{}
	if err == nil && how == git.ByReset {
		err = u.keepSources(repo, *l, kept)
	}
	if err == nil && !u.dryRun {
		how, err = repo.RevertLanding(u.c.Context(), landing, u.revertMessage(*m), u.c.Caller().Actor)
	}
	if e := codes.Of(err); codes.Has(err, codes.LandingBlocked) {
		paths, _ := e.Facts().Get("paths")
		return u.conflict("its code cannot be taken back from " + l.Branch + ": " + e.Facts().Text("reason")).
			With(fact.Of("paths", paths)).WithHint(blockedHint(e.Facts().Text("reason"), m.Code.How(), l.New))
	}
	if errors.Is(err, git.ErrMoved) {
		return u.conflict(l.Branch + " gets commits all the time, or somebody else undoes the same").WithHint("See whether it is undone, then repeat leslie undo " + string(u.op.ID)).WithNext("leslie show " + string(u.op.ID))
	}
	u.result.Code = &UndoneCode{Branch: l.Branch, Commit: l.New, How: how, Remade: kept.Remade, Kept: kept.Kept}
	if err == nil {
		err = u.removedSince(*l)
	}
	if err == nil {
		u.restoreSources(repo)
	}
	if err == nil {
		u.reopen()
	}
	if again, redoErr := repo.CanReland(u.c.Context(), landing); how != Reset && (how != Gone || again || redoErr != nil) {
		u.result.Code.MergeAgain = landedAgain(*m)
	}
	if err == nil && (how == git.ByRevert || how == git.AlreadyReverted) && !u.dryRun {
		if tip, err := repo.Branch(u.c.Context(), l.Branch); err == nil && tip != "" {
			code.WarnNotPushed(u.c, l.Branch, tip)
		}
		err = u.findBases(repo, *l)
	}
	return err
}

// repoToChange opens the repository, whose branches change before that is recorded: whoever may not record it is
// refused. Errors: T801, T402, T510.
func (u *Undoing) repoToChange() (*git.Repo, error) {
	repo, err := code.OpenRepo(u.c)
	if err == nil && !u.dryRun {
		err = u.c.MayWrite()
	}
	return repo, err
}

// landedHere refuses to take back a landing whose commit this clone does not have, and another machine may:
// there it would stay.
func (u *Undoing) landedHere(repo *git.Repo, m thread.Merge) error {
	l := m.Code.Landing
	at, err := repo.Resolve(u.c.Context(), l.New)
	if err != nil || at != "" || u.c.Project().Machine() == "" {
		return err
	}
	return u.conflict("its commit " + l.New[:min(12, len(l.New))] + " on " + l.Branch + " is not in this clone").
		WithHint("Undo it on the machine where it landed, or bring it here first (git pull on " + l.Branch + ")").WithNext("leslie show " + string(u.op.ID))
}

// branchesOf returns the branches of the threads whose code landed. Errors: those of a view.
func (u *Undoing) branchesOf(l thread.CodeLanding) (branches []string, err error) {
	_, err = u.c.View(func(s *thread.State) error {
		branches = nil
		for _, source := range l.Sources {
			if t, ok := s.Threads.Peek(string(source.ThreadID)); ok && t.Branch != l.Branch {
				branches = append(branches, t.Branch)
			}
		}
		return nil
	})
	return branches, err
}

// revertMessage is that of the commit that takes a landing back.
func (u *Undoing) revertMessage(m thread.Merge) string {
	l, title := m.Code.Landing, ""
	_, _ = u.c.View(func(s *thread.State) error {
		if title = ""; len(l.Sources) == 1 {
			t, _ := s.Threads.Peek(string(l.Sources[0].ThreadID))
			title = t.Title
		}
		return nil
	})
	switch {
	case title == "" || m.Onto == "":
		return "Revert the merge " + l.New + "\n\nUndone with leslie."
	case m.Code.How() == thread.LandedRebase:
		return "Revert \"" + title + "\"\n\nThis reverts the commits behind " + l.Base() + " up to " + l.New + ".\n\nUndone with leslie."
	}
	return "Revert \"" + title + "\"\n\nThis reverts commit " + l.New + ".\n\nUndone with leslie."
}

// blockedHint says how a landing is taken back that files or later commits are in the way of.
func blockedHint(reason, how, commit string) string {
	revert := "git revert " + commit[:12]
	switch how {
	case thread.LandedMerge:
		revert = "git revert -m 1 " + commit[:12]
	case thread.LandedRebase:
		revert = "git revert of each of its commits up to " + commit[:12]
	}
	if reason == git.LaterCommits {
		return "Take it back with git, deciding what becomes of these lines: " + revert
	}
	return "Commit or move these files, then undo again"
}

// keepSources keeps the commits of sources that no branch has once the target is reset: a ref for a
// source whose branch went with its worktree, or was moved by somebody since; a branch that somebody
// deleted is made again. What does so is noted in kept; a dry run only notes it.
func (u *Undoing) keepSources(repo *git.Repo, l thread.CodeLanding, kept *UndoneCode) error {
	for _, source := range l.Sources {
		t, err := code.Owner(u.c, string(source.ThreadID))
		if codes.Has(err, codes.ThreadNotFound) || codes.Has(err, codes.NoCode) {
			continue
		}
		if err != nil {
			return err
		}
		how := t.OwnedCode().Removed
		if t.OwnedCode().State != thread.CodeRemoved {
			if err := u.keepAlone(repo, l, t, source.Tip, kept); err != nil {
				return err
			}
			continue
		}
		if how == nil || how.Ref != "" || how.Tip == "" || u.dryRun {
			continue
		}
		ref, err := repo.FreeRescue(u.c.Context(), string(t.ID))
		if err == nil {
			err = repo.UpdateRef(u.c.Context(), ref, git.Commit(how.Tip), "", "leslie: undo")
		}
		if err != nil {
			return err
		}
		u.kept = append(u.kept, keptRef{t.ID, ref})
	}
	return nil
}

// keepAlone keeps the commits of a source whose worktree leslie has not removed, if the target alone has them.
func (u *Undoing) keepAlone(repo *git.Repo, l thread.CodeLanding, t thread.Thread, tip string, kept *UndoneCode) error {
	ctx := u.c.Context()
	commit, err := repo.Resolve(ctx, tip)
	if err != nil || commit == "" {
		return err
	}
	with, err := repo.BranchWith(ctx, commit, l.Branch)
	if err != nil || with != "" {
		return err
	}
	now, err := repo.Branch(ctx, t.Branch)
	if err != nil {
		return err
	}
	ref := "refs/heads/" + t.Branch
	if now == "" {
		kept.Remade = append(kept.Remade, t.Branch)
	} else {
		if ref, err = repo.FreeRescue(ctx, string(t.ID)); err != nil {
			return err
		}
		kept.Kept = append(kept.Kept, KeptCommit{ref, tip})
	}
	if u.dryRun {
		return nil
	}
	return repo.UpdateRef(ctx, ref, commit, "", "leslie: undo")
}

// keptRef is a ref that keeps what a thread's removed worktree had.
type keptRef struct {
	id  thread.ThreadID
	ref string
}

// removedSince finds the sources of a landing whose worktrees were removed since. Errors: those of
// a view.
func (u *Undoing) removedSince(l thread.CodeLanding) error {
	_, err := u.c.View(func(s *thread.State) error {
		d := u.result.Code
		d.gone, d.Restore, d.Ended = nil, nil, nil
		for _, source := range l.Sources {
			t, _ := s.Threads.Peek(string(source.ThreadID))
			if t.Status == thread.Completed {
				d.Ended = append(d.Ended, t.ID)
			}
			switch owned := t.OwnedCode(); {
			case owned == nil || owned.State != thread.CodeRemoved || owned.Repo == "":
			case owned.Removed != nil && owned.Removed.Landed:
				d.gone = append(d.gone, t.ID)
			default:
				d.Restore = append(d.Restore, "leslie code restore "+string(t.ID))
			}
		}
		return nil
	})
	return err
}

// landAgain lands code that an undo has taken back, or with a dry run says whether it could.
// Errors: T110 if the branch has moved since, or local work is in the way; T805, T808, T801.
func (u *Undoing) landAgain(m thread.Merge) error {
	l := m.Code.Landing
	repo, err := u.repoToChange()
	if err != nil {
		return err
	}
	landing := git.Landing{Branch: l.Branch, Old: git.Commit(l.Old), New: git.Commit(l.New)}
	if u.dryRun {
		err = repo.CheckReland(u.c.Context(), landing)
	} else {
		err = repo.Reland(u.c.Context(), landing)
	}
	if e := codes.Of(err); codes.Has(err, codes.LandingBlocked) {
		paths, _ := e.Facts().Get("paths")
		return u.conflict("its code cannot land in " + l.Branch + " again: " + e.Facts().Text("reason")).
			With(fact.Of("paths", paths)).WithHint("Commit or move these files, then redo again")
	}
	if errors.Is(err, git.ErrMoved) {
		return u.conflict(l.Branch + " is not where the merge found it, or git no longer has the merge's commit").
			WithHint("Merge again: " + landedAgain(m))
	}
	u.result.Code = &UndoneCode{Branch: l.Branch, Commit: l.New, How: LandedAgain}
	if err != nil {
		return err
	}
	_, err = u.c.View(func(s *thread.State) error {
		u.result.Code.Stays = nil
		for _, source := range l.Sources {
			if t, _ := s.Threads.Peek(string(source.ThreadID)); m.Onto != "" && t.OwnedCode() != nil && t.OwnedCode().State == thread.CodeReady {
				u.result.Code.Stays = append(u.result.Code.Stays, t.ID)
			}
		}
		return nil
	})
	return err
}

// findBases finds, for each source of a landing that was reverted, the base with which a
// later merge brings it again: git has the source's commits in the target, and would bring
// nothing.
func (u *Undoing) findBases(repo *git.Repo, l thread.CodeLanding) error {
	ctx := u.c.Context()
	target, err := repo.Branch(ctx, l.Branch)
	if err != nil {
		return err
	}
	u.bases = map[thread.ThreadID]thread.CodeBase{}
	for _, source := range l.Sources {
		t, found := thread.Thread{}, false
		if _, err := u.c.View(func(s *thread.State) error { t, found = s.Threads.Get(string(source.ThreadID)); return nil }); err != nil {
			return err
		}
		if !found || t.OwnedCode() == nil {
			continue
		}
		has, err := repo.Contains(ctx, git.Commit(l.New), git.Commit(source.Tip))
		if err != nil {
			return err
		}
		tip, err := repo.Branch(ctx, t.Branch)
		if err != nil {
			return err
		}
		if removed := t.OwnedCode().Removed; tip == "" && removed != nil { // what code restore brings back
			tip, err = repo.Resolve(ctx, removed.Tip)
			if err != nil {
				return err
			}
		}
		if tip, err = code.OwnTip(ctx, repo, t.OwnedCode(), tip); err == nil && tip == "" { // on another machine
			tip, err = repo.Resolve(ctx, source.Tip)
		}
		if err != nil {
			return err
		}
		if !has || tip == "" { // a squash
			continue
		}
		base := git.Commit(source.Base)
		if base == "" {
			if base, err = repo.MergeBase(ctx, git.Commit(l.Base()), git.Commit(source.Tip)); err != nil {
				return err
			}
		}
		now, err := repo.MergeBase(ctx, target, tip)
		if err != nil {
			return err
		}
		u.bases[t.ID] = thread.CodeBase{MergeBase: string(now), Commit: string(base), Target: "refs/heads/" + l.Branch}
	}
	return nil
}
