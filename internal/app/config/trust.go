package config

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/git"
	"leslie/internal/setup"
	"leslie/store"
	"leslie/warnings"
)

// TrustRequest asks what of a project would run if it were trusted, and trusts it.
type TrustRequest struct {
	Dir string // absolute, in the project
	// Yes trusts it. Seen is what the person saw, "" for whatever is there.
	Yes  bool
	Seen string
	// Remove ends the trust.
	Remove bool
}

// TrustResult is what would run, and whether it may.
type TrustResult struct {
	Root string `json:"root"`
	// Path is the user's own configuration.
	Path    string `json:"path"`
	Trusted bool   `json:"trusted"`
	// Stale: the project was trusted with other programs.
	Stale bool `json:"stale,omitempty"`
	// Programs are the settings with programs that run only if the project is trusted.
	Programs []git.Program `json:"programs"`
	app.Change

	entry app.Trust // what trusts just these
}

// Seen tells what is shown from what may be there later.
func (d *TrustResult) Seen() string { return d.entry.Commands + d.entry.Git }

// Trust says which programs a project's configuration and its repository name, and
// whether they may run. With Yes it puts the project on the user's list, bound to these:
// if they change, they do not run. With Remove it takes the project off the list. Only a
// person may do that (T402). Errors: T504; T903 for a configuration that cannot be used,
// and for programs that changed since Seen; T501, T505, T509.
func Trust(ctx context.Context, env app.Environment, caller app.Caller, r app.Request, in TrustRequest) (*TrustResult, warnings.List, error) {
	p, err := app.Open(in.Dir, env)
	if err != nil {
		return nil, nil, err
	}
	if in.Yes || in.Remove {
		if err := mayTrust(env, caller); err != nil {
			return nil, nil, err
		}
	}
	d, err := trustOf(ctx, p)
	if err != nil || !in.Yes && !in.Remove {
		return d, nil, err
	}
	if in.Yes && in.Seen != "" && in.Seen != d.Seen() {
		return nil, nil, codes.InvalidArgument.New(fact.Of("reason", "what would run has changed meanwhile")).
			WithHint("Look at it again").WithNext("leslie config trust")
	}
	if in.Yes && (d.Trusted || len(d.Programs) == 0) {
		return d, nil, nil
	}
	wait := store.Wait{Timeout: r.LockTimeout, Notify: r.Waiting}
	changed, undurable, err := store.EditOwn(ctx, wait, store.Options{Lock: env.Retry, Jitter: env.Jitter, Now: env.Now}, d.Path, app.OwnConfigPerm, func(old []byte) ([]byte, error) {
		return withTrust(d.Path, old, d.entry, in.Yes)
	})
	if err != nil {
		return nil, nil, err
	}
	d.Trusted, d.Stale = in.Yes, false
	d.SetChanged(changed)
	return d, app.ConfigNotDurable(d.Path, undurable), nil
}

// mayTrust refuses an agent: a person decides what may run. Errors: T402, T903.
func mayTrust(env app.Environment, caller app.Caller) error {
	if env.Config == "" {
		return codes.InvalidArgument.New(fact.Of("reason", "the home folder is unknown")).WithHint("Set HOME or LESLIE_CONFIG").WithNext("leslie help configuration")
	}
	err := app.MayChangeOwn(env, caller)
	if codes.Has(err, codes.PermissionDenied) {
		return codes.PermissionDenied.New(fact.Of("capability", "trusting a project's programs")).
			WithHint("A person decides that, in a terminal of their own: leslie config trust").WithNext("leslie config trust")
	}
	return err
}

// trustOf collects what a project would have run.
func trustOf(ctx context.Context, p *app.Project) (*TrustResult, error) {
	user, err := app.UserConfig(*p.Environment())
	if err != nil {
		return nil, err
	}
	file := app.ProjectConfigPath(p.Root())
	project, err := app.ReadConfig(file, false)
	if err != nil {
		return nil, err
	}
	commands := app.CommandsOf(project)
	d := &TrustResult{Root: p.Root(), Path: p.Environment().Config, Programs: []git.Program{}}
	for _, key := range app.SortedKeys(commands) {
		d.Programs = append(d.Programs, programsIn(file, key, commands[key])...)
	}
	ofGit, err := gitPrograms(ctx, p)
	if err != nil {
		return nil, err
	}
	d.Programs = append(d.Programs, ofGit...)
	d.entry = app.Trust{Path: p.Root(), Seen: true, Commands: app.Fingerprint(commands), Git: git.Fingerprint(ofGit)}
	all, seen := user.TrustsGit(p.Root())
	d.Trusted = user.Trusts(p.Root(), project) && (all || seen == d.entry.Git)
	d.Stale = !d.Trusted && slices.ContainsFunc(user.Trust, func(t app.Trust) bool { return t.Path == p.Root() })
	return d, nil
}

// programsIn are the programs of one setting, each by its own key.
func programsIn(file, key string, value any) (all []git.Program) {
	if value == nil {
		return nil
	}
	if group, is := value.(map[string]any); is {
		for _, name := range app.SortedKeys(group) {
			all = append(all, programsIn(file, key+"."+name, group[name])...)
		}
		return all
	}
	text, is := value.(string)
	if data, err := fact.JSON(value); !is && err == nil {
		text = strings.TrimSpace(string(data))
	}
	return append(all, git.Program{Key: key, Value: text, File: file})
}

// gitPrograms are those of the project's repository, none where there is no repository that
// git can use.
func gitPrograms(ctx context.Context, p *app.Project) ([]git.Program, error) {
	var environ []string
	if p.Environment().Environ != nil {
		environ = p.Environment().Environ()
	}
	repo, err := git.Open(ctx, p.Root(), git.System{Environ: environ})
	if err == nil {
		repo.Driver = setup.MergeDriver
		var all []git.Program
		if all, err = repo.Programs(ctx); err == nil {
			return all, nil
		}
	}
	if codes.Has(err, codes.GitUnavailable) {
		return nil, nil
	}
	return nil, err
}

// withTrust returns a user's configuration with an entry, in place of all others of the
// same project, or without any. Comments stay. Errors: T903 for a file that cannot be used.
func withTrust(path string, data []byte, entry app.Trust, with bool) ([]byte, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		if !with {
			return data, nil
		}
		data = []byte("{}\n")
	}
	before, err := app.ParseConfig(path, slices.Clone(data), true)
	if err != nil {
		return nil, err
	}
	root, err := hujson.Parse(slices.Clone(data))
	if err != nil {
		return nil, app.BadConfig(path, "", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	var patch []string
	for i, t := range slices.Backward(before.Trust) {
		if t.Path == entry.Path {
			patch = append(patch, fmt.Sprintf(`{"op":"remove","path":"/trust/%d"}`, i))
		}
	}
	if with {
		if root.Find("/trust") == nil {
			patch = append(patch, `{"op":"add","path":"/trust","value":[]}`)
		}
		value, err := json.Marshal(entry)
		if err != nil {
			return nil, err
		}
		patch = append(patch, fmt.Sprintf(`{"op":"add","path":"/trust/-","value":%s}`, value))
	}
	if len(patch) == 0 {
		return data, nil
	}
	if err := root.Patch([]byte("[" + strings.Join(patch, ",") + "]")); err != nil {
		return nil, app.BadConfig(path, "trust", "it cannot be changed where it stands: "+strings.TrimPrefix(err.Error(), "hujson: "))
	}
	after := root.Pack()
	if _, err := app.ParseConfig(path, slices.Clone(after), true); err != nil {
		return nil, err
	}
	return after, nil
}
