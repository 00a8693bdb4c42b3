package code

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/merging"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/thread"
)

// maxShown is how large a file of a worktree may be to be read, in bytes.
const maxShown = 64 << 20

// FileOf reads a file of a thread's code, at a path from the top of the repository: as the worktree
// has it, else as the branch has it, or had it when it was removed. A link is what it names.
// Errors: T203 for no file; T101, T105, T801, T802, T508, T509.
func FileOf(c *app.Call, id thread.ThreadID, name string) (content []byte, executable bool, err error) {
	t, err := Owner(c, string(id))
	if err == nil {
		err = t.Unmade()
	}
	if err != nil {
		return nil, false, err
	}
	none := codes.ScopeNotFound.New(fact.Of("path", thread.CodePrefix+name), fact.Of("threadId", id)).WithNext("leslie diff " + string(id) + " --code --stat")
	if !fs.ValidPath(name) || name == "." {
		return nil, false, none
	}
	if dir := WorktreeDir(c, t); t.OwnedCode().State == thread.CodeReady && !FolderMissing(dir) {
		content, executable, err = readIn(dir, name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil, false, none
		}
		return content, executable, err
	}
	repo, err := RepoOf(c, t)
	if err != nil {
		return nil, false, err
	}
	if t.OwnedCode().State == thread.CodeElsewhere {
		err = arrive(c, repo, t)
	}
	var tip git.Commit
	if err == nil {
		tip, err = repo.Branch(c.Context(), t.Branch)
	}
	if err == nil {
		tip, err = OwnTip(c.Context(), repo, t.OwnedCode(), tip)
	}
	if how := t.OwnedCode().Removed; err == nil && tip == "" && how != nil {
		tip, err = repo.Resolve(c.Context(), how.Tip)
	}
	switch {
	case err != nil:
		return nil, false, err
	case tip == "" && t.OwnedCode().State == thread.CodeElsewhere:
		return nil, false, thread.NotSent(t)
	case tip == "":
		return nil, false, merging.BranchGone(repo, t)
	}
	found, err := repo.File(c.Context(), tip, name)
	if err != nil {
		return nil, false, err
	}
	if !found.There() || found.Submodule() {
		if sent := t.OwnedCode().Sent; sent != nil {
			if at, err := repo.Resolve(c.Context(), sent.Tip); err == nil && at == "" { // which may have it
				return nil, false, thread.NotSent(t)
			}
		}
		return nil, false, none
	}
	all, err := repo.Blobs(c.Context(), []string{found.Object})
	return all[found.Object], found.Mode == "100755", err
}

// readIn reads a file below a folder, and follows no link.
func readIn(dir, name string) (content []byte, executable bool, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, false, codes.ReadFailed.OfPath(dir, err)
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		to, err := root.Readlink(name)
		return []byte(to), false, err
	case err == nil && !info.Mode().IsRegular():
		return nil, false, fs.ErrNotExist
	case err == nil && info.Size() > maxShown:
		return nil, false, codes.TooLarge.New(fact.Of("what", name), fact.Of("limit", "64 MiB"), fact.Of("path", path.Join(dir, name)))
	case err == nil:
		content, err = root.ReadFile(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		err = codes.ReadFailed.OfPath(path.Join(dir, name), err)
	}
	return content, err == nil && info.Mode()&0o100 != 0, err
}
