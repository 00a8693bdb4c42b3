//go:build !windows

package store_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/scope"
	"leslie/store"
	"leslie/store/internal/storetest"
)

func TestHostileNamesAreReportedAsTheyAre(t *testing.T) {
	t.Parallel()
	s := treeStore(t, store.Options{})
	odd := []string{"a\nb", "esc\x1b[31m", "-rf", " ", "ünï", `back\slash`, "{a,b}", "[x]", "tab\there"}
	for _, name := range odd {
		storetest.PutFile(t, s, "threads/a/"+name, name)
	}
	bad := s.Path("threads/a/\xff\xfe")
	if err := os.Mkdir(bad, 0o755); err != nil {
		t.Skip("the file system takes UTF-8 alone")
	}
	require.NoError(t, os.WriteFile(bad+"/f", []byte("x"), 0o644))
	got, err := s.Artifacts("a")
	require.NoError(t, err)
	assert.ElementsMatch(t, append([]string{"\xff\xfe"}, odd...), entryPaths(got))
	for _, e := range got {
		assert.Equal(t, e.Path == "\xff\xfe", e.Type == store.TypeOther, "%q", e.Path)
	}

	st, err := s.Stage("op-1")
	require.NoError(t, err)
	defer st.Close()
	m, skipped, err := st.Snapshot(context.Background(), "a", scope.Set{})
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	assert.Equal(t, []string{"\xff\xfe"}, skipped)
	id, err := st.PutManifest(m)
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	again, err := s.Manifest(id)
	require.NoError(t, err)
	assert.Equal(t, m, again)
	require.NoError(t, st.Materialize(context.Background(), again, "copy", false))
	for _, name := range odd {
		data, err := os.ReadFile(s.Path("tmp/op-1/copy/" + name))
		require.NoError(t, err)
		assert.Equal(t, name, string(data))
	}
}
