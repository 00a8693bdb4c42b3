//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/cmd/leslie/internal/cli"
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
		if last := lines[len(lines)-1]; strings.HasPrefix(last, "\x1b["+cli.Dim+"m") {
			return strings.TrimSuffix(strings.TrimPrefix(last, "\x1b["+cli.Dim+"m"), "\x1b[0m")
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
	assert.NotContains(t, shown, "\x1b["+cli.Dim+"m", "the list itself says it")
	assert.Equal(t, nothing, told(nil, "list"), "it was in the list")

	assert.Equal(t, nothing, told(nil, "ask", "main", "--question", "Mine?"), "the person's own question")
	assert.Equal(t, nothing, told(nil, "list"))
	assert.Equal(t, nothing, told([]string{"HOME=/dev/null"}, "list"), "nor where nothing can be remembered")
}

// TestCtrlCEndsAStreamQuietly: for a person, it is how to end it; a script is told T904.
func TestCtrlCEndsAStreamQuietly(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"observe": {"observe", "--follow", "--since", "0"},
		"logs":    {"logs", "--follow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			b.leslie("status", "nobody") // is logged
			follow := func(env ...string) *terminal {
				for { // a signal before it waits ends the process at once
					term := openTerminal(t, b, 100, 20, env...)
					term.start(args...)
					term.waitFor(map[string]string{"observe": "spawn  part", "logs": "code=T101"}[name])
					term.interrupt()
					if status := term.wait(); status != -1 {
						assert.Equal(t, 130, status)
						return term
					}
				}
			}
			said, _, _ := follow().look()
			assert.Equal(t, "^C", strings.TrimSpace(said))
			said, _, _ = follow("CLAUDECODE=1").look()
			assert.Contains(t, said, "code=T904")
		})
	}
}

// TestObserveSaysWhatAPersonIsAskedFor: with its id and reason, for a person only.
func TestObserveSaysWhatAPersonIsAskedFor(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	id := b.asks(t, "main", "deploy", "--reason", "release day")
	detail := "    " + id + ": main asks for deploy: release day: leslie approve " + id + "\n"
	shown, _ := onTerminal(t, b, nil, "observe", "--events", "transfer")
	assert.Contains(t, shown, detail)
	shown, _ = onTerminal(t, b, []string{"CLAUDECODE=1"}, "observe", "--events", "transfer")
	assert.NotContains(t, shown, detail)
	assert.Contains(t, shown, "transfer")
}
