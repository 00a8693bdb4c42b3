package merging

import (
	"leslie/codes"
	"leslie/thread"
)

// This file has the queue of a target: merges are recorded without a plan, and carried out
// later like any pending merge. thread/mergequeue.go has the rules.

// Queue records a merge in the queue of its target. It plans nothing; whoever has claimed
// the target is not asked before the merge lands. Errors: T101, T105, T107, T305, T802,
// T903, and those of a write.
func Queue(c Call, r Request) (*Result, error) {
	rec := newPlanning(c, r).record
	if err := queuesCode(c, r, rec); err != nil {
		return nil, err
	}
	return c.Commit(nil, func(st *thread.State, stamp thread.Stamp) (*Result, thread.ThreadID, error) {
		found, err := st.Parties(r.Target, r.Sources)
		if err != nil {
			return nil, "", err
		}
		next := rec
		next.Target = found.Target.ID
		for _, t := range found.Sources {
			next.Sources = append(next.Sources, t.ID)
		}
		if r.Only == OnlyCode {
			if err := haveCode(&Planning{record: next}, found); err != nil {
				return nil, "", err
			}
		}
		if bringsCode(next, found) {
			code := codeRecord(&Planning{record: next})
			code.Planned = true
			next.Code = &code
		}
		next.ID = thread.MergeID(c.NewID(thread.PrefixMerge, taken(&st.Merges)))
		if next, err = st.QueueMerge(next, stamp); err != nil {
			return nil, "", err
		}
		result := (&Planning{call: c, record: next, recorded: true}).Result(Pending)
		result.Next = []string{"leslie merge land " + string(next.Target)}
		return result, next.Target, nil
	})
}

// queuesCode refuses to queue a merge that would leave code out. Errors: T802; what is wrong
// with the threads is left to the rule.
func queuesCode(c Call, r Request, rec thread.Merge) error {
	var found thread.MergeParties
	err := c.View(func(st *thread.State) (err error) {
		found, err = st.Parties(r.Target, r.Sources)
		return err
	})
	if err != nil || !rec.TakesCode() || found.Target.OwnedCode() != nil || found.Branch != "" {
		return nil //nolint:nilerr // the rule says it
	}
	return landsNowhere(&Planning{call: c, record: rec}, found)
}

// RepairKilledLanding takes back what a killed landing of a merge has left half done. It leaves one that
// goes on, and one that has landed, to whoever continues the merge. Errors: T801.
func RepairKilledLanding(c Call, m thread.Merge, target thread.Thread) error {
	_, err := repairLanding(&Planning{call: c, record: m, recorded: true}, target)
	if codes.Has(err, codes.WorktreeBusy) {
		return nil
	}
	return err
}

// HasLanded reports whether the code of a session's merge has landed; s may be nil.
func HasLanded(s *Session) bool { return s != nil && codeRecord(s.Planning).Landed }

func threadsOf(found thread.MergeParties) []thread.Thread {
	return append([]thread.Thread{found.Target}, found.Sources...)
}
