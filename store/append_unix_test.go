//go:build !windows

package store_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/teststore"
)

func TestAPipeInPlaceOfLinesHangsNobody(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	teststore.PrepareThread(t, s)
	require.NoError(t, os.MkdirAll(filepath.Dir(s.Path(noted)), 0o755))
	mkfifo(t, s.Path(noted))
	reader, err := os.OpenFile(s.Path(noted), os.O_RDWR|syscall.O_NONBLOCK, 0) // so that a writer may come in
	require.NoError(t, err)
	defer reader.Close()
	before := teststore.Read(t, s, store.StateFile)
	teststore.RequireCode(t, codes.WriteFailed, runNote(s.Root(), store.Options{Now: teststore.Clock}))
	assert.Equal(t, before, teststore.Read(t, s, store.StateFile))
	teststore.Add(t, s, "obj-then")
}
