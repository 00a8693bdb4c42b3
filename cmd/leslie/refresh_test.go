package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// The manifest of a frozen reference has the times of the files, if these prove that they
// are unchanged; a refresh compares the content.
func TestARefreshOfTheSameContentChangesNothing(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.write(t, ".leslie/threads/part/plan.md", "plan\n") // just now: its time proves nothing
	b.write(t, ".leslie/threads/part/run.sh", "run\n")
	b.must(t, "reference", "--from", "main", "--target", "part", "--format", "json")
	first := b.referred(t)
	path := filepath.Join(b.Dir, ".leslie/threads/part/plan.md")
	for _, ago := range []time.Duration{time.Hour, 2 * time.Hour} {
		at := time.Now().Add(-ago)
		require.NoError(t, os.Chtimes(path, at, at))
		b.must(t, "reference", "refresh", string(first.RefID), "--format", "json")
		again := b.referred(t)
		assert.False(t, again.Changed)
		assert.Equal(t, first.TakenAt, again.TakenAt)
	}
	require.NoError(t, os.Chmod(filepath.Join(b.Dir, ".leslie/threads/part/run.sh"), 0o755))
	b.must(t, "reference", "refresh", string(first.RefID), "--format", "json")
	assert.True(t, b.referred(t).Changed, "what may be run is content")
	b.write(t, ".leslie/threads/part/plan.md", "another\n")
	b.must(t, "reference", "refresh", string(first.RefID), "--format", "json")
	assert.True(t, b.referred(t).Changed)
}

type referred struct {
	RefID   thread.ReferenceID
	TakenAt time.Time
	Changed bool
}

func (b *bench) referred(t *testing.T) referred {
	t.Helper()
	var answer struct{ Data referred }
	require.NoError(t, json.Unmarshal(b.out.Bytes(), &answer))
	return answer.Data
}
