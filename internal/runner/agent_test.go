//go:build !windows

package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/acp"
	"leslie/internal/runner"
	"leslie/test/fakeagent"
)

// TestMain makes the test binary the agent of its own tests.
func TestMain(m *testing.M) {
	if os.Getenv("FAKE_AGENT") != "" {
		fakeagent.Main()
		return
	}
	os.Exit(m.Run())
}

type handler struct {
	mu      sync.Mutex
	said    strings.Builder
	junk    int
	refused []string
	arrived chan string
}

func (h *handler) Update(kind string, raw json.RawMessage) {
	var c acp.Chunk
	_ = json.Unmarshal(raw, &c)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said.WriteString(c.Content.Text)
	select {
	case h.arrived <- kind:
	default:
	}
}

func (h *handler) Permission(_ context.Context, r acp.PermissionRequest) acp.PermissionOutcome {
	if strings.Contains(string(r.ToolCall.RawInput), "good") {
		return r.Choose(acp.AllowOnce)
	}
	return r.Choose(acp.RejectOnce)
}

func (h *handler) Junk([]byte, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.junk++
}

func (h *handler) Refused(method string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = append(h.refused, method)
}

func (h *handler) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.said.String()
}

// spec is the fake agent, changed by some words.
func spec(t *testing.T, words string) (runner.Spec, *handler) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	h := &handler{arrived: make(chan string, 1)}
	return runner.Spec{
		Argv: []string{program}, Dir: t.TempDir(), Client: acp.Implementation{Name: "leslie", Version: "1"}, Handler: h,
		Env: []string{"FAKE_AGENT=1", "FAKE=" + words, "FAKE_STATE=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), runner.MarkVariable + "=" + filepath.Base(t.TempDir()) + t.Name()},
	}, h
}

func start(t *testing.T, words string) (*runner.Agent, *handler, runner.Spec) {
	t.Helper()
	s, h := spec(t, words)
	a, err := runner.Start(t.Context(), s)
	require.NoError(t, err)
	t.Cleanup(func() { a.End() })
	return a, h, s
}

func TestAnAgentDoesATurnAndEnds(t *testing.T) {
	t.Parallel()
	a, h, s := start(t, "modes")
	end, err := a.Prompt(t.Context(), "RUN[[echo $LESLIE_RUN; pwd]] ASK[[echo good]] ASK[[echo bad]] TALK[[2]] ODD[[]] FILE[[made.txt]] JUNK[[3]] USAGE[[5 6 0.5]]")
	require.NoError(t, err)
	assert.Equal(t, "end_turn", end.StopReason)
	assert.EqualValues(t, 5, *end.Usage.Input)
	for _, text := range []string{s.Dir, t.Name(), "ran echo good: good", "refused: echo bad", "word-1", "-32601"} {
		assert.Contains(t, h.text(), text)
	}
	assert.Equal(t, 3, h.junk)
	assert.Equal(t, []string{"_odd/method", "fs/write_text_file", "fs/read_text_file"}, h.refused)
	assert.NoFileExists(t, filepath.Join(s.Dir, "made.txt"))
	assert.Zero(t, a.End())
	assert.Zero(t, a.End(), "ending twice is ending once")
	<-a.Gone()
}

func TestASessionIsOpenedAgainOrSaidToBeLost(t *testing.T) {
	t.Parallel()
	a, h, s := start(t, "")
	_, err := a.Prompt(t.Context(), "TALK[[1]]")
	require.NoError(t, err)
	a.End()
	s.Session = a.Session
	again, err := runner.Start(t.Context(), s)
	require.NoError(t, err)
	_, err = again.Prompt(t.Context(), "TALK[[1]]")
	require.NoError(t, err)
	again.End()
	assert.Equal(t, a.Session, again.Session)
	assert.NoError(t, again.Lost)
	assert.Equal(t, 1, strings.Count(h.text(), "word-0"))
	s.Session = "of another machine"
	lost, err := runner.Start(t.Context(), s)
	require.NoError(t, err)
	lost.End()
	assert.ErrorContains(t, lost.Lost, "no such session: it is not in the folder (-32002)")
	assert.NotEqual(t, s.Session, lost.Session)
	s.Env = append(s.Env, "FAKE=noload")
	lost, err = runner.Start(t.Context(), s)
	require.NoError(t, err)
	lost.End()
	assert.ErrorContains(t, lost.Lost, "cannot open")
}

func TestWhatAnAgentRepeatsOfALoadedSessionIsNotNew(t *testing.T) {
	t.Parallel()
	s, h := spec(t, "replay")
	s.Times.Replay = time.Second
	a, err := runner.Start(t.Context(), s)
	require.NoError(t, err)
	_, err = a.Prompt(t.Context(), "TALK[[1]]")
	require.NoError(t, err)
	a.End()
	s.Session = a.Session
	again, err := runner.Start(t.Context(), s)
	require.NoError(t, err)
	_, err = again.Prompt(t.Context(), "RUN[[echo new]]")
	require.NoError(t, err)
	again.End()
	require.NoError(t, again.Lost)
	assert.NotContains(t, h.text(), "replayed")
	assert.Contains(t, h.text(), "ran echo new")
}

func TestUsageThatAnAgentTellsInItsOwnWayCounts(t *testing.T) {
	t.Parallel()
	a, _, _ := start(t, "quota")
	end, err := a.Prompt(t.Context(), "USAGE[[5 6 0]]")
	require.NoError(t, err)
	require.NotNil(t, end.Usage)
	assert.EqualValues(t, 5, *end.Usage.Input)
	assert.EqualValues(t, 6, *end.Usage.Output)
	end, err = a.Prompt(t.Context(), "TALK[[1]]")
	require.NoError(t, err)
	assert.Nil(t, end.Usage)
}

func TestAnAgentIsSetToItsAskingMode(t *testing.T) {
	t.Parallel()
	for words, unknown := range map[string]bool{"modes": false, "": true} {
		s, _ := spec(t, words)
		s.Mode = "default"
		a, err := runner.Start(t.Context(), s)
		require.NoError(t, err)
		a.End()
		assert.Equal(t, unknown, a.ModeUnknown, "%q", words)
	}
}

func TestAnAgentThatDoesNotStartSaysWhy(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]codes.Code{
		"auth": codes.AgentLogin, "fail": codes.AgentConnection, "old": codes.AgentConnection, "slow": codes.AgentTimeout,
	} {
		s, _ := spec(t, words)
		if words == "slow" {
			s.Times.Start = 50 * time.Millisecond
		}
		_, err := runner.Start(t.Context(), s)
		assert.True(t, codes.Has(err, want), "%q: %v", words, err)
	}
	s, _ := spec(t, "fail")
	_, err := runner.Start(t.Context(), s)
	assert.ErrorContains(t, err, "exit status 3")
	s.Argv = []string{"no-such-agent"}
	_, err = runner.Start(t.Context(), s)
	assert.True(t, codes.Has(err, codes.AgentUnavailable), "%v", err)
	s, _ = spec(t, "slow")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = runner.Start(ctx, s)
	assert.True(t, codes.Has(err, codes.Interrupted), "%v", err)
}

func TestTheTimeToStartIsCountedFromTheLastSignOfLife(t *testing.T) {
	t.Parallel()
	s, _ := spec(t, "warming")
	s.Times.Start = 1900 * time.Millisecond // less than what it takes
	a, err := runner.Start(t.Context(), s)
	require.NoError(t, err)
	a.End()
	s, _ = spec(t, "slow")
	s.Times.Start = 300 * time.Millisecond
	_, err = runner.Start(t.Context(), s)
	require.True(t, codes.Has(err, codes.AgentTimeout), "%v", err)
	assert.Contains(t, err.Error(), "within 300ms")
}

func TestAnAgentThatEndsBeforeItReadsSaysSo(t *testing.T) {
	t.Parallel()
	for range 5 { // what it is told may reach the pipe before it closes it
		s, _ := spec(t, "")
		s.Argv = []string{"/bin/sh", "-c", "exec <&-; sleep 0.1; exit 3"}
		_, err := runner.Start(t.Context(), s)
		require.True(t, codes.Has(err, codes.AgentConnection), "%v", err)
		assert.Contains(t, err.Error(), "it ended with exit status 3")
	}
}

func TestATurnIsCancelled(t *testing.T) {
	t.Parallel()
	a, h, _ := start(t, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-h.arrived
		cancel(fmt.Errorf("stopped"))
	}()
	end, err := a.Prompt(ctx, "HANG[[]]")
	assert.True(t, codes.Has(err, codes.Interrupted), "%v", err)
	assert.Equal(t, "cancelled", end.StopReason)
	end, err = a.Prompt(t.Context(), "TALK[[1]]")
	require.NoError(t, err, "the session goes on")
	assert.Equal(t, "end_turn", end.StopReason)
}

func TestAnAgentThatDiesEndsItsTurn(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"CRASH[[]]", "EXIT[[4]]", "HOLD[[]] CRASH[[]]"} {
		a, _, _ := start(t, "")
		_, err := a.Prompt(t.Context(), how)
		assert.True(t, codes.Has(err, codes.AgentConnection), "%s: %v", how, err)
		<-a.Gone()
	}
}

func TestNothingOfAnAgentIsLeft(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("only Linux shows the environment of processes")
	}
	a, _, s := start(t, "")
	_, err := a.Prompt(t.Context(), "LEAVE[[]]")
	require.NoError(t, err)
	assert.Equal(t, 1, a.End())
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, name := range names {
		env, _ := os.ReadFile(name)
		assert.NotContains(t, string(env), s.Env[len(s.Env)-1], "%s", name)
	}
}

func TestAnAgentThatDoesNotListenIsEnded(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"RUN[[trap '' TERM; sleep 1000]]", "DEAF[[]] RUN[[trap '' TERM; sleep 1000]]"} {
		s, h := spec(t, "")
		s.Times = runner.Times{Cancel: 50 * time.Millisecond, End: 50 * time.Millisecond}
		a, err := runner.Start(t.Context(), s)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-h.arrived
			cancel()
		}()
		_, err = a.Prompt(ctx, how)
		assert.True(t, codes.Has(err, codes.Interrupted), "%v", err)
		a.End()
		<-a.Gone()
	}
}
