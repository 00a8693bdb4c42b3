package doctor

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestADiskThatIsFullOrNearlyIsSaidToBe(t *testing.T) {
	t.Parallel()
	assert.Contains(t, space{free: 0, files: noLimit}.full(), "0 MiB left")
	assert.Contains(t, space{free: leastFree - 1, files: noLimit}.full(), "15 MiB left")
	assert.Contains(t, space{free: leastFree, files: 0}.full(), "0 more files")
	assert.Empty(t, space{free: leastFree, files: leastFiles}.full())
}

func TestTheSystemSaysWhatTheDiskHasLeft(t *testing.T) {
	t.Parallel()
	left, ok := spaceOf(t.TempDir())
	assert.Equal(t, runtime.GOOS == "linux" || runtime.GOOS == "darwin", ok)
	if ok {
		assert.Positive(t, left.free)
		assert.Positive(t, left.files)
	}
	_, ok = spaceOf("no-such-folder")
	assert.False(t, ok)
}
