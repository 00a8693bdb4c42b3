package agents_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"leslie/test/harness"
)

// This file has each agent work in a project that leslie setup has set up, as a person
// starts it, without leslie run, and looks at what the model is sent.

// byHand is how a person has an agent answer one prompt.
type byHand struct {
	command []string // before the prompt
	free    []string // flags by which it calls its shell without asking
	program string   // a pattern of the program in the package, if it has no name in .bin
	files   map[string]string
	// lacks is what the agent cannot have.
	lacks []string
}

// startedByHand has a row for each agent. PROJECT in a file is the project's folder.
func startedByHand() map[string]byHand {
	return map[string]byHand{
		"claude": {
			command: []string{"claude", "-p"}, program: "@anthropic-ai/claude-agent-sdk-*/claude",
			free:  []string{"--allowedTools", "Bash"},
			files: map[string]string{".claude/settings.json": `{"enableAllProjectMcpServers": true}`},
		},
		"codex": {
			command: []string{"codex", "exec", "--dangerously-bypass-hook-trust"},
			files:   map[string]string{".codex/config.toml": "[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n"},
			lacks:   []string{"claim"}, // the model asks to leave the sandbox, which codex exec never allows
		},
		"gemini":   {command: []string{"gemini", "-m", "gemini-2.5-flash", "-p"}, free: []string{"--yolo"}},
		"opencode": {command: []string{"opencode", "run"}, lacks: []string{"end", "claim"}},
		"qwen":     {command: []string{"qwen", "--approval-mode", "yolo", "-p"}}, // without a person it offers no other tools than it may call
		"kimi":     {command: []string{"kimi", "-p"}, lacks: []string{"claim"}},  // its commands have no mark: to leslie a person claims
	}
}

// overheard keeps what a model is sent.
type overheard struct {
	*model
	mu   sync.Mutex
	said bytes.Buffer
}

// ServeHTTP implements http.Handler.
func (o *overheard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	o.mu.Lock()
	o.said.Write(append(body, '\n'))
	o.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	o.model.ServeHTTP(w, r)
}

// arrivals are what setup promises, each with a text by which it is known in a request.
func arrivals() []struct{ name, text string } {
	return []struct{ name, text string }{
		{"skills", "leslie-relations"}, {"their descriptions", "Find out what another thread of leslie knows"},
		{"instructions", "The word of this project is heron"}, {"tools", "claim_next"},
		{"context", "Deliver the albatross"}, {"end", "1 message for thread t not read yet"},
		{"claim", "Thread u is still open"},
	}
}

// TestRealAgentsLoadWhatSetupGives is another test of make agents: see
// TestRealAgentsWorkWithLeslie.
func TestRealAgentsLoadWhatSetupGives(t *testing.T) {
	binary := os.Getenv("LESLIE_AGENTS")
	if binary == "" {
		t.Skip("it installs real agents: make agents")
	}
	leslie, err := filepath.Abs(binary)
	require.NoError(t, err)
	cache := os.Getenv("LESLIE_AGENTS_CACHE")
	if cache == "" {
		folder, err := os.UserCacheDir()
		require.NoError(t, err)
		cache = filepath.Join(folder, "leslie-agents")
	}
	in, err := newInstaller(cache)
	require.NoError(t, err)
	only := strings.Fields(os.Getenv("LESLIE_AGENTS_ONLY"))
	var mu sync.Mutex
	rows := map[string]map[string]bool{}
	t.Run("agents", func(t *testing.T) {
		for _, a := range realAgents() {
			if len(only) > 0 && !slices.Contains(only, a.name) {
				continue
			}
			path, err := in.installed(a)
			require.NoError(t, err)
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				arrived := loads(t, newRig(t, a, leslie, path, false), filepath.Join(cache, a.name, "node_modules"))
				mu.Lock()
				rows[a.name] = arrived
				mu.Unlock()
			})
		}
	})
	fmt.Println(arrivalTable(rows))
}

// arrivalTable is what arrived, as Markdown.
func arrivalTable(rows map[string]map[string]bool) string {
	var b strings.Builder
	b.WriteString("\n| agent |")
	line := "\n|---|"
	for _, what := range arrivals() {
		b.WriteString(" " + what.name + " |")
		line += "---|"
	}
	b.WriteString(line + "\n")
	for _, a := range realAgents() {
		if rows[a.name] == nil {
			continue
		}
		b.WriteString("| " + a.name + " " + a.pinned() + " |")
		for _, what := range arrivals() {
			b.WriteString(map[bool]string{true: " yes |", false: " - |"}[rows[a.name][what.name]])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// loads has the agent answer a prompt in a project that is set up, and returns what its
// model was sent.
func loads(t *testing.T, r *rig, folder string) map[string]bool {
	start := startedByHand()[r.agent.name]
	ear := &overheard{model: r.model}
	server := httptest.NewServer(ear)
	defer server.Close()
	env := r.prepareByHand(start, server.URL)
	r.ok("init")
	guide, err := os.ReadFile(filepath.Join(r.project, "AGENTS.md"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(r.project, "AGENTS.md"), append([]byte("The word of this project is heron.\n\n"), guide...), 0o600))
	r.ok("setup", r.agent.name)
	if r.agent.name == "kimi" { // it has hooks only there
		r.ok("setup", r.agent.name, "--scope", "user")
	}
	r.spawn("t", "Deliver the albatross")
	r.ok("inject", "t", "--type", "data", "--content", "Mind the gap")

	program := start.command[0]
	if start.program != "" {
		found, err := filepath.Glob(filepath.Join(folder, start.program))
		require.NoError(t, err)
		require.NotEmpty(t, found)
		program = found[0]
	} else if program, err = programIn(r.env, program); err != nil {
		require.NoError(t, err)
	}
	o := harness.Call{Program: program, Argv: append(slices.Clone(start.command[1:]), "TALK[[3]]"), Dir: r.project, Env: env, Limit: 2 * time.Minute}.Run()
	// A session that speaks for no thread, and claims one.
	r.spawn("u", "Claim it")
	argv := slices.Concat(start.command[1:], []string{"RUN[[leslie claim u]]"}, start.free)
	alone := slices.DeleteFunc(env, func(e string) bool { return e == "LESLIE_THREAD=t" })
	if !slices.Contains(start.lacks, "claim") {
		harness.Call{Program: program, Argv: argv, Dir: r.project, Env: alone, Limit: 2 * time.Minute}.Run()
	}
	ear.mu.Lock()
	said := ear.said.String()
	ear.mu.Unlock()
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(r.project), "requests.jsonl"), []byte(said), 0o600))
	out := map[string]bool{}
	for _, what := range arrivals() {
		out[what.name] = strings.Contains(said, what.text)
		if !slices.Contains(start.lacks, what.name) && !out[what.name] {
			t.Errorf("%s did not arrive: %q is in no request; the agent said: %s", what.name, what.text, o.Text())
		}
	}
	return out
}

// prepareByHand writes the agent's files for a model, and returns the environment in which
// a person would start it to work in the thread t.
func (r *rig) prepareByHand(start byHand, model string) []string {
	r.Helper()
	own, err := r.agent.configure(r.home, model)
	require.NoError(r, err)
	for name, text := range start.files {
		file := filepath.Join(r.home, filepath.FromSlash(name))
		require.NoError(r, os.MkdirAll(filepath.Dir(file), 0o700))
		before, _ := os.ReadFile(file)
		require.NoError(r, os.WriteFile(file, append(before, strings.ReplaceAll(text, "PROJECT", r.project)...), 0o600))
	}
	env := append(slices.Clone(r.env), "LESLIE_THREAD=t")
	for name, value := range own["env"].(map[string]string) {
		env = append(env, name+"="+value)
	}
	return env
}

// programIn finds a program in the PATH of an environment.
func programIn(env []string, name string) (string, error) {
	for _, entry := range env {
		path, ok := strings.CutPrefix(entry, "PATH=")
		for _, dir := range filepath.SplitList(path) {
			if file := filepath.Join(dir, name); ok && isProgram(file) {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("%s is not in the PATH", name)
}

func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
