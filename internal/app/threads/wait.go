package threads

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// LostOperationsWarner warns of operations that the journal has lost.
func LostOperationsWarner(c *app.Call) func(from, to thread.Revision) {
	return func(from, to thread.Revision) {
		c.Warn(warnings.OperationsLost.New(fact.Of("from", from), fact.Of("to", to)))
	}
}

// CheckRevision returns T903 for a future revision: the caller confuses this store with
// another one.
func CheckRevision(since, now thread.Revision) error {
	if since <= now {
		return nil
	}
	return codes.InvalidArgument.New(fact.Of("reason", fmt.Sprintf("Since %d is in the future: this store is at revision %d", since, now)))
}

// WaitRequest has the condition of a wait.
type WaitRequest struct {
	// Threads has all threads to wait for. None means the thread that the caller speaks
	// for, if it does. With UntilAny it always means every thread, and so it does with
	// UntilReady for a caller who speaks for none: one that it may claim is enough.
	Threads []string
	Until   thread.Until // "": UntilDone
	// Since, for a wait for any change: changes after that revision count; nil: after
	// now.
	Since *thread.Revision
	// Timeout ends the wait with T109; 0: never.
	Timeout time.Duration
}

// WaitResult is the result of a wait, or the state when it timed out.
type WaitResult struct {
	Until    thread.Until    `json:"until"`
	Revision thread.Revision `json:"revision"` // everything up to it was looked at
	Threads  []WaitedThread  `json:"threads"`
	// Operations has those that ended a wait for any change.
	Operations *app.Items[app.OperationRecord] `json:"operations,omitempty"`
	Met        bool                            `json:"met"`
	// Messages: the wait ended because messages wait for the caller's thread.
	Messages bool `json:"messages,omitempty"`
}

// WaitedThread is one thread at the last look.
type WaitedThread struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Status   thread.Status   `json:"status"`
	Wakeable bool            `json:"wakeable"`
	Met      bool            `json:"met"` // whether the condition holds for it
	// Children has those that are not terminated.
	Children []thread.ThreadID `json:"children"`
	// Approvals has the open requests; for until decision, also the decided ones.
	Approvals []app.ApprovalRecord `json:"approvals"`
}

// Wait returns when the condition holds, or when messages wait for the thread whose
// agent the caller is. With T109 it also returns the state at that
// time. Errors: T101, T105, T107 for a terminated
// thread that would have to become ready, T109, T903 for a future revision, those of reading, T904.
func Wait(c *app.Call, in WaitRequest) (*WaitResult, error) {
	c.ReadOnly()
	if in.Until == "" {
		in.Until = thread.UntilDone
	}
	if len(in.Threads) == 0 && in.Until.NeedsThread(c.Caller().Thread != "") {
		in.Threads = []string{c.Caller().Thread}
	}
	if len(in.Threads) == 1 {
		c.SetTarget(thread.ThreadID(in.Threads[0]))
	}
	w := &waiting{WaitRequest: in, c: c, touched: map[thread.ThreadID]bool{}}
	w.seen.Items = []app.OperationRecord{}
	err := c.Await(in.Timeout, w.look)
	switch {
	case err == nil:
		return &w.data, nil
	case codes.Has(err, codes.WaitTimeout):
		return &w.data, w.timedOut(codes.Of(err))
	}
	return nil, err
}

// waiting is one run of Wait.
type waiting struct {
	WaitRequest
	c    *app.Call
	ids  []thread.ThreadID // nil: every thread
	data WaitResult        // of the last look
	// before has the threads for which the condition held when the wait began.
	before map[thread.ThreadID]bool
	// inTheWay has the threads that keep the condition from holding.
	inTheWay []thread.Thread

	// For a wait for any change: the position in the history, what was found there,
	// and which threads it concerns.
	cursor  *store.Cursor
	any     bool
	touched map[thread.ThreadID]bool
	own     thread.ThreadID // for which the caller speaks
	began   thread.Revision // what comes after it happened meanwhile
	seen    app.Items[app.OperationRecord]
	// lapsed has the records that a passed deadline had changed when the wait started,
	// although no operation records it yet.
	lapsed []string
}

// look checks the condition. Errors: T101, T105, T903, those of reading.
func (w *waiting) look(s *thread.State) (done bool, wake time.Time, err error) {
	first := w.cursor == nil
	if first {
		w.before = map[thread.ThreadID]bool{}
		err = w.findStart(s)
	}
	if err == nil {
		err = w.happened(s)
	}
	if err != nil {
		return false, wake, err
	}
	w.data = WaitResult{Until: w.Until, Revision: s.Revision, Threads: []WaitedThread{}}
	w.inTheWay = nil
	all := true
	ids, err := w.ids, error(nil)
	if w.Until == thread.UntilReady {
		ids, err = w.untilReady(s)
		wake, all = s.NextRelease(w.c.Now()), len(ids) > 0
	}
	if err != nil {
		return false, wake, err
	}
	for _, id := range ids {
		t := w.waited(s, id)
		all = all && t.Met
		if first && t.Met {
			w.before[id] = true
		}
		w.data.Threads = append(w.data.Threads, t)
	}
	if w.Until == thread.UntilAny {
		w.data.Operations = &w.seen
		all = w.any
	}
	w.data.Met, w.data.Messages = all, !all && w.c.MessagesWait(s)
	return all || w.data.Messages, wake, nil
}

// untilReady returns the threads that a wait for ready ones looks at: those of the
// request, or else those that are ready. Errors: T107 for one that is terminated, those
// of reading.
func (w *waiting) untilReady(s *thread.State) (ids []thread.ThreadID, err error) {
	for _, id := range w.ids {
		if _, err := s.LiveThread(string(id)); err != nil {
			return nil, err
		}
	}
	if len(w.ids) > 0 {
		return w.ids, nil
	}
	page, err := s.First(thread.Filter{Ready: true, Now: w.c.Now(), Executor: claimable(w.c.Caller().As)}, app.DefaultLimit)
	for _, t := range page.Threads {
		ids = append(ids, t.ID)
	}
	return ids, err
}

// findStart finds the threads and the position in the history.
func (w *waiting) findStart(s *thread.State) error {
	for _, arg := range w.Threads {
		t, err := s.Thread(arg)
		if err != nil {
			return err
		}
		if !slices.Contains(w.ids, t.ID) {
			w.ids = append(w.ids, t.ID)
		}
	}
	since := s.Revision
	if w.Since != nil {
		if since = *w.Since; CheckRevision(since, s.Revision) != nil {
			return CheckRevision(since, s.Revision)
		}
	}
	own, _ := w.c.SpeakerOf(s)
	w.own, w.began = own.ID, since
	w.cursor = w.c.Store().Cursor(store.CursorQuery{Since: since, Lost: LostOperationsWarner(w.c)})
	w.lapsed = records(s.Changes())
	return nil
}

// happened reads the operations since the last look, up to the given State, and keeps
// those that concern the threads. Errors: those of reading.
func (w *waiting) happened(s *thread.State) error {
	if w.Until != thread.UntilAny {
		return nil
	}
	found, err := w.cursor.Read(w.c.Context(), s.Revision, func(op thread.Operation) error {
		w.touch(op)
		return nil
	})
	w.c.Warn(found...)
	if err != nil {
		return err
	}
	// A deadline that passed during this wait is a change, although no operation
	// records it yet.
	fresh := slices.DeleteFunc(s.Changes(), func(ch thread.Change) bool { return slices.Contains(w.lapsed, ch.Record) })
	for _, id := range w.ids {
		if (thread.Operation{Changes: fresh}).Concerns(id) {
			w.any, w.touched[id] = true, true
		}
	}
	w.any = w.any || len(w.ids) == 0 && len(fresh) > 0
	return nil
}

// touch keeps an operation that concerns one of the threads; without threads, each
// operation does. That the caller has read its own messages is no change for it.
func (w *waiting) touch(op thread.Operation) {
	if op.Command == app.SeenCommand && op.As == thread.System && w.own != "" && op.ThreadID == w.own {
		return
	}
	concerns := len(w.ids) == 0
	for _, id := range w.ids {
		if op.Concerns(id) {
			w.touched[id], concerns = true, true
		}
	}
	if !concerns {
		return
	}
	w.any = true
	if w.seen.Total++; len(w.seen.Items) < app.DefaultLimit {
		w.seen.Items = append(w.seen.Items, app.OperationOf(op, ""))
	}
	w.seen.Truncated = w.seen.Total > len(w.seen.Items)
}

func records(changes []thread.Change) []string {
	out := make([]string, len(changes))
	for i, ch := range changes {
		out[i] = ch.Record
	}
	return out
}

// waited returns one thread's state. A thread that is not in the State is archived.
func (w *waiting) waited(s *thread.State, id thread.ThreadID) WaitedThread {
	t, ok := s.Threads.Peek(string(id))
	if !ok {
		t = thread.Thread{ID: id, Status: thread.Archived}
	}
	d := WaitedThread{
		ThreadID: id, Status: t.Status, Wakeable: s.Resumable(t), Met: w.touched[id] || s.Over(t, w.Until) || w.Until == thread.UntilReady && s.ReadyFor(t, w.c.Now(), w.c.Caller().Actor),
		Children: []thread.ThreadID{}, Approvals: []app.ApprovalRecord{},
	}
	children := s.LiveChildren(id)
	for _, child := range children {
		d.Children = append(d.Children, child.ID)
	}
	grants := s.OpenRequests(id)
	if w.Until == thread.UntilDecision {
		grants = s.ApprovalsOf(id)
	}
	for _, g := range grants {
		d.Approvals = append(d.Approvals, app.ApprovalOf(g, w.c.Now()))
	}
	switch {
	case d.Met:
	case w.Until == thread.UntilChildren:
		w.inTheWay = append(w.inTheWay, children...)
	default:
		w.inTheWay = append(w.inTheWay, t)
	}
	return d
}

// timedOut returns T109 with what prevents the condition, and how to continue waiting.
func (w *waiting) timedOut(e *codes.Error) error {
	if slices.ContainsFunc(w.data.Threads, func(t WaitedThread) bool { return t.Met && !w.before[t.ThreadID] }) {
		e = e.With(fact.Of("partly", 1))
	}
	for _, t := range w.data.Threads {
		if !t.Met {
			e = e.With(fact.Of("threadId", t.ThreadID))
			return e.WithHint(w.advice()).WithNext("leslie status "+string(t.ThreadID), w.again())
		}
	}
	return e.WithHint(w.advice()).WithNext("leslie status", w.again())
}

// advice says who has to act before waiting again makes sense.
func (w *waiting) advice() string {
	now := w.c.Now()
	groups := []struct {
		say  string
		when func(thread.Thread) bool
	}{
		{"waiting for a person (leslie approvals)", func(t thread.Thread) bool { return t.Status == thread.WaitingHuman }},
		{"suspended until somebody resumes it", func(t thread.Thread) bool { return t.Status == thread.Suspended }},
		{"not claimed", func(t thread.Thread) bool { return t.Status == thread.Active && t.Held(now) == nil }},
	}
	parts := []string{"Wait again"}
	if missing := w.missing(); missing != "" && w.data.Revision > w.began {
		parts = append(parts, missing)
	}
	for _, g := range groups {
		var ids []string
		for _, t := range w.inTheWay {
			if g.when(t) && !slices.Contains(ids, string(t.ID)) {
				ids = append(ids, string(t.ID))
			}
		}
		if len(ids) > 0 {
			parts = append(parts, strings.Join(ids, ", ")+": "+g.say)
		}
	}
	for _, t := range w.inTheWay {
		if claim := app.CurrentClaim(w.c, t); claim != nil && claim.Silent >= time.Minute {
			parts = append(parts, string(t.ID)+": "+claim.Holder+" was last heard of "+claim.Silent.Round(time.Second).String()+" ago")
		}
	}
	return strings.Join(parts, "; ")
}

// missing says what has not come yet, "" if no thread was named.
func (w *waiting) missing() string {
	if len(w.inTheWay) == 0 {
		return ""
	}
	ids := make([]thread.ThreadID, len(w.inTheWay))
	for i, t := range w.inTheWay {
		ids[i] = t.ID
	}
	return map[thread.Until]string{
		thread.UntilDone: "not completed yet", thread.UntilAny: "not changed yet", thread.UntilChildren: "children not terminated yet",
		thread.UntilDecision: "not decided yet", thread.UntilReady: "not ready yet",
	}[w.Until] + ": " + app.Joined(ids)
}

// again returns the command that continues the wait.
func (w *waiting) again() string {
	words := []string{"leslie", "wait"}
	for _, id := range w.ids {
		words = append(words, string(id))
	}
	if w.Until != thread.UntilDone {
		words = append(words, "--until", string(w.Until))
	}
	words = append(words, "--since", strconv.FormatInt(int64(w.data.Revision), 10), "--timeout", w.Timeout.String())
	return strings.Join(words, " ")
}
