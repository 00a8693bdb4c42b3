package app

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"leslie/thread"
)

// This file knows the coding agents that leslie can start, and checks whether they start.

// AgentConfig is an agent in a configuration file (run.agents.NAME). What it leaves out
// is that of the agent of the same name that leslie knows.
type AgentConfig struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Mode    *string           `json:"mode"`
}

// AgentProfile is an agent that can be started.
type AgentProfile struct {
	Name    string
	Command []string
	Env     map[string]string
	Mode    string // in which it asks before it acts
	Source  string
	Install string // the package that has it
}

// The sources of an agent: see AgentItem.
const (
	AgentBuiltIn = "leslie"
	AgentOfUser  = "user"
	AgentProject = "project"
)

// KnownAgents are the agents that leslie knows, with the modes in which they ask. opencode has
// no mode for that, but takes permissions from its environment, above its own configuration.
func KnownAgents() []AgentProfile {
	return []AgentProfile{
		{Name: "claude", Command: []string{"claude-agent-acp"}, Mode: "default", Install: "@agentclientprotocol/claude-agent-acp"},
		{Name: "codex", Command: []string{"codex-acp"}, Mode: "read-only", Install: "@agentclientprotocol/codex-acp"},
		{Name: "gemini", Command: []string{"gemini", "--acp"}, Mode: "default", Install: "@google/gemini-cli"},
		{Name: "opencode", Command: []string{"opencode", "acp"}, Env: map[string]string{"OPENCODE_PERMISSION": `{"bash":"ask","edit":"ask","webfetch":"ask"}`}, Install: "opencode-ai"},
		{Name: "qwen", Command: []string{"qwen", "--acp"}, Mode: "default", Install: "@qwen-code/qwen-code"},
		{Name: "kimi", Command: []string{"kimi", "acp"}, Mode: "default", Install: "@moonshot-ai/kimi-code"},
	}
}

// checkAgents checks the agents of a configuration file. The file's decoder passes over
// unknown keys within an agent.
func (cfg Config) checkAgents(path string) error {
	for _, name := range SortedKeys(cfg.Run.Agents) {
		key := "run.agents." + name
		if !thread.ValidName(name) {
			return BadConfig(path, key, "an agent is named by a letter or digit, then letters, digits, '-', '_'")
		}
		a := cfg.Run.Agents[name]
		known := slices.ContainsFunc(KnownAgents(), func(p AgentProfile) bool { return p.Name == name })
		switch {
		case a.Command != nil && (len(a.Command) == 0 || a.Command[0] == ""):
			return BadConfig(path, key+".command", "it must be a list of a program and its arguments")
		case a.Command == nil && !known:
			return BadConfig(path, key+".command", "it is missing, and leslie knows no agent of that name")
		}
		for _, variable := range SortedKeys(a.Env) {
			if variable == "" || strings.ContainsAny(variable, "=\x00") || strings.Contains(a.Env[variable], "\x00") || strings.HasPrefix(variable, "LESLIE_") {
				return BadConfig(path, key+".env", Quoted(variable)+" cannot be set for an agent")
			}
		}
	}
	return nil
}

// agentFault finds a key that an agent does not have, or a value of the wrong kind.
func agentFault(data []byte) (key, problem string) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &keys) != nil {
		return "", "an agent must be an object with command, env and mode"
	}
	for _, name := range SortedKeys(keys) {
		if !slices.Contains([]string{"command", "env", "mode"}, name) {
			return name, "an agent has no key " + Quoted(name) + "; it has command, env and mode"
		}
	}
	var kind *json.UnmarshalTypeError
	if errors.As(json.Unmarshal(data, new(AgentConfig)), &kind) {
		return kind.Field, "it must be " + wanted(kind.Type) + ", not " + kind.Value
	}
	return "", ""
}
