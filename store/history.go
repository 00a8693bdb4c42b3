package store

import (
	"context"
	"iter"
	"time"

	"leslie/store/internal/journal"
	"leslie/store/internal/state"
	"leslie/thread"
	"leslie/warnings"
)

// This file reads the journal from its end: for people,
// who ask for the last operations, and for searches. cursor.go reads it forward.

// HistoryQuery selects operations; the zero value selects all.
type HistoryQuery struct {
	Limit  int             // at most so many, the newest; 0: all
	Thread thread.ThreadID // only those that concern this thread
	Since  thread.Revision // only those with a greater number
	Before thread.Revision // only those with a smaller number; 0: all
	Actor  string          // only those of this actor; "": all
	// From leaves out what is older; zero: nothing. The journal is read a day further back, because
	// clocks of machines differ.
	From time.Time
	// Uncounted leaves History.Total at what was read: without it a query for
	// one thread reads the journal as far back as Since.
	Uncounted bool
}

// History is what a query found.
type History struct {
	Operations []thread.Operation // newest first
	// UndoneBy has the operations that are undone now, whoever did it, each with the one
	// that did: of those that the query was about.
	UndoneBy map[thread.OperationID]thread.OperationID
	// Total counts what the query matches without its limit. Without a thread, an actor and a time
	// it is taken from the numbers, so that nothing is read for it; operations
	// that the journal lost count as well, and so do those before the oldest returned one
	// that others continue.
	Total    int
	Revision thread.Revision
	Warnings warnings.List
}

// History returns recorded operations, each with those that it continues as one. They include the state's own operation if the
// journal lacks it yet; damaged lines are skipped. Without a thread and an actor the cost is
// proportional to what is returned and what comes after Before. Errors: T502, T506,
// T509, T904.
func (s *Store) History(ctx context.Context, q HistoryQuery) (History, error) {
	now, err := s.files.Load()
	if err != nil {
		return History{}, err
	}
	out := History{Revision: now.Revision, Warnings: now.Warnings, UndoneBy: map[thread.OperationID]thread.OperationID{}}
	top := now.Revision + 1
	if q.Before > 0 {
		top = min(top, q.Before)
	}
	part := journal.Span{Since: q.Since, Before: q.Before}
	switch {
	case q.Thread != "":
		part.Marks = []string{string(q.Thread)}
	case thread.ValidName(q.Actor): // in JSON as it is
		part.Marks = []string{`"` + q.Actor + `"`}
	}
	filtered := q.Thread != "" || q.Actor != "" || !q.From.IsZero()
	continued, hidden := map[thread.OperationID]string{}, 0 // by what, of the same command
	for op, err := range s.newestFirst(ctx, now, part) {
		if err != nil {
			return History{}, err
		}
		if _, gone := out.UndoneBy[op.ID]; !gone && op.Undoes != "" {
			out.UndoneBy[op.Undoes] = op.ID
		}
		if op.Time.Before(q.From.Add(-24 * time.Hour)) {
			break
		}
		if q.Thread != "" && !op.Concerns(q.Thread) || q.Actor != "" && op.Actor != q.Actor || op.Time.Before(q.From) {
			continue
		}
		if op.Continues != "" {
			continued[op.Continues] = op.Command
		}
		if op.Seq >= top {
			continue
		}
		if by, is := continued[op.ID]; is && by == op.Command {
			hidden++
			continue
		}
		full := func() bool { return q.Limit > 0 && len(out.Operations) >= q.Limit }
		if !full() {
			out.Operations = append(out.Operations, op)
		}
		out.Total++
		if full() && (!filtered || q.Uncounted) {
			break
		}
	}
	if !filtered {
		out.Total = max(int(top-1-q.Since)-hidden, len(out.Operations))
	}
	return out, nil
}

// FindOperation returns the newest operation that want accepts; ok is false if there
// is none. It reads only as far back as that. If there are marks, for example an id, want
// gets only operations whose journal lines contain one of them, and those that undo or
// redo others. Errors: T502, T506, T509, T904.
func (s *Store) FindOperation(ctx context.Context, want func(thread.Operation) bool, marks ...string) (found thread.Operation, ok bool, err error) {
	now, err := s.files.Load()
	if err != nil {
		return thread.Operation{}, false, err
	}
	for op, err := range s.newestFirst(ctx, now, journal.Span{Marks: marks}) {
		if err != nil || want(op) {
			return op, err == nil, err
		}
	}
	return thread.Operation{}, false, nil
}

// newestFirst yields operations from the newest to the oldest, of each number the one
// that was written last. It reads only as far back as it has to.
func (s *Store) newestFirst(ctx context.Context, now *state.Loaded, part journal.Span) iter.Seq2[thread.Operation, error] {
	return func(yield func(thread.Operation, error) bool) {
		given := thread.Revision(0) // an operation that was not read from the journal
		give := func(e journal.Entry) bool { return e.Seq == given || yield(e.Operation, nil) }
		if own := now.Operation; own != nil && now.Tail < now.Revision && own.Seq > part.Since {
			e, err := own.All()
			if err != nil {
				yield(thread.Operation{}, err)
				return
			}
			if !give(e) {
				return
			}
			given = own.Seq
		}
		err := s.files.InJournal(func(j journal.File) error { return j.NewestFirst(ctx, part, give) })
		if err != nil {
			yield(thread.Operation{}, err)
		}
	}
}
