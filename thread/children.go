package thread

// ChildrenOf returns the children of a thread that are in the State, ordered as in a
// list.
func (s *State) ChildrenOf(id ThreadID) []Thread {
	return inListOrder(s.Threads.where(`"parentId":"`+string(id)+`"`, func(o Thread) bool { return o.ParentID == id }))
}

// OpenChildren returns the children of a thread that are not terminated.
func (s *State) OpenChildren(id ThreadID) (open []ThreadID) {
	for _, child := range s.ChildrenOf(id) {
		if !child.Status.Terminated() {
			open = append(open, child.ID)
		}
	}
	return open
}
