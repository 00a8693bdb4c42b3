package threads

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/app"
	"leslie/internal/app/apptest"
	"leslie/store"
	"leslie/thread"
)

// A call that only names a thread is not refused because the thread has changed
// since the revision that the caller knows.
func TestProlongingNeverMakesACallStale(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Person()
	_, err := Claim(c, ClaimRequest{Thread: "main", For: 10 * time.Minute})
	require.NoError(t, err)
	claimed := *c.Revision()
	for _, tt := range []struct {
		expect    thread.Revision
		own, want bool // the call changes the thread itself; the claim is prolonged
	}{{claimed - 1, false, false}, {claimed, false, true}, {claimed - 1, true, true}} {
		_, err := store.Open(b.Dir, store.Options{}).View(context.Background(), func(s *thread.State) error {
			stamp := thread.Stamp{Time: b.Now().Add(6 * time.Minute), As: thread.User, Actor: "kim"}
			_, err := s.CreateObjective(thread.NewObjective{ID: "new", Title: "x"}, stamp)
			require.NoError(t, err)
			if tt.own {
				_, err := s.Edit("main", thread.Edit{AddTags: []string{"x"}}, stamp)
				require.NoError(t, err)
			}
			app.ProlongClaims(s, s.Changes(), "main", store.Call{Stamp: stamp, Expect: &tt.expect})
			th, _ := s.Threads.Peek("main")
			assert.Equal(t, tt.want, th.Claim.Until.Equal(stamp.Time.Add(10*time.Minute)), "%+v", tt)
			assert.Equal(t, tt.own, s.Stale(tt.expect) != nil, "%+v", tt)
			return nil
		})
		require.NoError(t, err)
	}
}

func TestListsAreCut(t *testing.T) {
	t.Parallel()
	three := []int{1, 2, 3}
	assert.Equal(t, app.Items[int]{Items: []int{1, 2}, Total: 3, Truncated: true}, app.First(three, 2))
	assert.Equal(t, app.Items[int]{Items: three, Total: 3}, app.First(three, 3))
	assert.Equal(t, app.Items[int]{Items: three, Total: 3}, app.First(three, 0))
	assert.Equal(t, app.Items[int]{Items: []int{}}, app.First[int](nil, 0), "no items are an empty list, not null")
}
