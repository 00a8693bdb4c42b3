package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"leslie/codes"
	"leslie/fact"
	"leslie/nearest"
	"leslie/store"
	"leslie/warnings"
)

// config is one configuration file: the project's (.leslie/config.json) or the
// user's (~/.leslie/config.json).
type config struct {
	Policy       map[string]string `json:"policy"`
	MistakeLimit *int              `json:"mistakeLimit"`
	ClaimFor     string            `json:"claimFor"`
	Merge        struct {
		Agent    string `json:"agent"`
		Validate string `json:"validate"`
	} `json:"merge"`
	// The user's file alone may hold these.
	Trust     []string `json:"trust"`
	Approvals struct {
		AgentAutoApprove bool `json:"agentAutoApprove"`
	} `json:"approvals"`
}

// maxConfig is the largest configuration file, in bytes.
const maxConfig = 1 << 20

// settings are what both files say together.
type settings struct {
	// agent and validate are commands that may run: the user's own, or the
	// project's where the user trusts its root.
	agent, validate string
}

// settings reads both files. A project's command that the user does not trust is
// shown (W305) and not run. Errors: T903 naming file and key, T509.
func (c *call) settings(st *store.Store) (settings, error) {
	var user config
	if c.env.home != "" {
		var err error
		if user, err = readConfig(filepath.Join(c.env.home, store.Dir, store.ConfigFile), true); err != nil {
			return settings{}, err
		}
	}
	project, err := readConfig(st.Path(store.ConfigFile), false)
	if err != nil {
		return settings{}, err
	}
	trusted := slices.Contains(user.Trust, st.Root())
	choose := func(key, mine, theirs string) string {
		switch {
		case mine != "":
			return mine
		case theirs != "" && !trusted:
			c.warnings.Add(warnings.UntrustedCommand.New(fact.Of("path", store.Dir+"/"+store.ConfigFile), fact.Of("key", key)))
			return ""
		}
		return theirs
	}
	return settings{
		agent:    choose("merge.agent", user.Merge.Agent, project.Merge.Agent),
		validate: choose("merge.validate", user.Merge.Validate, project.Merge.Validate),
	}, nil
}

func readConfig(path string, users bool) (config, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return config{}, nil
	}
	if err != nil {
		return config{}, codes.ReadFailed.Wrap(err, fact.Of("path", path), fact.Of("reason", plainReason(err)))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return config{}, badConfig(path, "", "it is no regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return config{}, codes.ReadFailed.Wrap(err, fact.Of("path", path), fact.Of("reason", plainReason(err)))
	}
	if len(data) > maxConfig {
		return config{}, badConfig(path, "", "it is larger than 1 MiB")
	}
	return parseConfig(path, data, users)
}

// parseConfig reads a file strictly: an unknown key is a fault, since a misspelt
// one would be ignored in silence.
func parseConfig(path string, data []byte, users bool) (config, error) {
	var cfg config
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return cfg, badConfig(path, "", "it is not a JSON object: "+err.Error())
	}
	if err := checkKeys(path, "", keys, configKeys(users)); err != nil {
		return cfg, err
	}
	for _, group := range []string{"merge", "approvals"} {
		if raw, ok := keys[group]; ok {
			var inner map[string]json.RawMessage
			if err := json.Unmarshal(raw, &inner); err != nil {
				return cfg, badConfig(path, group, "it must be an object")
			}
			known := map[string][]string{"merge": {"agent", "validate"}, "approvals": {"agentAutoApprove"}}[group]
			if err := checkKeys(path, group+".", inner, known); err != nil {
				return cfg, err
			}
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&cfg); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return cfg, badConfig(path, kind.Field, "it must be a "+kind.Type.String()+", not a "+kind.Value)
		}
		return cfg, badConfig(path, "", err.Error())
	}
	return cfg, cfg.check(path)
}

func configKeys(users bool) []string {
	keys := []string{"policy", "mistakeLimit", "claimFor", "merge"}
	if users {
		keys = append(keys, "trust", "approvals")
	}
	return keys
}

func checkKeys(path, prefix string, keys map[string]json.RawMessage, known []string) error {
	names := sortedKeys(keys)
	for _, name := range names {
		if !slices.Contains(known, name) {
			reason := "there is no such key"
			if near := nearest.Name(name, known); near != "" {
				reason += " (did you mean " + prefix + near + "?)"
			} else if slices.Contains(configKeys(true), name) {
				reason = "only the user's own configuration may hold it"
			}
			return badConfig(path, prefix+name, reason)
		}
	}
	return nil
}

func (cfg config) check(path string) error {
	capabilities := make([]string, 0, len(cfg.Policy))
	for name := range cfg.Policy {
		capabilities = append(capabilities, name)
	}
	sort.Strings(capabilities)
	for _, name := range capabilities {
		if v := cfg.Policy[name]; v != "auto" && v != "require_human" {
			return badConfig(path, "policy."+name, "it must be auto or require_human, not "+quoted(v))
		}
	}
	if cfg.MistakeLimit != nil && *cfg.MistakeLimit < 1 {
		return badConfig(path, "mistakeLimit", "it must be at least 1")
	}
	if cfg.ClaimFor != "" {
		if d, err := time.ParseDuration(cfg.ClaimFor); err != nil || d <= 0 {
			return badConfig(path, "claimFor", "it must be a duration such as 1h, not "+quoted(cfg.ClaimFor))
		}
	}
	return nil
}

func badConfig(path, key, reason string) error {
	what := path
	if key != "" {
		what += ", key " + key
	}
	return codes.InvalidArgument.New(fact.Of("reason", "the configuration "+what+": "+strings.TrimSpace(reason)), fact.Of("path", path), fact.Of("key", key)).
		WithHint("Mend the file; the README of the project lists the keys").WithNext("leslie help")
}
