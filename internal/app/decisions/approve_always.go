package decisions

import (
	"path/filepath"
	"slices"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/config"
	"leslie/internal/app/runs"
	"leslie/internal/app/threads"
	"leslie/internal/fact"
	"leslie/internal/permit"
	"leslie/store"
	"leslie/thread"
)

// This file approves a call of a tool, and writes a rule into the user's configuration so
// that the same call is allowed from then on.

// AlwaysAllowed is what changed in the user's configuration: the rules of run.always.
type AlwaysAllowed struct {
	Path   string   `json:"path"`
	Before []string `json:"before"`
	After  []string `json:"after"`
}

// ApproveAlwaysRequest approves a call of a tool, now and from now on.
type ApproveAlwaysRequest struct {
	Approval string
	Reason   string
}

// Faults returns what is wrong with the request.
func (in ApproveAlwaysRequest) Faults(name app.Names) []app.Fault {
	k := app.NewChecks(name)
	k.Needed("Approval", in.Approval)
	return k.Faults
}

// ApproveAlwaysResult is a grant after the decision, and the rules.
type ApproveAlwaysResult struct {
	DecideResult
	Always AlwaysAllowed `json:"always"`
}

// ApproveAlways approves a call of a tool and adds the narrowest rules that allow it to
// run.always of the user's configuration. It approves while it has that file locked, and
// last replaces the file: if that fails (T505), the approval stands, and no rule was
// written; all other errors leave everything as it was. Errors: those of Decide; T903 for
// what is no call of a tool, a call that no rule can allow, and a configuration that
// cannot be used; T501, T505, T509 of the file.
func ApproveAlways(c *app.Call, in ApproveAlwaysRequest) (*ApproveAlwaysResult, error) {
	if err := app.FaultsError(in.Faults(nil)); err != nil {
		return nil, err
	}
	g, err := decidable(c, in.Approval, thread.Approve)
	if err != nil {
		return nil, err
	}
	why := ""
	switch {
	case g.Tool == nil:
		why = string(g.ID) + " is not about a call of a tool"
	case c.InBatch():
		why = "a line of a batch cannot change your configuration"
	case c.Project().Environment().Config == "":
		why = "the home folder is unknown"
	}
	if why != "" {
		return nil, codes.InvalidArgument.New(fact.Of("reason", why), fact.Of("approvalId", g.ID)).
			WithHint("Approve it without --always").WithNext("leslie approvals")
	}
	rules, err := rulesFor(c, g)
	if err != nil {
		return nil, err
	}
	path := c.Project().Environment().Config
	d := &ApproveAlwaysResult{Always: AlwaysAllowed{Path: path}}
	changed, undurable, err := store.EditOwn(c.Context(), c.LockWait(), c.Project().StoreOptions(), path, app.OwnConfigPerm, func(old []byte) ([]byte, error) {
		var before app.Config
		if len(old) > 0 {
			if before, err = app.ParseConfig(path, slices.Clone(old), true); err != nil {
				return nil, err
			}
		}
		added := slices.DeleteFunc(slices.Clone(rules), func(r permit.Rule) bool { return slices.Contains(app.RuleTexts(before.Run.Always), r.String()) })
		data := old
		if len(added) > 0 {
			if data, err = config.WithRules(path, slices.Clone(old), added); err != nil {
				return nil, err
			}
		}
		decided, err := decideGrant(c, g.ID, thread.Approve, in.Reason)
		if err != nil {
			return nil, err
		}
		d.DecideResult = *decided
		d.Always.Before, d.Always.After = app.RuleTexts(before.Run.Always), app.RuleTexts(slices.Concat(before.Run.Always, added))
		return data, nil
	})
	c.Warn(app.ConfigNotDurable(path, undurable)...)
	if err != nil {
		if d.ApprovalID != "" {
			err = codes.Of(err).WithHint("The call is approved, and no rule was written: correct the cause and repeat it")
		}
		return nil, err
	}
	d.SetChanged(changed || d.Changed)
	return d, nil
}

// rulesFor returns the narrowest rules that allow a call which a person is asked about,
// without those that are there. Errors: T903 if no rule can, or rules that come first say
// otherwise.
func rulesFor(c *app.Call, g thread.Approval) ([]permit.Rule, error) {
	var t thread.Thread
	if _, err := c.View(func(s *thread.State) (err error) {
		t, err = s.Thread(string(g.ThreadID))
		return err
	}); err != nil {
		return nil, err
	}
	rules, _, err := runs.Rules(c, t, runs.Request{})
	if err != nil {
		return nil, err
	}
	dir, err := threads.AgentFolder(c, t)
	if err != nil {
		return nil, err
	}
	call := permit.Call{
		Tool: g.Tool.Tool, Command: g.Tool.Command, Dir: filepath.ToSlash(app.ResolveLinks(dir)), Own: dir != c.Project().Root(),
	}
	for _, path := range g.Tool.Paths {
		call.Paths = append(call.Paths, permit.Path{Named: path, Real: path})
	}
	cannot := func(why string) error {
		return codes.InvalidArgument.New(fact.Of("reason", "no rule can allow "+app.ToolLine(g.Tool, "")+": "+why), fact.Of("approvalId", g.ID)).
			WithHint("Approve it without --always; leslie help permissions says what rules can allow").WithNext("leslie approvals")
	}
	exact, err := permit.Exactly(call)
	if err != nil {
		return nil, cannot(codes.Of(err).Facts().Text("reason"))
	}
	var added []permit.Rule
	for _, r := range exact {
		with := rules
		with.Allow = slices.Concat(rules.Allow, slices.DeleteFunc(slices.Clone(exact), func(o permit.Rule) bool { return o.String() == r.String() }))
		if with.Decide(call).Verdict != permit.Allow && !slices.Contains(app.RuleTexts(added), r.String()) {
			added = append(added, r)
		}
	}
	rules.Allow = slices.Concat(rules.Allow, exact)
	if d := rules.Decide(call); d.Verdict != permit.Allow {
		return nil, cannot(d.Reason)
	}
	return added, nil
}
