package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"leslie/internal/ledger"
	"leslie/store/internal/journal"
	"leslie/thread"
)

// This file reads lines of the log, each of which has the hash of the one before.

// ChainOf is the hash of the line that an operation has in the log, "" if it has to be
// looked up: the operation was made before the project was connected.
func (l *Link) ChainOf(op *journal.Operation) string {
	if op == nil {
		return Sum([]byte(l.Remote.Project))
	}
	return op.Chain
}

// Reader reads lines in their order.
type Reader struct {
	link  *Link
	ctx   context.Context
	known *journal.Operation // the last one before the first line
	seq   thread.Revision    // of the last line
	chain string             // and its hash
}

// Reader returns what reads the lines behind an operation with that number, or, for nil and
// 0, from the first.
func (l *Link) Reader(ctx context.Context, known *journal.Operation, seq thread.Revision) *Reader {
	return &Reader{link: l, ctx: ctx, known: known, seq: seq, chain: l.ChainOf(known)}
}

// Read checks a line and returns its operation. Errors: T512; those of the ledger.
func (r *Reader) Read(line ledger.Line) (journal.Entry, error) {
	text, whole := ReadLine(line)
	if !whole || text.Seq != r.seq+1 {
		return journal.Entry{}, DamagedLine(line.Seq)
	}
	if text.Prev != r.chain && !r.sameLine(text.Prev) {
		return journal.Entry{}, Parted(fmt.Sprintf("line %d does not follow what this machine knows", line.Seq))
	}
	body := []byte(text.Entry)
	if text.Body != "" {
		var err error
		if body, err = r.link.Ledger.GetBlob(r.ctx, string(text.Body)); err != nil {
			return journal.Entry{}, err
		}
	}
	e, ok := journal.FromLog(body)
	if !ok || e.Seq != text.Seq || e.ID != text.ID {
		return journal.Entry{}, DamagedLine(line.Seq)
	}
	e.Chain, e.Machine = Sum(line.Data), text.Machine
	r.seq, r.chain = e.Seq, e.Chain
	return e, nil
}

// sameLine reports whether the log's line of the last known operation is another text of
// the same operation, with this hash: the log was made of this or of another machine's
// journal. Ids are random, so the same id at the same place is the same history.
func (r *Reader) sameLine(sum string) bool {
	if r.known == nil || r.known.Seq != r.seq {
		return false
	}
	line, err := r.link.LineAt(r.ctx, r.seq)
	return err == nil && line.ID == string(r.known.ID) && Sum(line.Data) == sum
}

// LineAt reads one line of the log.
func (l *Link) LineAt(ctx context.Context, at thread.Revision) (found ledger.Line, err error) {
	stop := fmt.Errorf("found")
	err = l.Ledger.After(ctx, int64(at)-1, func(line ledger.Line) error {
		found = line
		return stop
	})
	if err == stop {
		err = nil
	}
	if err == nil && thread.Revision(found.Seq) != at {
		err = Diverged(fmt.Sprintf("it has no line %d", at))
	}
	return found, err
}

// LineOf reads the line of the last operation that this machine knows. Errors: T512; those of the ledger.
func (l *Link) LineOf(ctx context.Context, op *journal.Operation, at thread.Revision) (ledger.Line, error) {
	line, err := l.LineAt(ctx, at)
	if err == nil && line.ID != string(op.ID) {
		err = Another(at, line.ID, op.ID)
	}
	return line, err
}

// BlobFor is how long content may take.
const BlobFor = 60 * time.Second

// Blob reads content from the log; bad if no server has it as it was stored. Errors:
// T402, T510, T904.
func (l *Link) Blob(ctx context.Context, id thread.BlobID) (data []byte, bad bool, err error) {
	reading, cancel := context.WithTimeout(ctx, BlobFor)
	defer cancel()
	data, err = l.Ledger.GetBlob(reading, string(id))
	if errors.Is(err, ledger.ErrGap) || errors.Is(err, ledger.ErrMissing) {
		return nil, true, nil
	}
	return data, false, Error(ctx, err, "")
}
