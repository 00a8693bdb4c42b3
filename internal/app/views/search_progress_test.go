package views

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app"
	"leslie/internal/app/apptest"
	"leslie/internal/app/threads"
	"leslie/thread"
)

// Several threads are searched at a time; what a person is told never goes back.
func TestASearchCountsInOrder(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for i := range 40 {
		_, err := threads.Spawn(b.Person(), threads.SpawnRequest{ID: fmt.Sprintf("t%d", i), Intent: "x"})
		require.NoError(t, err)
	}
	var told, want []int64
	c := b.Call(context.Background(), app.Caller{As: thread.User, Actor: "kim"}, app.Request{Command: "test", Progress: func(p app.Progress) {
		if p.What == "searching artifacts" {
			told = append(told, p.Done)
		}
	}})
	_, err := Search(c, SearchRequest{Words: []string{"needle"}})
	require.NoError(t, err)
	for i := range 42 {
		want = append(want, int64(i))
	}
	assert.Equal(t, want, told)
}
