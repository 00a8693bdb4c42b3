//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file ties operations to calls. A worker runs one process at a time, so of
// the operations under its name each belongs to the call in whose time it was
// made, and each answer tells how many there have to be.

// called is what is kept of a call until the next pause.
type called struct {
	actor      string
	command    string
	begin, end time.Time
	killed     bool // without an answer
	changed    bool
	failed     bool
	many, bare bool
	waited     bool // the answer's revision is a later one
	revision   int64
	made       string // the record that the answer says is new, "" for none
	holds      string // the thread that the answer says is held
}

// text is a call for a reader.
func (c called) text() string {
	return fmt.Sprintf("%s by %s from %s to %s", c.command, c.actor, c.begin.UTC().Format("15:04:05.000"), c.end.UTC().Format("15:04:05.000"))
}

// assign gives each operation to its call and says what does not fit. behind is
// how many calls were killed after their commit.
func assign(ops []operation, calls []called) (problems []string, behind int) {
	by := map[string][]int{} // the calls of an actor, in the order in which they were made
	for i, c := range calls {
		by[c.actor] = append(by[c.actor], i)
	}
	for _, mine := range by {
		slices.SortFunc(mine, func(a, b int) int { return calls[a].begin.Compare(calls[b].begin) })
	}
	given := make([][]operation, len(calls))
	for _, op := range ops {
		if bySystem(op) {
			continue
		}
		i := owner(op, by[op.Actor], calls)
		if i < 0 {
			problems = append(problems, fmt.Sprintf("operation %d (%s, %s by %s) was asked for by no call", op.Seq, op.ID, op.Command, op.Actor))
			continue
		}
		given[i] = append(given[i], op)
	}
	for i, c := range calls {
		if problem := c.unlike(given[i]); problem != "" {
			problems = append(problems, c.text()+": "+problem)
		}
		if c.killed && len(given[i]) > 0 {
			behind++
		}
	}
	return problems, behind
}

// bySystem reports whether leslie made an operation by itself.
func bySystem(op operation) bool {
	return op.Actor == "leslie" && op.As == "system" && slices.Contains([]string{"lapse", "seen", "suspend"}, op.Command)
}

// owner is the call of an actor to which an operation belongs, -1 for none: the
// one that was told its number, else one in whose time it falls, of two that
// touch the one that owes an explanation. Operations have milliseconds.
func owner(op operation, mine []int, calls []called) int {
	found := -1
	for _, i := range mine {
		c := calls[i]
		in := !c.begin.Truncate(time.Millisecond).After(op.Time) && !op.Time.After(c.end)
		switch {
		case c.command != op.Command:
		case c.told() && c.revision == op.Seq:
			return i
		case in && (found < 0 || !c.told()):
			found = i
		}
	}
	return found
}

// told reports whether a call was told the number of its operation.
func (c called) told() bool { return c.changed && !c.failed && !c.bare && !c.waited }

// unlike says how a call's operations differ from what it answered.
func (c called) unlike(ops []operation) string {
	acknowledged := c.changed && !c.failed && !c.bare
	switch {
	case c.killed && len(ops) > 1 && !c.many:
		return fmt.Sprintf("killed, it made %d operations", len(ops))
	case c.killed || c.bare:
		return ""
	case !c.changed && len(ops) > 0:
		return fmt.Sprintf("it said that nothing changed and made operation %d", ops[0].Seq)
	case c.changed && len(ops) == 0:
		return fmt.Sprintf("it was acknowledged at revision %d and has no operation", c.revision)
	case len(ops) > 1 && !c.many:
		return fmt.Sprintf("it made %d operations", len(ops))
	case acknowledged && !c.waited && ops[len(ops)-1].Seq != c.revision, acknowledged && ops[len(ops)-1].Seq > c.revision:
		return fmt.Sprintf("it was acknowledged at revision %d, and its operation is %d", c.revision, ops[len(ops)-1].Seq)
	case acknowledged && c.made != "" && !ops[len(ops)-1].made(c.made):
		return "it was acknowledged that " + c.made + " was made, and its operation did not"
	case acknowledged && c.holds != "":
		return c.unheld(ops[len(ops)-1])
	}
	return ""
}

// unheld says when an acknowledged claim is not in its operation.
func (c called) unheld(op operation) string {
	w := newModel()
	for _, ch := range op.Changes {
		w.claim(op, ch)
	}
	if w.claims[c.holds].Holder != c.actor {
		return "it was acknowledged that " + c.holds + " is held, and its operation says otherwise"
	}
	return ""
}

// note keeps a call; what was answered again made nothing of its own.
func (r *soakRun) note(actor string, l line, o outcome) {
	c := called{actor: actor, command: l.command, begin: o.Begin.Round(0), end: o.End.Round(0), many: l.many, bare: l.reads, waited: l.waits(),
		killed: o.Killed && o.Doc == nil, changed: o.Changed() && !o.Warned("W901"), failed: !o.OK(), revision: o.Revision()}
	c.made, c.holds = madeBy(l, o)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

// madeBy is what an answer says is there now.
func madeBy(l line, o outcome) (made, holds string) {
	var data struct{ ThreadID, ObjectiveID, RefID, ApprovalID string }
	o.Into(&data)
	if !o.Changed() || o.Warned("W901") {
		return "", ""
	}
	switch l.command {
	case "spawn":
		return "threads/" + data.ThreadID, ""
	case "objective create":
		return "objectives/" + data.ObjectiveID, ""
	case "reference":
		return "references/" + data.RefID, ""
	case "transfer":
		if data.ApprovalID != "" && !strings.Contains(strings.Join(l.argv, " "), "handoff") {
			return "approvals/" + data.ApprovalID, ""
		}
	case "claim", "renew":
		return "", data.ThreadID
	}
	return "", ""
}
