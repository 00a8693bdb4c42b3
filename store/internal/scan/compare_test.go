package scan

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/scope"
	"leslie/store/internal/content"
	"leslie/store/internal/storetest"
)

// long ago is a time that no snapshot of a test is near to.
var longAgo = time.Date(2026, 2, 9, 16, 0, 0, 123456789, time.UTC)

func age(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, os.Chtimes(name, longAgo, longAgo))
}

func snapshotOf(t *testing.T, s testStore, patterns ...string) content.Manifest {
	t.Helper()
	st := stageFor(t, s)
	m, _, err := st.Snapshot(context.Background(), "a", storetest.Scope(t, patterns...))
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	return m
}

func changedIn(t *testing.T, s testStore, m content.Manifest, patterns ...string) []string {
	t.Helper()
	changed, err := s.Compare(context.Background(), "a", m, storetest.Scope(t, patterns...))
	require.NoError(t, err)
	return changed
}

func TestWhatDiffersFromASnapshotIsNamed(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	for _, rel := range []string{"same.md", "touched.md", "rewritten.md", "grown.md", "gone.md", "mode.sh", "sub/folder.md"} {
		age(t, storetest.PutFile(t, s, "threads/a/"+rel, "12345"))
	}
	m := snapshotOf(t, s)
	assert.Empty(t, changedIn(t, s, m))

	storetest.PutFile(t, s, "threads/a/touched.md", "12345")
	storetest.PutFile(t, s, "threads/a/rewritten.md", "54321")
	age(t, storetest.PutFile(t, s, "threads/a/grown.md", "123456"))
	require.NoError(t, os.Remove(s.Path("threads/a/gone.md")))
	require.NoError(t, os.Chmod(s.Path("threads/a/mode.sh"), 0o755))
	require.NoError(t, os.Remove(s.Path("threads/a/sub/folder.md")))
	require.NoError(t, os.Mkdir(s.Path("threads/a/sub/folder.md"), 0o755))
	storetest.PutFile(t, s, "threads/a/new/n.md", "new")
	storetest.PutFile(t, s, "threads/a/context/inherited/r/n.md", "not an artifact")
	assert.Equal(t, []string{"gone.md", "grown.md", "mode.sh", "new/n.md", "rewritten.md", "sub/folder.md"}, changedIn(t, s, m))

	require.NoError(t, os.RemoveAll(s.Path("threads/a")))
	_, err := s.Compare(context.Background(), "a", m, scope.Set{})
	storetest.WantCode(t, err, codes.TargetCorrupted)
}

func TestOnlyWhatTheScopeMeansIsCompared(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	storetest.PutFile(t, s, "threads/a/plan.md", "plan")
	m := snapshotOf(t, s, "*.md")
	storetest.PutFile(t, s, "threads/a/other.txt", "new")
	assert.Empty(t, changedIn(t, s, m, "*.md"))
	storetest.PutFile(t, s, "threads/a/other.md", "new")
	assert.Equal(t, []string{"other.md"}, changedIn(t, s, m, "*.md"))
}

// oldSnapshot is a snapshot that finds files which nobody has touched for an hour.
func oldSnapshot(t *testing.T, s testStore) content.Manifest {
	t.Helper()
	st := stageFor(t, s)
	st.since = st.since.Add(time.Hour)
	m, _, err := st.Snapshot(context.Background(), "a", scope.Set{})
	require.NoError(t, err)
	if len(m) > 0 && m[0].ChangeTime.IsZero() {
		t.Skip("the system does not tell when a file was changed")
	}
	return m
}

// rewrite gives a file another content of the same size, and its time back, when the
// file system's clock has gone on.
func rewrite(t *testing.T, name, content string) {
	t.Helper()
	was, err := os.Stat(name)
	require.NoError(t, err)
	for is := was; changeTime(is).Equal(changeTime(was)); {
		require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
		require.NoError(t, os.Chtimes(name, was.ModTime(), was.ModTime()))
		is, err = os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, was.Size(), is.Size())
		require.Equal(t, was.ModTime(), is.ModTime())
	}
}

// cp -p, tar and rsync put times back.
func TestATimeThatWasPutBackHidesNoChange(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	name := storetest.PutFile(t, s, "threads/a/plan.md", "plan 1")
	age(t, name)
	for i, m := range []content.Manifest{snapshotOf(t, s), oldSnapshot(t, s)} {
		assert.Equal(t, i == 1, !m[0].ChangeTime.IsZero(), "only old times prove something")
		rewrite(t, name, "plan 2")
		assert.Equal(t, []string{"plan.md"}, changedIn(t, s, m))
		rewrite(t, name, "plan 1")
		assert.Empty(t, changedIn(t, s, m))
	}
}

func TestAnOlderManifestsTimesProveNothing(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	name := storetest.PutFile(t, s, "threads/a/plan.md", "plan 1")
	age(t, name)
	m, err := content.Decode([]byte(`{"version":1,"files":[{"path":"plan.md","sha256":"` + string(storetest.Sum("plan 1")) +
		`","size":6,"modifiedAt":"2026-02-09T16:00:00.123456789Z"}]}`))
	require.NoError(t, err)
	assert.Empty(t, changedIn(t, s, m))
	require.NoError(t, os.WriteFile(name, []byte("plan 2"), 0o644))
	age(t, name)
	assert.Equal(t, []string{"plan.md"}, changedIn(t, s, m))
}

func TestAFileChangedAroundTheSnapshotIsComparedByContent(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	age(t, storetest.PutFile(t, s, "threads/a/plan.md", "plan 1"))
	m := snapshotOf(t, s)
	assert.True(t, m[0].ChangeTime.IsZero(), "it proves nothing")
	assert.True(t, m[0].ModTime.IsZero())
}

func TestTheTimeOfAStageDecidesWhatATimeOfChangeProves(t *testing.T) {
	t.Parallel()
	st := shot{since: longAgo}
	for _, c := range []struct {
		before time.Duration
		proves bool
	}{{time.Hour, true}, {2 * time.Second, true}, {2*time.Second - 1, false}, {0, false}, {-time.Hour, false}} {
		assert.Equal(t, c.proves, st.provable(longAgo.Add(-c.before)), c.before)
	}
	assert.False(t, st.provable(time.Time{}), "a system that does not tell")
}

func TestAComparisonReadsOnlyWhatMayHaveChanged(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	storetest.PutFile(t, s, "threads/a/plan.md", "plan 1")
	name := storetest.PutFile(t, s, "threads/a/saved.md", "same")
	c := comparison{was: oldSnapshot(t, s), now: map[string]bool{}}
	rewrite(t, name, "same")
	entries, err := s.ArtifactsIn("a", scope.Set{})
	require.NoError(t, err)
	for _, e := range entries {
		c.look(e)
	}
	require.Len(t, c.doubtful, 1)
	assert.Equal(t, "saved.md", c.doubtful[0].Path)
	assert.Equal(t, []string{"saved.md"}, c.result())
}
