//go:build !windows

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asksForCalls returns a project in which the agent of a thread wants to run a command,
// and has ended since.
func asksForCalls(t *testing.T, command string) *bench {
	t.Helper()
	b := newProject(t)
	b.agents(t)
	b.must(t, "spawn", "--intent", "ASK[["+command+"]]", "--id", "asking", "--title", "Asking")
	run := process(t, b, nil, "run", "asking", "--follow")
	said, err := run.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	buffer, all := make([]byte, 4096), ""
	for !strings.Contains(all, "it asks for") {
		n, err := said.Read(buffer)
		require.NoError(t, err, all)
		all += string(buffer[:n])
	}
	require.NoError(t, run.Process.Signal(syscall.SIGTERM))
	_ = run.Wait()
	return b
}

func ownConfig(t *testing.T, b *bench) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.Home, ".leslie", "config.json"))
	require.NoError(t, err)
	return string(text)
}

func TestAPersonAllowsACallForGoodAtThePrompt(t *testing.T) {
	t.Parallel()
	b := asksForCalls(t, "touch made")
	shown, status := typing(t, b, []string{noColours}, []string{"?", "always"}, "approve")
	assert.Zero(t, status, shown)
	assert.Contains(t, strings.Join(strings.Fields(shown), " "), "allow from now on: Bash(touch made)")
	assert.Contains(t, shown, "no open requests")
	assert.Contains(t, ownConfig(t, b), `{"run":{"always": ["Bash(touch made)"], "agent":"fake",`)
}

func TestNothingIsAllowedForGoodThatNoRuleCanAllow(t *testing.T) {
	t.Parallel()
	b := asksForCalls(t, "touch made > out")
	before := ownConfig(t, b)
	shown, status := typing(t, b, []string{noColours}, []string{"?", "always", "approve"}, "approve")
	assert.Zero(t, status, shown)
	assert.NotContains(t, shown, "from now on")
	assert.Contains(t, shown, "no open requests")
	assert.Equal(t, before, ownConfig(t, b))
}
