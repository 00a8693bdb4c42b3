package thread

import (
	"slices"

	"leslie/codes"
	"leslie/internal/fact"
)

// Spawn creates a thread. It does not start anyone. Errors: T106 if the id is taken,
// T101 and T105 for the parent and the dependencies, T107 if the parent is
// terminated, T903 for a reserved id, T803 for code that another thread has, and those
// of choosing the objective (T601, T603, T903).
func (s *State) Spawn(in NewThread, stamp Stamp) (Thread, error) {
	if taken := s.alike(in.ID); taken != "" {
		next := "leslie status " + string(taken)
		if _, err := s.Thread(string(taken)); err != nil {
			next = "leslie list --all" // a folder without a record
		}
		e := codes.AlreadyExists.New(fact.Of("id", taken)).WithNext(next)
		if t, _ := s.Threads.Peek(string(taken)); t.ID == in.ID && t.Title == in.Title && t.Intent == in.Intent {
			e = e.WithHint("The thread has this title and intent: a call that was killed after it had made the thread has done all")
		}
		return Thread{}, e
	}
	if err := ReservedName(string(in.ID)); err != nil {
		return Thread{}, err
	}
	if slices.Contains(commandWords(), string(in.ID)) {
		return Thread{}, codes.InvalidArgument.New(fact.Of("reason", "the id '"+string(in.ID)+"' is a word of the command leslie code; choose another"), fact.Of("id", in.ID))
	}
	t := in.thread(stamp)
	parent, err := s.parentOf(in.Parent)
	if err != nil {
		return Thread{}, err
	}
	if t.DependsOn, err = s.threadIDs(in.DependsOn); err != nil {
		return Thread{}, err
	}
	o, err := s.openObjective(in.Objective, parent)
	if in.Objective == "" && parent == nil && in.NewObjective != "" && (in.OwnObjective || len(s.OpenObjectives()) == 0) {
		o, err = s.CreateObjective(NewObjective{ID: in.NewObjective, Title: in.Title, Made: true}, stamp)
	}
	if err != nil {
		return Thread{}, err
	}
	t.ObjectiveID = o.ID
	if parent != nil {
		t.ParentID = parent.ID
		if in.Shared != "" {
			t.Shared = []Share{{With: parent.ID, Manifest: in.Shared, Scope: in.Scope, How: "spawn", At: s.Revision + 1}}
		}
	}
	if in.Code != nil {
		if err := s.give(&t, *in.Code); err != nil {
			return Thread{}, err
		}
	}
	return s.Threads.Put(t), nil
}

// commandWords are the words behind "leslie code" that are no thread's id.
func commandWords() []string { return []string{"setup", "remove", "restore", "prune", "list"} }

func (s *State) parentOf(arg string) (*Thread, error) {
	if arg == "" {
		return nil, nil
	}
	parent, err := s.LiveThread(arg)
	if err != nil {
		return nil, err
	}
	return &parent, nil
}

// threadIDs resolves shortened ids. The result is sorted, without duplicates.
func (s *State) threadIDs(args []string) ([]ThreadID, error) {
	var ids []ThreadID
	for _, arg := range args {
		t, err := s.Thread(arg)
		if err != nil {
			return nil, err
		}
		ids = append(ids, t.ID)
	}
	return sortedSet(ids), nil
}

// sortedSet returns the values sorted, without duplicates; nil for none.
func sortedSet[T ~string](values []T) []T {
	if len(values) == 0 {
		return nil
	}
	out := slices.Clone(values)
	slices.Sort(out)
	return slices.Compact(out)
}
