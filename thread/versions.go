package thread

// This file says which content a thread has in common with its parent, for comparing
// the two.

// SharedWith returns what a thread and another gave each other among their artifacts,
// newest first, without what either has reverted since.
func (s *State) SharedWith(id, other ThreadID) []Common { return owned(s.Common(id, other)) }

// ReceivedFrom returns what a thread got from another among its artifacts, when it was
// spawned or by a merge, newest first, without what either has reverted since.
func (s *State) ReceivedFrom(id, other ThreadID) []Common {
	return s.notReverted(owned(s.given(id, other)), id, other)
}
