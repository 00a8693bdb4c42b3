//go:build unix

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

func TestEveryCommandHasARowOrAReason(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "leslie")
	require.NoError(t, harness.Build(binary))
	names, err := harness.Commands(binary)
	require.NoError(t, err)
	require.Greater(t, len(names), 40)
	for _, name := range names {
		row := slices.ContainsFunc(table(), func(r row) bool { return r.name == name })
		_, left := withoutRow()[name]
		assert.True(t, row != left, "%s needs a row in soak/table.go, or a reason in withoutRow()", name)
	}
	for _, r := range table() {
		command := r.name == "a save" || r.name == "a configuration" || r.name == "a wrong line" || slices.Contains(names, r.name)
		assert.True(t, command, "there is no command %s", r.name)
	}
}

func TestEveryRowDrawsALineOfItsCommand(t *testing.T) {
	t.Parallel()
	full := &snapshot{
		objectives: []string{"o-1", "o-2", "o-3", "o-4"}, references: []string{"ref-bbbbbbbb"}, approvals: []string{"appr-bbbbbbbb"}, merges: []string{"merge-bbbbbbbb"}, questions: []string{"q-bbbbbbbb"}, comments: []string{"c-bbbbbbbb"},
		threads: []threadInfo{{ID: "a", Status: "active"}, {ID: "b", Status: "completed", Checkpoints: []string{"ckpt-bbbbbbbb"}}, {ID: "c", Status: "cancelled"}},
	}
	for _, sc := range []*snapshot{full, {}} {
		g := &soakRun{project: &project{dir: t.TempDir(), scratch: t.TempDir()}, shared: &sharedSnapshot{snapshot: sc, at: time.Now().Add(time.Hour)}}
		w := g.newWorker(1)
		for _, r := range table() {
			drawn := 0
			for range 40 {
				l, ok := r.draw(w)
				if !ok {
					continue
				}
				drawn++
				if l.command == "" && r.name != "a wrong line" {
					assert.Equal(t, r.name, strings.Join(l.argv[:strings.Count(r.name, " ")+1], " "))
				}
			}
			if calls := r.name != "a save" && r.name != "a configuration"; sc == full && calls {
				assert.Positive(t, drawn, "%s draws nothing", r.name)
			}
			assert.Positive(t, r.weight, "%s", r.name)
		}
	}
}

func TestTheSnapshotHasNoThreadsOfScenarios(t *testing.T) {
	t.Parallel()
	sc, err := snapshotOf([]byte(`{"threads":{"a":{"status":"active","checkpoints":[{"checkpointId":"ckpt-1"}]},"group-1-0":{},"rollback-00-1":{},"branch-00-1-1":{},"undo-00-1":{}},
		"objectives":{"scenarios":{},"goal":{}},"merges":{"merge-1":{"target":"group-1-0"},"merge-2":{"target":"a"}},
		"approvals":{"appr-1":{"status":"open"},"appr-2":{"status":"denied"}}}`))
	require.NoError(t, err)
	assert.Equal(t, []threadInfo{{ID: "a", Status: "active", Checkpoints: []string{"ckpt-1"}}}, sc.threads)
	assert.Equal(t, []string{"goal"}, sc.objectives)
	assert.Equal(t, []string{"merge-2"}, sc.merges)
	assert.Equal(t, []string{"appr-1"}, sc.open)
	_, err = snapshotOf([]byte(`{"threads":`))
	require.Error(t, err)
}
