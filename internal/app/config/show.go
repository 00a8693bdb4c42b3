package config

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/permit"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file shows the configuration: where it is, and what of it is in effect.

// File is a configuration file.
type File struct {
	Path   string `json:"path"` // absolute
	Exists bool   `json:"exists"`
	// Problem says why it cannot be used.
	Problem string `json:"problem,omitempty"`
}

// PathResult says where the configuration is.
type PathResult struct {
	User    *File   `json:"user"`    // null if the home folder is unknown
	Project *File   `json:"project"` // null outside of a project
	Root    *string `json:"root"`    // of the project
	// Trusted: the user's own file trusts the project.
	Trusted bool `json:"trusted"`
}

// Path says where the configuration for a folder is, and whether it can be used.
// Errors: those of Open, except T504.
func Path(env app.Environment, dir string) (*PathResult, error) {
	root, err := projectOf(env, dir)
	if err != nil {
		return nil, err
	}
	d, listed := &PathResult{Root: app.OrNull(root)}, app.Config{}
	if env.Config != "" {
		user, err := app.UserConfig(env)
		d.User, listed = configFile(env.Config, err), user
	}
	if root != "" {
		path := app.ProjectConfigPath(root)
		project, err := app.ReadConfig(path, false)
		d.Project, d.Trusted = configFile(path, err), listed.Trusts(root, project)
	}
	return d, nil
}

func configFile(path string, err error) *File {
	f := &File{Path: path, Exists: app.Exists(path)}
	if err != nil {
		f.Problem = err.Error()
	}
	return f
}

// projectOf returns the root of the project of a folder, "" for none. Errors: those of
// Open, except T504.
func projectOf(env app.Environment, dir string) (string, error) {
	p, err := app.Open(dir, env)
	switch {
	case codes.Has(err, codes.NotInitialized):
		return "", nil
	case err != nil:
		return "", err
	}
	return p.Root(), nil
}

// The values of ConfigItem.Ignored.
const (
	Untrusted        = "untrusted"  // the user does not trust the project
	ConfigOverridden = "overridden" // the other file's value counts
)

// configRepository is the source of what the repository's own git configuration has.
const configRepository = "repository"

// Item is a key of the configuration with a value.
type Item struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	// Source says who sets it: leslie, user, project; repository for a program that the
	// project's git repository names.
	Source string `json:"source"`
	// Ignored says why the value does not count, "" if it does.
	Ignored string `json:"ignored,omitempty"`
}

// Agent is the value of an agent. Of its environment only the names are shown: the
// values may be secret.
type Agent struct {
	Command []string `json:"command"`
	Mode    *string  `json:"mode"`
	Env     []string `json:"env"`
}

// ShowResult has every key that is in effect, and what is ignored.
type ShowResult struct {
	PathResult
	app.Items[Item]
}

// Show returns the configuration that is in effect in a folder. The warnings name
// what is ignored because the user does not trust the project (W305). Errors: T903 naming
// file and key, T509, those of Open except T504.
func Show(ctx context.Context, env app.Environment, dir string) (*ShowResult, warnings.List, error) {
	at, err := Path(env, dir)
	if err != nil {
		return nil, nil, err
	}
	user, err := app.UserConfig(env)
	if err != nil {
		return nil, nil, err
	}
	var project app.Config
	if at.Root != nil {
		if project, err = app.ReadConfig(app.ProjectConfigPath(*at.Root), false); err != nil {
			return nil, nil, err
		}
	}
	l := configList{mine: app.Flat(user), theirs: app.Flat(project), user: user, project: project, trusted: at.Trusted}
	both, only := app.ConfigKeys()
	for _, key := range slices.Concat(both, only) {
		l.key(key)
	}
	if at.Root != nil {
		if err := l.ofGit(ctx, env, *at.Root); err != nil {
			return nil, nil, err
		}
	}
	var notes warnings.List
	told := map[string]bool{}
	for _, item := range l.items {
		key := untrustedKey(item.Key)
		if item.Ignored == Untrusted && item.Source != configRepository && !told[key] {
			told[key] = true
			notes.Add(warnings.UntrustedCommand.New(fact.Of("path", store.Dir+"/"+store.ConfigFile), fact.Of("key", key)))
		}
	}
	return &ShowResult{PathResult: *at, Items: app.First(l.items, 0)}, notes, nil
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

// configBuiltIn are the values without configuration.
func configBuiltIn() map[string]any {
	return map[string]any{
		"mistakeLimit": app.DefaultMistakeLimit, "claimFor": "1h", "ids": app.TitleIDs, "code.dir": "../PROJECT.worktrees", "code.branch": app.BranchFolder + app.IDInBranch, "code.land": thread.LandedMerge, "code.keep": "720h", "code.travel": app.TravelByStore,
		"run.default": permit.Ask, "run.parallel": app.DefaultParallel, "run.startTimeout": "1m", "run.askFor": "10m", "run.restart": []string{"5s", "30s", "2m"}, "run.profile": permit.Normal,
		"approvals.agentAutoApprove": false, "approvals.trustAs": false,
	}
}

// configList collects items.
type configList struct {
	mine, theirs  map[string]any
	user, project app.Config
	trusted       bool
	items         []Item
}

func (l *configList) add(key string, value any, source, ignored string) {
	l.items = append(l.items, Item{Key: key, Value: value, Source: source, Ignored: ignored})
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
	case "run.profile":
		l.profile(key)
	case "run.allow":
		var builtIn any
		if l.user.Run.Allow == nil || l.user.Run.Profile != nil {
			builtIn = profileValue(app.ProfileOf(l.user, l.project))
		}
		if l.mine[key] != nil && builtIn != nil {
			l.add(key, builtIn, app.AgentBuiltIn, "")
		}
		l.choose(key, l.mine[key], nil, builtIn)
		l.further(key, l.trusted)
	case "run.ask", "run.deny":
		l.choose(key, l.mine[key], nil, nil)
		l.further(key, true)
	case "run.default", "run.maxTokens", "run.maxCost", "run.maxTime", "run.maxTurnTime", "run.parallel":
		l.narrowest(key)
	default:
		l.choose(key, l.mine[key], l.theirs[key], configBuiltIn()[key])
	}
}

// choose adds the user's value, else the project's, else the built-in one; nil is none.
func (l *configList) choose(key string, mine, theirs, builtIn any) {
	trusted := l.trusted || !slices.Contains(app.NeedTrust(), untrustedKey(key))
	switch {
	case mine != nil:
		l.add(key, mine, app.AgentOfUser, "")
	case theirs != nil && trusted:
		l.add(key, theirs, app.AgentProject, "")
	case builtIn != nil:
		l.add(key, builtIn, app.AgentBuiltIn, "")
	}
	switch {
	case theirs != nil && mine != nil:
		l.add(key, theirs, app.AgentProject, ConfigOverridden)
	case theirs != nil && !trusted:
		l.add(key, theirs, app.AgentProject, Untrusted)
	}
}

// further adds a list of the project that counts beside the user's.
func (l *configList) further(key string, counts bool) {
	switch theirs := l.theirs[key]; {
	case theirs == nil:
	case counts:
		l.add(key, theirs, app.AgentProject, "")
	default:
		l.add(key, theirs, app.AgentProject, Untrusted)
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
		if d, err := time.ParseDuration(a); err == nil {
			own, _ := time.ParseDuration(b)
			less = !set || d < own
			break
		}
		less = !set && permit.Verdict(a) != permit.Allow || set && app.AllowsLess(permit.Verdict(a), permit.Verdict(b))
	}
	if less {
		l.add(key, theirs, app.AgentProject, "")
		if mine != nil {
			l.add(key, mine, app.AgentOfUser, ConfigOverridden)
		}
		return
	}
	l.choose(key, mine, nil, configBuiltIn()[key])
	if theirs != nil {
		l.add(key, theirs, app.AgentProject, ConfigOverridden)
	}
}

// profile adds the profile of rules: the project's counts if it is narrower.
func (l *configList) profile(key string) {
	effective := app.ProfileOf(l.user, l.project)
	mine, theirs := l.user.Run.Profile, l.project.Run.Profile
	switch {
	case mine == nil && l.user.Run.Allow != nil: // which counts in its place
		if theirs != nil {
			l.add(key, *theirs, app.AgentProject, ConfigOverridden)
		}
		return
	case mine != nil && *mine == effective:
		l.add(key, effective, app.AgentOfUser, "")
	case theirs != nil && *theirs == effective:
		l.add(key, effective, app.AgentProject, "")
	default:
		l.add(key, effective, app.AgentBuiltIn, "")
	}
	if mine != nil && *mine != effective {
		l.add(key, *mine, app.AgentOfUser, ConfigOverridden)
	}
	if theirs != nil && (*theirs != effective || mine != nil && *mine == effective) {
		l.add(key, *theirs, app.AgentProject, ConfigOverridden)
	}
}

// ProfileRules are what agents may do without asking.
type ProfileRules struct {
	Every []string `json:"every"` // thread
	Own   []string `json:"own"`   // for a thread in a worktree of its own
}

func profileValue(p permit.Profile) ProfileRules {
	every, own := p.Allows()
	every = append(every, "Read(THREAD'S ARTIFACTS)", "Edit(THREAD'S ARTIFACTS)")
	if p != permit.Careful {
		every = append(every, "Read(PROJECT)")
	}
	return ProfileRules{Every: every, Own: own}
}

// ofGit adds the programs that the project's repository names.
func (l *configList) ofGit(ctx context.Context, env app.Environment, root string) error {
	all, err := gitPrograms(ctx, app.NewProject(env, root))
	trusted, seen := l.user.TrustsGit(root)
	ignored := Untrusted
	if trusted || seen == git.Fingerprint(all) {
		ignored = ""
	}
	for _, p := range all {
		l.add(p.Key, p.Value, configRepository, ignored)
	}
	return err
}

func (l *configList) policy() {
	builtIn := thread.DefaultPolicy()
	names := maps.Clone(builtIn)
	maps.Copy(names, l.project.Policy)
	maps.Copy(names, l.user.Policy)
	for _, name := range app.SortedKeys(names) {
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
	for _, name := range app.SortedKeys(names) {
		l.choose("code.checks."+name, ruleOf(l.user.Code.Checks, name), ruleOf(l.project.Code.Checks, name), nil)
	}
}

func (l *configList) agents() {
	theirs := l.project.Run.Agents
	if !l.trusted {
		theirs = nil
	}
	for _, p := range agents.Combine(l.user.Run.Agents, theirs) {
		l.add("run.agents."+p.Name, Agent{Command: p.Command, Mode: app.OrNull(p.Mode), Env: append([]string{}, app.SortedKeys(p.Env)...)}, p.Source, "")
	}
	if l.trusted {
		return
	}
	for _, name := range app.SortedKeys(l.project.Run.Agents) {
		a := l.project.Run.Agents[name]
		l.add("run.agents."+name, Agent{Command: a.Command, Mode: a.Mode, Env: append([]string{}, app.SortedKeys(a.Env)...)}, app.AgentProject, Untrusted)
	}
}
