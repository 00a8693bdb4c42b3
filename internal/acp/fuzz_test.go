package acp_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"leslie/internal/acp"
)

// FuzzServe feeds anything between two updates. Both arrive in their order, whatever
// comes between, and a call that waits gets an answer.
func FuzzServe(f *testing.F) {
	for _, seed := range []string{
		"", "x", "{", "{}", `{"id":1,"result":{}}`, `{"id":1,"error":{"code":1}}`, `{"id":1,"error":5}`, `{"id":{},"method":"session/request_permission","params":{}}`,
		`{"id":2,"method":"session/request_permission","params":{"options":[{"kind":"allow_once"}]}}` + "\n" + `{"method":"$/cancel_request","params":{"requestId":2}}`,
		`{"method":"session/update","params":{"update":{"sessionUpdate":5}}}`, `{"method":"session/update"}`, "\n\n\r\n", `{"id":null,"method":"x"}`,
		`{"id":1,"method":"fs/read_text_file","params":{"path":"/etc/passwd"}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, between string) {
		r := &recorder{permit: func(_ context.Context, request acp.PermissionRequest) acp.PermissionOutcome {
			return request.Choose(acp.RejectOnce)
		}}
		conn := acp.NewConn(strings.NewReader(update("first")+"\n"+between+"\n"+update("last")), io.Discard, r)
		ended := make(chan error)
		go func() { ended <- conn.Call(context.Background(), "any", nil, nil) }()
		_ = conn.Serve(t.Context())
		<-ended
		if len(r.updates) < 2 || !strings.Contains(r.updates[0], `"first"`) || !strings.Contains(r.updates[len(r.updates)-1], `"last"`) {
			t.Fatalf("%q: %q", between, r.updates)
		}
	})
}
