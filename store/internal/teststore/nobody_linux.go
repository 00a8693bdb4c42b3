package teststore

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
)

// AsNobody runs fn without root's right to pass every permission: the file
// system sees another user on this thread.
func AsNobody(t *testing.T, s *store.Store, fn func()) {
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
