package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/store"
	"leslie/store/internal/storetest"
	"leslie/store/internal/teststore"
	"leslie/thread"
)

// These tests use one Store from several goroutines.

func TestAWriterIsProtectedWhileAnotherGoroutineReads(t *testing.T) {
	t.Parallel()
	s := workStore(t)
	cutOffWork(t, s, 1)
	_, err := s.ReadConsistent(context.Background(), []thread.ThreadID{"thread-other"}, func() error {
		got := make(chan map[string]string, 1)
		go func() {
			seen, err := snapped(s)
			assert.NoError(t, err)
			got <- seen
		}()
		assert.Equal(t, behindWork(), <-got)
		return nil
	})
	require.NoError(t, err)
}

// pair replaces two files of the thread by the same text.
func pair(s *store.Store, round int) error {
	call := teststore.CallNamed(fmt.Sprintf("pair-%d", round))
	stage, err := s.Stage(call.Stamp.Operation)
	if err != nil {
		return err
	}
	defer stage.Close()
	was, text := fmt.Sprint(round-1), fmt.Sprint(round)
	var steps []thread.Step
	for _, name := range []string{"a.md", "b.md"} {
		if err := stage.Write(name, []byte(text), false); err != nil {
			return err
		}
		steps = append(steps, thread.Step{Do: thread.StepReplace, From: stage.Rel(name), To: teststore.InThread + name, Expect: storetest.Sum(was)})
	}
	call.Staged = []*store.Stage{stage}
	_, err = s.Update(context.Background(), call, func(st *thread.State) (store.Outcome, error) {
		t, err := st.Thread(string(oldThread))
		t.Title = text
		st.Threads.Put(t)
		st.Plan(steps...)
		return store.Outcome{Thread: oldThread}, err
	})
	return err
}

// sameText reports a reading in which the two files differ.
func sameText(got map[string]string) error {
	if got["a.md"] != got["b.md"] || got["a.md"] == "" {
		return fmt.Errorf("a.md holds %q and b.md %q", got["a.md"], got["b.md"])
	}
	return nil
}

func TestOneStoreServesManyGoroutines(t *testing.T) {
	t.Parallel()
	const rounds, readers = 12, 8
	s := workStore(t)
	teststore.Save(t, s, map[string]string{"a.md": "0", "b.md": "0"})
	ctx := context.Background()
	uses := []func() error{
		func() error {
			got, err := snapped(s)
			if err != nil {
				return err
			}
			return sameText(got)
		},
		func() error {
			var titles []string
			_, err := s.View(ctx, func(st *thread.State) error {
				one, err := st.Thread(string(oldThread))
				titles = append(titles, one.Title)
				return err
			})
			return err
		},
		func() error { _, err := contents(s); return err },
		func() error {
			_, err := s.ReadConsistentToWrite(ctx, store.Wait{}, []thread.ThreadID{oldThread}, func() error {
				got, err := listed(s)
				if err != nil {
					return err
				}
				return sameText(got)
			})
			return err
		},
	}
	done := make(chan struct{})
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() {
			for more := true; more; {
				select {
				case <-done:
					more = false
				default:
				}
				if !assert.NoError(t, uses[i%len(uses)]()) {
					return
				}
			}
		})
	}
	for round := 1; round <= rounds; round++ {
		if !assert.NoError(t, pair(s, round)) {
			break
		}
	}
	close(done)
	all.Wait()
	got, err := contents(s)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(rounds), got["a.md"])
	assert.NoError(t, sameText(got))
}
