package thread

import (
	"slices"

	"leslie/codes"
	"leslie/internal/fact"
)

// Edit changes a thread's own fields. Errors: T101, T105, T107 for an archived
// thread, T201 if the dependencies would form a cycle.
func (s *State) Edit(arg string, in Edit, stamp Stamp) (Thread, error) {
	t, err := s.Thread(arg)
	if err != nil {
		return Thread{}, err
	}
	if t.Status == Archived {
		return Thread{}, notWritable(t)
	}
	was := t
	in.apply(&t)
	if t.DependsOn, err = s.editedDepends(t, in); err != nil {
		return Thread{}, err
	}
	if same(was, t) {
		return t, nil
	}
	t.Updated = stamp.Time
	return s.Threads.Put(t), nil
}

func same(a, b Thread) bool { return string(encode(a)) == string(encode(b)) }

func edited[T ~string](have, add, drop []T) []T {
	kept := slices.DeleteFunc(slices.Concat(have, add), func(v T) bool { return slices.Contains(drop, v) })
	return sortedSet(kept)
}

func (s *State) editedDepends(t Thread, in Edit) ([]ThreadID, error) {
	add, err := s.threadIDs(in.AddDepends)
	if err != nil {
		return nil, err
	}
	// A removed dependency may no longer exist.
	var drop []ThreadID
	for _, arg := range in.DropDepend {
		id := ThreadID(arg)
		if found, err := s.Thread(arg); err == nil {
			id = found.ID
		}
		if !slices.Contains(t.DependsOn, id) {
			return nil, codes.InvalidArgument.New(
				fact.Of("reason", "'"+string(t.ID)+"' does not depend on '"+arg+"'"),
				fact.Of("threadId", t.ID), fact.Of("dependsOn", t.DependsOn)).
				WithNext("leslie status " + string(t.ID))
		}
		drop = append(drop, id)
	}
	for _, id := range add {
		if path := s.dependencyPath(id, t.ID); path != nil {
			return nil, circular(append([]ThreadID{t.ID}, path...)).WithNext("leslie status " + string(t.ID))
		}
	}
	return edited(t.DependsOn, add, drop), nil
}

// dependencyPath returns a shortest path along dependencies from one thread to
// another, both ends included; nil if there is none.
func (s *State) dependencyPath(from, to ThreadID) []ThreadID {
	return path(from, to, func(id ThreadID) []ThreadID {
		t, _ := s.Threads.Peek(string(id))
		return t.DependsOn
	})
}
