package code

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
)

// This file keeps a worktree for each thread into which code is merged, in which merged code
// is validated before it lands.

// ValidateTime is how long a validator of code may take.
const ValidateTime = 30 * time.Minute

// validatePrefix begins the folder's name: no thread's id begins with a dot.
const validatePrefix = ".validate-"

// validatesFor is why git has such a worktree locked, with the project to which it belongs.
func validatesFor(c *app.Call) string {
	return "leslie validates merges in it, for " + strings.Join(strings.Fields(c.Project().Root()), " ")
}

// CheckOutForValidation checks merged code out in the private worktree of the target; nobody else may until
// release is called. Errors: T505; T803 if the folder is somebody else's; T805 while another
// call validates there; T808; T509 and T903 for the configuration.
func CheckOutForValidation(c *app.Call, target thread.Thread, repo *git.Repo, commit git.Commit) (place *merging.Place, release func(), err error) {
	kept, release, err := checkOutPrivate(c, target.ID, repo, commit)
	if err != nil {
		return nil, nil, err
	}
	return &merging.Place{Dir: WorkFolder(c, repo.Top, kept.Dir), Environ: placeEnviron(c, target.ID)}, release, nil
}

func checkOutPrivate(c *app.Call, id thread.ThreadID, repo *git.Repo, commit git.Commit) (kept git.PrivateWorktree, release func(), err error) {
	names, err := NamesNow(c, repo)
	if err != nil {
		return kept, nil, err
	}
	dir, _, err := names.MakeWorktrees(c)
	if err != nil {
		return kept, nil, err
	}
	kept = git.PrivateWorktree{Dir: filepath.Join(dir, validatePrefix+string(id)), Owner: validatesFor(c)}
	if release, err = holdValidation(c, id, kept.Dir); err != nil {
		return kept, nil, err
	}
	if err := repo.CheckOut(c.Context(), kept, commit); err != nil {
		release()
		return kept, nil, err
	}
	return kept, release, nil
}

// holdValidation holds a private worktree: see AwaitHold. Errors: T805, T904, those of store.Stage.
func holdValidation(c *app.Call, id thread.ThreadID, dir string) (release func(), err error) {
	if release, err = AwaitHold(c, "validate-"+string(id), codePatience); errors.Is(err, ErrHeld) {
		return nil, codes.WorktreeBusy.New(fact.Of("what", "Another validation"), fact.Of("path", dir), fact.Of("threadId", id)).
			WithHint("Wait until it has ended, then repeat the call")
	}
	return release, err
}

// pruneValidations removes the private worktrees of threads into which nothing is merged any
// more. Errors: T505, T904.
func (d *PruneResult) pruneValidations(c *app.Call, repo *git.Repo) error {
	for _, kept := range repo.PrivateWorktrees(validatesFor(c)) {
		id := thread.ThreadID(strings.TrimPrefix(filepath.Base(kept.Dir), validatePrefix))
		var target thread.Thread
		if _, err := c.View(func(s *thread.State) error { target, _ = s.Threads.Peek(string(id)); return nil }); err != nil {
			return err
		}
		code := target.OwnedCode()
		if target.ID == id && !target.Status.Terminated() && (code == nil || code.State != thread.CodeRemoved) {
			d.Left = append(d.Left, LeftCode{id, kept.Dir, "merges are validated in it, and the thread is " + string(target.Status)})
			continue
		}
		if !d.DryRun {
			release, err := holdValidation(c, id, kept.Dir)
			switch {
			case codes.Has(err, codes.WorktreeBusy):
				d.Left = append(d.Left, LeftCode{id, kept.Dir, err.Error()})
				continue
			case err == nil:
				err = repo.RemovePrivate(kept)
				release()
				if codes.Has(err, codes.WriteFailed) { // the others go all the same
					d.Left, d.Changed = append(d.Left, LeftCode{id, kept.Dir, err.Error()}), true
					continue
				}
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
