package thread_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/thread"
)

// This file limits the allocations of rules: a query about a few records must not cost
// as much as one about all. Allocation counts do not depend on the machine; make bench
// measures times.
//
// The tests count the allocations of the whole process, so they are not parallel.

// crowded returns a freshly read State with n threads of two objectives. Every third
// thread depends on the one before, and every tenth refers to thread 0.
func crowded(t testing.TB, n int) func() *thread.State {
	t.Helper()
	source := thread.NewState(0, nil, nil)
	for _, id := range []thread.ObjectiveID{"obj-a", "obj-b"} {
		source.Objectives.Put(thread.Objective{ID: id, CreatedAt: noon})
	}
	for i := range n {
		th := thread.Thread{
			ID: numbered(i), ObjectiveID: "obj-a", Title: "One of many", Intent: "Do one of many things", Status: thread.Active,
			Executor: thread.ByAgent, Tags: []string{"many"}, Inherit: thread.InheritNone, Created: thread.Attribution{At: noon, As: thread.User, Actor: "ann"}, Updated: noon,
		}
		if i%3 == 2 {
			th.DependsOn = []thread.ThreadID{numbered(i - 1)}
		}
		source.Threads.Put(th)
		if i%10 == 1 {
			source.References.Put(thread.Reference{ID: thread.ReferenceID(fmt.Sprintf("ref-%08d", i)), From: th.ID, Target: numbered(0), Binding: thread.Live, Created: th.Created})
		}
	}
	records := thread.Records{}
	for _, table := range thread.Tables() {
		records[table] = source.Lines(table)
	}
	return func() *thread.State { return thread.NewState(1, records, nil) }
}

func numbered(i int) thread.ThreadID { return thread.ThreadID(fmt.Sprintf("thread-%08d", i)) }

// questions returns the queries of rules and commands, with the maximum number of
// allocations of each on a freshly read State of any size.
func questions() map[string]struct {
	ask  func(*testing.T, *thread.State)
	most float64
} {
	type question = struct {
		ask  func(*testing.T, *thread.State)
		most float64
	}
	stamp := thread.Stamp{Operation: "op-x", Time: noon, As: thread.User, Actor: "ann"}
	first := func(f thread.Filter) func(*testing.T, *thread.State) {
		return func(t *testing.T, s *thread.State) {
			page, err := s.First(f, 20)
			require.NoError(t, err)
			require.Len(t, page.Threads, 20)
		}
	}
	return map[string]question{
		"one thread":       {func(t *testing.T, s *thread.State) { _, err := s.Thread("thread-00000040"); require.NoError(t, err) }, 50},
		"a short list":     {first(thread.Filter{}), 650},
		"a filtered list":  {first(thread.Filter{Status: thread.Active, Objective: "obj-a"}), 650},
		"an executor's":    {first(thread.Filter{Executor: thread.ByAgent}), 650},
		"an urgent list":   {first(thread.Filter{Order: thread.ByUrgency}), 650},
		"counts":           {func(_ *testing.T, s *thread.State) { s.AllCounts() }, 50},
		"what waits":       {func(_ *testing.T, s *thread.State) { s.StalledThreads(10) }, 50},
		"an objective's":   {func(t *testing.T, s *thread.State) { o, _ := s.Objectives.Peek("obj-a"); s.CountsOf(o) }, 40},
		"relations":        {func(t *testing.T, s *thread.State) { th, _ := s.Threads.Peek("thread-00000040"); s.RelationsOf(th) }, 100},
		"references from":  {func(_ *testing.T, s *thread.State) { s.ReferencesFrom("thread-00000041") }, 50},
		"references to":    {func(_ *testing.T, s *thread.State) { s.ReferencesTo("thread-00000040") }, 30},
		"a status changed": {func(t *testing.T, s *thread.State) { lifecycle(t, s, stamp) }, 100},
		"a new thread": {func(t *testing.T, s *thread.State) {
			_, err := s.Spawn(thread.NewThread{ID: "thread-new", Objective: "obj-a", Intent: "x", Executor: thread.ByAgent, DependsOn: []string{"thread-00000040"}}, stamp)
			require.NoError(t, err)
			s.Lines(thread.TableThreads)
			s.Changes()
		}, 100},
	}
}

func lifecycle(t *testing.T, s *thread.State, stamp thread.Stamp) {
	done, err := s.Lifecycle("thread-00000040", thread.Done, "", stamp)
	require.NoError(t, err)
	o, _ := s.Objectives.Peek(string(done.Thread.ObjectiveID))
	s.CountsOf(o)
	s.Changes()
}

func TestAQueryForFewThreadsAllocatesLittle(t *testing.T) {
	few, many := crowded(t, 300), crowded(t, 3_000)
	for name, q := range questions() {
		at := func(fresh func() *thread.State) float64 { return testing.AllocsPerRun(3, func() { q.ask(t, fresh()) }) }
		small, large := at(few), at(many)
		t.Logf("%s: %.0f allocations among 300 threads, %.0f among 3,000", name, small, large)
		assert.LessOrEqual(t, large, q.most, name)
		assert.LessOrEqual(t, large, small+20, "%s: ten times the threads allocate the same", name)
	}
}

// Adding a reference scans all references, whose ends are read from bytes: one string
// for each.
func TestANewReferenceDoesNotDecodeTheOthers(t *testing.T) {
	fresh := crowded(t, 3_000)
	got := testing.AllocsPerRun(3, func() {
		_, _, err := fresh().Refer(thread.NewReference{ID: "ref-new", From: "thread-00000040", Target: "thread-00000050", Binding: thread.Live}, thread.Stamp{Time: noon})
		require.NoError(t, err)
	})
	t.Logf("%.0f allocations among 300 references", got)
	assert.Less(t, got, 1_200.0, "decoding them would take ten each")
}

// A batch asks for each of its lines whether an id is free, on a State that the lines before have changed.
func TestAFreeIDMakesNoListOfAllThreads(t *testing.T) {
	s := crowded(t, 2_000)()
	s.Threads.Put(thread.Thread{
		ID: "Of-this-batch", ObjectiveID: "obj-a", Status: thread.Active, Executor: thread.ByAgent,
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		s.FreeThreadID("the-next-of-it")
	}
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10),
		"bytes of ten calls; a list of all takes as much each time")
	assert.True(t, s.FreeThreadID("the-next-of-it"))
	assert.False(t, s.FreeThreadID("of-this-batch"), "it differs in upper and lower case only")
	assert.False(t, s.FreeThreadID("Thread-00000007"))
}
