package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/setup"
	"leslie/store"
	"leslie/thread"
)

// This file has what all use cases about code share: the project's repository, the
// folders of worktrees, and who works on a thread's worktree.

// CodeRecord is what is recorded of a thread's code. Its branch and its worktree are the
// thread's.
type CodeRecord struct {
	State thread.CodeState `json:"state"`
	// Target is the branch from which it started, null if it was a commit.
	Target *string             `json:"target"`
	Start  string              `json:"start"`
	Slot   int                 `json:"slot,omitempty"`
	Landed []thread.CodeLanded `json:"landed,omitempty"`
	// Accept has the checks that an agent's done runs, Evidence how they ended; only a
	// thread's status has that.
	Accept   []string              `json:"accept,omitempty"`
	Evidence []thread.CodeEvidence `json:"evidence,omitempty"`
}

// codeOf returns what is recorded of a thread's code, nil for none.
func codeOf(t thread.Thread) *CodeRecord {
	c := t.OwnedCode()
	if c == nil {
		return nil
	}
	return &CodeRecord{
		State: c.State, Target: orNull(branchOf(c.Target)), Start: c.Start, Slot: c.Slot, Landed: c.Landed, Accept: c.Accept,
	}
}

// branchOf is a ref's name as people write it.
func branchOf(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/remotes/"} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			return name
		}
	}
	return ref
}

// openRepo finds the project's repository. Errors: T801, T509 for the configuration.
func openRepo(c *Call) (*git.Repo, error) {
	user, _, err := configs(c)
	if err != nil {
		return nil, err
	}
	repo, err := git.Open(c.ctx, c.project.root, git.System{Environ: environ(c)})
	if err != nil {
		return nil, err
	}
	repo.Trust, repo.Driver = user.trusts(c.project.root), setup.MergeDriver
	switch {
	case repo.Top == "":
		return nil, noRepo("the repository in " + repo.Admin + " has no main worktree (it is bare, a submodule, or has a separate folder)")
	case nearestGit(c.project.root) != repo.Top:
		return nil, noRepo("the project is in a linked worktree of " + repo.Top + "; its store has to be in the main one")
	}
	return repo, nil
}

// environ is the environment of started programs.
func environ(c *Call) []string {
	if c.project.env.Environ == nil {
		return nil
	}
	return c.project.env.Environ()
}

func noRepo(reason string) *codes.Error { return codes.GitUnavailable.New(fact.Of("reason", reason)) }

// nearestGit is the nearest folder above dir, or dir itself, with a .git.
func nearestGit(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// repoOf returns the repository of a thread's code. Errors: T801, also if the project is
// in another repository by now, and T509.
func repoOf(c *Call, t thread.Thread) (*git.Repo, error) {
	repo, err := openRepo(c)
	if err != nil {
		return nil, err
	}
	if was := t.OwnedCode().Repo; was != repo.Admin {
		return nil, noRepo("the code of '" + string(t.ID) + "' is in the repository " + was + ", and the project is in " + repo.Admin)
	}
	return repo, nil
}

// quietRepo is repoOf once no git of a killed process changes branches any more.
func quietRepo(c *Call, t thread.Thread) (*git.Repo, error) {
	repo, err := repoOf(c, t)
	if err == nil {
		err = repo.AwaitQuiet(c.ctx)
	}
	return repo, err
}

// worktreeDir is the folder of a thread's worktree, absolute.
func worktreeDir(c *Call, t thread.Thread) string {
	if dir := filepath.FromSlash(t.Worktree); filepath.IsAbs(dir) || dir == "" {
		return dir
	}
	return absolute(c, t.Worktree)
}

// workFolder is where the thread's agent works: the project's folder in its worktree. top
// is the repository's main worktree.
func workFolder(c *Call, top, worktree string) string {
	below, err := filepath.Rel(top, c.project.root)
	if err != nil || strings.HasPrefix(below, "..") {
		return worktree
	}
	return filepath.Join(worktree, below)
}

// idInBranch stands for the thread's id in code.branch.
const idInBranch = "{id}"

// codeNames is how the configuration names branches and folders of worktrees.
type codeNames struct{ branch, dir string }

// namesOfCode reads the configuration. A project's own file may choose a folder only
// beside the repository or in it. Errors: T903, T509.
func namesOfCode(c *Call, repo *git.Repo) (codeNames, error) {
	user, project, err := configs(c)
	if err != nil {
		return codeNames{}, err
	}
	n := codeNames{branch: "leslie/" + idInBranch, dir: repo.Top + ".worktrees"}
	for _, cfg := range []config{project, user} {
		if cfg.Code.Branch != nil {
			n.branch = *cfg.Code.Branch
		}
	}
	under := func(dir string) string {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(repo.Top, dir)
		}
		return filepath.Clean(dir)
	}
	switch mine, theirs := user.Code.Dir, project.Code.Dir; {
	case mine != nil:
		n.dir = under(*mine)
	case theirs != nil:
		n.dir = under(*theirs)
		if below, err := filepath.Rel(filepath.Dir(repo.Top), n.dir); err != nil || below == "." || strings.HasPrefix(below, "..") {
			return n, badConfig(store.Dir+"/"+store.ConfigFile, "code.dir", "it must be a folder beside the repository, not "+quoted(*theirs))
		}
	}
	return n, nil
}

// makeWorktrees makes the folder in which worktrees are made, or one in the store where
// nothing can be made there. made says that it did not exist before. Error: T505.
func (n codeNames) makeWorktrees(c *Call) (dir string, made bool, err error) {
	err = os.Mkdir(n.dir, 0o777)
	switch {
	case err == nil:
		return n.dir, true, nil
	case errors.Is(err, fs.ErrExist) && git.Writable(n.dir), errors.Is(err, fs.ErrNotExist) && os.MkdirAll(n.dir, 0o777) == nil:
		return n.dir, false, nil
	}
	dir = c.store.Path("worktrees")
	if err = os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", false, codes.WriteFailed.Wrap(err, fact.Of("path", c.store.Relative(dir)), fact.Of("reason", codes.Reason(err)))
	}
	return dir, err == nil, nil
}

// errHeld says that another call holds a name.
var errHeld = errors.New("another call of leslie is at it")

// hold makes sure that no other call has the same name until the returned function is
// called. The operating system ends the hold of a process that dies. Errors: errHeld,
// those of store.Stage.
func hold(c *Call, name string) (release func(), err error) {
	for try := 0; ; try++ {
		stage, err := c.store.Stage(thread.OperationID(name))
		switch {
		case err == nil:
			return func() { _ = stage.Discard() }, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		case try > 0:
			return nil, errHeld
		}
		// The stage may be a dead process's: a writer removes it.
		if _, err := c.store.Update(c.ctx, c.storeCall(), func(*thread.State) (store.Outcome, error) { return store.Outcome{}, nil }); err != nil {
			return nil, err
		}
	}
}

// holdPace is how often a call looks whether another one has ended: the end of a process
// changes no state.
const holdPace = 100 * time.Millisecond

// awaitHold is hold that waits for another call. Errors: errHeld if that takes too long,
// T904, those of store.Stage.
func awaitHold(c *Call, name string, patience time.Duration) (release func(), err error) {
	if release, err = hold(c, name); !errors.Is(err, errHeld) {
		return release, err
	}
	ctx, cancel := c.project.env.timeout(c.ctx, patience)
	defer cancel()
	w := c.store.Watch(store.StateFile)
	defer w.Close()
	for errors.Is(err, errHeld) && ctx.Err() == nil {
		if ended := w.Next(ctx, holdPace); c.ctx.Err() != nil {
			return nil, ended
		}
		release, err = hold(c, name)
	}
	return release, err
}

// codePatience is how long a call waits for another one that works on the worktree: long
// enough for a killed process to be gone, and for what most calls do.
const codePatience = 2 * time.Second

// holdCode holds a thread's worktree: see awaitHold. Errors: T805, T904, those of
// store.Stage.
func holdCode(c *Call, id thread.ThreadID) (release func(), err error) {
	if release, err = awaitHold(c, "code-"+string(id), codePatience); errors.Is(err, errHeld) {
		return nil, codes.WorktreeBusy.New(fact.Of("what", "Another call of leslie"), fact.Of("path", "the worktree of '"+string(id)+"'"), fact.Of("threadId", id))
	}
	return release, err
}

// cleanupTime is how long what a failed call has begun may take to be taken back.
const cleanupTime = 20 * time.Second

// cleaning returns a context for taking back what a call has begun, also if the call's
// own has ended.
func cleaning(c *Call) (context.Context, context.CancelFunc) {
	return c.project.env.timeout(context.WithoutCancel(c.ctx), cleanupTime)
}
