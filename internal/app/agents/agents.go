package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/acp"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/internal/nearest"
	"leslie/internal/runner"
	"leslie/thread"
)

// Profiles returns every agent that can be started, by name, and the name of the one that
// runs when none is named. A project's agents need the user's trust (W305).
func Profiles(c *app.Call) (all []app.AgentProfile, chosen string, err error) {
	user, project, err := c.Configs()
	if err != nil {
		return nil, "", err
	}
	theirs := project.Run.Agents
	if asked := "project"; len(theirs) > 0 && c.Chooser(user, project)("run.agents", nil, &asked) == "" {
		theirs = nil
	}
	for _, name := range []*string{project.Run.Agent, user.Run.Agent} {
		if name != nil {
			chosen = *name
		}
	}
	return Combine(user.Run.Agents, theirs), chosen, nil
}

// Combine returns the agents that leslie knows, with what the configuration of the
// project changes and adds, and then that of the user.
func Combine(mine, theirs map[string]app.AgentConfig) []app.AgentProfile {
	all := app.KnownAgents()
	for i := range all {
		all[i].Source = app.AgentBuiltIn
	}
	add := func(source string, configured map[string]app.AgentConfig) {
		for _, name := range app.SortedKeys(configured) {
			i := slices.IndexFunc(all, func(p app.AgentProfile) bool { return p.Name == name })
			if i < 0 {
				i = len(all)
				all = append(all, app.AgentProfile{Name: name})
			}
			p, a := &all[i], configured[name]
			p.Source, p.Env = source, map[string]string{}
			for _, known := range app.KnownAgents() {
				if known.Name == name {
					maps.Copy(p.Env, known.Env)
				}
			}
			maps.Copy(p.Env, a.Env)
			if a.Command != nil {
				p.Command, p.Install = a.Command, ""
			}
			if a.Mode != nil {
				p.Mode = *a.Mode
			}
		}
	}
	add(app.AgentProject, theirs)
	add(app.AgentOfUser, mine)
	return all
}

// Environ is the environment of an agent: what every program needs, what its profile
// adds, and nothing else of the caller's.
func Environ(c *app.Call, p app.AgentProfile) []string {
	own := map[string]string{}
	for _, entry := range c.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if passedOn(name) {
			own[name] = value
		}
	}
	if program := c.Project().Environment().Program; program != "" && own["PATH"] != "" {
		own["PATH"] = filepath.Dir(program) + string(os.PathListSeparator) + own["PATH"]
	}
	if own[app.ConfigVariable] != "" {
		own[app.ConfigVariable] = c.Project().Environment().Config // it may be relative to the caller's folder
	}
	maps.Copy(own, p.Env)
	out := make([]string, 0, len(own))
	for _, name := range app.SortedKeys(own) {
		out = append(out, name+"="+own[name])
	}
	return out
}

// passedOn reports whether an agent gets a variable of the caller's environment: where
// programs and files are, who and where the user is, and how the network is reached.
func passedOn(name string) bool {
	switch strings.ToUpper(name) {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "TMPDIR", "TMP", "TEMP", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
		app.ConfigVariable, "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PATHEXT", "COMSPEC":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// ListRequest asks for the agents that can be started.
type ListRequest struct {
	Name string // "": all
	// Check starts each that is installed, opens a session, and ends it. No prompt is sent.
	Check bool
}

// ListResult has the agents: those that leslie knows, and those of the configuration.
type ListResult struct {
	Items []Item `json:"items"`
	Total int    `json:"total"`
}

// Item is one agent.
type Item struct {
	Name    string   `json:"name"`
	Command []string `json:"command"`
	// Source says who names it: leslie, user, project.
	Source  string  `json:"source"`
	Default bool    `json:"default"` // it runs when no other is named
	Mode    *string `json:"mode"`    // in which it is set to ask; null: its own configuration says
	// Program is the file that would be started, null if it is not installed.
	Program *string `json:"program"`
	// Package is the npm package that has an agent which leslie knows.
	Package string `json:"package,omitempty"`
	// LimitedUntil is until when it may use nothing more, as a run on this machine was told.
	LimitedUntil *time.Time `json:"limitedUntil,omitempty"`
	Check        *Check     `json:"check,omitempty"`
}

// Check says how an agent started.
type Check struct {
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

// List lists the agents that can be started, and with Check whether they do. Errors:
// T903 for an unknown name and a bad configuration, T509; with Check and a name T701 to
// T704, T904.
func List(c *app.Call, in ListRequest) (*ListResult, error) {
	c.ReadOnly()
	all, chosen, err := Profiles(c)
	if err != nil {
		return nil, err
	}
	if in.Name != "" {
		p, err := Named(all, in.Name)
		if err != nil {
			return nil, err
		}
		all = []app.AgentProfile{p}
	}
	d := &ListResult{Items: []Item{}}
	limits := LimitsOf(c)
	for _, p := range all {
		item := Item{Name: p.Name, Command: p.Command, Source: p.Source, Default: p.Name == chosen, Mode: app.OrNull(p.Mode), Package: p.Install}
		if program, err := runner.LookIn(Environ(c, p), p.Command[0]); err == nil {
			item.Program = &program
		}
		if l := limits[p.Name]; l.Until.After(c.Now()) {
			item.LimitedUntil = &l.Until
		}
		if in.Check && (item.Program != nil || in.Name != "") {
			item.Check = CheckStart(c, p)
			if in.Name != "" && item.Check.Error != nil {
				return nil, item.Check.Error
			}
		}
		if c.Context().Err() != nil {
			return nil, codes.Interrupted.Wrap(context.Cause(c.Context()))
		}
		d.Items = append(d.Items, item)
	}
	d.Total = len(d.Items)
	return d, nil
}

// Named returns an agent. Errors: T903 with the nearest name.
func Named(all []app.AgentProfile, name string) (app.AgentProfile, error) {
	if name == "" {
		return app.AgentProfile{}, codes.InvalidArgument.New(fact.Of("reason", "no agent is named, and the configuration names none (run.agent)")).
			WithHint("Name one with --agent, or in your configuration").WithNext("leslie agents")
	}
	names := make([]string, len(all))
	for i, p := range all {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	facts := []fact.Fact{fact.Of("reason", "there is no agent "+app.Quoted(name)), fact.Of("allowed", names)}
	if near := nearest.Name(name, names); near != "" {
		facts[0] = fact.Of("reason", "there is no agent "+app.Quoted(name)+" (did you mean "+near+"?)")
		facts = append(facts, fact.Of("nearest", near))
	}
	return app.AgentProfile{}, codes.InvalidArgument.New(facts...).
		WithHint("Name one of " + strings.Join(names, ", ") + ", or add yours to your configuration (run.agents)").WithNext("leslie agents")
}

// Start starts an agent. Errors: those of runner.Start; of one that leslie knows and that
// is not installed, T701 says how to install it.
func Start(ctx context.Context, p app.AgentProfile, spec runner.Spec) (*runner.Agent, error) {
	a, err := runner.Start(ctx, spec)
	if codes.Has(err, codes.AgentTimeout) {
		err = codes.Of(err).WithHint("See what it printed, or give it longer: run.startTimeout in your configuration")
	}
	return a, installs(p, spec.Env, err)
}

// StartTimeout is how long an agent may be silent until its session is open. Errors: those of
// configs.
func StartTimeout(c *app.Call) (time.Duration, error) {
	user, project, err := c.Configs()
	text := cmp.Or(app.OrZero(user.Run.StartTimeout), app.OrZero(project.Run.StartTimeout))
	if err != nil || text == "" {
		return runner.DefaultStart, err
	}
	return time.ParseDuration(text) // checked with the file
}

// Installed returns what Start does for an agent whose program is not there. Errors: T701.
func Installed(c *app.Call, p app.AgentProfile) error {
	env := Environ(c, p)
	_, err := runner.Program(env, p.Command[0])
	return installs(p, env, err)
}

// installs adds to T701 how to install an agent that leslie knows, and that is not there.
func installs(p app.AgentProfile, env []string, err error) error {
	if p.Install == "" || !codes.Has(err, codes.AgentUnavailable) {
		return err
	}
	if _, missing := runner.LookIn(env, p.Command[0]); missing != nil {
		err = codes.Of(err).WithHint("Install it with npm install -g " + p.Install + ", or use another agent (leslie agents)")
	}
	return err
}

// CheckStart starts an agent in the project's folder, opens a session and ends it.
func CheckStart(c *app.Call, p app.AgentProfile) *Check {
	began := c.Project().Environment().Now()
	patience, err := StartTimeout(c)
	if err != nil {
		return &Check{Error: codes.Of(err), Code: codes.Of(err).Code(), Message: err.Error()}
	}
	mark := c.Project().Environment().NewID(thread.PrefixRun)
	a, err := Start(c.Context(), p, runner.Spec{
		Argv: p.Command, Dir: c.Project().Root(), Env: append(Environ(c, p), runner.MarkVariable+"="+mark),
		Client: acp.Implementation{Name: "leslie", Version: c.Project().Environment().Version}, Handler: deafHandler{}, Mode: p.Mode,
		Times: runner.Times{Start: patience},
	})
	out := &Check{Ms: c.Project().Environment().Now().Sub(began).Milliseconds()}
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
