package store

import (
	"bytes"
	"context"
	"iter"

	"leslie/codes"
	"leslie/store/internal/jsonl"
	"leslie/thread"
	"leslie/warnings"
)

// This file reads the journal from its end: for people, who ask for the last
// operations, and for searches. cursor.go reads it forward.

// HistoryQuery selects operations; the zero value selects all.
type HistoryQuery struct {
	Limit  int             // at most so many, the newest; 0: all
	Thread thread.ThreadID // only those that concern this thread
	Since  thread.Revision // only those with a greater number
	Before thread.Revision // only those with a smaller number; 0: all
	// Uncounted leaves History.Total at what was read: without it a query for
	// one thread reads the journal as far back as Since.
	Uncounted bool
}

// History is what a query found.
type History struct {
	Operations []thread.Operation // newest first
	// Total counts what the query matches without its limit. Without a thread
	// it is taken from the numbers, so that nothing is read for it; operations
	// that the journal lost count as well.
	Total    int
	Revision thread.Revision
	Warnings warnings.List
}

// History returns recorded operations. They include the state's own operation if the
// journal lacks it yet; damaged lines are skipped. Without a thread the cost is
// proportional to what is returned and what comes after Before. Errors: T502, T506,
// T509, T904.
func (s *Store) History(ctx context.Context, q HistoryQuery) (History, error) {
	now, err := s.load()
	if err != nil {
		return History{}, err
	}
	out := History{Revision: now.revision, Warnings: now.warnings}
	top := now.revision + 1
	if q.Before > 0 {
		top = min(top, q.Before)
	}
	for op, err := range s.newestFirst(ctx, now, span{q.Since, q.Before, string(q.Thread)}) {
		if err != nil {
			return History{}, err
		}
		if q.Thread != "" && !op.Concerns(q.Thread) {
			continue
		}
		full := func() bool { return q.Limit > 0 && len(out.Operations) >= q.Limit }
		if !full() {
			out.Operations = append(out.Operations, op)
		}
		out.Total++
		if full() && (q.Thread == "" || q.Uncounted) {
			break
		}
	}
	if q.Thread == "" {
		out.Total = max(int(top-1-q.Since), len(out.Operations))
	}
	return out, nil
}

// FindOperation returns the newest operation that want accepts; ok is false if there
// is none. It reads only as far back as that. If mark is not empty, it decodes only
// journal lines that contain mark, for example an id. Errors: T502, T506, T509, T904.
func (s *Store) FindOperation(ctx context.Context, mark string, want func(thread.Operation) bool) (found thread.Operation, ok bool, err error) {
	now, err := s.load()
	if err != nil {
		return thread.Operation{}, false, err
	}
	for op, err := range s.newestFirst(ctx, now, span{mark: mark}) {
		if err != nil || want(op) {
			return op, err == nil, err
		}
	}
	return thread.Operation{}, false, nil
}

// span is a part of the history.
type span struct {
	since, before thread.Revision // both excluded; before 0: no end
	mark          string          // only lines that hold this text are decoded
}

// newestFirst yields operations from the newest to the oldest, of each number
// the line that was written last. It reads as far back as it is asked to.
func (s *Store) newestFirst(ctx context.Context, now *loaded, part span) iter.Seq2[thread.Operation, error] {
	return func(yield func(thread.Operation, error) bool) {
		if err := s.yieldNewestFirst(ctx, now, part, func(op thread.Operation) bool { return yield(op, nil) }); err != nil {
			yield(thread.Operation{}, err)
		}
	}
}

func (s *Store) yieldNewestFirst(ctx context.Context, now *loaded, part span, yield func(thread.Operation) bool) error {
	last := part.before // the number above those that are still wanted
	if own := now.operation; own != nil && now.tail < now.revision && own.Seq > part.since && (last == 0 || own.Seq < last) {
		last = own.Seq
		if e, err := own.all(); err != nil || !yield(e.Operation) {
			return err
		}
	}
	j, err := s.openJournal()
	if err != nil || j.file == nil {
		return err
	}
	defer j.close()
	for line, err := range jsonl.Backwards(j.file, j.size) {
		if err != nil {
			return s.disk.ReadFailed(err)
		}
		if ctx.Err() != nil {
			return codes.Interrupted.Wrap(context.Cause(ctx))
		}
		seq, ok := numberOf(line)
		switch {
		case !ok || last != 0 && seq >= last: // damaged, or written twice
			continue
		case seq <= part.since:
			return nil
		}
		last = seq
		if !bytes.Contains(line, []byte(part.mark)) {
			continue
		}
		if e, ok := readEntry(line); ok && !yield(e.Operation) {
			return nil
		}
	}
	return nil
}
