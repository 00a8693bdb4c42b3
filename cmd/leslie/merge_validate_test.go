package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// An editor's own file is there when the target is listed, and gone when it would
// be copied.
func TestAFileThatVanishesIsNoneOfTheValidatorsCopy(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.write(t, ".leslie/threads/main/.plan.md.swp", "swap\n")
	b.write(t, ".leslie/threads/main/other.md", "other\n")
	dir := t.TempDir()
	b.perform(context.Background(), awaiting(func(c *call) error {
		st, err := c.store()
		require.NoError(t, err)
		m := &merging{c: c, st: st, g: &gathering{}}
		m.record.Target = "main"
		m.plan = &merge.Plan{Files: []merge.Change{{Path: "plan.md", After: merge.File{Hash: "new"}}}}
		m.g.input.Read = func(string) ([]byte, error) { // between the two
			return []byte("new\n"), os.Remove(filepath.Join(b.dir, ".leslie/threads/main/.plan.md.swp"))
		}
		require.NoError(t, m.copyResult(dir))
		return nil
	}), "await")
	require.Empty(t, b.err.String())
	copied, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, copied, 2, "%s", copied)
	assert.NoFileExists(t, filepath.Join(dir, ".plan.md.swp"))
}
