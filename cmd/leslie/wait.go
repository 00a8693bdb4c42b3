package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
)

// This file is waiting: for whatever a look at the State can tell (await), and
// the command that waits for threads. Nothing here runs beside the caller: a
// wait is a process that sleeps until the store changes or a deadline passes.

// agentsPatience is how long an agent waits unless it says otherwise: their
// shells end a call after two minutes, without an answer.
const agentsPatience = 100 * time.Second

// waitData is what a wait ended with, or what was gathered until it gave up.
type waitData struct {
	Until    thread.Until    `json:"until"`
	Revision thread.Revision `json:"revision"` // everything up to it was looked at
	Threads  []waitedThread  `json:"threads"`
	// Operations are those that ended a wait for any change.
	Operations *items[operationData] `json:"operations,omitempty"`
	Met        bool                  `json:"met"`
}

type waitedThread struct {
	ThreadID thread.ThreadID `json:"threadId"`
	Status   thread.Status   `json:"status"`
	Wakeable bool            `json:"wakeable"`
	Met      bool            `json:"met"` // what is waited for holds for it
	// Children are those that are not terminated.
	Children []thread.ThreadID `json:"children"`
	// Approvals are the open requests; until a decision, also the decided ones.
	Approvals []app.ApprovalRecord `json:"approvals"`
}

// standsBesideError: what was gathered is worth as much when the time is up.
func (d *waitData) standsBesideError() {}

func (d *waitData) Text(p *page) {
	for _, t := range d.Threads {
		met := ""
		if t.Met {
			met = "  met"
		}
		p.line("%s  %s%s", t.ThreadID, t.Status, met)
		if t.Wakeable {
			p.line("  wakeable: every child is terminated; leslie resume %s goes on", t.ThreadID)
		}
		p.field("  children that go on", joined(t.Children))
		for _, a := range t.Approvals {
			approvalText(p, a)
		}
	}
	if d.Operations != nil {
		for _, op := range d.Operations.Items {
			op.Text(p)
		}
	}
	p.field("revision", int64(d.Revision))
}

func waitCommand() *command {
	return &command{
		name: "wait", summary: "wait until threads are done, change, have no active children, or have a decision",
		teach: lesson{watching, "wait ID --until any"},
		detail: "done (the default) and children also return for a suspended thread whose children have all terminated: " +
			"it can be resumed. any returns with the first change of one of the threads after --since (default: from now on), or without " +
			"a thread with any change at all. Agents wait at most 100s by default.",
		example:  "leslie wait thread-a1b2c3d4 --timeout 90s",
		operands: []operand{{value: anID("ID", threadIDs), speaks: true, many: true}},
		flags: []cli.Flag{
			newOption("until", oneOf(untilWords()...), "what to wait for (default done)"),
			newOption("since", aCount("REV"), "with any: changes after this revision count"),
			newOption("timeout", aDuration(), "give up after D with T109 (default for agents 100s, for people never)"),
		},
		run: runWait,
	}
}

func untilWords() []string {
	return []string{string(thread.UntilDone), string(thread.UntilAny), string(thread.UntilChildren), string(thread.UntilDecision)}
}

func runWait(c *call) (Data, error) {
	w := &waiting{c: c, until: thread.UntilDone, touched: map[thread.ThreadID]bool{}}
	w.seen.Items = []operationData{}
	if c.has("until") {
		w.until = thread.Until(c.text("until"))
	}
	w.args = c.waitedFor(w.until)
	if err := c.usage(); err != nil {
		return nil, err
	}
	var err error
	if w.st, err = c.store(); err != nil {
		return nil, err
	}
	err = c.await(w.st, c.waitTimeout(), w.look)
	if err != nil && !codes.Has(err, codes.WaitTimeout) {
		return nil, err
	}
	if err != nil {
		return &w.data, w.timedOut(codes.Of(err))
	}
	w.data.Met = true
	return &w.data, nil
}

// waitedFor are the threads as they were named. Of those that a wait for any
// change may do without, none means every thread.
func (c *call) waitedFor(until thread.Until) []string {
	args := c.flags.Args().Slice()
	if len(args) == 0 && (c.who.thread != "" || until != thread.UntilAny) {
		args = []string{c.targetThread()}
	}
	if len(args) == 1 {
		c.about = thread.ThreadID(args[0])
	}
	return args
}

// waitTimeout is --timeout, else what the caller's kind waits; 0: for ever.
func (c *call) waitTimeout() time.Duration {
	d, _ := time.ParseDuration(c.text("timeout")) // checked with the line
	if d == 0 && c.who.as != thread.User {
		return agentsPatience
	}
	return d
}

// waiting is one run of wait.
type waiting struct {
	c     *call
	st    *store.Store
	until thread.Until
	args  []string
	ids   []thread.ThreadID // nil: every thread
	data  waitData          // of the last look
	// inTheWay are the threads that somebody has to do something about.
	inTheWay []thread.Thread

	// Of a wait for any change: where it stands in the history, what it found
	// there and whom that concerns.
	cursor  *store.Cursor
	any     bool
	touched map[thread.ThreadID]bool
	seen    items[operationData]
	// lapsed are the records that a passed deadline had changed when the wait
	// began; no operation says so yet.
	lapsed []string
}

// look is one look of the wait. Errors: T101, T105, T903, those of reading.
func (w *waiting) look(s *thread.State) (done bool, wake time.Time, err error) {
	if w.cursor == nil {
		err = w.begin(s)
	}
	if err == nil {
		err = w.happened(s)
	}
	if err != nil {
		return false, wake, err
	}
	w.data = waitData{Until: w.until, Revision: s.Revision, Threads: []waitedThread{}}
	w.inTheWay = nil
	all := true
	for _, id := range w.ids {
		t := w.waited(s, id)
		all = all && t.Met
		w.data.Threads = append(w.data.Threads, t)
	}
	if w.until == thread.UntilAny {
		w.data.Operations = &w.seen
		return w.any, wake, nil
	}
	return all, wake, nil
}

// begin finds the threads and the place in the history.
func (w *waiting) begin(s *thread.State) error {
	for _, arg := range w.args {
		t, err := s.Thread(arg)
		if err != nil {
			return err
		}
		if !slices.Contains(w.ids, t.ID) {
			w.ids = append(w.ids, t.ID)
		}
	}
	since := s.Revision
	if w.c.has("since") {
		var err error
		if since, err = w.c.since(s.Revision); err != nil {
			return err
		}
	}
	w.cursor = w.st.Cursor(store.CursorQuery{Since: since, Lost: w.c.lost})
	w.lapsed = records(s.Changes())
	return nil
}

// happened reads what was recorded since the last look, up to the State that is
// looked at, and keeps what concerns the threads. Errors: those of reading.
func (w *waiting) happened(s *thread.State) error {
	if w.until != thread.UntilAny {
		return nil
	}
	found, err := w.cursor.Read(w.c.ctx, s.Revision, func(op thread.Operation) error {
		w.touch(op)
		return nil
	})
	w.c.warnings.Add(found...)
	if err != nil {
		return err
	}
	// A deadline that passed while this waits is a change, although no operation
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

// touch keeps an operation that concerns one of the threads; without threads,
// each does.
func (w *waiting) touch(op thread.Operation) {
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
	if w.seen.Total++; len(w.seen.Items) < defaultLimit {
		w.seen.Items = append(w.seen.Items, operationOf(op))
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

// waited is one thread as it stands. One that the State lacks is archived.
func (w *waiting) waited(s *thread.State, id thread.ThreadID) waitedThread {
	t, ok := s.Threads.Peek(string(id))
	if !ok {
		t = thread.Thread{ID: id, Status: thread.Archived}
	}
	d := waitedThread{
		ThreadID: id, Status: t.Status, Wakeable: s.Resumable(t), Met: w.touched[id] || s.Over(t, w.until),
		Children: []thread.ThreadID{}, Approvals: []app.ApprovalRecord{},
	}
	children := s.LiveChildren(id)
	for _, child := range children {
		d.Children = append(d.Children, child.ID)
	}
	grants := s.OpenRequests(id)
	if w.until == thread.UntilDecision {
		grants = s.ApprovalsOf(id)
	}
	for _, g := range grants {
		d.Approvals = append(d.Approvals, app.ApprovalOf(g, w.c.now()))
	}
	switch {
	case d.Met:
	case w.until == thread.UntilChildren:
		w.inTheWay = append(w.inTheWay, children...)
	default:
		w.inTheWay = append(w.inTheWay, t)
	}
	return d
}

// timedOut is T109 with what stands in the way and how to go on waiting.
func (w *waiting) timedOut(e *codes.Error) error {
	for _, t := range w.data.Threads {
		if !t.Met {
			e = e.With(fact.Of("threadId", t.ThreadID))
			return e.WithHint(w.advice()).WithNext("leslie status "+string(t.ThreadID), w.again())
		}
	}
	return e.WithHint(w.advice()).WithNext("leslie status", w.again())
}

// advice says who has to do something before waiting again is of use.
func (w *waiting) advice() string {
	now := w.c.now()
	groups := []struct {
		say  string
		when func(thread.Thread) bool
	}{
		{"waiting for a person (leslie approvals)", func(t thread.Thread) bool { return t.Status == thread.WaitingHuman }},
		{"suspended until somebody resumes it", func(t thread.Thread) bool { return t.Status == thread.Suspended }},
		{"claimed by nobody", func(t thread.Thread) bool { return t.Status == thread.Active && t.Held(now) == nil }},
	}
	parts := []string{"Wait again"}
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
	return strings.Join(parts, "; ")
}

// again is the line that goes on waiting where this one gave up.
func (w *waiting) again() string {
	words := []string{"leslie", "wait"}
	for _, id := range w.ids {
		words = append(words, string(id))
	}
	if w.until != thread.UntilDone {
		words = append(words, "--until", string(w.until))
	}
	words = append(words, "--since", strconv.FormatInt(int64(w.data.Revision), 10), "--timeout", w.c.waitTimeout().String())
	return strings.Join(words, " ")
}

// longestNap is how long a wait goes without a look when nothing happens: a
// clock that was set, or a machine that slept, makes deadlines pass unheard.
const longestNap = time.Minute

// await returns when look says that it is done, or fails. look gets the State
// as it stands now, what passed deadlines mean applied, at once and then after
// each change of the store; wake is when time alone may change its mind, zero
// for never (Expire is seen to). It may be called any number of times. A patience
// that is not zero ends the wait with T109 (details: durationMs), after a last
// look. Errors: those of look and of a view, T904.
func (c *call) await(st *store.Store, patience time.Duration, look func(s *thread.State) (done bool, wake time.Time, err error)) error {
	c.hear()
	ctx, cancel := c.ctx, context.CancelFunc(func() {})
	if patience > 0 {
		ctx, cancel = c.env.withTimeout(c.ctx, patience)
	}
	defer cancel()
	w := st.Watch(store.StateFile) // before the first look: nothing falls between
	defer w.Close()
	for {
		last, at := ctx.Err() != nil, c.env.now()
		done, nap := false, longestNap
		_, err := c.view(func(s *thread.State) (err error) {
			var wake time.Time
			done, wake, err = look(s)
			nap = c.nap(at, s.NextExpiry(), wake)
			return err
		})
		switch {
		case err != nil || done:
			return err
		case last:
			return codes.WaitTimeout.New(fact.Of("duration", patience), fact.Ms("duration", patience))
		}
		if err := w.Next(ctx, nap); err != nil && c.ctx.Err() != nil {
			return err
		}
	}
}

// hear has a signal answered from now on, with T904, where it would have ended the
// process without a word. Who waits hears from the beginning; who commits and waits
// then, from in front of the commit, so that its caller is told what stands.
func (c *call) hear() { c.ctx.Done() }

// nap is how long nothing happens by itself after a look that began at a time.
// What passed before that was seen, but for the part of a millisecond by which
// the look's own time is cut.
func (c *call) nap(at time.Time, wakes ...time.Time) time.Duration {
	d, now := longestNap, c.env.now()
	for _, wake := range wakes {
		if !wake.IsZero() && wake.After(at.Add(-time.Millisecond)) {
			d = min(d, wake.Sub(now))
		}
	}
	return max(d, time.Millisecond)
}
