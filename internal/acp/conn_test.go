package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/acp"
)

// recorder is a handler that keeps what it receives.
type recorder struct {
	mu      sync.Mutex
	updates []string
	junk    []string
	sizes   []int
	refused []string
	permit  func(context.Context, acp.PermissionRequest) acp.PermissionOutcome
}

func (r *recorder) Update(kind string, raw json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updates = append(r.updates, kind+" "+string(raw))
}

func (r *recorder) Permission(ctx context.Context, request acp.PermissionRequest) acp.PermissionOutcome {
	return r.permit(ctx, request)
}

func (r *recorder) Junk(line []byte, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.junk, r.sizes = append(r.junk, string(line)), append(r.sizes, size)
}

func (r *recorder) Refused(method string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = append(r.refused, method)
}

// agent is the other side of a connection.
type agent struct {
	t   *testing.T
	in  *bufio.Scanner
	out io.WriteCloser
}

// connect returns a connection with its agent. The connection is served until the agent
// closes its output.
func connect(t *testing.T, handler acp.Handler) (*acp.Conn, *agent, <-chan error) {
	fromAgent, agentOut := io.Pipe()
	agentIn, toAgent := io.Pipe()
	conn := acp.NewConn(fromAgent, toAgent, handler)
	served := make(chan error, 1)
	go func() { served <- conn.Serve(t.Context()) }()
	t.Cleanup(func() { _, _, _ = agentOut.Close(), agentIn.Close(), fromAgent.Close() })
	lines := bufio.NewScanner(agentIn)
	lines.Buffer(nil, 1<<26)
	return conn, &agent{t, lines, agentOut}, served
}

func (a *agent) say(lines ...string) {
	for _, line := range lines {
		_, err := io.WriteString(a.out, line+"\n")
		assert.NoError(a.t, err)
	}
}

func (a *agent) hear() (m map[string]any) {
	require.True(a.t, a.in.Scan())
	require.NoError(a.t, json.Unmarshal(a.in.Bytes(), &m))
	return m
}

func update(text string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}}}`
}

func TestASessionIsOpenedPromptedAndClosed(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	conn, a, served := connect(t, r)
	go func() {
		defer a.out.Close()
		for a.in.Scan() {
			var m struct {
				ID     int             `json:"id"`
				Method string          `json:"method"`
				Params json.RawMessage `json:"params"`
			}
			assert.NoError(t, json.Unmarshal(a.in.Bytes(), &m))
			reply := map[string]string{
				"initialize":                `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{},"close":{}}},"agentInfo":{"name":"a","version":"2"},"new":[]}`,
				"session/new":               `{"sessionId":"s-1","modes":{"currentModeId":"auto","availableModes":[{"id":"auto"},{"id":"default"}]}}`,
				"session/set_mode":          `{}`,
				"session/resume":            `{"configOptions":[{"id":"m","category":"mode","currentValue":"auto","options":[{"name":"g","options":[{"value":"ask"}]}]}]}`,
				"session/set_config_option": `{"configOptions":[]}`,
				"session/prompt":            `{"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":null}}`,
				"session/close":             `{}`,
			}[m.Method]
			if m.Method == "session/prompt" {
				a.say(update("one"), update("two"))
			}
			a.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, m.ID, reply))
			if m.Method == "session/close" {
				return
			}
		}
	}()
	ctx := t.Context()
	init, err := conn.Initialize(ctx, acp.Implementation{Name: "leslie", Version: "1"})
	require.NoError(t, err)
	assert.True(t, init.Agent.LoadSession && init.Agent.Session.Resume != nil && init.Agent.Session.Close != nil && init.Agent.Session.Folders == nil)
	opened, err := conn.New(ctx, acp.Opening{Dir: "/p"})
	require.NoError(t, err)
	assert.Equal(t, "s-1", opened.SessionID)
	offered, err := conn.SetMode(ctx, opened, "default")
	assert.True(t, offered)
	require.NoError(t, err)
	offered, err = conn.SetMode(ctx, opened, "yolo")
	assert.False(t, offered)
	require.NoError(t, err)
	opened, err = conn.Resume(ctx, acp.Opening{SessionID: "s-1", Dir: "/p", Servers: []acp.MCPServer{{Name: "m", Command: "c"}}})
	require.NoError(t, err)
	assert.Equal(t, "s-1", opened.SessionID)
	offered, err = conn.SetMode(ctx, opened, "ask")
	assert.True(t, offered)
	require.NoError(t, err)
	end, err := conn.Prompt(ctx, "s-1", "do it")
	require.NoError(t, err)
	assert.Equal(t, "end_turn", end.StopReason)
	assert.EqualValues(t, 7, *end.Usage.Input)
	assert.Nil(t, end.Usage.Output)
	assert.Len(t, r.updates, 2, "all updates of a turn come before its end")
	require.NoError(t, conn.Close(ctx, "s-1"))
	assert.ErrorIs(t, <-served, acp.ErrClosed)
	assert.ErrorIs(t, conn.Call(ctx, "x", nil, nil), acp.ErrClosed)
	assert.Empty(t, r.junk)
}

func TestWhatIsNoMessageIsPassedOver(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	_, a, served := connect(t, r)
	huge := strings.Repeat("x", acp.MaxLine+100)
	a.say("", "hello", update("1"), "\x1b[31m{", `{"jsonrpc":"2.0"}`, "[]", huge, update("2"), `{"method":"session/update","params":{"update":{}}}`,
		`{"id":"no number","result":{}}`, `{"id":99,"result":{}}`, `{"method":"new/notification","params":[]}`,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"new_kind","x":[1]}}}`)
	_, err := io.WriteString(a.out, update("3")) // without an end of the line
	require.NoError(t, err)
	require.NoError(t, a.out.Close())
	assert.ErrorIs(t, <-served, acp.ErrClosed)
	assert.Len(t, r.updates, 4)
	assert.Equal(t, `new_kind {"sessionUpdate":"new_kind","x":[1]}`, r.updates[2])
	assert.Contains(t, r.updates[3], `"3"`)
	require.Len(t, r.junk, 7)
	assert.Equal(t, acp.MaxLine+101, r.sizes[4])
	assert.Len(t, r.junk[4], 4096)
}

func TestTheKindOfAnUpdateIsWhereverItsAgentWritesIt(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	_, a, served := connect(t, r)
	var want []string
	for _, u := range []string{
		`{"sessionUpdate":"a","x":1}`, `{"x":"sessionUpdate","sessionUpdate":"a"}`, `{ "sessionUpdate" : "a" }`, `{"sessionUpdate":"\u0061"}`,
		`{"sessionUpdate":"b","x":"\"sessionUpdate\"","sessionUpdate":"a"}`,
	} {
		a.say(`{"params":{"update":` + u + `},"method":"session/update"}`)
		want = append(want, "a "+u)
	}
	require.NoError(t, a.out.Close())
	assert.ErrorIs(t, <-served, acp.ErrClosed)
	assert.Equal(t, want, r.updates)
	assert.Empty(t, r.junk)
}

func TestEveryRequestIsAnswered(t *testing.T) {
	t.Parallel()
	r := &recorder{permit: func(ctx context.Context, request acp.PermissionRequest) acp.PermissionOutcome {
		if request.ToolCall.ID == "wait" {
			<-ctx.Done()
		}
		return request.Choose(acp.AllowOnce)
	}}
	_, a, served := connect(t, r)
	a.say(`{"id":"f","method":"fs/write_text_file","params":{}}`)
	m := a.hear()
	assert.Equal(t, "f", m["id"])
	assert.EqualValues(t, acp.CodeMethodNotFound, m["error"].(map[string]any)["code"])
	for _, params := range []string{`"params":{"toolCall":5}`, `"params":[]`, `"params":null`, `"other":1`} {
		a.say(`{"id":7,"method":"session/request_permission",` + params + `}`)
		assert.EqualValues(t, acp.CodeInvalidParams, a.hear()["error"].(map[string]any)["code"], params)
	}
	for _, params := range []string{`[1]`, `"x"`, `{"update":{"sessionUpdate":5},"requestId":{}}`} {
		a.say(`{"id":"f","method":"fs/read_text_file","params":` + params + `}`)
		assert.EqualValues(t, acp.CodeMethodNotFound, a.hear()["error"].(map[string]any)["code"], params)
	}
	options := `"options":[{"optionId":"always","kind":"allow_always"},{"optionId":"once","kind":"allow_once"}]`
	a.say(`{"id":8,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"wait"},`+options+`}}`,
		`{"id":9,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"now"},`+options+`}}`)
	m = a.hear()
	assert.EqualValues(t, 9, m["id"], "a request that waits holds up no other")
	assert.Equal(t, map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": "once"}}, m["result"])
	a.say(`{"method":"$/cancel_request","params":{"requestId":8}}`)
	m = a.hear()
	assert.EqualValues(t, 8, m["id"])
	assert.EqualValues(t, acp.CodeCancelled, m["error"].(map[string]any)["code"])
	require.NoError(t, a.out.Close())
	assert.ErrorIs(t, <-served, acp.ErrClosed)
	assert.Equal(t, []string{"fs/write_text_file", "fs/read_text_file", "fs/read_text_file", "fs/read_text_file"}, r.refused)
}

func TestACallEndsWithItsContextAndWithTheAgent(t *testing.T) {
	t.Parallel()
	conn, a, served := connect(t, &recorder{})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := fmt.Errorf("nobody waits")
	ended := make(chan error)
	go func() { ended <- conn.Call(ctx, "slow", nil, nil) }()
	assert.Equal(t, "slow", a.hear()["method"])
	cancel(why)
	assert.ErrorIs(t, <-ended, why)
	assert.Equal(t, "$/cancel_request", a.hear()["method"])
	a.say(`{"id":1,"result":{}}`) // too late
	go func() { ended <- conn.Call(t.Context(), "next", nil, nil) }()
	a.hear()
	a.say(`{"id":2,"error":{"code":-32000,"message":"log in"}}`)
	var answered *acp.Error
	require.ErrorAs(t, <-ended, &answered)
	assert.Equal(t, acp.CodeAuthRequired, answered.Code)
	go func() { ended <- conn.Call(t.Context(), "last", nil, nil) }()
	a.hear()
	require.NoError(t, a.out.Close())
	assert.ErrorIs(t, <-ended, acp.ErrClosed)
	<-served
}

func TestAnAgentThatDoesNotReadHoldsUpNothing(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	conn, a, served := connect(t, r)
	for range 100 { // answers that nobody reads
		a.say(`{"id":1,"method":"unknown"}`)
	}
	a.say(update("read"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, conn.Call(ctx, "session/prompt", strings.Repeat("x", 1<<20), nil), context.Canceled)
	var err error
	for range 70 {
		err = conn.Notify("session/cancel", strings.Repeat("x", 1<<20))
	}
	assert.Error(t, err, "what waits for the agent is limited")
	require.NoError(t, a.out.Close())
	<-served
	assert.Len(t, r.updates, 1)
}

func TestAChoiceNeverLasts(t *testing.T) {
	t.Parallel()
	option := func(kind string) acp.PermissionOption { return acp.PermissionOption{ID: kind, Kind: kind} }
	always := acp.PermissionRequest{Options: []acp.PermissionOption{option("allow_always"), option("reject_always")}}
	assert.Equal(t, acp.Cancelled(), always.Choose(acp.AllowOnce))
	assert.Equal(t, "reject_always", always.Choose(acp.RejectOnce).OptionID)
	assert.Equal(t, acp.Cancelled(), acp.PermissionRequest{}.Choose(acp.RejectOnce))
}

func TestAnUpdateOfACallChangesOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	var call, more acp.ToolCall
	require.NoError(t, json.Unmarshal([]byte(`{"toolCallId":"1","title":"a","kind":"edit","rawInput":{"x":1},"locations":[{"path":"/p"}]}`), &call))
	require.NoError(t, json.Unmarshal([]byte(`{"toolCallId":"1","status":"completed","rawInput":null,"content":[{"type":"diff","path":"/q"}]}`), &more))
	now := call.Merge(more)
	assert.Equal(t, "a edit completed", now.Title+" "+now.Kind+" "+now.Status)
	assert.JSONEq(t, `{"x":1}`, string(now.RawInput))
	assert.Equal(t, "/p /q", now.Locations[0].Path+" "+now.Content[0].Path)
}
