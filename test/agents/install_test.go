package agents_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// This file installs the agents.

// realAgent is an agent as it is installed and configured for the tests. MODEL in its
// environment and files stands for the address of the model server.
type realAgent struct {
	name    string
	packet  string // the npm package and its version
	command []string
	env     map[string]string
	files   map[string]string // in its home
	// forgets: it forgets a turn that is cancelled, and opens no session again in the
	// minute in which it began.
	forgets bool
	// edits: it edits files of its folder without asking.
	edits bool
}

// nodePackage has Node where there is none, schemaPackage the protocol's schema.
const (
	nodePackage   = "node@22"
	schemaPackage = "@agentclientprotocol/sdk@2.4.0"
	leastNode     = 22
)

// realAgents are the agents, with settings that keep them from asking anybody but the
// model server.
func realAgents() []realAgent {
	return []realAgent{
		{
			name: "claude", packet: "@agentclientprotocol/claude-agent-acp@0.101.0", command: []string{"claude-agent-acp"},
			env: map[string]string{
				"ANTHROPIC_BASE_URL": "MODEL", "ANTHROPIC_API_KEY": "fake", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
				"DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
				"ENABLE_TOOL_SEARCH": "false", // the model has to see all tools at once
			},
		},
		{
			name: "codex", packet: "@agentclientprotocol/codex-acp@2.6.0", command: []string{"codex-acp"},
			env: map[string]string{"FAKE_KEY": "fake", "OPENAI_API_KEY": "fake"},
			files: map[string]string{".codex/config.toml": `allow_login_shell = false
model = "fake-model"
model_provider = "fake"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "Fake"
base_url = "MODEL/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
`},
		},
		{
			name: "gemini", packet: "@google/gemini-cli@0.61.0", command: []string{"gemini", "--acp", "-m", "gemini-2.5-flash"}, forgets: true,
			env:   map[string]string{"GEMINI_API_KEY": "fake", "GOOGLE_GEMINI_BASE_URL": "MODEL", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
			files: map[string]string{".gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false}, "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}}`},
		},
		{
			name: "opencode", packet: "opencode-ai@1.18.33", command: []string{"opencode", "acp"},
			env: map[string]string{
				"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
			},
			files: map[string]string{".config/opencode/opencode.json": `{"autoupdate": false, "share": "disabled", "model": "fake/fake-model", "small_model": "fake/fake-model", "enabled_providers": ["fake"],
 "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": {"baseURL": "MODEL/v1", "apiKey": "fake"},
  "models": {"fake-model": {"name": "Fake", "tool_call": true, "limit": {"context": 100000, "output": 4096}}}}}}`},
		},
		{
			name: "qwen", packet: "@qwen-code/qwen-code@0.24.4", command: []string{"qwen", "--acp"},
			env:   map[string]string{"OPENAI_BASE_URL": "MODEL/v1", "OPENAI_API_KEY": "fake", "OPENAI_MODEL": "fake-model"},
			files: map[string]string{".qwen/settings.json": `{"tools": {"toolSearch": {"enabled": false}}, "security": {"auth": {"selectedType": "openai"}}, "general": {"enableAutoUpdate": false, "disableAutoUpdate": true}, "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}, "model": {"name": "fake-model"}, "$version": 4}`},
		},
		{
			name: "kimi", packet: "@moonshot-ai/kimi-code@2.1.0", command: []string{"kimi", "acp"}, edits: true,
			env: map[string]string{
				"KIMI_MODEL_PROVIDER_TYPE": "openai", "KIMI_MODEL_NAME": "fake-model", "KIMI_MODEL_API_KEY": "fake", "KIMI_MODEL_BASE_URL": "MODEL/v1",
				"KIMI_MODEL_MAX_CONTEXT_SIZE": "100000", "KIMI_DISABLE_TELEMETRY": "1", "KIMI_CODE_NO_AUTO_UPDATE": "1",
			},
		},
	}
}

// pinned is the version that is installed.
func (a realAgent) pinned() string {
	return a.packet[strings.LastIndex(a.packet, "@")+1:]
}

// installer installs packages, each in a folder of its own that stays.
type installer struct {
	cache string
	path  string // the PATH with Node in it
}

// newInstaller finds npm and a Node that is new enough, or installs one.
func newInstaller(cache string) (*installer, error) {
	in := &installer{cache: cache, path: os.Getenv("PATH")}
	if _, err := exec.LookPath("npm"); err != nil {
		return nil, errors.New("npm is missing: install it (Debian's package npm), or Node 22 or newer, which has it")
	}
	if in.nodeVersion() >= leastNode {
		return in, nil
	}
	folder, err := in.install("node", nodePackage, true)
	if err != nil {
		return nil, fmt.Errorf("Node %d or newer is missing, and cannot be installed: %w", leastNode, err)
	}
	in.path = filepath.Join(folder, ".bin") + string(os.PathListSeparator) + in.path
	if v := in.nodeVersion(); v < leastNode {
		return nil, fmt.Errorf("Node %d or newer is missing, and the package %s brought version %d", leastNode, nodePackage, v)
	}
	return in, nil
}

// nodeVersion is the major version of Node, 0 without one.
func (in *installer) nodeVersion() int {
	cmd := exec.Command("sh", "-c", "node --version")
	cmd.Env = append(os.Environ(), "PATH="+in.path)
	out, _ := cmd.Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	v, _ := strconv.Atoi(major)
	return v
}

// install installs a package and returns the folder with it and what it needs.
func (in *installer) install(name, packet string, scripts bool) (folder string, err error) {
	dir := filepath.Join(in.cache, name)
	folder = filepath.Join(dir, "node_modules")
	mark := filepath.Join(dir, "installed")
	if done, err := os.ReadFile(mark); err == nil && string(done) == packet {
		return folder, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte("{}\n"), 0o600); err != nil {
		return "", err
	}
	args := []string{"install", "--no-audit", "--no-fund", packet}
	if !scripts {
		args = append(args, "--ignore-scripts")
	}
	cmd := exec.Command("npm", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+in.path)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm could not install %s: %w\n%s", packet, err, out)
	}
	return folder, os.WriteFile(mark, []byte(packet), 0o600)
}

// installed returns an agent with the PATH that has it.
func (in *installer) installed(a realAgent) (path string, err error) {
	folder, err := in.install(a.name, a.packet, false)
	if err != nil {
		return "", err
	}
	bin := filepath.Join(folder, ".bin")
	if a.name == "opencode" { // without its scripts only the package of its system has the program
		if bin, err = workingProgram(folder, a.command[0]); err != nil {
			return "", err
		}
	}
	return bin + string(os.PathListSeparator) + in.path, nil
}

// workingProgram returns the folder of the first program of a platform's package that
// this machine can run.
func workingProgram(folder, program string) (string, error) {
	found, err := filepath.Glob(filepath.Join(folder, program+"-*", "bin", program))
	if err != nil {
		return "", err
	}
	slices.Sort(found)
	for _, name := range found {
		if exec.Command(name, "--version").Run() == nil {
			return filepath.Dir(name), nil
		}
	}
	return "", fmt.Errorf("no package of %s has a program for %s/%s in %s", program, runtime.GOOS, runtime.GOARCH, folder)
}

// configure writes an agent's files into its home, and returns its part of leslie's
// configuration.
func (a realAgent) configure(home, model string) (map[string]any, error) {
	for name, text := range a.files {
		file := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "MODEL", model)), 0o600); err != nil {
			return nil, err
		}
	}
	env := maps.Clone(a.env)
	for name, value := range env {
		env[name] = strings.ReplaceAll(value, "MODEL", model)
	}
	return map[string]any{"command": a.command, "env": env}, nil
}

// writeJSON writes a value into a file.
func writeJSON(file string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o600)
}
