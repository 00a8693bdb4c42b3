package toolserver

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"leslie/internal/app"
	"leslie/internal/app/views"
)

// progress tells a client that asked for it how a call goes on that may take long: at once,
// with each operation that is recorded meanwhile, and at each beat. The function that it
// returns ends that; no notification follows it.
func (c *call) progress(what string, long bool) (end func()) {
	token := c.req.Params.GetProgressToken()
	if token == nil || !long || len(c.faults) > 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	messages := make(chan string)
	var all sync.WaitGroup
	all.Go(func() { c.watchOperations(ctx, messages) })
	all.Go(func() {
		beat, stop := c.Beat()
		defer stop()
		for n, message := 1.0, what; ; n++ {
			_ = c.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: message})
			select {
			case <-ctx.Done():
				return
			case <-beat:
				message = what
			case message = <-messages:
			}
		}
	})
	return func() { cancel(); all.Wait() }
}

// watchOperations sends each operation that is recorded until ctx ends.
func (c *call) watchOperations(ctx context.Context, to chan<- string) {
	project, err := c.project()
	if err != nil {
		return
	}
	_ = views.Observe(project.Call(ctx, c.who(), app.Request{Command: "observe", ReadOnly: true}), views.ObserveRequest{Follow: true}, func(op app.OperationRecord) error {
		message := op.Command
		if op.ThreadID != nil {
			message += " " + string(*op.ThreadID)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case to <- message + " by " + op.Actor:
			return nil
		}
	})
}
