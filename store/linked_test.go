package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/ledger"
	"leslie/internal/ledger/ledgertest"
	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/internal/content"
	"leslie/store/internal/journal"
	"leslie/store/internal/teststore"
	"leslie/store/replica"
	"leslie/thread"
	"leslie/warnings"
)

// This file tests projects on several machines: each store is the copy of one log in
// memory.

// cluster is an engine and the project that is in it.
type cluster struct {
	engine  *ledgertest.Memory
	project string
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{engine: &ledgertest.Memory{Now: teststore.Clock}, project: "proj-1"}
	require.NoError(t, c.engine.Create(context.Background(), ledger.Address{Project: c.project}))
	return c
}

func (c *cluster) link(t testing.TB, machine string) *replica.Link {
	t.Helper()
	l, err := c.engine.Open(ledger.Address{Project: c.project})
	require.NoError(t, err)
	return &replica.Link{Remote: replica.Remote{URL: "memory", Project: c.project}, Ledger: l, Machine: machine}
}

// machine is a new copy on another machine.
func (c *cluster) machine(t testing.TB, name string) *store.Store {
	t.Helper()
	s := teststore.New(t, store.Options{})
	l := c.link(t, name)
	require.NoError(t, s.Connect(context.Background(), store.Wait{}, l))
	s = teststore.With(s, store.Options{Link: l})
	refresh(t, s)
	return s
}

func refresh(t testing.TB, s *store.Store) warnings.List {
	t.Helper()
	notes, err := s.Refresh(context.Background(), nil)
	require.NoError(t, err)
	return notes
}

// requireAlike checks that stores have the same records, each undamaged and without
// anything left to do.
func requireAlike(t testing.TB, all ...*store.Store) {
	t.Helper()
	var first []byte
	for i, s := range all {
		refresh(t, s)
		now, err := s.Files().Load()
		require.NoError(t, err)
		assert.Empty(t, now.Warnings)
		text, err := json.Marshal(now.Records)
		require.NoError(t, err)
		if i == 0 {
			first = text
		}
		assert.Equal(t, string(first), string(text), "copy %d", i)
		report, err := doctor.Doctor{Store: s}.Diagnose(context.Background())
		require.NoError(t, err)
		for _, f := range report.Findings {
			assert.True(t, f.Info, "copy %d: %s %s", i, f.Path, f.Message)
		}
	}
}

func TestManyMachinesWriteOneLog(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const machines, each = 6, 8
	all := make([]*store.Store, machines)
	for i := range all {
		all[i] = c.machine(t, fmt.Sprint("m", i))
	}
	var going sync.WaitGroup
	for i, s := range all {
		going.Go(func() {
			for n := range each {
				name := fmt.Sprintf("obj-%d-%d", i, n)
				made, err := s.Update(context.Background(), teststore.CallNamed(name), teststore.Create(name))
				assert.NoError(t, err)
				assert.True(t, made.Changed)
			}
		})
	}
	going.Wait()
	requireAlike(t, all...)
	found, view, err := teststore.Seen(all[0])
	require.NoError(t, err)
	assert.Len(t, found, machines*each)
	assert.Equal(t, thread.Revision(machines*each), view.Revision)
	assert.Empty(t, view.Warnings)
}

// A copy that is made later gets everything, in few steps and with a whole journal.
func TestALateCopyHasTheWholeHistory(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	teststore.Add(t, a, teststore.Names(30)...)
	b := c.machine(t, "b")
	requireAlike(t, a, b)
	h, err := b.History(context.Background(), store.HistoryQuery{})
	require.NoError(t, err)
	require.Len(t, h.Operations, 30)
	for _, op := range h.Operations {
		assert.NotEmpty(t, op.Chain)
		assert.Equal(t, "a", op.Machine)
	}
}

func TestARequestIsAnsweredOnceOnAllMachines(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	call := teststore.CallNamed("obj-new")
	call.Request = "try-1"
	made, err := a.Update(context.Background(), call, teststore.Create("obj-new"))
	require.NoError(t, err)
	require.True(t, made.Changed)
	call.Stamp.Operation = "op-again"
	again, err := b.Update(context.Background(), call, teststore.Create("obj-new"))
	require.NoError(t, err)
	assert.False(t, again.Changed)
	assert.JSONEq(t, `{"objectiveId":"obj-new"}`, string(again.Replay))
	assert.True(t, teststore.HasWarning(again.Warnings, warnings.RequestReplayed))
	requireAlike(t, a, b)
}

// A copy that is killed at any step while it catches up knows all requests afterwards: a
// repeated one would run again.
func TestRequestsAreKnownWhereverACopyWasKilled(t *testing.T) {
	t.Parallel()
	for step := 1; ; step++ {
		c := newCluster(t)
		a, b := c.machine(t, "a"), c.machine(t, "b")
		var calls []store.Call
		for _, name := range teststore.Names(3) {
			call := teststore.CallNamed(name)
			call.Request = "try-" + name
			_, err := a.Update(context.Background(), call, teststore.Create(name))
			require.NoError(t, err)
			calls = append(calls, call)
		}
		n := 0
		killed := teststore.With(b, store.Options{Link: c.link(t, "b"), Before: func(store.Action, string) error {
			if n++; n >= step {
				return errors.New("killed")
			}
			return nil
		}})
		_, _ = killed.Refresh(context.Background(), nil)
		whole := teststore.With(b, store.Options{Link: c.link(t, "b")})
		refresh(t, whole)
		for i, call := range calls {
			call.Stamp.Operation = "op-again"
			again, err := whole.Update(context.Background(), call, teststore.Create("obj-again"))
			require.NoError(t, err)
			assert.NotEmpty(t, again.Replay, "step %d, request %d", step, i)
		}
		requireAlike(t, a, whole)
		if step > n {
			assert.Greater(t, n, 10, "steps were counted")
			return
		}
	}
}

// What a machine refuses by what it knows is asked for first: another may have changed it.
func TestARefusalIsConfirmed(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	teststore.Add(t, a, "obj-1")
	ran := 0
	made, err := b.Update(context.Background(), teststore.CallNamed("obj-2"), func(st *thread.State) (store.Outcome, error) {
		ran++
		if _, there := st.Objectives.Get("obj-1"); !there {
			return store.Outcome{}, codes.ObjectiveNotFound.New()
		}
		return teststore.Create("obj-2")(st)
	})
	require.NoError(t, err)
	assert.True(t, made.Changed)
	assert.Equal(t, 2, ran)
	requireAlike(t, a, b)
}

func TestWithoutTheLogACopyIsReadAndNotWritten(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	teststore.Add(t, a, "obj-1")
	c.engine.Before = func(string, string) error { return ledger.ErrUnreachable }
	notes := refresh(t, a)
	require.True(t, teststore.HasWarning(notes, warnings.CacheOld))
	found, _, err := teststore.Seen(a)
	require.NoError(t, err)
	assert.Equal(t, []string{"obj-1"}, found)
	_, err = a.Update(context.Background(), teststore.CallNamed("obj-2"), teststore.Create("obj-2"))
	teststore.RequireCode(t, codes.RemoteUnreachable, err)
	c.engine.Before = nil
	b := c.machine(t, "b")
	requireAlike(t, a, b)
	found, _, _ = teststore.Seen(a)
	assert.Equal(t, []string{"obj-1"}, found)
}

func TestOfflineNobodyIsAsked(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	teststore.Add(t, a, "obj-1")
	a.Link().Offline = true
	c.engine.Before = func(call, _ string) error { t.Error("asked: " + call); return ledger.ErrUnreachable }
	assert.True(t, teststore.HasWarning(refresh(t, a), warnings.CacheOld))
	_, err := a.Update(context.Background(), teststore.CallNamed("obj-2"), teststore.Create("obj-2"))
	teststore.RequireCode(t, codes.RemoteUnreachable, err)
}

// An operation whose answer is lost stands once, and the next call knows it.
func TestALostAnswerIsResolvedByTheNextCall(t *testing.T) {
	t.Parallel()
	for _, stands := range []bool{true, false} {
		c := newCluster(t)
		a := c.machine(t, "a")
		call := teststore.CallNamed("obj-1")
		call.Request = "try-1"
		lost := func(name, _ string) error {
			if name == "append" {
				return ledger.ErrUnknown
			}
			return nil
		}
		if stands {
			c.engine.After = lost
		} else {
			c.engine.Before = lost
		}
		_, err := a.Update(context.Background(), call, teststore.Create("obj-1"))
		teststore.RequireCode(t, codes.OutcomeUnknown, err)
		c.engine.Before, c.engine.After = nil, nil
		call.Stamp.Operation = "op-again"
		made, err := a.Update(context.Background(), call, teststore.Create("obj-1"))
		require.NoError(t, err)
		assert.Equal(t, !stands, made.Changed)
		assert.Equal(t, stands, made.Replay != nil)
		requireAlike(t, a, c.machine(t, "b"))
		found, view, _ := teststore.Seen(a)
		assert.Equal(t, []string{"obj-1"}, found)
		assert.Equal(t, thread.Revision(1), view.Revision)
	}
}

func TestALogThatIsNoContinuationIsRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	teststore.Add(t, a, "obj-1", "obj-2", "obj-3")
	before := teststore.Listing(t, a)
	c.engine.Cut(c.project, 2)
	_, err := a.Refresh(context.Background(), nil)
	teststore.RequireCode(t, codes.RemoteDiverged, err)
	_, err = a.Update(context.Background(), teststore.CallNamed("obj-4"), teststore.Create("obj-4"))
	teststore.RequireCode(t, codes.RemoteDiverged, err)
	b := c.machine(t, "b")
	teststore.Add(t, b, "obj-other")
	_, err = a.Refresh(context.Background(), nil)
	teststore.RequireCode(t, codes.RemoteDiverged, err)
	teststore.Add(t, b, "obj-more")
	_, err = a.Refresh(context.Background(), nil)
	teststore.RequireCode(t, codes.RemoteDiverged, err)
	assert.Equal(t, before, teststore.Listing(t, a), "nothing was changed here")
}

// A store becomes a log; what it had is on every machine, and it goes on.
func TestAStoreFillsALog(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(12)...)
	l := c.link(t, "a")
	broken := errors.Join(ledger.ErrUnreachable, errors.New("cut"))
	n := 0
	c.engine.Before = func(call, _ string) error {
		if n++; call == "append" && n > 6 {
			return broken
		}
		return nil
	}
	teststore.RequireCode(t, codes.RemoteUnreachable, s.Fill(context.Background(), store.Wait{}, l, nil))
	remote, err := replica.Read(s.Root())
	require.NoError(t, err)
	assert.Nil(t, remote, "it is not connected yet")
	begun, err := s.Started()
	require.NoError(t, err)
	assert.Equal(t, &l.Remote, begun)
	c.engine.Before = nil
	require.NoError(t, s.Fill(context.Background(), store.Wait{}, l, nil))
	remote, err = replica.Read(s.Root())
	require.NoError(t, err)
	assert.Equal(t, &l.Remote, remote)

	teststore.RequireCode(t, codes.RemoteUnreachable, second(s.Update(context.Background(), teststore.CallNamed("obj-x"), teststore.Create("obj-x"))))
	a, b := teststore.With(s, store.Options{Link: l}), c.machine(t, "b")
	teststore.Add(t, a, "obj-a")
	teststore.Add(t, b, "obj-b")
	requireAlike(t, a, b)
	name, err := a.Machine()
	require.NoError(t, err)
	assert.Equal(t, "a", name)

	require.NoError(t, b.Leave(context.Background(), store.Wait{}))
	teststore.Add(t, teststore.With(b, store.Options{}), "obj-own")
}

func second[T any](_ T, err error) error { return err }

// Every step on the disk fails once, while a copy catches up and while it writes: it
// agrees with the log afterwards, and no operation is there twice or gone.
func TestACopyAgreesWithTheLogWhateverStepFails(t *testing.T) {
	t.Parallel()
	for step := 1; ; step++ {
		c := newCluster(t)
		a := c.machine(t, "a")
		b := c.machine(t, "b")
		spawnThread(t, a, "t1")
		writeFile(t, a, "t1", "plan.md", "one\n")
		publishFiles(t, a, "t1", "first")
		teststore.Add(t, a, teststore.Names(3)...)
		n := 0
		failing := teststore.With(b, store.Options{Link: c.link(t, "b"), Before: func(store.Action, string) error {
			if n++; n == step {
				return errors.New("fails")
			}
			return nil
		}})
		_, _ = failing.Refresh(context.Background(), nil)
		_, _ = failing.Fetch(context.Background(), store.Wait{}, "t1")
		_, failed := failing.Update(context.Background(), teststore.CallNamed("obj-new"), teststore.Create("obj-new"))
		require.False(t, codes.Has(failed, codes.RemoteDiverged), "step %d: %v", step, failed)
		whole := teststore.With(b, store.Options{Link: c.link(t, "b")})
		refresh(t, whole)
		found, _, err := teststore.Seen(whole)
		require.NoError(t, err)
		assert.Equal(t, failed == nil, slices.Contains(found, "obj-new"), "step %d", step)
		_, err = whole.Fetch(context.Background(), store.Wait{}, "t1")
		require.NoError(t, err)
		assert.Equal(t, "one\n", readFile(t, whole, "t1", "plan.md"), "step %d", step)
		teststore.Add(t, whole, "obj-last")
		requireAlike(t, a, whole)
		if step > n {
			assert.Greater(t, n, 40, "steps were counted")
			return
		}
	}
}

func writeFile(t testing.TB, s *store.Store, id, name, text string) {
	t.Helper()
	path := s.Path(store.ThreadsDir + "/" + id + "/" + name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func readFile(t testing.TB, s *store.Store, id, name string) string {
	t.Helper()
	data, err := os.ReadFile(s.Path(store.ThreadsDir + "/" + id + "/" + name))
	if errors.Is(err, os.ErrNotExist) {
		return "(none)"
	}
	require.NoError(t, err)
	return string(data)
}

// spawnThread records a thread.
func spawnThread(t testing.TB, s *store.Store, id string) {
	t.Helper()
	call := teststore.CallNamed("spawn-" + id)
	_, err := s.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		if _, there := st.Objectives.Get("ship"); !there {
			st.Objectives.Put(thread.Objective{ID: "ship", Title: "Ship", CreatedAt: teststore.Clock()})
		}
		_, err := st.Spawn(thread.NewThread{ID: thread.ThreadID(id), Objective: "ship", Title: "T", Intent: "Do it", Inherit: thread.InheritNone, Executor: thread.ByAgent}, call.Stamp)
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: store.ThreadsDir + "/" + id})
		return store.Outcome{Thread: thread.ThreadID(id)}, err
	})
	require.NoError(t, err)
}

// publishFiles records the files of a thread as they are.
func publishFiles(t testing.TB, s *store.Store, id, name string) store.Commit {
	t.Helper()
	c, err := s.Update(context.Background(), teststore.CallNamed(name), func(st *thread.State) (store.Outcome, error) {
		st.HandOn(thread.ThreadID(id))
		return store.Outcome{}, nil
	})
	require.NoError(t, err)
	return c
}

func fetch(t testing.TB, s *store.Store, id string) warnings.List {
	t.Helper()
	refresh(t, s)
	notes, err := s.Fetch(context.Background(), store.Wait{}, thread.ThreadID(id))
	require.NoError(t, err)
	return notes
}

func TestFilesTravelAndLocalEditsStay(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	spawnThread(t, a, "t1")
	b := c.machine(t, "b")
	for name, text := range map[string]string{"plan.md": "1\n", "gone.md": "1\n", "sub/deep.md": "1\n", "both.md": "1\n", "lost.md": "1\n", "lines.md": "a\nb\nc\nd\n", "bytes": "a\x00\nb\nc\nd\n"} {
		writeFile(t, a, "t1", name, text)
	}
	publishFiles(t, a, "t1", "first")
	assert.Equal(t, "(none)", readFile(t, b, "t1", "plan.md"), "nobody has looked yet")
	assert.Empty(t, fetch(t, b, "t1"))
	assert.Equal(t, "1\n", readFile(t, b, "t1", "sub/deep.md"))

	writeFile(t, a, "t1", "plan.md", "2\n")
	writeFile(t, a, "t1", "both.md", "theirs\n")
	writeFile(t, a, "t1", "new.md", "new\n")
	writeFile(t, a, "t1", "lines.md", "a from a\nb\nc\nd\n")
	writeFile(t, a, "t1", "bytes", "a\x00 from a\nb\nc\nd\n")
	require.NoError(t, os.Remove(a.Path(store.ThreadsDir+"/t1/gone.md")))
	require.NoError(t, os.Remove(a.Path(store.ThreadsDir+"/t1/lost.md")))
	publishFiles(t, a, "t1", "second")
	writeFile(t, b, "t1", "both.md", "mine\n")
	writeFile(t, b, "t1", "lines.md", "a\nb\nc\nd from b\n")
	writeFile(t, b, "t1", "bytes", "a\x00\nb\nc\nd from b\n")
	writeFile(t, b, "t1", "lost.md", "kept\n")
	writeFile(t, b, "t1", "own.md", "unpublished\n")
	notes := fetch(t, b, "t1")
	require.Len(t, notes, 3)
	assert.Equal(t, warnings.DeletionNotKept.NewOfPaths([]string{"lost.md"}, nil, fact.Of("threadId", thread.ThreadID("t1"))), notes[2])
	assert.Equal(t, warnings.LocalEditsKept.NewOfPaths([]string{"both.md", "bytes"}, nil, fact.Of("threadId", thread.ThreadID("t1"))), notes[0])
	assert.Equal(t, warnings.LocalEditsMerged.NewOfPaths([]string{"lines.md"}, nil, fact.Of("threadId", thread.ThreadID("t1"))), notes[1])
	assert.Equal(t, "2\n", readFile(t, b, "t1", "plan.md"))
	assert.Equal(t, "a from a\nb\nc\nd from b\n", readFile(t, b, "t1", "lines.md"), "changes of different lines")
	assert.Equal(t, "a\x00\nb\nc\nd from b\n", readFile(t, b, "t1", "bytes"), "no text")
	assert.Equal(t, "new\n", readFile(t, b, "t1", "new.md"))
	assert.Equal(t, "(none)", readFile(t, b, "t1", "gone.md"))
	assert.Equal(t, "mine\n", readFile(t, b, "t1", "both.md"))
	assert.Equal(t, "kept\n", readFile(t, b, "t1", "lost.md"))
	assert.Equal(t, "unpublished\n", readFile(t, b, "t1", "own.md"))
	beside, err := filepath.Glob(b.Path(store.ThreadsDir + "/t1/both*merge-remote-*"))
	require.NoError(t, err)
	require.Len(t, beside, 1)
	theirs, err := os.ReadFile(beside[0])
	require.NoError(t, err)
	assert.Equal(t, "theirs\n", string(theirs))
	assert.Empty(t, fetch(t, b, "t1"), "named once")

	require.NoError(t, os.Remove(beside[0]))
	publishFiles(t, b, "t1", "third")
	assert.Empty(t, fetch(t, a, "t1"))
	assert.Equal(t, "mine\n", readFile(t, a, "t1", "both.md"))
	assert.Equal(t, "kept\n", readFile(t, a, "t1", "lost.md"))
	requireAlike(t, a, b)
}

// Whoever publishes what another machine has changed in the meantime gets that first.
func TestPublishingBeginsWithWhatOthersPublished(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	spawnThread(t, a, "t1")
	writeFile(t, a, "t1", "plan.md", "1\n")
	publishFiles(t, a, "t1", "first")
	b := c.machine(t, "b")
	fetch(t, b, "t1")
	writeFile(t, a, "t1", "plan.md", "2\n")
	writeFile(t, b, "t1", "other.md", "b\n")
	publishFiles(t, a, "t1", "second")
	publishFiles(t, b, "t1", "third") // has not looked since
	assert.Equal(t, "2\n", readFile(t, b, "t1", "plan.md"))
	fetch(t, a, "t1")
	assert.Equal(t, "2\n", readFile(t, a, "t1", "plan.md"))
	assert.Equal(t, "b\n", readFile(t, a, "t1", "other.md"))
	requireAlike(t, a, b)
}

// A missing folder is damage: published as it is, it would delete the files elsewhere.
func TestAMissingFolderIsNotPublished(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	spawnThread(t, a, "t1")
	writeFile(t, a, "t1", "plan.md", "1\n")
	publishFiles(t, a, "t1", "first")
	b := c.machine(t, "b")
	fetch(t, b, "t1")
	require.NoError(t, os.RemoveAll(a.Path(store.ThreadsDir+"/t1")))
	before := string(teststore.Read(t, a, store.StateFile))
	for name, rule := range map[string]func(*thread.State) (store.Outcome, error){
		"publish": func(*thread.State) (store.Outcome, error) { return store.Outcome{}, nil },
		"done": func(st *thread.State) (store.Outcome, error) {
			th, _ := st.Threads.Get("t1")
			th.Status = thread.Completed
			st.Threads.Put(th)
			return store.Outcome{Thread: th.ID}, nil
		},
	} {
		_, err := a.Update(context.Background(), teststore.CallNamed(name), func(st *thread.State) (store.Outcome, error) {
			st.HandOn("t1")
			return rule(st)
		})
		teststore.RequireCode(t, codes.TargetCorrupted, err)
		assert.Equal(t, before, string(teststore.Read(t, a, store.StateFile)), name)
	}
	assert.Empty(t, fetch(t, b, "t1"))
	assert.Equal(t, "1\n", readFile(t, b, "t1", "plan.md"))
}

func TestContentThatIsMissingHereIsFetched(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	id := content.IDOf([]byte("text"))
	require.NoError(t, a.Link().Ledger.PutBlob(context.Background(), string(id), []byte("text")))
	got, err := b.Blob(id)
	require.NoError(t, err)
	assert.Equal(t, "text", string(got))
	c.engine.Before = func(string, string) error { return ledger.ErrUnreachable }
	got, err = b.Blob(id)
	require.NoError(t, err, "it was kept")
	assert.Equal(t, "text", string(got))
	_, err = b.Blob(content.IDOf([]byte("nowhere")))
	teststore.RequireCode(t, codes.RemoteUnreachable, err)
}

// A long operation is a blob, and its line names it.
func TestALongOperationTravels(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	_, err := a.Update(context.Background(), teststore.CallNamed("long"), func(st *thread.State) (store.Outcome, error) {
		for i := range 3000 {
			st.Objectives.Put(thread.Objective{ID: thread.ObjectiveID(fmt.Sprintf("obj-%04d", i)), Title: "A long title that makes it long enough, with some more", CreatedAt: teststore.Clock()})
		}
		return store.Outcome{}, nil
	})
	require.NoError(t, err)
	requireAlike(t, a, b)
}

// A process that dies when it has appended operations of the log to its journal, and not
// yet written the state, leaves a copy that is as new as the journal, without a warning.
func TestAJournalAheadOfItsStateIsRolledForward(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	spawnThread(t, a, "t1")
	spawnThread(t, a, "t2")
	b := c.machine(t, "b")
	teststore.Add(t, a, "obj-0")
	spawnThread(t, a, "t3")
	spawnThread(t, a, "t4")
	state, journalBefore := teststore.Read(t, b, store.StateFile), teststore.Read(t, b, store.JournalFile)
	refresh(t, b)
	lines := teststore.Read(t, b, store.JournalFile)[len(journalBefore):]
	teststore.Put(t, b, store.StateFile, state)
	teststore.Put(t, b, store.JournalFile, append(journalBefore, lines...))
	require.NoError(t, os.RemoveAll(b.Path(store.ThreadsDir+"/t3")))
	require.NoError(t, os.Remove(b.Path(store.BackupFile)))
	teststore.Put(t, b, store.BackupFile, state)
	_, view, err := teststore.Seen(b)
	require.NoError(t, err)
	assert.Empty(t, view.Warnings)
	assert.Equal(t, thread.Revision(5), view.Revision)
	teststore.Add(t, b, "obj-1")
	requireAlike(t, a, b)
}

// A log that its servers lost is made anew of the copy that knows most; the others go on
// with it, and one that knew other operations is refused.
func TestALostLogIsMadeAnewOfACopy(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	teststore.Add(t, a, "obj-1", "obj-2")
	b, behind := c.machine(t, "b"), c.machine(t, "behind")
	teststore.Add(t, a, "obj-3")
	refresh(t, b)
	late := c.machine(t, "late")
	c.engine.Drop(c.project)
	teststore.RequireCode(t, codes.RemoteDiverged, second(b.Refresh(context.Background(), nil)))
	require.NoError(t, c.engine.Create(context.Background(), ledger.Address{Project: c.project}))
	teststore.RequireCode(t, codes.RemoteDiverged, second(b.Refresh(context.Background(), nil)))

	require.NoError(t, b.Fill(context.Background(), store.Wait{}, c.link(t, "b"), nil))
	refresh(t, late)
	teststore.Add(t, late, "obj-4") // the first to write knows the log's new lines
	teststore.Add(t, b, "obj-5")
	requireAlike(t, b, a, behind, late, c.machine(t, "new"))
	found, _, err := teststore.Seen(behind)
	require.NoError(t, err)
	assert.Len(t, found, 5)
}

func TestTheLogsLinesAreChained(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.machine(t, "a")
	teststore.Add(t, a, "obj-1", "obj-2", "obj-3")
	chain := replica.Sum([]byte(c.project))
	require.NoError(t, a.Link().Ledger.After(context.Background(), 0, func(line ledger.Line) error {
		var text replica.Line
		require.NoError(t, json.Unmarshal(line.Data, &text))
		assert.Equal(t, chain, text.Prev)
		e, ok := journal.FromLog(text.Entry)
		require.True(t, ok)
		assert.Equal(t, text.ID, e.ID)
		chain = replica.Sum(line.Data)
		return nil
	}))
	now, err := a.Files().Load()
	require.NoError(t, err)
	assert.Equal(t, chain, now.Operation.Chain)
}

// Whoever waits is told of what another machine does: one process follows the log, and
// those beside it see the copy change.
func TestWhoeverWaitsIsToldOfOtherMachines(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	beside := teststore.With(b, store.Options{Link: c.link(t, "b")})
	first, second := b.Watch(store.StateFile), beside.Watch(store.StateFile)
	defer first.Close()
	defer second.Close()
	for n := range 3 {
		teststore.Add(t, a, fmt.Sprint("obj-", n))
		for _, w := range []*store.Watcher{first, second} {
			for known := 0; known <= n; {
				require.NoError(t, w.Next(context.Background(), time.Second))
				found, view, err := teststore.Seen(b)
				require.NoError(t, err)
				assert.Empty(t, view.Warnings)
				known = len(found)
			}
		}
	}
	requireAlike(t, a, b)
}

// A thread that was made, got a message and was undone before a copy caught up leaves
// nothing to do there.
func TestAThreadThatCameAndWentLeavesNothingToDo(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	spawnThread(t, a, "t1")
	for _, step := range []thread.Step{{Do: thread.StepAppend, To: "threads/t1/.meta/messages.jsonl", Line: `{}`}, {Do: thread.StepRemove, To: "threads/t1"}} {
		_, err := a.Update(context.Background(), teststore.CallNamed("obj-"+string(step.Do)), func(st *thread.State) (store.Outcome, error) {
			if step.Do == thread.StepRemove {
				st.Threads.Delete("t1")
			}
			st.Plan(step)
			return teststore.Create("obj-" + string(step.Do))(st)
		})
		require.NoError(t, err)
	}
	teststore.Add(t, a, "obj-last")
	made, err := b.Update(context.Background(), teststore.CallNamed("obj-b"), teststore.Create("obj-b"))
	require.NoError(t, err)
	assert.Empty(t, made.Warnings)
	assert.NoFileExists(t, b.Path("threads/t1"))
	requireAlike(t, a, b)
}

// turns counts who waits for a turn.
type turns struct {
	ledger.Ledger
	taken, given int
}

func (l *turns) Turn(ctx context.Context) (func(), error) {
	l.taken++
	done, err := l.Ledger.Turn(ctx)
	return func() { l.given++; done() }, err
}

// Where another machine wrote just now, whoever writes waits for a turn at once, and gives
// it back when the log has the operation; where nobody did, nobody waits. Who wrote last does
// not pass the others for that.
func TestATurnIsTakenWhereOthersWrite(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	teststore.Add(t, a, "obj-a")
	for _, kind := range []struct {
		name   string
		later  time.Duration
		own    int // operations of its own before
		wanted int
	}{{"at-once", store.BusyFor / 2, 0, 1}, {"after-own", store.BusyFor / 2, 3, 1}, {"later", store.BusyFor, 0, 0}, {"after-many-own", store.BusyFor / 2, store.BusyAmong, 0}} {
		for n := range kind.own {
			later := teststore.With(b, store.Options{Link: c.link(t, "b"), Now: func() time.Time { return teststore.Clock().Add(store.BusyFor) }})
			teststore.Add(t, later, fmt.Sprint("obj-", kind.name, n))
		}
		l := c.link(t, "b")
		counted := &turns{Ledger: l.Ledger}
		l.Ledger = counted
		s := teststore.With(b, store.Options{Link: l, Now: func() time.Time { return teststore.Clock().Add(kind.later) }})
		refresh(t, b)
		made, err := s.Update(context.Background(), teststore.CallNamed("obj-"+kind.name), teststore.Create("obj-"+kind.name))
		require.NoError(t, err)
		require.True(t, made.Changed)
		assert.Equal(t, kind.wanted, counted.taken, kind.name)
		assert.Equal(t, kind.wanted, counted.given, kind.name)
	}
	requireAlike(t, a, b)
}

func TestAnotherMachinesHoldersAreHeardOfByWhatTheyWrite(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.machine(t, "a"), c.machine(t, "b")
	spawnThread(t, a, "it")
	refresh(t, b)
	v, err := b.View(context.Background(), func(*thread.State) error { return nil })
	require.NoError(t, err)
	require.NotZero(t, v.Revision)
	assert.Equal(t, teststore.Clock().UTC().Truncate(time.Second), b.HeardOf("ann").Truncate(time.Second))
	assert.Zero(t, a.HeardOf("bob"))
}
