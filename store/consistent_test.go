package store_test

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/scope"
	"leslie/store"
	"leslie/store/internal/filework"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
	"leslie/warnings"
)

// These tests read a thread's files while an operation is changing them: one
// replaced, one made, one deleted, one moved.

const oldThread thread.ThreadID = "thread-old"

func beforeWork() map[string]string {
	return map[string]string{"plan.md": "old", "gone.md": "gone", "moves/a.md": "moved", "stays.md": "stays"}
}

func behindWork() map[string]string {
	return map[string]string{"plan.md": "new", "fresh.md": "fresh", "moved/a.md": "moved", "stays.md": "stays"}
}

// working carries the operation out, which changes the thread's record too.
func working(s *store.Store, opts store.Options, name string) error {
	call := teststore.CallNamed(name)
	stage, err := store.Open(s.Root(), opts).Stage(call.Stamp.Operation)
	if err != nil {
		return err
	}
	defer stage.Close()
	for rel, text := range map[string]string{"0": "new", "1": "fresh", "2": "moved"} {
		if err := stage.Write(rel, []byte(text), false); err != nil {
			return err
		}
	}
	call.Staged = []*store.Stage{stage}
	at := store.ThreadsDir + "/" + string(oldThread) + "/"
	_, err = teststore.RunWith(s.Root(), opts, call, func(st *thread.State) (store.Outcome, error) {
		t, err := st.Thread(string(oldThread))
		t.Title = name
		st.Threads.Put(t)
		st.Plan(
			thread.Step{Do: thread.StepReplace, From: stage.Rel("0"), To: at + "plan.md", Expect: storetest.Sum("old")},
			thread.Step{Do: thread.StepReplace, From: stage.Rel("1"), To: at + "fresh.md"},
			thread.Step{Do: thread.StepReplace, From: stage.Rel("2"), To: at + "moved/a.md"},
			thread.Step{Do: thread.StepDelete, To: at + "moves/a.md", Expect: storetest.Sum("moved")},
			thread.Step{Do: thread.StepDelete, To: at + "gone.md", Expect: storetest.Sum("gone")},
		)
		return store.Outcome{Thread: oldThread}, err
	})
	return err
}

func workStore(t *testing.T) *store.Store {
	s := teststore.New(t, store.Options{})
	teststore.Add(t, s, teststore.Names(1)...)
	teststore.PrepareThread(t, s)
	teststore.Save(t, s, beforeWork())
	return s
}

// contents are the thread's files as a reader of the store sees them.
func contents(s *store.Store) (map[string]string, error) {
	out, _, err := contentsWarned(s)
	return out, err
}

// contentsWarned is contents with the warnings of the reading.
func contentsWarned(s *store.Store) (out map[string]string, warned warnings.List, err error) {
	warned, err = s.ReadConsistent(context.Background(), []thread.ThreadID{oldThread}, func() error {
		out, err = listed(s)
		return err
	})
	return out, warned, err
}

// listed are the thread's files as they lie there.
func listed(s *store.Store) (map[string]string, error) {
	out := map[string]string{}
	entries, err := s.Artifacts(oldThread)
	for _, e := range entries {
		if e.Type != store.TypeFile {
			continue
		}
		text, readErr := s.ReadArtifact(oldThread, e.Path)
		out[e.Path], err = string(text), errors.Join(err, readErr)
	}
	return out, err
}

// snapped are the thread's files as a snapshot holds them.
func snapped(s *store.Store) (map[string]string, error) {
	stage, err := s.Stage(thread.OperationID("op-" + rand.Text()))
	if err != nil {
		return nil, err
	}
	defer stage.Discard()
	var m store.Manifest
	_, err = s.ReadConsistentToWrite(context.Background(), store.Wait{}, []thread.ThreadID{oldThread}, func() error {
		m, _, err = stage.Snapshot(context.Background(), oldThread, scope.Set{})
		return err
	})
	out := map[string]string{}
	for _, f := range m {
		text, readErr := stage.Blob(f.SHA256)
		out[f.Path], err = string(text), errors.Join(err, readErr)
	}
	return out, err
}

// readers are the ways to read.
func readers() map[string]func(*store.Store) (map[string]string, error) {
	return map[string]func(*store.Store) (map[string]string, error){"a reader": contents, "a snapshot": snapped}
}

// seenBeside has somebody read in front of every step of the operation. The step
// is made when the reading is over, or when its reader evidently waits for it.
func seenBeside(s *store.Store, read func(*store.Store) (map[string]string, error)) (seen []map[string]string, err error) {
	type look struct {
		got map[string]string
		err error
	}
	var open []chan look
	opts := store.Options{Now: teststore.Clock, Before: func(store.Action, string) error {
		done := make(chan look, 1)
		open = append(open, done)
		go func() {
			got, err := read(store.Open(s.Root(), store.Options{Now: teststore.Clock}))
			done <- look{got, err}
		}()
		select {
		case got := <-done:
			done <- got
		case <-time.After(20 * time.Millisecond):
		}
		return nil
	}}
	err = working(s, opts, "work")
	for _, done := range open {
		got := <-done
		seen, err = append(seen, got.got), errors.Join(err, got.err)
	}
	return seen, err
}

func TestFileWorkIsSeenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for name, read := range readers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := workStore(t)
			seen, err := seenBeside(s, read)
			require.NoError(t, err)
			behind := 0
			for i, got := range seen {
				if maps.Equal(got, behindWork()) {
					behind++
				} else {
					assert.Equal(t, beforeWork(), got, "in front of step %d", i)
				}
			}
			assert.Greater(t, behind, 5, "the steps behind the commit")
			assert.Less(t, behind, len(seen), "and those in front of it")
		})
	}
}

// cutOffWork leaves the operation as a kill behind its commit does, after so many
// steps more.
func cutOffWork(t *testing.T, s *store.Store, more int) {
	committed := false
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, path string) error {
		if committed {
			more--
		}
		if committed && more < 0 {
			return syscall.EIO
		}
		committed = committed || a == store.ActRename && path == s.Path(store.StateFile)
		return nil
	}}
	require.ErrorIs(t, working(s, opts, "work"), teststore.ErrUnsettled)
}

func TestASnapshotFirstSeesThroughWhatADeadProcessLeft(t *testing.T) {
	t.Parallel()
	for more := range 12 {
		s := workStore(t)
		cutOffWork(t, s, more)
		got, err := snapped(s)
		require.NoError(t, err)
		require.Equal(t, behindWork(), got, "cut off after %d steps", more)
	}
}

func TestAReaderChangesNothingOfWhatADeadProcessLeft(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	cutOffWork(t, s, 1)
	was := teststore.Listing(t, s)
	_, told, err := contentsWarned(store.Open(s.Root(), store.Options{Now: teststore.Clock}))
	require.NoError(t, err)
	assert.Equal(t, was, teststore.Listing(t, s))
	require.Len(t, told, 1)
	assert.Equal(t, warnings.FilesPending, told[0].Code)
	paths, _ := told[0].Context.Get("paths")
	assert.Equal(t, []string{teststore.InThread + "plan.md", teststore.InThread + "fresh.md", teststore.InThread + "moved/a.md", teststore.InThread + "moves/a.md", teststore.InThread + "gone.md"}, paths)
	assert.Equal(t, "op-work", told[0].Context.Text("operationId"))
	view, err := s.View(context.Background(), func(*thread.State) error { return nil })
	require.NoError(t, err)
	assert.NotEmpty(t, view.Undone)
}

// A reader who comes while files are put into place waits longer than for a dead
// process, and has nothing to be told then.
func TestAReaderWaitsForALivingProcess(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	var told warnings.List
	var got map[string]string
	var readErr error
	done := make(chan struct{})
	committed, begun := false, false
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, path string) error {
		committed = committed || a == store.ActRename && path == s.Path(store.StateFile)
		if a == store.ActLink && committed && !begun {
			begun = true
			go func() {
				defer close(done)
				got, told, readErr = contentsWarned(store.Open(s.Root(), store.Options{Now: teststore.Clock}))
			}()
			select {
			case <-done:
			case <-time.After(5 * store.DeadAfter):
			}
		}
		return nil
	}}
	require.NoError(t, working(s, opts, "work"))
	require.True(t, begun)
	<-done
	require.NoError(t, readErr)
	assert.Equal(t, behindWork(), got)
	assert.Empty(t, told)
}

func TestAReaderWhoIsInterruptedDoesNotWait(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	cutOffWork(t, s, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.ReadConsistent(ctx, []thread.ThreadID{oldThread}, func() error { return nil })
	storetest.WantCode(t, err, codes.Interrupted)
}

// retitle touches the thread from another process's store.
func retitle(s *store.Store, lockTimeout time.Duration) error {
	call := teststore.CallNamed("touch-" + rand.Text())
	call.Wait.Timeout = lockTimeout
	_, err := store.Open(s.Root(), store.Options{Now: teststore.Clock}).Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		t, err := st.Thread(string(oldThread))
		t.Title += "x"
		st.Threads.Put(t)
		return store.Outcome{}, err
	})
	return err
}

// refer gives the thread a reference.
func refer(s *store.Store, _ time.Duration) error {
	id := rand.Text()
	_, err := store.Open(s.Root(), store.Options{Now: teststore.Clock}).Update(context.Background(), teststore.CallNamed("refer-"+id), func(st *thread.State) (store.Outcome, error) {
		st.References.Put(thread.Reference{ID: thread.ReferenceID("ref-" + id), From: oldThread, Target: "thread-none", TakenAt: teststore.Clock()})
		return store.Outcome{}, nil
	})
	return err
}

func elsewhere(s *store.Store, _ time.Duration) error {
	name := rand.Text()
	_, err := store.Open(s.Root(), store.Options{Now: teststore.Clock}).Update(context.Background(), teststore.CallNamed(name), teststore.Create("obj-"+name))
	return err
}

func TestReadingIsRepeatedWhenTheThreadWasTouched(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		operation   func(*store.Store, time.Duration) error
		times, want int
	}{
		"not":                    {retitle, 0, 1},
		"not, but others were":   {elsewhere, 1, 1},
		"once":                   {retitle, 1, 2},
		"once, by a reference":   {refer, 1, 2},
		"more often than it may": {retitle, store.Looks, store.Looks + 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := workStore(t)
			runs := 0
			_, err := s.ReadConsistentToWrite(context.Background(), store.Wait{}, []thread.ThreadID{oldThread}, func() error {
				if runs++; runs > c.times {
					return nil
				}
				return c.operation(s, 0)
			})
			require.NoError(t, err)
			assert.Equal(t, c.want, runs)
		})
	}
}

func TestWhoIsOvertakenTooOftenReadsUnderTheLock(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	runs := 0
	var last error
	_, err := s.ReadConsistentToWrite(context.Background(), store.Wait{}, []thread.ThreadID{oldThread}, func() error {
		runs++
		last = retitle(s, time.Millisecond)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, store.Looks+1, runs)
	storetest.WantCode(t, last, codes.LockFailed)
}

func TestAReaderWhoIsOvertakenTooOftenTakesWhatItHas(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	runs := 0
	_, err := s.ReadConsistent(context.Background(), []thread.ThreadID{oldThread}, func() error {
		runs++
		return retitle(s, 0)
	})
	require.NoError(t, err)
	assert.Equal(t, store.Looks, runs)
}

func TestWhatAWriterSawThroughIsTold(t *testing.T) {
	t.Parallel()
	s := store.Open(workStore(t).Root(), store.Options{Now: teststore.Clock})
	runs := 0
	told, err := s.ReadConsistentToWrite(context.Background(), store.Wait{}, []thread.ThreadID{oldThread}, func() error {
		if runs++; runs > store.Looks {
			return nil
		}
		err := retitle(s, 0)
		if runs == store.Looks {
			err = errors.Join(err, os.WriteFile(s.Path(store.StateFile), []byte("damaged"), 0o644))
		}
		return err
	})
	require.NoError(t, err)
	require.Equal(t, store.Looks+1, runs)
	require.Len(t, told, 1)
	assert.Equal(t, warnings.Recovered, told[0].Code)
	assert.Empty(t, teststore.Add(t, s, "obj-later").Warnings, "it is told once")
}

func TestFilesOfAStoreThatCannotBeReadAreReadAllTheSame(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	for _, name := range []string{store.StateFile, store.BackupFile, store.JournalFile} {
		require.NoError(t, os.WriteFile(s.Path(name), []byte("damaged"), 0o644))
	}
	got, err := contents(s)
	require.NoError(t, err)
	assert.Equal(t, beforeWork(), got)
	_, err = s.ReadArtifact(oldThread, "none.md")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A writer that cannot tell whether files are in place must not rely on them, although the
// files themselves can be read.
func TestNobodyWritesWhatWasReadWhileTheStoreCouldNotBe(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	for _, name := range []string{store.StateFile, store.BackupFile, store.JournalFile} {
		require.NoError(t, os.WriteFile(s.Path(name), []byte("damaged"), 0o644))
	}
	read := false
	_, err := s.ReadConsistentToWrite(t.Context(), store.Wait{}, []thread.ThreadID{oldThread}, func() error { read = true; return nil })
	assert.True(t, codes.Has(err, codes.ParseError), "%v", err)
	assert.False(t, read)
}

func TestOnlyWorkThatSomebodyStillDoesIsWaitedForLong(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	var during []bool
	opts := store.Options{Now: teststore.Clock, Before: func(a store.Action, _ string) error {
		if a == store.ActLink { // files come into place
			during = append(during, filework.Held(s.Files().Disk, "op-work"))
		}
		return nil
	}}
	require.NoError(t, working(s, opts, "work"))
	require.Greater(t, len(during), 2)
	assert.NotContains(t, during, false)
	s = workStore(t)
	cutOffWork(t, s, 1)
	assert.False(t, filework.Held(s.Files().Disk, "op-work"))
	assert.False(t, filework.Held(s.Files().Disk, "op-none"))
}

// A state that is older than the journal is rolled forward, with the steps that the
// line names as undone.
func TestASnapshotSeesThroughWhatTheJournalNamesAsUndone(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	was := teststore.Read(t, s, store.StateFile)
	at := store.InheritedDir + "/ref-1"
	failed := func(a store.Action, place string) error {
		if a == store.ActRename && strings.HasSuffix(place, "/ref-1") {
			return syscall.EIO
		}
		return nil
	}
	require.ErrorIs(t, teststore.Staging(s.Root(), store.Options{Now: teststore.Clock, Before: failed}, "add", "obj-new", func(stage *store.Stage) error {
		return stage.Write("copy/plan.md", []byte("copied"), false)
	}, func(stage *store.Stage) []thread.Step {
		return []thread.Step{
			{Do: thread.StepMakeDir, To: teststore.InThread + store.InheritedDir},
			{Do: thread.StepPlace, From: stage.Rel("copy"), To: teststore.InThread + at},
		}
	}), teststore.ErrUnsettled)
	require.NoError(t, os.WriteFile(s.Path(store.StateFile), was, 0o644))
	s = store.Open(s.Root(), store.Options{Now: teststore.Clock})
	_, err := s.View(context.Background(), func(*thread.State) error { return nil }) // as a command begins
	require.NoError(t, err)
	_, err = s.ReadConsistentToWrite(context.Background(), store.Wait{}, []thread.ThreadID{oldThread}, func() error {
		_, err := os.Stat(s.Path(teststore.InThread + at + "/plan.md"))
		return err
	})
	require.NoError(t, err)
}
