package thread

import (
	"strings"
	"unicode/utf8"

	"leslie/codes"
)

// This file describes records in a few words, so that a person can tell them apart where
// only their ids would be named.

// maxLabel is how many characters a label has at most.
const maxLabel = 60

func (t Thread) label() string    { return shortLabel(t.Title) }
func (o Objective) label() string { return shortLabel(o.Title) }
func (ref Reference) label() string {
	return shortLabel(string(ref.From) + " -> " + string(ref.Target))
}
func (m Merge) label() string   { return shortLabel("into " + m.Into()) }
func (c Comment) label() string { return shortLabel(string(c.ThreadID) + " " + c.Path + ": " + c.Text) }

func (a Approval) label() string {
	return shortLabel(string(a.ThreadID) + " asks for " + strings.Join(a.Scope, ", "))
}

func (q Question) label() string { return shortLabel(string(q.ThreadID) + " asks: " + q.Text) }

// shortLabel is the first line of a text, cut.
func shortLabel(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if line = strings.TrimSpace(line); utf8.RuneCountInString(line) > maxLabel {
		line = string([]rune(line)[:maxLabel-1]) + "…"
	}
	return line
}

// candidates describes the records with the first of these ids.
func candidates[R record[R]](ids []string, get func(id string) (R, bool)) []codes.Candidate {
	var out []codes.Candidate
	for _, id := range ids[:min(len(ids), MaxCandidates)] {
		c := codes.Candidate{ID: id}
		if r, ok := get(id); ok {
			c.Label = r.label()
		}
		out = append(out, c)
	}
	return out
}

// Candidates describes records, for a message that lists them.
func Candidates[R record[R]](all []R) []codes.Candidate {
	out := make([]codes.Candidate, 0, len(all))
	for _, r := range all {
		out = append(out, codes.Candidate{ID: r.recordID(), Label: r.label()})
	}
	return out
}
