//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// withoutRow returns the commands that have no row, with the reason.
func withoutRow() map[string]string {
	const looks = "it only reads"
	return map[string]string{
		"objective list": looks, "objective status": looks, "list": looks, "status": looks, "search": looks, "graph": looks, "report": "it writes a page, not the store", "artifacts": looks,
		"diff": looks, "show": looks, "checkpoint list": looks, "export": looks,
		"reference list": looks, "reference show": looks, "merge list": looks, "merge status": looks, "approvals": looks,
		"can": looks, "questions": looks, "comments": looks, "history": looks, "observe": looks, "wait": looks, "logs": looks, "stats": looks,
		"hook start": looks, "hook stop": looks,
		"transcript": looks, "config path": looks, "config show": looks,
		"config init": "it writes the user's configuration, not the store",
		"code":        looks, "code list": looks,
		"run":        "run.go kills it",
		"run stop":   "cmd/leslie's run_survives_kills_and_is_stopped uses it on killed runs",
		"mcp":        "what it does are other commands; test/proctest kills it during a merge",
		"tui":        "what it does are other commands",
		"completion": "it needs no store",
		"explain":    "it needs no store",
		"version":    "it needs no store",
	}
}

// help returns a page of the binary's help.
func help(t *testing.T, leslie string, argv ...string) string {
	t.Helper()
	cmd := exec.Command(leslie, append([]string{"help", "--format", "text"}, argv...)...)
	cmd.Env = append(os.Environ(), "LESLIE_FORMAT=")
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// commandOf returns the command in an argument list: one or two words.
func commandOf(argv, names []string) string {
	if two := strings.Join(argv[:min(2, len(argv))], " "); slices.Contains(names, two) {
		return two
	}
	return argv[0]
}

// Every command that can write has a row.
func TestEveryCommandThatWritesHasARow(t *testing.T) {
	t.Parallel()
	leslie := filepath.Join(t.TempDir(), "leslie")
	require.NoError(t, harness.Build(leslie))
	names, err := harness.Commands(leslie)
	require.NoError(t, err)
	require.Contains(t, names, "merge continue")
	require.Greater(t, len(names), 40)

	rows := map[string]int{}
	for _, r := range table() {
		rows[commandOf(r.argv, names)]++
	}
	for _, r := range codeTable() {
		rows[commandOf(r.argv, names)]++
	}
	for _, name := range names {
		writes := strings.Contains(help(t, leslie, strings.Fields(name)...), "--request-id")
		first, _, _ := strings.Cut(name, " ")
		if slices.Contains([]string{"run", "agents"}, first) || name == "code setup" { // they start agents, or the user's command: tests with real processes kill them
			continue
		}
		if slices.Contains([]string{"remote", "connect", "publish"}, first) { // they need servers: package store fails each of their steps, and test/cluster/soak kills them
			continue
		}
		why := withoutRow()[name]
		assert.False(t, writes && why != "", "%s writes, but withoutRow lists it: %s", name, why)
		assert.True(t, rows[name] > 0 || why != "", "%s has neither a row in table.go nor a reason in withoutRow", name)
		assert.False(t, rows[name] > 0 && why != "", "%s has a row, but withoutRow lists it: %s", name, why)
		delete(rows, name)
	}
	assert.Empty(t, rows, "rows of unknown commands")
}
