package runs

import (
	"sync"
	"time"

	"leslie/thread"
)

// This file adds up what all runs of leslie run --next use, and stops them together at a limit.

// budget is what the runs of one loop may use together. Its methods are safe for use by several goroutines; nil has no
// limit.
type budget struct {
	limits runLimits
	began  time.Time

	mu      sync.Mutex
	before  map[thread.RunID]thread.Use // what each had used when the loop met it
	now     map[thread.RunID]thread.Use
	spend   map[thread.RunID]func(limit string) // ends the turn of a run that goes on
	reached string
}

// newBudget takes the limits out of a request, so that they hold for the loop and not for each run.
func newBudget(in *Request, began time.Time) *budget {
	b := &budget{
		limits: runLimits{tokens: in.MaxTokens, cost: in.MaxCost, time: in.MaxTime}, began: began,
		before: map[thread.RunID]thread.Use{}, now: map[thread.RunID]thread.Use{}, spend: map[thread.RunID]func(string){},
	}
	in.MaxTokens, in.MaxCost, in.MaxTime = 0, 0, 0
	return b
}

// begin notes a run that goes on, and what it has used by then.
func (b *budget) begin(id thread.RunID, used thread.Use, spend func(limit string)) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.before[id]; !known {
		b.before[id] = used
	}
	b.now[id], b.spend[id] = used, spend
}

// end notes that a run has ended or is parked.
func (b *budget) end(id thread.RunID) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.spend, id)
}

// note notes what a run has used, and ends the turns of all at the limit.
func (b *budget) note(id thread.RunID, used thread.Use) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now[id] = used
	var sum thread.Use
	for id, used := range b.now {
		sum = sum.Plus(used.Minus(b.before[id]))
	}
	limits := b.limits
	limits.turns = 1 // which are counted by each run
	b.stop(limits.reached(0, sum))
}

// look ends the turns of all when the time is over, and says when that will be, zero for never.
func (b *budget) look(now time.Time) (over time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limits.time == 0 {
		return time.Time{}
	}
	if over = b.began.Add(b.limits.time); !now.Before(over) {
		b.stop(b.limits.time.String() + " of time, idle or not,")
	}
	return over
}

// stop ends the turns of all. The caller holds the lock.
func (b *budget) stop(reached string) {
	if reached == "" || b.reached != "" {
		return
	}
	b.reached = reached
	for _, spend := range b.spend {
		go spend(allReached(reached)) // whoever reports has its own lock
	}
}

// allReached is why a run ends because of what all runs together have used.
func allReached(limit string) string { return "all runs together have reached their limit: " + limit }

// over is why a run of the loop does not go on, "" if it does.
func (b *budget) over() string {
	if reached := b.spent(); reached != "" {
		return allReached(reached)
	}
	return ""
}

// spentEnd is the end of a run at a limit. At that of all runs it is parked, for the next loop to go on with.
func (s *supervisor) spentEnd(reason string) *runEnd {
	e := &runEnd{stop: thread.RunBudget, reason: reason}
	if reason == s.in.budget.over() {
		e.stop = thread.RunInterrupted
	}
	return e
}

// spent says which limit is reached, "" for none.
func (b *budget) spent() string {
	if b == nil {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reached
}
