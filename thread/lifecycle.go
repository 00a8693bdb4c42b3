package thread

import (
	"cmp"
	"slices"

	"leslie/codes"
	"leslie/internal/fact"
)

// Status is the status of a thread.
type Status string

// The statuses. The last three are terminated.
const (
	Active       Status = "active"
	Suspended    Status = "suspended"
	WaitingHuman Status = "waiting_human"
	Completed    Status = "completed"
	Cancelled    Status = "cancelled"
	Archived     Status = "archived"
)

// Statuses returns all statuses in the order in which answers list them.
func Statuses() []Status {
	return []Status{Active, Suspended, WaitingHuman, Completed, Cancelled, Archived}
}

// Terminated reports whether a thread with this status has ended.
func (st Status) Terminated() bool {
	return st == Completed || st == Cancelled || st == Archived
}

// Action is a requested change of a thread's status.
type Action string

// The actions.
const (
	Done    Action = "done"
	Cancel  Action = "cancel"
	Suspend Action = "suspend"
	Resume  Action = "resume"
	Archive Action = "archive"
	Reopen  Action = "reopen"
)

// Actions returns all actions.
func Actions() []Action { return []Action{Done, Cancel, Suspend, Resume, Archive, Reopen} }

// After returns the status that action leads to; ok is false if the action is not
// allowed. An action that leads to the present status is allowed and changes
// nothing.
func (st Status) After(action Action) (to Status, ok bool) {
	switch st {
	case Active, Suspended:
		switch action {
		case Done:
			return Completed, true
		case Cancel:
			return Cancelled, true
		case Suspend:
			return Suspended, true
		case Resume:
			return Active, st == Suspended
		}
	case WaitingHuman:
		switch action {
		case Cancel:
			return Cancelled, true
		case Resume:
			return Active, true
		}
	case Completed:
		switch action {
		case Done:
			return Completed, true
		case Archive:
			return Archived, true
		case Reopen:
			return Active, true
		}
	case Cancelled:
		switch action {
		case Cancel:
			return Cancelled, true
		case Archive:
			return Archived, true
		case Reopen:
			return Active, true
		}
	case Archived:
		return Archived, action == Archive
	}
	return "", false
}

// Allowed returns the actions that are allowed from this status.
func (st Status) Allowed() []Action {
	var out []Action
	for _, a := range Actions() {
		if _, ok := st.After(a); ok {
			out = append(out, a)
		}
	}
	return out
}

// goal returns the status that an action would lead to, for messages about an
// action that is not allowed.
func (a Action) goal() Status {
	return map[Action]Status{Done: Completed, Cancel: Cancelled, Suspend: Suspended, Resume: Active, Archive: Archived, Reopen: Active}[a]
}

// Transition is the result of an action.
type Transition struct {
	Thread Thread // as it is now
	From   Status
	// Withdrawn has the open requests that ended with the thread's wait.
	Withdrawn []ApprovalID
}

// Lifecycle carries out an action. Archiving moves the thread's record, its
// references and its grants to the archive, and the objective counts it there.
// Leaving waiting_human withdraws the thread's open requests.
//
// Errors: T101, T105, T102 (details: from, to, current, allowed), also for archiving
// while leslie has a worktree for the thread; T402 if anyone
// but a person resumes a thread that waits for a person, or if an agent completes one
// whose executor is a person; T103 if anyone but a
// person resumes a thread that the mistake limit suspended; T402 and T603 for a
// thread that the actor may not reopen.
func (s *State) Lifecycle(arg string, action Action, reason string, stamp Stamp) (Transition, error) {
	t, err := s.Thread(arg)
	if err != nil {
		return Transition{}, err
	}
	to, ok := t.Status.After(action)
	if !ok {
		return Transition{}, s.notAllowed(t, action, stamp)
	}
	if t.Status == WaitingHuman && action == Resume && !stamp.ByPerson() {
		hint := "A person decides: ask one to decide the open approval or to resume the thread"
		if lines := s.withdrawal(t, stamp); lines != "" {
			hint += "; to take the request back: " + lines
		}
		return Transition{}, codes.PermissionDenied.New(
			fact.Of("capability", "resuming a thread that waits for a person"), fact.Of("threadId", t.ID)).
			WithHint(hint).WithNext("leslie status " + string(t.ID))
	}
	if t.Mistakes != nil && action == Resume && !stamp.ByPerson() {
		return Transition{}, mayNotContinue(t, stamp)
	}
	if action == Done && to != t.Status {
		if err := mayWork(t, "completing", stamp); err != nil {
			return Transition{}, err
		}
	}
	if action == Reopen {
		if err := s.mayReopen(t, stamp); err != nil {
			return Transition{}, err
		}
	}
	done := Transition{Thread: t, From: t.Status}
	if action == Suspend {
		t = s.suspendedBy(t, stamp)
	}
	if to == t.Status {
		if !same(done.Thread, t) {
			done.Thread = s.Threads.Put(t)
		}
		return done, nil
	}
	if to == Archived && t.OwnedCode().hasWorktree() {
		others := slices.DeleteFunc(t.Status.Allowed(), func(a Action) bool { return a == action })
		return Transition{}, s.notAllowed(t, action, stamp).With(fact.Of("allowed", names(others)), fact.Of("worktree", t.Worktree)).
			WithHint("It has the worktree " + t.Worktree + ", which leslie code remove removes, keeping what is not committed").
			WithNext("leslie code " + string(t.ID))
	}
	if t.Status == WaitingHuman {
		done.Withdrawn = s.withdrawOpen(t.ID, "", "the thread was resumed or cancelled without a decision", Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor})
	}
	t.Status, t.Reason, t.Updated = to, reason, stamp.Time
	if to != Suspended {
		t.Mistakes = nil
	}
	if action == Reopen {
		t.Reopened = &Reopening{Revision: s.Revision + 1, At: stamp.Time, As: stamp.As, Actor: stamp.Actor, Reason: reason}
	}
	switch {
	case !to.Terminated():
		t.Ended, t.Successor = nil, ""
	case !done.From.Terminated():
		t.endedClaim(string(to), reason, stamp)
		t.Claim, t.Ended = nil, &Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor}
	}
	if to == Archived {
		done.Thread = s.archive(t)
	} else {
		done.Thread = s.Threads.Put(t)
	}
	return done, nil
}

// Replace cancels a thread in whose place another one goes on. Errors: those of Lifecycle;
// T101 and T105 for the other thread, T903 if it is the same.
func (s *State) Replace(arg, successor, reason string, stamp Stamp) (Transition, error) {
	next, err := s.Thread(successor)
	if err != nil {
		return Transition{}, err
	}
	if t, err := s.Thread(arg); err != nil || t.ID == next.ID {
		return Transition{}, cmp.Or(err, error(codes.InvalidArgument.New(
			fact.Of("reason", "'"+string(next.ID)+"' cannot replace itself"), fact.Of("threadId", next.ID))))
	}
	done, err := s.Lifecycle(arg, Cancel, reason, stamp)
	if err != nil {
		return Transition{}, err
	}
	if done.Thread.Successor != next.ID {
		t := done.Thread
		t.Successor = next.ID
		done.Thread = s.Threads.Put(t)
	}
	return done, nil
}

// notAllowed returns T102 for an action that the thread's status does not allow. For an
// agent, allowed leaves out what only a person may do, and the hint says how to take back
// what the thread waits for.
func (s *State) notAllowed(t Thread, action Action, stamp Stamp) *codes.Error {
	allowed := t.Status.Allowed()
	if !stamp.ByPerson() && (t.Status == WaitingHuman || t.Mistakes != nil) {
		allowed = slices.DeleteFunc(allowed, func(a Action) bool { return a == Resume })
	}
	if !stamp.ByPerson() && t.EndedByOther(stamp.Actor) {
		allowed = slices.DeleteFunc(allowed, func(a Action) bool { return a == Reopen })
	}
	err := codes.InvalidTransition.New(
		fact.Of("threadId", t.ID), fact.Of("from", t.Status), fact.Of("to", action.goal()),
		fact.Of("current", t.Status), fact.Of("action", action), fact.Of("allowed", names(allowed)))
	err = endedFacts(err, t)
	if lines := s.withdrawal(t, stamp); lines != "" {
		return err.WithHint("Thread is in " + string(t.Status) + " state; to take the request back: " + lines)
	}
	if !stamp.ByPerson() && t.EndedByOther(stamp.Actor) {
		return err.WithHint(t.otherWork())
	}
	if _, ok := t.Status.After(Reopen); ok {
		return err.WithHint("Thread is in " + string(t.Status) + " state; leslie reopen " + string(t.ID) + " makes it active again")
	}
	return err
}

// archive moves a thread's record, the references that it made, its grants, its questions
// and the comments on it to the archive, and counts the thread in its objective.
func (s *State) archive(t Thread) Thread {
	t = t.withRevision(s.Revision + 1)
	s.archived = append(s.archived, Change{Record: TableThreads + "/" + string(t.ID), After: encode(t)})
	s.Threads.Delete(string(t.ID))
	for _, ref := range s.ReferencesFrom(t.ID) {
		s.archived = append(s.archived, Change{Record: TableReferences + "/" + string(ref.ID), After: encode(ref)})
		s.References.Delete(string(ref.ID))
	}
	for _, g := range s.ApprovalsOf(t.ID) {
		s.archived = append(s.archived, Change{Record: TableApprovals + "/" + string(g.ID), After: encode(g)})
		s.Approvals.Delete(string(g.ID))
	}
	for _, q := range s.QuestionsOf(t.ID) {
		s.archived = append(s.archived, Change{Record: TableQuestions + "/" + string(q.ID), After: encode(q)})
		s.Questions.Delete(string(q.ID))
	}
	for _, c := range s.CommentsOf(t.ID) {
		s.archived = append(s.archived, Change{Record: TableComments + "/" + string(c.ID), After: encode(c)})
		s.Comments.Delete(string(c.ID))
	}
	if o, ok := s.Objectives.Peek(string(t.ObjectiveID)); ok {
		o.Archived++
		s.Objectives.Put(o)
	}
	return t
}

// names converts words to plain strings, as facts contain them.
func names[T ~string](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}
