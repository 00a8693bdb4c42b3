package store

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"leslie/thread"
)

// This file reads the whole journal: what it can rebuild, and what it lacks. It keeps
// an index of the lines, not the lines, because a journal only grows.

// history is the journal from its beginning to its end.
type history struct {
	// lines are the intact lines that count, by their numbers, which grow. Of two
	// lines with one number the later counts. So does one whose number is smaller
	// than that of a line in front of it: the store went back there, and what the
	// older lines say of later operations never came to be.
	lines  []lineAt
	bad    []int           // damaged lines, counted from 1
	broken string          // why there is no file to read, where there ought to be one
	torn   bool            // the last line is damaged
	newest thread.Revision // the greatest number of any intact line
	// answers are what requests of the last days are owed, by the file that keeps
	// it, as far as the journal knows: it does not hold the answers themselves.
	answers map[string]answer
}

// lineAt is where a line of the journal lies.
type lineAt struct {
	seq      thread.Revision
	at       int64
	size     int
	baseline bool
}

// readHistoryOf reads the journal. Errors: T509.
func (s *Store) readHistoryOf() (history, error) {
	h := history{answers: map[string]answer{}}
	j, err := s.openJournal()
	if err != nil {
		return h, err
	}
	defer j.close()
	h.broken = j.broken
	if j.file == nil {
		return h, nil
	}
	in := bufio.NewReaderSize(io.NewSectionReader(j.file, 0, j.size), readAhead)
	at := int64(0)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		h.take(n, at, bytes.TrimSuffix(line, []byte("\n")), s.now())
		at += int64(len(line))
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return h, s.disk.ReadFailed(err)
		}
	}
}

func (h *history) take(n int, at int64, line []byte, now time.Time) {
	if len(line) == 0 {
		return
	}
	e, ok := readEntry(line)
	h.torn = !ok
	if !ok {
		h.bad = append(h.bad, n)
		return
	}
	keep := len(h.lines)
	for keep > 0 && h.lines[keep-1].seq >= e.Seq {
		keep--
	}
	h.lines = append(h.lines[:keep], lineAt{seq: e.Seq, at: at, size: len(line), baseline: e.Baseline})
	h.newest = max(h.newest, e.Seq)
	if e.RequestID != "" && now.Sub(e.Time) <= remembered {
		h.answers[requestFile(e.RequestID)] = owed(e)
	}
}

// last is the number of the newest line that counts, 0 when there is none.
func (h history) last() thread.Revision {
	if len(h.lines) == 0 {
		return 0
	}
	return h.lines[len(h.lines)-1].seq
}

// base is the index of the line from which a state can be rebuilt: the newest
// baseline, else the first.
func (h history) base() int {
	for i := len(h.lines) - 1; i > 0; i-- {
		if h.lines[i].baseline {
			return i
		}
	}
	return 0
}

// gap is the first run of operations that the journal lacks for rebuilding the
// state; 0 when it lacks none. The state's own operation, which the next write
// appends, is not missing.
func (h history) gap(m image) (first, last thread.Revision) {
	want := thread.Revision(1)
	top := m.revision
	if m.operation != nil {
		top--
		if e, err := m.operation.all(); err == nil && e.Baseline {
			return 0, 0
		}
	}
	lines := h.lines[h.base():]
	if len(lines) > 0 && lines[0].baseline {
		want = lines[0].seq
	}
	for _, line := range lines {
		if line.seq > want {
			return want, line.seq - 1
		}
		want = line.seq + 1
	}
	if want <= top {
		return want, top
	}
	return 0, 0
}

// replay calls fn for the operations from which a state can be rebuilt, oldest
// first, until it returns false. A line that has changed since the index was made
// is passed over. Errors: T509.
func (s *Store) replay(h history, fn func(entry) bool) error {
	j, err := s.openJournal()
	if err != nil || j.file == nil {
		return err
	}
	defer j.close()
	for _, line := range h.lines[h.base():] {
		data := make([]byte, line.size)
		if _, err := j.file.ReadAt(data, line.at); err != nil && !errors.Is(err, io.EOF) {
			return s.disk.ReadFailed(err)
		}
		if e, ok := readEntry(data); ok && e.Seq == line.seq && !fn(e) {
			return nil
		}
	}
	return nil
}

// rebuild makes a state of the journal alone. Where operations are missing, the
// later ones are applied all the same: each carries its records whole, but for long
// texts that it left alone, which are those of the lines in front of it. ok is false when the journal holds nothing to build from. Errors: T509.
func (s *Store) rebuild(h history) (m image, ok bool, err error) {
	m = image{records: thread.Records{}}
	err = s.replay(h, func(e entry) bool {
		if next, err := replayed(m, e); err == nil {
			m, ok = next, true
		}
		return true
	})
	return m, ok, err
}

// givesBack returns the records for which the journal does not say what the
// state says, in order. Errors: T509.
func (s *Store) givesBack(h history, m image) (differing []string, err error) {
	last := map[string][]byte{}
	note := func(e entry) {
		for _, c := range e.Changes {
			last[c.Record] = c.Whole(last[c.Record])
		}
	}
	err = s.replay(h, func(e entry) bool {
		if e.Seq <= m.revision {
			note(e)
		}
		return e.Seq < m.revision
	})
	if m.operation != nil {
		e, err := m.operation.all()
		if err != nil {
			return nil, err
		}
		note(e) // the journal may lack it yet
	}
	for _, table := range thread.Tables() {
		for _, line := range m.records[table] {
			record := table + "/" + line.ID
			if !bytes.Equal(last[record], line.JSON) {
				differing = append(differing, record)
			}
			delete(last, record)
		}
	}
	for record, after := range last {
		if len(after) > 0 && string(after) != "null" {
			differing = append(differing, record)
		}
	}
	slices.Sort(differing)
	return differing, err
}

// rebuildable reports whether Repair can make a state where neither file is
// whole.
func (s *Store) rebuildable() bool {
	h, err := s.readHistoryOf()
	return err == nil && (len(h.lines) > 0 || s.untouched(h))
}

// untouched reports whether nothing ever happened in the store: no operation,
// no archive, no thread. Then, and only then, the state is the empty one.
func (s *Store) untouched(h history) bool {
	entries, err := os.ReadDir(s.Path(ThreadsDir))
	none := err == nil && len(entries) == 0 || errors.Is(err, fs.ErrNotExist)
	return none && len(h.bad) == 0 && h.broken == "" && len(h.lines) == 0 && !exists(s.Path(ArchiveFile))
}
