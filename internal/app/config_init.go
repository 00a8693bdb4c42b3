package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/runner"
	"leslie/store"
	"leslie/warnings"
)

// This file writes the user's configuration: all keys as comments, and with FromEnv what
// the installed agents need to log in.

// ConfigInitRequest writes the user's configuration.
type ConfigInitRequest struct {
	// FromEnv takes the variables with which agents log in out of the environment.
	FromEnv bool
}

// ConfigInitResult is the file that was written.
type ConfigInitResult struct {
	Path string `json:"path"`
	// Taken has the names of the variables that were taken over, never their values.
	Taken []TakenVariables `json:"taken"`
	Change
}

// TakenVariables are the names of variables that an agent gets.
type TakenVariables struct {
	Agent string   `json:"agent"`
	Names []string `json:"names"`
}

// ownConfigPerm are the permissions of the user's configuration: it may hold keys.
const ownConfigPerm = 0o600

// loginVariables are the variables with which an agent that leslie knows logs in, and
// finds its model.
func loginVariables(agent string) []string {
	switch agent {
	case "claude":
		return []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "CLAUDE_CODE_OAUTH_TOKEN"}
	case "codex":
		return []string{"CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"}
	case "gemini":
		return []string{"GEMINI_API_KEY", "GEMINI_MODEL", "GOOGLE_API_KEY", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"}
	case "opencode":
		return []string{"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "OPENCODE_API_KEY", "OPENROUTER_API_KEY"}
	case "qwen":
		return []string{"DASHSCOPE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"}
	case "kimi":
		return []string{"KIMI_API_KEY", "KIMI_BASE_URL", "KIMI_MODEL_API_KEY", "KIMI_MODEL_BASE_URL", "KIMI_MODEL_NAME"}
	}
	return nil
}

// ConfigInit writes the user's configuration if there is none. It needs no project. The
// warnings say what a power cut may undo (W505). Errors: T903 if the home folder is
// unknown, T106 if there is a file, T501, T505, T509, T904.
func ConfigInit(ctx context.Context, env Environment, r Request, in ConfigInitRequest) (*ConfigInitResult, warnings.List, error) {
	if env.Home == "" {
		return nil, nil, codes.InvalidArgument.New(fact.Of("reason", "the home folder is unknown")).WithHint("Set HOME").WithNext("leslie help configuration")
	}
	path := userConfigPath(env)
	there := func() error {
		return codes.AlreadyExists.New(fact.Of("id", path), fact.Of("path", path)).
			WithHint("Edit the file; leslie help configuration explains its keys").WithNext("leslie config show")
	}
	if exists(path) { // before anything is made
		return nil, nil, there()
	}
	d := &ConfigInitResult{Path: path, Taken: []TakenVariables{}}
	agents := map[string]agentConfig{}
	if in.FromEnv {
		d.Taken, agents = loginsIn(env)
	}
	wait := store.Wait{Timeout: r.LockTimeout, Notify: r.Waiting}
	changed, undurable, err := store.EditOwn(ctx, wait, store.Options{Jitter: env.Jitter, Now: env.Now}, path, ownConfigPerm, func(old []byte) ([]byte, error) {
		if old != nil {
			return nil, there()
		}
		return newUserConfig(agents)
	})
	d.SetChanged(changed)
	return d, ownUndurable(path, undurable), err
}

// ownUndurable warns of a file whose replacement a power cut may undo.
func ownUndurable(path string, err error) (notes warnings.List) {
	if err != nil {
		notes.Add(warnings.NotSettled.New(fact.Of("what", "making "+path+" durable"), fact.Of("reason", codes.Reason(err))))
	}
	return notes
}

// loginsIn returns the variables of the environment with which agents log in that leslie
// knows and that are installed.
func loginsIn(env Environment) (taken []TakenVariables, agents map[string]agentConfig) {
	taken, agents = []TakenVariables{}, map[string]agentConfig{}
	if env.Environ == nil {
		return taken, agents
	}
	all := env.Environ()
	given := map[string]string{}
	for _, entry := range all {
		if name, value, _ := strings.Cut(entry, "="); value != "" {
			given[name] = value
		}
	}
	for _, p := range knownAgents() {
		if _, err := runner.LookIn(all, p.command[0]); err != nil {
			continue
		}
		own := map[string]string{}
		for _, name := range loginVariables(p.name) {
			if value, ok := given[name]; ok {
				own[name] = value
			}
		}
		if len(own) > 0 {
			taken = append(taken, TakenVariables{p.name, sortedKeys(own)})
			agents[p.name] = agentConfig{Env: own}
		}
	}
	return taken, agents
}

// newUserConfig is a user's configuration of which everything but the agents is a comment.
func newUserConfig(agents map[string]agentConfig) ([]byte, error) {
	var b strings.Builder
	b.WriteString(`// Your own configuration of leslie. What begins with // is a comment: remove the // of
// the lines that you need. leslie help configuration explains the keys, leslie config
// show shows what is in effect.
{
  // How agents are run: leslie help agents.
  "run": {
    // The agent that runs when none is named.
    // "agent": "claude",
`)
	if len(agents) == 0 {
		b.WriteString(`    // Your own agents, and what the known ones get in their environment.
    // "agents": {
    //   "claude": {"env": {"ANTHROPIC_API_KEY": "..."}},
    //   "mine": {"command": ["my-agent", "--acp"], "mode": "default"},
    // },
`)
	} else {
		b.WriteString("    \"agents\": {\n")
		for _, name := range sortedKeys(agents) {
			fmt.Fprintf(&b, "      %s: {\"env\": {\n", quoted(name))
			for _, variable := range sortedKeys(agents[name].Env) {
				value, err := json.Marshal(agents[name].Env[variable])
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(&b, "        %s: %s,\n", quoted(variable), value)
			}
			b.WriteString("      }},\n")
		}
		b.WriteString("    },\n")
	}
	for _, line := range configTemplate() {
		b.WriteString(line + "\n")
	}
	return []byte(b.String()), nil
}

// configTemplate are the lines after the agents.
func configTemplate() []string {
	return slices.Collect(strings.SplitSeq(`    // What agents may do without asking, what a person is asked about, and what they may
    // never do: leslie help permissions. With "allow" yours counts in place of leslie's.
    // "allow": ["Bash(leslie:*)", "Bash(git diff:*)", "Read(./**)", "Edit(./src/**)"],
    // What leslie approve --always adds is under "always": it is allowed besides.
    // "always": ["Bash(make test)"],
    // "ask": ["Bash(git push:*)"],
    // "deny": ["Read(./.env)"],
    // "default": "ask",
    // Who goes on when an agent may use nothing more for now, and how many run at once.
    // "fallback": ["claude", "codex"],
    // "parallel": 2,
    // Agents also get leslie's tools, by the Model Context Protocol: leslie help mcp.
    // "mcp": true,
    // A run ends after a turn by which it has used so much.
    // "maxTokens": 2000000,
    // "maxCost": 5.0,
  },

  // Projects whose commands may run, by their absolute paths.
  // "trust": ["/home/me/project"],

  // The command that is told what begins to wait for you.
  // "notify": "sh -c 'notify-send leslie \"$(cat)\"'",

  // Commands that resolve conflicts of merges, and check them.
  // "merge": {"agent": "my-resolver", "validate": "make test"},

  // Worktrees of threads that own code: leslie help code.
  // "code": {
  //   "dir": "../worktrees",
  //   "branch": "leslie/{id}",
  //   "setup": "make deps",
  //   "validate": "make test",
  //   "checks": {"test": "make test"},
  // },

  // What agents may decide: leslie help capabilities.
  // "policy": {"deploy": "require_human"},
  // "approvals": {"agentAutoApprove": false, "trustAs": false},

  // An agent's thread is suspended after so many failed commands in a row.
  // "mistakeLimit": 5,
  // How long a claim lasts.
  // "claimFor": "1h",
}`, "\n"))
}
