package harness

import (
	"os"
	"testing"
)

// This file puts temporary folders into memory. Most tests write thousands of
// small files and fsync each of them; on a disk that is most of their time and
// shows nothing: what is on disk when is tested by traces (test/lab/torture) and by
// counted calls (test/proctest). A test that does want a real disk asks DiskDir.

// diskVariable names the folder for temporary files that the process was started
// with, for DiskDir.
const diskVariable = "LESLIE_TEST_DISK"

// UseMemory moves the process's temporary folder into memory, for TestMain. It
// does nothing where TMPDIR is set, or where no memory-backed folder has room and
// may hold programs.
func UseMemory() error {
	dir := MemoryDir()
	if dir == "" {
		return nil
	}
	if err := os.Setenv(diskVariable, os.TempDir()); err != nil {
		return err
	}
	return os.Setenv("TMPDIR", dir)
}

// UsualUmask lets other users read what the tests of a process make, for TestMain: some look at
// it as another user than root, and some compare permissions.
func UsualUmask() { setUmask(0o022) }

// DiskDir is a temporary folder where the process's temporary files were before
// UseMemory: a disk, unless whoever started the tests said otherwise.
func DiskDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv(diskVariable), "leslie-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
