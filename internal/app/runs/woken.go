package runs

import (
	"fmt"
	"strings"

	"leslie/internal/app"
	"leslie/thread"
)

// This file says why an agent is called again, to the agent.

// mostOutcomes is how many children a text about why an agent was called again names.
const mostOutcomes = 20

// wokenBy is why a parked run goes on, "" for one that was not parked. It is called
// before the run is begun.
func wokenBy(s *thread.State, t thread.Thread) string {
	run := t.LastRun()
	if run == nil || run.Phase != thread.RunParked {
		return ""
	}
	lines := []string{"You are called again. Your last run ended because " + run.Reason + "."}
	if unread := s.UnreadOf(t).Count; unread > 0 {
		lines = append(lines, fmt.Sprintf("Now %d message(s) wait for you, below.", unread))
	}
	if run.Awaits == thread.AwaitsThreads {
		lines = append(lines, outcomes(s, t)...)
	}
	for _, g := range s.ApprovalsOf(t.ID) {
		if g.Decided != nil && run.EndedAt != nil && g.Decided.At.After(*run.EndedAt) {
			lines = append(lines, fmt.Sprintf("- %s was decided: %s%s", g.ID, g.Status, after(": ", g.Verdict)))
		}
	}
	return strings.Join(lines, "\n")
}

// outcomes says what became of a thread's children.
func outcomes(s *thread.State, t thread.Thread) (lines []string) {
	for i, id := range s.RelationsOf(t).Children {
		if i == mostOutcomes {
			return append(lines, "- and more: leslie list --parent "+string(t.ID))
		}
		if child, ok := s.Threads.Peek(string(id)); ok {
			lines = append(lines, fmt.Sprintf("- %s is %s%s", id, child.Status, after(": ", child.Reason)))
		}
	}
	return lines
}

// after puts a separator before a text that is not empty, and keeps its first line.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + app.Cut(app.FirstLine(text), 200)
}
