package code

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/setup"
	"leslie/store"
	"leslie/thread"
)

// Halfway says of a thread's worktree that it is being made or removed, and which line finishes that if its process
// was killed; "" in other states.
func Halfway(id thread.ThreadID, state thread.CodeState) string {
	switch state {
	case thread.CodeMaking:
		return "is being made, or its maker was killed: leslie code setup " + string(id) + " finishes it"
	case thread.CodeRemoving:
		return "is being removed, or its remover was killed: leslie code remove " + string(id) + " finishes it"
	}
	return ""
}

// OpenRepo finds the project's repository. Errors: T801, T509 for the configuration.
func OpenRepo(c *app.Call) (*git.Repo, error) {
	return app.Cached(c, "repository", func() (*git.Repo, error) { return openRepo(c) })
}

func openRepo(c *app.Call) (*git.Repo, error) {
	user, _, err := c.Configs()
	if err != nil {
		return nil, err
	}
	repo, err := git.Open(c.Context(), c.Project().Root(), git.System{Environ: c.Environ()})
	if err != nil {
		return nil, err
	}
	repo.Driver = setup.MergeDriver
	repo.Trust, repo.Seen = user.TrustsGit(c.Project().Root())
	switch {
	case repo.Top == "":
		return nil, NoRepo("the repository in " + repo.Admin + " has no main worktree (it is bare, a submodule, or has a separate folder)")
	case NearestGit(c.Project().Root()) != repo.Top:
		return nil, NoRepo("the project is in a linked worktree of " + repo.Top + "; its store has to be in the main one")
	}
	return repo, nil
}

// NoRepo is T801 with a reason.
func NoRepo(reason string) *codes.Error { return codes.GitUnavailable.New(fact.Of("reason", reason)) }

// NearestGit is the nearest folder above dir, or dir itself, with a .git.
func NearestGit(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// RepoOf returns the repository of a thread's code, with the commits that other machines have sent
// of it. Errors: T801, also if the project is in another repository by now, T509; T802 for commits
// that cannot come, unless the call only reads.
func RepoOf(c *app.Call, t thread.Thread) (*git.Repo, error) {
	repo, err := OpenRepo(c)
	if err != nil {
		return nil, err
	}
	if !InRepo(t, repo) {
		return nil, inAnotherRepo(t.ID, t.OwnedCode().Repo, repo)
	}
	return repo, arrive(c, repo, t)
}

// InRepo reports whether a thread's code is in a repository. That of another machine is, as far as
// it has come.
func InRepo(t thread.Thread, repo *git.Repo) bool {
	code := t.OwnedCode()
	return code.Repo == repo.Admin || code.State == thread.CodeElsewhere || code.Repo == "" && code.State == thread.CodeRemoved
}

// RepoOnceIdle is RepoOf once no git of a killed process changes branches any more.
func RepoOnceIdle(c *app.Call, t thread.Thread) (*git.Repo, error) {
	repo, err := RepoOf(c, t)
	if err == nil {
		err = repo.AwaitQuiet(c.Context())
	}
	return repo, err
}

// WorktreeDir is the folder of a thread's worktree, absolute.
func WorktreeDir(c *app.Call, t thread.Thread) string {
	if dir := filepath.FromSlash(t.Worktree); filepath.IsAbs(dir) || dir == "" {
		return dir
	}
	return c.Absolute(t.Worktree)
}

// WorkFolder is where the thread's agent works: the project's folder in its worktree. top
// is the repository's main worktree.
func WorkFolder(c *app.Call, top, worktree string) string {
	below, err := filepath.Rel(top, c.Project().Root())
	if err != nil || strings.HasPrefix(below, "..") {
		return worktree
	}
	return filepath.Join(worktree, below)
}

// Names is how the configuration names branches and folders of worktrees.
type Names struct{ Branch, dir string }

// NamesNow reads the configuration. A project's own file may choose a folder only
// beside the repository or in it. Errors: T903, T509.
func NamesNow(c *app.Call, repo *git.Repo) (Names, error) {
	user, project, err := c.Configs()
	if err != nil {
		return Names{}, err
	}
	n := Names{Branch: app.BranchFolder + app.IDInBranch, dir: repo.Top + ".worktrees"}
	for _, cfg := range []app.Config{project, user} {
		if cfg.Code.Branch != nil {
			n.Branch = *cfg.Code.Branch
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
			return n, app.BadConfig(store.Dir+"/"+store.ConfigFile, "code.dir", "it must be a folder beside the repository, not "+app.Quoted(*theirs))
		}
	}
	return n, nil
}

// MakeWorktrees makes the folder in which worktrees are made, or one in the store where
// nothing can be made there. made says that it did not exist before. Error: T505.
func (n Names) MakeWorktrees(c *app.Call) (dir string, made bool, err error) {
	err = os.Mkdir(n.dir, 0o777)
	switch {
	case err == nil:
		return n.dir, true, nil
	case errors.Is(err, fs.ErrExist) && git.Writable(n.dir), errors.Is(err, fs.ErrNotExist) && os.MkdirAll(n.dir, 0o777) == nil:
		return n.dir, false, nil
	}
	dir = c.Store().Path("worktrees")
	if err = os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", false, codes.WriteFailed.OfPath(c.Store().Relative(dir), err)
	}
	return dir, err == nil, nil
}

// ErrHeld says that another call holds a name.
var ErrHeld = errors.New("another call of leslie is at it")

// hold makes sure that no other call has the same name until the returned function is
// called. The operating system ends the hold of a process that dies. Errors: ErrHeld,
// those of store.Stage.
func hold(c *app.Call, name string) (release func(), err error) {
	for try := 0; ; try++ {
		stage, err := c.Store().Stage(thread.OperationID(name))
		switch {
		case err == nil:
			return func() { _ = stage.Discard() }, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		case try > 0:
			return nil, ErrHeld
		}
		// The stage may be a dead process's: a writer removes it.
		if _, err := c.Store().Update(c.Context(), c.StoreCall(), func(*thread.State) (store.Outcome, error) { return store.Outcome{}, nil }); err != nil {
			return nil, err
		}
	}
}

// holdPace is how often a call looks whether another one has ended: the end of a process
// changes no state.
const holdPace = 100 * time.Millisecond

// AwaitHold is hold that waits for another call. Errors: ErrHeld if that takes too long,
// T904, those of store.Stage.
func AwaitHold(c *app.Call, name string, patience time.Duration) (release func(), err error) {
	if release, err = hold(c, name); !errors.Is(err, ErrHeld) {
		return release, err
	}
	ctx, cancel := c.Project().Environment().Timeout(c.Context(), patience)
	defer cancel()
	w := c.Store().Watch(store.StateFile)
	defer w.Close()
	for errors.Is(err, ErrHeld) && ctx.Err() == nil {
		if ended := w.Next(ctx, holdPace); c.Context().Err() != nil {
			return nil, ended
		}
		release, err = hold(c, name)
	}
	return release, err
}

// codePatience is how long a call waits for another one that works on the worktree: long
// enough for a killed process to be gone, and for what most calls do.
const codePatience = 2 * time.Second

// Hold holds a thread's worktree: see AwaitHold. Errors: T805, T904, those of
// store.Stage.
func Hold(c *app.Call, id thread.ThreadID) (release func(), err error) {
	if release, err = AwaitHold(c, "code-"+string(id), codePatience); errors.Is(err, ErrHeld) {
		return nil, codes.WorktreeBusy.New(fact.Of("what", "Another call of leslie"), fact.Of("path", "the worktree of '"+string(id)+"'"), fact.Of("threadId", id))
	}
	return release, err
}
