package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// savesMeanwhile is a project in which somebody saves a file each time a rollback has
// planned and is about to commit, up to a number of times.
func savesMeanwhile(t *testing.T, times int) (b *bench, saved *int) {
	t.Helper()
	b = newProject(t)
	plan := filepath.Join(b.Dir, ".leslie/threads/main/plan.md")
	save := func(content string) { require.NoError(t, os.WriteFile(plan, []byte(content), 0o644)) }
	save("first\n")
	b.must(t, "checkpoint", "main", "--name", "first")
	save("second\n")
	saved = new(int)
	made := b.NewID
	b.NewID = func(prefix string) string {
		if prefix == thread.PrefixCheckpoint && *saved < times {
			*saved++
			save(fmt.Sprintf("saved %d times\n", *saved))
		}
		return made(prefix)
	}
	return b, saved
}

// As cp -p, tar and rsync save: different content of the same size with an old time.
func TestACheckpointHoldsWhatWasSavedUnderAnOldTime(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	plan := filepath.Join(b.Dir, ".leslie/threads/main/plan.md")
	save := func(content string) { b.write(t, ".leslie/threads/main/plan.md", content) }
	save("version 1\n")
	b.must(t, "checkpoint", "main", "--name", "a")
	b.must(t, "reference", "--from", "part", "--target", "main")
	save("version 2\n")
	b.must(t, "reference", "list", "--format", "json")
	assert.Contains(t, b.out.String(), `"stale":["plan.md"]`)
	b.must(t, "checkpoint", "main", "--name", "b")
	save("version 3\n")
	b.must(t, "rollback", "main", "--to", "b")
	got, err := os.ReadFile(plan)
	require.NoError(t, err)
	assert.Equal(t, "version 2\n", string(got))
}

func TestARollbackIsPlannedAnewWhenSomebodySavesMeanwhile(t *testing.T) {
	t.Parallel()
	b, saved := savesMeanwhile(t, 2)
	b.must(t, "rollback", "main", "--to", "first", "--format", "json")
	assert.Equal(t, 2, *saved)
	plan := filepath.Join(b.Dir, ".leslie/threads/main/plan.md")
	got, err := os.ReadFile(plan)
	require.NoError(t, err)
	assert.Equal(t, "first\n", string(got))
	automatic, _ := document(t, b.out.Bytes()).Data["checkpointId"].(string)
	b.must(t, "rollback", "main", "--to", automatic)
	got, err = os.ReadFile(plan)
	require.NoError(t, err)
	assert.Equal(t, "saved 2 times\n", string(got), "what was there before is what was saved last")
}

func TestARollbackGivesUpWhenSomebodyGoesOnSaving(t *testing.T) {
	t.Parallel()
	b, saved := savesMeanwhile(t, 100)
	before := b.revision(t)
	assert.Equal(t, 15, b.leslie("rollback", "main", "--to", "first", "--format", "json"))
	a := document(t, b.out.Bytes())
	assert.Equal(t, "T505", a.Error.Code)
	assert.True(t, *a.Error.Retryable)
	assert.Contains(t, a.Error.Message, "kept changing")
	assert.Equal(t, false, a.Error.Details["changed"])
	assert.Equal(t, float64(3), a.Error.Details["attempts"])
	assert.Equal(t, 3, *saved)
	require.NotEmpty(t, a.Error.Next)
	assert.Zero(t, b.leslie(strings.Fields(a.Error.Next[0])[1:]...))
	got, err := os.ReadFile(filepath.Join(b.Dir, ".leslie/threads/main/plan.md"))
	require.NoError(t, err)
	assert.Equal(t, "saved 3 times\n", string(got))
	assert.Equal(t, before, b.revision(t), "nothing was recorded")
	left, err := os.ReadDir(filepath.Join(b.Dir, ".leslie/tmp"))
	require.NoError(t, err)
	assert.Empty(t, left, "nothing stays staged")
}

// revision returns the store's revision.
func (b *bench) revision(t *testing.T) int {
	t.Helper()
	b.must(t, "status", "--format", "json")
	rev := document(t, b.out.Bytes()).Revision
	require.NotNil(t, rev)
	return *rev
}

func TestAnIDThatBeginsSeveralOperationsIsT105(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "update", "main", "--title", "One")
	b.must(t, "update", "main", "--title", "Two")
	assert.Equal(t, 11, b.leslie("undo", "op-0000", "--format", "json"))
	a := document(t, b.out.Bytes())
	assert.Equal(t, "T105", a.Error.Code)
	candidates, _ := a.Error.Details["candidates"].([]any)
	assert.GreaterOrEqual(t, len(candidates), 2)
	assert.Zero(t, b.leslie(strings.Fields(a.Error.Next[0])[1:]...))

	full, _ := candidates[0].(string)
	b.must(t, "undo", full)
	b.must(t, "status", "main", "--format", "json")
	assert.Equal(t, "One", document(t, b.out.Bytes()).Data["title"], "the newest comes first, and an exact id wins")
}
