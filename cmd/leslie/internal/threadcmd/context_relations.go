package threadcmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/app/threads"
	"leslie/thread"
)

// This file is what a context says of others: the thread's children and dependants, live
// targets, approvals, capabilities; and all of that as data beside the block.

// contextOf is a context as JSON and YAML have it: the block, and its facts as fields.
func contextOf(d *threads.ContextResult, block string) *contextData {
	return &contextData{
		Context: block, ThreadID: d.Thread.ID, Status: d.Thread.Status, Path: d.Folder,
		Claim: d.Claim, Former: d.Thread.AtWork(d.At), Reopened: d.Thread.Back(),
		DependsOn: append([]threads.ContextDependency{}, d.DependsOn...), Code: d.Code, Comments: d.Comments, Progress: d.Progress,
		ContextRelations: d.ContextRelations,
	}
}

const (
	// maxChildren is how many children the block lists, and maxDecided how many decided
	// approvals; JSON has all.
	maxChildren = 30
	maxDecided  = 5
)

// relations renders what the context says of others. What is not there has no line.
func (b *contextBlock) relations() string {
	out := fieldLine("folder", b.Dir)
	if id := string(b.Thread.ID); b.Thread.ParentID != "" && !b.Thread.Status.Terminated() {
		out += fieldLine("your notes", "plan-"+id+".md and progress-"+id+".md there")
	}
	out += b.childLines()
	for _, m := range b.PendingMerges {
		if m.Queued {
			out += queuedMerge(m, app.Joined(m.Sources)+" into this thread")
			continue
		}
		out += fieldLine("pending merge", fmt.Sprintf("%s of %s into this thread; leslie merge status %s shows what is "+
			"open; goes on with: %s",
			m.MergeID, app.Joined(m.Sources), m.MergeID, m.Next))
	}
	for _, m := range b.QueuedMerges {
		out += queuedMerge(m, app.Joined(m.Sources)+" into "+string(m.Target))
	}
	var dependants []string
	for _, on := range b.Dependants {
		dependants = append(dependants, string(on.ID)+" ("+string(on.Status)+")")
	}
	out += fieldLine("depended on by", strings.Join(dependants, ", "))
	for _, live := range b.LiveChanges {
		out += fieldLine("changed in "+string(live.Target)+" since "+live.Since.Format(time.RFC3339)+" ("+
			string(live.RefID)+", live)", strings.Join(live.Paths, ", "))
	}
	return out + b.decided() + b.capabilities()
}

// queuedMerge is a merge in a queue, and why it has not landed.
func queuedMerge(m threads.ContextMerge, of string) string {
	if m.Refused != nil {
		return fieldLine("queued merge", fmt.Sprintf("%s of %s did not land: %s %s; goes on with: %s", m.MergeID, of,
			m.Refused.Code, m.Refused.Message, m.Next))
	}
	return fieldLine("queued merge", fmt.Sprintf("%s of %s; lands with: %s", m.MergeID, of, m.Next))
}

// childLines lists the children, and the line that merges what they hold.
func (b *contextBlock) childLines() string {
	var lines []string
	for i, child := range b.Children {
		if i == maxChildren {
			lines = append(lines, fmt.Sprintf("(%d more: leslie list --parent %s)", len(b.Children)-i, b.Thread.ID))
			break
		}
		state := string(child.Status)
		if slices.Contains(b.Unmerged, child.ID) {
			state += ", not merged yet"
		}
		if child.Holder != nil {
			state += ", claimed by " + app.Cut(*child.Holder, 60) + silence(child.Claim)
		}
		if changes := page.ChangesText(child.Changes); changes != "" {
			state += "; " + changes
		}
		lines = append(lines, fmt.Sprintf("%s (%s): %s", child.ID, state, app.Cut(child.Title, 80)))
		lines = append(lines, childWaits(child)...)
	}
	if len(lines) == 0 {
		return ""
	}
	return "children:\n" + listed(lines) + fieldLine("merge what they completed", b.MergeNext)
}

// childWaits says what a child waits for, and what a person has to do.
func childWaits(child threads.ContextChild) []string {
	var lines []string
	for _, w := range child.WaitsFor {
		line := "  waits for " + string(w.Kind) + " " + w.ID + " of a person: " + app.Cut(w.What, 80)
		if w.Reason != "" {
			line += ", because: " + app.Cut(w.Reason, 80)
		}
		lines = append(lines, line)
	}
	if m := child.Mistakes; m != nil {
		lines = append(lines, fmt.Sprintf("  stopped by the mistake limit: %d failed commands in a row, last %s; a "+
			"person looks at it and runs leslie resume %s",
			m.Count, m.LastCode, child.ID))
	}
	return lines
}

// decided renders the newest approvals that were not granted: those that are stand
// elsewhere.
func (b *contextBlock) decided() string {
	var out []string
	for _, a := range b.Approvals {
		if a.Status == thread.GrantOpen || a.Status == thread.GrantApproved {
			continue
		}
		what := app.Joined(a.Scope) + " (" + string(a.ApprovalID) + ")"
		if a.DecidedBy != nil {
			what += " by " + app.Cut(a.DecidedBy.Actor, page.MaxTitle)
		}
		if a.Verdict != "" {
			what += ": " + app.Cut(a.Verdict, page.MaxTitle)
		}
		out = append(out, fieldLine(string(a.Status), what))
	}
	return strings.Join(out[max(0, len(out)-maxDecided):], "")
}

// capabilities says what the thread may do on its own, and what needs an approval.
func (b *contextBlock) capabilities() string {
	var may, asks []string
	for _, one := range b.Capabilities {
		switch {
		case !one.Allowed:
			asks = append(asks, one.Capability)
		case one.By == "policy":
			may = append(may, one.Capability)
		default:
			may = append(may, one.Capability+" ("+one.By+")")
		}
	}
	return fieldLine("may", strings.Join(may, ", ")) + fieldLine("needs an approval", strings.Join(asks, ", ")) +
		fieldLine("enforced by", b.enforcement())
}

// enforcement says what keeps the agent to its capabilities.
func (b *contextBlock) enforcement() string {
	switch b.EnforcedBy {
	case "run":
		return "leslie run, whose rules answer before each tool"
	case "hook":
		return "the hook in " + b.Hook + ", which runs before the agent's tools"
	}
	return "nothing that leslie knows of; keep to it"
}
