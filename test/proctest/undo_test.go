package proctest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Processes that undo at the same time never undo one operation twice, and what they
// undid is redone step by step.
func TestProcessesThatUndoAtOnceStepBackOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.ok("spawn", "--id", "main", "--intent", "Plan", "--title", "title 0")
	const edits = 6
	for n := range edits {
		p.ok("update", "main", "--title", fmt.Sprint("title ", n+1))
	}
	at := func(done int) {
		t.Helper()
		var data struct{ Title string }
		p.ok("status", "main").into(t, &data)
		require.Equal(t, fmt.Sprint("title ", edits-done), data.Title)
	}
	step := func(command string) (done int) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				a, err := p.try(command)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case !assert.NoError(t, err):
				case a.Success:
					done++
				default:
					assert.Contains(t, []string{"T110", "T112"}, a.Error.Code)
				}
			})
		}
		all.Wait()
		return done
	}
	undone := 0
	for undone < 3 {
		n := step("undo")
		require.Positive(t, n, "one of them is first")
		undone += n
		at(undone)
	}
	for undone > 0 {
		n := step("redo")
		require.Positive(t, n, "one of them is first")
		undone -= n
		at(undone)
	}
}
