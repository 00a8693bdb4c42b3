package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/nearest"
	"leslie/internal/permit"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// config is one configuration file: the project's (.leslie/config.json) or the
// user's (~/.leslie/config.json).
type config struct {
	Policy       thread.Policy `json:"policy"`
	MistakeLimit *int          `json:"mistakeLimit"`
	ClaimFor     *string       `json:"claimFor"`
	Merge        struct {
		Agent    *string `json:"agent"`
		Validate *string `json:"validate"`
	} `json:"merge"`
	Code struct {
		Dir      *string           `json:"dir"`
		Branch   *string           `json:"branch"`
		Setup    *string           `json:"setup"`
		Validate *string           `json:"validate"`
		Checks   map[string]string `json:"checks"`
	} `json:"code"`
	Run struct {
		Agent  *string                `json:"agent"`
		Agents map[string]agentConfig `json:"agents"`
		// What agents may do, and use. A project's own file can only narrow it.
		Allow     []permit.Rule   `json:"allow"`
		Always    []permit.Rule   `json:"always"` // only in the user's file: what approve --always added
		Ask       []permit.Rule   `json:"ask"`
		Deny      []permit.Rule   `json:"deny"`
		Default   *permit.Verdict `json:"default"`
		MaxTokens int64           `json:"maxTokens"`
		MaxCost   float64         `json:"maxCost"`
		// Fallback are the agents that go on when one may use nothing more for now.
		Fallback []string `json:"fallback"`
		Parallel int      `json:"parallel"`
		MCP      bool     `json:"mcp"` // only in the user's file
	} `json:"run"`
	// Only the user's file may contain these.
	Trust     []string `json:"trust"`
	Notify    *string  `json:"notify"`
	Approvals struct {
		AgentAutoApprove bool `json:"agentAutoApprove"`
		TrustAs          bool `json:"trustAs"`
	} `json:"approvals"`
}

// maxConfig is the size limit of a configuration file, in bytes.
const maxConfig = 1 << 20

// settings combines both files; the user's overrides the project's.
type settings struct {
	policy           thread.Policy
	agentAutoApprove bool   // an agent may ask with the fallback auto_approve
	notify           string // the command that tells the user what begins to wait for them
	trustAs          bool   // who claims to be a person is one, also in an agent's environment
	mistakeLimit     int
	claimFor         time.Duration
	// agent, validate and validateCode are commands that may run: the user's own, or the
	// project's if the user trusts its root. Only settingsOf sets them.
	agent, validate, validateCode string
}

// Defaults without configuration.
const (
	defaultMistakeLimit = 5
	defaultClaimFor     = time.Hour
)

// configs reads both files. Errors: T903 naming file and key, T509.
func configs(c *Call) (user, project config, err error) {
	if user, err = userConfig(c.project.env); err != nil {
		return user, project, err
	}
	project, err = readConfig(c.store.Path(store.ConfigFile), false)
	return user, project, err
}

// userConfig reads the user's file. Errors: T903 naming file and key, T509.
func userConfig(env Environment) (config, error) {
	if env.Home == "" {
		return config{}, nil
	}
	return readConfig(userConfigPath(env), true)
}

// userConfigPath is the file with the user's configuration.
func userConfigPath(env Environment) string {
	return filepath.Join(env.Home, store.Dir, store.ConfigFile)
}

// configured returns the settings for a call that runs no configured command.
func configured(c *Call) (settings, error) {
	user, project, err := configs(c)
	return combine(user, project), err
}

// settingsOf reads both files. It warns of an untrusted project's command (W305) and
// leaves it out. Errors: those of configs.
func settingsOf(c *Call) (settings, error) {
	user, project, err := configs(c)
	if err != nil {
		return settings{}, err
	}
	choose := chooser(c, user)
	out := combine(user, project)
	out.agent = choose("merge.agent", user.Merge.Agent, project.Merge.Agent)
	out.validate = choose("merge.validate", user.Merge.Validate, project.Merge.Validate)
	out.validateCode = choose("code.validate", user.Code.Validate, project.Code.Validate)
	return out, nil
}

// trusts reports whether the user's own file trusts a project.
func (cfg config) trusts(root string) bool { return slices.Contains(cfg.Trust, root) }

// chooser returns how a call chooses between the user's own command and the project's,
// which runs only if the user trusts the project (else W305); "" for none.
func chooser(c *Call, user config) func(key string, mine, theirs *string) string {
	return func(key string, mine, theirs *string) string {
		switch {
		case mine != nil:
			return *mine
		case theirs == nil:
			return ""
		case !user.trusts(c.project.root):
			c.warn(warnings.UntrustedCommand.New(fact.Of("path", store.Dir+"/"+store.ConfigFile), fact.Of("key", key)))
			return ""
		}
		return *theirs
	}
}

// combine merges the files, without the commands that they name.
func combine(user, project config) settings {
	out := settings{
		policy: thread.DefaultPolicy(), agentAutoApprove: user.Approvals.AgentAutoApprove, trustAs: user.Approvals.TrustAs,
		mistakeLimit: defaultMistakeLimit, claimFor: defaultClaimFor,
	}
	if user.Notify != nil {
		out.notify = *user.Notify
	}
	for _, cfg := range []config{project, user} {
		maps.Copy(out.policy, cfg.Policy)
		if cfg.MistakeLimit != nil {
			out.mistakeLimit = *cfg.MistakeLimit
		}
		if cfg.ClaimFor != nil {
			out.claimFor, _ = time.ParseDuration(*cfg.ClaimFor) // checked with the file
		}
	}
	return out
}

func readConfig(path string, users bool) (config, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for a writer
		return config{}, badConfig(path, "", "it is not a regular file")
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return config{}, nil
	}
	if err != nil {
		return config{}, codes.ReadFailed.Wrap(err, fact.Of("path", path), fact.Of("reason", codes.Reason(err)))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return config{}, badConfig(path, "", "it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return config{}, codes.ReadFailed.Wrap(err, fact.Of("path", path), fact.Of("reason", codes.Reason(err)))
	}
	if len(data) > maxConfig {
		return config{}, badConfig(path, "", "it is larger than 1 MiB")
	}
	return parseConfig(path, data, users)
}

// ownConfigFiles are the names of the user's file, for rules: as it is, and where a link
// leads.
func ownConfigFiles(env Environment) []string {
	if env.Home == "" {
		return nil
	}
	path := userConfigPath(env)
	return []string{filepath.ToSlash(path), filepath.ToSlash(resolved(path))}
}

// parseConfig parses a file strictly: an unknown key is an error, because a misspelt
// key would otherwise be ignored silently.
func parseConfig(path string, data []byte, users bool) (config, error) {
	var cfg config
	var keys map[string]json.RawMessage
	data, err := withoutComments(data)
	if err == nil {
		err = json.Unmarshal(data, &keys)
	}
	if err != nil {
		return cfg, badConfig(path, "", "it is not a JSON object: "+err.Error())
	}
	if key, reason := misread(json.NewDecoder(bytes.NewReader(data)), ""); reason != "" {
		if strings.HasPrefix(key, "policy.") {
			return cfg, badPolicy(path, key, reason)
		}
		return cfg, badConfig(path, key, reason)
	}
	if err := checkKeys(path, "", keys, users); err != nil {
		return cfg, err
	}
	for _, group := range []string{"merge", "code", "run", "approvals"} {
		if raw, ok := keys[group]; ok {
			var inner map[string]json.RawMessage
			if err := json.Unmarshal(raw, &inner); err != nil {
				return cfg, badConfig(path, group, "it must be an object")
			}
			if err := checkKeys(path, group+".", inner, users); err != nil {
				return cfg, err
			}
		}
	}
	if err := checkPolicy(path, keys["policy"]); err != nil {
		return cfg, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&cfg); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return cfg, badConfig(path, kind.Field, "it must be "+wanted(kind.Type)+", not "+kind.Value)
		}
		return cfg, badConfig(path, "", err.Error())
	}
	return cfg, cfg.check(path)
}

// maxBrackets is how many objects and lists a file with comments may have: the parser of
// comments goes as deep as they do.
const maxBrackets = 10000

// withoutComments returns a configuration file as JSON: comments and commas behind the
// last member become spaces. data may be overwritten.
func withoutComments(data []byte) ([]byte, error) {
	if json.Valid(data) {
		return data, nil
	}
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxBrackets {
		return nil, errors.New("it has too many brackets")
	}
	plain, err := hujson.Standardize(data)
	if err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	return plain, err
}

// wanted returns the JSON name of a type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Slice:
		return "a list"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	}
	return "a string"
}

// misread finds a key that JSON decodes ambiguously: one that occurs twice in an
// object (it is unclear which counts), or null (it would count as absent). reason is
// "" if there is none. The text must be valid JSON.
func misread(dec *json.Decoder, at string) (key, reason string) {
	token, _ := dec.Token()
	open, nested := token.(json.Delim)
	switch {
	case token == nil:
		return at, "it must not be null"
	case !nested:
		return "", ""
	}
	seen := map[string]bool{}
	for dec.More() {
		name := at
		if open == '{' {
			key, _ := dec.Token()
			text, _ := key.(string)
			if name = text; at != "" {
				name = at + "." + text
			}
			if seen[name] {
				return name, "it occurs twice"
			}
			seen[name] = true
		}
		if key, reason := misread(dec, name); reason != "" {
			return key, reason
		}
	}
	_, _ = dec.Token() // its end
	return "", ""
}

// configKeys returns the keys of the project's file, and those that only the user's
// file may contain. A key in a group is prefixed with the group's name.
func configKeys() (both, users []string) {
	both = []string{"policy", "mistakeLimit", "claimFor", "merge.agent", "merge.validate", "code.dir", "code.branch", "code.setup", "code.validate", "code.checks", "run.agent", "run.agents",
		"run.allow", "run.ask", "run.deny", "run.default", "run.maxTokens", "run.maxCost", "run.parallel", "run.fallback"}
	return both, []string{"trust", "approvals.agentAutoApprove", "approvals.trustAs", "notify", "run.always", "run.mcp"}
}

// namesIn returns the names in a group of keys ("merge."), or at the top level for "".
func namesIn(group string, keys []string) []string {
	var out []string
	for _, key := range keys {
		name, _, _ := strings.Cut(strings.TrimPrefix(key, group), ".")
		if strings.HasPrefix(key, group) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func checkKeys(path, group string, keys map[string]json.RawMessage, users bool) error {
	all, only := configKeys()
	if users {
		all = append(all, only...)
	}
	known := namesIn(group, all)
	for _, name := range sortedKeys(keys) {
		if slices.Contains(known, name) {
			continue
		}
		var facts []fact.Fact
		reason := "there is no such key"
		if slices.Contains(namesIn(group, only), name) {
			reason = "only the user's own configuration may contain it"
		} else if near := nearest.Name(name, known); near != "" {
			reason += " (did you mean " + group + near + "?)"
			facts = append(facts, fact.Of("nearest", group+near))
		}
		allowed := make([]string, len(known))
		for i, k := range known {
			allowed[i] = group + k
		}
		return badConfig(path, group+name, reason).With(append(facts, fact.Of("allowed", allowed))...)
	}
	return nil
}

// checkPolicy checks each entry of a policy, so that a bad one is named by its own key.
func checkPolicy(path string, raw json.RawMessage) error {
	var entries map[string]json.RawMessage
	if raw == nil || json.Unmarshal(raw, &entries) != nil {
		return nil // left out, or refused as no object
	}
	for _, name := range sortedKeys(entries) {
		if !thread.ValidID(name) {
			return badConfig(path, "policy."+name, "a capability is a letter or digit, then letters, digits, '-', '_'; at most "+strconv.Itoa(thread.MaxID))
		}
		var rule thread.Rule
		if err := json.Unmarshal(entries[name], &rule); err != nil || rule != thread.Auto && rule != thread.RequireHuman {
			return badPolicy(path, "policy."+name, "it must be auto or require_human, not "+cut(string(entries[name]), 200))
		}
	}
	return nil
}

// badPolicy is badConfig for the value of a policy entry, with the allowed ones.
func badPolicy(path, key, reason string) error {
	allowed := []string{string(thread.Auto), string(thread.RequireHuman)}
	return badConfig(path, key, reason).With(fact.Of("allowed", allowed)).WithHint("Correct the file: the value of " + key + " is " + strings.Join(allowed, " or "))
}

func (cfg config) check(path string) error {
	if cfg.MistakeLimit != nil && *cfg.MistakeLimit < 1 {
		return badConfig(path, "mistakeLimit", "it must be at least 1")
	}
	if cfg.ClaimFor != nil {
		if d, err := time.ParseDuration(*cfg.ClaimFor); err != nil || d <= 0 {
			return badConfig(path, "claimFor", "it must be a duration such as 1h, not "+quoted(*cfg.ClaimFor))
		}
	}
	for _, c := range []struct {
		key     string
		command *string
	}{{"merge.agent", cfg.Merge.Agent}, {"merge.validate", cfg.Merge.Validate}, {"notify", cfg.Notify}, {"code.setup", cfg.Code.Setup}, {"code.validate", cfg.Code.Validate}} {
		if c.command == nil {
			continue
		}
		if _, err := external.Split(*c.command); err != nil {
			return badConfig(path, c.key, "it must be a command, quoted as for a shell, not "+quoted(*c.command))
		}
	}
	for _, name := range sortedKeys(cfg.Code.Checks) {
		key := "code.checks." + name
		if !thread.ValidID(name) {
			return badConfig(path, key, "a check is named by a letter or digit, then letters, digits, '-', '_'; at most "+strconv.Itoa(thread.MaxID))
		}
		if _, err := external.Split(cfg.Code.Checks[name]); err != nil {
			return badConfig(path, key, "it must be a command, quoted as for a shell, not "+quoted(cfg.Code.Checks[name]))
		}
	}
	if err := cfg.checkAgents(path); err != nil {
		return err
	}
	if v := cfg.Run.Default; v != nil && *v != permit.Allow && *v != permit.Ask && *v != permit.Deny {
		return badConfig(path, "run.default", "it must be allow, ask or deny, not "+quoted(string(*v)))
	}
	if cfg.Run.MaxTokens < 0 {
		return badConfig(path, "run.maxTokens", "it must not be negative")
	}
	if cfg.Run.Parallel < 0 {
		return badConfig(path, "run.parallel", "it must not be negative")
	}
	if cfg.Run.MaxCost < 0 {
		return badConfig(path, "run.maxCost", "it must not be negative")
	}
	if b := cfg.Code.Branch; b != nil && strings.Count(*b, idInBranch) != 1 {
		return badConfig(path, "code.branch", "it must contain "+idInBranch+" once, not "+quoted(*b))
	}
	if cfg.Code.Dir != nil && *cfg.Code.Dir == "" {
		return badConfig(path, "code.dir", "it must not be empty")
	}
	for _, root := range cfg.Trust {
		if !filepath.IsAbs(root) {
			return badConfig(path, "trust", "it must list absolute paths of projects, not "+quoted(root))
		}
	}
	return nil
}

func badConfig(path, key, reason string) *codes.Error {
	what := path
	if key != "" {
		what += ", key " + key
	}
	both, users := configKeys()
	return codes.InvalidArgument.New(fact.Of("reason", "the configuration "+what+": "+strings.TrimSpace(reason)), fact.Of("path", path), fact.Of("key", key)).
		WithHint("Correct the file. Its keys: " + strings.Join(both, ", ") + "; only in the user's own file: " + strings.Join(users, ", ")).WithNext("leslie help")
}
