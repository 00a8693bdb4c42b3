package config

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/runner"
	"leslie/store"
	"leslie/warnings"
)

// This file writes the user's configuration: all keys as comments, and with FromEnv what
// the installed agents need to log in.

// InitRequest writes the user's configuration.
type InitRequest struct {
	// FromEnv takes the variables with which agents log in out of the environment.
	FromEnv bool
}

// InitResult is the file that was written.
type InitResult struct {
	Path string `json:"path"`
	// Taken has the names of the variables that were taken over, never their values.
	Taken []TakenVariables `json:"taken"`
	app.Change
}

// TakenVariables are the names of variables that an agent gets.
type TakenVariables struct {
	Agent string   `json:"agent"`
	Names []string `json:"names"`
}

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

// Init writes the user's configuration if there is none. It needs no project. The
// warnings say what a power cut may undo (W505). Errors: T903 if the home folder is
// unknown, T106 if there is a file, T501, T505, T509, T904.
func Init(ctx context.Context, env app.Environment, r app.Request, in InitRequest) (*InitResult, warnings.List, error) {
	if env.Config == "" {
		return nil, nil, codes.InvalidArgument.New(fact.Of("reason", "the home folder is unknown")).WithHint("Set HOME or LESLIE_CONFIG").WithNext("leslie help configuration")
	}
	path := env.Config
	there := func() error {
		return codes.AlreadyExists.New(fact.Of("id", path), fact.Of("path", path)).
			WithHint("Edit the file; leslie help configuration explains its keys").WithNext("leslie config show")
	}
	if app.Exists(path) { // before anything is made
		return nil, nil, there()
	}
	d := &InitResult{Path: path, Taken: []TakenVariables{}}
	agents := map[string]app.AgentConfig{}
	if in.FromEnv {
		d.Taken, agents = loginsIn(env)
	}
	wait := store.Wait{Timeout: r.LockTimeout, Notify: r.Waiting}
	changed, undurable, err := store.EditOwn(ctx, wait, store.Options{Lock: env.Retry, Jitter: env.Jitter, Now: env.Now}, path, app.OwnConfigPerm, func(old []byte) ([]byte, error) {
		if old != nil {
			return nil, there()
		}
		return newUserConfig(agents)
	})
	d.SetChanged(changed)
	return d, app.ConfigNotDurable(path, undurable), err
}

// loginsIn returns the variables of the environment with which agents log in that leslie
// knows and that are installed.
func loginsIn(env app.Environment) (taken []TakenVariables, agents map[string]app.AgentConfig) {
	taken, agents = []TakenVariables{}, map[string]app.AgentConfig{}
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
	for _, p := range app.KnownAgents() {
		if _, err := runner.LookIn(all, p.Command[0]); err != nil {
			continue
		}
		own := map[string]string{}
		for _, name := range loginVariables(p.Name) {
			if value, ok := given[name]; ok {
				own[name] = value
			}
		}
		if len(own) > 0 {
			taken = append(taken, TakenVariables{p.Name, app.SortedKeys(own)})
			agents[p.Name] = app.AgentConfig{Env: own}
		}
	}
	return taken, agents
}

// newUserConfig is a user's configuration of which everything but the agents is a comment.
func newUserConfig(agents map[string]app.AgentConfig) ([]byte, error) {
	var b strings.Builder
	b.WriteString(`// Your own configuration of leslie. What begins with // is a comment: remove the // of
// the lines that you need. leslie help configuration explains the keys, leslie config
// show shows what is in effect.
{
  // How agents are run: leslie help topics agents.
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
		for _, name := range app.SortedKeys(agents) {
			fmt.Fprintf(&b, "      %s: {\"env\": {\n", app.Quoted(name))
			for _, variable := range app.SortedKeys(agents[name].Env) {
				value, err := json.Marshal(agents[name].Env[variable])
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(&b, "        %s: %s,\n", app.Quoted(variable), value)
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
    // never do: leslie help permissions. A profile is a set of rules: careful, normal or open.
    // "profile": "normal",
    // With "allow" and no profile, yours counts in place of leslie's.
    // "allow": ["Bash(leslie:*)", "Bash(git diff:*)", "Read(./**)", "Edit(./src/**)"],
    // What leslie approve --always adds is under "always": it is allowed besides.
    // "always": ["Bash(make test)"],
    // "ask": ["Bash(git push:*)"],
    // "deny": ["Read(./.env)"],
    // "default": "ask",
    // Who goes on when an agent may use nothing more for now, and how many run at once.
    // "fallback": ["claude", "codex"],
    // "parallel": 2,
    // How long an agent may be silent until its session is open.
    // "startTimeout": "1m",
    // How long it waits for your decision before its run is parked, and how long it is left each time that it
    // has died in a turn.
    // "askFor": "10m",
    // "restart": ["5s", "30s", "2m"],
    // Agents also get leslie's tools, by the Model Context Protocol: leslie help topics mcp.
    // "mcp": true,
    // A run ends, in the middle of a turn too, when it has used so much.
    // "maxTokens": 2000000,
    // "maxCost": 5.0,
    // "maxTime": "2h",
    // "maxTurnTime": "30m",
  },

  // Projects whose commands may run, by their absolute paths, or as leslie config trust
  // writes them.
  // "trust": ["/home/me/project"],

  // The command that is told what begins to wait for you.
  // "notify": "sh -c 'notify-send leslie \"$(cat)\"'",

  // Commands that resolve conflicts of merges, and check them.
  // "merge": {"agent": "my-resolver", "validate": "make test"},

  // Worktrees of threads that own code: leslie help topics code.
  // "code": {
  //   "dir": "../worktrees",
  //   "branch": "leslie/{id}",
  //   "setup": "make deps",
  //   "validate": "make test",
  //   "checks": {"test": "make test"},
  //   "land": "merge",
  //   "keep": "720h",
  //   "travel": "store",
  // },

  // What agents may decide: leslie help capabilities.
  // "policy": {"deploy": "require_human"},
  // "approvals": {"agentAutoApprove": false, "trustAs": false},

  // An agent's thread is suspended after so many failed commands in a row.
  // "mistakeLimit": 5,
  // How long a claim lasts.
  // "claimFor": "1h",
  // Ids of new threads and objectives: of their titles (write-docs), or random.
  // "ids": "title",
}`, "\n"))
}
