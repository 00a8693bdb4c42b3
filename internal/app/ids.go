package app

import (
	"slices"
	"strconv"
	"strings"

	"leslie/thread"
)

// maxSameTitle is up to which number the ids of one title are counted; beyond that an id
// ends at random.
const maxSameTitle = 99

// NewThreadID returns the wanted id of a new thread, otherwise one that its title gives, with
// a number if that is taken; a random one if the title gives none, or the configuration says
// so. tried are ids that it may not be either.
func (c *Call) NewThreadID(s *thread.State, wanted, title string, tried ...thread.ThreadID) thread.ThreadID {
	taken := func(id string) bool {
		return !s.FreeThreadID(thread.ThreadID(id)) || slices.Contains(tried, thread.ThreadID(id))
	}
	return thread.ThreadID(c.freeID(wanted, Slug(title), thread.PrefixThread, taken))
}

// NewObjectiveID is NewThreadID for an objective.
func (c *Call) NewObjectiveID(s *thread.State, wanted, title string) thread.ObjectiveID {
	return c.freeObjectiveID(s, wanted, Slug(title))
}

// ObjectiveIDFor returns an id for the objective that is made for a new thread: the
// thread's own, with a number if that is taken.
func (c *Call) ObjectiveIDFor(s *thread.State, id thread.ThreadID) thread.ObjectiveID {
	base := string(id)
	if strings.HasPrefix(base, thread.PrefixThread) { // a random one
		base = ""
	}
	return c.freeObjectiveID(s, "", base)
}

func (c *Call) freeObjectiveID(s *thread.State, wanted, base string) thread.ObjectiveID {
	return thread.ObjectiveID(c.freeID(wanted, base, thread.PrefixObjective, func(id string) bool {
		_, taken := s.Objectives.Peek(id)
		return taken || thread.ReservedName(id) != nil
	}))
}

// freeID returns the wanted id, otherwise base, with a number if it is taken, or a random id
// of a kind.
func (c *Call) freeID(wanted, base, kind string, taken func(string) bool) string {
	if wanted != "" || base == "" {
		return c.NewID(wanted, kind, taken)
	}
	if set, err := c.Configured(); err == nil && set.randomIDs {
		return c.NewID("", kind, taken)
	}
	id := base
	for n := 2; taken(id); n++ {
		if n > maxSameTitle {
			return c.NewID("", base+"-", taken)
		}
		id = base + "-" + strconv.Itoa(n)
	}
	return id
}

// NewCheckpointID returns an id that no checkpoint of a thread has.
func (c *Call) NewCheckpointID(t thread.Thread) thread.CheckpointID {
	return thread.CheckpointID(c.NewID("", thread.PrefixCheckpoint, func(id string) bool {
		_, err := t.CheckpointOf(id)
		return err == nil
	}))
}

// NewApprovalID returns an id that no approval has.
func (c *Call) NewApprovalID(s *thread.State) thread.ApprovalID {
	return thread.ApprovalID(c.NewID("", thread.PrefixApproval, func(id string) bool {
		_, taken := s.Approvals.Peek(id)
		return taken
	}))
}
