//go:build !windows

package proctest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// tutorialAgent is what the agent of the tutorial does, by the thread that it works on. The second time it has
// its answer.
const tutorialAgent = `case $LESLIE_THREAD in
health)
	printf 'export function healthy() { return true }\n' > health.js
	git add . && git commit -q -m "Add a health check" && leslie done ;;
metrics)
	printf 'export let requests = 0\n\nexport function main() {\n\tcount()\n\tserve()\n}\n' > main.js
	git commit -q -a -m "Count requests" && leslie done ;;
page)
	printf 'export function page() { return text(requests) }\n' > page.js
	git add . && git commit -q -m "Show the count" && leslie done ;;
limits)
	if [ "$1" = again ]; then
		printf 'export function main() {\n\tlimit(100)\n\tserve()\n}\n' > main.js
		git commit -q -a -m "Limit requests" && leslie done
	else
		leslie wait page
		while leslie run list | grep -q '^page '; do :; done # which status lists by their ends
		leslie ask --question "How many requests a minute?"
	fi ;;
esac
`

// The console blocks of the tutorial are run line by line, with an agent that does what it says, and the answers
// are compared.
func TestTheTutorialShowsRealAnswers(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorial.md"))
	require.NoError(t, err)
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "project")
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	write(filepath.Join(home, ".gitconfig"), "[user]\n\tname = Ann\n\temail = ann@example.org\n")
	write(filepath.Join(home, "agent.sh"), tutorialAgent)
	script := "RUN[[sh " + filepath.Join(home, "agent.sh")
	config, err := json.Marshal(map[string]any{"run": map[string]any{"agent": "claude", "agents": map[string]any{"claude": map[string]any{
		"command": []string{must(os.Executable())},
		"env":     map[string]string{"PROCTEST_AGENT": "1", "FAKE": "modes", "FAKE_STATE": t.TempDir(), "FAKE_PROMPT": "USAGE[[1000 200 0.25]] " + script + "]] STOP[[1]] " + script + " again]]"},
	}}}})
	require.NoError(t, err)
	write(filepath.Join(home, ".leslie", "config.json"), string(config))
	write(filepath.Join(dir, "main.js"), "export function main() {\n\tserve()\n}\n")
	shell(dir, home, "git init -q -b main && git add . && git commit -q -m first")
	pages := newPlayer(must(os.Executable()), "claude-code-acp", "fake 1.0", "claude-code 1.0")
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		pages.plays(t, dir, home, block[1])
	}
}

func must(name string, err error) string {
	if err != nil {
		panic(err)
	}
	return name
}
