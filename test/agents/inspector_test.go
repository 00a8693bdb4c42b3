package agents_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inspectorPackage is the command-line client of the protocol's authors: an implementation
// of its own, which refuses what does not fit the protocol's schema.
const inspectorPackage = "@modelcontextprotocol/inspector@2.12.0"

// TestRealAgentsInspectorReadsTheServer needs LESLIE_AGENTS, as the other tests here do.
func TestRealAgentsInspectorReadsTheServer(t *testing.T) {
	leslie, in := prepared(t)
	folder, err := in.install("inspector", inspectorPackage, false)
	require.NoError(t, err)
	dir, home := t.TempDir(), t.TempDir()
	call := func(name string, args ...string) ([]byte, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + in.path, "HOME=" + home}
		return cmd.Output()
	}
	inspect := func(into any, args ...string) {
		t.Helper()
		program := filepath.Join(folder, ".bin", "mcp-inspector")
		out, err := call(program, append([]string{"--cli", "-e", "LESLIE_ACTOR=bot", leslie, "mcp", "--method"}, args...)...)
		require.NoError(t, json.Unmarshal(out, into), "%q: %s, %v", args, out, err) // it also fails if a tool answers with an error
	}
	for _, line := range [][]string{{"init", "--no-agents"}, {"objective", "create", "Ship it", "--id", "ship"}, {"spawn", "--id", "lexer", "--intent", "Write it"}} {
		out, err := call(leslie, line...)
		require.NoError(t, err, "%q: %s", line, out)
	}

	var tools struct{ Tools []struct{ Name string } }
	inspect(&tools, "tools/list")
	assert.Len(t, tools.Tools, 17)
	var answer struct {
		IsError           bool
		StructuredContent struct {
			ThreadID, Holder string
			Error            struct{ Code string }
		}
	}
	inspect(&answer, "tools/call", "--tool-name", "claim_next")
	assert.Equal(t, "lexer", answer.StructuredContent.ThreadID)
	assert.Equal(t, "bot", answer.StructuredContent.Holder)
	inspect(&answer, "tools/call", "--tool-name", "done", "--tool-arg", "thread=nobody")
	assert.True(t, answer.IsError)
	assert.Equal(t, "T101", answer.StructuredContent.Error.Code)

	var resources struct{ Resources []struct{ URI string } }
	inspect(&resources, "resources/list")
	require.Len(t, resources.Resources, 1)
	var read struct{ Contents []struct{ Text string } }
	inspect(&read, "resources/read", "--uri", resources.Resources[0].URI)
	assert.Contains(t, read.Contents[0].Text, "Write it")
	var prompts struct{ Prompts []struct{ Name string } }
	inspect(&prompts, "prompts/list")
	assert.Len(t, prompts.Prompts, 2)
}
