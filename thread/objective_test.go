package thread_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func TestAnObjectiveIsCompletedWhenMarkedDoneOrWhenAllItsThreadsAre(t *testing.T) {
	t.Parallel()
	at := noon
	cases := []struct {
		name   string
		done   *time.Time
		counts thread.Counts
		want   thread.ObjectiveStatus
	}{
		{"an empty one is active", nil, thread.Counts{}, thread.ObjectiveActive},
		{"an empty one that is marked", &at, thread.Counts{}, thread.ObjectiveCompleted},
		{"one thread works", nil, thread.Counts{thread.Completed: 3, thread.Active: 1}, thread.ObjectiveActive},
		{"one is set aside", nil, thread.Counts{thread.Completed: 3, thread.Suspended: 1}, thread.ObjectiveActive},
		{"one waits for a person", nil, thread.Counts{thread.Completed: 3, thread.WaitingHuman: 1}, thread.ObjectiveActive},
		{"all completed", nil, thread.Counts{thread.Completed: 2}, thread.ObjectiveCompleted},
		{"all cancelled", nil, thread.Counts{thread.Cancelled: 2}, thread.ObjectiveCompleted},
		{"all archived", nil, thread.Counts{thread.Archived: 2}, thread.ObjectiveCompleted},
		{"archived beside an active one", nil, thread.Counts{thread.Archived: 2, thread.Active: 1}, thread.ObjectiveActive},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, thread.Objective{DoneAt: c.done}.Status(c.counts))
		})
	}
}

func TestAnArchivedThreadStillCountsInItsObjective(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("a", "b")
	w.moved("a", thread.Done, thread.Archive)
	w.moved("b", thread.Cancel)

	o, err := w.Objective("obj-one")
	require.NoError(t, err)
	assert.Equal(t, thread.Counts{thread.Archived: 1, thread.Cancelled: 1}, w.CountsOf(o))
	assert.Equal(t, thread.ObjectiveCompleted, o.Status(w.CountsOf(o)))
	assert.False(t, o.Done(), "nobody marked it")
}

func TestAnObjectiveCannotBeDoneBeforeItsThreads(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("a", "b", "c")
	w.moved("a", thread.Done)
	w.moved("b", thread.Suspend)

	_, err := w.FinishObjective("obj-one", w.stamp(thread.User))
	e := failed(t, err, codes.ThreadsNotTerminated, map[string]any{
		"objectiveId": thread.ObjectiveID("obj-one"), "count": 2,
		"threads": thread.Counts{thread.Active: 1, thread.Suspended: 1, thread.Completed: 1},
	})
	assert.Equal(t, []string{"leslie list --objective obj-one"}, e.Next())
	assert.Empty(t, w.Changes())
}

func TestMarkingAnObjectiveDoneTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	w.threads("a")
	w.moved("a", thread.Done)
	stamp := w.stamp(thread.User)
	first, err := w.FinishObjective("obj-one", stamp)
	require.NoError(t, err)
	require.NotNil(t, first.DoneAt)
	assert.Equal(t, stamp.Time, *first.DoneAt)
	w.commit()

	again, err := w.FinishObjective("obj-one", w.stamp(thread.User))
	require.NoError(t, err)
	assert.Equal(t, first, again)
	assert.Empty(t, w.Changes())
}

func TestADoneObjectiveAcceptsNoNewThreads(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	_, err := w.FinishObjective("obj-one", w.stamp(thread.User))
	require.NoError(t, err, "an empty one can be given up")
	w.commit()

	_, err = w.Spawn(thread.NewThread{ID: "a", Objective: "obj-one"}, w.stamp(thread.User))
	failed(t, err, codes.ObjectiveDone, map[string]any{"objectiveId": thread.ObjectiveID("obj-one")})
}

func TestAnObjectivesIDIsTakenOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-one")
	_, err := w.CreateObjective(thread.NewObjective{ID: "obj-one", Title: "again"}, w.stamp(thread.User))
	e := failed(t, err, codes.AlreadyExists, map[string]any{"id": thread.ObjectiveID("obj-one")})
	assert.Equal(t, []string{"leslie objective status obj-one"}, e.Next())
}

func TestAMissingObjectiveNamesTheNearest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("obj-abcdefgh")
	_, err := w.Objective("obj-abcdefgx")
	e := failed(t, err, codes.ObjectiveNotFound, map[string]any{"objectiveId": "obj-abcdefgx", "nearest": "obj-abcdefgh"})
	assert.Equal(t, []string{"leslie objective status obj-abcdefgh"}, e.Next())

	_, err = w.FinishObjective("nothing-like-it", w.stamp(thread.User))
	e = failed(t, err, codes.ObjectiveNotFound, nil)
	_, said := e.Facts().Get("nearest")
	assert.False(t, said)
}

func TestObjectivesAreOrderedByCreationTimeThenID(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.objective("zeta")
	w.objective("alpha")
	for _, id := range []thread.ObjectiveID{"twin-b", "twin-a"} {
		_, err := w.CreateObjective(thread.NewObjective{ID: id}, w.stamp(thread.User))
		require.NoError(t, err)
	}
	var got []thread.ObjectiveID
	for _, o := range w.ObjectivesInOrder() {
		got = append(got, o.ID)
	}
	assert.Equal(t, []thread.ObjectiveID{"zeta", "alpha", "twin-a", "twin-b"}, got)
}
