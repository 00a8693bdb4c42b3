//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leslie/test/lab"
)

// This file assigns operations to calls. A worker runs one process at a time, so each
// operation under its name belongs to the call that ran at that time, and each answer
// determines how many operations there must be.

// callRecord is what soak remembers of a call until the next pause.
type callRecord struct {
	actor      string
	command    string
	begin, end time.Time
	killed     bool // without an answer
	changed    bool
	failed     bool
	many, bare bool
	waited     bool // the answer's revision may be later than the operation
	revision   int64
	made       string // the record that the answer reports as new, "" for none
	holds      string // the thread that the answer reports as claimed
}

// text describes a call.
func (c callRecord) text() string {
	return fmt.Sprintf("%s by %s from %s to %s", c.command, c.actor, c.begin.UTC().Format("15:04:05.000"), c.end.UTC().Format("15:04:05.000"))
}

// assign assigns each operation to its call and returns what does not fit. unanswered is
// how many calls were killed after their commit.
func assign(ops []lab.Operation, calls []callRecord) (problems []string, unanswered int) {
	by := map[string][]int{} // the calls of each actor, in order of time
	for i, c := range calls {
		by[c.actor] = append(by[c.actor], i)
	}
	for _, mine := range by {
		slices.SortFunc(mine, func(a, b int) int { return calls[a].begin.Compare(calls[b].begin) })
	}
	given := make([][]lab.Operation, len(calls))
	for _, op := range ops {
		if bySystem(op) {
			continue
		}
		i := owner(op, by[op.Actor], calls)
		if i < 0 {
			problems = append(problems, fmt.Sprintf("no call requested operation %d (%s, %s by %s)", op.Seq, op.ID, op.Command, op.Actor))
			continue
		}
		given[i] = append(given[i], op)
	}
	for i, c := range calls {
		if problem := c.mismatch(given[i]); problem != "" {
			problems = append(problems, c.text()+": "+problem)
		}
		if c.killed && len(given[i]) > 0 {
			unanswered++
		}
	}
	return problems, unanswered
}

// bySystem reports whether leslie made an operation by itself.
func bySystem(op lab.Operation) bool {
	return op.Actor == "leslie" && op.As == "system" && slices.Contains([]string{"lapse", "seen", "suspend"}, op.Command)
}

// owner returns the call of an actor that made an operation, or -1: the one that reported
// its number, or else one that ran at that time, preferably one that reported no number.
// The times of operations are in milliseconds, so two calls may match.
func owner(op lab.Operation, mine []int, calls []callRecord) int {
	found := -1
	for _, i := range mine {
		c := calls[i]
		in := !c.begin.Truncate(time.Millisecond).After(op.Time) && !op.Time.After(c.end)
		switch {
		case c.command != op.Command:
		case c.hasRevision() && c.revision == op.Seq:
			return i
		case in && (found < 0 || !c.hasRevision()):
			found = i
		}
	}
	return found
}

// hasRevision reports whether a call's answer has the number of its operation.
func (c callRecord) hasRevision() bool { return c.changed && !c.failed && !c.bare && !c.waited }

// mismatch returns how a call's operations differ from its answer, or "".
func (c callRecord) mismatch(ops []lab.Operation) string {
	acknowledged := c.changed && !c.failed && !c.bare
	switch {
	case c.killed && len(ops) > 1 && !c.many:
		return fmt.Sprintf("killed, it made %d operations", len(ops))
	case c.killed || c.bare:
		return ""
	case !c.changed && len(ops) > 0:
		return fmt.Sprintf("it reported that nothing changed, but made operation %d", ops[0].Seq)
	case c.changed && len(ops) == 0:
		return fmt.Sprintf("it was acknowledged at revision %d, but has no operation", c.revision)
	case len(ops) > 1 && !c.many:
		return fmt.Sprintf("it made %d operations", len(ops))
	case acknowledged && !c.waited && ops[len(ops)-1].Seq != c.revision, acknowledged && ops[len(ops)-1].Seq > c.revision:
		return fmt.Sprintf("it was acknowledged at revision %d, but its operation is %d", c.revision, ops[len(ops)-1].Seq)
	case acknowledged && c.made != "" && !ops[len(ops)-1].Made(c.made):
		return "it acknowledged the new record " + c.made + ", which its operation did not make"
	case acknowledged && c.holds != "":
		return c.claimMismatch(ops[len(ops)-1])
	}
	return ""
}

// claimMismatch reports an acknowledged claim that is not in its operation.
func (c callRecord) claimMismatch(op lab.Operation) string {
	m := lab.NewModel()
	for _, ch := range op.Changes {
		m.Follow(op, ch)
	}
	if m.Claims[c.holds].Holder != c.actor {
		return "it acknowledged a claim on " + c.holds + ", which its operation did not make"
	}
	return ""
}

// note remembers a call. A replayed answer (W901) made no operation.
func (r *soakRun) note(actor string, l line, o outcome) {
	c := callRecord{actor: actor, command: l.Command, begin: o.Begin.Round(0), end: o.End.Round(0), many: l.Many, bare: l.Reads, waited: l.Waits(),
		killed: o.Killed && o.Doc == nil, changed: o.Changed() && !o.Warned("W901"), failed: !o.OK(), revision: o.Revision()}
	c.made, c.holds = madeBy(l, o)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

// madeBy returns the record that an answer reports as new, or the thread that it reports
// as claimed.
func madeBy(l line, o outcome) (made, holds string) {
	var data struct{ ThreadID, ObjectiveID, RefID, ApprovalID, QuestionID, CommentID string }
	o.Into(&data)
	if !o.Changed() || o.Warned("W901") {
		return "", ""
	}
	switch l.Command {
	case "spawn":
		return "threads/" + data.ThreadID, ""
	case "objective create":
		return "objectives/" + data.ObjectiveID, ""
	case "reference":
		return "references/" + data.RefID, ""
	case "transfer":
		if data.ApprovalID != "" && !strings.Contains(strings.Join(l.Argv, " "), "handoff") {
			return "approvals/" + data.ApprovalID, ""
		}
	case "ask":
		return "questions/" + data.QuestionID, ""
	case "comment":
		return "comments/" + data.CommentID, ""
	case "claim", "renew":
		return "", data.ThreadID
	}
	return "", ""
}
