package proctest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve starts leslie mcp as a process, and connects a client with it.
func (p *project) serve(env ...string) (*mcp.ClientSession, *started) {
	p.t.Helper()
	s := p.command("mcp")
	s.Env = append(s.Env, env...)
	s.Stdout = nil // the client's
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: s.Cmd}, nil)
	require.NoError(p.t, err, "%s", &s.stderr)
	p.t.Cleanup(func() { _ = session.Close() })
	return session, s
}

// use calls a tool. The error is that of the connection.
func use(s *mcp.ClientSession, name string, args map[string]any) (map[string]any, error) {
	res, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return nil, err
	}
	return res.StructuredContent.(map[string]any), nil
}

func TestTwoServersAndCommandsWorkAtOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	const each = 10
	var all sync.WaitGroup
	for _, actor := range []string{"anna", "ben"} {
		session, _ := p.serve("LESLIE_ACTOR=" + actor)
		for half := range 2 { // two calls of a client at once
			all.Go(func() {
				for i := range each / 2 {
					d, err := use(session, "spawn", map[string]any{"intent": fmt.Sprint("Work ", i), "id": fmt.Sprint(actor, "-", half, "-", i)})
					assert.NoError(t, err)
					assert.Equal(t, true, d["changed"], "%v", d)
				}
			})
		}
	}
	all.Go(func() {
		for i := range each {
			_, err := p.try("spawn", "--intent", "Work", "--id", fmt.Sprint("kim-", i))
			assert.NoError(t, err)
		}
	})
	all.Wait()
	session, _ := p.serve()
	var listed struct{ Total int }
	p.ok("list").into(t, &listed)
	assert.Equal(t, 3*each, listed.Total)
	d, err := use(session, "status", map[string]any{"show": "threads"})
	require.NoError(t, err)
	assert.EqualValues(t, 3*each, d["total"])
}

func TestAServerThatIsKilledDuringAMergeLosesNothing(t *testing.T) {
	t.Parallel()
	f := newFifty(t)
	r := random(t)
	committed, n := 0, tries{planned: orInShort(40, 8)}
	for n.more() {
		p := f.copied(t)
		session, s := p.serve("LESLIE_ACTOR=anna")
		was, err := os.Stat(p.path(state))
		require.NoError(t, err)
		over := make(chan struct{})
		answered := false
		go func() {
			defer close(over)
			d, err := use(session, "merge", map[string]any{"sources": []string{"part"}, "thread": "main"})
			answered = err == nil && d["status"] == "merged"
		}()
		within(r.Float64()*n.part(), f.usual*5/4)(over)
		require.NoError(t, s.Process.Kill())
		<-over
		_ = session.Close()
		now, err := os.Stat(p.path(state))
		require.NoError(t, err)
		n.count(!answered)
		if !os.SameFile(was, now) {
			committed++
		}
		f.requireWhole(t, p, !os.SameFile(was, now), answered)
	}
	t.Logf("%d of %d killed before the answer, %d committed", n.killed, n.done, committed)
	require.Greater(t, n.killed, n.planned/4, "too few were killed in time")
}
