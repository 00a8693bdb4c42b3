package app

import (
	"bytes"
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
	// recentBytes is how far back the log is looked at.
	recentBytes = 128 << 10
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
	c.trackFailures(failure)
	c.log(failure)
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
// may suspend the thread that the caller speaks for.
func (c *Call) trackFailures(failure *codes.Error) {
	if failure == nil {
		if c.note == "" && !c.request.ReadOnly && len(c.recentFailures()) > 0 {
			c.note = noteRecovered
		}
		return
	}
	past := c.recentFailures()
	c.warnRepeated(past, failure)
	if c.caller.As == thread.Agent && c.caller.Thread != "" && mistaken(failure.Code()) {
		c.limitMistakes(1+len(mistakesAmong(past)), failure)
	}
}

// pastFailure is a failed call as the log tells it.
type pastFailure struct {
	code   codes.Code
	digest string // of the call
}

// recentFailures is the caller's failed calls since its last success, the newest first.
func (c *Call) recentFailures() []pastFailure {
	var out []pastFailure
	tail := bytes.TrimRight(c.store.LogTail(recentBytes), "\n")
	who := string(brief(fact.List{fact.Of("as", c.caller.As), fact.Of("actor", c.caller.Actor)}).AppendLogfmt(nil))
	for len(tail) > 0 {
		at := bytes.LastIndexByte(tail, '\n') + 1
		raw := string(tail[at:])
		tail = tail[:max(at-1, 0)]
		own := strings.HasSuffix(raw, who)
		if !own && !strings.Contains(raw, noteResumed) {
			continue
		}
		l, ok := fact.ParseLogfmt(raw)
		switch {
		case !ok:
		case l.Text("msg") == noteResumed:
			if c.caller.Thread != "" && strings.HasPrefix(l.Text("threadId"), c.caller.Thread) {
				return out
			}
		case l.Text("speaks") != c.caller.Thread:
		case l.Text("msg") == noteRecovered:
			return out
		case l.Text("level") == "error":
			out = append(out, pastFailure{codes.Code(l.Text("code")), l.Text("line")})
		}
	}
	return out
}

func mistakesAmong(past []pastFailure) []pastFailure {
	return slices.DeleteFunc(slices.Clone(past), func(p pastFailure) bool { return !mistaken(p.code) })
}

// warnRepeated is W104 for a call that failed in the same way again and again,
// unless trying again is what its code advises, or a hook only asks.
func (c *Call) warnRepeated(past []pastFailure, failure *codes.Error) {
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
func (c *Call) limitMistakes(count int, failure *codes.Error) {
	if count < c.mistakeLimit() {
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
func (c *Call) mistakeLimit() int {
	set, err := c.configured()
	if err != nil {
		return defaultMistakeLimit
	}
	return set.mistakeLimit
}
