//go:build !windows

package filework

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store/internal/storetest"
)

const inThread = "threads/a/"

func TestTheSameContentWithOtherExecutableBitsIsNotTheSame(t *testing.T) {
	t.Parallel()
	s := treeStore(t, Options{})
	for name, text := range map[string]string{"a": "text", "b": "text", "c": "text", "d": "other"} {
		storetest.PutFile(t, s, inThread+name, text)
	}
	require.NoError(t, os.Chmod(s.Path(inThread+"c"), 0o755))
	w, err := Open(s.disk)
	require.NoError(t, err)
	defer w.Close()
	assert.True(t, w.alike(inThread+"a", inThread+"b"))
	assert.False(t, w.alike(inThread+"a", inThread+"c"))
	assert.False(t, w.alike(inThread+"a", inThread+"d"))
	assert.False(t, w.alike(inThread+"a", inThread+"none"))
}
