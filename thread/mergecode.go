package thread

import (
	"slices"
	"time"
)

// MergeCode is what a pending merge does with code.
type MergeCode struct {
	// Only says that only "code" or only "artifacts" is merged; "" for both.
	Only string `json:"only,omitempty"`
	// Squash: the merge commit has only the target's commit as its parent.
	Squash bool `json:"squash,omitempty"`
	// Planned: there was code to merge when the merge was recorded, so it is not applied
	// without code.
	Planned bool `json:"planned,omitempty"`
	// Uncommitted is "take" if what the sources have not committed is committed for them, ""
	// if it is refused.
	Uncommitted string `json:"uncommitted,omitempty"`
	// Landing is what git was told last to do to the target's branch; nil before that.
	Landing *CodeLanding `json:"landing,omitempty"`
	// Landed: the code has landed, and only artifacts and records are left.
	Landed bool `json:"landed,omitempty"`

	Unknown Unknown `json:"-"`
}

// CodeLanding is a branch that is to move to a merge commit. The ref
// refs/leslie/pending/TARGET keeps the commit until the merge has ended.
type CodeLanding struct {
	Branch string    `json:"branch"`
	Old    string    `json:"old"`
	New    string    `json:"new"`
	At     time.Time `json:"at"`
	// Sources are the threads whose code it brings.
	Sources []CodeLandingSource `json:"sources"`

	Unknown Unknown `json:"-"`
}

// CodeLandingSource is a thread with the commit at the tip of its branch.
type CodeLandingSource struct {
	ThreadID ThreadID `json:"threadId"`
	Tip      string   `json:"tip"`
	// Base is the commit that took the place of git's merge base, "" for git's.
	Base string `json:"base,omitempty"`

	Unknown Unknown `json:"-"`
}

// Landings returns the pending merges that have begun to land, and of which no record says
// that they have.
func (s *State) Landings() []Merge {
	return s.Merges.where(`"landing":{`, func(m Merge) bool { return m.Code != nil && m.Code.Landing != nil && !m.Code.Landed })
}

// SetMergeCode records what a pending merge does with code. Errors: T303.
func (s *State) SetMergeCode(id MergeID, code MergeCode) (Merge, error) {
	m, err := s.Merge(string(id))
	if err != nil {
		return Merge{}, err
	}
	m.Code = &code
	return s.Merges.Put(m), nil
}

// SetCodeBase records the base of later merges of a thread's code. A thread that is gone
// is passed over.
func (s *State) SetCodeBase(id ThreadID, base CodeBase) {
	t, ok := s.Threads.Get(string(id))
	if !ok || t.OwnedCode() == nil {
		return
	}
	t.Code = slices.Clone(t.Code)
	t.Code[0].Base = &base
	s.Threads.Put(t)
}

// TakenBack reports whether the branch's commit had landed and was reverted since, so that
// the target has it and not what it brought.
func (c *Code) TakenBack(tip string) bool {
	return c.Base != nil && !c.Base.Inherited && c.Base.Target == c.Target && c.Base.MergeBase == tip
}

// RecordLanding records with each source of a landing that its code is in the target's
// branch. A source that is gone is passed over.
func (s *State) RecordLanding(target ThreadID, landing CodeLanding, how string, stamp Stamp) error {
	for _, source := range landing.Sources {
		t, ok := s.Threads.Get(string(source.ThreadID))
		if !ok || t.OwnedCode() == nil {
			continue
		}
		t.Code = slices.Clone(t.Code)
		if base := t.Code[0].Base; base != nil && base.Target == "refs/heads/"+landing.Branch {
			t.Code[0].Base = nil
		}
		t.Code[0].Landed = append(slices.Clone(t.Code[0].Landed), CodeLanded{Into: target, Tip: source.Tip, Commit: landing.New, How: how, At: stamp.Time})
		t.Updated = stamp.Time
		s.Threads.Put(t)
	}
	return nil
}
