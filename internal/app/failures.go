package app

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/thread"
	"leslie/warnings"
)

// This file is what leslie makes of failures that follow one another: an agent
// that fails again and again is stopped (the mistake limit), and who repeats a
// failing call is told so. Both are read from the tail of the log, best effort:
// a log that cannot be read has nothing to say.

const (
	// repetitions is how often a call fails in the same way before W104.
	repetitions = 3
	// recentBytes is how far back the log is looked at, by an agent's every call.
	recentBytes = 64 << 10
)

// Short titles of log lines that are no errors or warnings.
const (
	noteRecovered = "Recovered" // a caller's command worked after it had failed
	noteResumed   = "Resumed"   // a person resumed a thread
)

// Finish ends a call: it looks at how it ended against how the caller's last ones
// did (W104, the mistake limit), and writes the log. A failed call has its code
// and facts complete by then. A line of a batch is part of the batch's call.
func (c *Call) Finish(failure *codes.Error) {
	if c.draft != nil {
		return
	}
	trackFailures(c, failure)
	logCall(c, failure)
}

// mistaken reports whether a failure counts towards the mistake limit: it says
// that the caller did something wrong. Waits, conflicts, denials and locks do not.
func mistaken(code codes.Code) bool {
	switch code {
	case codes.ThreadNotFound, codes.InvalidTransition, codes.AmbiguousID, codes.AlreadyExists, codes.NotWritable,
		codes.MergeNotFound, codes.ApprovalNotFound, codes.InvalidArgument:
		return true
	}
	return code[:2] == "T2" || code[:2] == "T6"
}

// trackFailures looks at how a call ended against how the caller's last ones did. It
// may suspend the thread that the caller speaks for. A success ends a row of
// failures; that of a call that only reads is of interest where the mistake limit holds.
func trackFailures(c *Call, failure *codes.Error) {
	limited := !c.caller.As.Person() && c.caller.Thread != ""
	if failure == nil {
		if c.note == "" && (limited || !c.request.ReadOnly) && failedLast(c) {
			c.note = noteRecovered
		}
		return
	}
	past := recentFailures(c)
	warnRepeated(c, past, failure)
	if limited && mistaken(failure.Code()) {
		limitMistakes(c, 1+len(mistakesAmong(past)), failure)
	}
}

// failedLast reports whether the caller has failed since its last success.
func failedLast(c *Call) bool {
	for range pastFailures(c) {
		return true
	}
	return false
}

// pastFailure is a failed call as the log tells it.
type pastFailure struct {
	code   codes.Code
	digest string // of the call
}

// recentFailures are the caller's failed calls since its last success, the newest first.
func recentFailures(c *Call) []pastFailure { return slices.Collect(pastFailures(c)) }

// pastFailures yields them from the log's tail, the newest first.
func pastFailures(c *Call) iter.Seq[pastFailure] {
	who, resumed := brief(fact.List{fact.Of("as", c.caller.As), fact.Of("actor", c.caller.Actor)}).AppendLogfmt(nil), []byte(noteResumed)
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
			case l.Text("msg") == noteResumed:
				if c.caller.Thread != "" && strings.HasPrefix(l.Text("threadId"), c.caller.Thread) {
					return
				}
			case l.Text("speaks") != c.caller.Thread:
			case l.Text("msg") == noteRecovered:
				return
			case l.Text("level") == "error":
				if !yield(pastFailure{codes.Code(l.Text("code")), l.Text("line")}) {
					return
				}
			}
		}
	}
}

func mistakesAmong(past []pastFailure) []pastFailure {
	return slices.DeleteFunc(slices.Clone(past), func(p pastFailure) bool { return !mistaken(p.code) })
}

// warnRepeated is W104 for a call that failed in the same way again and again,
// unless trying again is what its code advises, or a hook only asks.
func warnRepeated(c *Call, past []pastFailure, failure *codes.Error) {
	if failure.Code().Entry().Retryable || c.request.Command == "can" {
		return
	}
	count := 1
	for _, p := range past {
		if p.digest != c.request.Digest || p.code != failure.Code() {
			break
		}
		count++
	}
	if count >= repetitions {
		c.warn(warnings.RepeatedFailure.New(fact.Of("count", count), fact.Of("code", string(failure.Code()))))
	}
}

// limitMistakes suspends the thread when the limit is reached: an operation of
// the system. The call keeps its own code.
func limitMistakes(c *Call, count int, failure *codes.Error) {
	if count < mistakeLimit(c) {
		return
	}
	m := thread.Mistakes{Count: count, LastCode: string(failure.Code()), Actor: c.caller.Actor}
	var suspended thread.Thread
	commit, err := c.system("suspend", c.now(), func(s *thread.State, stamp thread.Stamp) thread.ThreadID {
		suspended = thread.Thread{}
		if t, err := s.SuspendFor(c.caller.Thread, m, stamp); err == nil && len(s.Changes()) > 0 {
			suspended = t
		}
		return suspended.ID
	})
	if err == nil && suspended.ID != "" {
		c.warn(warnings.ThreadSuspended.New(fact.Of("threadId", suspended.ID), fact.Of("count", count), fact.Of("lastCode", m.LastCode)))
		c.warn(commit.Warnings...) // what is told may not be on disk
	}
}

// mistakeLimit is the configured one; a configuration that cannot be read is told
// by the use cases that need it.
func mistakeLimit(c *Call) int {
	set, err := configured(c)
	if err != nil {
		return defaultMistakeLimit
	}
	return set.mistakeLimit
}
