package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// Somebody else's operation is not one that the caller knows.
func TestWhatWasNotMarkedMovesNoRevision(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.call()
	_, err := Context(c, ContextRequest{Thread: "main"})
	require.NoError(t, err)
	known := *c.Revision()
	title := "New"
	_, err = Update(b.call(), UpdateRequest{Thread: "part", Edit: thread.Edit{Title: &title}})
	require.NoError(t, err)
	MarkSeen(c, "main", []thread.InjectionID{"inj-nobody"})
	assert.Equal(t, known, *c.Revision())
}
