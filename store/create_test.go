package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store/internal/statefile"
	"leslie/warnings"
)

func TestANewStoreIsEmptyAndAnExistingOneIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	view := requireHolds(t, s, nil, false)
	assert.Zero(t, view.Revision)
	assert.Equal(t, gitignore, string(read(t, s, ".gitignore")))
	assert.DirExists(t, s.Path(ThreadsDir))
	add(t, s, "obj-a")
	before := listing(t, s)
	again, created, _, err := Create(context.Background(), Wait{}, s.Root(), Options{})
	require.NoError(t, err)
	assert.False(t, created)
	assert.Equal(t, s.Root(), again.Root())
	assert.Equal(t, before, listing(t, s))
}

func TestAMakingThatIsCutOffAnywhereIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	n, failed := 0, 0
	count := func(Action, string) error { n++; return nil }
	newStore(t, Options{Before: count})
	for i := 1; i <= n; i++ {
		dir := t.TempDir()
		s, created, notes, err := Create(context.Background(), Wait{}, dir, Options{Before: failing(i, true, os.ErrPermission)})
		if err != nil {
			requireCode(t, codes.WriteFailed, err)
			assert.NoFileExists(t, filepath.Join(dir, Dir, StateFile), "step %d of %d failed: no store was made", i, n)
			failed++
		} else {
			assert.True(t, created, "step %d of %d", i, n)
			assert.True(t, hasWarning(notes, warnings.NotSettled), "step %d of %d", i, n)
			requireHolds(t, s, nil, false)
		}
		s, _, _, err = Create(context.Background(), Wait{}, dir, Options{})
		require.NoError(t, err, "step %d of %d", i, n)
		requireHolds(t, s, nil, false)
		requireTidy(t, s)
		_, err = statefile.Decode(read(t, s, BackupFile))
		require.NoError(t, err, "step %d of %d", i, n)
		assert.Equal(t, gitignore, string(read(t, s, ".gitignore")))
		add(t, s, "obj-a")
	}
	assert.Less(t, failed, n, "behind the state's rename nothing fails")
}

func TestALostStateIsNeverReplacedByAnEmptyOne(t *testing.T) {
	t.Parallel()
	for _, keep := range []string{BackupFile, JournalFile} {
		s := newStore(t, Options{})
		add(t, s, names(2)...)
		for _, name := range []string{StateFile, BackupFile, JournalFile} {
			if name != keep {
				require.NoError(t, os.Remove(s.Path(name)))
			}
		}
		before := listing(t, s)
		_, created, _, err := Create(context.Background(), Wait{}, s.Root(), Options{})
		require.NoError(t, err)
		assert.False(t, created, keep)
		assert.Equal(t, before, listing(t, s), keep)
	}
}

func TestAStoreIsNotMadeInAFolderThatDoesNotExist(t *testing.T) {
	t.Parallel()
	_, _, _, err := Create(context.Background(), Wait{}, filepath.Join(t.TempDir(), "none"), Options{})
	requireCode(t, codes.WriteFailed, err)
}

// physicalDir is a temporary folder by its real name.
func physicalDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func makeDirs(t *testing.T, dirs ...string) {
	for _, dir := range dirs {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
}

func write(t *testing.T, path, text string) {
	makeDirs(t, filepath.Dir(path))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestAStoreIsFoundFromAnyFolderBelow(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{StateFile, BackupFile, LockFile} {
		root := physicalDir(t)
		write(t, filepath.Join(root, Dir, mark), "")
		makeDirs(t, filepath.Join(root, "a", "b", Dir))
		for _, start := range []string{root, filepath.Join(root, "a", "b"), filepath.Join(root, Dir)} {
			s, err := Find(start, Options{})
			require.NoError(t, err)
			assert.Equal(t, root, s.Root())
		}
	}
}

func TestTheNearestStoreIsFound(t *testing.T) {
	t.Parallel()
	root := physicalDir(t)
	inner := filepath.Join(root, "inner")
	write(t, filepath.Join(root, Dir, StateFile), "")
	write(t, filepath.Join(inner, Dir, LockFile), "")
	s, err := Find(inner, Options{})
	require.NoError(t, err)
	assert.Equal(t, inner, s.Root())
}

func TestTheHomeFolderAndALinkAreNoStores(t *testing.T) {
	t.Parallel()
	root := physicalDir(t)
	home := filepath.Join(root, "home")
	work := filepath.Join(home, "work")
	write(t, filepath.Join(root, Dir, StateFile), "")
	write(t, filepath.Join(home, Dir, StateFile), "")
	makeDirs(t, work)
	require.NoError(t, os.Symlink(filepath.Join(root, Dir), filepath.Join(work, Dir)))
	s, err := Find(work, Options{Home: home})
	require.NoError(t, err)
	assert.Equal(t, root, s.Root())
}

func TestNoStoreIsToldWithThePlacesSearched(t *testing.T) {
	t.Parallel()
	root := physicalDir(t)
	_, err := Find(root, Options{})
	e := requireCode(t, codes.NotInitialized, err)
	assert.Equal(t, root, e.Facts().Text("dir"))
	searched, _ := e.Facts().Get("searched")
	assert.Equal(t, []string{root, filepath.Dir(root)}, searched.([]string)[:2])
	_, err = Find(filepath.Join(root, "none"), Options{})
	requireCode(t, codes.NotInitialized, err)
	assert.NoDirExists(t, filepath.Join(root, Dir))
}

func TestALinkedWorktreeUsesTheMainOnesStore(t *testing.T) {
	t.Parallel()
	root := physicalDir(t)
	main, linked := filepath.Join(root, "main"), filepath.Join(root, "linked")
	write(t, filepath.Join(main, Dir, StateFile), "")
	write(t, filepath.Join(main, ".git", "worktrees", "linked", "commondir"), "../..\n")
	write(t, filepath.Join(linked, ".git"), "gitdir: "+filepath.Join(main, ".git", "worktrees", "linked")+"\n")
	makeDirs(t, filepath.Join(linked, "src"))
	s, err := Find(filepath.Join(linked, "src"), Options{})
	require.NoError(t, err)
	assert.Equal(t, main, s.Root())
	write(t, filepath.Join(linked, Dir, LockFile), "")
	s, err = Find(filepath.Join(linked, "src"), Options{})
	require.NoError(t, err)
	assert.Equal(t, linked, s.Root(), "a store of its own comes first")
}

func TestASubmoduleIsNoWorktree(t *testing.T) {
	t.Parallel()
	root := physicalDir(t)
	write(t, filepath.Join(root, "main", Dir, StateFile), "")
	makeDirs(t, filepath.Join(root, "main", ".git", "modules", "sub"))
	write(t, filepath.Join(root, "sub", ".git"), "gitdir: ../main/.git/modules/sub\n")
	_, err := Find(filepath.Join(root, "sub"), Options{})
	requireCode(t, codes.NotInitialized, err)
}

func TestAStoreIsNotMadeThroughALink(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, Dir)))
	_, _, _, err := Create(context.Background(), Wait{}, dir, Options{})
	requireCode(t, codes.UnsafePath, err)
	entries, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	assert.Empty(t, entries)
}
