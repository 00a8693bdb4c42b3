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

// reading are the commands that have no row, each with its reason.
func reading() map[string]string {
	const looks = "it only looks"
	return map[string]string{
		"objective list": looks, "objective status": looks, "list": looks, "status": looks, "artifacts": looks,
		"reference list": looks, "reference show": looks, "merge list": looks, "merge status": looks, "approvals": looks,
		"can": looks, "history": looks, "observe": looks, "wait": looks, "logs": looks, "stats": looks,
		"explain": "it has no store",
	}
}

// help asks the binary itself what it can do.
func help(t *testing.T, leslie string, argv ...string) string {
	t.Helper()
	cmd := exec.Command(leslie, append([]string{"help", "--format", "text"}, argv...)...)
	cmd.Env = append(os.Environ(), "LESLIE_FORMAT=")
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// named is the command of a line: two words where there is one of two.
func named(argv, names []string) string {
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
		rows[named(r.argv, names)]++
	}
	for _, name := range names {
		writes := strings.Contains(help(t, leslie, strings.Fields(name)...), "--request-id")
		why := reading()[name]
		assert.False(t, writes && why != "", "%s writes, and is listed as one that does not: %s", name, why)
		assert.True(t, rows[name] > 0 || why != "", "%s has neither a row in table.go nor a reason here", name)
		assert.False(t, rows[name] > 0 && why != "", "%s has a row, and a reason to have none: %s", name, why)
		delete(rows, name)
	}
	assert.Empty(t, rows, "rows of commands that there are not")
}
