package app

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
)

// NeedTrust are the keys of the project's file that count only if the user trusts it.
func NeedTrust() []string {
	return []string{"merge.agent", "merge.validate", "code.setup", "code.validate", "code.checks", "run.agents", "run.allow"}
}

// Flat returns the keys of a file that have a value.
func Flat(cfg Config) map[string]any {
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

// This file says which programs of a project may run: those of its configuration, and those
// of its repository's. The user's own file lists the projects that are trusted, either with
// all that they name, at any time, or with what was shown: then a change ends the trust.

// Trust is an entry of trust in the user's configuration: a path, or an object that
// leslie config trust writes.
type Trust struct {
	Path string
	// seen: only what was shown may run, as its fingerprints say it.
	Seen          bool
	Commands, Git string
	problem       string // what is wrong with the entry, found when the file is checked
}

// trustObject is an entry that is an object.
type trustObject struct {
	Path     string `json:"path"`
	Commands string `json:"commands"`
	Git      string `json:"git"`
}

// UnmarshalJSON reads an entry. What is wrong with it is kept: it is no error here.
func (t *Trust) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &t.Path) == nil {
		return nil
	}
	var o trustObject
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		*t = Trust{problem: "it must list absolute paths of projects, or what leslie config trust writes, not " + Cut(string(data), 200)}
		return nil
	}
	*t = Trust{Path: o.Path, Seen: true, Commands: o.Commands, Git: o.Git}
	return nil
}

// MarshalJSON writes an entry.
func (t Trust) MarshalJSON() ([]byte, error) {
	if !t.Seen {
		return json.Marshal(t.Path)
	}
	return json.Marshal(trustObject{t.Path, t.Commands, t.Git})
}

// Trusts reports whether the user's own file trusts a project with the commands that its
// configuration has.
func (cfg Config) Trusts(root string, project Config) bool {
	return slices.ContainsFunc(cfg.Trust, func(t Trust) bool {
		return t.Path == root && (!t.Seen || t.Commands == Fingerprint(CommandsOf(project)))
	})
}

// TrustsGit reports whether all that a project's repository names may run, and otherwise
// what may: seen is git's fingerprint of it, "" for nothing.
func (cfg Config) TrustsGit(root string) (all bool, seen string) {
	for _, t := range cfg.Trust {
		switch {
		case t.Path != root:
		case !t.Seen:
			return true, ""
		default:
			seen = t.Git
		}
	}
	return false, seen
}

// CommandsOf are the settings of a project's configuration that need trust.
func CommandsOf(project Config) map[string]any {
	all := Flat(project)
	for key := range all {
		if !slices.Contains(NeedTrust(), key) {
			delete(all, key)
		}
	}
	return all
}

// Fingerprint tells one project's commands from others; "" for none.
func Fingerprint(commands map[string]any) string {
	data, err := json.Marshal(commands)
	if err != nil || len(commands) == 0 {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// check says what is wrong with an entry; "" for nothing.
func (t Trust) check() string {
	switch {
	case t.problem != "":
		return t.problem
	case !filepath.IsAbs(t.Path):
		return "it must list absolute paths of projects, not " + Quoted(t.Path)
	}
	return ""
}
