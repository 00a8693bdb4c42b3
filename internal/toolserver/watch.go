package toolserver

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"leslie/internal/app"
	"leslie/internal/app/views"
	"leslie/internal/nearest"
	"leslie/thread"
	"leslie/warnings"
)

// This file tells a client which resources have changed. It looks when the store changes,
// and only for a client that has asked for resources.

// subscribe begins to tell a client about a resource.
func (s *server) subscribe(_ context.Context, req *mcp.SubscribeRequest) error {
	if _, ok := placeOf(req.Params.URI); !ok {
		return mcp.ResourceNotFoundError(req.Params.URI)
	}
	s.mu.Lock()
	s.subscribed[req.Params.URI]++
	s.mu.Unlock()
	s.watch()
	return nil
}

func (s *server) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subscribed[req.Params.URI]--; s.subscribed[req.Params.URI] <= 0 {
		delete(s.subscribed, req.Params.URI)
	}
	return nil
}

// watch begins to follow the store, once. It returns when no change can be missed any more.
func (s *server) watch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watching {
		return
	}
	project, err := s.project()
	if err != nil {
		return // the next request tries again
	}
	s.watching = true
	ready := make(chan struct{})
	go func() {
		defer func() { s.mu.Lock(); s.watching = false; s.mu.Unlock() }()
		changed := map[thread.ThreadID]bool{}
		first := true
		pause := func(warnings.List) {
			if first {
				first = false
				close(ready)
			}
			s.tell(changed)
			clear(changed)
		}
		op := project.Call(s.life, s.who(), app.Request{Command: "observe", ReadOnly: true})
		_ = views.Observe(op, views.ObserveRequest{Follow: true, Pause: pause}, func(op app.OperationRecord) error {
			id := thread.ThreadID("")
			if op.ThreadID != nil {
				id = *op.ThreadID
			}
			changed[id] = true
			return nil
		})
		if first {
			close(ready)
		}
	}()
	<-ready
}

// tell tells the client about the resources of threads; "" stands for any thread.
func (s *server) tell(changed map[thread.ThreadID]bool) {
	if len(changed) == 0 {
		return
	}
	s.listThreads(s.life)
	s.mu.Lock()
	var uris []string
	for uri := range s.subscribed {
		p, _ := placeOf(uri)
		for id := range changed {
			if id == "" || strings.HasPrefix(string(id), p.thread) { // a shortened id is an address, too
				uris = append(uris, uri)
				break
			}
		}
	}
	s.mu.Unlock()
	slices.Sort(uris)
	for _, uri := range uris {
		_ = s.mcp.ResourceUpdated(s.life, &mcp.ResourceUpdatedNotificationParams{URI: uri})
	}
}

// received prepares requests whose answers the library has by itself, and adds to its
// errors what helps their caller.
func (s *server) received(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "resources/list" {
			s.watch()
			s.listThreads(ctx)
		}
		result, err := next(ctx, method, req)
		if call, ok := req.(*mcp.CallToolRequest); ok && err != nil && isNotFound(err) {
			return result, unknownTool(call.Params.Name)
		}
		return result, err
	}
}

// unknownTool says which tools there are.
func unknownTool(name string) error {
	var names []string
	for _, t := range tools() {
		names = append(names, t.name)
	}
	message := "there is no tool " + quoted(name)
	if near := nearest.Name(name, names); near != "" {
		message += " (did you mean " + near + "?)"
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message + "; the tools are " + strings.Join(names, ", ")}
}
