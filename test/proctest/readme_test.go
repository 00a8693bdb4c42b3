package proctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README's console block is run line by line, and the answers are compared.
func TestTheReadmeShowsRealAnswers(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "```console\n")
	require.True(t, found, "the README has a console block")
	block, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	dir := t.TempDir()
	var played strings.Builder
	commands := 0
	for line := range strings.Lines(block) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		commands++
		played.WriteString(line)
		played.WriteString(shell(dir, t.TempDir(), command))
	}
	require.NotZero(t, commands)
	assert.Equal(t, timeless(block), timeless(strings.ReplaceAll(played.String(), dir, "~/project")))
}

// shell runs a line as a person would, with leslie in the path. It may fail: the README
// shows errors, too.
func shell(dir, home, line string) string {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

func timeless(s string) string {
	return regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(s, "TIME")
}
