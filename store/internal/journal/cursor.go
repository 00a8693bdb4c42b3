package journal

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
)

// readAhead is how much of a journal is read at once by who reads it line by line.
const readAhead = 64 << 10

// Cursor reads a journal forward, in pieces. It keeps no file open and one line in
// memory at a time.
type Cursor struct {
	At thread.Revision // the number of the last operation that was read or skipped
	// Mark, if not empty: decode only lines that have this text.
	Mark string
	// Want, if not nil, says which lines to decode; it must not keep them.
	Want func(line []byte) bool
	// Lost, if not nil, is called for numbers that the journal no longer has, in order.
	Lost func(from, to thread.Revision)

	// The position in the file that was read last; nil: find it by the number.
	file   fs.FileInfo
	offset int64
}

// Pass moves the cursor on to a number, and calls Lost for those in between.
func (c *Cursor) Pass(seq thread.Revision) {
	if seq > c.At+1 && c.Lost != nil {
		c.Lost(c.At+1, seq-1)
	}
	c.At = seq
}

// Read calls each with the operations after the cursor, oldest first, up to a
// revision, or for 0 with all. An error of each ends it; that operation counts as read.
// The cost is proportional to what is read, plus the journal from its end to the cursor
// if the position has to be found. Errors: those of each, of the system, T904.
func (c *Cursor) Read(ctx context.Context, f File, upTo thread.Revision, each func(thread.Operation) error) error {
	if f.file == nil {
		return nil
	}
	if err := c.seek(f); err != nil {
		return err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f.file, c.offset, f.size-c.offset), readAhead)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if ctx.Err() != nil {
			return codes.Interrupted.Wrap(context.Cause(ctx))
		}
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		if more, err := c.take(text, upTo, each); err != nil || !more {
			return err
		}
		if !ended { // nothing is left, or its writer has not finished the line
			return nil
		}
		c.offset += int64(len(line))
	}
}

// take reads one line; more is false for one after upTo.
func (c *Cursor) take(line []byte, upTo thread.Revision, each func(thread.Operation) error) (more bool, err error) {
	seq, ok := number(line)
	if !ok || seq <= c.At {
		return true, nil // damaged, or read before
	}
	if upTo != 0 && seq > upTo {
		return false, nil
	}
	c.Pass(seq)
	if !bytes.Contains(line, []byte(c.Mark)) || c.Want != nil && !c.Want(line) {
		return true, nil
	}
	e, ok := Read(line)
	if !ok {
		return true, nil
	}
	return true, each(e.Operation)
}

// seek finds where the journal continues after the cursor: where the last Read ended,
// or, in a file that it did not read, after the last line with a number that was read.
func (c *Cursor) seek(f File) error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	if c.file != nil && os.SameFile(c.file, info) && c.offset <= f.size {
		return nil
	}
	c.file, c.offset = info, 0
	if c.At == 0 {
		return nil
	}
	for p, err := range jsonl.BackwardsAt(f.file, f.size) {
		if err != nil {
			return err
		}
		if seq, ok := number(p.Line); ok && seq <= c.At {
			c.offset = p.At
			return nil
		}
	}
	return nil
}
