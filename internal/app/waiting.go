package app

import (
	"slices"
	"strings"

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
	WaitingLand      WaitingKind = "land"      // completed, and its code has not landed
	WaitingRun       WaitingKind = "run"       // it failed or was stopped; only notify tells of it
	HeldClaim        WaitingKind = "claim"     // a thread that the caller has claimed: see Held
)

// WaitingKinds are the kinds of a list.
func WaitingKinds() []WaitingKind {
	return []WaitingKind{WaitingApproval, WaitingQuestion, WaitingMerge, WaitingResume, WaitingSuspended, WaitingUnmerged, WaitingLand}
}

// WaitingItem is one thing that waits for somebody.
type WaitingItem struct {
	Kind     WaitingKind     `json:"kind"`
	ID       string          `json:"id"`
	ThreadID thread.ThreadID `json:"threadId"`
	Title    string          `json:"title"`
	Next     string          `json:"next"` // the command that goes on with it, or shows it
	// Then is the command that goes on with a merge once what Next shows is decided; "" for others.
	Then string `json:"then,omitempty"`
}

// WaitingList has what waits for the caller of a summary.
type WaitingList struct {
	C     *Call
	Items []WaitingItem
	More  map[WaitingKind]int // so many wait beyond those that are listed
	// unmerged has what the listed completed threads are compared with.
	Unmerged map[thread.ThreadID]ComparedVersions
}

// ComparedVersions are a thread's files, and what it and its parent had in common.
type ComparedVersions struct{ Base, Current Version }

// NewWaitingList collects what the State knows. Each source adds its own kind.
func NewWaitingList(c *Call, s *thread.State) *WaitingList {
	w := &WaitingList{C: c, Items: []WaitingItem{}, More: map[WaitingKind]int{}}
	for _, source := range []func(*thread.State){w.approvals, w.questions, w.merges, w.stalled, w.toLand} {
		source(s)
	}
	return w
}

// waitingForPerson returns what a person has to decide or to continue, as far as the
// State knows.
func (c *Call) waitingForPerson(s *thread.State) []WaitingItem {
	return slices.DeleteFunc(NewWaitingList(c, s).Items, func(item WaitingItem) bool { return item.Kind == WaitingUnmerged || item.Kind == WaitingLand })
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

// Waiting returns what waits for a person as of the State that the call last read, or, if it
// changed something, as of now; at most ten of a kind, without the merges that could be made. own has the ids of what
// began to wait through this call. ok is false if the call read no State, or if
// Request.NoteWaiting is not set.
func (c *Call) Waiting() (items []WaitingItem, own map[string]bool, ok bool) {
	if c.changed && c.request.NoteWaiting {
		_, _ = c.View(func(*thread.State) error { return nil }) // what it read before is told otherwise
	}
	return c.waiting, c.ownWaiting, c.looked && c.request.NoteWaiting
}

// add adds an item if its kind has not too many of them.
func (w *WaitingList) add(n int, item WaitingItem) {
	if n >= maxWaiting {
		w.More[item.Kind]++
		return
	}
	w.Items = append(w.Items, item)
}

func (w *WaitingList) approvals(s *thread.State) {
	decides := w.C.ByPerson()
	for n, g := range s.OpenRequests("") {
		if decides {
			w.add(n, requestItem(g))
		} else {
			w.add(n, AskedRequest(g))
		}
	}
}

// AskedRequest is a request as whoever waits for its decision sees it.
func AskedRequest(g thread.Approval) WaitingItem {
	item := requestItem(g)
	item.Next = "leslie wait " + string(g.ThreadID) + " --until decision"
	return item
}

// requestItem is a request that waits for a person.
func requestItem(g thread.Approval) WaitingItem {
	title := Joined(g.Scope)
	if g.Reason != "" {
		title += ": " + FirstLine(g.Reason)
	}
	return WaitingItem{WaitingApproval, string(g.ID), g.ThreadID, title, "leslie approve " + string(g.ID), ""}
}

// questions adds those that a person was asked.
func (w *WaitingList) questions(s *thread.State) {
	n := 0
	for _, q := range s.OpenQuestions("") {
		if q.To == "" {
			w.add(n, QuestionItem(q))
			n++
		}
	}
}

// QuestionItem is a question that waits for an answer.
func QuestionItem(q thread.Question) WaitingItem {
	return WaitingItem{WaitingQuestion, string(q.ID), q.ThreadID, FirstLine(q.Text), "leslie questions", ""}
}

func (w *WaitingList) merges(s *thread.State) {
	for n, m := range s.MergesOf("") {
		w.add(n, MergeItem(m))
	}
}

// MergeItem is a merge that waits for decisions.
func MergeItem(m thread.Merge) WaitingItem {
	item := WaitingItem{WaitingMerge, string(m.ID), m.Target, Joined(m.Sources) + " into " + m.Into(), "leslie merge status " + string(m.ID), m.GoesOn()}
	if m.Queued != nil {
		item.Title += ", queued"
	}
	landing := m.Code != nil && m.Code.Landing != nil // by a call that goes on, or was killed
	if landing || m.Queued != nil && m.Queued.Refused == nil {
		item.Next, item.Then = ContinueLine(m), ""
	}
	return item
}

// ContinueLine is the command that goes on with a pending merge.
func ContinueLine(m thread.Merge) string {
	if m.Queued != nil && m.Queued.Refused == nil {
		return "leslie merge land " + string(m.Target)
	}
	return m.GoesOn()
}

// stalled adds the threads with which nobody goes on.
func (w *WaitingList) stalled(s *thread.State) {
	found := s.StalledThreads(maxWaiting)
	list := func(kind WaitingKind, page thread.Page, next func(thread.Thread) string) {
		for n, t := range page.Threads {
			w.add(n, WaitingItem{kind, string(t.ID), t.ID, t.Title, next(t), ""})
		}
		if more := page.Total - len(page.Threads); more > 0 {
			w.More[kind] = more
		}
	}
	list(WaitingResume, found.Resumable, func(t thread.Thread) string { return "leslie resume " + string(t.ID) })
	list(WaitingSuspended, found.Suspended, func(t thread.Thread) string { return "leslie status " + string(t.ID) })
	list(WaitingUnmerged, found.Unmerged, func(t thread.Thread) string { return MergeLine(t.ParentID, t.ID) })
	w.Unmerged = map[thread.ThreadID]ComparedVersions{}
	for _, t := range found.Unmerged.Threads {
		w.Unmerged[t.ID] = ComparedVersions{Base: BaseOf(s, t), Current: CurrentOf(t.ID)}
	}
}

// toLand adds the threads whose code can land. Where that brings their artifacts, too, they are
// not listed as unmerged.
func (w *WaitingList) toLand(s *thread.State) {
	for n, t := range s.ToLand() {
		next := "leslie land " + string(t.ID)
		if t.OwnedCode().State == thread.CodeRemoved {
			next = "leslie code restore " + string(t.ID)
		}
		w.add(n, WaitingItem{WaitingLand, string(t.ID), t.ID, t.Title, next, ""})
		if parent, _ := s.Threads.Peek(string(t.ParentID)); parent.OwnedCode() != nil {
			w.Items = slices.DeleteFunc(w.Items, func(item WaitingItem) bool { return item.Kind == WaitingUnmerged && item.ThreadID == t.ID })
		}
	}
}

// MergeLine is the command that merges threads into another.
func MergeLine(target thread.ThreadID, sources ...thread.ThreadID) string {
	names := make([]string, len(sources))
	for i, id := range sources {
		names[i] = string(id)
	}
	return "leslie merge --sources " + strings.Join(names, ",") + " --target " + string(target)
}
