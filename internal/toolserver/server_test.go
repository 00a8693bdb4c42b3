package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app"
	"leslie/internal/app/decisions"
	"leslie/internal/app/history"
	"leslie/internal/app/projects"
	"leslie/internal/app/threads"
	"leslie/thread"
)

var update = flag.Bool("update", false, "refresh golden files")

// bench is a project with the objective ship, the thread main, and part below it, and what
// a server and its client tell each other.
type bench struct {
	*testing.T
	dir    string
	env    app.Environment
	beat   chan time.Time
	caller app.Caller
	// progress and updated receive what the server tells by itself.
	progress chan *mcp.ProgressNotificationParams
	updated  chan string
	relisted chan struct{}
	server   *server // the newest
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	var ids atomic.Int64
	b := &bench{
		T: t, dir: dir, beat: make(chan time.Time), caller: app.Caller{As: thread.Agent, Actor: "anna", Thread: "main", InAgent: true},
		progress: make(chan *mcp.ProgressNotificationParams, 100), updated: make(chan string, 100), relisted: make(chan struct{}, 100),
	}
	b.env = app.Environment{
		Now: time.Now, NewID: func(prefix string) string { return prefix + fmt.Sprintf("%08d", ids.Add(1)) },
		Jitter: func(most time.Duration) time.Duration { return most }, Environ: os.Environ,
	}
	_, _, err = projects.Init(context.Background(), b.env, b.person(), app.Request{Command: "init"}, projects.InitRequest{Dir: dir})
	require.NoError(t, err)
	_, err = threads.CreateObjective(b.call(), threads.CreateObjectiveRequest{ID: "ship", Title: "Ship it"})
	require.NoError(t, err)
	for _, one := range []threads.SpawnRequest{{ID: "main", Intent: "Write the parser"}, {ID: "part", Intent: "Write its tests", Parent: "main"}} {
		_, err = threads.Spawn(b.call(), one)
		require.NoError(t, err)
	}
	return b
}

func (b *bench) person() app.Caller { return app.Caller{As: thread.User, Actor: "kim"} }

// call is a call of a person.
func (b *bench) call() *app.Call {
	b.Helper()
	p, err := app.Open(b.dir, b.env)
	require.NoError(b, err)
	return p.Call(context.Background(), b.person(), app.Request{Command: "test"})
}

func (b *bench) write(id, path, content string) {
	b.Helper()
	path = filepath.Join(b.dir, app.StoreFolder, "threads", id, path)
	require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b, os.WriteFile(path, []byte(content), 0o644))
}

func (b *bench) read(id, path string) string {
	b.Helper()
	raw, err := os.ReadFile(filepath.Join(b.dir, app.StoreFolder, "threads", id, path))
	require.NoError(b, err)
	return string(raw)
}

func (b *bench) settings() Settings {
	return Settings{
		Version: "1", Caller: b.caller, Open: func() (*app.Project, error) { return app.Open(b.dir, b.env) },
		Beat: func() (<-chan time.Time, func()) { return b.beat, func() {} },
		Context: func(op *app.Call, id string, seen bool) (thread.Thread, string, error) {
			d, err := threads.Context(op, threads.ContextRequest{Thread: id})
			if err != nil {
				return thread.Thread{}, "", err
			}
			var shown []thread.InjectionID
			for _, i := range d.Thread.Unseen() {
				shown = append(shown, i.ID)
			}
			if seen && d.Speaks {
				op.WillShow(d.Thread, shown)
			}
			return d.Thread, "context of " + string(d.Thread.ID), nil
		},
	}
}

// connect starts a server and connects a client with it.
func (b *bench) connect() *mcp.ClientSession {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	asking, asked := io.Pipe()
	answers, answering := io.Pipe()
	here := &mcp.IOTransport{Reader: answers, Writer: asked}
	over := make(chan struct{})
	b.server = newServer(ctx, b.settings())
	go func(s *server) {
		defer close(over)
		_ = s.serve(ctx, asking, answering)
		_ = answering.Close()
	}(b.server)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { b.progress <- req.Params },
		ResourceUpdatedHandler:      func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) { b.updated <- req.Params.URI },
		ResourceListChangedHandler:  func(context.Context, *mcp.ResourceListChangedRequest) { b.relisted <- struct{}{} },
	})
	session, err := client.Connect(ctx, here, nil)
	require.NoError(b, err)
	b.Cleanup(func() {
		_ = session.Close()
		cancel()
		<-over
	})
	return session
}

// answer is the answer of a tool.
type answer struct {
	all   map[string]any
	error map[string]any // nil if it worked
}

func (a answer) code() any { return a.error["code"] }

// warned returns the codes of the warnings.
func (a answer) warned() (all []any) {
	list, _ := a.all["warnings"].([]any)
	for _, w := range list {
		all = append(all, w.(map[string]any)["code"])
	}
	return all
}

// use calls a tool. What it answers is an object, and the same as text.
func (b *bench) use(session *mcp.ClientSession, name string, args map[string]any) answer {
	b.Helper()
	res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	require.NoError(b, err)
	return b.answer(res)
}

func (b *bench) answer(res *mcp.CallToolResult) answer {
	b.Helper()
	a := answer{all: res.StructuredContent.(map[string]any)}
	require.Len(b, res.Content, 1)
	structured, err := json.Marshal(res.StructuredContent)
	require.NoError(b, err)
	assert.JSONEq(b, string(structured), res.Content[0].(*mcp.TextContent).Text)
	if res.IsError {
		a.error = a.all["error"].(map[string]any)
	}
	return a
}

func TestTheToolsAreFewAndShort(t *testing.T) {
	t.Parallel()
	all := tools()
	assert.LessOrEqual(t, len(all), 17)
	length := 0
	for _, tool := range all {
		length += len(tool.description)
		for _, a := range tool.arguments {
			length += len(a.about)
		}
	}
	t.Logf("the descriptions have %d characters", length)
	assert.Less(t, length, 7200)
}

func TestTheSchemasOfTheTools(t *testing.T) {
	t.Parallel()
	var listed []*mcp.Tool
	for _, tool := range tools() {
		listed = append(listed, tool.described())
	}
	got, err := json.MarshalIndent(listed, "", "  ")
	require.NoError(t, err)
	name := filepath.Join("testdata", "tools.json")
	if *update {
		require.NoError(t, os.WriteFile(name, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got)+"\n")
}

func TestNoArgumentNamesWhoCalls(t *testing.T) {
	t.Parallel()
	for _, tool := range tools() {
		for _, a := range tool.arguments {
			assert.NotContains(t, []string{"as", "actor", "by", "user"}, a.name, "%s", tool.name)
		}
	}
}

func TestAnAgentWorksThroughAThread(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.caller.Thread = ""
	s := b.connect()
	claimed := b.use(s, "claim_next", nil)
	assert.Equal(t, "main", claimed.all["threadId"])
	assert.Equal(t, "anna", claimed.all["holder"])
	child := b.use(s, "spawn", map[string]any{"intent": "Document it", "thread": "main", "id": "docs"})
	assert.Equal(t, "main", child.all["parentId"])
	status := b.use(s, "status", map[string]any{"thread": "docs"})
	assert.Equal(t, "active", status.all["status"])
	listed := b.use(s, "status", map[string]any{"show": "ready"})
	assert.EqualValues(t, 2, listed.all["total"])
	assert.Equal(t, "docs", b.use(s, "reference", map[string]any{"thread": "main", "target": "docs"}).all["target"])
	asked := b.use(s, "ask", map[string]any{"thread": "docs", "question": "Which?", "choices": []string{"a", "b"}})
	assert.Equal(t, "human", asked.all["to"])
	assert.Equal(t, "completed", b.use(s, "done", map[string]any{"thread": "docs"}).all["status"])
	history, err := history.List(b.call(), history.ListRequest{Limit: 3})
	require.NoError(t, err)
	assert.Equal(t, "done", history.Items.Items[0].Command)
	assert.Equal(t, "anna", history.Items.Items[0].Actor)
	assert.Equal(t, thread.Agent, history.Items.Items[0].As)
	assert.JSONEq(t, `{"thread": "docs"}`, string(history.Items.Items[0].Params))
}

func TestEveryFaultOfTheArgumentsIsToldAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.connect()
	for _, one := range []struct {
		tool   string
		args   map[string]any
		fields []string
	}{
		{"spawn", map[string]any{"intnet": "x", "scope": "plan.md"}, []string{"intnet", "intent", "scope"}},
		{"spawn", map[string]any{"intent": "x", "inherit": "partial"}, []string{"scope"}},
		{"status", map[string]any{"show": "sumary", "objective": "ship"}, []string{"show", "objective"}},
		{"wait", map[string]any{"seconds": -1, "since": 3, "thread": ""}, []string{"thread", "seconds", "since"}},
		{"wait", map[string]any{"seconds": 1.5}, []string{"seconds"}},
		{"inject", map[string]any{"type": "shout"}, []string{"thread", "content", "type"}},
		{"merge", map[string]any{"sources": []string{"main"}}, []string{"sources"}},
		{"resolve", map[string]any{"merge": "merge-x", "take": "ours", "content": "x", "action": "apply"}, []string{"take", "content", "conflict"}},
		{"context", map[string]any{"as": "user", "actor": "kim"}, []string{"actor", "as"}},
		{"reference", map[string]any{"refresh": "ref-x", "target": "part"}, []string{"target"}},
	} {
		a := b.use(s, one.tool, one.args)
		require.Equal(t, "T903", a.code(), "%s %v: %v", one.tool, one.args, a.all)
		var fields []string
		for _, f := range a.error["details"].(map[string]any)["fields"].([]any) {
			fields = append(fields, f.(map[string]any)["field"].(string))
		}
		assert.Equal(t, one.fields, fields, "%s %v", one.tool, one.args)
		assert.Contains(t, a.error["hint"], "The arguments of "+one.tool)
	}
	assert.Contains(t, b.use(s, "spawn", map[string]any{"intnet": "x"}).error["message"], "did you mean intent?")
}

func TestAnErrorHasCodeHintAndNext(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.use(b.connect(), "status", map[string]any{"thread": "nobody"})
	assert.Equal(t, "T101", a.code())
	assert.Equal(t, "thread_not_found", a.error["kind"])
	assert.NotEmpty(t, a.error["hint"])
	assert.Equal(t, []any{`status {"show":"threads"}`}, a.error["next"])
	assert.Equal(t, map[string]any{"threadId": "nobody", "operation": "status", "changed": false}, a.error["details"])
}

func TestAnUnknownToolIsNamedWithTheOnesThatThereAre(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.connect().CallTool(context.Background(), &mcp.CallToolParams{Name: "stats"})
	var refusal *jsonrpc.Error
	require.ErrorAs(t, err, &refusal)
	assert.Contains(t, refusal.Message, "did you mean status?")
}

func TestWithoutAStoreEachToolAnswersT504(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.dir = b.TempDir()
	s := b.connect()
	for name, args := range map[string]map[string]any{
		"context": nil, "claim_next": nil, "spawn": {"intent": "x"}, "status": nil, "reference": {"target": "x"}, "diff": nil, "inject": {"thread": "x", "content": "x"},
		"ask": {"question": "x"}, "wait": nil, "land": {"threads": []string{"x"}}, "merge": {"sources": []string{"x"}}, "resolve": {"merge": "x"}, "done": nil,
	} {
		a := b.use(s, name, args)
		assert.Equal(t, "T504", a.code(), "%s", name)
		assert.NotEmpty(t, a.error["hint"], "%s", name)
	}
	_, err := s.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "leslie://thread/main/context"})
	assert.ErrorContains(t, err, "T504")
	listed, err := s.ListResources(context.Background(), nil)
	require.NoError(t, err)
	assert.Empty(t, listed.Resources)
}

func TestMessagesAreToldWithEachAnswerUntilTheyAreRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := threads.Inject(b.call(), threads.InjectRequest{Thread: "main", Type: thread.InjectFeedback, Content: "Look at the tests"})
	require.NoError(t, err)
	s := b.connect()
	assert.Equal(t, []any{"W105"}, b.use(s, "status", nil).warned())
	assert.Equal(t, "T113", b.use(s, "done", nil).code())
	_, err = s.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "leslie://thread/main/context"})
	require.NoError(t, err)
	assert.Equal(t, []any{"W105"}, b.use(s, "status", nil).warned(), "reading a resource marks nothing as read")
	b.use(s, "context", nil)
	assert.Empty(t, b.use(s, "status", nil).warned())
	assert.Equal(t, "completed", b.use(s, "done", nil).all["status"])
}

func TestAnAgentMayNotDecideWhatAPersonDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.connect()
	_, err := decisions.Transfer(b.call(), decisions.TransferRequest{Thread: "part", Direction: decisions.RequestApproval, Scope: []string{"deploy"}})
	require.NoError(t, err)
	assert.Equal(t, "T102", b.use(s, "done", map[string]any{"thread": "part"}).code(), "it waits for a person")
	_, err = threads.Claim(b.call(), threads.ClaimRequest{Thread: "main"})
	require.NoError(t, err)
	b.caller.Thread, b.caller.Actor = "", "ben"
	assert.Equal(t, "T108", b.use(b.connect(), "done", map[string]any{"thread": "main"}).code(), "somebody else has claimed it")
}

// diverge makes main and part change the same line.
func (b *bench) diverge() {
	b.Helper()
	b.write("main", "plan.md", "one\ntwo\nthree\n")
	_, err := threads.Spawn(b.call(), threads.SpawnRequest{ID: "child", Intent: "Plan", Parent: "main", Inherit: thread.InheritFull})
	require.NoError(b, err)
	b.write("main", "plan.md", "one\ntwo of main\nthree\n")
	b.write("child", "plan.md", "one\ntwo of child\nthree\n")
}

func TestAMergeIsResolvedAndApplied(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.diverge()
	s := b.connect()
	merged := b.use(s, "merge", map[string]any{"sources": []string{"child"}})
	require.Equal(t, "T301", merged.code(), "%v", merged.all)
	require.Contains(t, merged.all, "data", "what the merge waits for stands beside the error")
	id := merged.error["details"].(map[string]any)["mergeId"].(string)
	open := b.use(s, "resolve", map[string]any{"merge": id})
	require.Len(t, open.all["conflicts"], 1)
	prompt, err := s.GetPrompt(context.Background(), &mcp.GetPromptParams{Name: "resolve_merge", Arguments: map[string]string{"merge": id}})
	require.NoError(t, err)
	assert.Contains(t, prompt.Messages[0].Content.(*mcp.TextContent).Text, "two of child")
	conflict := open.all["conflicts"].([]any)[0].(map[string]any)["conflictId"]
	decided := b.use(s, "resolve", map[string]any{"merge": id, "conflict": conflict, "content": "two of both\n", "reason": "both are right"})
	require.Nil(t, decided.error, "%v", decided.all)
	assert.EqualValues(t, 0, decided.all["unresolved"])
	applied := b.use(s, "resolve", map[string]any{"merge": id, "action": "apply"})
	assert.Equal(t, "merged", applied.all["status"])
	assert.Equal(t, "one\ntwo of both\nthree\n", b.read("main", "plan.md"))
	assert.Equal(t, "T303", b.use(s, "resolve", map[string]any{"merge": id}).code())
}

func TestATextForAConflictNeverReplacesTheFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("main", "plan.md", "# Plan\none\n\ntwo\n\nthree\nend\n")
	_, err := threads.Spawn(b.call(), threads.SpawnRequest{ID: "child", Intent: "Plan", Parent: "main", Inherit: thread.InheritFull})
	require.NoError(t, err)
	b.write("main", "plan.md", "# Plan\none of main\n\ntwo\n\nthree of main\nend\n")
	b.write("child", "plan.md", "# Plan\none of child\n\ntwo\n\nthree of child\nend\n")
	s := b.connect()
	merged := b.use(s, "merge", map[string]any{"sources": []string{"child"}})
	id := merged.error["details"].(map[string]any)["mergeId"].(string)
	refused := b.use(s, "resolve", map[string]any{"merge": id, "conflict": "plan.md", "content": "one of both\n"})
	assert.Equal(t, "T903", refused.code(), "%v", refused.all)
	assert.Contains(t, refused.error["message"], "has 2 conflicts, and the content is for one")
	open := b.use(s, "resolve", map[string]any{"merge": id})
	first := open.all["conflicts"].([]any)[0].(map[string]any)["conflictId"]
	require.Nil(t, b.use(s, "resolve", map[string]any{"merge": id, "conflict": first, "content": "one of both\n"}).error)
	require.Nil(t, b.use(s, "resolve", map[string]any{"merge": id, "take": "ours"}).error)
	require.Nil(t, b.use(s, "resolve", map[string]any{"merge": id, "action": "apply"}).error)
	assert.Equal(t, "# Plan\none of both\n\ntwo\n\nthree of main\nend\n", b.read("main", "plan.md"))
}

func TestAPathWithOneConflictTakesItsText(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.diverge()
	s := b.connect()
	merged := b.use(s, "merge", map[string]any{"sources": []string{"child"}})
	id := merged.error["details"].(map[string]any)["mergeId"].(string)
	require.Nil(t, b.use(s, "resolve", map[string]any{"merge": id, "conflict": "plan.md", "content": "two of both\n"}).error)
	whole := b.use(s, "resolve", map[string]any{"merge": id, "conflict": "plan.md", "content": "all of it\n", "whole": true, "replace": true})
	require.Nil(t, whole.error, "%v", whole.all)
	lost := whole.all["lost"].([]any)[0].(map[string]any)
	assert.EqualValues(t, 3, lost["lines"])
	assert.Equal(t, []any{"one", "two of main", "three"}, lost["text"])
	require.Nil(t, b.use(s, "resolve", map[string]any{"merge": id, "conflict": "plan.md", "content": "two of both\n", "replace": true}).error)
	require.Nil(t, b.use(s, "resolve", map[string]any{"merge": id, "action": "apply"}).error)
	assert.Equal(t, "one\ntwo of both\nthree\n", b.read("main", "plan.md"))
}

func TestAMergeIsAborted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.diverge()
	s := b.connect()
	merged := b.use(s, "merge", map[string]any{"sources": []string{"child"}})
	id := merged.error["details"].(map[string]any)["mergeId"].(string)
	assert.Equal(t, "aborted", b.use(s, "resolve", map[string]any{"merge": id, "action": "abort"}).all["status"])
	assert.Equal(t, "one\ntwo of main\nthree\n", b.read("main", "plan.md"))
}

func TestAWaitTellsHowItGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.connect()
	params := &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"thread": "part"}}
	params.SetProgressToken("token")
	over := make(chan answer)
	go func() {
		res, err := s.CallTool(context.Background(), params)
		assert.NoError(t, err)
		over <- b.answer(res)
	}()
	first := <-b.progress
	assert.Equal(t, "waiting", first.Message)
	assert.Equal(t, "token", first.ProgressToken)
	b.beat <- time.Time{}
	second := <-b.progress
	assert.Greater(t, second.Progress, first.Progress)
	_, err := threads.Lifecycle(b.call(), threads.LifecycleRequest{Thread: "part", Action: thread.Done})
	require.NoError(t, err)
	assert.Equal(t, true, (<-over).all["met"])
}

func TestACancelledWaitEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.connect()
	ctx, cancel := context.WithCancel(context.Background())
	params := &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"thread": "part", "seconds": 3600}}
	params.SetProgressToken("token")
	over := make(chan error)
	go func() {
		_, err := s.CallTool(ctx, params)
		over <- err
	}()
	<-b.progress
	cancel()
	require.ErrorIs(t, <-over, context.Canceled)
	assert.Eventually(t, func() bool {
		select {
		case b.beat <- time.Time{}: // somebody still waits for it
			return false
		default:
			return true
		}
	}, 10*time.Second, time.Millisecond, "nothing of the call goes on")
	assert.Equal(t, "active", b.use(s, "status", map[string]any{"thread": "part"}).all["status"], "the server goes on")
}

func TestResourcesAreReadAndListed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("main", "notes/a b.md", "hello\n")
	b.write("main", "image.bin", "\x00\x01")
	s := b.connect()
	ctx := context.Background()
	listed, err := s.ListResources(ctx, nil)
	require.NoError(t, err)
	var uris []string
	for _, r := range listed.Resources {
		uris = append(uris, r.URI)
	}
	assert.Equal(t, []string{"leslie://thread/main/context", "leslie://thread/part/context"}, uris)
	for uri, want := range map[string]string{
		"leslie://thread/main/context": "context of main", "leslie://thread/main/artifacts/notes/a%20b.md": "hello\n",
	} {
		got, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		require.NoError(t, err, "%s", uri)
		assert.Equal(t, want, got.Contents[0].Text, "%s", uri)
	}
	got, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "leslie://thread/main/artifacts/image.bin"})
	require.NoError(t, err)
	assert.Equal(t, []byte("\x00\x01"), got.Contents[0].Blob)
	got, err = s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "leslie://thread/main/artifacts"})
	require.NoError(t, err)
	assert.Contains(t, got.Contents[0].Text, `"path":"notes/a b.md"`)
	for uri, code := range map[string]string{
		"leslie://thread/nobody/context": "T101", "leslie://thread/main/artifacts/none.md": "T203", "leslie://thread/main/artifacts/..%2f..%2fconfig.json": "T507",
		"leslie://thread/main/nothing": "not found", "leslie://thread/main/artifacts/%2": "not found", "leslie://thread/main/artifacts/%zz": "not found", "file:///etc/passwd": "not found",
	} {
		_, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		assert.ErrorContains(t, err, code, "%s", uri)
	}
}

func TestWhatChangesIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.connect()
	ctx := context.Background()
	for _, id := range []string{"main", "part"} {
		require.NoError(t, s.Subscribe(ctx, &mcp.SubscribeParams{URI: "leslie://thread/" + id + "/context"}))
	}
	heard := func(n int) { // the server hears later what its client wants
		require.Eventually(t, func() bool {
			b.server.mu.Lock()
			defer b.server.mu.Unlock()
			return b.server.watching && len(b.server.subscribed) == n
		}, 10*time.Second, time.Millisecond)
	}
	heard(2)
	_, err := threads.Inject(b.call(), threads.InjectRequest{Thread: "part", Type: thread.InjectFeedback, Content: "x"})
	require.NoError(t, err)
	assert.Equal(t, "leslie://thread/part/context", <-b.updated)
	require.Eventually(t, func() bool { // the library sends changes that are close together once
		_, err := threads.Spawn(b.call(), threads.SpawnRequest{Intent: "x"})
		require.NoError(t, err)
		select {
		case <-b.relisted:
			return true
		default:
			return false
		}
	}, 10*time.Second, 20*time.Millisecond, "the list has changed")
	require.NoError(t, s.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: "leslie://thread/part/context"}))
	heard(1)
	for _, id := range []string{"part", "main"} {
		_, err = threads.Inject(b.call(), threads.InjectRequest{Thread: id, Type: thread.InjectFeedback, Content: "y"})
		require.NoError(t, err)
	}
	assert.Equal(t, "leslie://thread/main/context", <-b.updated, "not that of part")
}

func TestHostileTextsAreOnlyData(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hostile := "\x1b[2J\x07\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\u2028"
	_, err := threads.Spawn(b.call(), threads.SpawnRequest{ID: "bad", Intent: hostile, Title: "x\x1b[2J"})
	require.NoError(t, err)
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"status","arguments":{"thread":"bad"}}}` + "\n"
	out := b.serve(in, 2)
	for _, line := range out {
		assert.True(t, json.Valid([]byte(line)), "%q", line)
		assert.NotContains(t, line, "\x1b")
	}
	var m struct {
		Result struct{ StructuredContent struct{ Intent string } }
	}
	require.NoError(t, json.Unmarshal([]byte(out[1]), &m))
	assert.Equal(t, hostile, m.Result.StructuredContent.Intent)
}

func TestWhatIsNoMessageEndsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	for bad, want := range map[string]string{
		"{nonsense": `"code":-32700`, "\xff\xfe": `"code":-32700`, `"text"`: `"code":-32600`, `[]`: `"code":-32600`, `{"jsonrpc":"1.0","id":"a","method":"ping"}`: `"id":"a"`,
		`{"id":{},"method":"ping"}`: `"id":null`, strings.Repeat("x", maxLine+2): `"code":-32600`, `{"jsonrpc":"2.0","id":9,"method":"no/such"}`: `"code":-32601`,
		`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"status","arguments":[1]}}`: `T903`, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":7}`: `"error"`,
	} {
		out := b.serve(initialize+bad+"\r\n\n"+`{"jsonrpc":"2.0","id":3,"method":"ping"}`+"\n", 3)
		all := strings.Join(out, "\n")
		assert.Contains(t, all, want, "%.80q", bad)
		assert.Contains(t, all, `"id":3,"result":{}`, "%.80q: the next message counts", bad)
	}
}

func TestARequestRightBeforeTheEndIsAnswered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"status","arguments":{}}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	out := make(written, 10)
	require.NoError(t, Serve(context.Background(), strings.NewReader(in), out, b.settings()))
	close(out)
	var all strings.Builder
	for line := range out {
		all.WriteString(line)
	}
	for _, id := range []string{`"id":1,`, `"id":"s","result"`, `"id":2,"result":{}`} {
		assert.Contains(t, all.String(), id)
	}
}

func TestMessagesCountAsReadOnceTheAnswerIsWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := threads.Inject(b.call(), threads.InjectRequest{Thread: "main", Type: thread.InjectFeedback, Content: "Look at the tests"})
	require.NoError(t, err)
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"context","arguments":{}}}` + "\n"
	unread := func() int {
		d, err := threads.Context(b.call(), threads.ContextRequest{Thread: "main"})
		require.NoError(t, err)
		return len(d.Thread.Unseen())
	}
	full := &fullAt{mark: `"id":"c"`}
	_ = Serve(context.Background(), strings.NewReader(in), full, b.settings()) // what it ends with does not matter
	assert.True(t, full.met)
	assert.Equal(t, 1, unread())
	require.NoError(t, Serve(context.Background(), strings.NewReader(in), make(written, 10), b.settings()))
	assert.Zero(t, unread())
}

// fullAt is a stream that cannot take the line with a mark.
type fullAt struct {
	mark string
	met  bool
}

func (f *fullAt) Write(p []byte) (int, error) {
	if strings.Contains(string(p), f.mark) {
		f.met = true
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

// serve has a server read a text, and returns the first lines that it answers with.
func (b *bench) serve(in string, count int) (lines []string) {
	b.Helper()
	reader := &open{Reader: strings.NewReader(in), closed: make(chan struct{})}
	out := make(written, count+10)
	over := make(chan error)
	go func() { over <- Serve(context.Background(), reader, out, b.settings()) }()
	for range count {
		select {
		case line := <-out:
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		case err := <-over:
			require.Fail(b, "it ended", "%v after %q", err, lines)
		}
	}
	close(reader.closed)
	require.NoError(b, <-over)
	return lines
}

// open is a stream that ends only when it is closed.
type open struct {
	*strings.Reader
	closed chan struct{}
}

func (r *open) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		<-r.closed
	}
	return n, err
}

// written receives what is written, a message at a time.
type written chan string

func (w written) Write(p []byte) (int, error) { w <- string(p); return len(p), nil }

func TestTheWholeRoundNeedsNothingButTools(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.caller.Thread, b.caller.Actor = "", "anna"
	anna := b.connect()
	b.caller.Actor = "bert"
	bert := b.connect()

	require.Equal(t, "T903", b.use(anna, "context", nil).code(), "she has no thread yet")
	require.Equal(t, "main", b.use(anna, "claim_next", nil).all["threadId"])
	require.Equal(t, "part", b.use(bert, "claim_next", nil).all["threadId"])
	_, err := threads.Inject(b.call(), threads.InjectRequest{Thread: "main", Type: thread.InjectConstraint, Urgency: thread.Immediate, Content: "Stop"})
	require.NoError(t, err)
	assert.Equal(t, []any{"W105"}, b.use(anna, "status", nil).warned())
	assert.Equal(t, "T113", b.use(anna, "done", nil).code())
	assert.Equal(t, "main", b.use(anna, "context", nil).all["threadId"])
	assert.Empty(t, b.use(anna, "status", nil).warned(), "it is read")

	// A question, and its answer.
	question := b.use(bert, "ask", map[string]any{"to": "main", "question": "Which?"}).all["questionId"]
	assert.Equal(t, []any{"W105"}, b.use(anna, "status", nil).warned())
	b.use(anna, "context", nil)
	assert.Equal(t, "this", b.use(anna, "answer", map[string]any{"question": question, "text": "this"}).all["answer"])
	assert.Equal(t, "part", b.use(bert, "context", nil).all["threadId"])

	// A comment keeps it from done, until it is resolved.
	b.write("part", "plan.md", "one\n")
	_, err = threads.Comment(b.call(), threads.CommentRequest{Thread: "part", Place: "plan.md:1", Text: "Why?"})
	require.NoError(t, err)
	refused := b.use(bert, "done", nil)
	assert.Equal(t, "T113", refused.code())
	assert.Equal(t, []any{`comments {"thread":"part"}`}, refused.error["next"])
	open := b.use(bert, "comments", nil).all["items"].([]any)
	require.Len(t, open, 1)
	assert.Equal(t, "resolved", b.use(bert, "comments", map[string]any{"resolve": open[0].(map[string]any)["commentId"]}).all["state"])

	// A checkpoint, an approval, the end of one, and the other handed on.
	assert.Equal(t, "part", b.use(bert, "checkpoint", map[string]any{"name": "first"}).all["threadId"])
	asked := b.use(bert, "transfer", map[string]any{"direction": "request_approval", "scope": []string{"deploy"}})
	assert.Equal(t, "waiting_human", asked.all["threadStatus"])
	_, err = decisions.Decide(b.call(), decisions.DecideRequest{Approval: asked.all["approvalId"].(string), Decision: thread.Approve})
	require.NoError(t, err)
	b.use(bert, "context", nil)
	assert.Equal(t, "completed", b.use(bert, "done", nil).all["status"])
	assert.Equal(t, "merged", b.use(anna, "merge", map[string]any{"sources": []string{"part"}}).all["status"])
	handed := b.use(anna, "transfer", map[string]any{"direction": "handoff", "to": "bert"})
	assert.Equal(t, "main", handed.all["threadId"])
	assert.Equal(t, "T903", b.use(anna, "done", nil).code(), "it is hers no more")
	assert.Equal(t, "main", b.use(bert, "claim_next", map[string]any{"thread": "main"}).all["threadId"])
	assert.Equal(t, "main", b.use(bert, "transfer", map[string]any{"direction": "release"}).all["threadId"])
	assert.Equal(t, "main", b.use(anna, "claim_next", nil).all["threadId"])
	b.use(anna, "context", nil)
	assert.Equal(t, "completed", b.use(anna, "done", nil).all["status"])
}

func TestWhoHoldsOneThreadSpeaksForItAfterARestart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.caller.Thread = ""
	require.Equal(t, "main", b.use(b.connect(), "claim_next", nil).all["threadId"])
	again := b.connect()
	assert.Equal(t, "main", b.use(again, "context", nil).all["threadId"])
	b.use(again, "claim_next", map[string]any{"thread": "part"})
	assert.Equal(t, "part", b.use(again, "context", nil).all["threadId"], "the newest claim")
	assert.Equal(t, "main", b.use(again, "context", map[string]any{"thread": "main"}).all["threadId"])
	assert.Equal(t, "T903", b.use(b.connect(), "context", nil).code(), "two are held")
}

func TestLinesOfTheCommandAreCallsOfTools(t *testing.T) {
	t.Parallel()
	for line, call := range map[string]string{
		"leslie context --thread t1":                                    `context {"thread":"t1"}`,
		"leslie list --ready":                                           `status {"show":"ready"}`,
		"leslie claim --next":                                           `claim_next {}`,
		"leslie done t1 --uncommitted leave --no-commits":               `done {"no_commits":true,"thread":"t1","uncommitted":"leave"}`,
		"leslie merge --sources a,b --target t":                         `merge {"sources":["a","b"],"thread":"t"}`,
		"leslie merge resolve M plan.md --take ours":                    `resolve {"conflict":"plan.md","merge":"M","take":"ours"}`,
		"leslie merge continue M":                                       `resolve {"action":"apply","merge":"M"}`,
		"leslie land a b --squash":                                      `land {"how":"squash","threads":["a","b"]}`,
		"leslie release t1 --reason late":                               `transfer {"direction":"release","reason":"late","thread":"t1"}`,
		"leslie comment resolve c-1":                                    `comments {"resolve":"c-1"}`,
		"leslie reference refresh ref-1":                                `reference {"refresh":"ref-1"}`,
		"leslie transfer t --direction request_approval --scope deploy": `transfer {"direction":"request_approval","scope":["deploy"],"thread":"t"}`,
	} {
		got, ok := asCall(line)
		assert.True(t, ok, line)
		assert.Equal(t, call, got)
	}
	for _, line := range []string{"leslie code restore t1", "leslie context shows why", "git fetch", "leslie done t1 --force", "leslie claim --next --wait 90s", "leslie done 'x"} {
		_, ok := asCall(line)
		assert.False(t, ok, line)
	}
	assert.Equal(t, "once you have acted: comments {\"resolve\":\"c-1\"}\n  done {\"thread\":\"t1\"}: complete it; (diff {\"thread\":\"t1\"})",
		inCalls("once you have acted: leslie comment resolve c-1\n  leslie done t1: complete it; (leslie diff t1)"))
}
