package acp

import "encoding/json"

// This file has the messages of the protocol that leslie uses. Members that it does not
// need are left out; unknown ones are passed over. Source: the protocol's schema of
// version 1.

// Version is the version of the protocol.
const Version = 1

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Initialized is the answer to initialize.
type Initialized struct {
	ProtocolVersion int          `json:"protocolVersion"`
	Agent           Capabilities `json:"agentCapabilities"`
	Info            *struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"agentInfo"`
	AuthMethods []AuthMethod `json:"authMethods"`
}

// Capabilities is what an agent can do. A pointer that is not nil means yes.
type Capabilities struct {
	LoadSession bool `json:"loadSession"`
	Session     struct {
		Resume  *struct{} `json:"resume"`
		Close   *struct{} `json:"close"`
		Folders *struct{} `json:"additionalDirectories"`
	} `json:"sessionCapabilities"`
}

// AuthMethod is a way to log in to an agent.
type AuthMethod struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Opening opens a session: a new one, or that with the id.
type Opening struct {
	SessionID string      `json:"sessionId,omitempty"`
	Dir       string      `json:"cwd"`
	Folders   []string    `json:"additionalDirectories,omitempty"`
	Servers   []MCPServer `json:"mcpServers"`
}

// MCPServer is a server of tools that the agent is to start.
type MCPServer struct {
	Name    string   `json:"name"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []EnvVar `json:"env"`
}

// EnvVar is a variable of a server's environment.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Opened is the answer to an opening.
type Opened struct {
	SessionID string   `json:"sessionId"`
	Modes     *Modes   `json:"modes"`
	Options   []Option `json:"configOptions"`
}

// Modes are the modes of an agent.
type Modes struct {
	Current   string `json:"currentModeId"`
	Available []struct {
		ID string `json:"id"`
	} `json:"availableModes"`
}

// Option is a setting of a session. Of a switch, Current is no string.
type Option struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Current  json.RawMessage `json:"currentValue"`
	Choices  json.RawMessage `json:"options"` // {value} or groups of them
}

// Prompted is the answer to a prompt: the end of a turn.
type Prompted struct {
	StopReason string          `json:"stopReason"` // end_turn, max_tokens, max_turn_requests, refusal, cancelled
	Usage      *Usage          `json:"usage"`
	Meta       json.RawMessage `json:"_meta"`
}

// Usage counts the tokens of a turn or a session; nil members are not known.
type Usage struct {
	Input       *int64 `json:"inputTokens"`
	Output      *int64 `json:"outputTokens"`
	CachedRead  *int64 `json:"cachedReadTokens"`
	CachedWrite *int64 `json:"cachedWriteTokens"`
	Thought     *int64 `json:"thoughtTokens"`
}

// own returns what an agent says in a way of its own that a turn used (gemini), nil if it
// does not.
func (p Prompted) own() *Usage {
	var meta struct {
		Quota struct {
			Tokens *struct {
				Input  *int64 `json:"input_tokens"`
				Output *int64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	}
	if json.Unmarshal(p.Meta, &meta) != nil || meta.Quota.Tokens == nil {
		return nil
	}
	return &Usage{Input: meta.Quota.Tokens.Input, Output: meta.Quota.Tokens.Output}
}

// Content is a block of content: type "text" has Text.
type Content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// The kinds of updates that leslie looks into.
const (
	UpdateMessage = "agent_message_chunk"
	UpdateThought = "agent_thought_chunk"
	UpdateTool    = "tool_call"
	UpdateToolNow = "tool_call_update"
	UpdateUsage   = "usage_update"
	UpdateMode    = "current_mode_update"
)

// Chunk is a piece of a message or a thought.
type Chunk struct {
	Content Content `json:"content"`
}

// UsageUpdate is the state of the context, and the cost of the session so far.
type UsageUpdate struct {
	Used int64           `json:"used"`
	Size int64           `json:"size"`
	Cost *Cost           `json:"cost"`
	Meta json.RawMessage `json:"_meta"`
}

// Cost is an amount of money.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// ToolCall is a call of a tool, or an update of one: then only what changes is there.
type ToolCall struct {
	ID        string        `json:"toolCallId"`
	Title     string        `json:"title"`
	Kind      string        `json:"kind"`
	Status    string        `json:"status"`
	Content   []ToolContent `json:"content"`
	Locations []struct {
		Path string `json:"path"`
	} `json:"locations"`
	RawInput  json.RawMessage `json:"rawInput"`
	RawOutput json.RawMessage `json:"rawOutput"`
	Meta      json.RawMessage `json:"_meta"`
}

// ToolContent is what a call shows: type "content" has Content, "diff" has Path.
type ToolContent struct {
	Type    string  `json:"type"`
	Content Content `json:"content"`
	Path    string  `json:"path"`
}

// Merge returns the call with what an update changes.
func (t ToolCall) Merge(update ToolCall) ToolCall {
	if update.Title != "" {
		t.Title = update.Title
	}
	if update.Kind != "" {
		t.Kind = update.Kind
	}
	if update.Status != "" {
		t.Status = update.Status
	}
	if update.Content != nil {
		t.Content = update.Content
	}
	if update.Locations != nil {
		t.Locations = update.Locations
	}
	if len(update.RawInput) > 0 && string(update.RawInput) != "null" {
		t.RawInput = update.RawInput
	}
	if len(update.Meta) > 0 && string(update.Meta) != "null" {
		t.Meta = update.Meta
	}
	t.ID = update.ID
	return t
}

// PermissionRequest asks whether a tool may be called.
type PermissionRequest struct {
	SessionID string             `json:"sessionId"`
	ToolCall  ToolCall           `json:"toolCall"`
	Options   []PermissionOption `json:"options"`
}

// The kinds of options that leslie chooses. It never chooses one that lasts.
const (
	AllowOnce  = "allow_once"
	RejectOnce = "reject_once"
)

// PermissionOption is a possible answer.
type PermissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// PermissionOutcome is the answer: "selected" with the option, or "cancelled", which ends
// the turn.
type PermissionOutcome struct {
	Outcome  string `json:"outcome"`
	OptionID string `json:"optionId,omitempty"`
}

// Cancelled is the answer that ends the turn.
func Cancelled() PermissionOutcome { return PermissionOutcome{Outcome: "cancelled"} }

// Choose returns the answer with the option of a kind. An agent that offers none is told
// that the turn is over, unless it is allowed for good, which is never chosen.
func (r PermissionRequest) Choose(kind string) PermissionOutcome {
	for _, o := range r.Options {
		if o.Kind == kind {
			return PermissionOutcome{Outcome: "selected", OptionID: o.ID}
		}
	}
	if kind == RejectOnce { // some agents only offer to reject for good
		for _, o := range r.Options {
			if o.Kind == "reject_always" {
				return PermissionOutcome{Outcome: "selected", OptionID: o.ID}
			}
		}
	}
	return Cancelled()
}
