package thread

import (
	"slices"
	"strings"
)

// BeginCodeRemoval records that the worktree of a thread is being removed, and which ref
// will keep its work. Errors: those of ChangeCode.
func (s *State) BeginCodeRemoval(id ThreadID, ref string, stamp Stamp) (Thread, error) {
	return s.ChangeCode(string(id), []CodeState{CodeReady}, stamp, func(_ *Thread, c *Code) {
		c.State, c.Removed = CodeRemoving, &CodeRemoval{At: stamp.Time, Ref: ref}
	})
}

// EndCodeRemoval records how a removal has ended: removed, or, if how is nil, that it was
// taken back. Errors: those of ChangeCode.
func (s *State) EndCodeRemoval(id ThreadID, how *CodeRemoval, stamp Stamp) (Thread, error) {
	return s.ChangeCode(string(id), []CodeState{CodeRemoving}, stamp, func(_ *Thread, c *Code) {
		if c.State, c.Removed = CodeRemoved, how; how == nil {
			c.State = CodeReady
		}
	})
}

// KeepRemoved records which ref keeps what a removed worktree had. A thread that is gone is
// passed over.
func (s *State) KeepRemoved(id ThreadID, ref string) {
	t, ok := s.Threads.Get(string(id))
	if !ok || t.OwnedCode() == nil || t.OwnedCode().Removed == nil {
		return
	}
	t.Code = slices.Clone(t.Code)
	removed := *t.Code[0].Removed
	removed.Ref = ref
	t.Code[0].Removed = &removed
	s.Threads.Put(t)
}

// RemovedIn returns the thread whose removal an operation recorded: that its worktree was removed,
// or the branch that the removal had left; "" for none. began: it only records that a removal
// begins.
func RemovedIn(op Operation) (id ThreadID, began bool) {
	for _, c := range op.Changes {
		if op.Steps() || Absent(c.Before) || Absent(c.After) || !strings.HasPrefix(c.Record, TableThreads+"/") {
			continue
		}
		after := valueOf[Thread](c.After)
		switch was, is := valueOf[Thread](c.Before).OwnedCode(), after.OwnedCode(); {
		case was == nil || is == nil || is.Removed == nil:
		case is.State == CodeRemoving && was.State != CodeRemoving:
			return after.ID, true
		case is.State == CodeRemoved && (was.Removed == nil || was.State != CodeRemoved || was.Removed.Tip != is.Removed.Tip || was.Removed.Ref != is.Removed.Ref):
			return after.ID, false
		}
	}
	return "", false
}

// MadeCode reports whether an operation gave a thread code, or changed the state of what it owns.
func MadeCode(op Operation) bool {
	return slices.ContainsFunc(op.Changes, func(c Change) bool {
		if !strings.HasPrefix(c.Record, TableThreads+"/") {
			return false
		}
		was, is := valueOf[Thread](c.Before).OwnedCode(), valueOf[Thread](c.After).OwnedCode()
		return is != nil && (was == nil || was.State != is.State)
	})
}

// OnlyLost reports whether an operation only records that the worktree of a thread was not there.
func OnlyLost(op Operation) bool {
	return len(op.Changes) == 1 && slices.ContainsFunc(op.Changes, func(c Change) bool {
		if op.Steps() || !strings.HasPrefix(c.Record, TableThreads+"/") {
			return false
		}
		was, is := valueOf[Thread](c.Before).OwnedCode(), valueOf[Thread](c.After).OwnedCode()
		return was != nil && is != nil && was.State != CodeLost && is.State == CodeLost
	})
}

// MayUndo returns T402 for whoever may not undo an operation: see Invert.
func (s *State) MayUndo(op Operation, stamp Stamp) error {
	return (&inverting{s: s, op: op, stamp: stamp}).allowed()
}

// LoseCode records that the folder of a worktree is not there. Errors: those of ChangeCode.
func (s *State) LoseCode(id ThreadID, stamp Stamp) (Thread, error) {
	return s.ChangeCode(string(id), []CodeState{CodeReady, CodeRemoving, CodeLost}, stamp, func(_ *Thread, c *Code) {
		c.State, c.Removed = CodeLost, nil
	})
}

// ForgetCode takes code that leslie did not make from its thread, which keeps the names
// of its branch and its worktree. Errors: those of ChangeCode.
func (s *State) ForgetCode(id ThreadID, stamp Stamp) (Thread, error) {
	return s.ChangeCode(string(id), nil, stamp, func(t *Thread, _ *Code) { t.Code = nil })
}

// RestoreCode records that the worktree of a thread is there again, with its folder in the
// repository. Errors: those of ChangeCode; T803 if another thread has the branch or the
// folder by now.
func (s *State) RestoreCode(id ThreadID, admin string, stamp Stamp) (Thread, error) {
	t, err := s.ownCode(string(id), CodeReady, CodeRemoved, CodeLost)
	if err != nil {
		return Thread{}, err
	}
	code := *t.OwnedCode()
	code.State, code.Admin, code.Removed = CodeReady, admin, nil
	if err := s.give(&t, code); err != nil { // a slot, too, that is free now
		return Thread{}, err
	}
	given := t.Code
	return s.ChangeCode(string(id), nil, stamp, func(t *Thread, _ *Code) { t.Code = given })
}

// MoveCode records where a thread's code is after it was moved: its repository, the
// worktree's folder in it, and the worktree. A lost worktree is there again only after
// RestoreCode. Errors: those of ChangeCode.
func (s *State) MoveCode(id ThreadID, repo, admin, worktree string, stamp Stamp) (Thread, error) {
	return s.ChangeCode(string(id), nil, stamp, func(t *Thread, c *Code) {
		c.Repo, c.Admin, t.Worktree = repo, admin, worktree
	})
}

// LastLanded is the newest landing, not what another thread has pulled.
func (c *Code) LastLanded() (last CodeLanded, ok bool) {
	for _, l := range slices.Backward(c.Landed) {
		if !l.Pulled {
			return l, true
		}
	}
	return last, false
}

// LandingAt is the newest landing of code with its branch at a commit, if there is one. What a
// thread that builds on it only took over, as with leslie pull, has not landed.
func (c *Code) LandingAt(tip string) (last CodeLanded, is bool) {
	for _, l := range slices.Backward(c.Landed) {
		if l.Tip == tip && !l.Pulled {
			return l, true
		}
	}
	return last, false
}

// LandedAt reports whether there is a LandingAt a commit.
func (c *Code) LandedAt(tip string) bool {
	_, is := c.LandingAt(tip)
	return is
}
