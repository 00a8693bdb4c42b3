package page

import (
	"fmt"
	"strconv"
	"strings"

	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file is the text form of records that several commands show.

// ApprovalText renders a grant.
func ApprovalText(p *Page, d app.ApprovalRecord) {
	p.Line("approval %s  %s  %s  %s  %s", d.ApprovalID, d.ThreadID, d.Kind, d.Status, app.Joined(d.Scope))
	ApprovalFacts(p, d)
	if d.DecidedBy != nil {
		p.Line("  decided: by %s (%s), %s", d.DecidedBy.Actor, d.DecidedBy.As, p.At(*d.DecidedAt))
	}
	p.Field("  verdict", d.Verdict)
}

// ApprovalFacts renders the details of a grant.
func ApprovalFacts(p *Page, d app.ApprovalRecord) {
	p.Field("  reason", d.Reason)
	if d.Deadline != nil {
		late := ""
		if d.Late {
			late = " (passed)"
		}
		p.Line("  deadline: %s%s, then %s", p.At(*d.Deadline), late, *d.Fallback)
	}
	if d.Until != nil {
		p.Field("  until", p.At(*d.Until))
	}
	p.Field("  merge", d.MergeID)
}

// InjectionText renders an injection; it has its content until it was seen.
func InjectionText(p *Page, d app.InjectionRecord) {
	seen := "not seen yet"
	if d.SeenAt != nil {
		seen = "seen"
	}
	p.Line("injection %s  %s, %s, %s", d.InjectionID, d.Type, d.Urgency, seen)
	p.Field("  content", app.Cut(d.Content, MaxTitle))
}

// WithSeparator puts a separator before a text that is not empty.
func WithSeparator(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// UsedText says what a run has used, as far as its agent has told it.
func UsedText(u thread.Use) string {
	var parts []string
	if n, known := u.Tokens(); known {
		parts = append(parts, strconv.FormatInt(n, 10)+" tokens")
	}
	if len(u.Cost) > 0 {
		parts = append(parts, CostText(u.Cost))
	}
	return strings.Join(parts, ", ")
}

// CostText is an amount in each currency.
func CostText(all []thread.Cost) string {
	var parts []string
	for _, c := range all {
		parts = append(parts, fmt.Sprintf("%.2f %s", c.Amount, c.Currency))
	}
	return strings.Join(parts, ", ")
}

// RunEnding says how a run ended, or how far it was.
func RunEnding(r app.RunRecord) string {
	switch {
	case r.Killed:
		return "its process was killed"
	case r.Ready:
		return "parked: what it waited for is there"
	case r.Stop == "":
		return string(r.Phase)
	}
	return string(r.Stop) + WithSeparator(": ", r.Reason)
}

// TotalsText says what runs have used.
func TotalsText(r *thread.RunTotals) string {
	if r == nil {
		return ""
	}
	return fact.Plural(r.Runs, "run") + ", " + fact.Plural(r.Turns, "turn") + WithSeparator(", ", UsedText(r.Used))
}
