package store

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"leslie/thread"
)

// This file reads the whole journal: what it can rebuild, and what it lacks.

// history is all intact lines of the journal.
type history struct {
	entries []entry // by number, each once: of two with one number the later line
	bad     int     // damaged lines
	broken  string  // why there is no file to read, where there ought to be one
}

// readHistoryOf reads the journal from its end to its beginning. Errors: T509.
func (s *Store) readHistoryOf() (history, error) {
	j, err := s.openJournal()
	if err != nil {
		return history{}, err
	}
	defer j.close()
	h := history{broken: j.broken}
	if j.file == nil {
		return h, nil
	}
	found := map[thread.Revision]entry{}
	for line, err := range backwards(j.file, j.size) {
		if err != nil {
			return history{}, s.readFailed(err)
		}
		e, ok := readEntry(line)
		if !ok {
			h.bad++
		} else if _, twice := found[e.Seq]; !twice {
			found[e.Seq] = e
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(found)) {
		h.entries = append(h.entries, found[seq])
	}
	return h, nil
}

// base is the index of the entry from which a state can be rebuilt: the newest
// baseline, else the first.
func (h history) base() int {
	for i := len(h.entries) - 1; i > 0; i-- {
		if h.entries[i].Baseline {
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
		if m.operation.Baseline {
			return 0, 0
		}
	}
	entries := h.entries[h.base():]
	if len(entries) > 0 && entries[0].Baseline {
		want = entries[0].Seq
	}
	for _, e := range entries {
		if e.Seq > want {
			return want, e.Seq - 1
		}
		want = e.Seq + 1
	}
	if want <= top {
		return want, top
	}
	return 0, 0
}

// unarchived returns the records that the journal saw go to the archive and
// that are neither there nor in the state.
func (h history) unarchived(archive map[string]bool, records thread.Records) []thread.Change {
	last := map[string]thread.Change{}
	for _, e := range h.entries {
		for _, c := range e.Archived {
			last[c.Record] = c
		}
	}
	var out []thread.Change
	for _, record := range slices.Sorted(maps.Keys(last)) {
		table, id, _ := strings.Cut(record, "/")
		if !archive[record] && !holds(records[table], id) {
			out = append(out, last[record])
		}
	}
	return out
}

// rebuild makes a state of the journal alone. Where operations are missing, the
// later ones are applied all the same: each carries its records whole. ok is
// false when the journal holds nothing to build from.
func (h history) rebuild() (m image, ok bool) {
	m = image{records: thread.Records{}}
	if len(h.entries) == 0 {
		return m, false
	}
	for _, e := range h.entries[h.base():] {
		if next, err := replayed(m, e); err == nil {
			m, ok = next, true
		}
	}
	return m, ok
}

// rebuildable reports whether Repair can make a state where neither file is
// whole.
func (s *Store) rebuildable() bool {
	h, err := s.readHistoryOf()
	return err == nil && (len(h.entries) > 0 || s.untouched(h))
}

// untouched reports whether nothing ever happened in the store: no operation,
// no archive, no thread. Then, and only then, the state is the empty one.
func (s *Store) untouched(h history) bool {
	entries, err := os.ReadDir(s.Path(ThreadsDir))
	none := err == nil && len(entries) == 0 || errors.Is(err, fs.ErrNotExist)
	return none && h.bad == 0 && h.broken == "" && len(h.entries) == 0 && !exists(s.Path(ArchiveFile))
}
