package merges

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"leslie/codes"
	"leslie/internal/acp"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/app/merging"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/internal/permit"
	"leslie/internal/runner"
	"leslie/thread"
	"leslie/warnings"
)

// This file has a coding agent resolve the conflicts of a merge. It works in a temporary
// folder that has nothing but the versions of the files, and its answer is checked like
// that of a command.

// mergeAgent returns the agent that a merge may ask, nil for none: the one that the call
// names, else that of the configuration (merge.agent, run.agent). A name of Agents is a
// coding agent, which is started when it is asked first and serves the whole merge; end
// ends it. Anything else is a command. Errors: T903 and T509 for the configuration.
func mergeAgent(c *app.Call, means Resolvers, conf app.Settings) (agent *merging.Agent, end func(), err error) {
	end = func() {}
	user, project, err := c.Configs()
	if err != nil {
		return nil, end, err
	}
	chosen := cmp.Or(app.OrZero(user.Run.Agent), app.OrZero(project.Run.Agent))
	name := cmp.Or(means.Agent, conf.Agent, chosen)
	if name == "" {
		return nil, end, nil
	}
	timeout := cmp.Or(means.Timeout, defaultMergeTimeout)
	all, _, err := agents.Profiles(c)
	if err != nil {
		return nil, end, err
	}
	profile, err := agents.Named(all, name)
	switch {
	case err == nil:
	case means.Agent == "" && conf.Agent == "":
		return nil, end, nil // what run.agent names is not there, or not trusted (W305)
	default:
		return merging.ByCommand(name, c.Project().Environment().Environ, timeout), end, nil
	}
	w := &mergeWorker{c: c, profile: profile, timeout: timeout}
	return &merging.Agent{Ask: w.ask, Folder: w.folder, Ending: "End your turn when done. To decline, write why into a file named declined."}, w.end, nil
}

// mergeWorker is a coding agent that works on the conflicts of one merge. It serves one
// goroutine.
type mergeWorker struct {
	c       *app.Call
	profile app.AgentProfile
	timeout time.Duration

	base    string // its folder, in which those of tasks are made; "" until it is asked
	agent   *runner.Agent
	handler *taskHandler
}

// folder makes the agent's folder. Errors: T505.
func (w *mergeWorker) folder() (string, error) {
	if w.base != "" {
		return w.base, nil
	}
	made, err := os.MkdirTemp("", "leslie-merge-")
	if err != nil {
		return "", codes.WriteFailed.OfPath(os.TempDir(), err)
	}
	w.base = app.ResolveLinks(made)
	return w.base, nil
}

// ask gives the agent one task. Whatever goes wrong, the agent is ended, and the next
// task starts it again. Errors: T701 to T705, T904.
func (w *mergeWorker) ask(ctx context.Context, dir string) (external.Result, error) {
	limited, cancel := w.c.Project().Environment().Timeout(ctx, w.timeout)
	defer cancel()
	turn, stop := context.WithCancelCause(limited)
	defer stop(nil)
	err := w.start(turn)
	var end acp.Prompted
	if err == nil {
		w.handler.beginTurn(stop)
		end, err = w.agent.Prompt(turn, "Your task is in the folder "+dir+". Read and edit files there, and nowhere else; commands are not allowed.\n\n"+promptIn(dir))
	}
	if err != nil {
		w.stop()
		switch {
		case ctx.Err() != nil:
			return external.Result{}, codes.Interrupted.Wrap(context.Cause(ctx))
		case errors.Is(context.Cause(turn), agents.ErrRunJunk):
			return external.Result{}, codes.AgentConnection.Wrap(agents.ErrRunJunk, fact.Of("reason", agents.ErrRunJunk.Error()))
		case limited.Err() != nil:
			return external.Result{}, codes.AgentTimeout.Wrap(context.DeadlineExceeded, fact.Of("duration", w.timeout))
		}
		if until, is := agents.LimitOf(err, w.c.Project().Environment().Now()); is {
			err = agents.LimitedUntil(w.c, w.c.Target(), w.profile.Name, agents.NoteLimit(w.c, w.profile.Name, until, w.c.Target(), 0), err)
		}
		return external.Result{}, err
	}
	if why, err := os.ReadFile(filepath.Join(dir, "declined")); err == nil || end.StopReason == "refusal" {
		return external.Result{Verdict: external.Declined, Tail: strings.ToValidUTF8(string(why), "?")}, nil
	}
	return external.Result{Verdict: external.Done}, nil
}

// promptIn is the text of a task.
func promptIn(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "prompt.md"))
	if err != nil {
		return "Read prompt.md there."
	}
	return string(text)
}

// errLimitKnown is why an agent is not started of which a run or a merge was told before.
var errLimitKnown = errors.New("it was told before that nothing is left to use")

// start starts the agent if it does not run. Errors: T701 to T705, T904.
func (w *mergeWorker) start(ctx context.Context) error {
	if w.agent != nil {
		return nil
	}
	if until := agents.LimitsOf(w.c)[w.profile.Name].Until; until.After(w.c.Now()) {
		return agents.LimitedUntil(w.c, w.c.Target(), w.profile.Name, until, errLimitKnown)
	}
	patience, err := agents.StartTimeout(w.c)
	if err != nil {
		return err
	}
	w.handler = newTaskHandler(w.c, w.base)
	agent, err := agents.Start(ctx, w.profile, runner.Spec{
		Argv: w.profile.Command, Dir: w.base, Mode: w.profile.Mode, Handler: w.handler,
		Times:  runner.Times{Start: min(w.timeout, patience), Cancel: 2 * time.Second, End: time.Second},
		Env:    append(agents.Environ(w.c, w.profile), runner.MarkVariable+"="+w.c.Project().Environment().NewID(thread.PrefixRun), "LESLIE_AS=agent"),
		Client: acp.Implementation{Name: "leslie", Version: w.c.Project().Environment().Version},
	})
	if err != nil {
		return err
	}
	w.agent = agent
	if agent.ModeUnknown {
		w.c.Warn(warnings.AgentLacks.New(fact.Of("threadId", w.c.Target()), fact.Of("lacks", "has no mode "+app.Quoted(w.profile.Mode))))
	}
	return nil
}

// stop ends the agent and everything that it started (W703).
func (w *mergeWorker) stop() {
	if w.agent == nil {
		return
	}
	if n := w.agent.End(); n > 0 {
		w.c.Warn(warnings.LeftoversEnded.New(fact.Of("threadId", w.c.Target()), fact.Of("count", n)))
	}
	w.agent = nil
}

// end ends the agent and removes its folder.
func (w *mergeWorker) end() {
	w.stop()
	if w.base != "" {
		_ = os.RemoveAll(w.base)
		w.base = ""
	}
}

// taskHandler allows an agent to read and edit in its folder, and nothing else. Its
// methods are safe for use by the goroutines of a connection.
type taskHandler struct {
	dir   string
	rules permit.Rules

	mu    sync.Mutex
	calls map[string]acp.ToolCall
	junk  int
	stop  context.CancelCauseFunc // of the turn
}

func newTaskHandler(c *app.Call, dir string) *taskHandler {
	rules := permit.Rules{
		Default: permit.Deny, Home: filepath.ToSlash(c.Project().Environment().Home), Config: app.UserConfigFiles(*c.Project().Environment()),
		Store: filepath.ToSlash(app.ResolveLinks(filepath.Dir(c.Store().Path("x")))),
	}
	for _, text := range []string{"Read(./**)", "Edit(./**)"} {
		if rule, err := permit.Parse(text); err == nil {
			rules.Allow = append(rules.Allow, rule)
		}
	}
	return &taskHandler{dir: filepath.ToSlash(dir), rules: rules, calls: map[string]acp.ToolCall{}}
}

// beginTurn begins a turn, which stop cancels.
func (h *taskHandler) beginTurn(stop context.CancelCauseFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stop, h.junk = stop, 0
	clear(h.calls)
}

// Update implements acp.Handler.
func (h *taskHandler) Update(kind string, raw json.RawMessage) {
	var call acp.ToolCall
	if kind != acp.UpdateTool && kind != acp.UpdateToolNow || json.Unmarshal(raw, &call) != nil || call.ID == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[call.ID] = agents.Updated(h.calls[call.ID], call)
}

// Junk implements acp.Handler.
func (h *taskHandler) Junk([]byte, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.junk++; h.junk == agents.MostJunk && h.stop != nil {
		h.stop(agents.ErrRunJunk)
	}
}

// Refused implements acp.Handler.
func (h *taskHandler) Refused(string) {}

// Permission implements acp.Handler.
func (h *taskHandler) Permission(_ context.Context, r acp.PermissionRequest) acp.PermissionOutcome {
	h.mu.Lock()
	before := h.calls[r.ToolCall.ID]
	h.mu.Unlock()
	if _, d := agents.Decide(h.rules, before, r.ToolCall, h.dir); d.Verdict == permit.Allow {
		return r.Choose(acp.AllowOnce)
	}
	return r.Choose(acp.RejectOnce)
}
