package thread

import (
	"maps"
	"slices"
	"strings"
)

// HandedOn returns, ordered, the threads whose work an operation with these changes hands
// on: somebody else, perhaps on another machine, may go on with it. A thread's work is handed
// on when the thread begins or stops, gets another executor, a checkpoint or something from
// another thread, when its worktree is made, its claim is given back or to somebody, its run stops or its agent
// asks somebody, and when another thread refers to it or merges it.
func HandedOn(changes []Change) []ThreadID {
	found := map[ThreadID]bool{}
	for _, c := range changes {
		if Absent(c.After) {
			continue
		}
		begins := Absent(c.Before)
		table, _, _ := strings.Cut(c.Record, "/")
		switch {
		case table == TableThreads:
			after := decode[Thread](c.After)
			if begins || handsOn(decode[Thread](c.Before), after) {
				found[after.ID] = true
			}
		case table == TableReferences:
			r := decode[Reference](c.After)
			found[r.From], found[r.Target] = true, true
		case table == TableMerges && begins:
			m := decode[Merge](c.After)
			found[m.Target] = true
			for _, id := range m.Sources {
				found[id] = true
			}
		case table == TableApprovals && begins:
			found[decode[Approval](c.After).ThreadID] = true
		case table == TableQuestions && begins:
			found[decode[Question](c.After).ThreadID] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// handsOn is HandedOn for the change of one thread.
func handsOn(before, after Thread) bool {
	return after.Status != before.Status && after.Status != Active ||
		after.Executor != before.Executor ||
		before.Claim != nil && after.Claim == nil ||
		handedOver(before, after) ||
		last(after.Checkpoints).ID != last(before.Checkpoints).ID ||
		last(after.Shared).At != last(before.Shared).At ||
		after.stopped() && !before.stopped() ||
		after.OwnedCode() != nil && after.OwnedCode().State == CodeReady && before.Unmade() != nil
}

// handedOver reports whether somebody gave the thread to another holder.
func handedOver(before, after Thread) bool {
	now := last(after.Handed)
	return now.How == howHanded && now.By != last(before.Handed).By
}

func last[E any](all []E) (e E) {
	if len(all) > 0 {
		e = all[len(all)-1]
	}
	return e
}

// stopped reports whether the thread's newest run works no more, for now or for good.
func (t Thread) stopped() bool {
	run := t.LastRun()
	return run != nil && (run.Phase == RunParked || run.Phase == RunEnded)
}
