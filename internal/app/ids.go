package app

import (
	"slices"

	"leslie/thread"
)

// KnownIDs are the ids of a table (thread.TableThreads and its like) as they are in
// the State, in order: what a caller may mean. Errors: those of reading.
func KnownIDs(c *Call, table string) ([]string, error) {
	c.readOnly()
	var out []string
	_, err := c.view(func(s *thread.State) error {
		out = nil
		switch table {
		case thread.TableThreads:
			for t := range s.Threads.All() {
				out = append(out, string(t.ID))
			}
		case thread.TableObjectives:
			for o := range s.Objectives.All() {
				out = append(out, string(o.ID))
			}
		case thread.TableReferences:
			for r := range s.References.All() {
				out = append(out, string(r.ID))
			}
		case thread.TableMerges:
			for m := range s.Merges.All() {
				out = append(out, string(m.ID))
			}
		case thread.TableApprovals:
			for a := range s.Approvals.All() {
				out = append(out, string(a.ID))
			}
		case thread.TableQuestions:
			for q := range s.Questions.All() {
				out = append(out, string(q.ID))
			}
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}
