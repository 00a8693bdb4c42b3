package threads

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/app/apptest"
	"leslie/internal/app/artifacts"
	"leslie/internal/transcript"
	"leslie/store"
	"leslie/thread"
)

// claimOn returns the claim of a thread as its status shows it.
func claimOn(b *apptest.Project, id string) *app.ClaimRecord {
	b.T.Helper()
	d, err := Status(b.Person(), StatusRequest{Thread: id})
	require.NoError(b.T, err)
	require.NotNil(b.T, d.Claim)
	return d.Claim
}

func TestAHolderIsHeardOfWithAnyCallAndTheStoreStaysAsItIs(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	_, err := Claim(b.Agent("w"), ClaimRequest{Thread: "part", For: 4 * time.Hour})
	require.NoError(t, err)
	state, err := os.ReadFile(filepath.Join(b.Dir, store.Dir, store.StateFile))
	require.NoError(t, err)
	began := b.Now()
	b.Pass(40 * time.Minute)
	assert.Equal(t, began, claimOn(b, "part").HeardAt)
	assert.Equal(t, 40*time.Minute, claimOn(b, "part").Silent, "a person who looks does not speak for it")

	c := b.Agent("w")
	_, err = List(c, ListRequest{})
	require.NoError(t, err)
	c.Finish(nil)
	heard := b.Now()
	b.Pass(5 * time.Minute)
	assert.Equal(t, heard, claimOn(b, "part").HeardAt)
	after, err := os.ReadFile(filepath.Join(b.Dir, store.Dir, store.StateFile))
	require.NoError(t, err)
	assert.Equal(t, string(state), string(after), "a call that reads writes no state")

	// What cannot be kept fails no call.
	require.NoError(t, os.RemoveAll(filepath.Join(b.Dir, store.Dir, store.HeardDir)))
	require.NoError(t, os.WriteFile(filepath.Join(b.Dir, store.Dir, store.HeardDir), nil, 0o600))
	_, err = Renew(b.Agent("w"), HolderRequest{Thread: "part"})
	require.NoError(t, err)
	assert.Equal(t, began, claimOn(b, "part").HeardAt, "when it claimed the thread is recorded")
}

func TestAParentIsToldWhenTheHoldersOfItsChildrenWereHeardOf(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	_, err := Spawn(b.Person(), SpawnRequest{ID: "child", Intent: "x", Parent: "main"})
	require.NoError(t, err)
	began := b.Now()
	b.Changed("child", began)
	_, err = Claim(b.Agent("w"), ClaimRequest{Thread: "child"})
	require.NoError(t, err)
	b.Pass(10 * time.Minute)
	d, err := Context(b.Agent("lead"), ContextRequest{Thread: "main"})
	require.NoError(t, err)
	require.Len(t, d.Children, 1)
	assert.Equal(t, began, *d.Children[0].HeardAt)
	_, err = Claim(b.Agent("other"), ClaimRequest{Thread: "child"})
	assert.ErrorContains(t, err, "claimed by w")
	_, said := codes.Of(err).Facts().Get("heardAt")
	assert.True(t, said, "who is refused is told whether it is worth waiting")
}

func TestAHolderIsHeardOfWhenTheArtifactsChange(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	_, err := Claim(b.Agent("w"), ClaimRequest{Thread: "part"})
	require.NoError(t, err)
	began := b.Now()
	b.Pass(40 * time.Minute)
	b.Changed("main", b.Now())
	assert.Equal(t, began, claimOn(b, "part").HeardAt, "another thread's")
	saved := b.Now().Add(-time.Minute)
	b.Changed("part", saved)
	assert.Equal(t, saved, claimOn(b, "part").HeardAt)
	b.Changed("part", b.Now().Add(time.Hour))
	assert.Equal(t, b.Now(), claimOn(b, "part").HeardAt, "a clock that is ahead says no more than now")
	assert.Zero(t, claimOn(b, "part").Silent)
	require.NoError(t, os.RemoveAll(filepath.Join(b.Dir, store.Dir, store.ThreadsDir, "part")))
	assert.Equal(t, began, claimOn(b, "part").HeardAt, "a folder that is not there says nothing")
}

func TestAHolderIsHeardOfByEachFileThatGitKeepsOfItsWorktree(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	began := b.Now()
	b.Changed("part", began)
	admin := t.TempDir()
	owns := thread.Thread{ID: "part", Code: []thread.Code{{State: thread.CodeReady, Admin: admin}}}
	assert.Equal(t, began, b.Person().LastWork(owns).UTC(), "what is not there says nothing")
	require.NoError(t, os.Mkdir(filepath.Join(admin, "logs"), 0o700))
	for i, name := range []string{"index", "HEAD", "logs/HEAD", "COMMIT_EDITMSG"} {
		at := began.Add(time.Duration(i+1) * time.Minute)
		require.NoError(t, os.WriteFile(filepath.Join(admin, name), nil, 0o600))
		require.NoError(t, os.Chtimes(filepath.Join(admin, name), at, at))
		assert.Equal(t, at, b.Person().LastWork(owns).UTC(), name)
	}
}

func TestARunIsHeardOfWhenItsAgentSaysSomething(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	_, err := Claim(b.Agent(thread.RunHolder("part")), ClaimRequest{Thread: "part"})
	require.NoError(t, err)
	b.Pass(20 * time.Minute)
	line := b.Now().Add(-time.Minute)
	dir := filepath.Join(b.Dir, store.Dir, store.RunsDir, "part")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, transcript.Name), []byte("{}\n"), 0o600))
	require.NoError(t, os.Chtimes(filepath.Join(dir, transcript.Name), line, line))
	assert.Equal(t, line, claimOn(b, "part").HeardAt)
}

// An agent that works from the project's folder and names no thread is the agent of what it
// holds: it is told of messages, and does not complete the thread before it has read them.
func TestWhoHoldsAThreadIsItsAgentWithoutNamingIt(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, id := range []string{"main", "part"} {
		_, err := Claim(b.Agent("w"), ClaimRequest{Thread: id})
		require.NoError(t, err)
		_, err = Inject(b.Person(), InjectRequest{Thread: id, Type: thread.InjectConstraint, Content: "x"})
		require.NoError(t, err)
	}
	c := b.Agent("w")
	_, err := Lifecycle(c, LifecycleRequest{Thread: "part", Action: thread.Done})
	assert.ErrorContains(t, err, "unread")
	assert.Len(t, c.Notices(), 2, "it holds both")
	stranger := b.Agent("other")
	_, err = List(stranger, ListRequest{})
	require.NoError(t, err)
	assert.Empty(t, stranger.Notices())
	elsewhere := b.Call(context.Background(), app.Caller{As: thread.Agent, Actor: "w", Thread: "main", Dir: b.Dir}, app.Request{Command: "test"})
	d, err := Context(elsewhere, ContextRequest{Thread: "part"})
	require.NoError(t, err)
	assert.False(t, d.Speaks, "who names a thread speaks for that one alone")

	c = b.Agent("w")
	d, err = Context(c, ContextRequest{Thread: "part"})
	require.NoError(t, err)
	require.True(t, d.Speaks)
	c.WillShow(d.Thread, []thread.InjectionID{d.Thread.Unseen()[0].ID})
	assert.Len(t, c.Notices(), 1, "the other one's message waits")
	MarkSeen(c, c.Shown())
	_, err = Lifecycle(b.Agent("w"), LifecycleRequest{Thread: "part", Action: thread.Done})
	require.NoError(t, err)
}

func TestATakenThreadIsToldToWhoeverHeldItWithAnyCall(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, id := range []string{"main", "part"} {
		_, err := Claim(b.Agent("w"), ClaimRequest{Thread: id})
		require.NoError(t, err)
	}
	d, err := Claim(b.Person(), ClaimRequest{Thread: "part", TakeOver: true, Reason: "it is gone"})
	require.NoError(t, err)
	assert.Equal(t, "w", *d.TakenFrom)
	c := b.Agent("w")
	_, err = List(c, ListRequest{})
	require.NoError(t, err)
	require.Len(t, c.Notices(), 1)
	w := c.Notices()[0]
	assert.Equal(t, "Your claim on thread 'part' has ended: taken over by kim at 2026-02-09T16:00:00Z", w.Message)
	assert.Equal(t, "it is gone", w.Context.Text("reason"))
	_, err = Checkpoint(b.Agent("w"), artifacts.CheckpointRequest{Thread: "part"})
	assert.Equal(t, "it is gone", codes.Of(err).Facts().Text("endReason"))
	b.Pass(2 * time.Hour)
	c = b.Agent("w")
	_, err = List(c, ListRequest{})
	require.NoError(t, err)
	assert.Empty(t, c.Notices(), "its claim would have expired by now")
}

func TestWhatOthersDoToAThreadIsNoSignOfItsHolder(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	_, err := Claim(b.Agent("w"), ClaimRequest{Thread: "part", For: 4 * time.Hour})
	require.NoError(t, err)
	began := b.Now()
	b.Changed("part", began)
	b.Pass(10 * time.Minute)
	_, err = Inject(b.Agent("lead"), InjectRequest{Thread: "part", Type: thread.InjectFeedback, Content: "Are you there?"})
	require.NoError(t, err)
	b.Changed("part", b.Now()) // the first message makes a folder in that of the thread
	b.Pass(time.Minute)
	assert.Equal(t, began, claimOn(b, "part").HeardAt)

	// Whoever it is handed to is heard of when it says something.
	_, err = Claim(b.Agent("other"), ClaimRequest{Thread: "main"})
	require.NoError(t, err)
	_, err = Release(b.Agent("other"), HolderRequest{Thread: "main"})
	require.NoError(t, err)
	b.Pass(10 * time.Minute)
	c := b.Agent("other")
	_, err = List(c, ListRequest{})
	require.NoError(t, err)
	c.Finish(nil)
	listed := b.Now()
	b.Pass(10 * time.Minute)
	_, err = app.Write(b.Person(), func(s *thread.State, stamp thread.Stamp) (*ClaimResult, thread.ThreadID, error) {
		_, err := s.HandTo("part", "other", "", time.Hour, stamp)
		return &ClaimResult{}, "part", err
	})
	require.NoError(t, err)
	b.Changed("part", began)
	b.Pass(time.Minute)
	assert.Equal(t, listed, claimOn(b, "part").HeardAt)

	// It gets it as the next one.
	next, err := Claim(b.Agent("other"), ClaimRequest{Next: true})
	require.NoError(t, err)
	assert.Equal(t, thread.ThreadID("part"), *next.ThreadID)
	next, err = Claim(b.Agent("other"), ClaimRequest{Next: true})
	require.NoError(t, err)
	assert.True(t, next.ThreadID == nil || *next.ThreadID != "part", "it goes on with that one already")
}
