package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store"
	"leslie/thread"
	"leslie/warnings"
)

// This file is what leslie makes of failures that follow one another: an agent
// that fails again and again is stopped (the mistake limit), and who repeats a
// failing line is told so. Both are read from the tail of the log, best effort:
// a log that cannot be read has nothing to say.

const (
	// repetitions is how often a line fails in the same way before W104.
	repetitions = 3
	// recallBytes is how far back the log is looked at.
	recallBytes = 128 << 10
)

// Short titles of log lines that are no errors or warnings.
const (
	noteRecovered = "Recovered" // a caller's command worked after it had failed
	noteResumed   = "Resumed"   // a person resumed a thread
)

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

// reckon looks at how a call ended against how the caller's last ones did. It may
// suspend the thread that the caller speaks for.
func (c *call) reckon(data Data, failure *codes.Error) {
	if c.op.DraftState() != nil || c.line.asks() {
		return
	}
	if failure == nil {
		c.note = c.reset(data)
		return
	}
	st, err := c.store()
	if err != nil {
		return
	}
	past := c.recall(st)
	c.warnRepeated(past, failure)
	if c.who.as == thread.Agent && c.who.thread != "" && mistaken(failure.Code()) {
		c.limitMistakes(st, 1+len(mistakesAmong(past)), failure)
	}
}

// reset is the note of a call that ends a row of failures: a success of who had
// failed, or a thread resumed by a person.
func (c *call) reset(data Data) string {
	if !c.writes() || c.st == nil {
		return ""
	}
	if past := c.recall(c.st); len(past) > 0 {
		return noteRecovered
	}
	return ""
}

// pastFailure is a failed call as the log tells it.
type pastFailure struct {
	code codes.Code
	line string // the digest of its command line
}

// recall is the caller's failed calls since its last success, the newest first.
func (c *call) recall(st *store.Store) []pastFailure {
	var out []pastFailure
	tail := bytes.TrimRight(st.LogTail(recallBytes), "\n")
	who := string(brief(fact.List{fact.Of("as", c.who.as), fact.Of("actor", c.who.actor)}).AppendLogfmt(nil))
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
			if c.who.thread != "" && strings.HasPrefix(l.Text("threadId"), c.who.thread) {
				return out
			}
		case l.Text("speaks") != c.who.thread:
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

// warnRepeated is W104 for a line that failed in the same way again and again,
// unless trying again is what its code advises, or a hook only asks.
func (c *call) warnRepeated(past []pastFailure, failure *codes.Error) {
	if failure.Code().Entry().Retryable || c.operation() == "can" {
		return
	}
	count := 1
	for _, p := range past {
		if p.line != c.lineDigest() || p.code != failure.Code() {
			break
		}
		count++
	}
	if count >= repetitions {
		c.warnings.Add(warnings.RepeatedFailure.New(fact.Of("count", count), fact.Of("code", string(failure.Code()))))
	}
}

// limitMistakes suspends the thread when the limit is reached: an operation of
// the system. The call keeps its own code.
func (c *call) limitMistakes(st *store.Store, count int, failure *codes.Error) {
	if count < c.mistakeLimit(st) {
		return
	}
	m := thread.Mistakes{Count: count, LastCode: string(failure.Code()), Actor: c.who.actor}
	var suspended thread.Thread
	commit, err := c.system(st, c.lockWait(), "suspend", c.now(), func(s *thread.State, stamp thread.Stamp) thread.ThreadID {
		suspended = thread.Thread{}
		if t, err := s.SuspendFor(c.who.thread, m, stamp); err == nil && len(s.Changes()) > 0 {
			suspended = t
		}
		return suspended.ID
	})
	if err == nil && suspended.ID != "" {
		c.warnings.Add(warnings.ThreadSuspended.New(fact.Of("threadId", suspended.ID), fact.Of("count", count), fact.Of("lastCode", m.LastCode)))
		c.warnings.Add(commit.Warnings...) // what is told may not be on disk
	}
}

// mistakeLimit is the configured one; a configuration that cannot be read is told
// by the commands that need it.
func (c *call) mistakeLimit(st *store.Store) int {
	set, err := c.configured(st)
	if err != nil {
		return defaultMistakeLimit
	}
	return set.mistakeLimit
}

// lineDigest stands for the command line in the log: the same line, the same
// digest.
func (c *call) lineDigest() string {
	h := fnv.New32a()
	for _, arg := range c.argv {
		_, _ = fmt.Fprintf(h, "%q ", arg)
	}
	return fmt.Sprintf("%08x", h.Sum32())
}
