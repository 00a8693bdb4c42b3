package app

import (
	"slices"

	"leslie/codes"
	"leslie/thread"
)

// Candidates describes what a command may mean that names no record of a table: pending
// merges, open requests, open questions, or objectives that are not done. With of, a
// thread, they are that thread's; ok is false if of names no thread, or a record of the
// table itself. Errors: those of reading.
func (c *Call) Candidates(table, of string) (all []codes.Candidate, ok bool, err error) {
	c.ReadOnly()
	_, err = c.View(func(s *thread.State) error {
		var id thread.ThreadID
		all, ok = nil, of == ""
		if of != "" {
			t, err := s.Thread(of)
			if ok = err == nil && !isRecord(s, table, of); !ok {
				return nil
			}
			id = t.ID
		}
		switch table {
		case thread.TableMerges:
			all = thread.Candidates(s.MergesOf(id))
		case thread.TableApprovals:
			all = thread.Candidates(s.OpenRequests(id))
		case thread.TableQuestions:
			all = thread.Candidates(s.OpenQuestions(id))
		case thread.TableObjectives:
			all = thread.Candidates(slices.DeleteFunc(s.ObjectivesInOrder(), thread.Objective.Done))
		}
		return nil
	})
	return all, ok, err
}

// NamesRecord reports whether arg has the id or a prefix of a record of a table; for a question
// also of a thread, for whose question it stands. Errors: those of reading.
func (c *Call) NamesRecord(table, arg string) (named bool, err error) {
	c.ReadOnly()
	_, err = c.View(func(s *thread.State) error {
		named = isRecord(s, table, arg)
		if !named && table == thread.TableQuestions {
			_, err := s.Thread(arg)
			named = err == nil || codes.Has(err, codes.AmbiguousID)
		}
		return nil
	})
	return named, err
}

// isRecord reports whether a request, a question or a merge has this id or prefix.
func isRecord(s *thread.State, table, arg string) bool {
	var err error
	switch table {
	case thread.TableApprovals:
		_, err = s.Approval(arg)
	case thread.TableQuestions:
		_, err = s.Question(arg)
	case thread.TableMerges:
		_, err = s.Merge(arg)
	}
	return err == nil || codes.Has(err, codes.AmbiguousID)
}
