package merging

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
	"leslie/store"
	"leslie/thread"
)

// listedFiles lists files of which one is gone when it is opened.
type listedFiles struct {
	Files
	gone string
}

func (l listedFiles) Artifacts(thread.ThreadID) ([]store.Entry, error) {
	return []store.Entry{{Path: "other.md", Type: store.TypeFile}, {Path: l.gone, Type: store.TypeFile}}, nil
}

func (l listedFiles) OpenArtifact(_ thread.ThreadID, rel string) (io.ReadCloser, error) {
	if rel == l.gone {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader("other\n")), nil
}

// An editor's own file is there when the target is listed, and gone when it would
// be copied.
func TestAFileThatVanishesIsNoneOfTheValidatorsCopy(t *testing.T) {
	t.Parallel()
	s := &Planning{call: Call{Files: listedFiles{gone: ".plan.md.swp"}}, planned: planned{artifacts: &merge.Plan{Files: []merge.Change{
		{Path: "plan.md", After: merge.File{Hash: "new"}, Content: []byte("new\n")},
	}}}}
	dir := t.TempDir()
	require.NoError(t, (&validation{s}).copyResult(dir))
	copied, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, copied, 2)
	for name, want := range map[string]string{"plan.md": "new\n", "other.md": "other\n"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
	}
}
