package acp

import (
	"context"
	"encoding/json"
	"fmt"
)

// Initialize begins the conversation. Errors: those of Call, and one for an agent that
// speaks no version 1.
func (c *Conn) Initialize(ctx context.Context, client Implementation) (Initialized, error) {
	var out Initialized
	err := c.Call(ctx, "initialize", map[string]any{
		"protocolVersion": Version, "clientInfo": client,
		"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false}, "terminal": false},
	}, &out)
	if err == nil && out.ProtocolVersion != Version {
		err = fmt.Errorf("the agent speaks version %d of the protocol, leslie version %d", out.ProtocolVersion, Version)
	}
	return out, err
}

// New opens a new session.
func (c *Conn) New(ctx context.Context, o Opening) (Opened, error) {
	o.SessionID = ""
	return c.open(ctx, "session/new", o)
}

// Resume opens a session again without its messages, Load with them. The agent's updates
// before Load answers are those of before.
func (c *Conn) Resume(ctx context.Context, o Opening) (Opened, error) {
	return c.open(ctx, "session/resume", o)
}

// Load opens a session again with its messages: see Resume.
func (c *Conn) Load(ctx context.Context, o Opening) (Opened, error) {
	return c.open(ctx, "session/load", o)
}

func (c *Conn) open(ctx context.Context, method string, o Opening) (Opened, error) {
	if o.Servers == nil {
		o.Servers = []MCPServer{}
	}
	for i := range o.Servers {
		if o.Servers[i].Args == nil {
			o.Servers[i].Args = []string{}
		}
		if o.Servers[i].Env == nil {
			o.Servers[i].Env = []EnvVar{}
		}
	}
	var out Opened
	err := c.Call(ctx, method, o, &out)
	switch {
	case err != nil:
	case o.SessionID != "":
		out.SessionID = o.SessionID
	case out.SessionID == "":
		err = fmt.Errorf("the answer to %s has no session id", method)
	}
	return out, err
}

// SetMode sets the mode of a session by whatever the agent offers for it: a setting of
// the category "mode", or its modes. It reports whether the agent offers that mode.
func (c *Conn) SetMode(ctx context.Context, o Opened, mode string) (offered bool, err error) {
	for _, option := range o.Options {
		if option.Category == "mode" && offers(option.Choices, mode) {
			if string(option.Current) == quoted(mode) {
				return true, nil
			}
			return true, c.Call(ctx, "session/set_config_option", map[string]any{"sessionId": o.SessionID, "configId": option.ID, "value": mode}, nil)
		}
	}
	if o.Modes == nil {
		return false, nil
	}
	for _, m := range o.Modes.Available {
		if m.ID == mode {
			if o.Modes.Current == mode {
				return true, nil
			}
			return true, c.Call(ctx, "session/set_mode", map[string]any{"sessionId": o.SessionID, "modeId": mode}, nil)
		}
	}
	return false, nil
}

// offers reports whether choices, in groups or not, have a value.
func offers(choices json.RawMessage, value string) bool {
	var list []struct {
		Value   string          `json:"value"`
		Options json.RawMessage `json:"options"`
	}
	if json.Unmarshal(choices, &list) != nil {
		return false
	}
	for _, c := range list {
		if c.Value == value || len(c.Options) > 0 && offers(c.Options, value) {
			return true
		}
	}
	return false
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string can always be encoded
	return string(b)
}

// Prompt sends a text and waits for the end of the turn.
func (c *Conn) Prompt(ctx context.Context, session, text string) (Prompted, error) {
	var out Prompted
	err := c.Call(ctx, "session/prompt", map[string]any{"sessionId": session, "prompt": []Content{{Type: "text", Text: text}}}, &out)
	if out.Usage == nil {
		out.Usage = out.own()
	}
	return out, err
}

// Cancel asks the agent to end the turn; the prompt is answered with stopReason
// "cancelled".
func (c *Conn) Cancel(session string) error {
	return c.Notify("session/cancel", map[string]any{"sessionId": session})
}

// Close ends a session.
func (c *Conn) Close(ctx context.Context, session string) error {
	return c.Call(ctx, "session/close", map[string]any{"sessionId": session}, nil)
}
