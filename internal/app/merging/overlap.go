package merging

import (
	"slices"

	"leslie/internal/scope"
	"leslie/merge"
	"leslie/thread"
)

// Conflicting returns the paths of artifacts in which two threads conflict: what a merge of
// both would have to ask about. It plans in memory and records nothing, whatever the status of
// the threads. Errors: T101, T105, T507, T508, T509, T904.
func Conflicting(c Call, a, b thread.ThreadID, set scope.Set) (paths []string, err error) {
	var found parties
	err = c.View(func(s *thread.State) error {
		var who thread.MergeParties
		if who.Target, err = s.Thread(string(a)); err != nil {
			return err
		}
		other, err := s.Thread(string(b))
		who.Sources = []thread.Thread{other}
		found = partiesOf(s, who)
		return err
	})
	if err != nil {
		return nil, err
	}
	in, err := gather(c, found, set)
	if err != nil {
		return nil, err
	}
	plan, err := merge.Make(in.input)
	if err == nil {
		err = in.unread
	}
	if err != nil {
		return nil, err
	}
	for _, conflict := range plan.Conflicts {
		if conflict.Status == merge.Unresolved && !slices.Contains(paths, conflict.Path) {
			paths = append(paths, conflict.Path)
		}
	}
	return paths, nil
}
