package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
)

func editOwn(t *testing.T, path string, edit func(old []byte) ([]byte, error)) (bool, error) {
	t.Helper()
	changed, undurable, err := store.EditOwn(context.Background(), store.Wait{}, store.Options{}, path, 0o600, edit)
	require.NoError(t, undurable)
	return changed, err
}

func TestChangesOfOnesOwnFileAtTheSameTimeAllCount(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".leslie", "config.json")
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() {
			changed, err := editOwn(t, path, func(old []byte) ([]byte, error) { return append(old, strconv.Itoa(n)+"\n"...), nil })
			assert.NoError(t, err)
			assert.True(t, changed)
		})
	}
	wg.Wait()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Len(t, strings.Fields(string(text)), 20)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

func TestOnesOwnFileStaysAsItIsIfItCannotBeChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
	refusal := errors.New("no")
	_, err := editOwn(t, path, func([]byte) ([]byte, error) { return []byte("new"), refusal })
	require.ErrorIs(t, err, refusal)
	changed, err := editOwn(t, path, func(old []byte) ([]byte, error) { return old, nil })
	require.NoError(t, err)
	assert.False(t, changed)
	left := filepath.Join(dir, ".config.json5577006791947779410") // of a process that died
	require.NoError(t, os.WriteFile(left, []byte("secret"), 0o600))
	changed, err = editOwn(t, path, func([]byte) ([]byte, error) { return []byte("new"), nil })
	require.NoError(t, err)
	assert.True(t, changed)
	assert.NoFileExists(t, left)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "its permissions")
	}
}

func TestOnesOwnFileMayBeALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, path := filepath.Join(dir, "dotfiles.json"), filepath.Join(dir, "config.json")
	require.NoError(t, os.WriteFile(real, []byte("old"), 0o600))
	if err := os.Symlink(real, path); err != nil {
		t.Skip("this system makes no links")
	}
	_, err := editOwn(t, path, func(old []byte) ([]byte, error) { return append(old, " new"...), nil })
	require.NoError(t, err)
	text, err := os.ReadFile(real)
	require.NoError(t, err)
	assert.Equal(t, "old new", string(text))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink)
	require.NoError(t, os.Remove(real))
	_, err = editOwn(t, path, func([]byte) ([]byte, error) { return []byte("new"), nil })
	require.ErrorContains(t, err, "a link without a target")
}
