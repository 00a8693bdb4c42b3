package store

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
	"leslie/store/internal/statefile"
	"leslie/store/internal/storetest"
	"leslie/thread"
)

func TestAnUpdateIsOneRevisionAndOneLineOfTheJournal(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	for i, name := range names(3) {
		c := add(t, s, name)
		assert.Equal(t, thread.Revision(i+1), c.Revision)
		assert.Equal(t, thread.OperationID("op-"+name), c.Operation)
		assert.Empty(t, c.Warnings)
	}
	requireHolds(t, s, names(3), false)
	h, err := s.History(context.Background(), HistoryQuery{})
	require.NoError(t, err)
	require.Len(t, h.Operations, 3)
	assert.Equal(t, thread.Revision(3), h.Operations[0].Seq)
	assert.Equal(t, 3, h.Total)
	backup, err := statefile.Decode(read(t, s, BackupFile))
	require.NoError(t, err)
	assert.Equal(t, thread.Revision(2), backup.Revision, "the backup is the state before the last write")
	requireTidy(t, s)
}

func TestTheStateFileIsOneJSONObjectWithEveryKey(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	for range 2 {
		var object map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(read(t, s, StateFile), &object))
		for _, key := range append(thread.Tables(), "version", "revision", "checksum", "operation", "pending") {
			assert.Contains(t, object, key)
		}
		add(t, s, "obj-"+string(rune('a'+len(object["objectives"])%20)))
	}
}

func TestAnUpdateThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(2)...)
	before := listing(t, s)
	broken := errors.New("broken")
	cases := map[string]func(*thread.State) (Outcome, error){
		"an error": func(st *thread.State) (Outcome, error) {
			st.Objectives.Delete("obj-0000")
			return Outcome{}, broken
		},
		"no change": func(*thread.State) (Outcome, error) { return Outcome{}, nil },
		"the same record again": func(st *thread.State) (Outcome, error) {
			o, _ := st.Objectives.Get("obj-0000")
			st.Objectives.Put(o)
			return Outcome{}, nil
		},
	}
	for name, fn := range cases {
		c, err := s.Update(context.Background(), callNamed("x"), fn)
		if name == "an error" {
			require.ErrorIs(t, err, broken)
		} else {
			require.NoError(t, err)
			assert.Equal(t, Commit{Revision: 2}, c)
		}
		assert.Equal(t, before, listing(t, s), name)
	}
}

func TestAPanicChangesNothingAndFreesTheLock(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	before := listing(t, s)
	require.PanicsWithValue(t, "boom", func() {
		_, _ = s.Update(context.Background(), callNamed("x"), func(st *thread.State) (Outcome, error) {
			_, _ = create("x")(st)
			panic("boom")
		})
	})
	assert.Equal(t, before, listing(t, s))
	add(t, s, "obj-after")
}

func TestACancelledCallIsInterruptedAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	before := listing(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := s.Update(ctx, callNamed("x"), func(st *thread.State) (Outcome, error) {
		cancel()
		return create("x")(st)
	})
	requireCode(t, codes.Interrupted, err)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.View(ctx, func(*thread.State) error { return nil })
	requireCode(t, codes.Interrupted, err)
	assert.Equal(t, before, listing(t, s))
}

func TestFromTheRenameOnACancelledCallIsFinished(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	s := newStore(t, Options{})
	s = with(s, Options{Before: func(a Action, path string) error {
		if a == ActRename && path == s.Path(StateFile) {
			cancel()
		}
		return nil
	}})
	c, err := s.Update(ctx, callNamed("x"), create("x"))
	require.NoError(t, err)
	assert.True(t, c.Changed)
	assert.Empty(t, c.Warnings)
	requireHolds(t, s, []string{"x"}, false)
}

func TestAStaleRevisionWinsOverRulesButNotOverIds(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, "obj-a", "obj-b") // obj-b changes at 2
	at := func(r thread.Revision) *thread.Revision { return &r }
	run := func(expect thread.Revision, end error) error {
		call := callNamed("x")
		call.Expect = at(expect)
		_, err := s.Update(context.Background(), call, func(st *thread.State) (Outcome, error) {
			o, _ := st.Objectives.Get("obj-b")
			o.Title = "changed"
			st.Objectives.Put(o)
			return Outcome{}, end
		})
		return err
	}
	e := requireCode(t, codes.StaleRevision, run(1, nil))
	assert.Equal(t, "obj-b", e.Facts().Text("id"))
	assert.Equal(t, "2", e.Facts().Text("actual"))
	assert.Equal(t, "1", e.Facts().Text("expected"))
	for _, code := range []codes.Code{codes.InvalidTransition, codes.NotWritable, codes.Claimed} {
		requireCode(t, codes.StaleRevision, run(1, code.New()))
		requireCode(t, code, run(2, code.New()))
	}
	requireCode(t, codes.ThreadNotFound, run(1, codes.ThreadNotFound.New(fact.Of("threadId", "x"))))
	require.NoError(t, run(2, nil))
}

func TestAStoreWithoutRightsToWriteIsReadAndRefusesWrites(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	add(t, s, names(2)...)
	require.NoError(t, os.Chmod(s.Path("."), 0o555))
	t.Cleanup(func() { _ = os.Chmod(s.Path("."), 0o755) })
	before := listing(t, s)
	requireHolds(t, s, names(2), false)
	if os.Geteuid() == 0 {
		s = with(s, Options{Before: func(Action, string) error { return os.ErrPermission }})
	}
	_, err := s.Update(context.Background(), callNamed("x"), create("x"))
	e := requireCode(t, codes.WriteFailed, err)
	assert.Equal(t, ".leslie/thread_relations.json", e.Facts().Text("path"))
	assert.Equal(t, before, listing(t, s))
}

func TestTheStepsOfAnUpdateComeInTheOrderThatMatters(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"a request": {
			"create thread_relations.json", "write thread_relations.json", "fsync thread_relations.json",
			"link thread_relations.json.bak.tmp", "rename thread_relations.json.bak", "rename thread_relations.json",
			"create operations.jsonl", "write operations.jsonl", "fsync-dir .", "fsync operations.jsonl",
			"mkdir requests", "create " + requestFile("try/1"), "write " + requestFile("try/1"), "fsync " + requestFile("try/1"), "rename " + requestFile("try/1"), "fsync-dir .", "fsync-dir requests",
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
		note := func(a Action, path string) error {
			rel, err := filepath.Rel(s.Path("."), path)
			if dir := filepath.Dir(rel); dir != ThreadsDir && rel != ThreadsDir {
				got = append(got, string(a)+" "+filepath.ToSlash(rel))
			}
			return err
		}
		require.NoError(t, sc.run(s.Root(), Options{Now: clock, Before: note}))
		assert.Equal(t, want, got, name)
	}
}

// Whoever ends a context may say why in an error of his own.
func TestAnUpdateThatIsInterruptedForAReasonOfItsOwnIsT904(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	why := errors.New("a signal was received")
	ctx, end := context.WithCancelCause(context.Background())
	_, err := s.Update(ctx, callNamed("late"), func(st *thread.State) (Outcome, error) {
		end(why)
		return create("obj-late")(st)
	})
	storetest.WantCode(t, err, codes.Interrupted)
	require.ErrorIs(t, err, why)
	view, err := s.View(context.Background(), func(*thread.State) error { return nil })
	require.NoError(t, err)
	assert.Zero(t, view.Revision)
}
