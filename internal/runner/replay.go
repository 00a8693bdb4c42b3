package runner

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"leslie/internal/acp"
)

// replayed keeps the updates from a handler with which an agent repeats a session that it
// loads. Some come after the agent has answered, so they end with a pause.
type replayed struct {
	acp.Handler

	mu   sync.Mutex
	more chan struct{} // receives when an update came, nil while there is no replay
}

// Update implements acp.Handler.
func (r *replayed) Update(kind string, raw json.RawMessage) {
	r.mu.Lock()
	more := r.more
	r.mu.Unlock()
	if more == nil {
		r.Handler.Update(kind, raw)
		return
	}
	select {
	case more <- struct{}{}:
	default:
	}
}

func (r *replayed) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.more = make(chan struct{}, 1)
}

// end waits until no update has come for a while.
func (r *replayed) end(ctx context.Context, pause time.Duration) {
	for quiet := false; !quiet; {
		select {
		case <-r.more:
		case <-ctx.Done():
			quiet = true
		case <-time.After(pause):
			quiet = true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.more = nil
}
