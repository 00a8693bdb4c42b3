package app

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"leslie/codes"
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
	// How is reset, revert, or gone if the branch did not have the commit any more; restored
	// for a rollback, with the commit where the branch is now.
	How string `json:"how"`
}

// How code was taken back.
const (
	CodeRestored = "restored"
	CodeReset    = git.Reset
	CodeReverted = git.Reverted
	CodeGone     = git.Gone
)

// landingOf returns the thread whose branch the operation moved, and the landing; nil for
// none.
func landingOf(op thread.Operation) *thread.CodeLanding {
	for _, change := range op.Changes {
		if id, ok := strings.CutPrefix(change.Record, thread.TableMerges+"/"); ok && id != "" && thread.Absent(change.After) {
			var m thread.Merge
			if json.Unmarshal(change.Before, &m) == nil && m.Code != nil && m.Code.Landing != nil && landedIn(op, m.Code.Landing.New) {
				return m.Code.Landing
			}
		}
	}
	return nil
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

// takeBackCode takes landed code back, or with a dry run says how. Errors: T110 where local
// work or later commits are in the way, and for a redo; T805, T808, T801.
func (u *undoing) takeBackCode() error {
	if id, rolled, back := thread.RolledIn(u.op); rolled != nil {
		if back {
			return u.conflict("its code was exchanged").WithHint("Roll back again: leslie rollback " + string(id) + " --turn " + strconv.Itoa(rolled.Turn))
		}
		return u.takeBackRoll(id, *rolled)
	}
	l := landingOf(u.op)
	if l == nil {
		if u.op.Undoes != "" && landingOf(u.first) != nil {
			return u.conflict("its code was taken back").WithHint("Merge again")
		}
		return nil
	}
	repo, err := openRepo(u.c)
	if err != nil {
		return err
	}
	landing := git.Landing{Branch: l.Branch, Old: git.Commit(l.Old), New: git.Commit(l.New)}
	how := ""
	if u.dryRun {
		how, _, err = repo.Back(u.c.ctx, landing)
	} else {
		how, err = repo.TakeBack(u.c.ctx, landing, "Revert the merge "+l.New+"\n\nUndone with leslie.", u.c.caller.Actor)
	}
	if e := codes.Of(err); codes.Has(err, codes.LandingBlocked) {
		paths, _ := e.Facts().Get("paths")
		return u.conflict("its code cannot be taken back from " + l.Branch + ": " + e.Facts().Text("reason")).
			With(fact.Of("paths", paths)).WithHint("Commit or move these files, or revert " + l.New + " with git, then undo again")
	}
	if errors.Is(err, git.ErrMoved) {
		return u.conflict(l.Branch + " gets commits all the time").WithHint("Undo again")
	}
	u.result.Code = &UndoneCode{Branch: l.Branch, Commit: l.New, How: how}
	if err == nil && how == git.Reverted && !u.dryRun {
		err = u.findBases(repo, *l)
	}
	return err
}

// findBases finds, for each source of a landing that was reverted, the base with which a
// later merge brings it again: git has the source's commits in the target, and would bring
// nothing.
func (u *undoing) findBases(repo *git.Repo, l thread.CodeLanding) error {
	ctx := u.c.ctx
	target, err := repo.Branch(ctx, l.Branch)
	if err != nil {
		return err
	}
	u.bases = map[thread.ThreadID]thread.CodeBase{}
	for _, source := range l.Sources {
		t, found := thread.Thread{}, false
		if _, err := u.c.view(func(s *thread.State) error { t, found = s.Threads.Get(string(source.ThreadID)); return nil }); err != nil {
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
		if !has || tip == "" { // a squash
			continue
		}
		base := git.Commit(source.Base)
		if base == "" {
			if base, err = repo.MergeBase(ctx, git.Commit(l.Old), git.Commit(source.Tip)); err != nil {
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
