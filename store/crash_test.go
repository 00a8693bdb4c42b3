package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// This file kills and fails every step that the store makes on the disk, one
// after the other: how many there are is counted on an undisturbed run, so that
// a new step is tested from its first day.

// scenario is one thing that happens to a store.
type scenario struct {
	// prepare brings a store of two objectives to where run begins.
	prepare func(testing.TB, *store.Store)
	// run is what is disturbed; it may run in another process.
	run func(dir string, opts store.Options) error
	// stride, when not 0, is for one of very many steps: it is killed at every
	// stride-th from a random one on (LESLIE_EVERY_STEP=1: at each), and not
	// failed there as well.
	stride int
	// damaged: a reader is warned before run has repaired the state.
	damaged bool
	// after checks what run is to have done beside the new objective; whole says
	// whether the change stands.
	after func(t testing.TB, s *store.Store, whole bool)
}

func scenarios() map[string]scenario {
	return map[string]scenario{
		"a plain update":                    {run: runPlain},
		"a request":                         {run: runRequest, after: afterRequest},
		"an answer without an operation":    {run: runUnchanged, after: afterUnchanged},
		"an update behind an unsettled one": {prepare: prepareUnsettled, run: runPlain, after: afterUnsettled},
		"a recovery":                        {prepare: prepareDamaged, run: runPlain, damaged: true, after: afterDamaged},
		"one inode for state and backup":    {prepare: teststore.PrepareOneInode, run: runPlain},
		"an archived thread":                {prepare: teststore.PrepareThread, run: runArchive, after: afterArchive},
		"files put into place":              {prepare: teststore.PrepareFiles, run: teststore.RunPlace, after: afterPlace},
		"content kept and placed":           {prepare: teststore.PrepareThread, run: runKeep, after: afterKeep},
		"files behind an unsettled update":  {prepare: prepareHalfPlaced, run: runPlain, after: afterHalfPlaced},
		"files exchanged":                   exchangeScenario(9),
		"fifty files exchanged":             sampled(exchangeScenario(50), 10),
		"a line added":                      {prepare: prepareNoted, run: runNote, after: afterNote(notedOld)},
		"the first line of a file":          {prepare: teststore.PrepareThread, run: runNote, after: afterNote("")},
		"a line behind an unsettled update": {prepare: prepareHalfNoted, run: runPlain, after: func(t testing.TB, s *store.Store, _ bool) { afterNote(notedOld)(t, s, true) }},
		"exchanges behind an unsettled one": {prepare: prepareHalfExchanged, run: runPlain, after: func(t testing.TB, s *store.Store, _ bool) { afterExchange(t, s, true) }},
	}
}

func sampled(sc scenario, stride int) scenario {
	sc.stride = stride
	return sc
}

// chosen are the steps of n at which the scenario is disturbed: the first, the last, and of
// those between one in stride, from a random one on; with -short one in four.
func (sc scenario) chosen(n int) iter.Seq[int] {
	stride := max(sc.stride, 1)
	switch {
	case os.Getenv("LESLIE_EVERY_STEP") != "":
		stride = 1
	case testing.Short():
		stride = max(stride, 4)
	}
	from := rand.IntN(stride)
	return func(yield func(int) bool) {
		for i := 1; i <= n; i++ {
			if (i == 1 || i == n || i%stride == from) && !yield(i) {
				return
			}
		}
	}
}

func runPlain(dir string, opts store.Options) error {
	_, err := teststore.RunWith(dir, opts, teststore.CallNamed("obj-new"), teststore.Create("obj-new"))
	return err
}

func requested() store.Call {
	call := teststore.CallNamed("obj-new")
	call.Request = "try/1"
	return call
}

func runRequest(dir string, opts store.Options) error {
	_, err := teststore.RunWith(dir, opts, requested(), teststore.Create("obj-new"))
	return err
}

// afterRequest makes the call again: it is answered from what is kept, or makes
// the change if the first one did not.
func afterRequest(t testing.TB, s *store.Store, whole bool) {
	c, err := s.Update(context.Background(), requested(), teststore.Create("obj-new"))
	require.NoError(t, err)
	assert.Equal(t, whole, !c.Changed)
	if whole {
		assert.JSONEq(t, `{"objectiveId":"obj-new"}`, string(c.Replay))
		assert.Equal(t, thread.Revision(3), c.Revision)
		assert.True(t, teststore.HasWarning(c.Warnings, warnings.RequestReplayed))
	}
}

func unchanged() store.Call {
	call := teststore.CallNamed("nothing")
	call.Request = "try/2"
	return call
}

// runUnchanged is a call that had nothing to change, then an update.
func runUnchanged(dir string, opts store.Options) error {
	if err := store.Open(dir, opts).Keep(context.Background(), unchanged(), 2, json.RawMessage(`{"changed":false}`)); err != nil {
		return err
	}
	return runPlain(dir, opts)
}

// afterUnchanged: the answer is there from the first one on, and a second changes
// nothing about it.
func afterUnchanged(t testing.TB, s *store.Store, whole bool) {
	c, err := s.Answered(context.Background(), unchanged())
	require.NoError(t, err)
	answered := c != nil
	assert.True(t, answered || !whole, "what was acknowledged is kept")
	require.NoError(t, s.Keep(context.Background(), unchanged(), 9, json.RawMessage(`{"changed":false}`)))
	c, err = s.Answered(context.Background(), unchanged())
	require.NoError(t, err)
	require.NotNil(t, c)
	assert.Equal(t, !answered, c.Revision == 9)
	assert.JSONEq(t, `{"changed":false}`, string(c.Replay))
	assert.Empty(t, c.Operation)
}

// prepareUnsettled leaves a state whose operation is neither in the journal nor
// answered, as a kill behind the rename does.
func prepareUnsettled(t testing.TB, s *store.Store) {
	journal := teststore.Read(t, s, store.JournalFile)
	call := teststore.CallNamed("obj-owed")
	call.Request = "owed"
	_, err := s.Update(context.Background(), call, teststore.Create("obj-owed"))
	require.NoError(t, err)
	teststore.Put(t, s, store.JournalFile, journal)
	require.NoError(t, os.RemoveAll(s.Path(store.RequestsDir)))
	require.NoError(t, os.WriteFile(s.Path(teststore.OldTemp), []byte("torn"), 0o600))
	require.NoError(t, os.Link(s.Path(store.StateFile), s.Path(store.BackupFile+".tmp")))
}

func afterUnsettled(t testing.TB, s *store.Store, _ bool) {
	call := teststore.CallNamed("obj-owed")
	call.Request = "owed"
	c, err := s.Answered(context.Background(), call)
	require.NoError(t, err)
	require.NotNil(t, c)
	assert.JSONEq(t, `{"objectiveId":"obj-owed"}`, string(c.Replay))
}

func prepareDamaged(t testing.TB, s *store.Store) {
	data := teststore.Read(t, s, store.StateFile)
	teststore.Put(t, s, store.StateFile, data[:len(data)/2])
}

func afterDamaged(t testing.TB, s *store.Store, _ bool) {
	found := 0
	for name := range teststore.Listing(t, s) {
		if strings.HasPrefix(name, store.StateFile+saferoot.AsideMark) {
			found++
		}
	}
	assert.Equal(t, 1, found, "the damaged file is kept")
}

func runArchive(dir string, opts store.Options) error {
	return teststore.Archiving(dir, opts, "obj-new")
}

func afterArchive(t testing.TB, s *store.Store, whole bool) {
	_, err := s.View(context.Background(), func(st *thread.State) error {
		_, live := st.Threads.Get("thread-old")
		assert.Equal(t, whole, !live)
		th, err := st.Thread("thread-old")
		require.NoError(t, err)
		assert.Equal(t, whole, th.Status == thread.Archived)
		return nil
	})
	require.NoError(t, err)
}

// runKeep keeps a text as a blob and puts a folder with it into place, as a
// reference does.
func runKeep(dir string, opts store.Options) error {
	return teststore.Staging(dir, opts, "keep", "obj-new", func(stage *store.Stage) error {
		_, err := stage.Put([]byte("kept"))
		return errors.Join(err, stage.Write("copy/plan.md", []byte("kept"), false))
	}, func(stage *store.Stage) []thread.Step {
		return []thread.Step{
			{Do: thread.StepMakeDir, To: "threads/thread-old/context"},
			{Do: thread.StepPlace, From: stage.Rel("copy"), To: "threads/thread-old/context/copy"},
		}
	})
}

func afterKeep(t testing.TB, s *store.Store, whole bool) {
	text, err := s.ReadArtifact("thread-old", "context/copy/plan.md")
	if !whole {
		require.ErrorIs(t, err, fs.ErrNotExist)
		return
	}
	require.NoError(t, err)
	assert.Equal(t, "kept", string(text))
	kept, err := s.Blob(storetest.Sum("kept"))
	require.NoError(t, err)
	assert.Equal(t, "kept", string(kept))
}

func afterPlace(t testing.TB, s *store.Store, whole bool) {
	want := map[string]string{"plan.md": "old plan", "gone.md": "to be removed"}
	if whole {
		want = map[string]string{"plan.md": "new plan", "design/b": "new file"}
	}
	got := map[string]string{}
	blobs := []string{}
	for name, content := range teststore.Listing(t, s) {
		if rest, ok := strings.CutPrefix(name, "threads/thread-old/"); ok && content[0] != 'd' {
			got[rest] = content
		}
		if _, ok := strings.CutPrefix(name, blobsRoot+"/"); ok && content[0] != 'd' {
			blobs = append(blobs, content)
		}
	}
	assert.Equal(t, want, got)
	if whole {
		slices.Sort(blobs)
		assert.Equal(t, []string{"old plan", "to be removed"}, blobs, "what was displaced is kept")
	}
}

// prepareHalfPlaced leaves an update of files as a kill behind the rename does.
func prepareHalfPlaced(t testing.TB, s *store.Store) {
	teststore.PrepareFiles(t, s)
	committed := false
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, path string) error {
		if committed {
			return syscall.EIO
		}
		committed = a == store.ActRename && path == s.Path(store.StateFile)
		return nil
	}}
	require.ErrorIs(t, teststore.Placing(s.Root(), opts, "obj-half"), teststore.ErrUnsettled)
}

func afterHalfPlaced(t testing.TB, s *store.Store, _ bool) { afterPlace(t, s, true) }

// prepared makes the store in which a scenario begins.
func (sc scenario) prepared(t testing.TB) *store.Store {
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(2)...)
	if sc.prepare != nil {
		sc.prepare(t, s)
	}
	return s
}

// steps counts what an undisturbed run does to the disk.
func (sc scenario) steps(t testing.TB, origin *store.Store) (n int) {
	s := teststore.Copy(t, origin)
	require.NoError(t, sc.run(s.Root(), store.Options{Now: teststore.Clock, Before: func(store.Action, string) error { n++; return nil }}))
	return n
}

// survived checks a store after a disturbance: it is as before or as after the
// change, a reader is not warned, the next write works, nothing temporary is
// left, and the journal has no gap.
func (sc scenario) survived(t testing.TB, s *store.Store, before []string) (whole bool) {
	t.Helper()
	got, view, err := teststore.Seen(s)
	require.NoError(t, err)
	whole = slices.Contains(got, "obj-new")
	want := slices.Clone(before)
	if whole {
		want = append(want, "obj-new")
	}
	slices.Sort(want)
	require.Equal(t, want, got)
	if !sc.damaged || whole {
		assert.Empty(t, view.Warnings)
	}
	c, err := s.Update(context.Background(), teststore.CallNamed("obj-then"), teststore.Create("obj-then"))
	require.NoError(t, err)
	assert.Equal(t, view.Revision+1, c.Revision)
	teststore.RequireTidy(t, s)
	requireNoGap(t, s)
	if sc.after != nil {
		sc.after(t, s, whole)
	}
	return whole
}

func requireNoGap(t testing.TB, s *store.Store) {
	t.Helper()
	h, err := s.History(context.Background(), store.HistoryQuery{})
	require.NoError(t, err)
	for i, op := range h.Operations {
		require.Equal(t, h.Revision-thread.Revision(i), op.Seq)
	}
	require.Equal(t, thread.Revision(len(h.Operations)), h.Revision)
	for line := range bytes.Lines(teststore.Read(t, s, store.JournalFile)) {
		assert.True(t, json.Valid(line), "%s", line)
	}
}

func TestAKillAtAnyStepLeavesTheStateBeforeOrAfter(t *testing.T) {
	t.Parallel()
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin := sc.prepared(t)
			n := sc.steps(t, origin)
			require.Greater(t, n, 5)
			var wholes, kills int
			for i := range sc.chosen(n) {
				kills++
				s := teststore.Copy(t, origin)
				before, _, err := teststore.Seen(s)
				require.NoError(t, err)
				err = child(t, "crash", s.Root(), fmt.Sprintf("%s:%d", name, i)).Run()
				require.ErrorContains(t, err, "killed", "step %d of %d", i, n)
				if sc.survived(t, s, before) {
					wholes++
				}
				require.False(t, t.Failed(), "step %d of %d", i, n)
			}
			assert.Positive(t, wholes)
			assert.Less(t, wholes, kills)
			t.Logf("killed at %d of %d steps", kills, n)
		})
	}
}

func TestAStepThatFailsIsToldAndLeavesTheStateBeforeOrAfter(t *testing.T) {
	t.Parallel()
	for name, sc := range scenarios() {
		if sc.stride > 0 {
			continue
		}
		for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
			lasting := errno == syscall.ENOSPC // a full disk stays full
			t.Run(fmt.Sprintf("%s, %v", name, errno), func(t *testing.T) {
				t.Parallel()
				origin := sc.prepared(t)
				n := sc.steps(t, origin)
				for i := range sc.chosen(n) {
					s := teststore.Copy(t, origin)
					before, _, err := teststore.Seen(s)
					require.NoError(t, err)
					state := teststore.Read(t, s, store.StateFile)
					var failed string
					err = sc.run(s.Root(), store.Options{Now: teststore.Clock, Before: firstOf(&failed, teststore.Failing(i, lasting, errno))})
					if strings.HasPrefix(failed, "fsync") {
						require.Error(t, err, "%s failed, and nobody was told", failed)
					}
					if err != nil && !errors.Is(err, teststore.ErrUnsettled) {
						teststore.RequireCode(t, codes.WriteFailed, err)
						require.ErrorIs(t, err, errno)
						assert.Equal(t, string(state), string(teststore.Read(t, s, store.StateFile)), "nothing was changed")
					}
					whole := sc.survived(t, s, before)
					assert.Equal(t, err == nil || errors.Is(err, teststore.ErrUnsettled), whole, "success means that the change stands: %v", err)
					require.False(t, t.Failed(), "step %d of %d", i, n)
				}
			})
		}
	}
}

// firstOf keeps the first step that fails.
func firstOf(failed *string, before func(store.Action, string) error) func(store.Action, string) error {
	return func(a store.Action, path string) error {
		err := before(a, path)
		if err != nil && *failed == "" {
			*failed = string(a) + " " + path
		}
		return err
	}
}
