//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAPersonIsToldOnceWhatBeganToWait: after any command at their terminal, and never
// what they asked for themselves.
func TestAPersonIsToldOnceWhatBeganToWait(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	const nothing = ""
	told := func(env []string, args ...string) string {
		t.Helper()
		shown, status := onTerminal(t, b, env, args...)
		assert.Zero(t, status, shown)
		lines := strings.Split(strings.TrimSpace(shown), "\n")
		if last := lines[len(lines)-1]; strings.HasPrefix(last, "\x1b[2m") {
			return strings.TrimSuffix(strings.TrimPrefix(last, "\x1b[2m"), "\x1b[0m")
		}
		return nothing
	}
	assert.Equal(t, nothing, told(nil, "list"))

	first := b.asks(t, "main", "deploy", "--reason", "release day")
	assert.Equal(t, nothing, told([]string{"CLAUDECODE=1"}, "list"), "an agent's output stays as it is")
	assert.Equal(t, nothing, told(nil, "list", "--format", "json"))
	assert.Equal(t, "1 approval: main asks for deploy: release day: leslie approve "+first, told(nil, "list"))
	assert.Equal(t, nothing, told(nil, "list"), "once")

	b.must(t, "ask", "part", "--question", "Which name?", "--as", "agent", "--actor", "bot")
	b.asks(t, "part", "delete_file")
	assert.Equal(t, "1 approval, 1 question: leslie status", told(nil, "objective", "create", "Another"), "after a command that writes, too")

	b.asks(t, "part", "code_edit")
	shown, _ := onTerminal(t, b, nil, "status")
	assert.Contains(t, shown, "code_edit")
	assert.NotContains(t, shown, "\x1b[2m", "the list itself says it")
	assert.Equal(t, nothing, told(nil, "list"), "it was in the list")

	assert.Equal(t, nothing, told(nil, "ask", "main", "--question", "Mine?"), "the person's own question")
	assert.Equal(t, nothing, told(nil, "list"))
	assert.Equal(t, nothing, told([]string{"HOME=/dev/null"}, "list"), "nor where nothing can be remembered")
}
