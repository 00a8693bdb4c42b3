package app

import (
	"bytes"
	"cmp"
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

// IDInBranch stands for the thread's id in code.branch.
const IDInBranch = "{id}"

// BranchFolder has the branches that leslie makes, without a configuration.
const BranchFolder = "leslie/"

// Config is one configuration file: the project's (.leslie/config.json) or the
// user's (UserConfigPath).
type Config struct {
	Policy       thread.Policy `json:"policy"`
	MistakeLimit *int          `json:"mistakeLimit"`
	ClaimFor     *string       `json:"claimFor"`
	IDs          *string       `json:"ids"`
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
		Land     *string           `json:"land"`
		Keep     *string           `json:"keep"`
		Travel   *Travel           `json:"travel"` // only in the user's file
	} `json:"code"`
	Run struct {
		Agent  *string                `json:"agent"`
		Agents map[string]AgentConfig `json:"agents"`
		// What agents may do, and use. A project's own file can only narrow it.
		Allow     []permit.Rule   `json:"allow"`
		Always    []permit.Rule   `json:"always"` // only in the user's file: what approve --always added
		Ask       []permit.Rule   `json:"ask"`
		Deny      []permit.Rule   `json:"deny"`
		Default   *permit.Verdict `json:"default"`
		Profile   *permit.Profile `json:"profile"` // the name of a set of rules
		MaxTokens *int64          `json:"maxTokens"`
		MaxCost   *float64        `json:"maxCost"`
		// MaxTime is how long a run may work, MaxTurnTime how long one turn of it.
		MaxTime     *string `json:"maxTime"`
		MaxTurnTime *string `json:"maxTurnTime"`
		// Fallback are the agents that go on when one may use nothing more for now.
		Fallback []string `json:"fallback"`
		Parallel int      `json:"parallel"`
		// StartTimeout is how long an agent may be silent until its session is open.
		StartTimeout *string `json:"startTimeout"`
		// AskFor is how long an agent waits for a decision before its run is parked; Restart how long it is left
		// that has died in a turn, before each of the next starts.
		AskFor  *string  `json:"askFor"`
		Restart []string `json:"restart"`
		MCP     bool     `json:"mcp"` // only in the user's file
	} `json:"run"`
	// Only the user's file may contain these.
	Trust     []Trust `json:"trust"`
	Notify    *string `json:"notify"`
	Approvals struct {
		AgentAutoApprove bool `json:"agentAutoApprove"`
		TrustAs          bool `json:"trustAs"`
	} `json:"approvals"`
}

// ProfileOf is the profile of rules that is in effect: the user's, normal without one; a project's counts if it
// is narrower.
func ProfileOf(user, project Config) permit.Profile {
	p := permit.Normal
	if user.Run.Profile != nil {
		p = *user.Run.Profile
	}
	if theirs := project.Run.Profile; theirs != nil && slices.Index(permit.Profiles(), *theirs) < slices.Index(permit.Profiles(), p) {
		p = *theirs
	}
	return p
}

// MaxConfig is the size limit of a configuration file, in bytes.
const MaxConfig = 1 << 20

// Settings combines both files; the user's overrides the project's.
type Settings struct {
	Policy           thread.Policy
	AgentAutoApprove bool   // an agent may ask with the fallback auto_approve
	notify           string // the command that tells the user what begins to wait for them
	trustAs          bool   // who claims to be a person is one, also in an agent's environment
	mistakeLimit     int
	randomIDs        bool // new threads and objectives get random ids, not such as their titles give
	ClaimFor         time.Duration
	// agent, validate and validateCode are commands that may run: the user's own, or the
	// project's if the user trusts its root. Only SettingsOf sets them.
	Agent, Validate, ValidateCode string
	Land                          string // how land lands code; "": as without configuration
	// Keep is how long code prune leaves a ref that keeps what a removed worktree had.
	Keep time.Duration
}

// The values of ids: what the id of a new thread or objective is made of.
const (
	TitleIDs  = "title"
	RandomIDs = "random"
)

// Defaults without configuration.
const (
	DefaultMistakeLimit = 5
	defaultClaimFor     = time.Hour
	defaultKeep         = 30 * 24 * time.Hour
)

// Configs reads both files. Errors: T903 naming file and key, T509.
func (c *Call) Configs() (user, project Config, err error) {
	if user, err = UserConfig(c.project.env); err != nil {
		return user, project, err
	}
	project, err = ReadConfig(c.store.Path(store.ConfigFile), false)
	return user, project, err
}

// badConfigs returns W517 for each configuration file that cannot be used: who misspelt a key
// is told by whatever they call next. What needs the configuration fails and says the same.
// A file that cannot be read, as in a sandbox, is told by what needs it.
func (c *Call) badConfigs() (found warnings.List) {
	_, user := UserConfig(c.project.env)
	_, project := ReadConfig(c.store.Path(store.ConfigFile), false)
	for _, err := range []error{user, project} {
		if !codes.Has(err, codes.InvalidArgument) {
			continue
		}
		facts := codes.Of(err).Facts()
		fields, _ := facts.Get("fields")
		faults, _ := fields.([]KeyFault)
		keys := make([]string, len(faults))
		for i, f := range faults {
			keys[i] = f.Field
		}
		path := facts.Text("path")
		reason := strings.TrimLeft(strings.TrimPrefix(facts.Text("reason"), "the configuration "+path), ":, ")
		found.Add(warnings.BadConfiguration.New(fact.Of("path", path), fact.Of("reason", reason), fact.Of("keys", keys)))
	}
	return found
}

// UserConfig reads the user's file. Errors: T903 naming file and key, T509.
func UserConfig(env Environment) (Config, error) {
	if env.Config == "" {
		return Config{}, nil
	}
	return ReadConfig(env.Config, true)
}

// ConfigVariable names the place of the user's configuration in the environment.
const ConfigVariable = "LESLIE_CONFIG"

// UserConfigPath is the file with the configuration of a user who works in dir: that which
// LESLIE_CONFIG names, otherwise that in XDG_CONFIG_HOME/leslie, otherwise
// ~/.leslie/config.json; "" if the home folder is unknown. A ~/.leslie/config.json that is
// there stays the user's while there is no other, unless the home folder is a project.
func UserConfigPath(home, dir string, getenv func(string) string) string {
	usual, xdg := "", getenv("XDG_CONFIG_HOME")
	if home != "" {
		usual = ProjectConfigPath(home)
	}
	switch named := getenv(ConfigVariable); {
	case named != "":
		if !filepath.IsAbs(named) {
			named = filepath.Join(dir, named)
		}
		if filepath.Ext(named) == filepath.Ext(store.ConfigFile) {
			return named
		}
		return filepath.Join(named, store.ConfigFile)
	case !filepath.IsAbs(xdg):
		return usual
	}
	other := filepath.Join(xdg, "leslie", store.ConfigFile)
	if usual != "" && Exists(usual) && !Exists(other) && !store.Holds(home) {
		return usual
	}
	return other
}

// NoProject is the home folder if it can be no project, because its .leslie has the
// user's configuration; "" otherwise.
func (e Environment) NoProject() string {
	if e.Home == "" || e.Config != ProjectConfigPath(e.Home) {
		return ""
	}
	return e.Home
}

// Travel says how the commits of threads go to the other machines of a project.
type Travel string

// The ways.
const (
	TravelByStore Travel = "store" // beside the project's log
	TravelByGit   Travel = "git"   // by the person's own remote of git
	TravelOff     Travel = "off"   // the person takes them
)

// Travel returns how the user has commits travel. Errors: those of Configs.
func (c *Call) Travel() (Travel, error) {
	user, _, err := c.Configs()
	return cmp.Or(OrZero(user.Code.Travel), TravelByStore), err
}

// Configured returns the settings for a call that runs no configured command.
func (c *Call) Configured() (Settings, error) {
	user, project, err := c.Configs()
	return Combine(user, project), err
}

// Settings reads both files. It warns of an untrusted project's command (W305) and
// leaves it out. Errors: those of configs.
func (c *Call) Settings() (Settings, error) {
	user, project, err := c.Configs()
	if err != nil {
		return Settings{}, err
	}
	choose := c.Chooser(user, project)
	out := Combine(user, project)
	out.Agent = choose("merge.agent", user.Merge.Agent, project.Merge.Agent)
	out.Validate = choose("merge.validate", user.Merge.Validate, project.Merge.Validate)
	out.ValidateCode = choose("code.validate", user.Code.Validate, project.Code.Validate)
	return out, nil
}

// Chooser returns how a call chooses between the user's own command and the project's,
// which runs only if the user trusts the project (else W305); "" for none.
func (c *Call) Chooser(user, project Config) func(key string, mine, theirs *string) string {
	return func(key string, mine, theirs *string) string {
		switch {
		case mine != nil:
			return *mine
		case theirs == nil:
			return ""
		case !user.Trusts(c.project.root, project):
			c.Warn(warnings.UntrustedCommand.New(fact.Of("path", store.Dir+"/"+store.ConfigFile), fact.Of("key", key)))
			return ""
		}
		return *theirs
	}
}

// Combine merges the files, without the commands that they name.
func Combine(user, project Config) Settings {
	out := Settings{
		Policy: thread.DefaultPolicy(), AgentAutoApprove: user.Approvals.AgentAutoApprove, trustAs: user.Approvals.TrustAs,
		mistakeLimit: DefaultMistakeLimit, ClaimFor: defaultClaimFor, Keep: defaultKeep,
	}
	if user.Notify != nil {
		out.notify = *user.Notify
	}
	for _, cfg := range []Config{project, user} {
		maps.Copy(out.Policy, cfg.Policy)
		if cfg.MistakeLimit != nil {
			out.mistakeLimit = *cfg.MistakeLimit
		}
		if cfg.Code.Land != nil {
			out.Land = *cfg.Code.Land
		}
		if cfg.IDs != nil {
			out.randomIDs = *cfg.IDs == RandomIDs
		}
		if cfg.ClaimFor != nil {
			out.ClaimFor, _ = time.ParseDuration(*cfg.ClaimFor) // checked with the file
		}
		if cfg.Code.Keep != nil {
			out.Keep, _ = time.ParseDuration(*cfg.Code.Keep)
		}
	}
	return out
}

// ReadConfig reads one file of configuration; users says that it is the user's own. Errors: T903, T505.
func ReadConfig(path string, users bool) (Config, error) {
	var f *os.File
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular(): // opening a pipe would wait for a writer
		return Config{}, BadConfig(path, "", "it is not a regular file")
	case err == nil:
		f, err = os.Open(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, codes.ReadFailed.OfPath(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxConfig+1))
	if err != nil {
		return Config{}, codes.ReadFailed.OfPath(path, err)
	}
	if len(data) > MaxConfig {
		return Config{}, BadConfig(path, "", "it is larger than 1 MiB")
	}
	return ParseConfig(path, data, users)
}

// UserConfigFiles are the names of the user's file, for rules: as it is, and where a link
// leads.
func UserConfigFiles(env Environment) []string {
	if env.Config == "" {
		return nil
	}
	return []string{filepath.ToSlash(env.Config), filepath.ToSlash(ResolveLinks(env.Config))}
}

// KeyFault is what is wrong with one key of a configuration.
type KeyFault struct {
	Field   string `json:"field"` // the key
	Problem string `json:"problem"`
}

// maxKeyFaults is how many faults of a configuration are reported at most.
const maxKeyFaults = 20

// ParseConfig parses a file strictly: an unknown key is an error, because a misspelt
// key would otherwise be ignored silently. The error is about the first fault, and names
// each in its details (fields).
func ParseConfig(path string, data []byte, users bool) (Config, error) {
	cfg, err := parseOnce(path, data, users)
	first := codes.Of(err)
	if first == nil {
		return cfg, err
	}
	faults, all := []KeyFault{}, first.Facts().Text("reason")
	rest, _ := withoutComments(data)
	for e := first; e != nil && len(faults) < maxKeyFaults; {
		key, reason := e.Facts().Text("key"), e.Facts().Text("reason")
		problem := strings.TrimPrefix(reason, configReason(path, key, ""))
		if e != first {
			all += "; key " + key + ": " + problem
		}
		faults = append(faults, KeyFault{key, problem})
		var left bool
		if rest, left = withoutKey(rest, key); !left {
			break
		}
		_, err := parseOnce(path, rest, users)
		e = codes.Of(err)
	}
	return cfg, first.With(fact.Of("reason", all), fact.Of("fields", faults))
}

// withoutKey is an object without one of its keys, or of those of the objects in it; ok is
// false if it has no such key. A name in it may contain dots.
func withoutKey(object []byte, key string) (rest []byte, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil || members == nil {
		return nil, false
	}
	for _, name := range SortedKeys(members) {
		below, nested := strings.CutPrefix(key, name+".")
		switch {
		case name == key:
			delete(members, name)
		case !nested:
			continue
		default:
			if inner, found := withoutKey(members[name], below); found {
				members[name] = inner
			} else { // it is a part of a value, such as an entry of a list
				delete(members, name)
			}
		}
		rest, err := fact.JSON(members)
		return rest, err == nil
	}
	return nil, false
}

// parseOnce is ParseConfig up to the first fault.
func parseOnce(path string, data []byte, users bool) (Config, error) {
	var cfg Config
	var keys map[string]json.RawMessage
	data, err := withoutComments(data)
	if err == nil {
		err = json.Unmarshal(data, &keys)
	}
	if err != nil {
		return cfg, BadConfig(path, "", "it is not a JSON object: "+err.Error())
	}
	if key, reason := misread(json.NewDecoder(bytes.NewReader(data)), ""); reason != "" {
		if strings.HasPrefix(key, "policy.") {
			return cfg, badPolicy(path, key, reason)
		}
		return cfg, BadConfig(path, key, reason)
	}
	if err := checkKeys(path, "", keys, users); err != nil {
		return cfg, err
	}
	for _, group := range []string{"merge", "code", "run", "approvals"} {
		if raw, ok := keys[group]; ok {
			var inner map[string]json.RawMessage
			if err := json.Unmarshal(raw, &inner); err != nil {
				return cfg, BadConfig(path, group, "it must be an object")
			}
			if err := checkKeys(path, group+".", inner, users); err != nil {
				return cfg, err
			}
			if err := checkEntries(path, group, inner); err != nil {
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
			return cfg, BadConfig(path, kind.Field, "it must be "+wanted(kind.Type)+", not "+kind.Value)
		}
		return cfg, BadConfig(path, "", err.Error())
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

// ConfigKeys returns the keys of the project's file, and those that only the user's
// file may contain. A key in a group is prefixed with the group's name.
func ConfigKeys() (both, users []string) {
	both = []string{"policy", "mistakeLimit", "claimFor", "ids", "merge.agent", "merge.validate", "code.dir", "code.branch", "code.setup", "code.validate", "code.checks", "code.land", "code.keep", "run.agent", "run.agents",
		"run.profile", "run.allow", "run.ask", "run.deny", "run.default", "run.maxTokens", "run.maxCost", "run.maxTime", "run.maxTurnTime", "run.parallel", "run.fallback",
		"run.startTimeout", "run.askFor", "run.restart"}
	return both, []string{"trust", "approvals.agentAutoApprove", "approvals.trustAs", "notify", "code.travel", "run.always", "run.mcp"}
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
	all, only := ConfigKeys()
	if users {
		all = append(all, only...)
	}
	known := namesIn(group, all)
	for _, name := range SortedKeys(keys) {
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
		return BadConfig(path, group+name, reason).With(append(facts, fact.Of("allowed", allowed))...)
	}
	return nil
}

// checkEntries checks what a group has of agents and rules, so that a bad entry is named by
// its own key: the decoder of the whole file knows only what the entry says.
func checkEntries(path, group string, keys map[string]json.RawMessage) error {
	if group != "run" {
		return nil
	}
	for _, name := range []string{"allow", "always", "ask", "deny"} {
		var list []json.RawMessage
		if json.Unmarshal(keys[name], &list) != nil {
			continue // left out, or refused as no list
		}
		var problems []string
		for _, entry := range list {
			var kind *json.UnmarshalTypeError
			switch err := json.Unmarshal(entry, new(permit.Rule)); {
			case errors.As(err, &kind):
				problems = append(problems, "a rule must be a string, not "+Cut(string(entry), 200))
			case err != nil:
				problems = append(problems, codes.Reason(err))
			}
		}
		if len(problems) > 0 {
			return BadConfig(path, "run."+name, strings.Join(problems, "; "))
		}
	}
	var agents map[string]json.RawMessage
	if json.Unmarshal(keys["agents"], &agents) != nil {
		return nil
	}
	for _, name := range SortedKeys(agents) {
		if key, problem := agentFault(agents[name]); problem != "" {
			return BadConfig(path, strings.TrimSuffix("run.agents."+name+"."+key, "."), problem)
		}
	}
	return nil
}

// checkPolicy checks each entry of a policy, so that a bad one is named by its own key.
func checkPolicy(path string, raw json.RawMessage) error {
	var entries map[string]json.RawMessage
	if raw == nil || json.Unmarshal(raw, &entries) != nil {
		return nil // left out, or refused as no object
	}
	for _, name := range SortedKeys(entries) {
		if !thread.ValidName(name) {
			return BadConfig(path, "policy."+name, "a capability is a letter or digit, then letters, digits, '-', '_'; at most "+strconv.Itoa(thread.MaxID))
		}
		var rule thread.Rule
		if err := json.Unmarshal(entries[name], &rule); err != nil || rule != thread.Auto && rule != thread.RequireHuman {
			return badPolicy(path, "policy."+name, "it must be auto or require_human, not "+Cut(string(entries[name]), 200))
		}
	}
	return nil
}

// badPolicy is BadConfig for the value of a policy entry, with the allowed ones.
func badPolicy(path, key, reason string) error {
	allowed := []string{string(thread.Auto), string(thread.RequireHuman)}
	return BadConfig(path, key, reason).With(fact.Of("allowed", allowed)).WithHint("Correct the file: the value of " + key + " is " + strings.Join(allowed, " or "))
}

func (cfg Config) check(path string) error {
	if cfg.MistakeLimit != nil && *cfg.MistakeLimit < 1 {
		return BadConfig(path, "mistakeLimit", "it must be at least 1")
	}
	if cfg.IDs != nil && *cfg.IDs != TitleIDs && *cfg.IDs != RandomIDs {
		return BadConfig(path, "ids", "it must be "+TitleIDs+" or "+RandomIDs+", not "+Quoted(*cfg.IDs))
	}
	type durationKey struct {
		key, like string
		value     *string
	}
	durations := []durationKey{{"claimFor", "1h", cfg.ClaimFor}, {"run.startTimeout", "90s", cfg.Run.StartTimeout}, {"run.maxTime", "2h", cfg.Run.MaxTime},
		{"run.maxTurnTime", "30m", cfg.Run.MaxTurnTime}, {"run.askFor", "10m", cfg.Run.AskFor}, {"code.keep", "720h", cfg.Code.Keep}}
	for i := range cfg.Run.Restart {
		durations = append(durations, durationKey{"run.restart", "30s", &cfg.Run.Restart[i]})
	}
	for _, d := range durations {
		if d.value == nil {
			continue
		}
		if long, err := time.ParseDuration(*d.value); err != nil || long <= 0 {
			return BadConfig(path, d.key, "it must be a duration such as "+d.like+", not "+Quoted(*d.value))
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
			return BadConfig(path, c.key, "it must be a command, quoted as for a shell, not "+Quoted(*c.command))
		}
	}
	for _, name := range SortedKeys(cfg.Code.Checks) {
		key := "code.checks." + name
		if !thread.ValidName(name) {
			return BadConfig(path, key, "a check is named by a letter or digit, then letters, digits, '-', '_'; at most "+strconv.Itoa(thread.MaxID))
		}
		if _, err := external.Split(cfg.Code.Checks[name]); err != nil {
			return BadConfig(path, key, "it must be a command, quoted as for a shell, not "+Quoted(cfg.Code.Checks[name]))
		}
	}
	if err := cfg.checkAgents(path); err != nil {
		return err
	}
	if v := cfg.Run.Default; v != nil && *v != permit.Allow && *v != permit.Ask && *v != permit.Deny {
		return BadConfig(path, "run.default", "it must be allow, ask or deny, not "+Quoted(string(*v)))
	}
	if p := cfg.Run.Profile; p != nil && !slices.Contains(permit.Profiles(), *p) {
		return BadConfig(path, "run.profile", "it must be careful, normal or open, not "+Quoted(string(*p)))
	}
	if n := cfg.Run.MaxTokens; n != nil && *n <= 0 {
		return BadConfig(path, "run.maxTokens", "it must be more than 0; without it there is no limit")
	}
	if cfg.Run.Parallel < 0 {
		return BadConfig(path, "run.parallel", "it must not be negative")
	}
	if n := cfg.Run.MaxCost; n != nil && *n <= 0 {
		return BadConfig(path, "run.maxCost", "it must be more than 0; without it there is no limit")
	}
	if b := cfg.Code.Branch; b != nil && strings.Count(*b, IDInBranch) != 1 {
		return BadConfig(path, "code.branch", "it must contain "+IDInBranch+" once, not "+Quoted(*b))
	}
	if how := cfg.Code.Land; how != nil && !slices.Contains([]string{thread.LandedMerge, thread.LandedSquash, thread.LandedRebase}, *how) {
		return BadConfig(path, "code.land", "it must be merge, squash or rebase, not "+Quoted(*how))
	}
	if how := cfg.Code.Travel; how != nil && !slices.Contains([]Travel{TravelByStore, TravelByGit, TravelOff}, *how) {
		return BadConfig(path, "code.travel", "it must be store, git or off, not "+Quoted(string(*how)))
	}
	if cfg.Code.Dir != nil && *cfg.Code.Dir == "" {
		return BadConfig(path, "code.dir", "it must not be empty")
	}
	for _, t := range cfg.Trust {
		if problem := t.check(); problem != "" {
			return BadConfig(path, "trust", problem)
		}
	}
	return nil
}

// configReason says what is wrong with a key of a configuration, or with all of it for "".
func configReason(path, key, reason string) string {
	if key != "" {
		path += ", key " + key
	}
	return "the configuration " + path + ": " + strings.TrimSpace(reason)
}

// BadConfig is T903 for a key of a file.
func BadConfig(path, key, reason string) *codes.Error {
	both, users := ConfigKeys()
	return codes.InvalidArgument.New(fact.Of("reason", configReason(path, key, reason)), fact.Of("path", path), fact.Of("key", key)).
		WithHint("Correct the file. Its keys: " + strings.Join(both, ", ") + "; only in the user's own file: " + strings.Join(users, ", ")).WithNext("leslie config path")
}

// OwnConfigPerm are the permissions of the user's configuration: it may hold keys.
const OwnConfigPerm = 0o600

// ConfigNotDurable warns of a file whose replacement a power cut may undo.
func ConfigNotDurable(path string, err error) (notes warnings.List) {
	if err != nil {
		notes.Add(warnings.NotSettled.New(fact.Of("what", "making "+path+" durable"), fact.Of("reason", codes.Reason(err))))
	}
	return notes
}

// ProjectConfigPath is the configuration of the project in a folder.
func ProjectConfigPath(root string) string { return filepath.Join(root, store.Dir, store.ConfigFile) }

// DefaultParallel is how many agents run at once if nobody says.
const DefaultParallel = 2

// RuleTexts returns rules as they are written.
func RuleTexts(rules []permit.Rule) []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.String()
	}
	return out
}

// MayChangeOwn refuses an agent that wants to change the user's own configuration.
// Errors: T402, those of the user's configuration of leslie.
func MayChangeOwn(env Environment, caller Caller) error {
	own, err := UserConfig(env)
	if err != nil {
		return err
	}
	if caller.As.Person() && (!caller.InAgent || own.Approvals.TrustAs) {
		return nil
	}
	return codes.PermissionDenied.New(fact.Of("capability", "changing a person's own configuration")).
		WithHint("A person runs it in a terminal of their own; --dry-run shows what it would change").WithNext("leslie setup --check --scope user")
}
