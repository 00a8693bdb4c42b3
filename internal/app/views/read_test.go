package views

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app"
	"leslie/internal/app/apptest"
	"leslie/internal/app/history"
	"leslie/internal/app/threads"
	"leslie/thread"
)

func TestUseCasesThatReadChangeNothingForADirectCaller(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	before := b.Tree()
	for name, read := range map[string]func(*app.Call) error{
		"history": func(c *app.Call) error { _, err := history.List(c, history.ListRequest{}); return err },
		"observe": func(c *app.Call) error {
			return Observe(c, ObserveRequest{}, func(app.OperationRecord) error { return nil })
		},
		"logs":  func(c *app.Call) error { _, err := history.Logs(c, history.LogsRequest{}); return err },
		"stats": func(c *app.Call) error { _, err := history.Stats(c, history.StatsRequest{}); return err },
		"wait": func(c *app.Call) error {
			_, err := threads.Wait(c, threads.WaitRequest{Threads: []string{"main"}, Until: thread.UntilChildren})
			return err
		},
	} {
		c := b.Person()
		require.NoError(t, read(c), name)
		c.Finish(nil)
		assert.Equal(t, before, b.Tree(), name)
		assert.True(t, c.Request().ReadOnly, name)
	}
}
