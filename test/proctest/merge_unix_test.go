//go:build !windows

package proctest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// leslie records a merge before it asks anybody, so a caller that is killed while an agent
// works finds it again.
func TestAPendingMergeSurvivesItsCaller(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.ok("spawn", "--id", "main", "--intent", "Be merged into")
	p.write("main", map[string]string{"plan.md": "one\ntwo\nthree\n"})
	p.ok("spawn", "--id", "part", "--intent", "Be merged", "--parent", "main", "--inherit", "full")
	p.write("main", map[string]string{"plan.md": "one\ntwo of main\nthree\n"})
	p.write("part", map[string]string{"plan.md": "one\ntwo of part\nthree\n", "new.md": "new\n"})
	was := p.artifacts("main")

	up, never := filepath.Join(t.TempDir(), "up"), filepath.Join(t.TempDir(), "never")
	for _, pipe := range []string{up, never} {
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	}
	call := p.start("merge", "--sources", "part", "--target", "main", "--conflict-strategy", "agent-first",
		"--agent", fmt.Sprintf(`/bin/sh -c 'echo up >"%s"; read -r x <"%s"'`, up, never))
	said, err := os.ReadFile(up) // waits for the agent
	require.NoError(t, err)
	require.Equal(t, "up\n", string(said))
	require.NoError(t, call.Process.Kill())
	_ = call.Wait()
	agent, err := os.OpenFile(never, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = io.WriteString(agent, "go home\n") // ends the agent
	require.NoError(t, err)
	require.NoError(t, agent.Close())

	assert.Empty(t, harness.Differing(was, p.artifacts("main")), "the target is as it was")
	var list struct {
		Items []merged `json:"items"`
	}
	p.ok("merge", "list").into(t, &list)
	require.Len(t, list.Items, 1)
	id := list.Items[0].MergeID
	p.fails("T305", 13, "merge", "--sources", "part", "--target", "main", "--scope", "plan.md")
	a, err := p.try("merge", "continue", id)
	require.NoError(t, err)
	require.NotNil(t, a.Error)
	assert.Equal(t, "T301", a.Error.Code)

	p.ok("merge", "resolve", id, "plan.md", "--take", "theirs")
	var data merged
	p.ok("merge", "continue", id).into(t, &data)
	assert.Equal(t, "merged", data.Status)
	assert.Empty(t, harness.Differing(map[string]string{"plan.md": "one\ntwo of part\nthree\n", "new.md": "new\n"}, p.artifacts("main")))
	p.ok("merge", "list").into(t, &list)
	assert.Empty(t, list.Items)
	assert.NoDirExists(t, p.path("merges/"+id))
	p.requireHealthy()
}
