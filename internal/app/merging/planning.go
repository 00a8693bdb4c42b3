package merging

import (
	"errors"
	"maps"
	"slices"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/scope"
	"leslie/merge"
	"leslie/thread"
)

// This file is the plan of a session: its inputs, and planning again.

// Planning is a merge as it is planned now.
type Planning struct {
	call   Call
	record thread.Merge
	// recorded: the merge is pending in the store. looking: it is only inspected.
	recorded, looking bool
	// resumed: it was pending, and the line that began it was repeated.
	resumed     bool
	set         scope.Set
	inputs      *mergeInputs
	plan        *merge.Plan // planned.all
	planned     planned
	texts       map[thread.BlobID][]byte // of decisions taken since it was loaded
	landedFiles int                      // how many files of code have landed
	taken       []TakenCode              // that was committed since then
	approval    *Approval                // as it was when the State was last looked at
	reused      int                      // decisions of an undone merge that this new one takes over
	outdated    []string                 // edited marker files that do not fit what the sides are now
	// moves is the worktree that moves along because it has the branch checked out into which
	// the code lands, which is not that of the target; "" for none. A person agrees to that.
	moves string
	// elsewhere is thread.MergeParties.Elsewhere.
	elsewhere map[thread.ThreadID]string
	// asked: the person was asked. moved and declines are news for the person.
	asked    bool
	moved    []thread.ThreadID
	declines []Decline
	// unreached: the agent could not be reached with the last file.
	unreached bool
}

// tries is how often a merge is planned if its inputs keep changing.
const tries = 3

// errMoved says that a thread's files have changed since planning.
var errMoved = errors.New("the files changed since the merge was planned")

func newPlanning(c Call, r Request) *Planning {
	p := &Planning{call: c, set: r.Scope, texts: map[thread.BlobID][]byte{}, record: thread.Merge{
		Strategy: r.Strategy, Onto: r.Onto, Scope: r.Scope.Strings(), Validate: r.Validate, RequireApproval: r.RequireApproval,
	}}
	if r.Unread == LeaveUnread {
		p.record.Unread = r.Unread
	}
	if p.record.Strategy == "" {
		p.record.Strategy = thread.Interactive
	}
	if r.Only != "" || r.WithScope || r.Squash || r.Rebase || r.Message != "" || r.Uncommitted == TakeUncommitted {
		p.record.Code = &thread.MergeCode{Only: r.Only, WithScope: r.WithScope, Squash: r.Squash, Rebase: r.Rebase, Message: r.Message}
		if r.Uncommitted == TakeUncommitted {
			p.record.Code.Uncommitted = r.Uncommitted
		}
	}
	return p
}

// parties finds the threads that the request names.
func (r Request) parties(st *thread.State) (thread.MergeParties, error) {
	if r.Onto != "" {
		return st.LandingParties(r.Target, r.Onto)
	}
	return st.Parties(r.Target, r.Sources)
}

// findParties finds the threads that the request names.
func (p *Planning) findParties(r Request) error {
	return p.call.View(func(st *thread.State) error {
		found, err := r.parties(st)
		if err != nil {
			return err
		}
		p.record.Target, p.record.Sources = found.Target.ID, nil
		for _, t := range found.Sources {
			p.record.Sources = append(p.record.Sources, t.ID)
		}
		return st.NoPendingMerge(found.Target.ID)
	})
}

// respectClaim applies the rule about threads that somebody else has claimed to the
// target: see thread.State.RespectClaim. Errors: T101, T108.
func (p *Planning) respectClaim(st *thread.State) error {
	found, err := st.RespectClaim(string(p.record.Target), p.call.stamp())
	p.call.Warn(found...)
	return err
}

// load reads the threads' files at one consistent moment, except for what people and
// agents save, and plans.
func (p *Planning) load() error {
	for range tries {
		err := p.call.ReadConsistent(p.read, append(slices.Clone(p.record.Sources), p.record.Target)...)
		if !errors.Is(err, errMoved) {
			return err
		}
	}
	return p.stale()
}

func (p *Planning) read() error {
	found, err := p.find()
	if err != nil {
		return err
	}
	if p.record.Onto != "" {
		p.inputs = withoutArtifacts(p.call, found)
	} else if p.inputs, err = gather(p.call, found, p.set); err != nil {
		return err
	}
	if codeRecord(p).Only == OnlyCode {
		p.inputs.sources, p.inputs.input.Sources = nil, nil
	}
	p.moves, p.elsewhere = "", found.Elsewhere
	if p.inputs.code, err = gatherCode(p, found); err != nil {
		return err
	}
	if !p.recorded { // decisions of an undone merge: what cannot be read is decided again
		maps.DeleteFunc(p.record.Decisions, func(_ string, d thread.Decision) bool {
			_, err := p.decisionsOf(map[string]thread.Decision{"": d})
			return err != nil
		})
	}
	if err := p.replan(); err != nil {
		return err
	}
	if !p.recorded {
		reuse(p)
	}
	return nil
}

// reuse keeps, of the decisions of an undone merge, those about conflicts that are here
// again.
func reuse(p *Planning) {
	about := map[string]bool{}
	for _, c := range p.plan.Conflicts {
		f, _ := p.file(c.Path)
		about[c.ID], about[f.ID] = true, true
	}
	maps.DeleteFunc(p.record.Decisions, func(id string, _ thread.Decision) bool { return !about[id] })
	p.reused = len(p.record.Decisions)
}

// find finds the threads, and the current record of a pending merge.
func (p *Planning) find() (found parties, err error) {
	err = p.call.View(func(st *thread.State) error {
		if p.recorded {
			rec, err := st.Merge(string(p.record.ID))
			if err != nil {
				return err
			}
			p.record = rec
		}
		who, err := p.parties(st)
		if err != nil {
			return err
		}
		found = partiesOf(st, who)
		p.call.Warn(thread.ReopenedAmong(who.Sources, p.call.Actor)...)
		if p.recorded {
			p.approval = ApprovalOf(st, p.record)
			return nil
		}
		p.record.Decisions = st.DecisionsOfUndone(p.record, p.call.Policy, p.call.Now())
		return st.NoPendingMerge(p.record.Target)
	})
	return found, err
}

func (p *Planning) parties(st *thread.State) (thread.MergeParties, error) {
	if p.looking {
		return st.PartiesOf(p.record)
	}
	return st.PartiesFor(p.record)
}

// replan plans from what is loaded and the recorded decisions.
func (p *Planning) replan() error {
	decisions, err := p.decisionsOf(p.record.Decisions)
	if err != nil {
		return err
	}
	p.planned, err = p.inputs.plan(decisions)
	p.plan = p.planned.all
	return err
}

// decisionsOf converts recorded decisions, with their texts. Errors: T509 for a text
// that cannot be read.
func (p *Planning) decisionsOf(record map[string]thread.Decision) (map[string]merge.Decision, error) {
	out := map[string]merge.Decision{}
	for key, d := range record {
		text, known := p.texts[d.Text]
		if d.Text != "" && !known {
			var err error
			if text, err = p.call.Files.Blob(d.Text); err != nil {
				return nil, err
			}
			p.texts[d.Text] = text
		}
		out[key] = merge.Decision{Take: d.Take, Text: text, How: d.How, Actor: d.Actor, Reason: d.Reason}
	}
	return out, nil
}

// Conflicts returns all conflicts of the plan, including resolved ones.
func (p *Planning) Conflicts() []merge.Conflict {
	out := append([]merge.Conflict{}, p.plan.Conflicts...)
	for i := range out {
		out[i].MergeID = string(p.record.ID)
	}
	return out
}

// Open returns the open conflicts of a path, or all for "".
func (p *Planning) Open(path string) []merge.Conflict {
	return slices.DeleteFunc(p.Conflicts(), func(c merge.Conflict) bool {
		return c.Status != merge.Unresolved || path != "" && c.Path != path
	})
}

// file is the change of a path.
func (p *Planning) file(path string) (merge.Change, bool) {
	i := slices.IndexFunc(p.plan.Files, func(f merge.Change) bool { return f.Path == path })
	if i < 0 {
		return merge.Change{}, false
	}
	return p.plan.Files[i], true
}

// idle reports whether the target already has the plan's result.
func (p *Planning) idle() bool {
	return (p.inputs.code == nil || p.landsNothing()) && !slices.ContainsFunc(p.plan.Files, func(f merge.Change) bool { return !f.Idle() })
}

// landsNothing reports whether a branch of no thread already has what the code would bring to it.
func (p *Planning) landsNothing() bool {
	made := p.planned.code
	return p.record.Onto != "" && made != nil && made.tree != "" && len(made.changes) == 0 && p.inputs.code.forward == nil
}

// stale is T304.
func (p *Planning) stale() error {
	err := codes.MergeStale.New(fact.Of("target", p.record.Into()), fact.Of("attempts", tries))
	switch {
	case p.recorded && p.record.Onto != "":
		return err.With(fact.Of("mergeId", p.record.ID)).WithNext(p.record.GoesOn())
	case p.recorded:
		return err.With(fact.Of("mergeId", p.record.ID))
	}
	return err.WithHint("Merge again").WithNext("leslie artifacts " + string(p.record.Target))
}
