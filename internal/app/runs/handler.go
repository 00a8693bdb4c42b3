package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"leslie/codes"
	"leslie/internal/acp"
	"leslie/internal/app"
	"leslie/internal/app/agents"
	"leslie/internal/permit"
	"leslie/internal/transcript"
	"leslie/thread"
)

// handler implements acp.Handler for a run. Its methods are safe for use by the
// goroutines of a connection.
type handler struct {
	s    *supervisor
	dir  string // the folder of the agent, its links resolved
	mu   sync.Mutex
	seen sync.WaitGroup

	turn   context.Context
	cancel context.CancelCauseFunc // of the turn
	first  func()                  // called at the turn's first update

	last     time.Time // the last sign of life
	calls    map[string]acp.ToolCall
	asking   int
	asked    time.Time     // since when the agent waits for a person
	waited   time.Duration // how long it has, in this turn
	refusals []string
	parked   thread.ApprovalID // what nobody decided in time
	junk     int

	usage json.RawMessage // _meta of the last update of usage that has a time
	words string          // the end of what the agent said in the turn, since its last call of a tool

	resumed  bool
	before   []thread.Cost // of what the session may tell again
	earlier  []thread.Cost // of this run, before this process
	anew     bool          // the session is open again, and the agent counts from nothing
	reported *acp.Cost
	used     thread.Use // when the turn began
	context  int64      // tokens that the agent has read in the turn at least: those of its context
	began    time.Time  // the turn
	told     time.Time  // when it was last recorded what the turn has cost so far
	spent    string     // which limit the turn has reached

	about Event // what all events have, as of the last operation
}

func newRunHandler(s *supervisor) *handler {
	h := &handler{s: s, dir: app.ResolveLinks(s.dir), turn: s.c.Context()}
	h.recorded(s.run)
	return h
}

// recorded is called when an operation has changed the run.
func (h *handler) recorded(run thread.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.about = Event{ThreadID: h.s.id, RunID: run.ID, Agent: run.Agent, Used: run.Used}
}

// opened is called when a session is open; used is what the run has cost by then.
func (h *handler) opened(used []thread.Cost, resumed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls, h.earlier, h.reported, h.resumed, h.anew, h.usage = map[string]acp.ToolCall{}, used, nil, resumed, false, nil
	if b := h.s.run.Before; b != nil {
		h.before = b.Used.Cost
	}
}

// beginTurn begins a turn.
func (h *handler) beginTurn(turn context.Context, cancel context.CancelCauseFunc, first func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn, h.cancel, h.first, h.last, h.words = turn, cancel, first, h.now(), ""
	h.used, h.context, h.began, h.waited, h.spent = h.s.run.Used, 0, h.last, 0, ""
}

// turnBegan is when the turn began, later by the time for which the agent has waited for a person.
func (h *handler) turnBegan() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	waited := h.waited
	if h.asking > 0 {
		waited += h.now().Sub(h.asked)
	}
	return h.began.Add(waited)
}

// toldContext reports whether the agent said how much its context has, by which the tokens of a turn are
// counted until it ends.
func (h *handler) toldContext() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.context > 0
}

// soFar is what the run has used, as far as the agent says it during a turn. The caller holds
// the lock.
func (h *handler) soFar() thread.Use {
	used := h.used
	if h.reported != nil {
		used.Cost = h.costs(*h.reported)
	}
	if h.context > 0 {
		used = used.Plus(thread.Use{Input: &h.context})
	}
	return used
}

// costsMore reports whether the turn has cost what is not recorded yet, what the run has cost
// by then, and when to look again: soon for the first time, then every so long.
func (h *handler) costsMore(now time.Time, every time.Duration) (more bool, cost []thread.Cost, again time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told.IsZero() && now.Sub(h.began) < time.Minute {
		again = time.Second
	}
	cost, again = h.about.Used.Cost, cmp.Or(again, every)
	if h.reported == nil || now.Sub(h.told) < every {
		return false, cost, again
	}
	if is := h.costs(*h.reported); !slices.Equal(is, cost) {
		h.told = now
		return true, is, every
	}
	return false, cost, again
}

// spend ends the turn because a limit is reached.
func (h *handler) spend(limit string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spendLocked(limit)
}

func (h *handler) spendLocked(limit string) {
	if h.spent == "" && h.cancel != nil {
		h.spent = limit
		h.cancel(agents.ErrRunSpent)
	}
}

func (h *handler) spentFor() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.spent
}

func (h *handler) now() time.Time { return h.s.c.Now() }

// ended ends a turn, and adds up what it used.
func (h *handler) ended(u *acp.Usage, run *thread.Run) {
	h.seen.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.calls)
	if u != nil {
		run.Used = run.Used.Plus(thread.Use{Input: u.Input, Output: u.Output, CachedRead: u.CachedRead, CachedWrite: u.CachedWrite, Thought: u.Thought})
	}
	if h.reported != nil {
		run.Used.Cost = h.costs(*h.reported)
	}
}

// costs is what the run has cost, given what the agent said last of its session. A
// session that was opened again may go on counting, or begin anew.
func (h *handler) costs(said acp.Cost) []thread.Cost {
	earlier := amountIn(h.earlier, said.Currency)
	own := earlier + said.Amount
	if before := amountIn(h.before, said.Currency); h.resumed && !h.anew && said.Amount >= before+earlier {
		own = said.Amount - before
	}
	return thread.PlusCost(h.earlier, thread.Cost{Amount: own - earlier, Currency: said.Currency})
}

// noteCost keeps what the agent says of the cost of its session. Where that falls, or begins lower than what
// the session had cost, its count begins anew. The caller holds the lock.
func (h *handler) noteCost(said acp.Cost) {
	switch was := h.reported; {
	case was != nil && was.Currency == said.Currency && said.Amount < was.Amount:
		h.earlier, h.anew = h.costs(*was), true
	case was == nil && said.Amount > 0 && said.Amount < amountIn(h.before, said.Currency)+amountIn(h.earlier, said.Currency):
		h.anew = true
	}
	h.reported = &said
}

func amountIn(all []thread.Cost, currency string) float64 {
	for _, c := range all {
		if c.Currency == currency {
			return c.Amount
		}
	}
	return 0
}

// silence returns when to look again, and why the turn is to be cancelled because nothing
// was heard of the agent.
func (h *handler) silence(now time.Time, times runTimes) (sleep time.Duration, cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	limit := times.silent
	if len(h.calls) > 0 {
		limit = times.tool
	}
	left := limit - now.Sub(h.last)
	if h.asking > 0 {
		left = limit
	}
	if left <= 0 {
		return 0, agents.ErrRunSilent
	}
	return min(left, app.LongestSleep), nil
}

func (h *handler) junkLines() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.junk
	h.junk = 0
	return n
}

func (h *handler) parkedFor() thread.ApprovalID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.parked
}

// refuse keeps a sentence for the agent's next turn.
func (h *handler) refuse(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusals = append(h.refusals, text)
}

func (h *handler) takeRefusals() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.refusals
	h.refusals = nil
	return out
}

// tell tells who looks on.
func (h *handler) tell(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.At, e.ThreadID, e.RunID, e.Agent, e.Used = h.now(), h.about.ThreadID, h.about.RunID, h.about.Agent, h.about.Used
	h.s.in.Event(e)
}

// heard notes a sign of life. The first of a turn says that the agent has read its text.
func (h *handler) heard() {
	h.mu.Lock()
	h.last = h.now()
	first := h.first
	h.first = nil
	h.mu.Unlock()
	if first != nil {
		h.seen.Go(first)
	}
}

// Update implements acp.Handler.
func (h *handler) Update(kind string, raw json.RawMessage) {
	h.heard()
	switch kind {
	case acp.UpdateMessage, acp.UpdateThought:
		var c acp.Chunk
		if json.Unmarshal(raw, &c) == nil && c.Content.Type == "text" {
			as := transcript.Text
			if kind == acp.UpdateThought {
				as = transcript.Thought
			}
			h.s.log.Text(as, c.Content.Text)
			h.mu.Lock()
			h.words += c.Content.Text
			h.words = h.words[max(0, len(h.words)-mostLimitWords):]
			h.mu.Unlock()
			h.s.event(as, c.Content.Text)
			return
		}
	case acp.UpdateTool, acp.UpdateToolNow:
		var call acp.ToolCall
		if json.Unmarshal(raw, &call) == nil && call.ID != "" {
			h.noteCall(call, kind == acp.UpdateTool)
			h.s.log.Put(transcript.Tool, raw)
			return
		}
	case acp.UpdateUsage:
		var u acp.UsageUpdate
		if json.Unmarshal(raw, &u) == nil {
			raw = withCost(raw, h.noteUsage(u))
		}
		h.s.log.Put(transcript.Usage, raw)
		return
	}
	h.s.log.Put(transcript.Update, raw)
}

// noteUsage keeps what the agent says of its use, and ends the turn at a limit. It returns what the run
// has cost by then.
func (h *handler) noteUsage(u acp.UsageUpdate) []thread.Cost {
	h.mu.Lock()
	defer h.mu.Unlock()
	if u.Cost != nil && u.Cost.Amount >= 0 {
		h.noteCost(*u.Cost)
	}
	if len(agents.LimitsIn(u.Meta, h.now())) > 0 {
		h.usage = u.Meta
	}
	h.context = max(h.context, u.Used)
	if reached := h.s.limits.reached(0, h.soFar()); reached != "" {
		h.spendLocked(reached)
	}
	h.s.in.budget.note(h.about.RunID, h.soFar())
	return h.soFar().Cost
}

// costKey is where the transcript has, in what an agent says of its use, what the run has cost by then.
const costKey = "runCost"

// withCost adds what the run has cost to what an agent says of its use.
func withCost(raw json.RawMessage, cost []thread.Cost) json.RawMessage {
	var said map[string]json.RawMessage
	if len(cost) == 0 || json.Unmarshal(raw, &said) != nil {
		return raw
	}
	var err error
	if said[costKey], err = json.Marshal(cost); err != nil {
		return raw
	}
	if whole, err := json.Marshal(said); err == nil {
		return whole
	}
	return raw
}

// costAtKill is what a run had cost when its process was killed: what is recorded, or what its agent said
// since, as the transcript has it.
func costAtKill(folder string, run thread.Run) []thread.Cost {
	var said struct {
		Cost []thread.Cost `json:"runCost"`
	}
	if raw := transcript.LastUsage(folder, string(run.ID)); json.Unmarshal(raw, &said) != nil {
		return run.Used.Cost
	}
	for _, c := range said.Cost {
		if more := c.Amount - amountIn(run.Used.Cost, c.Currency); more > 0 {
			run.Used.Cost = thread.PlusCost(run.Used.Cost, thread.Cost{Amount: more, Currency: c.Currency})
		}
	}
	return run.Used.Cost
}

// mostLimitWords is how much of what an agent says in a turn is looked through for a limit.
const mostLimitWords = 2 << 10

// limits is what the agent has said of its limits.
func (h *handler) limits() agents.LimitSaid {
	h.mu.Lock()
	defer h.mu.Unlock()
	return agents.LimitSaid{Usage: h.usage, Words: h.words}
}

// noteCall keeps a call of a tool while it goes on.
func (h *handler) noteCall(call acp.ToolCall, begins bool) {
	h.mu.Lock()
	merged := agents.Updated(h.calls[call.ID], call)
	if begins {
		h.words = ""
	}
	if merged.Status == "completed" || merged.Status == "failed" {
		delete(h.calls, call.ID)
	} else {
		h.calls[call.ID] = merged
	}
	h.mu.Unlock()
	switch {
	case call.Status == "failed":
		h.s.event("tool failed", JoinTexts(": ", merged.Title, strings.Join(agents.OutputOf(call, shownOutput), " / ")))
	case begins:
		h.s.event("tool", merged.Title)
	}
}

// shownOutput is how many lines are shown of what a failed call of a tool answered.
const shownOutput = 3

// Junk implements acp.Handler.
func (h *handler) Junk(line []byte, size int) {
	h.s.log.Put(transcript.Junk, map[string]any{"line": string(line), "size": size})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.junk++
	if h.junk == agents.MostJunk && h.cancel != nil {
		h.cancel(agents.ErrRunJunk)
	}
}

// Refused implements acp.Handler.
func (h *handler) Refused(method string) {
	h.s.log.Put(transcript.Refused, map[string]string{"method": method})
}

// Permission implements acp.Handler.
func (h *handler) Permission(ctx context.Context, r acp.PermissionRequest) acp.PermissionOutcome {
	h.mu.Lock()
	h.last = h.now()
	before := h.calls[r.ToolCall.ID]
	call := before.Merge(r.ToolCall)
	if h.asking++; h.asking == 1 {
		h.asked = h.last
	}
	turn := h.turn
	h.mu.Unlock()
	ctx, over := context.WithCancel(ctx)
	defer context.AfterFunc(turn, over)() // a turn that is cancelled asks no more
	defer over()
	defer func() {
		h.mu.Lock()
		h.last = h.now()
		if h.asking--; h.asking == 0 {
			h.waited += h.last.Sub(h.asked)
		}
		h.mu.Unlock()
	}()
	p, d := agents.Decide(h.s.rules, before, r.ToolCall, h.dir)
	input := []byte(call.RawInput)
	if p.Cut {
		input = []byte(call.ID)
	}
	record := agents.CallRecord(p, input)
	line := app.ToolLine(record, call.Title)
	if d.Verdict == permit.Ask {
		switch h.s.in.Ask {
		case AskAllow:
			d = permit.Decision{Verdict: permit.Allow, Reason: "whoever started the run allows what the rules ask about"}
		case AskDeny:
			d = permit.Decision{Verdict: permit.Deny, Reason: d.Reason + ", and nobody is asked"}
		default:
			d = h.askPerson(ctx, record, line)
		}
	}
	h.s.log.Put(transcript.Permission, map[string]any{"call": record, "title": call.Title, "verdict": d.Verdict, "reason": d.Reason})
	switch d.Verdict {
	case permit.Allow:
		h.allowed(call)
		return r.Choose(acp.AllowOnce)
	case permit.Deny:
		h.s.event("denied", line)
		h.refuse("This was not allowed: " + app.Cut(line, 500) + " (" + d.Reason + ")")
		return r.Choose(acp.RejectOnce)
	}
	return acp.Cancelled() // the turn ends
}

// allowed keeps a call that goes on now: some agents say of calls that they begin only by
// asking about them.
func (h *handler) allowed(call acp.ToolCall) {
	h.mu.Lock()
	_, known := h.calls[call.ID]
	h.mu.Unlock()
	if !known {
		h.noteCall(call, true)
	}
}

// mostAsked is how long a call may be that a person is asked about, in bytes. It stays in the
// records of the project.
const mostAsked = 64 << 10

// askPerson asks a person whether a call is allowed, and waits for the answer. An answer, yes or no,
// that came after an earlier wait had ended counts for the next equal call. The verdict
// stays Ask if nobody answers, or ctx ends.
func (h *handler) askPerson(ctx context.Context, tool *thread.ToolCall, line string) permit.Decision {
	if len(line) > mostAsked {
		return permit.Decision{Verdict: permit.Deny, Reason: "it is too long for a person to read: write what it needs into files first"}
	}
	c := h.s.call(ctx, "run ask")
	asked, err := app.Write(c, func(st *thread.State, stamp thread.Stamp) (*toolAnswer, thread.ThreadID, error) {
		if st.UseTool(h.s.id, tool.Digest, stamp) {
			return &toolAnswer{used: true}, h.s.id, nil
		}
		if verdict, denied := st.UseDenial(h.s.id, tool.Digest, stamp); denied {
			return &toolAnswer{denied: true, verdict: verdict}, h.s.id, nil
		}
		g, t, err := st.Request(thread.NewGrant{
			ID: c.NewApprovalID(st), Thread: string(h.s.id), Scope: []string{"tool"}, Reason: app.Cut(line, 2000), Tool: tool,
		}, stamp)
		return &toolAnswer{id: g.ID}, t.ID, err
	})
	switch {
	case err != nil:
		return permit.Decision{Verdict: permit.Deny, Reason: "nobody could be asked: " + err.Error()}
	case asked.used:
		return permit.Decision{Verdict: permit.Allow, Reason: "a person has allowed it"}
	case asked.denied:
		return permit.Decision{Verdict: permit.Deny, Reason: "a person said no: " + asked.verdict}
	}
	h.s.event("ask", string(asked.id)+": "+line)
	var g thread.Approval
	err = c.Await(h.s.in.times.asking, func(st *thread.State) (_ bool, _ time.Time, err error) {
		g, err = st.Approval(string(asked.id))
		return err == nil && g.Status != thread.GrantOpen, time.Time{}, err
	})
	switch {
	case codes.Has(err, codes.WaitTimeout):
		h.park(asked.id)
		return permit.Decision{Verdict: permit.Ask, Reason: "nobody decided in time"}
	case err != nil:
		return permit.Decision{Verdict: permit.Ask, Reason: err.Error()}
	}
	use := h.s.call(ctx, "run ask")
	if g.Status != thread.GrantApproved {
		// Should that fail, it only counts once more.
		_, _ = app.Write(use, func(st *thread.State, stamp thread.Stamp) (*toolAnswer, thread.ThreadID, error) {
			_, denied := st.UseDenial(h.s.id, tool.Digest, stamp)
			return &toolAnswer{denied: denied}, h.s.id, nil
		})
		return permit.Decision{Verdict: permit.Deny, Reason: "a person said no: " + g.Verdict}
	}
	_, err = app.Write(use, func(st *thread.State, stamp thread.Stamp) (*toolAnswer, thread.ThreadID, error) {
		return &toolAnswer{used: st.UseTool(h.s.id, tool.Digest, stamp)}, h.s.id, nil
	})
	if err != nil {
		return permit.Decision{Verdict: permit.Deny, Reason: "the decision could not be recorded as used: " + err.Error()}
	}
	return permit.Decision{Verdict: permit.Allow, Reason: "a person allowed it"}
}

// park ends the turn because somebody has to decide first.
func (h *handler) park(about thread.ApprovalID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parked = about
	if h.cancel != nil {
		h.cancel(agents.ErrRunParks)
	}
}

// toolAnswer is what asking about a call comes to.
type toolAnswer struct {
	id      thread.ApprovalID
	used    bool
	denied  bool
	verdict string
	app.Change
}
