package app

import (
	"cmp"
	"slices"

	"leslie/codes"
	"leslie/thread"
)

// Known are the ids of a table (thread.TableThreads and its like) as they are in the state
// now, in the order of the ids, with what their records are called. Errors: those of
// reading.
func Known(c *Call, table string) (all []codes.Candidate, err error) {
	c.readOnly()
	_, err = c.view(func(s *thread.State) error {
		switch table {
		case thread.TableThreads:
			all = s.ThreadCandidates()
		case thread.TableObjectives:
			all = thread.Candidates(slices.Collect(s.Objectives.All()))
		case thread.TableReferences:
			all = thread.Candidates(slices.Collect(s.References.All()))
		case thread.TableMerges:
			all = thread.Candidates(slices.Collect(s.Merges.All()))
		case thread.TableApprovals:
			all = thread.Candidates(slices.Collect(s.Approvals.All()))
		case thread.TableQuestions:
			all = thread.Candidates(slices.Collect(s.Questions.All()))
		case thread.TableComments:
			all = thread.Candidates(s.OpenComments(""))
		default:
			all = nil
		}
		return nil
	})
	slices.SortFunc(all, func(a, b codes.Candidate) int { return cmp.Compare(a.ID, b.ID) })
	return all, err
}
