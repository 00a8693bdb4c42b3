//go:build unix

package proctest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests open an untrusted project: its .leslie may contain anything that a disk can
// hold.

const secret = "the secret of somebody else"

// outside makes a folder outside the project, with a file that leslie must neither read
// nor change.
func outside(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "secret.md"), []byte(secret), 0o644))
	return folder
}

// plant puts links to a folder outside, a pipe and the like among the artifacts of a
// thread.
func (p *project) plant(thread, folder string) {
	p.t.Helper()
	place := p.path("threads/" + thread)
	for name, target := range map[string]string{
		"plan.md": filepath.Join(folder, "secret.md"), "notes": folder, "gone": "/nowhere/at/all",
		"up": "../../../..", "device": "/dev/zero", "loop": "loop",
	} {
		require.NoError(p.t, os.Symlink(target, filepath.Join(place, name)))
	}
	require.NoError(p.t, syscall.Mkfifo(filepath.Join(place, "pipe"), 0o644))
	p.write(thread, map[string]string{"own.md": "own\n", "\x1b[2Jscreen.md": "clears the screen\n"})
}

// assertUntouched asserts that the folder outside is unchanged.
func assertUntouched(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing was made outside")
	raw, err := os.ReadFile(filepath.Join(folder, "secret.md"))
	require.NoError(t, err)
	assert.Equal(t, secret, string(raw), "nothing was written through a link")
}

// kept returns the contents of every regular file below the store's folder.
func (p *project) kept() string {
	p.t.Helper()
	var all strings.Builder
	require.NoError(p.t, filepath.WalkDir(p.path(""), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		all.Write(content)
		return err
	}))
	return all.String()
}

func TestArtifactsThatLeadOutAreNeverFollowed(t *testing.T) {
	t.Parallel()
	p, folder := newProject(t), outside(t)
	p.ok("spawn", "--id", "bad", "--intent", "From a stranger")
	p.ok("spawn", "--id", "main", "--intent", "Ours")
	p.write("main", map[string]string{"plan.md": "our plan\n", "notes/a.md": "a note\n"})
	p.plant("bad", folder)

	for _, line := range []string{
		"status bad", "artifacts bad", "context bad", "doctor",
		"reference --from main --target bad", "reference --from main --target bad --binding live",
		"spawn --id kid --intent x --parent bad --inherit full", "checkpoint bad --name before",
		"merge --sources bad --target main --conflict-strategy strict", "merge --sources main --target bad --conflict-strategy strict",
		"transfer bad --direction request_approval --scope deploy", "rollback bad --to before", "undo", "doctor --repair",
	} {
		a, err := p.try(strings.Fields(line)...)
		require.NoError(t, err, line)
		assert.NotContains(t, string(a.Data)+a.stderr, secret, line)
		assert.NotContains(t, a.stderr, "\x1b", line)
		assertUntouched(t, folder)
	}
	assert.NotContains(t, p.kept(), secret, "nothing was copied through a link")
	info, err := os.Lstat(filepath.Join(p.path("threads/bad"), "plan.md"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink, "what was planted stands where it stood")
}

func TestPathsThatLeadOutAreRefused(t *testing.T) {
	t.Parallel()
	p, folder := newProject(t), outside(t)
	p.ok("spawn", "--id", "main", "--intent", "Ours")
	p.ok("spawn", "--id", "part", "--intent", "Part")
	p.write("main", map[string]string{"plan.md": "plan\n"})
	p.ok("checkpoint", "main", "--name", "one")
	for _, scope := range []string{"../part/plan.md", "/etc/passwd", "a/../../x", filepath.Join(folder, "secret.md")} {
		p.fails("T507", 15, "artifacts", "main", "--scope", scope)
		p.fails("T507", 15, "spawn", "--intent", "x", "--parent", "main", "--inherit", "partial", "--scope", scope)
		p.fails("T507", 15, "reference", "--from", "part", "--target", "main", "--scope", scope)
		p.fails("T507", 15, "merge", "--sources", "main", "--target", "part", "--scope", scope)
	}
	for _, id := range []string{"../main", "a/b", "-x", ".hidden", strings.Repeat("x", 65), "a\nb"} {
		a, err := p.try("spawn", "--intent", "x", "--id="+id)
		require.NoError(t, err)
		requireFailure(t, a, "T903", 2)
	}
	assertUntouched(t, folder)
}

func TestATreeOfAHundredThousandFilesIsRefusedAndReadOn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the files alone take seconds: make whole")
	}
	p := newProject(t)
	p.ok("spawn", "--id", "many", "--intent", "From a stranger")
	p.ok("spawn", "--id", "main", "--intent", "Ours")
	for i := range 100 {
		dir := filepath.Join(p.path("threads/many"), fmt.Sprint("d", i))
		require.NoError(t, os.Mkdir(dir, 0o755))
		for k := range 1000 {
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(k)), nil, 0o644))
		}
	}
	a := p.ok("artifacts", "many", "--limit", "1")
	var list struct{ Total int }
	a.into(t, &list)
	assert.GreaterOrEqual(t, list.Total, 100_000)
	p.ok("context", "many")
	p.fails("T508", 15, "spawn", "--intent", "x", "--parent", "many", "--inherit", "full")
	p.fails("T508", 15, "checkpoint", "many")
	p.fails("T508", 15, "merge", "--sources", "many", "--target", "main")
	p.ok("spawn", "--intent", "x", "--parent", "many", "--inherit", "partial", "--scope", "d1/")
	p.requireHealthy()
}

func TestADeepTreeIsRefusedAndReadOn(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.ok("spawn", "--id", "deep", "--intent", "From a stranger")
	// The path is longer than the system accepts, so it is made folder by folder.
	root, err := os.OpenRoot(p.path("threads/deep"))
	require.NoError(t, err)
	for range 400 {
		require.NoError(t, root.Mkdir("a-long-name-of-a-folder", 0o755))
		next, err := root.OpenRoot("a-long-name-of-a-folder")
		require.NoError(t, err)
		require.NoError(t, root.Close())
		root = next
	}
	require.NoError(t, root.WriteFile("bottom.md", []byte("bottom\n"), 0o644))
	require.NoError(t, root.Close())
	for _, line := range []string{
		"status deep", "artifacts deep", "context deep", "checkpoint deep", "spawn --intent x --parent deep --inherit full", "doctor", "list",
	} {
		a, err := p.try(strings.Fields(line)...)
		require.NoError(t, err, line)
		if a.status != 0 {
			assert.Regexp(t, `^T5`, a.Error.Code, line)
		}
	}
	p.ok("spawn", "--id", "next", "--intent", "Others work on")
}

func TestCommandsOfAnUntrustedConfigurationAreNotRun(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	trap := filepath.Join(t.TempDir(), "ran")
	run := "sh -c 'touch " + trap + "'"
	require.NoError(t, os.WriteFile(p.path("config.json"), []byte(`{"merge": {"agent": "`+run+`", "validate": "`+run+`"}}`), 0o644))
	p.ok("spawn", "--id", "main", "--intent", "Ours")
	p.ok("spawn", "--id", "part", "--intent", "Part")
	p.write("main", map[string]string{"plan.md": "ours\n", "own.md": "x\n"})
	p.write("part", map[string]string{"plan.md": "theirs\n", "new.md": "y\n"})
	a, err := p.try("merge", "--sources", "part", "--target", "main", "--conflict-strategy", "agent-first")
	require.NoError(t, err)
	requireFailureCode(t, a, "T301")
	assert.True(t, a.warned("W305"), "the caller is told: %v", a.Warnings)
	a, err = p.try("merge", "--sources", "part", "--target", "main", "--scope", "new.md")
	require.NoError(t, err)
	assert.NoFileExists(t, trap)
}

// requireFailureCode asserts a code, but not that nothing changed.
func requireFailureCode(t *testing.T, a answer, code string) {
	t.Helper()
	require.NotNil(t, a.Error)
	require.Equal(t, code, a.Error.Code)
}
