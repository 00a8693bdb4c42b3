package code

import (
	"context"
	"os"
	"path/filepath"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
	"leslie/warnings"
)

// This file removes the worktrees of threads, and loses no work.
//
//	check   what would be lost is refused; nothing is changed
//	op 1    "removing", with the ref that will keep the work
//	aside   the folder gets another name beside it, so that nobody works there
//	keep    a commit of everything that is not committed, and the ref: the point of no return
//	detach  the repository forgets the folder, which gets the name of one that may go
//	delete  the folder, and the branch if it has landed
//	op 2    "removed"; its answer is the request's
//
// An error up to "keep" takes everything back. Where the process was killed, or the folder
// cannot be deleted, the thread stays "removing": the same command, or doctor --repair, goes
// on from what it finds, and code restore brings the worktree back.

// RemotesWith returns the remotes of git that have a branch, as far as this clone knows.
func RemotesWith(c *app.Call, branch string) []string {
	repo, err := OpenRepo(c)
	if err != nil {
		return nil
	}
	names, _ := repo.RemotesWith(c.Context(), branch)
	return names
}

// HasBranch reports whether this clone has a branch.
func HasBranch(c *app.Call, branch string) bool {
	repo, err := OpenRepo(c)
	if err != nil {
		return false
	}
	tip, err := repo.Branch(c.Context(), branch)
	return err == nil && tip != ""
}

// RemoveRequest names a thread that owns code.
type RemoveRequest struct {
	Thread string // "": the thread that the caller speaks for
	// DropBranch: the branch that leslie made goes, too, if nobody else has it checked out. The ref
	// of the removal keeps its commits.
	DropBranch bool
	DryRun     bool // only say what would go

	checked bool // CheckRemovable was just asked
}

// RemoveResult says what is left of a thread's code.
type RemoveResult struct {
	ThreadID thread.ThreadID `json:"threadId"`
	// State is removed; lost if the folder was not there; null if leslie had not made the
	// worktree, which stays and is no longer the thread's.
	State    *thread.CodeState `json:"state"`
	Branch   string            `json:"branch"`
	Worktree string            `json:"worktree"` // absolute
	// BranchKept: the branch is still there.
	BranchKept bool `json:"branchKept"`
	// Besides, of what was left here of a thread on another machine, is how many commits the branch has that the
	// thread's own, and where it landed, lack.
	Besides int `json:"besides,omitempty"`
	// Rescue is what keeps work that was not committed, absent if there was none.
	Rescue *RescuedWork `json:"rescue,omitempty"`
	// Ref keeps the commits of the branch and what was not committed; "" if a branch has all of
	// it.
	Ref      string          `json:"ref,omitempty"`
	DryRun   bool            `json:"dryRun,omitempty"`
	Revision thread.Revision `json:"revision"`
	app.Change
}

// RescuedWork is a commit of work that was not committed.
type RescuedWork struct {
	Ref    string     `json:"ref"`
	Commit git.Commit `json:"commit"`
	// Changed, Untracked and Ignored are numbers of files; they are not known, and zero,
	// where the removal goes on after its process was killed.
	Changed   int `json:"changed"`
	Untracked int `json:"untracked"`
	Ignored   int `json:"ignored"`
}

// codeRemoval is one removal.
type codeRemoval struct {
	c       *app.Call
	repo    *git.Repo
	t       thread.Thread
	removal git.Removal
	drops   bool // see RemoveRequest.DropBranch
	checked bool // see RemoveRequest.checked
}

// Remove removes the worktree of a thread and keeps what is not committed. The branch
// stays unless leslie made it and it has landed. A worktree that leslie did not make stays;
// the thread only no longer owns it. Errors: T101, T105; T801; T802 for a thread that owns
// no worktree; T805 if something is in progress in it, or if it has repositories of its
// own; T108 for another's claim, and those of a write. Where the thread's worktree is on another machine, it removes the
// one that is left here, if all of it is committed, in no operation.
func Remove(c *app.Call, in RemoveRequest) (*RemoveResult, error) {
	if first, ok, err := app.Answered[RemoveResult](c); ok || err != nil {
		return first, err
	}
	m := &codeRemoval{c: c, drops: in.DropBranch, checked: in.checked}
	if d, err := removeLeft(c, in); d != nil || err != nil {
		return d, err
	}
	t, err := Owner(c, c.ThreadOr(in.Thread), thread.CodeReady, thread.CodeRemoving, thread.CodeLost)
	if err != nil {
		return nil, err
	}
	if in.DryRun {
		c.ReadOnly()
		m.t = t
		return m.foresee()
	}
	release, err := Hold(c, t.ID)
	if err != nil {
		return nil, err
	}
	defer release()
	if m.t, err = Owner(c, string(t.ID), thread.CodeReady, thread.CodeRemoving, thread.CodeLost); err != nil {
		return nil, err // somebody else has removed it meanwhile
	}
	if !m.t.OwnedCode().Made.Worktree {
		return m.end(func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) { return s.ForgetCode(m.t.ID, stamp) }, git.Rescued{}, true)
	}
	if m.repo, err = RepoOnceIdle(c, m.t); err != nil {
		return nil, err
	}
	m.removal = git.Removal{Worktree: m.repo.Worktree(WorktreeDir(c, m.t), m.t.OwnedCode().Admin), Own: m.t.Branch}
	return m.run()
}

// foresee is the answer of a dry run. Errors: see Remove.
func (m *codeRemoval) foresee() (*RemoveResult, error) {
	c, owned := m.c, m.t.OwnedCode()
	if _, err := c.View(func(s *thread.State) error {
		_, err := s.RespectClaim(string(m.t.ID), c.Stamp())
		return err
	}); err != nil {
		return nil, err
	}
	d := &RemoveResult{ThreadID: m.t.ID, Branch: m.t.Branch, Worktree: WorktreeDir(c, m.t), BranchKept: true, DryRun: true, Revision: m.t.Revision}
	if !owned.Made.Worktree {
		return d, nil
	}
	removed, lost := thread.CodeRemoved, thread.CodeLost
	if d.State = &removed; FolderMissing(d.Worktree) || FolderMissing(owned.Admin) {
		d.State = &lost
		return d, nil
	}
	found, err := CheckRemovable(c, m.t)
	if err != nil {
		return nil, err
	}
	if found.Changed+found.Untracked+found.Ignored > 0 {
		d.Rescue = &RescuedWork{Changed: found.Changed, Untracked: found.Untracked, Ignored: found.Ignored}
	}
	if m.repo, err = OpenRepo(c); err != nil {
		return nil, err
	}
	tip, err := m.repo.Branch(c.Context(), m.t.Branch)
	if err != nil || tip == "" {
		return d, err
	}
	landed, err := m.hasLanded(c.Context(), tip)
	d.BranchKept = !landed || tip != found.Head || !owned.Made.Branch
	return d, err
}

// CheckRemovable returns what prevents the removal of the worktree of a thread, if leslie made it and
// it is there, and what it has beyond its branch. Errors: T801, T805.
func CheckRemovable(c *app.Call, t thread.Thread) (git.Rescued, error) {
	owned := t.OwnedCode()
	if owned == nil || owned.State != thread.CodeReady || !owned.Made.Worktree || FolderMissing(WorktreeDir(c, t)) || FolderMissing(owned.Admin) {
		return git.Rescued{}, nil
	}
	repo, err := RepoOnceIdle(c, t)
	if err != nil {
		return git.Rescued{}, err
	}
	return checkRemovable(c.Context(), repo, t, repo.Worktree(WorktreeDir(c, t), owned.Admin))
}

func checkRemovable(ctx context.Context, repo *git.Repo, t thread.Thread, w git.Worktree) (git.Rescued, error) {
	if err := branchThere(ctx, repo, t); err != nil {
		return git.Rescued{}, err
	}
	found, err := w.CheckRemovable(ctx)
	return found, thread.Busy(err, t.ID)
}

// CheckBranch returns T802 if somebody deleted a thread's branch, with the line that makes it again.
// Errors: T801, too.
func CheckBranch(ctx context.Context, repo *git.Repo, t thread.Thread) error {
	tip, err := repo.Branch(ctx, t.Branch)
	if err == nil && tip == "" {
		err = merging.BranchGone(repo, t)
	}
	return err
}

// branchThere is CheckBranch for a worktree that has the branch checked out: then it has no commit.
func branchThere(ctx context.Context, repo *git.Repo, t thread.Thread) error {
	if !repo.Worktree("", t.OwnedCode().Admin).HasCheckedOut(t.Branch) {
		return nil
	}
	return CheckBranch(ctx, repo, t)
}

// Owner returns a thread that owns code in one of some states. Errors: T101, T105, T802,
// those of reading.
func Owner(c *app.Call, id string, in ...thread.CodeState) (t thread.Thread, err error) {
	_, err = c.View(func(s *thread.State) (err error) {
		t, err = s.OwnCode(id, in...)
		return err
	})
	return t, err
}

func (m *codeRemoval) run() (*RemoveResult, error) {
	code := m.t.OwnedCode()
	if code.State == thread.CodeRemoving {
		m.removal.Ref = code.Removed.Ref
		kept, ok, err := m.removal.Rescued(m.c.Context())
		switch {
		case err != nil:
			return nil, err
		case ok:
			return m.finish(kept)
		}
	}
	if m.removal.Gone() {
		tip, err := m.repo.Branch(m.c.Context(), m.t.Branch)
		if err != nil {
			return nil, err
		}
		if m.drops && tip != "" && code.State != thread.CodeRemoving {
			return m.dropLost(tip)
		}
		return m.end(func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) { return s.LoseCode(m.t.ID, stamp) }, git.Rescued{}, tip != "")
	}
	if code.State != thread.CodeRemoving {
		if err := m.beginRemoval(); err != nil {
			return nil, err
		}
	}
	kept, err := m.keep()
	if err != nil {
		return nil, m.takeBack(err)
	}
	return m.finish(kept)
}

// dropLost drops the branch of a worktree whose folder somebody deleted, and has git forget the folder. A ref keeps
// the commits.
func (m *codeRemoval) dropLost(tip git.Commit) (*RemoveResult, error) {
	ctx, kept := m.c.Context(), true
	if err := m.removal.CheckUnlocked(); err != nil { // its disk may only be away
		return nil, thread.Busy(err, m.t.ID)
	}
	how := &thread.CodeRemoval{At: m.c.Now(), Tip: string(tip)}
	var err error
	if how.Landed, err = m.hasLanded(ctx, tip); err != nil {
		return nil, err
	}
	if !how.Landed && m.t.OwnedCode().Made.Branch {
		if m.removal.Ref, err = m.repo.FreeRescue(ctx, string(m.t.ID)); err != nil {
			return nil, err
		}
		if err := m.repo.UpdateRef(ctx, m.removal.Ref, tip, "", "leslie: dropped"); err != nil {
			return nil, err
		}
		how.Ref = m.removal.Ref
	}
	if err := m.removal.Detach(); err != nil {
		return nil, err
	}
	if m.t.OwnedCode().Made.Branch {
		gone, err := m.repo.DeleteBranch(ctx, m.t.Branch, tip)
		if err != nil {
			return nil, err
		}
		kept = !gone
	}
	return m.end(func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) {
		return s.ChangeCode(string(m.t.ID), []thread.CodeState{thread.CodeReady, thread.CodeLost}, stamp, func(_ *thread.Thread, code *thread.Code) {
			code.State, code.Removed = thread.CodeRemoved, how
		})
	}, git.Rescued{}, kept)
}

// beginRemoval checks what can be checked and records that the worktree is being removed.
func (m *codeRemoval) beginRemoval() (err error) {
	if !m.checked { // what changes since is kept all the same
		if _, err := checkRemovable(m.c.Context(), m.repo, m.t, m.removal.Worktree); err != nil {
			return err
		}
	}
	if m.removal.Ref, err = m.repo.FreeRescue(m.c.Context(), string(m.t.ID)); err != nil {
		return err
	}
	return between(m.c, func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) {
		if err := m.c.RespectClaim(s, string(m.t.ID), stamp); err != nil {
			return thread.Thread{}, err
		}
		if m.t.OwnedCode().State == thread.CodeLost { // its folder is there again
			if _, err := s.RestoreCode(m.t.ID, m.t.OwnedCode().Admin, stamp); err != nil {
				return thread.Thread{}, err
			}
		}
		return s.BeginCodeRemoval(m.t.ID, m.removal.Ref, stamp)
	})
}

// keep moves the folder aside and keeps its work.
func (m *codeRemoval) keep() (git.Rescued, error) {
	if err := m.removal.MoveAside(); err != nil {
		return git.Rescued{}, err
	}
	return m.removal.RescueWork(m.c.Context(), m.c.Caller().Actor)
}

// takeBack takes back what was begun, and returns why. If that fails, too, the thread
// stays as it is, for the next call to go on with.
func (m *codeRemoval) takeBack(why error) error {
	ctx, cancel := m.c.Cleaning()
	defer cancel()
	if _, kept, err := m.removal.Rescued(ctx); err != nil || kept {
		return m.halfDone(why)
	}
	if err := m.removal.MoveBack(); err != nil {
		return m.halfDone(why)
	}
	back := m.c.Project().Call(ctx, m.c.Caller(), app.Request{Command: "code remove", LockTimeout: m.c.Request().LockTimeout, Params: m.c.Request().Params})
	back.SetContinues(m.c.Continues())
	err := between(back, func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) {
		return s.EndCodeRemoval(m.t.ID, nil, stamp)
	})
	if err != nil {
		return m.halfDone(why)
	}
	m.c.SetChanged(false)
	return thread.Busy(why, m.t.ID)
}

// halfDone says of an error that the removal has begun, and what ends it.
func (m *codeRemoval) halfDone(why error) error {
	e := codes.Of(why)
	if e == nil {
		return why
	}
	return e.With(fact.Of("changed", true), fact.Of("threadId", m.t.ID)).WithNext("leslie code remove " + string(m.t.ID)).
		WithHint("The removal has begun, and nothing is lost: the same line again finishes it, and leslie code restore " + string(m.t.ID) + " brings the worktree back")
}

// finish deletes what is kept and records it.
func (m *codeRemoval) finish(kept git.Rescued) (*RemoveResult, error) {
	ctx := m.c.Context()
	if err := m.removal.Delete(); err != nil {
		return nil, m.halfDone(err)
	}
	if dir := filepath.Dir(m.removal.Dir); dir == m.repo.Top+".worktrees" {
		_ = os.Remove(dir) // if it is empty
	}
	tip, err := m.repo.Branch(ctx, m.t.Branch)
	if err != nil {
		return nil, err
	}
	how := &thread.CodeRemoval{At: m.c.Now(), Tip: string(tip), Rescue: string(kept.Commit), Ref: m.removal.Ref}
	branchKept := tip != ""
	if tip == "" { // somebody, or this removal before its process was killed, has deleted it
		how.Tip = string(kept.Head)
	} else if how.Landed, err = m.hasLanded(ctx, tip); err != nil {
		return nil, m.halfDone(err)
	} else if how.Landed = how.Landed && tip == kept.Head; how.Landed || m.drops && tip == kept.Head {
		gone := false
		if m.t.OwnedCode().Made.Branch {
			gone, err = m.repo.DeleteBranch(ctx, m.t.Branch, tip)
			if err != nil {
				return nil, err
			}
		}
		branchKept = !gone
	}
	if kept.Commit == "" {
		has := branchKept
		if !has {
			with, err := m.repo.BranchWith(ctx, kept.Head)
			if err != nil {
				return nil, m.halfDone(err)
			}
			has = with != ""
		}
		if has {
			how.Ref = ""
		}
	}
	d, err := m.end(func(s *thread.State, stamp thread.Stamp) (thread.Thread, error) {
		return s.EndCodeRemoval(m.t.ID, how, stamp)
	}, kept, branchKept)
	if err == nil && how.Ref == "" {
		_ = m.repo.UpdateRef(ctx, m.removal.Ref, "", kept.Head, "leslie: nothing to keep") // doctor finds it if it stays
	}
	return d, err
}

// hasLanded reports whether what the branch has landed, so that it is not needed. One without a commit of
// its own stays while its thread may go on.
func (m *codeRemoval) hasLanded(ctx context.Context, tip git.Commit) (bool, error) {
	if string(tip) == m.t.OwnedCode().Start && !m.t.Status.Terminated() {
		return false, nil
	}
	return hasLanded(ctx, m.repo, m.t, tip)
}

// end records how the removal has ended, and is the answer of the request.
func (m *codeRemoval) end(do func(*thread.State, thread.Stamp) (thread.Thread, error), kept git.Rescued, branchKept bool) (*RemoveResult, error) {
	c := m.c
	d, err := app.Write(c, func(s *thread.State, stamp thread.Stamp) (*RemoveResult, thread.ThreadID, error) {
		if m.t.OwnedCode().State != thread.CodeRemoving && m.removal.Ref == "" { // the first operation
			if err := c.RespectClaim(s, string(m.t.ID), stamp); err != nil {
				return nil, "", err
			}
		}
		t, err := do(s, stamp)
		if err != nil {
			return nil, "", err
		}
		d := &RemoveResult{ThreadID: t.ID, Branch: t.Branch, Worktree: WorktreeDir(c, t), BranchKept: branchKept, Revision: t.Revision}
		if code := t.OwnedCode(); code != nil {
			d.State = &code.State
			if code.Removed != nil {
				d.Ref = code.Removed.Ref
			}
		}
		if kept.Commit != "" {
			d.Rescue = &RescuedWork{m.removal.Ref, kept.Commit, kept.Changed, kept.Untracked, kept.Ignored}
			begun := m.t.OwnedCode().State == thread.CodeRemoving
			// A drop's answer names the ref, and a detached head alone is no work.
			if !m.drops && (begun || kept.Changed+kept.Untracked+kept.Ignored > 0) {
				c.Warn(warnings.Rescued.New(fact.Of("threadId", t.ID), fact.Of("ref", m.removal.Ref), fact.Of("commit", kept.Commit), fact.Of("what", rescuedWords(kept, begun))))
			}
		}
		if len(kept.Dropped) > 0 {
			c.Warn(warnings.IgnoredDropped.NewOfPaths(kept.Dropped, fact.List(nil), fact.Of("threadId", t.ID)))
		}
		return d, t.ID, nil
	})
	if err == nil && !branchKept {
		_ = forgetCame(c.Context(), m.repo, m.t) // a ref that stays costs nothing
	}
	return d, err
}

// rescuedWords says what a rescue has; begun: its numbers are not known.
func rescuedWords(kept git.Rescued, begun bool) string {
	if !begun && kept.Changed+kept.Untracked == 0 && kept.Ignored > 0 {
		return "files that git ignores"
	}
	return "work that was not committed"
}

// DropBranch deletes the branch of a thread whose worktree was removed, if leslie made it and no
// worktree has it checked out, and returns the ref that keeps its commits; "" if there is no such
// branch. Repeated, it finishes what a killed call has begun. Errors: T101, T105, T801, T802, those
// of a write.
func DropBranch(c *app.Call, id thread.ThreadID) (ref string, err error) {
	t, err := Owner(c, string(id), thread.CodeRemoved)
	if err != nil || !t.OwnedCode().Made.Branch {
		return "", err
	}
	repo, err := RepoOnceIdle(c, t)
	if err != nil {
		return "", err
	}
	tip, err := repo.Branch(c.Context(), t.Branch)
	if err != nil || tip == "" {
		return "", err
	}
	ref = t.OwnedCode().Removed.Ref
	kept, has := git.Commit(""), false
	if ref != "" {
		if kept, err = repo.Resolve(c.Context(), ref); err == nil && kept != "" {
			has, err = repo.Contains(c.Context(), kept, tip)
		}
	}
	if err == nil && (ref == "" || kept != "" && !has) {
		ref, err = repo.FreeRescue(c.Context(), string(id))
	}
	if err != nil {
		return "", err
	}
	_, err = app.Write(c, func(s *thread.State, stamp thread.Stamp) (*RemoveResult, thread.ThreadID, error) {
		t, err := s.ChangeCode(string(id), []thread.CodeState{thread.CodeRemoved}, stamp, func(_ *thread.Thread, code *thread.Code) {
			removed := *code.Removed
			removed.Tip, removed.Ref = string(tip), ref
			code.Removed = &removed
		})
		return &RemoveResult{}, t.ID, err
	})
	if err == nil && !has {
		err = repo.UpdateRef(c.Context(), ref, tip, "", "leslie: dropped")
	}
	if err == nil {
		_, err = repo.DeleteBranch(c.Context(), t.Branch, tip)
	}
	return ref, err
}
