package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/store"
	"leslie/store/doctor"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// This file tests that what cannot be put into one thread's place holds up nobody
// else, and is not forgotten.

// heldUp is a store in which a merge into thread-old was cut off at its 7th file and
// whose folder is now a link; whole puts the folder back.
func heldUp(t testing.TB) (s *store.Store, all []exchanged, whole func()) {
	t.Helper()
	s = teststore.ExchangeStore(t)
	all = manyExchanged()
	teststore.Save(t, s, withVersion(all, before))
	cutOffAt(t, s, 7, all...)
	folder, away := s.Path("threads/thread-old"), filepath.Join(t.TempDir(), "away")
	require.NoError(t, os.Rename(folder, away))
	require.NoError(t, os.Symlink(away, folder))
	return s, all, func() {
		require.NoError(t, os.Remove(folder))
		require.NoError(t, os.Rename(away, folder))
	}
}

// retitled writes to a thread.
func retitled(s *store.Store, id thread.ThreadID, title string) error {
	call := teststore.CallNamed(title)
	_, err := s.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		th, there := st.Threads.Get(string(id))
		if !there {
			th.ID, th.ObjectiveID = id, "obj-0000"
		}
		th.Title = title
		st.Threads.Put(th)
		return store.Outcome{Thread: id}, nil
	})
	return err
}

func reading(s *store.Store, id thread.ThreadID) (warnings.List, error) {
	return s.ReadConsistent(context.Background(), []thread.ThreadID{id}, func() error { return nil })
}

func TestOneThreadsPlaceHoldsUpNoOtherWriter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, all, whole := heldUp(t)
	teststore.Add(t, s, "obj-a", "obj-b")
	require.NoError(t, retitled(s, "thread-other", "Another"))

	state := string(teststore.Read(t, s, store.StateFile))
	assert.Contains(t, state, `"quarantined":[{"record":"threads/thread-old","operationId":"op-exchange",`)
	err := retitled(s, "thread-old", "Not now")
	e := teststore.RequireCode(t, codes.UnsafePath, err)
	assert.Equal(t, "thread-old", e.Facts().Text("threadId"))
	assert.Equal(t, "op-exchange", e.Facts().Text("operationId"))
	_, err = s.Update(ctx, teststore.CallNamed("plans"), func(st *thread.State) (store.Outcome, error) {
		st.Plan(thread.Step{Do: thread.StepMakeDir, To: teststore.InThread + "x"})
		return teststore.Create("obj-c")(st)
	})
	teststore.RequireCode(t, codes.UnsafePath, err)
	_, err = s.Update(ctx, teststore.CallNamed("done"), func(st *thread.State) (store.Outcome, error) { // of several threads
		for _, id := range []string{"thread-other", "thread-old"} {
			th, _ := st.Threads.Get(id)
			th.Title = "Together"
			st.Threads.Put(th)
		}
		return store.Outcome{}, nil
	})
	teststore.RequireCode(t, codes.UnsafePath, err)
	assert.Equal(t, state, string(teststore.Read(t, s, store.StateFile)), "what is refused changes nothing")

	told, err := reading(s, "thread-old")
	require.NoError(t, err)
	require.True(t, teststore.HasWarning(told, warnings.FilesPending), "%v", told)
	assert.Equal(t, "op-exchange", told[0].Context.Text("operationId"))
	told, err = reading(s, "thread-other")
	require.NoError(t, err)
	assert.Empty(t, told)
	_, err = s.ReadConsistentToWrite(ctx, store.Wait{}, []thread.ThreadID{"thread-old"}, func() error { t.Error("half done files were planned on"); return nil })
	teststore.RequireCode(t, codes.UnsafePath, err)
	_, view, err := teststore.Seen(s)
	require.NoError(t, err)
	assert.Len(t, view.Undone, 10, "behind a link nothing is known to be done")

	r, err := doctor.Doctor{Store: s}.Repair(ctx, teststore.RepairCall())
	require.NoError(t, err)
	assert.False(t, r.After.Healthy)
	assert.Equal(t, "T507", r.After.Findings[0].Code)
	assert.False(t, r.After.Findings[0].Repairable, "not before the place is whole")

	whole()
	d, err := doctor.Doctor{Store: s}.Diagnose(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, d.Findings)
	assert.True(t, d.Findings[0].Repairable)
	r, err = doctor.Doctor{Store: s}.Repair(ctx, teststore.RepairCall())
	require.NoError(t, err)
	assert.Empty(t, r.After.Findings)
	assert.Equal(t, withVersion(all, behind), held(t, s))
	assert.Contains(t, string(teststore.Read(t, s, store.StateFile)), `"quarantined":[]`)
	require.NoError(t, retitled(s, "thread-old", "Now"))
	teststore.RequireTidy(t, s)
	requireNoGap(t, s)
}

func TestAWriterPutsWhatWasHeldUpIntoPlace(t *testing.T) {
	t.Parallel()
	s, all, whole := heldUp(t)
	teststore.Add(t, s, "obj-a")
	whole()
	require.NoError(t, retitled(s, "thread-old", "Now"), "the very write finds the place whole")
	assert.Equal(t, withVersion(all, behind), held(t, s))
	for _, x := range all {
		assert.Contains(t, kept(t, s), x.from, "what was displaced is a blob")
	}
	teststore.Add(t, s, "obj-b")
	teststore.RequireTidy(t, s)
}

// Whatever is lost of the state's files, the steps are not.
func TestQuarantinedStepsAreNeverDropped(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t testing.TB, s *store.Store){
		"nothing":   func(testing.TB, *store.Store) {},
		"the state": func(t testing.TB, s *store.Store) { teststore.Put(t, s, store.StateFile, []byte("{")) },
		"the state, replaced": func(t testing.TB, s *store.Store) {
			teststore.Put(t, s, store.StateFile, teststore.Read(t, s, store.BackupFile))
		},
		"the backup": func(t testing.TB, s *store.Store) { teststore.Put(t, s, store.BackupFile, []byte("{")) },
		"both": func(t testing.TB, s *store.Store) {
			teststore.Put(t, s, store.StateFile, []byte("{"))
			teststore.Put(t, s, store.BackupFile, nil)
			_, err := doctor.Doctor{Store: s}.Repair(context.Background(), teststore.RepairCall())
			require.NoError(t, err)
		},
	} {
		for writes := 1; writes < 4; writes++ { // before the first, the journal has no line of it
			s, all, whole := heldUp(t)
			teststore.Add(t, s, teststore.Names(9)[2:2+writes]...)
			lose(t, s)
			told, err := reading(s, "thread-old")
			require.NoError(t, err)
			assert.True(t, teststore.HasWarning(told, warnings.FilesPending), "%s, %d: %v", name, writes, told)
			teststore.Add(t, s, "obj-next")
			whole()
			teststore.Add(t, s, "obj-then")
			assert.Equal(t, withVersion(all, behind), held(t, s), "%s, %d", name, writes)
			teststore.Add(t, s, "obj-last")
			teststore.RequireTidy(t, s)
		}
	}
}

// A writer that quarantines, and one that resolves, may fail or die at any step.
func TestAQuarantineThatIsCutOffLosesNothing(t *testing.T) {
	t.Parallel()
	each := 1
	if testing.Short() {
		each = 4
	}
	for _, resolves := range []bool{false, true} {
		for cut := 1; ; cut += each {
			s, all, whole := heldUp(t)
			if resolves {
				teststore.Add(t, s, "obj-a")
				whole()
			}
			n := 0
			opts := store.Options{Now: teststore.Clock, Before: func(store.Action, string) error {
				if n++; n >= cut {
					return syscall.EIO
				}
				return nil
			}}
			_, err := teststore.RunWith(s.Root(), opts, teststore.CallNamed("obj-new"), teststore.Create("obj-new"))
			teststore.Add(t, s, "obj-next")
			if !resolves {
				whole()
			}
			teststore.Add(t, s, "obj-then")
			require.Equal(t, withVersion(all, behind), held(t, s), "cut off at %d", cut)
			teststore.Add(t, s, "obj-last")
			teststore.RequireTidy(t, s)
			if err == nil {
				require.Greater(t, cut, 8)
				break
			}
		}
	}
}

// Steps of other threads in the same operation are carried out.
func TestTheOtherThreadsOfAnOperationAreServed(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	require.NoError(t, os.Symlink(t.TempDir(), s.Path("threads/evil")))
	require.NoError(t, os.Mkdir(s.Path("threads/good"), 0o755))
	_, err := s.Update(context.Background(), teststore.CallNamed("op-many"), func(st *thread.State) (store.Outcome, error) {
		for _, to := range []string{"threads/evil/a", "threads/good/a", "threads/evil/b"} {
			st.Plan(thread.Step{Do: thread.StepMakeDir, To: to})
		}
		return teststore.Create("obj-a")(st)
	})
	require.NoError(t, err)
	teststore.Add(t, s, "obj-b")
	assert.DirExists(t, s.Path("threads/good/a"))
	require.NoError(t, os.Remove(s.Path("threads/evil")))
	teststore.Add(t, s, "obj-c")
	assert.NoDirExists(t, s.Path("threads/evil"), "a missing folder is not made anew")
	require.NoError(t, os.Mkdir(s.Path("threads/evil"), 0o755))
	teststore.Add(t, s, "obj-d")
	assert.DirExists(t, s.Path("threads/evil/a"))
	assert.DirExists(t, s.Path("threads/evil/b"))
}

// A name that becomes too long by a suffix is cut short; nothing is held up.
func TestALongNameGetsAMarkThatFits(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	long := strings.Repeat("ä", 124) // 248 bytes
	teststore.Save(t, s, map[string]string{long: "saved"})
	_, err := exchanging(s.Root(), teststore.OptionsOf(s), "obj-new", exchanged{long, "old", "new"})
	require.NoError(t, err)
	got := held(t, s)
	assert.Len(t, got, 2)
	assert.Equal(t, "saved", got[long])
	delete(got, long)
	for name, content := range got {
		assert.Equal(t, "new", content)
		assert.True(t, strings.HasSuffix(name, mark), name)
		assert.LessOrEqual(t, len(name), 255)
		assert.True(t, utf8.ValidString(name), name)
	}
	teststore.Add(t, s, "obj-next")
	teststore.RequireTidy(t, s)
}

func TestANameThatNoFileSystemTakesHoldsUpItsThreadOnly(t *testing.T) {
	t.Parallel()
	s := teststore.ExchangeStore(t)
	_, err := exchanging(s.Root(), teststore.OptionsOf(s), "obj-new", exchanged{strings.Repeat("n", 300) + "/plan.md", "", "new"})
	require.ErrorIs(t, err, teststore.ErrUnsettled)
	teststore.Add(t, s, "obj-next")
	teststore.RequireCode(t, codes.UnsafePath, retitled(s, "thread-old", "Not now"))
}
