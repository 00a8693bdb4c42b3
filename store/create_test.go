package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/statefile"
	"leslie/store/internal/teststore"
	"leslie/warnings"
)

func TestANewStoreIsEmptyAndAnExistingOneIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	view := teststore.RequireHolds(t, s, nil, false)
	assert.Zero(t, view.Revision)
	assert.Equal(t, store.Gitignore, string(teststore.Read(t, s, ".gitignore")))
	assert.DirExists(t, s.Path(store.ThreadsDir))
	teststore.Add(t, s, "obj-a")
	before := teststore.Listing(t, s)
	again, created, _, err := store.Create(context.Background(), store.Wait{}, s.Root(), store.Options{})
	require.NoError(t, err)
	assert.False(t, created)
	assert.Equal(t, s.Root(), again.Root())
	assert.Equal(t, before, teststore.Listing(t, s))
}

func TestAMakingThatIsCutOffAnywhereIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	n, failed := 0, 0
	count := func(store.Action, string) error { n++; return nil }
	teststore.New(t, store.Options{Before: count})
	for i := 1; i <= n; i++ {
		dir := t.TempDir()
		s, created, notes, err := store.Create(context.Background(), store.Wait{}, dir, store.Options{Before: teststore.Failing(i, true, os.ErrPermission)})
		if err != nil {
			teststore.RequireCode(t, codes.WriteFailed, err)
			assert.NoFileExists(t, filepath.Join(dir, store.Dir, store.StateFile), "step %d of %d failed: no store was made", i, n)
			failed++
		} else {
			assert.True(t, created, "step %d of %d", i, n)
			assert.True(t, teststore.HasWarning(notes, warnings.NotSettled), "step %d of %d", i, n)
			teststore.RequireHolds(t, s, nil, false)
		}
		s, _, _, err = store.Create(context.Background(), store.Wait{}, dir, store.Options{})
		require.NoError(t, err, "step %d of %d", i, n)
		teststore.RequireHolds(t, s, nil, false)
		teststore.RequireTidy(t, s)
		_, err = statefile.Decode(teststore.Read(t, s, store.BackupFile))
		require.NoError(t, err, "step %d of %d", i, n)
		assert.Equal(t, store.Gitignore, string(teststore.Read(t, s, ".gitignore")))
		teststore.Add(t, s, "obj-a")
	}
	assert.Less(t, failed, n, "behind the state's rename nothing fails")
}

func TestALostStateIsNeverReplacedByAnEmptyOne(t *testing.T) {
	t.Parallel()
	for _, keep := range []string{store.BackupFile, store.JournalFile} {
		s := teststore.New(t, store.Options{})
		teststore.Add(t, s, teststore.Names(2)...)
		for _, name := range []string{store.StateFile, store.BackupFile, store.JournalFile} {
			if name != keep {
				require.NoError(t, os.Remove(s.Path(name)))
			}
		}
		before := teststore.Listing(t, s)
		_, created, _, err := store.Create(context.Background(), store.Wait{}, s.Root(), store.Options{})
		require.NoError(t, err)
		assert.False(t, created, keep)
		assert.Equal(t, before, teststore.Listing(t, s), keep)
	}
}

func TestAStoreIsNotMadeInAFolderThatDoesNotExist(t *testing.T) {
	t.Parallel()
	_, _, _, err := store.Create(context.Background(), store.Wait{}, filepath.Join(t.TempDir(), "none"), store.Options{})
	teststore.RequireCode(t, codes.WriteFailed, err)
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
	for _, mark := range []string{store.StateFile, store.BackupFile, store.LockFile} {
		root := physicalDir(t)
		write(t, filepath.Join(root, store.Dir, mark), "")
		makeDirs(t, filepath.Join(root, "a", "b", store.Dir))
		for _, start := range []string{root, filepath.Join(root, "a", "b"), filepath.Join(root, store.Dir)} {
			s, err := store.Find(start, store.Options{})
			require.NoError(t, err)
			assert.Equal(t, root, s.Root())
		}
	}
}

func TestTheNearestStoreIsFound(t *testing.T) {
	t.Parallel()
	root := physicalDir(t)
	inner := filepath.Join(root, "inner")
	write(t, filepath.Join(root, store.Dir, store.StateFile), "")
	write(t, filepath.Join(inner, store.Dir, store.LockFile), "")
	s, err := store.Find(inner, store.Options{})
	require.NoError(t, err)
	assert.Equal(t, inner, s.Root())
}

func TestTheHomeFolderAndALinkAreNoStores(t *testing.T) {
	t.Parallel()
	root := physicalDir(t)
	home := filepath.Join(root, "home")
	work := filepath.Join(home, "work")
	write(t, filepath.Join(root, store.Dir, store.StateFile), "")
	write(t, filepath.Join(home, store.Dir, store.StateFile), "")
	makeDirs(t, work)
	require.NoError(t, os.Symlink(filepath.Join(root, store.Dir), filepath.Join(work, store.Dir)))
	s, err := store.Find(work, store.Options{Home: home})
	require.NoError(t, err)
	assert.Equal(t, root, s.Root())
}

func TestNoStoreIsToldWithThePlacesSearched(t *testing.T) {
	t.Parallel()
	root := physicalDir(t)
	_, err := store.Find(root, store.Options{})
	e := teststore.RequireCode(t, codes.NotInitialized, err)
	assert.Equal(t, root, e.Facts().Text("dir"))
	searched, _ := e.Facts().Get("searched")
	assert.Equal(t, []string{root, filepath.Dir(root)}, searched.([]string)[:2])
	_, err = store.Find(filepath.Join(root, "none"), store.Options{})
	teststore.RequireCode(t, codes.NotInitialized, err)
	assert.NoDirExists(t, filepath.Join(root, store.Dir))
}

func TestALinkedWorktreeUsesTheMainOnesStore(t *testing.T) {
	t.Parallel()
	root := physicalDir(t)
	main, linked := filepath.Join(root, "main"), filepath.Join(root, "linked")
	write(t, filepath.Join(main, store.Dir, store.StateFile), "")
	write(t, filepath.Join(main, ".git", "worktrees", "linked", "commondir"), "../..\n")
	write(t, filepath.Join(linked, ".git"), "gitdir: "+filepath.Join(main, ".git", "worktrees", "linked")+"\n")
	makeDirs(t, filepath.Join(linked, "src"))
	s, err := store.Find(filepath.Join(linked, "src"), store.Options{})
	require.NoError(t, err)
	assert.Equal(t, main, s.Root())
	write(t, filepath.Join(linked, store.Dir, store.LockFile), "")
	s, err = store.Find(filepath.Join(linked, "src"), store.Options{})
	require.NoError(t, err)
	assert.Equal(t, linked, s.Root(), "a store of its own comes first")
}

func TestASubmoduleIsNoWorktree(t *testing.T) {
	t.Parallel()
	root := physicalDir(t)
	write(t, filepath.Join(root, "main", store.Dir, store.StateFile), "")
	makeDirs(t, filepath.Join(root, "main", ".git", "modules", "sub"))
	write(t, filepath.Join(root, "sub", ".git"), "gitdir: ../main/.git/modules/sub\n")
	_, err := store.Find(filepath.Join(root, "sub"), store.Options{})
	teststore.RequireCode(t, codes.NotInitialized, err)
}

func TestAStoreIsNotMadeThroughALink(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, store.Dir)))
	_, _, _, err := store.Create(context.Background(), store.Wait{}, dir, store.Options{})
	teststore.RequireCode(t, codes.UnsafePath, err)
	entries, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	assert.Empty(t, entries)
}
