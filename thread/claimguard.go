package thread

import (
	"strings"

	"leslie/internal/fact"
	"leslie/warnings"
)

// This file decides who may change a thread that somebody else has claimed. Every use
// case that changes a thread's status, fields or artifacts calls it.

// RespectClaim reports whether the caller may change a thread although somebody else
// may have claimed it. The holder may. The holder of a claim on an ancestor, who leads
// the work, and a person may, too, with W106 for them to see. Nobody else may. Call it
// before the change, which may end the claim. Errors: T101, T105, T108.
func (s *State) RespectClaim(arg string, stamp Stamp) (warnings.List, error) {
	t, err := s.Thread(arg)
	if err != nil {
		return nil, err
	}
	held := t.heldByOther(stamp)
	switch {
	case held == nil:
		return nil, nil
	case stamp.ByPerson() || s.leads(t, stamp):
		return warnings.List{warnings.ClaimedByOther.New(
			fact.Of("threadId", t.ID), fact.Of("holder", held.Holder), fact.Of("until", held.Until))}, nil
	}
	return nil, s.claimed(t, held, stamp)
}

// RespectClaims is RespectClaim for every thread that an operation concerns and that
// still exists: undoing the operation changes them. Errors: T108.
func (s *State) RespectClaims(op Operation, stamp Stamp) (warnings.List, error) {
	var all warnings.List
	ids := []string{string(op.ThreadID)}
	for _, c := range op.Changes {
		if id, ok := strings.CutPrefix(c.Record, TableThreads+"/"); ok {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if _, ok := s.Threads.Peek(id); !ok {
			continue
		}
		found, err := s.RespectClaim(id, stamp)
		if err != nil {
			return nil, err
		}
		all.Add(found...)
	}
	return all, nil
}

// leads reports whether the actor holds a claim on an ancestor of the thread.
func (s *State) leads(t Thread, stamp Stamp) bool {
	met := map[ThreadID]bool{}
	for t.ParentID != "" && !met[t.ParentID] {
		met[t.ParentID] = true
		t, _ = s.Threads.Peek(string(t.ParentID))
		if held := t.Held(stamp.Time); held != nil && held.Holder == stamp.Actor {
			return true
		}
	}
	return false
}
