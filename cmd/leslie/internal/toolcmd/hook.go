package toolcmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/fact"
	"leslie/internal/setup"
)

// This file implements hook: what leslie says when the session of a coding agent begins
// and when it is about to stop. leslie setup has agents call it. It only reads, says
// nothing where it has nothing to say, and neither fails nor waits.

const (
	// hookTime is how long a hook may take: the agent waits for it.
	hookTime = 2 * time.Second
	// maxHookInput is how much of an agent's input is read, in bytes.
	maxHookInput = 1 << 20
	// rememberedKeys is how much is remembered of what sessions were told.
	rememberedKeys = 200
)

// hookInput is what agents say on standard input; each leaves something out.
type hookInput struct {
	SessionID     string `json:"session_id"`
	Active        bool   `json:"stop_hook_active"` // it is stopping for the second time
	StillActive   bool   `json:"stopHookActive"`
	HookEventName string `json:"hook_event_name"`
}

// hookData has what the agent reads, in its own form; "" for nothing.
type hookData struct {
	Answer string `json:"answer"`
}

func (d hookData) Text(p *page.Page) { p.B.WriteString(d.Answer) }

func hookCommands(name, summary, detail string, run func(h *hookCall) string) *cli.Command {
	return &cli.Command{
		Name: name, Summary: summary, Detail: detail +
			" leslie setup has agents call it. It only reads, takes two seconds at most, and prints nothing " +
			"without a store, in a run of leslie's (leslie run), or when something is wrong.",
		Example: "leslie " + name + " --for claude",
		Flags:   []cli.Flag{cli.NewFlag("for", cli.OneOf(setup.Agents()...), "the agent that reads the answer")},
		Run:     func(c *cli.Call) (cli.Data, error) { return runHook(c, run) },
	}
}

// HookStart is the command leslie hook start.
func HookStart() *cli.Command {
	return hookCommands("hook start", "tell an agent's session at its beginning what concerns it",
		"The context of the thread for which the session works, else what there is to do, as the agent wants it. No "+
			"message counts as read by that.", (*hookCall).begins)
}

// HookStop is the command leslie hook stop.
func HookStop() *cli.Command {
	return hookCommands("hook stop", "remind an agent that is about to stop of messages and an open thread",
		"Of unread messages each time, of a thread that is still open once in a session.", (*hookCall).stops)
}

// hookCall is one use of a hook.
type hookCall struct {
	*cli.Call
	in hookInput
}

// runHook runs a hook with a limit. Whatever goes wrong, it says nothing.
func runHook(c *cli.Call, run func(h *hookCall) string) (cli.Data, error) {
	if err := c.Usage(); err != nil {
		return nil, err
	}
	if !c.Has("format") { // whatever the environment says: the agent reads its own form
		c.Who.Format = "text"
	}
	if c.Env.Getenv("LESLIE_RUN") != "" {
		return hookData{}, nil // its prompt says all that
	}
	if c.Ctx.Err() != nil {
		return nil, codes.Interrupted.Wrap(context.Cause(c.Ctx))
	}
	ctx, cancel := c.Env.WithTimeout(c.Ctx, hookTime)
	defer cancel()
	answer := make(chan string, 1)
	// A call of its own: a run that is given up must share nothing with this one.
	h := &hookCall{Call: &cli.Call{Ctx: ctx, Given: c.Given}}
	go func() {
		defer func() {
			if recover() != nil {
				answer <- ""
			}
		}()
		h.read()
		answer <- run(h)
	}()
	select {
	case text := <-answer:
		return hookData{text}, nil
	case <-ctx.Done():
		if c.Ctx.Err() != nil {
			return nil, codes.Interrupted.Wrap(context.Cause(c.Ctx))
		}
		return hookData{}, nil
	}
}

// read reads what the agent says.
func (h *hookCall) read() {
	if h.Env.StdinTTY {
		return
	}
	data, err := io.ReadAll(io.LimitReader(h.Env.Stdin, maxHookInput))
	if err == nil {
		_ = json.Unmarshal(data, &h.in) // what cannot be read is not there
	}
}

// session finds out what concerns the session; nil without a store.
func (h *hookCall) session() (*app.Call, *agents.SessionResult) {
	project, err := app.Open(h.Who.Dir, h.Env.AppEnvironment())
	if err != nil {
		return nil, nil
	}
	asAgent(h.Call)
	op := project.Call(h.Ctx, h.Caller(), app.Request{Command: h.Line.Cmd.Name, ReadOnly: true})
	d, err := agents.Session(op, []string{h.Who.Actor, h.in.SessionID})
	if err != nil {
		return nil, nil
	}
	return op, d
}

// begins is what a session is told at its beginning.
func (h *hookCall) begins() string {
	op, d := h.session()
	switch {
	case d == nil || d.Thread == "" && d.Active == 0:
		return ""
	case h.Text("for") == "kimi" && !h.first(op.Root(), "start"):
		return "" // it calls with each prompt
	case d.Thread == "":
		return h.context("This project uses leslie: " + fact.Plural(d.Active, "active thread") + ", " +
			fact.Plural(d.Ready, "thread") + " ready to be claimed. " +
			"leslie list shows them, leslie help working says how to work in one.")
	}
	_, block, err := toolContext(h.Call, op, string(d.Thread), false)
	if err != nil {
		return ""
	}
	if d.Unread > 0 {
		block += "\nMessages count as read once you run: leslie context --thread " + string(d.Thread)
	}
	return h.context(block)
}

// stops is what an agent is told that is about to stop.
func (h *hookCall) stops() string {
	if h.in.Active || h.in.StillActive {
		return "" // it was told
	}
	op, d := h.session()
	if d == nil || d.Thread == "" {
		return ""
	}
	id := string(d.Thread)
	switch {
	case d.Unread > 0:
		return h.goOn(fact.Plural(d.Unread, "message") + " for thread " + id +
			" not read yet. Run leslie context --thread " + id + " and act on them, then stop.")
	case d.Comments > 0 && h.first(op.Root(), "comments "+id):
		return h.goOn(fact.Plural(d.Comments, "open comment") + " on thread " + id +
			". Run leslie comments " + id + ", act on each and leslie comment resolve it, then stop.")
	case d.Open && h.first(op.Root(), "open "+id):
		return h.goOn("Thread " + id + " is still open. If its work is done: leslie done " + id +
			". If you cannot go on: write why into its progress.md and run leslie suspend " + id +
			" --reason TEXT. If you only wait for an answer of a person, stop: you are not told this again.")
	}
	return ""
}

// context is text for a session's beginning in the form of the agent.
func (h *hookCall) context(text string) string {
	if agent := h.Text("for"); agent == "opencode" || agent == "kimi" {
		return text + "\n"
	}
	event := h.in.HookEventName
	if event == "" {
		event = setup.StartEvent
	}
	return hookJSON(map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": event,
		"additionalContext": text}})
}

// goOn is the answer by which an agent does not stop yet, and reads why.
func (h *hookCall) goOn(text string) string {
	if h.Text("for") == "kimi" {
		return hookJSON(map[string]any{"hookSpecificOutput": map[string]any{"permissionDecision": "deny",
			"permissionDecisionReason": text}})
	}
	return hookJSON(map[string]any{"decision": "block", "reason": text})
}

func hookJSON(v map[string]any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b) + "\n"
}

// first reports whether a session has not been told something, and remembers that it is
// now. Where nothing can be remembered, it is never told.
func (h *hookCall) first(root, what string) bool {
	if h.Env.Cache == "" {
		return false
	}
	session := h.in.SessionID
	if session == "" {
		session = h.Who.Actor
	}
	sum := sha256.Sum256([]byte(root + "\x00" + session + "\x00" + what))
	key := hex.EncodeToString(sum[:8])
	file := filepath.Join(h.Env.Cache, "leslie", "sessions")
	data, _ := os.ReadFile(file)
	told := strings.Fields(string(data))
	if slices.Contains(told, key) {
		return false
	}
	told = append(told, key)
	told = told[max(0, len(told)-rememberedKeys):]
	if os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return false
	}
	return os.WriteFile(file, []byte(strings.Join(told, "\n")+"\n"), 0o600) == nil
}
