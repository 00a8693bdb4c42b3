package config

import (
	"context"
	"slices"

	"leslie/internal/app"
	"leslie/internal/permit"
	"leslie/store"
	"leslie/warnings"
)

// This file allows agents commands from now on, above all those that build and test a project.

// AllowRequest allows agents commands in all of the user's projects.
type AllowRequest struct {
	Dir string // absolute
	// Rules are as in run.allow. None: those for the commands that build and test the project, as app.BuildRules
	// finds them.
	Rules []string
	// Yes adds them; otherwise the answer says which would be added. Rules that are named are added at once.
	Yes bool
}

// AllowResult says what run.always of the user's configuration has.
type AllowResult struct {
	Path string `json:"path"`
	// Added are the rules that were added, or would be.
	Added  []string `json:"added"`
	Before []string `json:"before"`
	After  []string `json:"after"`
	app.Change
}

// Allow adds rules to run.always of the user's configuration. Only a person may do that (T402). Errors: T903 for a rule
// and for a configuration that cannot be used; T501, T505, T509.
func Allow(ctx context.Context, env app.Environment, caller app.Caller, r app.Request, in AllowRequest) (*AllowResult, warnings.List, error) {
	if err := mayTrust(env, caller); err != nil {
		return nil, nil, err
	}
	texts, add := in.Rules, in.Yes || len(in.Rules) > 0
	if len(texts) == 0 {
		root, err := projectOf(env, in.Dir)
		if err != nil {
			return nil, nil, err
		}
		if root == "" {
			root = in.Dir
		}
		texts = app.BuildRules(root)
	}
	var rules []permit.Rule
	for _, text := range texts {
		rule, err := permit.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		rules = append(rules, rule)
	}
	d := &AllowResult{Path: env.Config}
	note := func(before app.Config) (added []permit.Rule) {
		d.Before, d.Added = app.RuleTexts(before.Run.Always), []string{}
		for _, rule := range rules {
			if !slices.Contains(d.Before, rule.String()) && !slices.Contains(d.Added, rule.String()) {
				added, d.Added = append(added, rule), append(d.Added, rule.String())
			}
		}
		d.After = append(slices.Clone(d.Before), d.Added...)
		return added
	}
	if !add {
		before, err := app.UserConfig(env)
		note(before)
		return d, nil, err
	}
	wait := store.Wait{Timeout: r.LockTimeout, Notify: r.Waiting}
	changed, undurable, err := store.EditOwn(ctx, wait, store.Options{Lock: env.Retry, Jitter: env.Jitter, Now: env.Now}, d.Path, app.OwnConfigPerm, func(old []byte) ([]byte, error) {
		var before app.Config
		if len(old) > 0 {
			var err error
			if before, err = app.ParseConfig(d.Path, slices.Clone(old), true); err != nil {
				return nil, err
			}
		}
		added := note(before)
		if len(added) == 0 {
			return old, nil
		}
		return WithRules(d.Path, slices.Clone(old), added)
	})
	d.SetChanged(changed)
	return d, app.ConfigNotDurable(d.Path, undurable), err
}
