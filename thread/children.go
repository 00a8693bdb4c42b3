package thread

// OpenChildren returns the children of a thread that are not terminated, ordered as in a
// list.
func (s *State) OpenChildren(id ThreadID) (open []ThreadID) {
	children := s.Threads.where(`"parentId":"`+string(id)+`"`, func(o Thread) bool { return o.ParentID == id && !o.Status.Terminated() })
	for _, child := range inListOrder(children) {
		open = append(open, child.ID)
	}
	return open
}
