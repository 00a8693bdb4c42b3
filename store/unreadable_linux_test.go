package store

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
)

// asNobody runs fn without root's right to pass every permission: the file
// system sees another user on this thread.
func asNobody(t *testing.T, s *Store, fn func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		fn()
		return
	}
	require.NoError(t, os.Chmod(filepath.Dir(s.Root()), 0o755))
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := syscall.Setfsuid(65534); !assert.NoError(t, err) {
			return
		}
		fn()
	}()
	<-done
}

func TestAFileThatCannotBeReadIsNotTakenForDamaged(t *testing.T) {
	t.Parallel()
	for _, name := range []string{StateFile, JournalFile} {
		s := newStore(t, Options{})
		add(t, s, names(2)...)
		before := listing(t, s)
		require.NoError(t, os.Chmod(s.Path(name), 0))
		asNobody(t, s, func() {
			got, view, err := seen(s)
			if name == JournalFile {
				assert.NoError(t, err, "a whole state needs no journal to be read")
				assert.Equal(t, names(2), got)
				assert.Empty(t, view.Warnings)
			} else {
				e := codes.Of(err)
				if assert.NotNil(t, e) {
					assert.Equal(t, codes.ReadFailed, e.Code())
					assert.Equal(t, ".leslie/"+name, e.Facts().Text("path"))
					assert.ErrorIs(t, err, fs.ErrPermission)
				}
			}
			_, err = s.Update(context.Background(), callNamed("x"), create("x"))
			assert.Error(t, err)
			d, err := s.Diagnose(context.Background())
			if name == JournalFile {
				assert.NoError(t, err, "the rest is looked at all the same")
				assert.Equal(t, []Finding{{Code: "T509", Path: ".leslie/" + name, Message: "it cannot be read: permission denied"}}, d.Findings)
			} else {
				assert.True(t, codes.Has(err, codes.ReadFailed), "%v", err)
			}
			r, err := s.Repair(context.Background(), repairCall())
			assert.Equal(t, name == StateFile, err != nil, "%v", err)
			assert.Empty(t, r.Actions)
		})
		require.NoError(t, os.Chmod(s.Path(name), 0o644))
		assert.Equal(t, before, listing(t, s))
	}
}

func TestADamagedStateBehindABackupThatCannotBeReadIsNotGivenUp(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(2)...)
	put(t, s, StateFile, nil)
	require.NoError(t, os.Chmod(s.Path(BackupFile), 0))
	asNobody(t, s, func() {
		_, _, err := seen(s)
		assert.True(t, codes.Has(err, codes.ReadFailed), "%v", err)
	})
	require.NoError(t, os.Chmod(s.Path(BackupFile), 0o644))
	requireHolds(t, s, names(2), true)
}

func TestAFolderThatIsReadOnlyIsReadAndAWriteSaysSo(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]bool{"with a lock file": true, "without": false} {
		s := newStore(t, Options{})
		add(t, s, names(2)...)
		if !lock {
			require.NoError(t, os.Remove(s.Path(LockFile)))
		}
		before := listing(t, s)
		require.NoError(t, os.Chmod(s.Path("."), 0o555))
		asNobody(t, s, func() {
			got, _, err := seen(s)
			assert.NoError(t, err, name)
			assert.Equal(t, names(2), got, name)
			_, err = s.Update(context.Background(), callNamed("x"), create("x"))
			assert.True(t, codes.Has(err, codes.WriteFailed), "%s: %v", name, err)
			_, err = s.Diagnose(context.Background())
			assert.NoError(t, err, name)
		})
		require.NoError(t, os.Chmod(s.Path("."), 0o755))
		assert.Equal(t, before, listing(t, s), name)
	}
}

func TestTheWayUpEndsAtAnothersFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	root := physicalDir(t)
	theirs := filepath.Join(root, "theirs")
	write(t, filepath.Join(root, Dir, StateFile), "")
	makeDirs(t, filepath.Join(theirs, "mine"))
	require.NoError(t, os.Chown(theirs, 65534, 65534))
	s, err := Find(filepath.Join(theirs, "mine"), Options{})
	require.NoError(t, err, "root passes everywhere")
	assert.Equal(t, root, s.Root())
	info, err := os.Stat(theirs)
	require.NoError(t, err)
	assert.True(t, belongs(info, 65534))
	assert.False(t, belongs(info, 1000))
	assert.True(t, belongs(info, 0))
}

func TestAPipeIsNeitherReadNorWaitedFor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{StateFile, JournalFile, ArchiveFile, LockFile} {
		s := newStore(t, Options{})
		add(t, s, names(2)...)
		require.NoError(t, os.RemoveAll(s.Path(name)))
		require.NoError(t, syscall.Mkfifo(s.Path(name), 0o600))
		requireHolds(t, s, names(2), name == StateFile)
		_, err := s.Update(context.Background(), callNamed("obj-x"), create("obj-x"))
		if name == LockFile {
			requireCode(t, codes.WriteFailed, err)
			continue
		}
		require.NoError(t, err, name)
		requireHolds(t, s, append(names(2), "obj-x"), false)
		_, err = s.Diagnose(context.Background())
		require.NoError(t, err)
	}
}

// A backup that cannot be looked at is not moved away for that: it may be whole.
func TestABackupThatCannotBeReadKeepsItsPlace(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(2)...)
	require.NoError(t, os.Chmod(s.Path("."), 0o777))
	for _, name := range []string{LockFile, JournalFile} {
		require.NoError(t, os.Chmod(s.Path(name), 0o666))
	}
	require.NoError(t, os.Chmod(s.Path(BackupFile), 0))
	before := listing(t, s)
	asNobody(t, s, func() {
		_, err := s.Update(context.Background(), callNamed("x"), create("x"))
		assert.True(t, codes.Has(err, codes.ReadFailed), "%v", err)
	})
	assert.Equal(t, before, listing(t, s))
	require.NoError(t, os.Chmod(s.Path(BackupFile), 0o644))
	add(t, s, "x")
	requireHolds(t, s, append(names(2), "x"), false)
}
