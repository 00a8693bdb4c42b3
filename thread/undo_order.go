package thread

import (
	"bytes"
	"slices"
	"strings"

	"leslie/codes"
)

// This file checks the records that an undo would leave: no record may name one that
// does not exist, and no combination may exist that the rules forbid. An undo that
// would leave inconsistent records is T110, because later work depends on what it
// reverts.

// order checks every record that the undo changed.
func (v *inverting) order() error {
	for _, c := range v.out.Changes {
		if err := v.inOrder(c); err != nil {
			return err
		}
	}
	return nil
}

func (v *inverting) inOrder(c Change) error {
	gone := Absent(c.After)
	switch table, _, _ := strings.Cut(c.Record, "/"); {
	case table == TableThreads && gone:
		return v.unnamed(valueOf[Thread](c.Before))
	case table == TableThreads:
		return v.threadInOrder(valueOf[Thread](c.Before), valueOf[Thread](c.After))
	case table == TableObjectives && gone:
		return v.emptied(valueOf[Objective](c.Before))
	case table == TableObjectives:
		return v.objectiveInOrder(valueOf[Objective](c.After).ID)
	case table == TableReferences && Absent(c.Before):
		return v.referenceInOrder(valueOf[Reference](c.After))
	case table == TableApprovals && !gone:
		return v.approvalInOrder(valueOf[Approval](c.After))
	case table == TableQuestions && !gone:
		return v.questionInOrder(valueOf[Question](c.After))
	}
	return nil
}

// depends returns T110 for later work that depends on what the undo would remove.
func (v *inverting) depends(what string) *codes.Error {
	return v.conflict("later work depends on it: " + what)
}

// unnamed refuses to remove a thread that another record names or that the archive
// contains.
func (v *inverting) unnamed(t Thread) error {
	id := t.ID
	switch what, err := v.s.naming(id); {
	case err != nil:
		return err
	case what != "":
		return v.depends(what + " it")
	}
	known, err := v.s.hasLine(TableThreads, string(id))
	if err == nil && known {
		return v.conflict("thread '" + string(id) + "' is in the archive, from which nothing is removed").
			WithHint("End it with leslie cancel, then archive it with leslie archive")
	}
	return err
}

// naming returns which record names a thread, and how; "" for none.
func (s *State) naming(id ThreadID) (string, error) {
	for _, table := range []string{TableThreads, TableReferences, TableApprovals, TableMerges, TableQuestions, TableComments} {
		if what := namingIn(table, s.Lines(table), id); what != "" {
			return what, nil
		}
		archived, err := s.archivedLines(table)
		if err != nil {
			return "", err
		}
		if what := namingIn(table, archived, id); what != "" {
			return what, nil
		}
	}
	return "", nil
}

func namingIn(table string, lines []Line, id ThreadID) string {
	mark := []byte(`"` + id + `"`)
	for _, line := range lines {
		if !bytes.Contains(line.JSON, mark) || table == TableThreads && line.ID == string(id) {
			continue
		}
		if how := tie(table, line, id); how != "" {
			return named(table+"/"+line.ID) + " " + how
		}
	}
	return ""
}

// tie returns how a record names a thread, "" if it does not.
func tie(table string, line Line, id ThreadID) string {
	switch table {
	case TableThreads:
		return decode[Thread](line.JSON).tieTo(id)
	case TableReferences:
		if ref := decode[Reference](line.JSON); ref.From == id || ref.Target == id {
			return "names"
		}
	case TableApprovals:
		if decode[Approval](line.JSON).ThreadID == id {
			return "was given to"
		}
	case TableQuestions:
		if q := decode[Question](line.JSON); q.ThreadID == id || q.To == id {
			return "names"
		}
	case TableComments:
		if decode[Comment](line.JSON).ThreadID == id {
			return "is on"
		}
	case TableMerges:
		if m := decode[Merge](line.JSON); m.Target == id || slices.Contains(m.Sources, id) {
			return "names"
		}
	}
	return ""
}

func (t Thread) tieTo(id ThreadID) string {
	switch {
	case t.ParentID == id:
		return "was spawned from"
	case slices.Contains(t.DependsOn, id):
		return "depends on"
	case slices.ContainsFunc(t.Shared, func(s Share) bool { return s.With == id }):
		return "was merged with"
	}
	return ""
}

// hasLine reports whether the archive contains a record, even if the State contains
// it as well.
func (s *State) hasLine(table, id string) (bool, error) {
	if s.archivedHere(table, id) {
		return true, nil
	}
	if s.source == nil {
		return false, nil
	}
	return s.source.HasLine(table, id)
}

// emptied refuses to remove an objective that has threads, archived ones included.
func (v *inverting) emptied(o Objective) error {
	counts := v.s.CountsOf(o)
	for _, n := range counts {
		if n > 0 {
			return v.depends("objective '" + string(o.ID) + "' has threads")
		}
	}
	return nil
}

// threadInOrder checks a thread that the undo changed or brought back.
func (v *inverting) threadInOrder(was, is Thread) error {
	back := was.ID == ""
	if back && is.ParentID != "" && !v.known(is.ParentID) {
		return v.conflict("its parent '" + string(is.ParentID) + "' is gone")
	}
	if open := v.s.OpenRequests(is.ID); len(open) > 0 && is.Status != WaitingHuman {
		return v.depends("the thread waits for approval '" + string(open[0].ID) + "' and would be " + string(is.Status))
	}
	for _, id := range is.DependsOn {
		switch {
		case !back && slices.Contains(was.DependsOn, id):
		case !v.known(id):
			return v.conflict("its dependency '" + string(id) + "' is gone")
		}
		if route := v.s.dependencyPath(id, is.ID); route != nil {
			return v.conflict("dependencies would form a cycle: " + joinRoute(append([]ThreadID{is.ID}, route...)))
		}
	}
	return v.objectiveInOrder(is.ObjectiveID)
}

// known reports whether a thread is live or archived.
func (v *inverting) known(id ThreadID) bool {
	t, err := v.s.Thread(string(id))
	return err == nil && t.ID == id
}

// objectiveInOrder refuses a thread that is not terminated under an objective that
// is done.
func (v *inverting) objectiveInOrder(id ObjectiveID) error {
	o, ok := v.s.Objectives.Peek(string(id))
	switch {
	case !ok:
		return v.conflict("its objective '" + string(id) + "' is gone")
	case !o.Done():
		return nil
	}
	for status, n := range v.s.CountsOf(o) {
		if n > 0 && !status.Terminated() {
			return v.conflict("objective '" + string(id) + "' is done, and one of its threads would be " + string(status))
		}
	}
	return nil
}

// referenceInOrder checks a reference that the undo brought back.
func (v *inverting) referenceInOrder(ref Reference) error {
	if _, live := v.s.Threads.Peek(string(ref.From)); !live {
		return v.conflict("its thread '" + string(ref.From) + "' is gone or archived")
	}
	for o := range v.s.References.All() {
		if o.ID != ref.ID && o.From == ref.From && o.Target == ref.Target && o.Binding == ref.Binding && slices.Equal(o.Scope, ref.Scope) {
			return v.conflict("reference '" + string(o.ID) + "' has replaced '" + string(ref.ID) + "'")
		}
	}
	if route := v.s.referencePath(ref.Target, ref.From); route != nil {
		return v.conflict("references would form a cycle: " + joinRoute(append([]ThreadID{ref.From}, route...)))
	}
	return nil
}

func joinRoute(route []ThreadID) string { return strings.Join(names(route), " -> ") }

// questionInOrder checks that the threads of a question exist.
func (v *inverting) questionInOrder(q Question) error {
	if _, live := v.s.Threads.Peek(string(q.ThreadID)); !live {
		return v.conflict("thread '" + string(q.ThreadID) + "' is gone or archived")
	}
	if q.To != "" && !v.known(q.To) {
		return v.conflict("thread '" + string(q.To) + "' is gone")
	}
	return nil
}

// approvalInOrder checks that a thread waits while it has an open request.
func (v *inverting) approvalInOrder(g Approval) error {
	t, ok := v.s.Threads.Peek(string(g.ThreadID))
	switch {
	case !ok:
		return v.conflict("thread '" + string(g.ThreadID) + "' is gone or archived")
	case g.Status == GrantOpen && t.Status != WaitingHuman:
		return v.conflict("thread '" + string(t.ID) + "' is " + string(t.Status) + " and would have to wait for a person")
	case g.Status != GrantOpen || g.MergeID == "":
		return nil
	}
	if _, pending := v.s.Merges.Peek(string(g.MergeID)); !pending {
		return v.conflict("its merge '" + string(g.MergeID) + "' is no longer pending")
	}
	return nil
}
