package app

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/permit"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file shows the configuration: where it is, and what of it is in effect.

// ConfigFile is a configuration file.
type ConfigFile struct {
	Path   string `json:"path"` // absolute
	Exists bool   `json:"exists"`
	// Problem says why it cannot be used.
	Problem string `json:"problem,omitempty"`
}

// ConfigPathResult says where the configuration is.
type ConfigPathResult struct {
	User    *ConfigFile `json:"user"`    // null if the home folder is unknown
	Project *ConfigFile `json:"project"` // null outside of a project
	Root    *string     `json:"root"`    // of the project
	// Trusted: the user's own file trusts the project.
	Trusted bool `json:"trusted"`
}

// ConfigPath says where the configuration for a folder is, and whether it can be used.
// Errors: those of Open, except T504.
func ConfigPath(env Environment, dir string) (*ConfigPathResult, error) {
	root, err := projectOf(env, dir)
	if err != nil {
		return nil, err
	}
	d := &ConfigPathResult{Root: orNull(root)}
	if env.Home != "" {
		user, err := userConfig(env)
		d.User, d.Trusted = configFile(userConfigPath(env), err), root != "" && user.trusts(root)
	}
	if root != "" {
		path := projectConfigPath(root)
		_, err := readConfig(path, false)
		d.Project = configFile(path, err)
	}
	return d, nil
}

func configFile(path string, err error) *ConfigFile {
	f := &ConfigFile{Path: path, Exists: exists(path)}
	if err != nil {
		f.Problem = err.Error()
	}
	return f
}

func projectConfigPath(root string) string { return filepath.Join(root, store.Dir, store.ConfigFile) }

// projectOf returns the root of the project of a folder, "" for none. Errors: those of
// Open, except T504.
func projectOf(env Environment, dir string) (string, error) {
	p, err := Open(dir, env)
	switch {
	case codes.Has(err, codes.NotInitialized):
		return "", nil
	case err != nil:
		return "", err
	}
	return p.root, nil
}

// The values of ConfigItem.Ignored.
const (
	ConfigUntrusted  = "untrusted"  // the user does not trust the project
	ConfigOverridden = "overridden" // the other file's value counts
)

// ConfigItem is a key of the configuration with a value.
type ConfigItem struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	// Source says who sets it: leslie, user, project.
	Source string `json:"source"`
	// Ignored says why the value does not count, "" if it does.
	Ignored string `json:"ignored,omitempty"`
}

// ConfigAgent is the value of an agent. Of its environment only the names are shown: the
// values may be secret.
type ConfigAgent struct {
	Command []string `json:"command"`
	Mode    *string  `json:"mode"`
	Env     []string `json:"env"`
}

// ConfigShowResult has every key that is in effect, and what is ignored.
type ConfigShowResult struct {
	ConfigPathResult
	Items[ConfigItem]
}

// ConfigShow returns the configuration that is in effect in a folder. The warnings name
// what is ignored because the user does not trust the project (W305). Errors: T903 naming
// file and key, T509, those of Open except T504.
func ConfigShow(env Environment, dir string) (*ConfigShowResult, warnings.List, error) {
	at, err := ConfigPath(env, dir)
	if err != nil {
		return nil, nil, err
	}
	user, err := userConfig(env)
	if err != nil {
		return nil, nil, err
	}
	var project config
	if at.Root != nil {
		if project, err = readConfig(projectConfigPath(*at.Root), false); err != nil {
			return nil, nil, err
		}
	}
	l := configList{mine: flat(user), theirs: flat(project), user: user, project: project, trusted: at.Trusted}
	both, only := configKeys()
	for _, key := range slices.Concat(both, only) {
		l.key(key)
	}
	var notes warnings.List
	told := map[string]bool{}
	for _, item := range l.items {
		key := untrustedKey(item.Key)
		if item.Ignored == ConfigUntrusted && !told[key] {
			told[key] = true
			notes.Add(warnings.UntrustedCommand.New(fact.Of("path", store.Dir+"/"+store.ConfigFile), fact.Of("key", key)))
		}
	}
	return &ConfigShowResult{ConfigPathResult: *at, Items: First(l.items, 0)}, notes, nil
}

// untrustedKey is the key of the configuration to which an item belongs.
func untrustedKey(key string) string {
	for _, group := range []string{"code.checks", "run.agents"} {
		if strings.HasPrefix(key, group+".") {
			return group
		}
	}
	return key
}

// needTrust are the keys of the project's file that count only if the user trusts it.
func needTrust() []string {
	return []string{"merge.agent", "merge.validate", "code.setup", "code.validate", "code.checks", "run.agents", "run.allow"}
}

// configBuiltIn are the values without configuration.
func configBuiltIn() map[string]any {
	return map[string]any{
		"mistakeLimit": defaultMistakeLimit, "claimFor": "1h", "code.dir": "../PROJECT.worktrees", "code.branch": "leslie/" + idInBranch,
		"run.default": permit.Ask, "run.parallel": defaultParallel, "run.allow": "leslie, reading in its folder, the thread's artifacts, code in a worktree of its own",
		"approvals.agentAutoApprove": false, "approvals.trustAs": false,
	}
}

// flat returns the keys of a file that have a value.
func flat(cfg config) map[string]any {
	data, err := json.Marshal(cfg)
	var all map[string]any
	if err != nil || json.Unmarshal(data, &all) != nil {
		return nil
	}
	for _, group := range []string{"merge", "code", "run", "approvals"} {
		inner, _ := all[group].(map[string]any)
		delete(all, group)
		for name, value := range inner {
			all[group+"."+name] = value
		}
	}
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil || value == false || value == 0.0 })
	return all
}

// configList collects items.
type configList struct {
	mine, theirs  map[string]any
	user, project config
	trusted       bool
	items         []ConfigItem
}

func (l *configList) add(key string, value any, source, ignored string) {
	l.items = append(l.items, ConfigItem{Key: key, Value: value, Source: source, Ignored: ignored})
}

// key adds what is in effect for a key, and what is ignored.
func (l *configList) key(key string) {
	switch key {
	case "policy":
		l.policy()
	case "code.checks":
		l.checks()
	case "run.agents":
		l.agents()
	case "run.allow":
		l.choose(key, l.mine[key], nil, configBuiltIn()[key])
		l.further(key, l.trusted)
	case "run.ask", "run.deny":
		l.choose(key, l.mine[key], nil, nil)
		l.further(key, true)
	case "run.default", "run.maxTokens", "run.maxCost", "run.parallel":
		l.narrowest(key)
	default:
		l.choose(key, l.mine[key], l.theirs[key], configBuiltIn()[key])
	}
}

// choose adds the user's value, else the project's, else the built-in one; nil is none.
func (l *configList) choose(key string, mine, theirs, builtIn any) {
	trusted := l.trusted || !slices.Contains(needTrust(), untrustedKey(key))
	switch {
	case mine != nil:
		l.add(key, mine, agentOfUser, "")
	case theirs != nil && trusted:
		l.add(key, theirs, agentProject, "")
	case builtIn != nil:
		l.add(key, builtIn, agentBuiltIn, "")
	}
	switch {
	case theirs != nil && mine != nil:
		l.add(key, theirs, agentProject, ConfigOverridden)
	case theirs != nil && !trusted:
		l.add(key, theirs, agentProject, ConfigUntrusted)
	}
}

// further adds a list of the project that counts beside the user's.
func (l *configList) further(key string, counts bool) {
	switch theirs := l.theirs[key]; {
	case theirs == nil:
	case counts:
		l.add(key, theirs, agentProject, "")
	default:
		l.add(key, theirs, agentProject, ConfigUntrusted)
	}
}

// narrowest adds a key of which the project's value counts only if it allows less.
func (l *configList) narrowest(key string) {
	mine, theirs := l.mine[key], l.theirs[key]
	less := false
	switch a := theirs.(type) {
	case float64:
		b, limited := mine.(float64)
		less = !limited || a < b
	case string:
		b, set := mine.(string)
		less = !set && permit.Verdict(a) != permit.Allow || set && narrower(permit.Verdict(a), permit.Verdict(b))
	}
	if less {
		l.add(key, theirs, agentProject, "")
		if mine != nil {
			l.add(key, mine, agentOfUser, ConfigOverridden)
		}
		return
	}
	l.choose(key, mine, nil, configBuiltIn()[key])
	if theirs != nil {
		l.add(key, theirs, agentProject, ConfigOverridden)
	}
}

func (l *configList) policy() {
	builtIn := thread.DefaultPolicy()
	names := maps.Clone(builtIn)
	maps.Copy(names, l.project.Policy)
	maps.Copy(names, l.user.Policy)
	for _, name := range sortedKeys(names) {
		l.choose("policy."+string(name), ruleOf(l.user.Policy, name), ruleOf(l.project.Policy, name), ruleOf(builtIn, name))
	}
}

// ruleOf is what a policy says of a capability, nil if nothing.
func ruleOf[K comparable, V any](policy map[K]V, name K) any {
	if rule, ok := policy[name]; ok {
		return rule
	}
	return nil
}

func (l *configList) checks() {
	names := maps.Clone(l.project.Code.Checks)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, l.user.Code.Checks)
	for _, name := range sortedKeys(names) {
		l.choose("code.checks."+name, ruleOf(l.user.Code.Checks, name), ruleOf(l.project.Code.Checks, name), nil)
	}
}

func (l *configList) agents() {
	theirs := l.project.Run.Agents
	if !l.trusted {
		theirs = nil
	}
	for _, p := range combineAgents(l.user.Run.Agents, theirs) {
		l.add("run.agents."+p.name, ConfigAgent{Command: p.command, Mode: orNull(p.mode), Env: append([]string{}, sortedKeys(p.env)...)}, p.source, "")
	}
	if l.trusted {
		return
	}
	for _, name := range sortedKeys(l.project.Run.Agents) {
		a := l.project.Run.Agents[name]
		l.add("run.agents."+name, ConfigAgent{Command: a.Command, Mode: a.Mode, Env: append([]string{}, sortedKeys(a.Env)...)}, agentProject, ConfigUntrusted)
	}
}
