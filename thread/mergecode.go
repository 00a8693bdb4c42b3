package thread

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// MergeCode is what a pending merge does with code.
type MergeCode struct {
	// Only says that only "code" or only "artifacts" is merged; "" for both.
	Only string `json:"only,omitempty"`
	// WithScope: code is merged although the merge has a Scope, which selects artifacts.
	WithScope bool `json:"withScope,omitempty"`
	// Squash: the merge commit has only the target's commit as its parent.
	Squash bool `json:"squash,omitempty"`
	// Rebase: the target gets the source's own commits, one by one; there is one source.
	Rebase bool `json:"rebase,omitempty"`
	// Message is that of the commit that lands the code of one thread on a branch of no thread;
	// "": from the thread.
	Message string `json:"message,omitempty"`
	// Planned: there was code to merge when the merge was recorded, so it is not applied
	// without code.
	Planned bool `json:"planned,omitempty"`
	// Tip is where the branch was on which the merge waits for decisions, on Machine; "" in a project on one machine.
	Tip     string `json:"tip,omitempty"`
	Machine string `json:"machine,omitempty"`
	// Uncommitted is "take" if what the sources have not committed is committed for them, ""
	// if it is refused.
	Uncommitted string `json:"uncommitted,omitempty"`
	// Landing is what git was told last to do to the target's branch; nil before that.
	Landing *CodeLanding `json:"landing,omitempty"`
	// Landed: the code has landed, and only artifacts and records are left.
	Landed bool `json:"landed,omitempty"`

	Unknown Unknown `json:"-"`
}

// How says how the code lands: LandedMerge, LandedSquash or LandedRebase.
func (c MergeCode) How() string {
	switch {
	case c.Rebase:
		return LandedRebase
	case c.Squash:
		return LandedSquash
	}
	return LandedMerge
}

// TakesCode reports whether a merge is of code, too, where both threads own some.
func (m Merge) TakesCode() bool {
	switch code := m.code(); code.Only {
	case "":
		return len(m.Scope) == 0 || code.WithScope
	default:
		return code.Only == "code"
	}
}

// place says where the code of a merge's sources lands.
func (s *State) place(p *MergeParties) {
	if p.Target.OwnedCode() != nil {
		p.Branch = p.Target.Branch
		return
	}
	first := ThreadID("")
	for _, t := range p.Sources {
		if t.OwnedCode() == nil {
			continue
		}
		branch, why := s.begunFrom(p.Target, t)
		switch {
		case why != "":
		case p.Branch == "":
			p.Branch, first = branch, t.ID
		case branch != p.Branch:
			why = "it began at " + branch + ", and that of '" + string(first) + "' at " + p.Branch + ": merge them one after the other"
		}
		if why != "" {
			if p.Elsewhere == nil {
				p.Elsewhere = map[ThreadID]string{}
			}
			p.Elsewhere[t.ID] = why
		}
	}
}

// LandsIn returns the branch in which the code of a thread lands: that of its parent's code,
// else the one from which it began; where the code that had that branch was removed since, or has landed with a thread
// that ended, the one in which that lands. "" for none.
func (s *State) LandsIn(t Thread) string {
	if parent, _ := s.Threads.Peek(string(t.ParentID)); t.OwnedCode() != nil && parent.OwnedCode() != nil {
		return s.landsAfter(parent.Branch)
	}
	return s.landsAfter(t.BegunFrom())
}

// UsualBranch is LandsIn by a thread's id.
func (s *State) UsualBranch(id ThreadID) string {
	t, _ := s.Threads.Peek(string(id))
	return s.LandsIn(t)
}

// landsAfter is a branch, or, if it is of code that was removed or has landed, where that lands.
func (s *State) landsAfter(branch string) string {
	if branch == "" {
		return ""
	}
	return landsAfter(branch, s.owners())
}

func landsAfter(branch string, owners []Thread) string {
	for range owners { // each at most once
		i := slices.IndexFunc(owners, func(t Thread) bool { return t.Branch == branch })
		if i < 0 || slices.ContainsFunc(owners, func(t Thread) bool { return t.Branch == branch && t.takesLandings() }) {
			break
		}
		branch = owners[i].BegunFrom()
	}
	return branch
}

// BegunFrom returns the branch of this repository from which the code of a thread began, also
// where that was its upstream (main for origin/main); "" for none.
func (t Thread) BegunFrom() string {
	code := t.OwnedCode()
	if code == nil {
		return ""
	}
	if upstream, is := strings.CutPrefix(code.Target, "refs/remotes/"); is {
		_, branch, _ := strings.Cut(upstream, "/")
		return branch
	}
	branch, _ := strings.CutPrefix(code.Target, "refs/heads/")
	return branch
}

// takesLandings reports whether what began at the branch of a thread lands there: its code is there, and has not landed
// for good.
func (t Thread) takesLandings() bool {
	if !t.OwnedCode().living() {
		return false
	}
	_, landed := t.OwnedCode().LastLanded()
	return !landed || !t.Status.Terminated()
}

// BranchOwner returns the thread that goes on and whose code has a branch.
func (s *State) BranchOwner(branch string) (owner Thread, ok bool) {
	if branch == "" {
		return Thread{}, false
	}
	for _, t := range s.ThreadsWithCode() {
		if t.Branch == branch && t.OwnedCode().living() && !t.Status.Terminated() {
			return t, true
		}
	}
	return Thread{}, false
}

// ToLand returns the completed threads whose code has not landed, as far as it is recorded, and
// that no merge has as its source, ordered as in a list. Where the worktree was removed, code
// restore comes first. A branch that somebody else made is among them if it began at another one.
func (s *State) ToLand() []Thread {
	return slices.DeleteFunc(s.ThreadsWithCode(), func(t Thread) bool {
		code := t.OwnedCode()
		here := code.IsCheckedOut() || code.State == CodeRemoved && !code.Spent()
		return t.Status != Completed || !here || !t.MayLand() || code.Left != nil && code.Left.NoCommits ||
			slices.ContainsFunc(code.Landed, func(l CodeLanded) bool { return !l.Pulled }) ||
			slices.ContainsFunc(s.MergesOf(t.ID), func(m Merge) bool { return slices.Contains(m.Sources, t.ID) })
	})
}

// MayLand reports whether the code of a thread has a branch to land in, or leslie made it a branch of its own to land.
func (t Thread) MayLand() bool {
	code := t.OwnedCode()
	return code != nil && (code.Made.Branch || t.BegunFrom() != "" && t.BegunFrom() != t.Branch)
}

// LandsBeside is LandsIn for a thread that goes on and whose code lands in a branch of no other
// thread: "" otherwise.
func (s *State) LandsBeside(t Thread) string {
	if parent, _ := s.Threads.Peek(string(t.ParentID)); parent.OwnedCode() != nil || t.Status.Terminated() {
		return ""
	}
	branch := s.LandsIn(t)
	if o, owned := s.BranchOwner(branch); owned && o.ID != t.ID {
		return ""
	}
	return branch
}

// begunFrom returns the branch into which the code of a thread lands when the thread is
// merged into one that owns none: that from which it began. why says why there is none.
func (s *State) begunFrom(target, t Thread) (branch, why string) {
	switch branch = t.BegunFrom(); {
	case branch == "":
		return "", "it did not begin at a branch of this repository"
	case s.Readiness().isBelow(target.ID, t.ID):
		return "", "'" + string(target.ID) + "' is below '" + string(t.ID) + "'"
	}
	if o, ok := s.BranchOwner(branch); ok && o.ID != t.ID {
		return "", "it began at " + branch + ", the branch of '" + string(o.ID) + "': merge it into that"
	}
	return branch, ""
}

// CodeOrigin says where commits of a thread's branch may come from.
type CodeOrigin struct {
	// TakenOver has the merges that brought it code of threads which are not below it.
	TakenOver []CodeLanded
	Below     []Thread // those with code below it
	Others    []Thread // those with code that are not
}

// CodeOrigins returns where commits of the branches of threads may come from.
func (s *State) CodeOrigins(of []Thread) []CodeOrigin {
	out, tree, all := make([]CodeOrigin, len(of)), s.Readiness(), s.ThreadsWithCode()
	for _, t := range all {
		var above []ThreadID
		for up := tree.node(t.ParentID); up != nil; up = tree.link(up).up {
			above = append(above, up.id)
		}
		for i, o := range of {
			switch {
			case slices.Contains(above, o.ID):
				out[i].Below = append(out[i].Below, t)
			case t.ID != o.ID:
				out[i].Others = append(out[i].Others, t)
				for _, l := range t.OwnedCode().Landed {
					if l.Into == o.ID {
						out[i].TakenOver = append(out[i].TakenOver, l)
					}
				}
			}
		}
	}
	return out
}

// CodeLanding is a branch that is to move to a merge commit. The ref
// refs/leslie/pending/TARGET keeps the commit until the merge has ended.
type CodeLanding struct {
	Branch string `json:"branch"`
	Old    string `json:"old"`
	New    string `json:"new"`
	// Onto is the commit of the branch's upstream to which it moves forward first, "" if it
	// does not: what the landing brings is what New has beyond it.
	Onto string    `json:"onto,omitempty"`
	At   time.Time `json:"at"`
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

// RecordLanding records with each source of a merge's landing that its code is in the target's
// branch, or in the one on which it lands. A source that is gone is passed over.
func (s *State) RecordLanding(m Merge, landing CodeLanding, how string, stamp Stamp) error {
	var into Thread
	if m.Onto == "" {
		into, _ = s.Threads.Get(string(m.Target))
	}
	for _, source := range landing.Sources {
		t, ok := s.Threads.Get(string(source.ThreadID))
		if !ok || t.OwnedCode() == nil {
			continue
		}
		t.Code = slices.Clone(t.Code)
		if base := t.Code[0].Base; base != nil && base.Target == "refs/heads/"+landing.Branch {
			t.Code[0].Base = nil
		}
		t.Code[0].Landed = append(slices.Clone(t.Code[0].Landed), CodeLanded{
			Into: into.ID, Onto: m.Onto, Tip: source.Tip, From: landing.Base(), Commit: landing.New, How: how, At: stamp.Time,
			Pulled: slices.Contains(into.DependsOn, t.ID) || into.ID != "" && s.Readiness().isBelow(into.ID, t.ID),
		})
		t.Updated = stamp.Time
		s.Threads.Put(t)
	}
	return nil
}

// Base returns the commit on which the sources' changes are.
func (l CodeLanding) Base() string { return cmp.Or(l.Onto, l.Old) }
