package app

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
	"leslie/warnings"
)

// This file handles consecutive failures: an agent that fails repeatedly is stopped
// (the mistake limit), and a caller that repeats a failing call is warned. Both read
// the end of the log, best effort: a log that cannot be read counts as empty.

const (
	// repetitions is how often a call fails in the same way before W104.
	repetitions = 3
	// idleRepetitions is how often a write succeeds without effect before W104.
	idleRepetitions = 6
	// recentBytes is how much of the log's end each call of an agent reads.
	recentBytes = 64 << 10
)

// Titles of log lines that are neither errors nor warnings.
const (
	NoteRecovered = "Recovered" // a caller's command worked after it had failed
	NoteResumed   = "Resumed"   // a person resumed a thread
	noteUnchanged = "Unchanged" // a caller's write had nothing to change
)

// Finish ends a call: it compares the result with the caller's last ones (W104, the
// mistake limit), and writes the log. The code and facts of a failure must be
// complete. A line of a batch is part of the batch's call.
func (c *Call) Finish(failure *codes.Error) {
	if c.draft != nil {
		return
	}
	c.hear()
	c.toldConfig = c.toldConfig || failure != nil && failure.Facts().Text("key") != ""
	c.trackFailures(failure)
	c.logCall(failure)
}

// trackFailures compares the result of a call with the caller's last ones, and may
// suspend the thread that the caller speaks for. A success ends a row of failures; for
// a call that only reads this matters only if the mistake limit applies.
func (c *Call) trackFailures(failure *codes.Error) {
	limited := c.caller.Thread != "" && !c.ByPerson()
	if failure == nil {
		if c.note == "" && (limited || !c.request.ReadOnly) && c.failedLast() {
			c.note = NoteRecovered
		}
		if c.note == "" && !c.waited && !c.request.ReadOnly && !c.changed && !c.replayed && c.revision != nil {
			c.note = noteUnchanged
			c.warnIdle()
		}
		return
	}
	past := c.recentFailures()
	repeated := c.warnRepeated(past, failure)
	if !limited || failure.Code().Entry().Expected {
		return
	}
	count, limit := 1+len(mistakesAmong(past)), c.mistakeLimit()
	switch {
	case count >= limit:
		c.limitMistakes(count, failure)
	case count == limit-1 && !repeated:
		c.Warn(warnings.NearlyLimited(count, string(failure.Code())))
	}
}

// failedLast reports whether the caller has failed since its last success.
func (c *Call) failedLast() bool {
	for range c.pastFailures() {
		return true
	}
	return false
}

// pastFailure is a failed call in the log.
type pastFailure struct {
	code   codes.Code
	digest string // of the call
}

// recentFailures returns the caller's failed calls since its last success, newest
// first.
func (c *Call) recentFailures() []pastFailure { return slices.Collect(c.pastFailures()) }

// LastRefusal is the code and the reason of an actor's newest call of an operation that failed since a time, if the
// end of the log has one; "" for none.
func (c *Call) LastRefusal(actor, operation string, since time.Time) string {
	for _, raw := range slices.Backward(strings.Split(string(c.store.LogTail(recentBytes)), "\n")) {
		l, ok := fact.ParseLogfmt(raw)
		if !ok || l.Text("actor") != actor || l.Text("operation") != operation || l.Text("level") != "error" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, l.Text("time")); err != nil || at.Before(since.Truncate(time.Second)) {
			return ""
		}
		return l.Text("code") + ": " + cmp.Or(l.Text("reason"), l.Text("msg"))
	}
	return ""
}

// pastFailures yields them from the end of the log, newest first.
func (c *Call) pastFailures() iter.Seq[pastFailure] {
	who, resumed := brief(fact.List{fact.Of("as", c.caller.As), fact.Of("actor", c.caller.Actor)}).AppendLogfmt(nil), []byte(NoteResumed)
	return func(yield func(pastFailure) bool) {
		tail := bytes.TrimRight(c.store.LogTail(recentBytes), "\n")
		anyResumed := bytes.Contains(tail, resumed)
		for len(tail) > 0 {
			at := bytes.LastIndexByte(tail, '\n') + 1
			raw := tail[at:]
			tail = tail[:max(at-1, 0)]
			if !bytes.HasSuffix(raw, who) && !(anyResumed && bytes.Contains(raw, resumed)) {
				continue
			}
			l, ok := fact.ParseLogfmt(string(raw))
			switch {
			case !ok:
			case l.Text("msg") == NoteResumed:
				if c.caller.Thread != "" && strings.HasPrefix(l.Text("threadId"), c.caller.Thread) {
					return
				}
			case l.Text("speaks") != c.caller.Thread:
			case l.Text("msg") == NoteRecovered, l.Text("msg") == noteUnchanged:
				return
			case l.Text("level") == "error":
				if !yield(pastFailure{codes.Code(l.Text("code")), l.Text("line")}) {
					return
				}
			}
		}
	}
}

// warnIdle adds W104 for a write that succeeded repeatedly without any effect. The log
// has the calls without effect; whether the caller did something else in between, and
// whether the first of them had an effect, is in the journal, which is read only if the
// log has nearly enough of them.
func (c *Call) warnIdle() {
	idle, since := 0, *c.revision
	who := brief(fact.List{fact.Of("as", c.caller.As), fact.Of("actor", c.caller.Actor)}).AppendLogfmt(nil)
	lines := bytes.Split(bytes.TrimRight(c.store.LogTail(recentBytes), "\n"), []byte("\n"))
	for _, raw := range slices.Backward(lines) {
		l, ok := fact.ParseLogfmt(string(raw))
		if !ok || !bytes.HasSuffix(raw, who) || l.Text("level") == "warn" {
			continue
		}
		at, err := strconv.ParseUint(l.Text("revision"), 10, 64)
		if l.Text("msg") != noteUnchanged || l.Text("line") != c.request.Digest || err != nil {
			break
		}
		idle, since = idle+1, thread.Revision(at)
	}
	if idle+2 < idleRepetitions {
		return
	}
	if last, ok, err := c.store.FindOperation(c.ctx, func(op thread.Operation) bool { return op.As == c.caller.As && op.Actor == c.caller.Actor }); err != nil {
		return
	} else if ok && last.Seq > since {
		return // it did something else in between
	} else if ok && last.Command == c.request.Command && bytes.Equal(last.Params, c.Params()) {
		idle++
	}
	if count := idle + 1; count >= idleRepetitions {
		w := warnings.RepeatedFailure.New(fact.Of("count", count))
		w.Message = "This command changed nothing " + strconv.Itoa(count) + " times in a row. Change something before the next try"
		c.Warn(w)
	}
}

func mistakesAmong(past []pastFailure) []pastFailure {
	return slices.DeleteFunc(slices.Clone(past), func(p pastFailure) bool { return p.code.Entry().Expected })
}

// warnRepeated adds W104 for a call that failed in the same way repeatedly, unless its
// code is retryable, or T512, which nothing that the caller changes ends, or the call is can,
// which hooks repeat. It reports whether it did.
func (c *Call) warnRepeated(past []pastFailure, failure *codes.Error) bool {
	if failure.Code().Entry().Retryable || failure.Code() == codes.RemoteDiverged || c.request.Command == "can" {
		return false
	}
	count := 1
	for _, p := range past {
		if p.digest != c.request.Digest || p.code != failure.Code() {
			break
		}
		count++
	}
	if count >= repetitions {
		c.Warn(warnings.RepeatedFailure.New(fact.Of("count", count), fact.Of("code", string(failure.Code()))))
	}
	return count >= repetitions
}

// limitMistakes suspends the thread, as an operation of the
// system. The call keeps its own code.
func (c *Call) limitMistakes(count int, failure *codes.Error) {
	m := thread.Mistakes{Count: count, LastCode: string(failure.Code()), Actor: c.caller.Actor}
	var suspended thread.Thread
	commit, err := c.System("suspend", c.Now(), func(s *thread.State, stamp thread.Stamp) thread.ThreadID {
		suspended = thread.Thread{}
		if t, err := s.SuspendFor(c.caller.Thread, m, stamp); err == nil && len(s.Changes()) > 0 {
			suspended = t
		}
		return suspended.ID
	})
	if err == nil && suspended.ID != "" {
		c.Warn(warnings.ThreadSuspended.New(fact.Of("threadId", suspended.ID), fact.Of("count", count), fact.Of("lastCode", m.LastCode)))
		c.Notify([]WaitingItem{{WaitingSuspended, string(suspended.ID), suspended.ID, suspended.Title, "leslie status " + string(suspended.ID), ""}})
		c.Warn(commit.Warnings...) // W505: the suspension may not be on disk
	}
}

// mistakeLimit returns the configured limit; use cases that need the configuration
// report it if it cannot be read.
func (c *Call) mistakeLimit() int {
	set, err := c.Configured()
	if err != nil {
		return DefaultMistakeLimit
	}
	return set.mistakeLimit
}
