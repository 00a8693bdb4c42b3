package proctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shownHook writes the hook of docs/reference/capabilities.md to a file.
func shownHook(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "capabilities.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(doc), "```sh\n#!/bin/sh\n")
	require.True(t, found, "docs/reference/capabilities.md shows a hook")
	text, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	name := filepath.Join(t.TempDir(), "before-tool")
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o755))
	return name
}

// To a coding agent, 0 means allowed and 2 means blocked; it reads standard error.
func TestTheHookInTheDocumentBlocksWhatIsNotAllowed(t *testing.T) {
	t.Parallel()
	hook := shownHook(t)
	p := withMain(t)
	asks := func(dir, thread, capability string) (status int, said string) {
		cmd := exec.Command("sh", hook, capability)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + p.home, "CLAUDECODE=1", "LESLIE_THREAD=" + thread}
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	status, said := asks(p.dir, "main", "read")
	assert.Equal(t, 0, status, said)
	assert.Empty(t, said, "leave is given without a word")

	status, said = asks(p.dir, "main", "code_edit")
	assert.Equal(t, 2, status, said)
	assert.Contains(t, said, "next: leslie transfer main --direction request_approval --scope code_edit\n", "the agent learns how to ask")

	p.ok("transfer", "main", "--direction", "delegate", "--scope", "code_edit")
	status, said = asks(p.dir, "main", "code_edit")
	assert.Equal(t, 0, status, said)

	for name, block := range map[string][3]string{
		"a misspelt capability":            {p.dir, "main", "code_edti"},
		"a thread that is not there":       {p.dir, "nobody", "code_edit"},
		"no thread, so no grant":           {p.dir, "", "code_edit"},
		"no store":                         {p.home, "main", "read"},
		"a capability that is not granted": {p.dir, "main", "deploy"},
	} {
		status, said := asks(block[0], block[1], block[2])
		assert.Equal(t, 2, status, "%s: %s", name, said)
		assert.NotEmpty(t, said, name)
	}
}
