// Package storetest has what the tests of the store and of its parts share: files that
// somebody else wrote into a store's folder, and what the tests expect of content and
// errors. Only tests import it.
package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/scope"
	"leslie/thread"
)

// A Store knows the path of a file of its folder.
type Store interface{ Path(rel string) string }

// PutFile writes a file into the store's folder, as somebody else would, and returns its
// path.
func PutFile(t *testing.T, s Store, rel, content string) string {
	t.Helper()
	name := s.Path(rel)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	return name
}

// PutSparse makes a file of size bytes that takes no room on the disk.
func PutSparse(t *testing.T, s Store, rel string, size int64) string {
	t.Helper()
	name := PutFile(t, s, rel, "")
	require.NoError(t, os.Truncate(name, size))
	return name
}

// Sum is the id of the blob that has this content.
func Sum(content string) thread.BlobID {
	sum := sha256.Sum256([]byte(content))
	return thread.BlobID(hex.EncodeToString(sum[:]))
}

// Scope parses patterns.
func Scope(t testing.TB, patterns ...string) scope.Set {
	t.Helper()
	set, err := scope.Parse(patterns)
	require.NoError(t, err)
	return set
}

// WantCode returns err as the error with this code; the test ends if it is another.
func WantCode(t *testing.T, err error, code codes.Code) *codes.Error {
	t.Helper()
	require.Error(t, err)
	require.True(t, codes.Has(err, code), "want %s, got %v", code, err)
	return codes.Of(err)
}
