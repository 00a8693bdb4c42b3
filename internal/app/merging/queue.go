package merging

import (
	"slices"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
)

// This file has the queue of a target: merges are recorded without a plan, and carried out
// later like any pending merge. thread/mergequeue.go has the rules.

// Queue records a merge in the queue of its target. It plans nothing; whoever has claimed
// the target is not asked before the merge lands. Errors: T101, T105, T107, T305, T802,
// T903, and those of a write.
func Queue(c Call, r Request) (*Result, error) {
	rec := newPlanning(c, r).record
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
			if err := haveCode(found); err != nil {
				return nil, "", err
			}
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

// Settle takes back what a killed landing of a merge has left half done. It leaves one that
// goes on, and one that has landed, to whoever continues the merge. Errors: T801.
func Settle(c Call, m thread.Merge, target thread.Thread) error {
	_, err := settleLanding(&Planning{call: c, record: m, recorded: true}, target)
	if codes.Has(err, codes.WorktreeBusy) {
		return nil
	}
	return err
}

// HasLanded reports whether the code of a session's merge has landed; s may be nil.
func HasLanded(s *Session) bool { return s != nil && codeRecord(s.Planning).Landed }

// codeReady checks that no code is left out of a merge without a word: T802 if only code is
// to be merged and there is none, and for a queued merge, where nobody may be there to see
// that the worktree of a thread was removed since.
func codeReady(p *Planning, found thread.MergeParties) error {
	if codeRecord(p).Only == OnlyCode {
		return haveCode(found)
	}
	for _, t := range threadsOf(found) {
		if c := t.OwnedCode(); p.record.Queued != nil && !p.looking && c != nil && !ownsCode(t) {
			return noCode(t, "its worktree is "+string(c.State)).WithHint("Bring it back, or abort the merge").
				WithNext("leslie code restore "+string(t.ID), "leslie merge status "+string(p.record.ID))
		}
	}
	return nil
}

// haveCode returns T802 unless the target and a source own code.
func haveCode(found thread.MergeParties) error {
	if ownsCode(found.Target) && slices.ContainsFunc(found.Sources, ownsCode) {
		return nil
	}
	all := threadsOf(found)
	return noCode(all[slices.IndexFunc(all, func(t thread.Thread) bool { return !ownsCode(t) })], "only code is to be merged")
}

func threadsOf(found thread.MergeParties) []thread.Thread {
	return append([]thread.Thread{found.Target}, found.Sources...)
}

func noCode(t thread.Thread, reason string) *codes.Error {
	return codes.NoCode.New(fact.Of("id", t.ID), fact.Of("reason", reason), fact.Of("threadId", t.ID))
}
