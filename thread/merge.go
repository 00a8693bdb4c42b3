package thread

import (
	"maps"
	"slices"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
)

// PrefixMerge is the prefix of merge ids.
const PrefixMerge = "merge-"

// MergeParties has the threads of a merge.
type MergeParties struct {
	Target  Thread
	Sources []Thread
	// Branch is where the code of the sources lands, "" for nowhere. Elsewhere says of each
	// source with code that does not land there why: see LandsIn.
	Branch    string
	Elsewhere map[ThreadID]string
}

// Parties finds the threads of a merge and checks that they may be merged. Errors:
// T101, T105, T107 for a terminated target or an archived source, T903 for a source
// that is the target or is named twice.
func (s *State) Parties(target string, sources []string) (MergeParties, error) {
	var p MergeParties
	var err error
	if p.Target, err = s.LiveThread(target); err != nil {
		return p, err
	}
	for _, arg := range sources {
		t, err := s.Thread(arg)
		if err != nil {
			return p, err
		}
		twice := slices.ContainsFunc(p.Sources, func(o Thread) bool { return o.ID == t.ID })
		switch {
		case t.ID == p.Target.ID:
			return p, codes.InvalidArgument.New(fact.Of("reason", "a thread cannot be merged into itself: '"+string(t.ID)+"'"), fact.Of("threadId", t.ID))
		case twice:
			return p, codes.InvalidArgument.New(fact.Of("reason", "the source '"+string(t.ID)+"' is named twice"), fact.Of("threadId", t.ID))
		case t.Status == Archived:
			return p, notWritable(t)
		}
		p.Sources = append(p.Sources, t)
	}
	s.place(&p)
	return p, nil
}

// LandingParties is Parties for the code of one thread that lands on a branch of no thread. The
// thread may have ended. Errors: T101, T105, T107 for an archived one.
func (s *State) LandingParties(arg, onto string) (MergeParties, error) {
	t, err := s.Thread(arg)
	if err == nil && t.Status == Archived {
		err = notWritable(t)
	}
	return MergeParties{Target: t, Sources: []Thread{t}, Branch: onto}, err
}

// PartiesFor is Parties, or LandingParties, for a merge as it is recorded.
func (s *State) PartiesFor(m Merge) (MergeParties, error) {
	if m.Onto != "" {
		return s.LandingParties(string(m.Target), m.Onto)
	}
	return s.Parties(string(m.Target), names(m.Sources))
}

// GoesOn is the command that goes on with the merge once what is open is decided.
func (m Merge) GoesOn() string {
	if m.Onto != "" {
		return "leslie land " + string(m.Target)
	}
	return "leslie merge continue " + string(m.ID)
}

// Into names where a merge goes: its target, or the branch on which a thread's code lands.
func (m Merge) Into() string {
	if m.Onto != "" {
		return m.Onto
	}
	return string(m.Target)
}

// PartiesOf finds the threads of a pending merge, whatever their status is now: a
// merge can always be inspected and aborted. Errors: T101.
func (s *State) PartiesOf(m Merge) (MergeParties, error) {
	var p MergeParties
	var err error
	if p.Target, err = s.Thread(string(m.Target)); err != nil {
		return p, err
	}
	for _, id := range m.Sources {
		t, err := s.Thread(string(id))
		if err != nil {
			return p, err
		}
		p.Sources = append(p.Sources, t)
	}
	if p.Branch = m.Onto; m.Onto == "" {
		s.place(&p)
	}
	return p, nil
}

// Merge returns the pending merge that arg names: by its id, or by a thread that only this one
// is into or from. Errors: T303, T105.
func (s *State) Merge(arg string) (Merge, error) {
	m, err := s.mergeWithID(arg)
	if !codes.Has(err, codes.MergeNotFound) {
		return m, err
	}
	t, missing := s.Thread(arg)
	if missing != nil {
		return m, err
	}
	switch of := s.MergesOf(t.ID); len(of) {
	case 0:
		return m, codes.Of(err).WithHint("No merge of '" + string(t.ID) + "' is pending; list those that are")
	case 1:
		return of[0], nil
	default:
		return m, ambiguous(arg, PrefixMerge, mergeIDs(of), Candidates(of))
	}
}

func mergeIDs(all []Merge) (ids []string) {
	for _, m := range all {
		ids = append(ids, string(m.ID))
	}
	return ids
}

func (s *State) mergeWithID(arg string) (Merge, error) {
	return find(arg, PrefixMerge, &s.Merges, noArchive, func(near string) error {
		err := codes.MergeNotFound.New(fact.Of("mergeId", arg))
		if near != "" {
			err = err.With(fact.Of("nearest", near)).WithNext("leslie merge status " + near)
		}
		return err
	})
}

// MergesOf returns the pending merges into or from a thread, or all for "".
func (s *State) MergesOf(id ThreadID) []Merge {
	var out []Merge
	for m := range s.Merges.All() {
		if id == "" || m.Target == id || slices.Contains(m.Sources, id) {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b Merge) int { return byTime(a.Created.At, b.Created.At) })
	return out
}

// PendingLanding returns the pending landing of a thread on a branch of no thread.
func (s *State) PendingLanding(id ThreadID) (m Merge, ok bool) {
	for _, m := range s.Merges.where(`"onto":`, func(m Merge) bool { return m.Target == id && m.Onto != "" }) {
		return m, true
	}
	return Merge{}, false
}

// NoPendingMerge returns T305 if the target has a pending merge, otherwise nil. A queued
// merge counts only while its code lands.
func (s *State) NoPendingMerge(target ThreadID) error {
	for m := range s.Merges.All() {
		if m.Target == target && (m.Queued == nil || m.Landing()) {
			return codes.MergePending.New(fact.Of("target", target), fact.Of("mergeId", m.ID))
		}
	}
	return nil
}

// BeginMerge records a merge as pending. Errors: T305, and those of Parties.
func (s *State) BeginMerge(m Merge, stamp Stamp) (Merge, error) {
	if _, err := s.PartiesFor(m); err != nil {
		return Merge{}, err
	}
	if err := s.NoPendingMerge(m.Target); err != nil {
		return Merge{}, err
	}
	s.forgetUndone(m) // the merge has its decisions from here on
	m.Created = Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor}
	return s.Merges.Put(m), nil
}

// forgetUndone forgets the undone merge that is tried again.
func (s *State) forgetUndone(m Merge) {
	if t, _ := s.Threads.Get(string(m.Target)); t.Undone.is(m.Sources) {
		t.Undone = nil
		s.Threads.Put(t)
	}
}

// is reports whether these are the sources of the undone merge, in any order.
func (u *UndoneMerge) is(sources []ThreadID) bool {
	return u != nil && slices.Equal(sortedSet(slices.Clone(u.Sources)), sortedSet(slices.Clone(sources)))
}

// DecisionsOfUndone returns the decisions that a new merge takes over from an undone one
// of the same sources and target: none under the strategy strict, and those that no
// person made only if the target may resolve conflicts and the strategy is not human.
func (s *State) DecisionsOfUndone(m Merge, p Policy, now time.Time) map[string]Decision {
	t, _ := s.Threads.Peek(string(m.Target))
	if m.Strategy == Strict || !t.Undone.is(m.Sources) {
		return nil
	}
	others := m.Strategy != HumanOnly && s.MayResolve(m, p, now) == nil
	out := map[string]Decision{}
	for id, d := range t.Undone.Decisions {
		if others || ActorKind(d.How).Person() {
			out[id] = d
		}
	}
	return out
}

// Decide changes the decisions of a pending merge and records in declined, by path,
// why an agent's answers were refused. change receives the present decisions and
// returns the new ones. Errors: T303; T402 for anyone but a person under the strategy
// human, and for decisions that no person made if the target may not resolve conflicts;
// those of change.
func (s *State) Decide(id MergeID, change func(map[string]Decision) (map[string]Decision, error), declined map[string]string, p Policy, stamp Stamp) (Merge, error) {
	m, err := s.Merge(string(id))
	if err != nil {
		return Merge{}, err
	}
	if m.Strategy == HumanOnly && !stamp.ByPerson() {
		return Merge{}, codes.PermissionDenied.New(fact.Of("capability", "resolving a merge that waits for a person"), fact.Of("mergeId", m.ID)).
			WithHint("A person decides: ask one to resolve it").
			WithNext("leslie merge status " + string(m.ID))
	}
	had := m.Decisions
	if m.Decisions, err = change(maps.Clone(had)); err != nil {
		return Merge{}, err
	}
	if decidedByOthers(had, m.Decisions) {
		if err := s.MayResolve(m, p, stamp.Time); err != nil {
			return Merge{}, err
		}
	}
	if len(m.Decisions) == 0 {
		m.Decisions = nil
	}
	if !maps.Equal(had, m.Decisions) {
		m = m.again()
	}
	if len(declined) > 0 {
		all := maps.Clone(m.Declined)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, declined)
		m.Declined = all
	}
	return s.Merges.Put(m), nil
}

// FollowDecisions records which work files of a pending merge, by path, follow its
// decisions. The merge must be the one that Decide returned.
func (s *State) FollowDecisions(m Merge, work map[string]BlobID) Merge {
	m.Work = work
	return s.Merges.Put(m)
}

// decidedByOthers reports whether there is a new decision that no person made.
func decidedByOthers(had, now map[string]Decision) bool {
	for key, d := range now {
		if d != had[key] && !ActorKind(d.How).Person() {
			return true
		}
	}
	return false
}

// MayResolve returns T402 if only a person may resolve conflicts of the merge:
// neither the policy nor a grant gives the target the capability.
func (s *State) MayResolve(m Merge, p Policy, now time.Time) error {
	_, err := s.Can(string(m.Target), ResolveConflict, p, now)
	if e := codes.Of(err); e != nil {
		return e.With(fact.Of("mergeId", m.ID))
	}
	return err
}

// EndMerge removes a pending merge, applied or not; why says which. It withdraws an
// open request for the merge's approval. Errors: T303, T105.
func (s *State) EndMerge(arg, why string, stamp Stamp) (Merge, error) {
	m, err := s.Merge(arg)
	if err != nil {
		return Merge{}, err
	}
	s.withdrawOpen(m.Target, m.ID, why, Attribution{At: stamp.Time, As: stamp.As, Actor: stamp.Actor})
	s.resumeIfUnblocked(m.Target, stamp.Time)
	s.Merges.Delete(string(m.ID))
	return m, nil
}

// RecordLanded ends, with its code landed, a merge onto a branch of no thread: see RecordMerge
// for the others.
func (s *State) RecordLanded(m Merge) { s.forgetUndone(m) }

// RecordMerge records what a merge brought into its target: for each source, the
// content that both now share. A new share replaces older ones that it covers,
// except what a spawn gave: that share remains if the newer ones are undone.
// Errors: T101, also for a source whose spawn was undone since, and T107.
func (s *State) RecordMerge(target ThreadID, shares []Share, stamp Stamp) (Thread, error) {
	t, err := s.LiveThread(string(target))
	if err != nil {
		return Thread{}, err
	}
	kept := slices.Clone(t.Shared)
	var sources []ThreadID
	for _, share := range shares {
		sources = append(sources, share.With)
		if _, err := s.Thread(string(share.With)); err != nil {
			return Thread{}, err
		}
		share.At = s.Revision + 1
		kept = slices.DeleteFunc(kept, func(old Share) bool {
			covered := len(share.Scope) == 0 || slices.Equal(old.Scope, share.Scope)
			return old.With == share.With && covered && old.How != "spawn"
		})
		kept = append(kept, share)
	}
	if t.Undone.is(sources) {
		t.Undone = nil
	}
	t.Shared, t.Updated = kept, stamp.Time
	return s.Threads.Put(t), nil
}
