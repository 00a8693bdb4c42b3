package main

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/internal/external"
)

// connect runs leslie mcp in this process, and returns a client of it.
func (b *bench) connect(t *testing.T, args ...string) *mcp.ClientSession {
	t.Helper()
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	e := b.Env
	e.Stdin, e.Stdout = serverIn, serverOut
	status := make(chan int, 1)
	go func() {
		status <- cli.RunWith(context.Background(), commands().All(), append([]string{"mcp"}, args...), e)
		_ = serverOut.Close()
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.IOTransport{Reader: clientIn, Writer: clientOut}, nil)
	require.NoError(t, err, "%s", &b.err)
	t.Cleanup(func() {
		_ = clientOut.Close()
		assert.Zero(t, <-status, "a client that goes away is the normal end: %s", &b.err)
	})
	return session
}

// use calls a tool and returns its structured answer.
func use(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) map[string]any {
	t.Helper()
	res, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(t, err)
	return res.StructuredContent.(map[string]any)
}

func TestAToolAnswersWithTheDataOfTheCommand(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.vars["LESLIE_AS"] = "agent"
	b.vars["LESLIE_ACTOR"] = "anna"
	b.write(t, ".leslie/threads/main/plan.md", "one\n")
	s := b.connect(t)
	for _, one := range []struct {
		tool string
		args map[string]any
		line []string
	}{
		{"status", map[string]any{"thread": "main"}, []string{"status", "main"}},
		{"status", nil, []string{"status"}},
		{"status", map[string]any{"show": "threads"}, []string{"list"}},
		{"status", map[string]any{"show": "ready"}, []string{"list", "--ready"}},
		{"status", map[string]any{"show": "mine"}, []string{"list", "--mine"}},
		{"diff", map[string]any{"thread": "main", "to": "part"}, []string{"diff", "main", "part"}},
		{"wait", map[string]any{"thread": "main", "until": "ready"}, []string{"wait", "main", "--until", "ready"}},
		{"merge", map[string]any{"sources": []string{"main"}, "thread": "part", "preview": true}, []string{"merge", "main", "part", "--dry-run"}},
	} {
		got := use(t, s, one.tool, one.args)
		b.must(t, append([]string{"--format", "json"}, one.line...)...)
		want := document(t, b.out.Bytes()).Data
		raw, err := json.Marshal(want)
		require.NoError(t, err)
		structured, err := json.Marshal(got)
		require.NoError(t, err)
		assert.JSONEq(t, string(raw), string(structured), "%s %v", one.tool, one.args)
	}
	got := use(t, s, "status", map[string]any{"thread": "nobody"})
	require.NotZero(t, b.leslie("--format", "json", "status", "nobody"))
	var whole map[string]any
	require.NoError(t, json.Unmarshal(b.out.Bytes(), &whole))
	failed, refused := whole["error"].(map[string]any), got["error"].(map[string]any)
	assert.Equal(t, []any{"leslie list"}, failed["next"])
	assert.Equal(t, []any{`status {"show":"threads"}`}, refused["next"], "the same, as the call of a tool")
	delete(failed, "next")
	delete(refused, "next")
	assert.Equal(t, failed, refused)

	// A context is its text alone, with what to do next as calls.
	told := use(t, s, "context", map[string]any{"thread": "main"})
	b.must(t, "--format", "json", "context", "main")
	want := document(t, b.out.Bytes()).Data
	assert.Equal(t, want["status"], told["status"])
	assert.Len(t, told, 3)
	line, call := "  leslie done main: complete it\n", "  done {\"thread\":\"main\"}: complete it\n"
	assert.Contains(t, want["context"], line)
	assert.Contains(t, told["context"], call)
	assert.NotContains(t, told["context"], line)
}

func TestWhoeverCallsAToolIsAnAgent(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.vars["LESLIE_AS"] = "user"
	s := b.connect(t)
	for range 2 {
		claim := use(t, s, "claim_next", map[string]any{"thread": "main"})
		assert.Regexp(t, "^agent-", claim["holder"], "without a name it has one for as long as the server runs")
		assert.Equal(t, true, claim["derived"])
	}
	b.must(t, "--format", "json", "history", "--limit", "1")
	op := document(t, b.out.Bytes()).Data["items"].([]any)[0].(map[string]any)
	assert.Equal(t, "agent", op["as"])
	assert.Equal(t, "claim", op["command"])
}

func TestTheServerSpeaksForTheThreadOfItsEnvironment(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.vars["LESLIE_THREAD"], b.vars["LESLIE_ACTOR"] = "part", "anna"
	s := b.connect(t)
	assert.Equal(t, "part", use(t, s, "status", nil)["threadId"])
	assert.Equal(t, "part", use(t, s, "spawn", map[string]any{"intent": "x"})["parentId"])
	b.must(t, "inject", "part", "--content", "Read me")
	assert.Contains(t, use(t, s, "context", nil)["context"], "Read me")
	assert.NotContains(t, use(t, s, "context", nil)["context"], "Read me", "it was read")
}

func TestMcpActsForNoPerson(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	assert.Equal(t, 2, b.leslie("mcp", "--as", "user"))
	assert.Empty(t, b.out.String(), "stdout is the protocol's")
	assert.Contains(t, b.err.String(), "--as must be agent")
}

func TestCommandsOfErrorsLeadToTheStore(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	s := b.connect(t, "-C", b.Dir)
	next := use(t, s, "reference", map[string]any{"refresh": "ref-nobody"})["error"].(map[string]any)["next"].([]any)
	require.NotEmpty(t, next)
	for _, line := range next { // none of them is the call of a tool
		assert.Contains(t, line, "leslie -C "+external.Word(b.Dir)+" ")
	}
}

func TestNobodyTypesTheProtocol(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.StdinTTY = true
	assert.Equal(t, 2, b.leslie("mcp"))
	assert.Empty(t, b.out.String())
	assert.Contains(t, b.err.String(), "next: leslie help topics mcp")
}
