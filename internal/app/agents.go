package app

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/acp"
	"leslie/internal/fact"
	"leslie/internal/nearest"
	"leslie/internal/runner"
	"leslie/thread"
)

// This file knows the coding agents that leslie can start, and checks whether they start.

// agentConfig is an agent in a configuration file (run.agents.NAME). What it leaves out
// is that of the agent of the same name that leslie knows.
type agentConfig struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Mode    *string           `json:"mode"`
}

// agentProfile is an agent that can be started.
type agentProfile struct {
	name    string
	command []string
	env     map[string]string
	mode    string // in which it asks before it acts
	source  string
	install string // the package that has it
}

// The sources of an agent: see AgentItem.
const (
	agentBuiltIn = "leslie"
	agentOfUser  = "user"
	agentProject = "project"
)

// knownAgents are the agents that leslie knows, with the modes in which they ask. opencode has
// no mode for that, but takes permissions from its environment, above its own configuration.
func knownAgents() []agentProfile {
	return []agentProfile{
		{name: "claude", command: []string{"claude-agent-acp"}, mode: "default", install: "@agentclientprotocol/claude-agent-acp"},
		{name: "codex", command: []string{"codex-acp"}, mode: "read-only", install: "@agentclientprotocol/codex-acp"},
		{name: "gemini", command: []string{"gemini", "--acp"}, mode: "default", install: "@google/gemini-cli"},
		{name: "opencode", command: []string{"opencode", "acp"}, env: map[string]string{"OPENCODE_PERMISSION": `{"bash":"ask","edit":"ask","webfetch":"ask"}`}, install: "opencode-ai"},
		{name: "qwen", command: []string{"qwen", "--acp"}, mode: "default", install: "@qwen-code/qwen-code"},
		{name: "kimi", command: []string{"kimi", "acp"}, mode: "default", install: "@moonshot-ai/kimi-code"},
	}
}

// checkAgents checks the agents of a configuration file. The file's decoder passes over
// unknown keys within an agent.
func (cfg config) checkAgents(path string) error {
	for _, name := range sortedKeys(cfg.Run.Agents) {
		key := "run.agents." + name
		if !thread.ValidID(name) {
			return badConfig(path, key, "an agent is named by a letter or digit, then letters, digits, '-', '_'")
		}
		a := cfg.Run.Agents[name]
		known := slices.ContainsFunc(knownAgents(), func(p agentProfile) bool { return p.name == name })
		switch {
		case a.Command != nil && (len(a.Command) == 0 || a.Command[0] == ""):
			return badConfig(path, key+".command", "it must be a list of a program and its arguments")
		case a.Command == nil && !known:
			return badConfig(path, key+".command", "it is missing, and leslie knows no agent of that name")
		}
		for _, variable := range sortedKeys(a.Env) {
			if variable == "" || strings.ContainsAny(variable, "=\x00") || strings.Contains(a.Env[variable], "\x00") || strings.HasPrefix(variable, "LESLIE_") {
				return badConfig(path, key+".env", quoted(variable)+" cannot be set for an agent")
			}
		}
	}
	return nil
}

// UnmarshalJSON refuses keys that an agent does not have.
func (a *agentConfig) UnmarshalJSON(data []byte) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return errors.New("an agent must be an object with command, env and mode")
	}
	for name := range keys {
		if !slices.Contains([]string{"command", "env", "mode"}, name) {
			return errors.New("an agent has no key " + quoted(name) + "; it has command, env and mode")
		}
	}
	type plain agentConfig
	return json.Unmarshal(data, (*plain)(a))
}

// profiles returns every agent that can be started, by name, and the name of the one that
// runs when none is named. A project's agents need the user's trust (W305).
func profiles(c *Call) (all []agentProfile, chosen string, err error) {
	user, project, err := configs(c)
	if err != nil {
		return nil, "", err
	}
	theirs := project.Run.Agents
	if asked := "project"; len(theirs) > 0 && chooser(c, user)("run.agents", nil, &asked) == "" {
		theirs = nil
	}
	for _, name := range []*string{project.Run.Agent, user.Run.Agent} {
		if name != nil {
			chosen = *name
		}
	}
	return combineAgents(user.Run.Agents, theirs), chosen, nil
}

// combineAgents returns the agents that leslie knows, with what the configuration of the
// project changes and adds, and then that of the user.
func combineAgents(mine, theirs map[string]agentConfig) []agentProfile {
	all := knownAgents()
	for i := range all {
		all[i].source = agentBuiltIn
	}
	add := func(source string, configured map[string]agentConfig) {
		for _, name := range sortedKeys(configured) {
			i := slices.IndexFunc(all, func(p agentProfile) bool { return p.name == name })
			if i < 0 {
				i = len(all)
				all = append(all, agentProfile{name: name})
			}
			p, a := &all[i], configured[name]
			p.source, p.env = source, map[string]string{}
			for _, known := range knownAgents() {
				if known.name == name {
					maps.Copy(p.env, known.env)
				}
			}
			maps.Copy(p.env, a.Env)
			if a.Command != nil {
				p.command, p.install = a.Command, ""
			}
			if a.Mode != nil {
				p.mode = *a.Mode
			}
		}
	}
	add(agentProject, theirs)
	add(agentOfUser, mine)
	return all
}

// agentEnviron is the environment of an agent: what every program needs, what its profile
// adds, and nothing else of the caller's.
func agentEnviron(c *Call, p agentProfile) []string {
	own := map[string]string{}
	for _, entry := range environ(c) {
		name, value, _ := strings.Cut(entry, "=")
		if passedOn(name) {
			own[name] = value
		}
	}
	if program := c.project.env.Program; program != "" && own["PATH"] != "" {
		own["PATH"] = filepath.Dir(program) + string(os.PathListSeparator) + own["PATH"]
	}
	maps.Copy(own, p.env)
	out := make([]string, 0, len(own))
	for _, name := range sortedKeys(own) {
		out = append(out, name+"="+own[name])
	}
	return out
}

// passedOn reports whether an agent gets a variable of the caller's environment: where
// programs and files are, who and where the user is, and how the network is reached.
func passedOn(name string) bool {
	switch strings.ToUpper(name) {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "TMPDIR", "TMP", "TEMP", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PATHEXT", "COMSPEC":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// AgentsRequest asks for the agents that can be started.
type AgentsRequest struct {
	Name string // "": all
	// Check starts each that is installed, opens a session, and ends it. No prompt is sent.
	Check bool
}

// AgentsResult has the agents: those that leslie knows, and those of the configuration.
type AgentsResult struct {
	Items []AgentItem `json:"items"`
	Total int         `json:"total"`
}

// AgentItem is one agent.
type AgentItem struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	// Source says who names it: leslie, user, project.
	Source  string  `json:"source"`
	Default bool    `json:"default"` // it runs when no other is named
	Mode    *string `json:"mode"`    // in which it is set to ask; null: its own configuration says
	// Program is the file that would be started, null if it is not installed.
	Program *string `json:"program"`
	// Package is the npm package that has an agent which leslie knows.
	Package string      `json:"package,omitempty"`
	Check   *AgentCheck `json:"check,omitempty"`
}

// AgentCheck says how an agent started.
type AgentCheck struct {
	OK bool `json:"ok"`
	// Agent and Version are what it calls itself.
	Agent   string `json:"agent,omitempty"`
	Version string `json:"version,omitempty"`
	// Resumes: it can go on with an earlier session.
	Resumes bool `json:"resumes"`
	// ModeSet: it asks in the mode of its profile; always true without one.
	ModeSet bool         `json:"modeSet"`
	Ms      int64        `json:"ms"` // until its session was open
	Error   *codes.Error `json:"-"`
	// Code and Message say why it did not start.
	Code    codes.Code `json:"code,omitempty"`
	Message string     `json:"message,omitempty"`
}

// Agents lists the agents that can be started, and with Check whether they do. Errors:
// T903 for an unknown name and a bad configuration, T509; with Check and a name T701 to
// T704, T904.
func Agents(c *Call, in AgentsRequest) (*AgentsResult, error) {
	c.readOnly()
	all, chosen, err := profiles(c)
	if err != nil {
		return nil, err
	}
	if in.Name != "" {
		p, err := agentNamed(all, in.Name)
		if err != nil {
			return nil, err
		}
		all = []agentProfile{p}
	}
	d := &AgentsResult{Items: []AgentItem{}}
	for _, p := range all {
		item := AgentItem{Name: p.name, Command: p.command, Source: p.source, Default: p.name == chosen, Mode: orNull(p.mode), Package: p.install}
		if program, err := runner.LookIn(agentEnviron(c, p), p.command[0]); err == nil {
			item.Program = &program
		}
		if in.Check && (item.Program != nil || in.Name != "") {
			item.Check = checkAgent(c, p)
			if in.Name != "" && item.Check.Error != nil {
				return nil, item.Check.Error
			}
		}
		if c.ctx.Err() != nil {
			return nil, codes.Interrupted.Wrap(context.Cause(c.ctx))
		}
		d.Items = append(d.Items, item)
	}
	d.Total = len(d.Items)
	return d, nil
}

// agentNamed returns an agent. Errors: T903 with the nearest name.
func agentNamed(all []agentProfile, name string) (agentProfile, error) {
	if name == "" {
		return agentProfile{}, codes.InvalidArgument.New(fact.Of("reason", "no agent is named, and the configuration names none (run.agent)")).
			WithHint("Name one with --agent, or in your configuration").WithNext("leslie agents")
	}
	names := make([]string, len(all))
	for i, p := range all {
		if p.name == name {
			return p, nil
		}
		names[i] = p.name
	}
	facts := []fact.Fact{fact.Of("reason", "there is no agent "+quoted(name)), fact.Of("allowed", names)}
	if near := nearest.Name(name, names); near != "" {
		facts[0] = fact.Of("reason", "there is no agent "+quoted(name)+" (did you mean "+near+"?)")
		facts = append(facts, fact.Of("nearest", near))
	}
	return agentProfile{}, codes.InvalidArgument.New(facts...).
		WithHint("Name one of " + strings.Join(names, ", ") + ", or add yours to your configuration (run.agents)").WithNext("leslie agents")
}

// startAgent starts an agent. Errors: those of runner.Start; of one that leslie knows and that
// is not installed, T701 says how to install it.
func startAgent(ctx context.Context, p agentProfile, spec runner.Spec) (*runner.Agent, error) {
	a, err := runner.Start(ctx, spec)
	if p.install == "" || !codes.Has(err, codes.AgentUnavailable) {
		return a, err
	}
	if _, missing := runner.LookIn(spec.Env, p.command[0]); missing != nil {
		err = codes.Of(err).WithHint("Install it with npm install -g " + p.install + ", or use another agent (leslie agents)")
	}
	return a, err
}

// checkAgent starts an agent in the project's folder, opens a session and ends it.
func checkAgent(c *Call, p agentProfile) *AgentCheck {
	began := c.project.env.Now()
	mark := c.project.env.NewID(thread.PrefixRun)
	a, err := startAgent(c.ctx, p, runner.Spec{
		Argv: p.command, Dir: c.project.root, Env: append(agentEnviron(c, p), runner.MarkVariable+"="+mark),
		Client: acp.Implementation{Name: "leslie", Version: c.project.env.Version}, Handler: deafHandler{}, Mode: p.mode,
	})
	out := &AgentCheck{Ms: c.project.env.Now().Sub(began).Milliseconds()}
	if err != nil {
		out.Error = codes.Of(err)
		out.Code, out.Message = out.Error.Code(), out.Error.Error()
		return out
	}
	a.End()
	out.OK, out.ModeSet = true, !a.ModeUnknown
	if a.About.Info != nil {
		out.Agent, out.Version = a.About.Info.Name, a.About.Info.Version
	}
	out.Resumes = a.About.Agent.LoadSession || a.About.Agent.Session.Resume != nil
	return out
}

// deafHandler is for a session without a prompt: nothing that comes matters.
type deafHandler struct{}

func (deafHandler) Update(string, json.RawMessage) {}
func (deafHandler) Junk([]byte, int)               {}
func (deafHandler) Refused(string)                 {}
func (deafHandler) Permission(_ context.Context, r acp.PermissionRequest) acp.PermissionOutcome {
	return r.Choose(acp.RejectOnce)
}
