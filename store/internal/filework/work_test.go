package filework

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store/internal/saferoot"
	"leslie/thread"
)

func TestWhatIsUndoneIsNotThePlanItself(t *testing.T) {
	t.Parallel()
	plan := &thread.Pending{Operation: "op-1", Steps: []thread.Step{{Do: thread.StepRemove, To: "threads/a"}}}
	undone := Undone(saferoot.Disk{Project: t.TempDir()}, plan) // nothing can be looked at there
	require.Len(t, undone, 1)
	undone[0] = thread.Step{}
	assert.Equal(t, "threads/a", plan.Steps[0].To)
}
