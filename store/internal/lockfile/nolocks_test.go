package lockfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/codes"
)

func TestAFileSystemWithoutLocksIsNamedAsThat(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	for _, none := range []error{syscall.ENOLCK, syscall.EOPNOTSUPP, syscall.EBADF} {
		e := requireCode(t, codes.WriteFailed, NoLocks(path, &os.PathError{Op: "flock", Path: path, Err: none}))
		assert.Contains(t, e.Error(), "the file system of "+filepath.Dir(path)+" has no locks")
		assert.Contains(t, e.Hint(), "keep the project on a local disk")
	}
	full := &os.PathError{Op: "open", Path: path, Err: syscall.ENOSPC}
	assert.Equal(t, full, NoLocks(path, full))
	assert.NoError(t, NoLocks(path, nil))
}
