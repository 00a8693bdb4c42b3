package app

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
)

// This file keeps a worktree for each thread into which code is merged, in which merged code
// is validated before it lands.

// codeValidateTime is how long a validator of code may take.
const codeValidateTime = 30 * time.Minute

// validatePrefix begins the folder's name: no thread's id begins with a dot.
const validatePrefix = ".validate-"

// validatesFor is why git has such a worktree locked, with the project to which it belongs.
func validatesFor(c *Call) string {
	return "leslie validates merges in it, for " + strings.Join(strings.Fields(c.project.root), " ")
}

// checkOut checks merged code out in the kept worktree of the target; nobody else may until
// release is called. Errors: T505; T803 if the folder is somebody else's; T805 while another
// call validates there; T808; T509 and T903 for the configuration.
func checkOut(c *Call, target thread.Thread, repo *git.Repo, commit git.Commit) (place *merging.Place, release func(), err error) {
	names, err := namesOfCode(c, repo)
	if err != nil {
		return nil, nil, err
	}
	dir, _, err := names.makeWorktrees(c)
	if err != nil {
		return nil, nil, err
	}
	kept := git.Kept{Dir: filepath.Join(dir, validatePrefix+string(target.ID)), Owner: validatesFor(c)}
	if release, err = holdValidation(c, target.ID, kept.Dir); err != nil {
		return nil, nil, err
	}
	if err := repo.CheckOut(c.ctx, kept, commit); err != nil {
		release()
		return nil, nil, err
	}
	return &merging.Place{Dir: workFolder(c, repo.Top, kept.Dir), Environ: placeEnviron(c, target.ID)}, release, nil
}

// holdValidation holds a kept worktree: see awaitHold. Errors: T805, T904, those of store.Stage.
func holdValidation(c *Call, id thread.ThreadID, dir string) (release func(), err error) {
	if release, err = awaitHold(c, "validate-"+string(id), codePatience); errors.Is(err, errHeld) {
		return nil, codes.WorktreeBusy.New(fact.Of("what", "Another validation"), fact.Of("path", dir), fact.Of("threadId", id)).
			WithHint("Wait until it has ended, then repeat the call")
	}
	return release, err
}

// pruneValidations removes the kept worktrees of threads into which nothing is merged any
// more. Errors: T505, T904.
func (d *CodePruneResult) pruneValidations(c *Call, repo *git.Repo, owners []thread.Thread) error {
	for _, kept := range repo.AllKept(validatesFor(c)) {
		id := thread.ThreadID(strings.TrimPrefix(filepath.Base(kept.Dir), validatePrefix))
		i := slices.IndexFunc(owners, func(t thread.Thread) bool { return t.ID == id })
		if i >= 0 && !owners[i].Status.Terminated() && owners[i].OwnedCode().State != thread.CodeRemoved {
			d.Left = append(d.Left, LeftCode{id, kept.Dir, "merges are validated in it, and the thread is " + string(owners[i].Status)})
			continue
		}
		if !d.DryRun {
			release, err := holdValidation(c, id, kept.Dir)
			switch {
			case codes.Has(err, codes.WorktreeBusy):
				d.Left = append(d.Left, LeftCode{id, kept.Dir, err.Error()})
				continue
			case err == nil:
				err = repo.DropKept(kept)
				release()
			}
			if err != nil {
				return err
			}
			d.Changed = true
		}
		d.Removed = append(d.Removed, PrunedCode{ThreadID: id, Worktree: kept.Dir})
	}
	return nil
}
