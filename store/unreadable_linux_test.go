package store_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/internal/teststore"
)

func TestAFileThatCannotBeReadIsNotTakenForDamaged(t *testing.T) {
	t.Parallel()
	for _, name := range []string{store.StateFile, store.JournalFile} {
		s := teststore.New(t, store.Options{})
		teststore.Add(t, s, teststore.Names(2)...)
		before := teststore.Listing(t, s)
		require.NoError(t, os.Chmod(s.Path(name), 0))
		teststore.AsNobody(t, s, func() {
			got, view, err := teststore.Seen(s)
			if name == store.JournalFile {
				assert.NoError(t, err, "a whole state needs no journal to be read")
				assert.Equal(t, teststore.Names(2), got)
				assert.Empty(t, view.Warnings)
			} else {
				e := codes.Of(err)
				if assert.NotNil(t, e) {
					assert.Equal(t, codes.ReadFailed, e.Code())
					assert.Equal(t, ".leslie/"+name, e.Facts().Text("path"))
					assert.ErrorIs(t, err, fs.ErrPermission)
				}
			}
			_, err = s.Update(context.Background(), teststore.CallNamed("x"), teststore.Create("x"))
			assert.Error(t, err)
			d, err := doctor.Doctor{Store: s}.Diagnose(context.Background())
			if name == store.JournalFile {
				assert.NoError(t, err, "the rest is looked at all the same")
				want := []doctor.Finding{{Code: "T509", Path: ".leslie/" + name, Message: "it cannot be read: permission denied"}}
				if os.Getuid() != 0 { // the owner, who may not write it either
					want = append(want, doctor.Finding{Code: "T505", Path: ".leslie/" + name, Message: "you may not write it: commands that need it fail"})
				}
				assert.Equal(t, want, d.Findings)
			} else {
				assert.True(t, codes.Has(err, codes.ReadFailed), "%v", err)
			}
			r, err := doctor.Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
			assert.Equal(t, name == store.StateFile, err != nil, "%v", err)
			assert.Empty(t, r.Actions)
		})
		require.NoError(t, os.Chmod(s.Path(name), 0o644))
		assert.Equal(t, before, teststore.Listing(t, s))
	}
}

func TestADamagedStateBehindABackupThatCannotBeReadIsNotGivenUp(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	teststore.Put(t, s, store.StateFile, nil)
	require.NoError(t, os.Chmod(s.Path(store.BackupFile), 0))
	teststore.AsNobody(t, s, func() {
		_, _, err := teststore.Seen(s)
		assert.True(t, codes.Has(err, codes.ReadFailed), "%v", err)
	})
	require.NoError(t, os.Chmod(s.Path(store.BackupFile), 0o644))
	teststore.RequireHolds(t, s, teststore.Names(2), true)
}

func TestAFolderThatIsReadOnlyIsReadAndAWriteSaysSo(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]bool{"with a lock file": true, "without": false} {
		s := teststore.New(t, store.Options{})
		teststore.Add(t, s, teststore.Names(2)...)
		if !lock {
			require.NoError(t, os.Remove(s.Path(store.LockFile)))
		}
		before := teststore.Listing(t, s)
		require.NoError(t, os.Chmod(s.Path("."), 0o555))
		teststore.AsNobody(t, s, func() {
			got, _, err := teststore.Seen(s)
			assert.NoError(t, err, name)
			assert.Equal(t, teststore.Names(2), got, name)
			_, err = s.Update(context.Background(), teststore.CallNamed("x"), teststore.Create("x"))
			assert.True(t, codes.Has(err, codes.WriteFailed), "%s: %v", name, err)
			_, err = doctor.Doctor{Store: s}.Diagnose(context.Background())
			assert.NoError(t, err, name)
		})
		require.NoError(t, os.Chmod(s.Path("."), 0o755))
		assert.Equal(t, before, teststore.Listing(t, s), name)
	}
}

func TestTheWayUpEndsAtAnothersFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	root := physicalDir(t)
	theirs := filepath.Join(root, "theirs")
	write(t, filepath.Join(root, store.Dir, store.StateFile), "")
	makeDirs(t, filepath.Join(theirs, "mine"))
	require.NoError(t, os.Chown(theirs, 65534, 65534))
	s, err := store.Find(filepath.Join(theirs, "mine"), store.Options{})
	require.NoError(t, err, "root passes everywhere")
	assert.Equal(t, root, s.Root())
	info, err := os.Stat(theirs)
	require.NoError(t, err)
	assert.True(t, store.Belongs(info, 65534))
	assert.False(t, store.Belongs(info, 1000))
	assert.True(t, store.Belongs(info, 0))
}

func TestAPipeIsNeitherReadNorWaitedFor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{store.StateFile, store.JournalFile, store.ArchiveFile, store.LockFile} {
		s := teststore.New(t, store.Options{})
		teststore.Add(t, s, teststore.Names(2)...)
		require.NoError(t, os.RemoveAll(s.Path(name)))
		require.NoError(t, syscall.Mkfifo(s.Path(name), 0o600))
		teststore.RequireHolds(t, s, teststore.Names(2), name == store.StateFile)
		_, err := s.Update(context.Background(), teststore.CallNamed("obj-x"), teststore.Create("obj-x"))
		if name == store.LockFile {
			teststore.RequireCode(t, codes.WriteFailed, err)
			continue
		}
		require.NoError(t, err, name)
		teststore.RequireHolds(t, s, append(teststore.Names(2), "obj-x"), false)
		_, err = doctor.Doctor{Store: s}.Diagnose(context.Background())
		require.NoError(t, err)
	}
}

// A backup that cannot be looked at is not moved away for that: it may be whole.
func TestABackupThatCannotBeReadKeepsItsPlace(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	require.NoError(t, os.Chmod(s.Path("."), 0o777))
	for _, name := range []string{store.LockFile, store.JournalFile} {
		require.NoError(t, os.Chmod(s.Path(name), 0o666))
	}
	before := teststore.Listing(t, s)
	require.NoError(t, os.Chmod(s.Path(store.BackupFile), 0))
	teststore.AsNobody(t, s, func() {
		_, err := s.Update(context.Background(), teststore.CallNamed("x"), teststore.Create("x"))
		assert.True(t, codes.Has(err, codes.ReadFailed), "%v", err)
	})
	require.NoError(t, os.Chmod(s.Path(store.BackupFile), 0o644))
	assert.Equal(t, before, teststore.Listing(t, s))
	teststore.Add(t, s, "x")
	teststore.RequireHolds(t, s, append(teststore.Names(2), "x"), false)
}
