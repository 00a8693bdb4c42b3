//go:build !windows

package store

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
)

func TestAPipeInPlaceOfLinesHangsNobody(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(2)...)
	prepareThread(t, s)
	require.NoError(t, os.MkdirAll(filepath.Dir(s.Path(noted)), 0o755))
	mkfifo(t, s.Path(noted))
	reader, err := os.OpenFile(s.Path(noted), os.O_RDWR|syscall.O_NONBLOCK, 0) // so that a writer may come in
	require.NoError(t, err)
	defer reader.Close()
	before := read(t, s, StateFile)
	requireCode(t, codes.WriteFailed, runNote(s.Root(), Options{Now: clock}))
	assert.Equal(t, before, read(t, s, StateFile))
	add(t, s, "obj-then")
}
