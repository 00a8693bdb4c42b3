package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"leslie/codes"
	"leslie/store/internal/jsonl"
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
	store *Store
	at    thread.Revision
	query CursorQuery
	// The position in the journal file that was read last; nil: find it by the number.
	file   fs.FileInfo
	offset int64
}

// CursorQuery says what a Cursor reads.
type CursorQuery struct {
	Since  thread.Revision // only operations with a greater number
	Thread thread.ThreadID // only those that concern this thread
	// Lost, if not nil, is called for numbers that the journal no longer has, in
	// order.
	Lost func(from, to thread.Revision)
}

// Cursor returns a reader of the operations after a revision; it reads nothing yet.
func (s *Store) Cursor(q CursorQuery) *Cursor { return &Cursor{store: s, at: q.Since, query: q} }

// At returns the number of the last operation that was read or skipped.
func (c *Cursor) At() thread.Revision { return c.at }

// Read calls each with the following operations, oldest first, up to a revision, or
// for 0 all that exist. An error of each ends it and is returned unchanged; that
// operation counts as read. The cost is proportional to what is read, plus the journal
// from its end to the cursor if the position has to be found. Errors: T502, T506,
// T509, T904.
func (c *Cursor) Read(ctx context.Context, upTo thread.Revision, each func(thread.Operation) error) (warnings.List, error) {
	now, err := c.store.load()
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, codes.Interrupted.Wrap(context.Cause(ctx))
	}
	if now.revision > c.at {
		if err := c.readJournal(ctx, upTo, each); err != nil {
			return now.warnings, err
		}
	}
	last := now.operation
	if last == nil || last.Seq <= c.at || upTo != 0 && last.Seq > upTo {
		return now.warnings, nil
	}
	own, err := last.all()
	if err != nil {
		return now.warnings, err
	}
	c.pass(own.Seq)
	return now.warnings, c.give(own.Operation, each)
}

// pass goes on to a number and tells what is missing in between.
func (c *Cursor) pass(seq thread.Revision) {
	if seq > c.at+1 && c.query.Lost != nil {
		c.query.Lost(c.at+1, seq-1)
	}
	c.at = seq
}

func (c *Cursor) give(op thread.Operation, each func(thread.Operation) error) error {
	if c.query.Thread != "" && !op.Concerns(c.query.Thread) {
		return nil
	}
	return each(op)
}

func (c *Cursor) readJournal(ctx context.Context, upTo thread.Revision, each func(thread.Operation) error) error {
	j, err := c.store.openJournal()
	if err != nil || j.file == nil {
		return err
	}
	defer j.close()
	if err := c.seek(j); err != nil {
		return c.store.disk.ReadFailed(err)
	}
	r := bufio.NewReaderSize(io.NewSectionReader(j.file, c.offset, j.size-c.offset), readAhead)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return c.store.disk.ReadFailed(err)
		}
		if ctx.Err() != nil {
			return codes.Interrupted.Wrap(context.Cause(ctx))
		}
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		if more, err := c.take(text, upTo, each); err != nil || !more {
			return err
		}
		if !ended { // nothing is left, or its writer is not done with the line
			return nil
		}
		c.offset += int64(len(line))
	}
}

// take reads one line; more is false for one that lies behind upTo.
func (c *Cursor) take(line []byte, upTo thread.Revision, each func(thread.Operation) error) (more bool, err error) {
	seq, ok := numberOf(line)
	if !ok || seq <= c.at {
		return true, nil // damaged, or told before
	}
	if upTo != 0 && seq > upTo {
		return false, nil
	}
	c.pass(seq)
	if !bytes.Contains(line, []byte(c.query.Thread)) {
		return true, nil
	}
	e, ok := readEntry(line)
	if !ok {
		return true, nil
	}
	return true, c.give(e.Operation, each)
}

// seek finds where the journal goes on behind the cursor: where the last Read
// ended, or, in a file that it did not read, behind the last line with a number
// that was told.
func (c *Cursor) seek(j journal) error {
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	if c.file != nil && os.SameFile(c.file, info) && c.offset <= j.size {
		return nil
	}
	c.file, c.offset = info, 0
	if c.at == 0 {
		return nil
	}
	for p, err := range jsonl.BackwardsAt(j.file, j.size) {
		if err != nil {
			return err
		}
		if seq, ok := numberOf(p.Line); ok && seq <= c.at {
			c.offset = p.At
			return nil
		}
	}
	return nil
}
