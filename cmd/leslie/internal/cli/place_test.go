package cli

import (
	"path/filepath"
	"testing"

	"leslie/internal/external"

	"github.com/stretchr/testify/assert"
)

func TestPlacedIsRightFromTheFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(dir string) string { return placed(dir, root, ".leslie/threads/main") }
	assert.Equal(t, ".leslie/threads/main", at(root))
	assert.Equal(t, "../../.leslie/threads/main", at(filepath.Join(root, "src", "deep")))
	assert.Equal(t, filepath.Base(root)+"/.leslie/threads/main", at(filepath.Dir(root)))
	assert.Equal(t, filepath.ToSlash(root)+"/.leslie/threads/main", at(t.TempDir()))
	assert.Equal(t, "../.leslie/", placed(filepath.Join(root, "src"), root, ".leslie/"), "a folder stays one")
	assert.Equal(t, "..leslie/x", placed(root, root, "..leslie/x"), "two dots alone lead nowhere")
}

func TestWordsOfALineGetAnotherPrefix(t *testing.T) {
	t.Parallel()
	line := "leslie merge resolve m-1 plan.md --file .leslie/merges/m-1/work/plan.md"
	assert.Equal(t, line, withPrefix(line, storePrefix, external.Word))
	assert.Equal(t, "leslie merge resolve m-1 plan.md --file ../.leslie/merges/m-1/work/plan.md", withPrefix(line, "../.leslie/", external.Word))
	assert.Equal(t, "leslie merge resolve m-1 plan.md --file '/my work/.leslie/merges/m-1/work/plan.md'", withPrefix(line, "/my work/.leslie/", external.Word))
	assert.Equal(t, "use '../.leslie/merges/m-1/work/a b.md'", withPrefix("use '.leslie/merges/m-1/work/a b.md'", "../.leslie/", external.Word))
	plain := func(path string) string { return path }
	assert.Equal(t, "edit ../.leslie/merges/m-1/work/, then go on", withPrefix("edit .leslie/merges/m-1/work/, then go on", "../.leslie/", plain))
	assert.Equal(t, "see /a/.leslie/x", withPrefix("see /a/.leslie/x", "../.leslie/", plain), "another place stays")
}
