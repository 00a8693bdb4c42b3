//go:build !windows

package scan

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/scope"
	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/storetest"
)

// putSocket makes a socket; it is born in a folder of its own since the names of
// sockets are short.
func putSocket(t *testing.T, name string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	require.NoError(t, os.Rename(filepath.Join(dir, "s"), name))
}

func TestLinksPipesAndSocketsAreNamedAndNeverOpened(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o644))
	storetest.PutFile(t, s, "threads/a/d/plan.md", "plan")
	dir := s.Path("threads/a/d")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "out")))
	require.NoError(t, os.Symlink("plan.md", filepath.Join(dir, "in")))
	require.NoError(t, os.Symlink(".", filepath.Join(dir, "loop")))
	putSocket(t, filepath.Join(dir, "socket"))

	got, err := s.Artifacts("a")
	require.NoError(t, err)
	types := map[string]EntryType{}
	for _, e := range got {
		types[e.Path] = e.Type
	}
	assert.Equal(t, map[string]EntryType{
		"d": TypeFolder, "d/plan.md": TypeFile, "d/pipe": TypeOther, "d/socket": TypeOther,
		"d/out": TypeLink, "d/in": TypeLink, "d/loop": TypeLink,
	}, types)

	st := stageFor(t, s)
	m, skipped, err := st.Snapshot(context.Background(), "a", scope.Set{})
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	assert.Equal(t, []string{"d/plan.md"}, m.Paths())
	assert.Equal(t, []string{"d/in", "d/loop", "d/out", "d/pipe", "d/socket"}, skipped)
	_, err = s.Blob(storetest.Sum("secret"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAScopeThatNamesALinkIsT507(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	storetest.PutFile(t, s, "threads/a/real/plan.md", "plan")
	require.NoError(t, os.Symlink("real", s.Path("threads/a/link")))
	st := stageFor(t, s)
	for _, bad := range []string{"link", "link/plan.md"} {
		_, _, err := st.Snapshot(context.Background(), "a", storetest.Scope(t, bad))
		storetest.WantCode(t, err, codes.UnsafePath)
	}
	_, skipped, err := st.Snapshot(context.Background(), "a", storetest.Scope(t, "li*"))
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	assert.Equal(t, []string{"link"}, skipped)
}

func TestAPipeThatIsSwappedInDoesNotHang(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	name := storetest.PutFile(t, s, "threads/a/plan.md", "plan")
	entries, err := s.Artifacts("a")
	require.NoError(t, err)
	require.NoError(t, os.Remove(name))
	require.NoError(t, syscall.Mkfifo(name, 0o644))
	got, err := s.Hash(context.Background(), "a", entries)
	require.NoError(t, err)
	assert.Equal(t, []Entry{{Path: "plan.md", Type: TypeOther}}, got)

	blob := s.Path(content.Path(storetest.Sum("x")))
	require.NoError(t, os.MkdirAll(filepath.Dir(blob), 0o755))
	require.NoError(t, syscall.Mkfifo(blob, 0o644))
	_, err = s.Blob(storetest.Sum("x"))
	storetest.WantCode(t, err, codes.ReadFailed)
}

func TestAFileThatIsReplacedByRenameWhileItIsOpenedIsStillRead(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	name := storetest.PutFile(t, s, "threads/a/plan.md", "plan 0")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(name+".new", []byte("plan 1"), 0o644)
				_ = os.Rename(name+".new", name)
			}
		}
	}()
	root, err := s.openThread("a")
	require.NoError(t, err)
	defer root.Close()
	const tries = 2000
	misses := 0
	for range tries {
		f, _, err := saferoot.OpenIn(root, "plan.md")
		if err != nil {
			misses++
			continue
		}
		require.NoError(t, f.Close())
	}
	close(stop)
	<-done
	assert.Less(t, misses, tries/100, "the file was always there")
}
