package store

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"leslie/codes"
	"leslie/thread"
	"leslie/warnings"
)

// This file reads the journal for people and for observers.

// HistoryQuery says which operations are asked for; the zero value asks for all.
type HistoryQuery struct {
	Limit  int             // at most so many, the newest; 0: all
	Thread thread.ThreadID // only those that concern this thread
	Since  thread.Revision // only those with a greater number
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

// History returns recorded operations. The state's own operation is among them
// where the journal lacks it yet; damaged lines are skipped. Without a thread it
// costs what it returns. Errors: T502, T506, T509, T904.
func (s *Store) History(ctx context.Context, q HistoryQuery) (History, error) {
	now, err := s.load()
	if err != nil {
		return History{}, err
	}
	r := reading{query: q, out: History{Revision: now.revision, Warnings: now.warnings}}
	if now.operation != nil && now.tail < now.revision {
		r.take(now.operation.entry)
	}
	if err := s.readHistory(ctx, &r); err != nil {
		return History{}, err
	}
	if q.Thread == "" {
		r.out.Total = max(int(now.revision-q.Since), len(r.out.Operations))
	}
	return r.out, nil
}

func (s *Store) readHistory(ctx context.Context, r *reading) error {
	j, err := s.openJournal()
	if err != nil {
		return err
	}
	defer j.close()
	if j.file == nil {
		return nil
	}
	for line, err := range backwards(j.file, j.size) {
		if err != nil {
			return s.readFailed(err)
		}
		if ctx.Err() != nil {
			return codes.Interrupted.Wrap(context.Cause(ctx))
		}
		if !r.worth(line) {
			continue
		}
		if e, ok := readEntry(line); ok && !r.take(e) {
			return nil
		}
	}
	return nil
}

// reading is one pass over the journal, from the newest line.
type reading struct {
	query HistoryQuery
	last  thread.Revision // of the operation taken before; 0: none
	out   History
}

// worth spares decoding a line that does not even name the thread; one that
// does not count for Since ends the pass and has to be seen.
func (r *reading) worth(line []byte) bool {
	return r.query.Thread == "" || r.query.Since > 0 || bytes.Contains(line, []byte(r.query.Thread))
}

// take adds an operation that the query asks for; more is false when no older
// one is needed.
func (r *reading) take(e entry) (more bool) {
	if e.Seq <= r.query.Since {
		return false
	}
	if r.last != 0 && e.Seq >= r.last {
		return true // written twice
	}
	r.last = e.Seq
	if r.query.Thread != "" && !concerns(e.Operation, r.query.Thread) {
		return true
	}
	full := r.query.Limit > 0 && len(r.out.Operations) >= r.query.Limit
	if !full {
		r.out.Operations = append(r.out.Operations, e.Operation)
	}
	r.out.Total++
	full = r.query.Limit > 0 && len(r.out.Operations) >= r.query.Limit
	return !full || r.query.Thread != "" && !r.query.Uncounted
}

// concerns reports whether an operation is about a thread: by name, by changing
// its record, or by changing a reference that it made.
func concerns(op thread.Operation, id thread.ThreadID) bool {
	if op.ThreadID == id {
		return true
	}
	for _, c := range op.Changes {
		switch table, rest, _ := strings.Cut(c.Record, "/"); {
		case table == thread.TableThreads && rest == string(id):
			return true
		case table == thread.TableReferences && (madeBy(c.Before) == id || madeBy(c.After) == id):
			return true
		}
	}
	return false
}

func madeBy(reference json.RawMessage) thread.ThreadID {
	var ref struct {
		From thread.ThreadID `json:"from"`
	}
	if len(reference) == 0 || json.Unmarshal(reference, &ref) != nil {
		return ""
	}
	return ref.From
}
