package doctor

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/internal/app/history"
	"leslie/internal/app/merges"
	"leslie/internal/git"
	"leslie/thread"
)

// This file has what doctor finds about the code of threads. It starts git only if a
// thread owns code.

// codeProblem is a finding about code, with its repair, nil if a person has to decide.
type codeProblem struct {
	Finding
	repair func() error
}

// codeProblems finds what is wrong with the code of threads. A state that cannot be read
// has none; a repository that cannot be is one.
func codeProblems(c *app.Call) []codeProblem {
	var owners []thread.Thread
	var landings []thread.Merge
	_, _ = c.Store().View(c.Context(), func(s *thread.State) error {
		owners, landings = s.ThreadsWithCode(), s.Landings()
		return nil
	})
	if len(owners) == 0 && len(landings) == 0 {
		return nil
	}
	repo, err := code.OpenRepo(c)
	if err != nil {
		return []codeProblem{codeFailure(c, err)}
	}
	out := leftLocks(repo)
	for _, t := range owners {
		out = append(out, problemsOf(c, repo, t)...)
		out = append(out, leftFolder(c, repo, t)...)
	}
	for _, m := range landings {
		out = append(out, leftLanding(c, repo, m)...)
	}
	return append(out, leftRescues(c, repo, owners)...)
}

// leftLocks finds the lock files that a git of leslie's left which was killed. git refuses
// to change the branch, or to delete any, while they are there.
func leftLocks(repo *git.Repo) []codeProblem {
	left := repo.LeftLocks()
	if len(left) == 0 {
		return nil
	}
	return []codeProblem{{
		Finding: Finding{Code: string(codes.WorktreeBusy), Path: left[0], Message: "a git that was killed left lock files: " + strings.Join(left, ", "), Repairable: true},
		repair:  repo.DropLocks,
	}}
}

func codeFailure(c *app.Call, err error) codeProblem {
	e := codes.Of(err)
	return codeProblem{Finding: Finding{Code: string(e.Code()), Path: ".", Message: e.Error(), Info: c.Context().Err() == nil}}
}

// problemsOf finds what is wrong with the code of one thread.
func problemsOf(c *app.Call, repo *git.Repo, t thread.Thread) []codeProblem {
	owned, id := t.OwnedCode(), string(t.ID)
	found := func(what codes.Code, message string) codeProblem {
		return codeProblem{Finding: Finding{Code: string(what), Path: t.Worktree, Message: message, Info: true}}
	}
	gone := code.FolderMissing(code.WorktreeDir(c, t)) || code.FolderMissing(owned.Admin)
	if owned.Repo != repo.Admin || gone {
		if moved := code.MovedText(c, repo, t); moved != "" {
			p := found(codes.NoCode, "the code of thread '"+id+"' is not where it was: "+moved)
			if place, problem := code.PlaceOf(c, repo, t, nil); place.Moved && problem == "" {
				p.Info = false
			}
			return []codeProblem{p}
		}
	}
	var branch error
	if owned.State == thread.CodeReady || owned.State == thread.CodeLost {
		branch = code.CheckBranch(c.Context(), repo, t)
	}
	switch {
	case owned.State == thread.CodeRemoving:
		p := found(codes.WorktreeBusy, "the worktree of thread '"+id+"' "+code.Halfway(t.ID, owned.State))
		p.Repairable, p.Info = true, false
		p.repair = func() error {
			_, err := code.Remove(c.Project().Call(c.Context(), c.Caller(), app.Request{Command: "code remove", LockTimeout: c.Request().LockTimeout}), code.RemoveRequest{Thread: id})
			return err
		}
		return []codeProblem{p}
	case owned.State == thread.CodeRolling:
		p := found(codes.WorktreeBusy, "the code of thread '"+id+"' is being rolled back, or that was cut short: what was there is brought back by leslie doctor --repair")
		p.Repairable, p.Info = true, false
		p.repair = func() error {
			r := &history.WorkExchange{C: c, ID: t.ID}
			defer r.Release()
			return r.Hold(t)
		}
		return []codeProblem{p}
	case codes.Has(branch, codes.NoCode):
		return []codeProblem{found(codes.NoCode, "the branch '"+t.Branch+"' of thread '"+id+"' is gone; "+codes.Of(branch).Hint())}
	case branch != nil:
		return []codeProblem{codeFailure(c, branch)}
	case owned.State == thread.CodeReady && gone, owned.State == thread.CodeLost && gone:
		return []codeProblem{found(codes.NoCode, "the worktree of thread '"+id+"' is not there; leslie code restore "+id+" makes it again, if its disk is not only away; if somebody moved it: leslie code repair DIR")}
	case owned.State == thread.CodeLost:
		return []codeProblem{found(codes.NoCode, "the worktree of thread '"+id+"' was lost and is there again: leslie code restore "+id+" records that")}
	case owned.State == thread.CodeRemoved && repo.Worktree(code.WorktreeDir(c, t), owned.Admin).RestoreEnded():
		return []codeProblem{found(codes.WorktreeBusy, "bringing back the worktree of thread '"+id+
			"' was cut short: leslie code restore "+id+" goes on with it")}
	case owned.State != thread.CodeReady:
		return nil
	}
	w := repo.Worktree(code.WorktreeDir(c, t), owned.Admin)
	if w.RestoreEnded() {
		p := found(codes.WorktreeBusy, "git has the worktree of thread '"+id+"' locked since leslie brought it back")
		p.Repairable, p.repair = true, w.Unlock
		return []codeProblem{p}
	}
	return nil
}

// leftFolder finds the folders of a removed worktree that could not be deleted then.
func leftFolder(c *app.Call, repo *git.Repo, t thread.Thread) []codeProblem {
	if t.OwnedCode().State == thread.CodeRemoving { // its removal deletes them
		return nil
	}
	removal := git.Removal{Worktree: repo.Worktree(code.WorktreeDir(c, t), t.OwnedCode().Admin)}
	left := removal.Leftovers()
	if len(left) == 0 {
		return nil
	}
	return []codeProblem{{
		Finding: Finding{Code: string(codes.WriteFailed), Path: left[0], Message: "the folder of a removed worktree of thread '" + string(t.ID) + "' could not be deleted: its work is kept", Repairable: true, Info: true},
		repair:  removal.DeleteLeft,
	}}
}

// leftLanding finds what a killed landing left: files that it half wrote, or a branch that
// has the commit while no record says so.
func leftLanding(c *app.Call, repo *git.Repo, m thread.Merge) []codeProblem {
	l := m.Code.Landing
	landing := git.Landing{Branch: l.Branch, Old: git.Commit(l.Old), New: git.Commit(l.New)}
	landed, half, err := repo.InspectLanding(c.Context(), landing)
	id := string(m.ID)
	p := codeProblem{Finding: Finding{Code: string(codes.LandingBlocked), Path: l.Branch, Repairable: true}}
	switch {
	case err != nil:
		return []codeProblem{codeFailure(c, err)}
	case landed:
		p.Message = "the code of merge '" + id + "' is in the branch '" + l.Branch + "', and its process was killed then: leslie merge continue " + id + " records that"
		p.repair = func() error {
			one := c.Project().Call(c.Context(), c.Caller(), app.Request{Command: "merge continue", LockTimeout: c.Request().LockTimeout})
			_, err := merges.Continue(one, merges.ContinueRequest{Merge: id})
			c.Warn(one.Warnings()...)
			return err
		}
	case half:
		p.Message = "the landing of merge '" + id + "' was killed while it wrote files: leslie merge continue " + id + " finishes it"
		p.repair = func() error {
			_, err := repo.RepairLanding(c.Context(), landing)
			return err
		}
	default:
		return nil
	}
	return []codeProblem{p}
}

// leftRescues finds refs that keep nothing: a removal or a restoration was killed before
// it deleted them. Their commits are in a branch.
func leftRescues(c *app.Call, repo *git.Repo, owners []thread.Thread) (out []codeProblem) {
	refs, err := repo.Rescues(c.Context())
	if err != nil {
		return []codeProblem{codeFailure(c, err)}
	}
	named := map[string]thread.Thread{}
	for _, t := range owners {
		named[string(t.ID)] = t
		if removed := t.OwnedCode().Removed; removed != nil {
			delete(refs, removed.Ref)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		t, known := named[git.RescueOf(ref)]
		if !known {
			continue // a thread of another time, or another store: a person decides
		}
		with, err := repo.BranchWith(c.Context(), refs[ref])
		kept := with != ""
		p := codeProblem{Finding: Finding{Code: string(codes.NoCode), Path: ref, Message: "the ref keeps work of thread '" + string(t.ID) + "' that no record names; leslie deletes none that is not in a branch", Info: true}}
		if err == nil && kept {
			p.Message = "the ref keeps only what the branch '" + with + "' has"
			p.Repairable = true
			p.repair = func() error {
				err := repo.UpdateRef(c.Context(), ref, "", refs[ref], "leslie: nothing to keep")
				if errors.Is(err, git.ErrMoved) { // its remover has just ended
					return nil
				}
				return err
			}
		}
		out = append(out, p)
	}
	return out
}

// repairCode repairs what is repairable and says what it did. The first error ends it.
func repairCode(c *app.Call) (done []string, err error) {
	for _, p := range codeProblems(c) {
		if p.repair == nil {
			continue
		}
		if err := p.repair(); err != nil {
			return done, err
		}
		what, _, _ := strings.Cut(p.Message, ":")
		done = append(done, "settled: "+what)
	}
	return done, nil
}
