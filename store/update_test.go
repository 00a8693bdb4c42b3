package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/store/internal/state"
	"leslie/store/internal/statefile"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

func TestAnUpdateIsOneRevisionAndOneLineOfTheJournal(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	for i, name := range teststore.Names(3) {
		c := teststore.Add(t, s, name)
		assert.Equal(t, thread.Revision(i+1), c.Revision)
		assert.Equal(t, thread.OperationID("op-"+name), c.Operation)
		assert.Empty(t, c.Warnings)
	}
	teststore.RequireHolds(t, s, teststore.Names(3), false)
	h, err := s.History(context.Background(), store.HistoryQuery{})
	require.NoError(t, err)
	require.Len(t, h.Operations, 3)
	assert.Equal(t, thread.Revision(3), h.Operations[0].Seq)
	assert.Equal(t, 3, h.Total)
	backup, err := statefile.Decode(teststore.Read(t, s, store.BackupFile))
	require.NoError(t, err)
	assert.Equal(t, thread.Revision(2), backup.Revision, "the backup is the state before the last write")
	teststore.RequireTidy(t, s)
}

func TestTheStateFileIsOneJSONObjectWithEveryKey(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	for range 2 {
		var object map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(teststore.Read(t, s, store.StateFile), &object))
		for _, key := range append(thread.Tables(), "version", "revision", "checksum", "operation", "pending") {
			assert.Contains(t, object, key)
		}
		teststore.Add(t, s, "obj-"+string(rune('a'+len(object["objectives"])%20)))
	}
}

func TestAnUpdateThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	before := teststore.Listing(t, s)
	broken := errors.New("broken")
	cases := map[string]func(*thread.State) (store.Outcome, error){
		"an error": func(st *thread.State) (store.Outcome, error) {
			st.Objectives.Delete("obj-0000")
			return store.Outcome{}, broken
		},
		"no change": func(*thread.State) (store.Outcome, error) { return store.Outcome{}, nil },
		"the same record again": func(st *thread.State) (store.Outcome, error) {
			o, _ := st.Objectives.Get("obj-0000")
			st.Objectives.Put(o)
			return store.Outcome{}, nil
		},
	}
	for name, fn := range cases {
		c, err := s.Update(context.Background(), teststore.CallNamed("x"), fn)
		if name == "an error" {
			require.ErrorIs(t, err, broken)
		} else {
			require.NoError(t, err)
			assert.Equal(t, store.Commit{Revision: 2}, c)
		}
		assert.Equal(t, before, teststore.Listing(t, s), name)
	}
}

func TestAPanicChangesNothingAndFreesTheLock(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	before := teststore.Listing(t, s)
	require.PanicsWithValue(t, "boom", func() {
		_, _ = s.Update(context.Background(), teststore.CallNamed("x"), func(st *thread.State) (store.Outcome, error) {
			_, _ = teststore.Create("x")(st)
			panic("boom")
		})
	})
	assert.Equal(t, before, teststore.Listing(t, s))
	teststore.Add(t, s, "obj-after")
}

func TestACancelledCallIsInterruptedAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	before := teststore.Listing(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := s.Update(ctx, teststore.CallNamed("x"), func(st *thread.State) (store.Outcome, error) {
		cancel()
		return teststore.Create("x")(st)
	})
	teststore.RequireCode(t, codes.Interrupted, err)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.View(ctx, func(*thread.State) error { return nil })
	teststore.RequireCode(t, codes.Interrupted, err)
	assert.Equal(t, before, teststore.Listing(t, s))
}

func TestFromTheRenameOnACancelledCallIsFinished(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	s := teststore.New(t, store.Options{})
	s = teststore.With(s, store.Options{Before: func(a store.Action, path string) error {
		if a == store.ActRename && path == s.Path(store.StateFile) {
			cancel()
		}
		return nil
	}})
	c, err := s.Update(ctx, teststore.CallNamed("x"), teststore.Create("x"))
	require.NoError(t, err)
	assert.True(t, c.Changed)
	assert.Empty(t, c.Warnings)
	teststore.RequireHolds(t, s, []string{"x"}, false)
}

func TestAStaleRevisionWinsOverRulesButNotOverIds(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, "obj-a", "obj-b") // obj-b changes at 2
	at := func(r thread.Revision) *thread.Revision { return &r }
	run := func(expect thread.Revision, end error) error {
		call := teststore.CallNamed("x")
		call.Expect = at(expect)
		_, err := s.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
			o, _ := st.Objectives.Get("obj-b")
			o.Title = "changed"
			st.Objectives.Put(o)
			return store.Outcome{}, end
		})
		return err
	}
	e := teststore.RequireCode(t, codes.StaleRevision, run(1, nil))
	assert.Equal(t, "obj-b", e.Facts().Text("id"))
	assert.Equal(t, "2", e.Facts().Text("actual"))
	assert.Equal(t, "1", e.Facts().Text("expected"))
	for _, code := range []codes.Code{codes.InvalidTransition, codes.NotWritable, codes.Claimed} {
		teststore.RequireCode(t, codes.StaleRevision, run(1, code.New()))
		teststore.RequireCode(t, code, run(2, code.New()))
	}
	teststore.RequireCode(t, codes.ThreadNotFound, run(1, codes.ThreadNotFound.New(fact.Of("threadId", "x"))))
	require.NoError(t, run(2, nil))
}

func TestAStoreWithoutRightsToWriteIsReadAndRefusesWrites(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	require.NoError(t, os.Chmod(s.Path("."), 0o555))
	t.Cleanup(func() { _ = os.Chmod(s.Path("."), 0o755) })
	before := teststore.Listing(t, s)
	teststore.RequireHolds(t, s, teststore.Names(2), false)
	if os.Geteuid() == 0 {
		s = teststore.With(s, store.Options{Before: func(store.Action, string) error { return os.ErrPermission }})
	}
	_, err := s.Update(context.Background(), teststore.CallNamed("x"), teststore.Create("x"))
	e := teststore.RequireCode(t, codes.WriteFailed, err)
	assert.Equal(t, ".leslie/thread_relations.json", e.Facts().Text("path"))
	assert.Equal(t, before, teststore.Listing(t, s))
}

func TestTheStepsOfAnUpdateComeInTheOrderThatMatters(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"a request": {
			"create thread_relations.json", "write thread_relations.json", "fsync thread_relations.json",
			"link thread_relations.json.bak.tmp", "rename thread_relations.json.bak", "rename thread_relations.json",
			"create operations.jsonl", "write operations.jsonl", "fsync-dir .", "fsync operations.jsonl",
			"mkdir requests", "create " + state.AnswerFile("try/1"), "write " + state.AnswerFile("try/1"), "fsync " + state.AnswerFile("try/1"), "rename " + state.AnswerFile("try/1"), "fsync-dir .", "fsync-dir requests",
		},
		"an archived thread": {
			"fsync-dir .", // of the folder that was made before
			"create archive.jsonl", "write archive.jsonl", "fsync archive.jsonl", "fsync-dir .",
			"create thread_relations.json", "write thread_relations.json", "fsync thread_relations.json",
			"link thread_relations.json.bak.tmp", "rename thread_relations.json.bak", "rename thread_relations.json",
			"create operations.jsonl", "write operations.jsonl", "fsync-dir .", "fsync operations.jsonl",
		},
		"a recovery": {
			"create thread_relations.json", "write thread_relations.json", "fsync thread_relations.json",
			"rename thread_relations.json.set-aside-20260209T120000Z", "rename thread_relations.json",
			"create operations.jsonl", "write operations.jsonl", "fsync-dir .", "fsync operations.jsonl",
		},
	} {
		sc := scenarios()[name]
		s := sc.prepared(t)
		var got []string
		note := func(a store.Action, path string) error {
			rel, err := filepath.Rel(s.Path("."), path)
			if dir := filepath.Dir(rel); dir != store.ThreadsDir && rel != store.ThreadsDir {
				got = append(got, string(a)+" "+filepath.ToSlash(rel))
			}
			return err
		}
		require.NoError(t, sc.run(s.Root(), store.Options{Now: teststore.Clock, Before: note}))
		assert.Equal(t, want, got, name)
	}
}

// Whoever ends a context may say why in an error of his own.
func TestAnUpdateThatIsInterruptedForAReasonOfItsOwnIsT904(t *testing.T) {
	t.Parallel()
	s := teststore.New(t, store.Options{})
	why := errors.New("a signal was received")
	ctx, end := context.WithCancelCause(context.Background())
	_, err := s.Update(ctx, teststore.CallNamed("late"), func(st *thread.State) (store.Outcome, error) {
		end(why)
		return teststore.Create("obj-late")(st)
	})
	storetest.WantCode(t, err, codes.Interrupted)
	require.ErrorIs(t, err, why)
	view, err := s.View(context.Background(), func(*thread.State) error { return nil })
	require.NoError(t, err)
	assert.Zero(t, view.Revision)
}
