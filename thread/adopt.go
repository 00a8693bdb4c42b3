package thread

import (
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
)

// Adoption has records from elsewhere: another store, or another program. Threads with
// status archived go to the archive, with their references and grants.
type Adoption struct {
	Objectives []Objective
	Threads    []Thread
	References []Reference
	Approvals  []Approval
	Merges     []Merge
	Questions  []Question
	Comments   []Comment
}

// Adopt adds records with their ids. It checks the records together: each may name the
// others. Errors: T106 for an id that is taken or occurs twice; T101 and T601 for a
// thread or an objective that is neither here nor among the records; T201 for parents,
// dependencies or references that form a cycle; T903 for an id outside the alphabet, a
// reserved id, an unknown status, or records that no rule could have made; those of the
// archive. After an error discard the State.
func (s *State) Adopt(in Adoption) error {
	if err := s.adoptable(in); err != nil {
		return err
	}
	putAll(&s.Objectives, in.Objectives)
	putAll(&s.Threads, in.Threads)
	putAll(&s.References, in.References)
	putAll(&s.Approvals, in.Approvals)
	putAll(&s.Merges, in.Merges)
	putAll(&s.Questions, in.Questions)
	putAll(&s.Comments, in.Comments)
	if err := s.adoptedInOrder(in); err != nil {
		return err
	}
	s.archiveAdopted(in)
	return nil
}

// archiveAdopted moves the archived threads, their references and their grants to the
// archive, and counts them in their objectives.
func (s *State) archiveAdopted(in Adoption) {
	cold, count := map[ThreadID]bool{}, map[ObjectiveID]int{}
	for _, t := range in.Threads {
		if t.Status == Archived {
			cold[t.ID] = true
			count[t.ObjectiveID]++
			archiveRecord(s, &s.Threads, t)
		}
	}
	for _, ref := range in.References {
		if cold[ref.From] {
			archiveRecord(s, &s.References, ref)
		}
	}
	for _, a := range in.Approvals {
		if cold[a.ThreadID] {
			archiveRecord(s, &s.Approvals, a)
		}
	}
	for id, n := range count {
		if o, ok := s.Objectives.Peek(string(id)); ok {
			o.Archived += n
			s.Objectives.Put(o)
		}
	}
}

func archiveRecord[R record[R]](s *State, t *Table[R], r R) {
	s.archived = append(s.archived, Change{Record: t.name + "/" + r.recordID(), After: encode(r.withRevision(s.Revision + 1))})
	t.Delete(r.recordID())
}

func putAll[R record[R]](t *Table[R], all []R) {
	for _, r := range all {
		t.Put(r)
	}
}

// adoptable checks the ids.
func (s *State) adoptable(in Adoption) error {
	taken := func(kind string) func(string) (bool, error) {
		return func(id string) (bool, error) { return s.hasRecord(kind, id) }
	}
	checks := []error{
		newIDs(in.Objectives, taken(TableObjectives)),
		newIDs(in.Threads, func(id string) (bool, error) { return s.alike(ThreadID(id)) != "", nil }),
		newIDs(in.References, taken(TableReferences)),
		newIDs(in.Approvals, taken(TableApprovals)),
		newIDs(in.Merges, taken(TableMerges)),
		newIDs(in.Questions, taken(TableQuestions)),
		newIDs(in.Comments, taken(TableComments)),
	}
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	return nil
}

// hasRecord reports whether a table, or the archive, has a record with this id.
func (s *State) hasRecord(table, id string) (bool, error) {
	lines := s.Lines(table)
	if _, ok := LineOf(lines, id); ok {
		return true, nil
	}
	if table != TableReferences && table != TableApprovals {
		return false, nil
	}
	archived, err := s.archivedLines(table)
	_, ok := LineOf(archived, id)
	return ok, err
}

func newIDs[R record[R]](all []R, taken func(string) (bool, error)) error {
	seen := map[string]bool{}
	for _, r := range all {
		id := r.recordID()
		if !ValidID(id) {
			return codes.InvalidArgument.New(fact.Of("reason", "'"+id+"' is no id ("+IDForm+")"), fact.Of("id", id))
		}
		if err := ReservedName(id); err != nil {
			return err
		}
		known, err := taken(id)
		if err != nil {
			return err
		}
		folded := strings.ToLower(id)
		if seen[folded] || known {
			return codes.AlreadyExists.New(fact.Of("id", id)).WithNext("leslie list --all").
				WithHint("The project has it already. To restore an export of this project, import it in a folder without a store (leslie init first)")
		}
		seen[folded] = true
	}
	return nil
}

// adoptedInOrder checks what the records say of each other.
func (s *State) adoptedInOrder(in Adoption) error {
	for _, t := range in.Threads {
		if err := s.adoptedThread(t); err != nil {
			return err
		}
	}
	for _, ref := range in.References {
		if !s.Exists(ref.From) {
			return threadNotFound(string(ref.From), "")
		}
		if !slices.Contains([]Binding{Frozen, Live}, ref.Binding) {
			return unadoptable("reference '" + string(ref.ID) + "' has the binding '" + string(ref.Binding) + "'")
		}
	}
	for _, a := range in.Approvals {
		if !s.Exists(a.ThreadID) {
			return threadNotFound(string(a.ThreadID), "")
		}
	}
	for _, m := range in.Merges {
		for _, id := range append(slices.Clone(m.Sources), m.Target) {
			if !s.Exists(id) {
				return threadNotFound(string(id), "")
			}
		}
	}
	return s.adoptedCycles(in)
}

func (s *State) adoptedThread(t Thread) error {
	o, ok := s.Objectives.Peek(string(t.ObjectiveID))
	switch {
	case !ok:
		return codes.ObjectiveNotFound.New(fact.Of("objectiveId", t.ObjectiveID))
	case !slices.Contains(Statuses(), t.Status):
		return unadoptable("thread '" + string(t.ID) + "' has the status '" + string(t.Status) + "'")
	case t.Executor != ByHuman && t.Executor != ByAgent:
		return unadoptable("thread '" + string(t.ID) + "' has the executor '" + string(t.Executor) + "'")
	case o.Done() && !t.Status.Terminated():
		return codes.ObjectiveDone.New(fact.Of("objectiveId", o.ID))
	}
	for _, id := range append(slices.Clone(t.DependsOn), t.ParentID) {
		if id != "" && !s.Exists(id) {
			return threadNotFound(string(id), "")
		}
	}
	return nil
}

// adoptedCycles refuses cycles that adopted records are part of.
func (s *State) adoptedCycles(in Adoption) error {
	parents, waits, refers := map[ThreadID][]ThreadID{}, map[ThreadID][]ThreadID{}, map[ThreadID][]ThreadID{}
	for _, t := range in.Threads {
		if t.ParentID != "" {
			parents[t.ID] = []ThreadID{t.ParentID}
		}
		waits[t.ID] = t.DependsOn
	}
	if len(in.References) > 0 {
		for ref := range s.References.All() {
			refers[ref.From] = append(refers[ref.From], ref.Target)
		}
	}
	for _, next := range []map[ThreadID][]ThreadID{parents, waits, refers} {
		if route := cycleIn(next); route != nil {
			return circular(route).With(fact.Of("threadId", route[0])).WithNext("leslie list --all")
		}
	}
	return nil
}

// cycleIn returns a cycle, its first id repeated at its end; nil if there is none. It
// visits each id once.
func cycleIn(next map[ThreadID][]ThreadID) []ThreadID {
	const unseen, open, done = 0, 1, 2
	state := map[ThreadID]int{}
	starts := make([]ThreadID, 0, len(next))
	for id := range next {
		starts = append(starts, id)
	}
	slices.Sort(starts)
	type visit struct {
		id ThreadID
		at int
	}
	for _, start := range starts {
		if state[start] != unseen {
			continue
		}
		state[start] = open
		for stack := []visit{{start, 0}}; len(stack) > 0; {
			top := &stack[len(stack)-1]
			if top.at == len(next[top.id]) {
				state[top.id] = done
				stack = stack[:len(stack)-1]
				continue
			}
			to := next[top.id][top.at]
			top.at++
			switch state[to] {
			case unseen:
				state[to] = open
				stack = append(stack, visit{to, 0})
			case open:
				from := slices.IndexFunc(stack, func(v visit) bool { return v.id == to })
				var route []ThreadID
				for _, v := range stack[from:] {
					route = append(route, v.id)
				}
				return append(route, to)
			}
		}
	}
	return nil
}

func unadoptable(reason string) *codes.Error {
	return codes.InvalidArgument.New(fact.Of("reason", strings.TrimSpace(reason)))
}

// Add adds a record of a table as JSON. Errors: T502 for a record that cannot be read,
// or that has another id.
func (a *Adoption) Add(table, id string, value []byte) error {
	switch table {
	case TableObjectives:
		return addRecord(&a.Objectives, table, id, value)
	case TableThreads:
		return addRecord(&a.Threads, table, id, value)
	case TableReferences:
		return addRecord(&a.References, table, id, value)
	case TableApprovals:
		return addRecord(&a.Approvals, table, id, value)
	case TableMerges:
		return addRecord(&a.Merges, table, id, value)
	case TableQuestions:
		return addRecord(&a.Questions, table, id, value)
	case TableComments:
		return addRecord(&a.Comments, table, id, value)
	}
	return badRecord(table+"/"+id, "there is no such table")
}

func addRecord[R record[R]](to *[]R, table, id string, value []byte) error {
	var r R
	if err := Decode(value, &r); err != nil {
		return badRecord(table+"/"+id, err.Error())
	}
	if r.recordID() != id {
		return badRecord(table+"/"+id, "it has another id")
	}
	*to = append(*to, r)
	return nil
}

func badRecord(name, reason string) error {
	return codes.ParseError.New(fact.Of("reason", "the record "+name+": "+reason)).
		WithHint("Nothing was imported. Correct the input").WithNext("leslie help import")
}

// Renumbered returns the records with the revisions that they name moved to at most a
// revision of another store, in the same order: what was shared before or after a
// rollback there still was.
func (a Adoption) Renumbered(most Revision) Adoption {
	var all []Revision
	visit := func(fn func(*Revision), t *Thread) {
		t.Shared, t.Reverted, t.Checkpoints = slices.Clone(t.Shared), slices.Clone(t.Reverted), slices.Clone(t.Checkpoints)
		for i := range t.Shared {
			fn(&t.Shared[i].At)
		}
		for i := range t.Reverted {
			fn(&t.Reverted[i].After)
			fn(&t.Reverted[i].Until)
		}
		for i := range t.Checkpoints {
			fn(&t.Checkpoints[i].At)
		}
	}
	a.Threads = slices.Clone(a.Threads)
	for i := range a.Threads {
		visit(func(r *Revision) { all = append(all, *r) }, &a.Threads[i])
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for i := range a.Threads {
		visit(func(r *Revision) {
			at, _ := slices.BinarySearch(all, *r)
			*r = most - Revision(len(all)-1-at)
		}, &a.Threads[i])
	}
	return a
}
