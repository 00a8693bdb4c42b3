//go:build unix

package proctest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASignalEndsAServerThatWaits(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.ok("spawn", "--intent", "Work", "--id", "main")
	over := make(chan error)
	started := make(chan struct{}, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			select {
			case started <- struct{}{}:
			default:
			}
		},
	})
	s := p.command("mcp")
	s.Stdout = nil
	session, err := client.Connect(context.Background(), &mcp.CommandTransport{Command: s.Cmd, TerminateDuration: time.Minute}, nil)
	require.NoError(t, err)
	params := &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"thread": "main", "seconds": 3600}}
	params.SetProgressToken(1)
	go func() {
		_, err := session.CallTool(context.Background(), params)
		over <- err
	}()
	<-started
	require.NoError(t, s.Process.Signal(os.Interrupt))
	<-over
	_ = session.Close()
	require.NotNil(t, s.ProcessState, "it has ended")
	assert.Equal(t, 130, s.ProcessState.ExitCode(), "%s", &s.stderr)
}
