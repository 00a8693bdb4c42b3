package app

import (
	"context"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/scope"
	"leslie/thread"
)

// This file lists what waits for somebody: one source a kind.

// maxWaiting is how many things of one kind a summary lists.
const maxWaiting = 10

// WaitingKind says what waits.
type WaitingKind string

// The kinds, in the order of the list.
const (
	WaitingApproval  WaitingKind = "approval"
	WaitingQuestion  WaitingKind = "question"
	WaitingMerge     WaitingKind = "merge"
	WaitingResume    WaitingKind = "resume"    // suspended, and every child is terminated
	WaitingSuspended WaitingKind = "suspended" // until somebody resumes it
	WaitingUnmerged  WaitingKind = "unmerged"  // completed, and its parent has not merged it
	WaitingRun       WaitingKind = "run"       // it ended in vain; only notify tells of it
)

// WaitingKinds are the kinds of a list.
func WaitingKinds() []WaitingKind {
	return []WaitingKind{WaitingApproval, WaitingQuestion, WaitingMerge, WaitingResume, WaitingSuspended, WaitingUnmerged}
}

// WaitingItem is one thing that waits for somebody.
type WaitingItem struct {
	Kind     WaitingKind     `json:"kind"`
	ID       string          `json:"id"`
	ThreadID thread.ThreadID `json:"threadId"`
	Title    string          `json:"title"`
	Next     string          `json:"next"` // the command that goes on with it, or shows it
}

// waitingList has what waits for the caller of a summary.
type waitingList struct {
	c     *Call
	items []WaitingItem
	more  map[WaitingKind]int // so many wait beyond those that are listed
	// unmerged has what the listed completed threads are compared with.
	unmerged map[thread.ThreadID]comparedVersions
}

// comparedVersions are a thread's files, and what it and its parent had in common.
type comparedVersions struct{ base, current Version }

// newWaitingList collects what the State knows. Each source adds its own kind.
func newWaitingList(c *Call, s *thread.State) *waitingList {
	w := &waitingList{c: c, items: []WaitingItem{}, more: map[WaitingKind]int{}}
	for _, source := range []func(*thread.State){w.approvals, w.questions, w.merges, w.stalled} {
		source(s)
	}
	return w
}

// waitingForPerson returns what a person has to decide or to continue, as far as the
// State knows.
func waitingForPerson(c *Call, s *thread.State) []WaitingItem {
	return slices.DeleteFunc(newWaitingList(c, s).items, func(item WaitingItem) bool { return item.Kind == WaitingUnmerged })
}

// newlyWaiting returns the ids of the items that another list does not have.
func newlyWaiting(before, now []WaitingItem) map[string]bool {
	ids := map[string]bool{}
	for _, item := range now {
		ids[item.ID] = true
	}
	for _, item := range before {
		delete(ids, item.ID)
	}
	return ids
}

// Waiting returns what waits for a person as of the State that the call last read, at
// most ten of a kind, without the merges that could be made. own has the ids of what
// began to wait through this call. ok is false if the call read no State, or if
// Request.NoteWaiting is not set.
func Waiting(c *Call) (items []WaitingItem, own map[string]bool, ok bool) {
	return c.waiting, c.ownWaiting, c.looked && c.request.NoteWaiting
}

// add adds an item if its kind has not too many of them.
func (w *waitingList) add(n int, item WaitingItem) {
	if n >= maxWaiting {
		w.more[item.Kind]++
		return
	}
	w.items = append(w.items, item)
}

func (w *waitingList) approvals(s *thread.State) {
	decides := byPerson(w.c)
	for n, g := range s.OpenRequests("") {
		item := waitingRequest(g)
		if !decides {
			item.Next = "leslie wait " + string(g.ThreadID) + " --until decision"
		}
		w.add(n, item)
	}
}

// waitingRequest is a request that waits for a person.
func waitingRequest(g thread.Approval) WaitingItem {
	title := joined(g.Scope)
	if g.Reason != "" {
		title += ": " + firstLine(g.Reason)
	}
	return WaitingItem{WaitingApproval, string(g.ID), g.ThreadID, title, "leslie approve " + string(g.ID)}
}

// questions adds those that a person was asked.
func (w *waitingList) questions(s *thread.State) {
	n := 0
	for _, q := range s.OpenQuestions("") {
		if q.To == "" {
			w.add(n, waitingQuestion(q))
			n++
		}
	}
}

func waitingQuestion(q thread.Question) WaitingItem {
	return WaitingItem{WaitingQuestion, string(q.ID), q.ThreadID, firstLine(q.Text), "leslie questions"}
}

func (w *waitingList) merges(s *thread.State) {
	for n, m := range s.MergesOf("") {
		w.add(n, waitingMerge(m))
	}
}

func waitingMerge(m thread.Merge) WaitingItem {
	item := WaitingItem{WaitingMerge, string(m.ID), m.Target, joined(m.Sources) + " into " + string(m.Target), "leslie merge status " + string(m.ID)}
	if m.Queued != nil {
		item.Title += ", queued"
	}
	if m.Queued != nil && m.Queued.Refused == nil {
		item.Next = goesOn(m)
	}
	return item
}

// goesOn is the command that goes on with a pending merge.
func goesOn(m thread.Merge) string {
	if m.Queued != nil && m.Queued.Refused == nil {
		return "leslie merge land " + string(m.Target)
	}
	return "leslie merge continue " + string(m.ID)
}

// stalled adds the threads with which nobody goes on.
func (w *waitingList) stalled(s *thread.State) {
	found := s.StalledThreads(maxWaiting)
	list := func(kind WaitingKind, page thread.Page, next func(thread.Thread) string) {
		for n, t := range page.Threads {
			w.add(n, WaitingItem{kind, string(t.ID), t.ID, t.Title, next(t)})
		}
		if more := page.Total - len(page.Threads); more > 0 {
			w.more[kind] = more
		}
	}
	list(WaitingResume, found.Resumable, func(t thread.Thread) string { return "leslie resume " + string(t.ID) })
	list(WaitingSuspended, found.Suspended, func(t thread.Thread) string { return "leslie status " + string(t.ID) })
	list(WaitingUnmerged, found.Unmerged, func(t thread.Thread) string { return mergeLine(t.ParentID, t.ID) })
	w.unmerged = map[thread.ThreadID]comparedVersions{}
	for _, t := range found.Unmerged.Threads {
		w.unmerged[t.ID] = comparedVersions{base: baseVersion(s, t), current: currentVersion(t.ID)}
	}
}

// mergeLine is the command that merges threads into another.
func mergeLine(target thread.ThreadID, sources ...thread.ThreadID) string {
	names := make([]string, len(sources))
	for i, id := range sources {
		names[i] = string(id)
	}
	return "leslie merge --sources " + strings.Join(names, ",") + " --target " + string(target)
}

// dropIdle removes the listed threads that have nothing to merge: their files are those
// that they and their parent had in common. A thread that cannot be read stays, because
// the merge will say why. Errors: T904.
func (w *waitingList) dropIdle() error {
	if len(w.unmerged) == 0 {
		return nil
	}
	ids := make([]thread.ThreadID, 0, len(w.unmerged))
	for id := range w.unmerged {
		ids = append(ids, id)
	}
	idle := map[thread.ThreadID]bool{}
	err := w.c.settled(func() error {
		for id, v := range w.unmerged {
			if w.c.ctx.Err() != nil {
				return codes.Interrupted.Wrap(context.Cause(w.c.ctx))
			}
			differs, err := differ(w.c, v.base, v.current)
			idle[id] = err == nil && !differs
		}
		return nil
	}, ids...)
	w.items = slices.DeleteFunc(w.items, func(item WaitingItem) bool { return item.Kind == WaitingUnmerged && idle[item.ThreadID] })
	return err
}

// differ reports whether two versions differ. Errors: those of reading.
func differ(c *Call, a, b Version) (bool, error) {
	was, err := readVersion(c, a, scope.Set{})
	if err != nil {
		return false, err
	}
	is, err := readVersion(c, b, scope.Set{})
	if err != nil || len(was.files) != len(is.files) {
		return true, err
	}
	if err := hashDoubtful(c, was, is); err != nil {
		return false, err
	}
	for path, f := range is.files {
		if old, both := was.files[path]; !both || !f.sameAs(old) {
			return true, nil
		}
	}
	return false, nil
}
