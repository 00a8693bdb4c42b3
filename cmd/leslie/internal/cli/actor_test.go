package cli

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

// processTree is a /proc with processes given as "pid parent comm exe start"; exe "-"
// cannot be read.
func processTree(boot string, processes ...[5]string) fstest.MapFS {
	tree := fstest.MapFS{"sys/kernel/random/boot_id": {Data: []byte(boot + "\n")}}
	for _, p := range processes {
		stat := fmt.Sprintf("%s (%s) S %s 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 %s 1 2\n", p[0], p[2], p[1], p[4])
		tree[p[0]+"/stat"] = &fstest.MapFile{Data: []byte(stat)}
		if p[3] != "-" {
			tree[p[0]+"/exe"] = &fstest.MapFile{Data: []byte(p[3]), Mode: fs.ModeSymlink}
		}
	}
	return tree
}

func TestAnAgentIsNamedAfterItsProcess(t *testing.T) {
	t.Parallel()
	agent := [5]string{"7", "1", "node (main)", "/usr/bin/node", "900"}
	name := DerivedActor(processTree("b1", agent), 7)
	assert.Regexp(t, `^agent-[a-z2-7]{8}$`, name)
	for what, tree := range map[string]fstest.MapFS{
		"below a shell":              processTree("b1", agent, [5]string{"20", "7", "bash", "/usr/bin/bash", "950"}),
		"below another shell":        processTree("b1", agent, [5]string{"20", "7", "zsh", "-", "999"}),
		"below a shell script":       processTree("b1", agent, [5]string{"20", "7", "check.sh", "/usr/bin/dash (deleted)", "950"}),
		"below timeout in two shell": processTree("b1", agent, [5]string{"20", "21", "sh", "/bin/sh", "1"}, [5]string{"21", "22", "timeout", "/bin/timeout", "1"}, [5]string{"22", "7", "sh", "/bin/sh", "1"}),
	} {
		assert.Equal(t, name, DerivedActor(tree, 20), what)
	}
	for what, tree := range map[string]fstest.MapFS{
		"another boot":                    processTree("b2", agent),
		"another process with the number": processTree("b1", [5]string{"7", "1", "node", "/usr/bin/node", "901"}),
	} {
		other := DerivedActor(tree, 7)
		assert.Regexp(t, `^agent-[a-z2-7]{8}$`, other, what)
		assert.NotEqual(t, name, other, what)
	}
}

func TestNobodyIsNamedAfterAProcessThatAgentsShare(t *testing.T) {
	t.Parallel()
	shell := [5]string{"20", "7", "bash", "/usr/bin/bash", "950"}
	for what, tree := range map[string]fstest.MapFS{
		"no /proc":               {},
		"no boot id":             {"7/stat": {Data: []byte("7 (node) S 1")}},
		"no such process":        processTree("b1"),
		"a line that is cut":     {"sys/kernel/random/boot_id": {Data: []byte("b")}, "20/stat": {Data: []byte("20 (node) S 1")}},
		"below init":             processTree("b1", shell, [5]string{"7", "0", "systemd", "/usr/lib/systemd/systemd", "1"}),
		"below tmux":             processTree("b1", shell, [5]string{"7", "1", "tmux: server", "-", "1"}),
		"a shell without parent": processTree("b1", [5]string{"20", "0", "bash", "/usr/bin/bash", "1"}),
		"shells in a circle":     processTree("b1", shell, [5]string{"7", "20", "sh", "/bin/sh", "1"}),
	} {
		assert.Empty(t, DerivedActor(tree, 20), what)
	}
}
