package store

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
	"leslie/store/internal/saferoot"
	"leslie/store/internal/storetest"
	"leslie/thread"
	"leslie/warnings"
)

// This file kills and fails every step that the store makes on the disk, one
// after the other: how many there are is counted on an undisturbed run, so that
// a new step is tested from its first day.

// scenario is one thing that happens to a store.
type scenario struct {
	// prepare brings a store of two objectives to where run begins.
	prepare func(testing.TB, *Store)
	// run is what is disturbed; it may run in another process.
	run func(dir string, opts Options) error
	// stride, when not 0, is for one of very many steps: it is killed at every
	// stride-th from a random one on (LESLIE_EVERY_STEP=1: at each), and not
	// failed there as well.
	stride int
	// damaged: a reader is warned before run has repaired the state.
	damaged bool
	// after checks what run is to have done beside the new objective; whole says
	// whether the change stands.
	after func(t testing.TB, s *Store, whole bool)
}

func scenarios() map[string]scenario {
	return map[string]scenario{
		"a plain update":                    {run: runPlain},
		"a request":                         {run: runRequest, after: afterRequest},
		"an answer without an operation":    {run: runUnchanged, after: afterUnchanged},
		"an update behind an unsettled one": {prepare: prepareUnsettled, run: runPlain, after: afterUnsettled},
		"a recovery":                        {prepare: prepareDamaged, run: runPlain, damaged: true, after: afterDamaged},
		"one inode for state and backup":    {prepare: prepareOneInode, run: runPlain},
		"an archived thread":                {prepare: prepareThread, run: runArchive, after: afterArchive},
		"files put into place":              {prepare: prepareFiles, run: runPlace, after: afterPlace},
		"content kept and placed":           {prepare: prepareThread, run: runKeep, after: afterKeep},
		"files behind an unsettled update":  {prepare: prepareHalfPlaced, run: runPlain, after: afterHalfPlaced},
		"files exchanged":                   exchangeScenario(9),
		"fifty files exchanged":             sampled(exchangeScenario(50), 10),
		"a line added":                      {prepare: prepareNoted, run: runNote, after: afterNote(notedOld)},
		"the first line of a file":          {prepare: prepareThread, run: runNote, after: afterNote("")},
		"a line behind an unsettled update": {prepare: prepareHalfNoted, run: runPlain, after: func(t testing.TB, s *Store, _ bool) { afterNote(notedOld)(t, s, true) }},
		"exchanges behind an unsettled one": {prepare: prepareHalfExchanged, run: runPlain, after: func(t testing.TB, s *Store, _ bool) { afterExchange(t, s, true) }},
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

func runPlain(dir string, opts Options) error {
	_, err := runWith(dir, opts, callNamed("obj-new"), create("obj-new"))
	return err
}

func runWith(dir string, opts Options, call Call, fn func(*thread.State) (Outcome, error)) (Commit, error) {
	c, err := Open(dir, opts).Update(context.Background(), call, fn)
	if err == nil && hasWarning(c.Warnings, warnings.NotSettled) {
		err = errUnsettled
	}
	return c, err
}

// errUnsettled is how a run says that it succeeded with W505.
var errUnsettled = errors.New("not settled")

func requested() Call {
	call := callNamed("obj-new")
	call.Request = "try/1"
	return call
}

func runRequest(dir string, opts Options) error {
	_, err := runWith(dir, opts, requested(), create("obj-new"))
	return err
}

// afterRequest makes the call again: it is answered from what is kept, or makes
// the change if the first one did not.
func afterRequest(t testing.TB, s *Store, whole bool) {
	c, err := s.Update(context.Background(), requested(), create("obj-new"))
	require.NoError(t, err)
	assert.Equal(t, whole, !c.Changed)
	if whole {
		assert.JSONEq(t, `{"objectiveId":"obj-new"}`, string(c.Replay))
		assert.Equal(t, thread.Revision(3), c.Revision)
		assert.True(t, hasWarning(c.Warnings, warnings.RequestReplayed))
	}
}

func unchanged() Call {
	call := callNamed("nothing")
	call.Request = "try/2"
	return call
}

// runUnchanged is a call that had nothing to change, then an update.
func runUnchanged(dir string, opts Options) error {
	if err := Open(dir, opts).Keep(context.Background(), unchanged(), 2, json.RawMessage(`{"changed":false}`)); err != nil {
		return err
	}
	return runPlain(dir, opts)
}

// afterUnchanged: the answer is there from the first one on, and a second changes
// nothing about it.
func afterUnchanged(t testing.TB, s *Store, whole bool) {
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

// oldTemp is a temporary file that a dead process left.
const oldTemp = "." + StateFile + "5577006791947779410"

// prepareUnsettled leaves a state whose operation is neither in the journal nor
// answered, as a kill behind the rename does.
func prepareUnsettled(t testing.TB, s *Store) {
	journal := read(t, s, JournalFile)
	call := callNamed("obj-owed")
	call.Request = "owed"
	_, err := s.Update(context.Background(), call, create("obj-owed"))
	require.NoError(t, err)
	put(t, s, JournalFile, journal)
	require.NoError(t, os.RemoveAll(s.Path(RequestsDir)))
	require.NoError(t, os.WriteFile(s.Path(oldTemp), []byte("torn"), 0o600))
	require.NoError(t, os.Link(s.Path(StateFile), s.Path(backupTemp)))
}

func afterUnsettled(t testing.TB, s *Store, _ bool) {
	call := callNamed("obj-owed")
	call.Request = "owed"
	c, err := s.Answered(context.Background(), call)
	require.NoError(t, err)
	require.NotNil(t, c)
	assert.JSONEq(t, `{"objectiveId":"obj-owed"}`, string(c.Replay))
}

func prepareDamaged(t testing.TB, s *Store) {
	data := read(t, s, StateFile)
	put(t, s, StateFile, data[:len(data)/2])
}

func afterDamaged(t testing.TB, s *Store, _ bool) {
	found := 0
	for name := range listing(t, s) {
		if strings.HasPrefix(name, StateFile+saferoot.AsideMark) {
			found++
		}
	}
	assert.Equal(t, 1, found, "the damaged file is kept")
}

func prepareOneInode(t testing.TB, s *Store) {
	require.NoError(t, os.Remove(s.Path(BackupFile)))
	require.NoError(t, os.Link(s.Path(StateFile), s.Path(BackupFile)))
}

func prepareThread(t testing.TB, s *Store) {
	call := callNamed("spawn")
	_, err := s.Update(context.Background(), call, func(st *thread.State) (Outcome, error) {
		st.Threads.Put(thread.Thread{ID: "thread-old", ObjectiveID: "obj-0000", Status: thread.Completed, Created: thread.Attribution{At: noon}, Updated: noon})
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: "threads/thread-old"})
		return Outcome{}, nil
	})
	require.NoError(t, err)
}

func runArchive(dir string, opts Options) error { return archiving(dir, opts, "obj-new") }

func archiving(dir string, opts Options, objective string) error {
	_, err := runWith(dir, opts, callNamed("archive"), func(st *thread.State) (Outcome, error) {
		_, err := st.Lifecycle("thread-old", thread.Archive, "", thread.Stamp{Time: noon, As: thread.User})
		_, _ = create(objective)(st)
		return Outcome{Thread: "thread-old"}, err
	})
	return err
}

func afterArchive(t testing.TB, s *Store, whole bool) {
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

func prepareFiles(t testing.TB, s *Store) {
	prepareThread(t, s)
	put(t, s, "threads/thread-old/plan.md", []byte("old plan"))
	put(t, s, "threads/thread-old/gone.md", []byte("to be removed"))
}

// runPlace replaces one file, adds a folder, and removes a file.
func runPlace(dir string, opts Options) error { return placing(dir, opts, "obj-new") }

func placing(dir string, opts Options, objective string) error {
	return staging(dir, opts, "place", objective, func(stage *Stage) error {
		return errors.Join(stage.Write("a", []byte("new plan"), false), stage.Write("dir/b", []byte("new file"), false))
	}, func(stage *Stage) []thread.Step {
		return []thread.Step{
			{Do: thread.StepMakeDir, To: "threads/thread-old/discuss"},
			{Do: thread.StepPlace, From: stage.Rel("a"), To: "threads/thread-old/plan.md"},
			{Do: thread.StepPlace, From: stage.Rel("dir"), To: "threads/thread-old/design"},
			{Do: thread.StepRemove, To: "threads/thread-old/gone.md"},
		}
	})
}

// staging makes an objective by an operation with staged files.
func staging(dir string, opts Options, name, objective string, fill func(*Stage) error, steps func(*Stage) []thread.Step) error {
	call := callNamed(name)
	stage, err := Open(dir, opts).Stage(call.Stamp.Operation)
	if err != nil {
		return err
	}
	defer stage.Close()
	if err := fill(stage); err != nil {
		return err
	}
	call.Staged = []*Stage{stage}
	_, err = runWith(dir, opts, call, func(st *thread.State) (Outcome, error) {
		st.Plan(steps(stage)...)
		return create(objective)(st)
	})
	return err
}

// runKeep keeps a text as a blob and puts a folder with it into place, as a
// reference does.
func runKeep(dir string, opts Options) error {
	return staging(dir, opts, "keep", "obj-new", func(stage *Stage) error {
		_, err := stage.Put([]byte("kept"))
		return errors.Join(err, stage.Write("copy/plan.md", []byte("kept"), false))
	}, func(stage *Stage) []thread.Step {
		return []thread.Step{
			{Do: thread.StepMakeDir, To: "threads/thread-old/context"},
			{Do: thread.StepPlace, From: stage.Rel("copy"), To: "threads/thread-old/context/copy"},
		}
	})
}

func afterKeep(t testing.TB, s *Store, whole bool) {
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

func afterPlace(t testing.TB, s *Store, whole bool) {
	want := map[string]string{"plan.md": "old plan", "gone.md": "to be removed"}
	if whole {
		want = map[string]string{"plan.md": "new plan", "design/b": "new file"}
	}
	got := map[string]string{}
	blobs := []string{}
	for name, content := range listing(t, s) {
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
func prepareHalfPlaced(t testing.TB, s *Store) {
	prepareFiles(t, s)
	committed := false
	opts := Options{Now: clock, Before: func(a Action, path string) error {
		if committed {
			return syscall.EIO
		}
		committed = a == ActRename && path == s.Path(StateFile)
		return nil
	}}
	require.ErrorIs(t, placing(s.Root(), opts, "obj-half"), errUnsettled)
}

func afterHalfPlaced(t testing.TB, s *Store, _ bool) { afterPlace(t, s, true) }

// prepared makes the store in which a scenario begins.
func (sc scenario) prepared(t testing.TB) *Store {
	s := newStore(t, Options{})
	add(t, s, names(2)...)
	if sc.prepare != nil {
		sc.prepare(t, s)
	}
	return s
}

// steps counts what an undisturbed run does to the disk.
func (sc scenario) steps(t testing.TB, origin *Store) (n int) {
	s := copyStore(t, origin)
	require.NoError(t, sc.run(s.Root(), Options{Now: clock, Before: func(Action, string) error { n++; return nil }}))
	return n
}

// survived checks a store after a disturbance: it is as before or as after the
// change, a reader is not warned, the next write works, nothing temporary is
// left, and the journal has no gap.
func (sc scenario) survived(t testing.TB, s *Store, before []string) (whole bool) {
	t.Helper()
	got, view, err := seen(s)
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
	c, err := s.Update(context.Background(), callNamed("obj-then"), create("obj-then"))
	require.NoError(t, err)
	assert.Equal(t, view.Revision+1, c.Revision)
	requireTidy(t, s)
	requireNoGap(t, s)
	if sc.after != nil {
		sc.after(t, s, whole)
	}
	return whole
}

func requireNoGap(t testing.TB, s *Store) {
	t.Helper()
	h, err := s.History(context.Background(), HistoryQuery{})
	require.NoError(t, err)
	for i, op := range h.Operations {
		require.Equal(t, h.Revision-thread.Revision(i), op.Seq)
	}
	require.Equal(t, thread.Revision(len(h.Operations)), h.Revision)
	for line := range bytes.Lines(read(t, s, JournalFile)) {
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
				s := copyStore(t, origin)
				before, _, err := seen(s)
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
					s := copyStore(t, origin)
					before, _, err := seen(s)
					require.NoError(t, err)
					state := read(t, s, StateFile)
					var failed string
					err = sc.run(s.Root(), Options{Now: clock, Before: firstOf(&failed, failing(i, lasting, errno))})
					if strings.HasPrefix(failed, "fsync") {
						require.Error(t, err, "%s failed, and nobody was told", failed)
					}
					if err != nil && !errors.Is(err, errUnsettled) {
						requireCode(t, codes.WriteFailed, err)
						require.ErrorIs(t, err, errno)
						assert.Equal(t, string(state), string(read(t, s, StateFile)), "nothing was changed")
					}
					whole := sc.survived(t, s, before)
					assert.Equal(t, err == nil || errors.Is(err, errUnsettled), whole, "success means that the change stands: %v", err)
					require.False(t, t.Failed(), "step %d of %d", i, n)
				}
			})
		}
	}
}

// firstOf keeps the first step that fails.
func firstOf(failed *string, before func(Action, string) error) func(Action, string) error {
	return func(a Action, path string) error {
		err := before(a, path)
		if err != nil && *failed == "" {
			*failed = string(a) + " " + path
		}
		return err
	}
}

func failing(at int, lasting bool, err error) func(Action, string) error {
	n := 0
	return func(Action, string) error {
		if n++; n == at || lasting && n > at {
			return err
		}
		return nil
	}
}
