package thread

import (
	"bytes"
	"slices"
)

// This file finds the threads that wait for somebody in one pass over the records'
// bytes, so that a summary of ten thousand threads decodes only those that it shows.

// Stalled has the threads with which nobody goes on, each list in list order.
type Stalled struct {
	// Suspended threads wait for somebody to resume them; of Resumable ones every child
	// is terminated.
	Suspended, Resumable Page
	// Unmerged threads are completed, and their parent, which is not terminated, has not
	// merged them since, nor is a merge of them into it queued or pending. Whether they have
	// anything to merge only their files can say.
	Unmerged Page
}

// StalledThreads returns the first limit threads of each kind, with their number. A
// thread whose children are all in the archive counts as suspended.
func (s *State) StalledThreads(limit int) Stalled {
	var suspended, completed []Line
	parents := map[string]bool{} // of any child: whether one of them is not terminated
	merging := s.merging()
	for _, line := range s.Threads.Lines() {
		status := statusIn(line.JSON)
		parent, child := parentIn(line.JSON)
		if child {
			parents[string(parent)] = parents[string(parent)] || !status.Terminated()
		}
		switch {
		case status == Suspended:
			suspended = append(suspended, line)
		case status == Completed && child && !merging[mergeOf{ThreadID(line.ID), ThreadID(parent)}] && s.unmerged(line, parent):
			completed = append(completed, line)
		}
	}
	waiting, resumable, unmerged := newBeginning(limit), newBeginning(limit), newBeginning(limit)
	for _, line := range suspended {
		busy, has := parents[line.ID]
		if has && !busy && !holds(line.JSON, "mistakes") {
			resumable.add(line)
		} else {
			waiting.add(line)
		}
	}
	for _, line := range completed {
		unmerged.add(line)
	}
	return Stalled{Suspended: waiting.result(s), Resumable: resumable.result(s), Unmerged: unmerged.result(s)}
}

// unmerged reports whether a completed thread's parent could still merge it, as far as
// the records say.
func (s *State) unmerged(line Line, parent []byte) bool {
	to, there := s.Threads.line(parent)
	if !there || statusIn(to).Terminated() {
		return false
	}
	if !bytes.Contains(to, pattern("with", line.ID)) {
		return true
	}
	p, _ := s.Threads.Peek(string(parent))
	t, _ := s.Threads.Peek(line.ID)
	return !p.mergedSince(t)
}

// mergedSince reports whether a thread has merged another since that one's record last
// changed.
func (t Thread) mergedSince(from Thread) bool {
	return slices.ContainsFunc(t.Shared, func(share Share) bool {
		return share.With == from.ID && share.How != "spawn" && share.At >= from.Revision
	})
}

// mergeOf is a source and the target that it is merged into.
type mergeOf struct{ source, target ThreadID }

// merging has what is being merged: queued, or pending.
func (s *State) merging() map[mergeOf]bool {
	all := map[mergeOf]bool{}
	for m := range s.Merges.All() {
		for _, source := range m.Sources {
			all[mergeOf{source, m.Target}] = true
		}
	}
	return all
}

// UnmergedChildren returns the completed ones of these children that their parent has
// not merged since, and is not merging: see Stalled.
func (s *State) UnmergedChildren(parent Thread, children []Thread) []Thread {
	if parent.Status.Terminated() {
		return nil
	}
	merging := s.merging()
	return slices.DeleteFunc(slices.Clone(children), func(t Thread) bool {
		return t.Status != Completed || merging[mergeOf{t.ID, parent.ID}] || parent.mergedSince(t)
	})
}
