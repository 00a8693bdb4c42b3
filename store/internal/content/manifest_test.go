package content

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store/internal/storetest"
)

var longAgo = time.Date(2026, 2, 9, 16, 0, 0, 123456789, time.UTC)

func TestAManifestHasOneFormAndIsReadBack(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	m := Manifest{
		{Path: "a <b>.md", SHA256: storetest.Sum("x"), Size: 1, ModTime: longAgo, ChangeTime: longAgo.Add(time.Second)},
		{Path: "run.sh", SHA256: storetest.Sum("yy"), Size: 2, Executable: true},
	}
	st := stageFor(t, s)
	id, err := st.PutManifest(m)
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	data, err := s.Blob(id)
	require.NoError(t, err)
	assert.Equal(t, `{"version":1,"files":[{"path":"a <b>.md","sha256":"`+string(storetest.Sum("x"))+
		`","size":1,"modifiedAt":"2026-02-09T16:00:00.123456789Z","changedAt":"2026-02-09T16:00:01.123456789Z"},{"path":"run.sh","sha256":"`+string(storetest.Sum("yy"))+
		`","size":2,"executable":true}]}`, string(data))
	again, err := s.Manifest(id)
	require.NoError(t, err)
	assert.Equal(t, m, again)

	none, err := st.PutManifest(nil)
	require.NoError(t, err)
	require.NoError(t, st.Sync())
	empty, err := s.Manifest(none)
	require.NoError(t, err)
	assert.Empty(t, empty)

	f, ok := m.Find("run.sh")
	assert.True(t, ok)
	assert.Equal(t, int64(2), f.Size)
	_, ok = m.Find("run")
	assert.False(t, ok)
}

func TestAManifestThatAStrangerMadeIsRefused(t *testing.T) {
	t.Parallel()
	s := treeStore(t)
	st := stageFor(t, s)
	file := func(path string) string {
		return `{"path":"` + path + `","sha256":"` + string(storetest.Sum("x")) + `","size":1}`
	}
	for _, bad := range []string{
		``, `null`, `[]`, `{"version":2,"files":[]}`, `{"files":[]}`, `{"version":1,"files":[` + file("../x") + `]}`,
		`{"version":1,"files":[` + file("/x") + `]}`, `{"version":1,"files":[` + file(".") + `]}`,
		`{"version":1,"files":[` + file("a/../b") + `]}`, `{"version":1,"files":[` + file("") + `]}`,
		`{"version":1,"files":[` + file("b") + `,` + file("a") + `]}`, `{"version":1,"files":[` + file("a") + `,` + file("a") + `]}`,
		`{"version":1,"files":[{"path":"a","sha256":"../../x","size":1}]}`,
	} {
		id, err := st.Put([]byte(bad))
		require.NoError(t, err)
		require.NoError(t, st.Sync())
		_, err = s.Manifest(id)
		storetest.WantCode(t, err, codes.ReadFailed)
		require.ErrorIs(t, err, ErrDamaged, bad)
	}
}
