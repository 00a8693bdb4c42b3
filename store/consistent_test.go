package store

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
	"leslie/store/internal/filework"
	"leslie/store/internal/storetest"
	"leslie/thread"
	"leslie/warnings"
)

// These tests read a thread's files while an operation is changing them: one
// replaced, one made, one deleted, one moved.

const oldThread thread.ThreadID = "thread-old"

type files = map[string]string

func beforeWork() files {
	return files{"plan.md": "old", "gone.md": "gone", "moves/a.md": "moved", "stays.md": "stays"}
}

func behindWork() files {
	return files{"plan.md": "new", "fresh.md": "fresh", "moved/a.md": "moved", "stays.md": "stays"}
}

// working carries the operation out, which changes the thread's record too.
func working(s *Store, opts Options, name string) error {
	call := callNamed(name)
	stage, err := Open(s.Root(), opts).Stage(call.Stamp.Operation)
	if err != nil {
		return err
	}
	defer stage.Close()
	for rel, text := range map[string]string{"0": "new", "1": "fresh", "2": "moved"} {
		if err := stage.Write(rel, []byte(text), false); err != nil {
			return err
		}
	}
	call.Staged = []*Stage{stage}
	at := ThreadsDir + "/" + string(oldThread) + "/"
	_, err = runWith(s.Root(), opts, call, func(st *thread.State) (Outcome, error) {
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
		return Outcome{Thread: oldThread}, err
	})
	return err
}

func workStore(t *testing.T) *Store {
	s := newStore(t, Options{})
	add(t, s, names(1)...)
	prepareThread(t, s)
	save(t, s, beforeWork())
	return s
}

// contents are the thread's files as a reader of the store sees them.
func contents(s *Store) (files, error) {
	out, _, err := contentsWarned(s)
	return out, err
}

// contentsWarned is contents with the warnings of the reading.
func contentsWarned(s *Store) (out files, warned warnings.List, err error) {
	warned, err = s.Consistent(context.Background(), []thread.ThreadID{oldThread}, func() error {
		out, err = listed(s)
		return err
	})
	return out, warned, err
}

// listed are the thread's files as they lie there.
func listed(s *Store) (files, error) {
	out := files{}
	entries, err := s.Artifacts(oldThread)
	for _, e := range entries {
		if e.Type != TypeFile {
			continue
		}
		text, readErr := s.ReadArtifact(oldThread, e.Path)
		out[e.Path], err = string(text), errors.Join(err, readErr)
	}
	return out, err
}

// snapped are the thread's files as a snapshot holds them.
func snapped(s *Store) (files, error) {
	stage, err := s.Stage(thread.OperationID("op-" + rand.Text()))
	if err != nil {
		return nil, err
	}
	defer stage.Discard()
	var m Manifest
	_, err = s.Settled(context.Background(), Wait{}, []thread.ThreadID{oldThread}, func() error {
		m, _, err = stage.Snapshot(context.Background(), oldThread, scope.Set{})
		return err
	})
	out := files{}
	for _, f := range m {
		text, readErr := stage.Blob(f.SHA256)
		out[f.Path], err = string(text), errors.Join(err, readErr)
	}
	return out, err
}

// readers are the ways to read.
func readers() map[string]func(*Store) (files, error) {
	return map[string]func(*Store) (files, error){"a reader": contents, "a snapshot": snapped}
}

// seenBeside has somebody read in front of every step of the operation. The step
// is made when the reading is over, or when its reader evidently waits for it.
func seenBeside(s *Store, read func(*Store) (files, error)) (seen []files, err error) {
	type look struct {
		got files
		err error
	}
	var open []chan look
	opts := Options{Now: clock, Before: func(Action, string) error {
		done := make(chan look, 1)
		open = append(open, done)
		go func() {
			got, err := read(Open(s.Root(), Options{Now: clock}))
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
func cutOffWork(t *testing.T, s *Store, more int) {
	committed := false
	opts := Options{Now: clock, Before: func(a Action, path string) error {
		if committed {
			more--
		}
		if committed && more < 0 {
			return syscall.EIO
		}
		committed = committed || a == ActRename && path == s.Path(StateFile)
		return nil
	}}
	require.ErrorIs(t, working(s, opts, "work"), errUnsettled)
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
	was := listing(t, s)
	_, told, err := contentsWarned(Open(s.Root(), Options{Now: clock}))
	require.NoError(t, err)
	assert.Equal(t, was, listing(t, s))
	require.Len(t, told, 1)
	assert.Equal(t, warnings.FilesPending, told[0].Code)
	paths, _ := told[0].Context.Get("paths")
	assert.Equal(t, []string{inThread + "plan.md", inThread + "fresh.md", inThread + "moved/a.md", inThread + "moves/a.md", inThread + "gone.md"}, paths)
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
	var got files
	var readErr error
	done := make(chan struct{})
	committed, begun := false, false
	opts := Options{Now: clock, Before: func(a Action, path string) error {
		committed = committed || a == ActRename && path == s.Path(StateFile)
		if a == ActLink && committed && !begun {
			begun = true
			go func() {
				defer close(done)
				got, told, readErr = contentsWarned(Open(s.Root(), Options{Now: clock}))
			}()
			select {
			case <-done:
			case <-time.After(5 * deadAfter):
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
	_, err := s.Consistent(ctx, []thread.ThreadID{oldThread}, func() error { return nil })
	storetest.WantCode(t, err, codes.Interrupted)
}

// retitle touches the thread from another process's store.
func retitle(s *Store, lockTimeout time.Duration) error {
	call := callNamed("touch-" + rand.Text())
	call.Wait.Timeout = lockTimeout
	_, err := Open(s.Root(), Options{Now: clock}).Update(context.Background(), call, func(st *thread.State) (Outcome, error) {
		t, err := st.Thread(string(oldThread))
		t.Title += "x"
		st.Threads.Put(t)
		return Outcome{}, err
	})
	return err
}

// refer gives the thread a reference.
func refer(s *Store, _ time.Duration) error {
	id := rand.Text()
	_, err := Open(s.Root(), Options{Now: clock}).Update(context.Background(), callNamed("refer-"+id), func(st *thread.State) (Outcome, error) {
		st.References.Put(thread.Reference{ID: thread.ReferenceID("ref-" + id), From: oldThread, Target: "thread-none", TakenAt: noon})
		return Outcome{}, nil
	})
	return err
}

func elsewhere(s *Store, _ time.Duration) error {
	name := rand.Text()
	_, err := Open(s.Root(), Options{Now: clock}).Update(context.Background(), callNamed(name), create("obj-"+name))
	return err
}

func TestReadingIsRepeatedWhenTheThreadWasTouched(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		operation   func(*Store, time.Duration) error
		times, want int
	}{
		"not":                    {retitle, 0, 1},
		"not, but others were":   {elsewhere, 1, 1},
		"once":                   {retitle, 1, 2},
		"once, by a reference":   {refer, 1, 2},
		"more often than it may": {retitle, looks, looks + 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := workStore(t)
			runs := 0
			_, err := s.Settled(context.Background(), Wait{}, []thread.ThreadID{oldThread}, func() error {
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
	_, err := s.Settled(context.Background(), Wait{}, []thread.ThreadID{oldThread}, func() error {
		runs++
		last = retitle(s, time.Millisecond)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, looks+1, runs)
	storetest.WantCode(t, last, codes.LockFailed)
}

func TestAReaderWhoIsOvertakenTooOftenTakesWhatItHas(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	runs := 0
	_, err := s.Consistent(context.Background(), []thread.ThreadID{oldThread}, func() error {
		runs++
		return retitle(s, 0)
	})
	require.NoError(t, err)
	assert.Equal(t, looks, runs)
}

func TestWhatAWriterSawThroughIsTold(t *testing.T) {
	t.Parallel()
	s := Open(workStore(t).Root(), Options{Now: clock})
	runs := 0
	told, err := s.Settled(context.Background(), Wait{}, []thread.ThreadID{oldThread}, func() error {
		if runs++; runs > looks {
			return nil
		}
		err := retitle(s, 0)
		if runs == looks {
			err = errors.Join(err, os.WriteFile(s.Path(StateFile), []byte("damaged"), 0o644))
		}
		return err
	})
	require.NoError(t, err)
	require.Equal(t, looks+1, runs)
	require.Len(t, told, 1)
	assert.Equal(t, warnings.Recovered, told[0].Code)
	assert.Empty(t, add(t, s, "obj-later").Warnings, "it is told once")
}

func TestFilesOfAStoreThatCannotBeReadAreReadAllTheSame(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	for _, name := range []string{StateFile, BackupFile, JournalFile} {
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
	for _, name := range []string{StateFile, BackupFile, JournalFile} {
		require.NoError(t, os.WriteFile(s.Path(name), []byte("damaged"), 0o644))
	}
	read := false
	_, err := s.Settled(t.Context(), Wait{}, []thread.ThreadID{oldThread}, func() error { read = true; return nil })
	assert.True(t, codes.Has(err, codes.ParseError), "%v", err)
	assert.False(t, read)
}

func TestOnlyWorkThatSomebodyStillDoesIsWaitedForLong(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	var during []bool
	opts := Options{Now: clock, Before: func(a Action, _ string) error {
		if a == ActLink { // files come into place
			during = append(during, filework.Held(s.disk, "op-work"))
		}
		return nil
	}}
	require.NoError(t, working(s, opts, "work"))
	require.Greater(t, len(during), 2)
	assert.NotContains(t, during, false)
	s = workStore(t)
	cutOffWork(t, s, 1)
	assert.False(t, filework.Held(s.disk, "op-work"))
	assert.False(t, filework.Held(s.disk, "op-none"))
}

func TestStepsThatAReaderOfFilesNeedNotWaitFor(t *testing.T) {
	t.Parallel()
	at := observed{ids: []thread.ThreadID{"a", "b"}}
	for to, do := range map[string]thread.StepKind{
		"threads/a":                                  thread.StepMakeDir, // empty, or not there: no artifacts
		"threads/a/.meta/injections.jsonl":           thread.StepAppend,  // in the record, too
		"threads/other/plan.md":                      thread.StepReplace,
		"threads/ab/plan.md":                         thread.StepReplace,
		"merges/merge-1/" + "work/threads/a/plan.md": thread.StepPlace,
	} {
		assert.False(t, at.moved(thread.Step{Do: do, To: to}), to)
	}
	for to, do := range map[string]thread.StepKind{
		"threads/a": thread.StepPlace, "threads/b": thread.StepRemove, "threads/b/design/a.md": thread.StepReplace,
		"threads/a/plan.md": thread.StepDelete, "threads/a/context/inherited/ref-1": thread.StepPlace,
	} {
		assert.True(t, at.moved(thread.Step{Do: do, To: to}), to)
	}
}

// A state that is older than the journal is rolled forward, with the steps that the
// line names as undone.
func TestASnapshotSeesThroughWhatTheJournalNamesAsUndone(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	was := read(t, s, StateFile)
	at := InheritedDir + "/ref-1"
	failed := func(a Action, place string) error {
		if a == ActRename && strings.HasSuffix(place, "/ref-1") {
			return syscall.EIO
		}
		return nil
	}
	require.ErrorIs(t, staging(s.Root(), Options{Now: clock, Before: failed}, "add", "obj-new", func(stage *Stage) error {
		return stage.Write("copy/plan.md", []byte("copied"), false)
	}, func(stage *Stage) []thread.Step {
		return []thread.Step{
			{Do: thread.StepMakeDir, To: inThread + InheritedDir},
			{Do: thread.StepPlace, From: stage.Rel("copy"), To: inThread + at},
		}
	}), errUnsettled)
	require.NoError(t, os.WriteFile(s.Path(StateFile), was, 0o644))
	s = Open(s.Root(), Options{Now: clock})
	_, err := s.View(context.Background(), func(*thread.State) error { return nil }) // as a command begins
	require.NoError(t, err)
	_, err = s.Settled(context.Background(), Wait{}, []thread.ThreadID{oldThread}, func() error {
		_, err := os.Stat(s.Path(inThread + at + "/plan.md"))
		return err
	})
	require.NoError(t, err)
}
