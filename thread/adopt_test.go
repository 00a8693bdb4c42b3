package thread_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/thread"
)

func adoptedThread(id thread.ThreadID, status thread.Status) thread.Thread {
	return thread.Thread{ID: id, ObjectiveID: "goal", Title: "T", Intent: "I", Status: status, Executor: thread.ByAgent, Inherit: thread.InheritNone}
}

func TestAdoptRefusesRecordsThatDoNotFitTogether(t *testing.T) {
	t.Parallel()
	goal := []thread.Objective{{ID: "goal", Title: "Goal"}}
	with := func(edit func(*thread.Thread)) []thread.Thread {
		th := adoptedThread("a", thread.Active)
		edit(&th)
		return []thread.Thread{th}
	}
	for name, tt := range map[string]struct {
		in   thread.Adoption
		code codes.Code
	}{
		"an id twice":           {thread.Adoption{Objectives: append(goal, goal...)}, codes.AlreadyExists},
		"an id that leads out":  {thread.Adoption{Objectives: goal, Threads: with(func(t *thread.Thread) { t.ID = "../up" })}, codes.InvalidArgument},
		"a reserved id":         {thread.Adoption{Objectives: goal, Threads: with(func(t *thread.Thread) { t.ID = "nul" })}, codes.InvalidArgument},
		"no objective":          {thread.Adoption{Threads: with(func(*thread.Thread) {})}, codes.ObjectiveNotFound},
		"no parent":             {thread.Adoption{Objectives: goal, Threads: with(func(t *thread.Thread) { t.ParentID = "b" })}, codes.ThreadNotFound},
		"no dependency":         {thread.Adoption{Objectives: goal, Threads: with(func(t *thread.Thread) { t.DependsOn = []thread.ThreadID{"b"} })}, codes.ThreadNotFound},
		"itself as parent":      {thread.Adoption{Objectives: goal, Threads: with(func(t *thread.Thread) { t.ParentID = "a" })}, codes.CircularReference},
		"an unknown status":     {thread.Adoption{Objectives: goal, Threads: with(func(t *thread.Thread) { t.Status = "odd" })}, codes.InvalidArgument},
		"an unknown executor":   {thread.Adoption{Objectives: goal, Threads: with(func(t *thread.Thread) { t.Executor = "odd" })}, codes.InvalidArgument},
		"a reference from none": {thread.Adoption{References: []thread.Reference{{ID: "r", From: "a", Target: "b", Binding: thread.Live}}}, codes.ThreadNotFound},
		"a merge of none":       {thread.Adoption{Merges: []thread.Merge{{ID: "m", Target: "a"}}}, codes.ThreadNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := thread.NewState(0, nil, nil).Adopt(tt.in)
			require.True(t, codes.Has(err, tt.code), "%v", err)
		})
	}
}

func TestAdoptMovesArchivedThreadsToTheArchive(t *testing.T) {
	t.Parallel()
	s := thread.NewState(3, nil, nil)
	require.NoError(t, s.Adopt(thread.Adoption{
		Objectives: []thread.Objective{{ID: "goal", Title: "Goal"}},
		Threads:    []thread.Thread{adoptedThread("cold", thread.Archived), adoptedThread("warm", thread.Completed)},
		References: []thread.Reference{
			{ID: "ref-1", From: "cold", Target: "warm", Binding: thread.Live}, {ID: "ref-2", From: "warm", Target: "cold2", Binding: thread.Live},
		},
	}))
	o, _ := s.Objectives.Get("goal")
	assert.Equal(t, 1, o.Archived)
	assert.Equal(t, 1, s.Threads.Len())
	assert.Equal(t, 1, s.References.Len())
	assert.Len(t, s.ArchivedNow(), 2)
	cold, err := s.Thread("cold")
	require.NoError(t, err)
	assert.Equal(t, thread.Revision(4), cold.Revision)
}

func TestAdoptTakesNoIdWhileTheArchiveCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.archive.err = codes.ReadFailed.New()
	err := w.Adopt(thread.Adoption{
		Objectives: []thread.Objective{{ID: "goal", Title: "Goal"}},
		Threads:    []thread.Thread{adoptedThread("a", thread.Completed), adoptedThread("b", thread.Completed)},
		References: []thread.Reference{{ID: "ref-1", From: "a", Target: "b", Binding: thread.Live}},
	})
	require.True(t, codes.Has(err, codes.ReadFailed), "%v", err)
}

// TestAdoptFindsALongCycle also shows that the search neither recurses nor repeats.
func TestAdoptFindsALongCycle(t *testing.T) {
	t.Parallel()
	const n = 20_000
	in := thread.Adoption{Objectives: []thread.Objective{{ID: "goal", Title: "Goal"}}}
	for i := range n {
		th := adoptedThread(thread.ThreadID(fmt.Sprintf("t%05d", i)), thread.Active)
		th.DependsOn = []thread.ThreadID{thread.ThreadID(fmt.Sprintf("t%05d", (i+1)%n))}
		in.Threads = append(in.Threads, th)
	}
	err := thread.NewState(0, nil, nil).Adopt(in)
	require.True(t, codes.Has(err, codes.CircularReference), "%v", err)
	in.Threads[n-1].DependsOn = nil
	require.NoError(t, thread.NewState(0, nil, nil).Adopt(in))
}
