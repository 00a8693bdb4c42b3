package app

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/internal/transcript"
	"leslie/thread"
)

// This file says when whoever holds a thread was last heard of: with a call, whatever it did,
// in a run with what its agent said, or by what has changed of the thread's artifacts and in
// git. One that is gone can so be told from one that works.

// hear notes that the caller is there.
func (c *Call) hear() { c.store.Hear(c.caller.Actor, c.Now()) }

// newHolders returns who got or extended a claim by an operation of the caller, for itself
// or for a run; also the caller, if it changed a thread that somebody had given to it.
func (c *Call) newHolders(s *thread.State, changes []thread.Change) (holders []string) {
	for _, change := range changes {
		id, ok := strings.CutPrefix(change.Record, thread.TableThreads+"/")
		if !ok {
			continue
		}
		was, _ := thread.MemberOf(change.Before, "claim")
		is, _ := thread.MemberOf(change.After, "claim")
		t, _ := s.Threads.Peek(id)
		if t.Claim == nil || bytes.Equal(was, is) && (t.Claim.Holder != c.caller.Actor || !c.store.HeardOf(c.caller.Actor).IsZero()) {
			continue
		}
		if holder := t.Claim.Holder; holder == c.caller.Actor || holder == thread.RunHolder(t.ID) {
			holders = append(holders, holder)
		}
	}
	return holders
}

// heardOf returns when the holder of a thread's claim was last heard of; claiming counts.
func (c *Call) heardOf(t thread.Thread, held *thread.Claim) time.Time {
	at, worked, said := held.At, c.LastWork(t), c.store.HeardOf(held.Holder)
	if t.Given(c.Now()) != nil && !said.IsZero() {
		at = said // that somebody gave it the thread says nothing of it
		if worked.Before(held.At) {
			worked = at // whoever had it before
		}
	}
	later := func(sign time.Time) {
		if sign.After(at) {
			at = sign
		}
	}
	later(said)
	if !byMessage(t, worked) {
		later(worked)
	}
	if held.Holder == thread.RunHolder(t.ID) {
		later(held.Until.Add(-held.For)) // its process extended it
		later(c.store.RunHeardOf(t.ID, transcript.Name))
	}
	if now := c.Now(); at.After(now) {
		return now
	}
	return at.UTC().Truncate(time.Millisecond)
}

// byMessage reports whether a folder changed when a message was sent to its thread, which puts a file
// into it: that is no sign of its holder.
func byMessage(t thread.Thread, at time.Time) bool {
	return slices.ContainsFunc(t.Injections, func(i thread.Injection) bool {
		return at.Sub(i.Created.At).Abs() < 2*time.Second
	})
}

// LastWork returns when the folder of a thread's artifacts, or what git keeps of its worktree,
// last changed, as far as a few files say; the zero time for none that is there.
func (c *Call) LastWork(t thread.Thread) (at time.Time) {
	signs := []string{c.Absolute(ThreadPath(t.ID))}
	if code := t.OwnedCode(); code != nil && code.State == thread.CodeReady && code.Admin != "" {
		for _, name := range []string{"index", "HEAD", "logs/HEAD", "COMMIT_EDITMSG"} {
			signs = append(signs, filepath.Join(code.Admin, name))
		}
	}
	for _, path := range signs {
		if info, err := os.Lstat(path); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// sayingHeard adds to T108 when the holder was last heard of.
func (c *Call) sayingHeard(err error) error {
	e := codes.Of(err)
	if e == nil || e.Code() != codes.Claimed {
		return err
	}
	id := e.Facts().Text("threadId")
	_, looked := c.store.View(c.ctx, func(s *thread.State) error {
		t, _ := s.Threads.Peek(id)
		if held := t.Held(c.Now()); held != nil {
			e = e.With(fact.Of("heardAt", c.heardOf(t, held)))
		}
		return nil
	})
	if looked != nil {
		return err
	}
	return e
}
