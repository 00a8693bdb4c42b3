package thread

// This file has what is said of a thread by whoever creates or changes it. Package threads
// checks it, and the thread's record (Thread) keeps it.

// Priority says which ready thread is claimed first: that with the smaller number, and of
// several with the same number the oldest.
type Priority int

// The priorities.
const (
	HighestPriority Priority = 0
	NormalPriority  Priority = 2
	LowestPriority  Priority = 4
)

// Level returns the priority, NormalPriority for nil.
func (p *Priority) Level() Priority {
	if p == nil {
		return NormalPriority
	}
	return *p
}

// recorded is the priority as a thread's record has it.
func (p *Priority) recorded() *Priority {
	if p.Level() == NormalPriority {
		return nil
	}
	return p
}

// NewThread has the parameters of a new thread. Ids of other records may be
// shortened; ID is the full id of the new thread.
type NewThread struct {
	ID        ThreadID
	Objective string // "" for the parent's or the only open one
	// NewObjective is the id of the objective that is made, with the thread's title, if none is
	// open; "": that is refused.
	NewObjective ObjectiveID
	// OwnObjective: it is made, whatever is open.
	OwnObjective bool
	Parent       string // "" for none
	Title        string
	Intent       string
	Executor     Executor
	Priority     *Priority // nil: NormalPriority
	Tags         []string
	DependsOn    []string
	Branch       string
	Worktree     string
	Inherit      Inherit
	// Shared is the manifest of the files copied from the parent, "" for none;
	// Scope is the requested scope, nil for everything.
	Shared BlobID
	Scope  []string
	// Code is what the thread will own, nil for nothing.
	Code *Code
}

// thread returns the new thread as far as it needs nothing of the State.
func (in NewThread) thread(stamp Stamp) Thread {
	return Thread{
		ID: in.ID, Title: in.Title, Intent: in.Intent, Status: Active, Executor: in.Executor, Priority: in.Priority.recorded(),
		Tags: sortedSet(in.Tags), Branch: in.Branch, Worktree: in.Worktree, Inherit: in.Inherit,
		Created: Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor}, Updated: stamp.Time,
	}
}

// Edit has the requested changes of a thread. A nil field is not changed.
type Edit struct {
	Title, Intent          *string
	Priority               *Priority
	AddTags, DropTags      []string
	AddDepends, DropDepend []string
	Branch, Worktree       *string
}

// apply changes a thread as far as that needs nothing of the State.
func (in Edit) apply(t *Thread) {
	for _, change := range []struct{ to, from *string }{
		{&t.Title, in.Title}, {&t.Intent, in.Intent}, {&t.Branch, in.Branch}, {&t.Worktree, in.Worktree},
	} {
		if change.from != nil {
			*change.to = *change.from
		}
	}
	if in.Priority != nil {
		t.Priority = in.Priority.recorded()
	}
	t.Tags = edited(t.Tags, in.AddTags, in.DropTags)
}
