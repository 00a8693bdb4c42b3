package store

import (
	"cmp"
	"context"

	"leslie/codes"
	"leslie/store/internal/journal"
	"leslie/thread"
	"leslie/warnings"
)

// This file reads the history forward, in pieces, for callers that follow it: each
// operation once, ordered by number, however many writers there are and wherever the
// reader was interrupted.
//
// Why nothing is lost or repeated: the state is loaded before the journal is opened,
// and a writer commits only when the journal has every earlier operation. So the
// journal has all lines up to the one before the state's own operation, which the
// state itself has. A resumed reader needs only the number of its last operation.

// Cursor is a position in the history. It keeps no file open and one line in memory at
// a time.
type Cursor struct {
	store   *Store
	journal journal.Cursor
	thread  thread.ThreadID
}

// CursorQuery says what a Cursor reads.
type CursorQuery struct {
	Since  thread.Revision // only operations with a greater number
	Thread thread.ThreadID // only those that concern this thread
	// Want, if not nil, says of an operation in JSON, with all that it changed, whether it
	// can be wanted; if not, it is passed over without being decoded.
	Want func(line []byte) bool
	// Lost, if not nil, is called for numbers that the journal no longer has, in
	// order.
	Lost func(from, to thread.Revision)
}

// Cursor returns a reader of the operations after a revision; it reads nothing yet.
func (s *Store) Cursor(q CursorQuery) *Cursor {
	return &Cursor{s, journal.Cursor{At: q.Since, Mark: string(q.Thread), Want: q.Want, Lost: q.Lost}, q.Thread}
}

// At returns the number of the last operation that was read or skipped.
func (c *Cursor) At() thread.Revision { return c.journal.At }

// Read calls each with the following operations, oldest first, up to a revision, or
// for 0 all that exist. An error of each ends it and is returned unchanged; that
// operation counts as read. The cost is proportional to what is read, plus the journal
// from its end to the cursor if the position has to be found. Errors: T502, T506,
// T509, T904.
func (c *Cursor) Read(ctx context.Context, upTo thread.Revision, each func(thread.Operation) error) (warnings.List, error) {
	now, err := c.store.files.Load()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, codes.Interrupted.Wrap(context.Cause(ctx))
	}
	var ended error // of each
	give := func(op thread.Operation) error {
		if c.thread == "" || op.Concerns(c.thread) {
			ended = each(op)
		}
		return ended
	}
	if now.Revision > c.journal.At {
		err := c.store.files.InJournal(func(j journal.File) error { return c.journal.Read(ctx, j, upTo, give) })
		if ended != nil || err != nil {
			return now.Warnings, cmp.Or(ended, err)
		}
	}
	last := now.Operation
	if last == nil || last.Seq <= c.journal.At || upTo != 0 && last.Seq > upTo {
		return now.Warnings, nil
	}
	own, err := last.All()
	if err != nil {
		return now.Warnings, err
	}
	c.journal.Pass(own.Seq)
	return now.Warnings, give(own.Operation)
}
