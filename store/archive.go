package store

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"

	"leslie/thread"
)

// This file is the archive: the records of archived threads, one sealed line
// each, so that the state costs what the live threads cost.
//
// A record is appended, and on disk, before the state leaves it out; a crash
// between the two leaves it in both, and then the state's counts. Of several
// lines of one record the last counts.

// archived is one line of the archive.
type archived struct {
	Record string          `json:"record"` // TABLE/ID
	Value  json.RawMessage `json:"value"`
	Seq    thread.Revision `json:"seq"` // of the operation that archived it
}

// appendArchive puts the records that an operation archives on disk.
func (s *Store) appendArchive(changes []thread.Change, seq thread.Revision) error {
	if len(changes) == 0 {
		return nil
	}
	lines := make([][]byte, 0, len(changes))
	for _, c := range changes {
		value := c.After
		if value == nil {
			value = c.Before
		}
		body, err := plainJSON(archived{c.Record, value, seq})
		if err != nil {
			return err
		}
		lines = append(lines, seal(body))
	}
	return s.appendLines(ArchiveFile, lines...)
}

// readArchive calls fn for the intact lines, oldest first, and returns how many
// were damaged. A missing archive has none; one that is no regular file counts
// as one damaged line. Errors: T509.
func (s *Store) readArchive(fn func(archived)) (bad int, err error) {
	data, _, err := readRegular(s.Path(ArchiveFile))
	var d damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case errors.As(err, &d):
		return 1, nil
	case err != nil:
		return 0, s.readFailed(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		var a archived
		switch {
		case line == "":
		case !intact([]byte(line)) || json.Unmarshal([]byte(line), &a) != nil:
			bad++
		default:
			fn(a)
		}
	}
	return bad, nil
}

// cold answers for what the State does not hold. It reads the archive once, and
// only when asked.
type cold struct {
	store   *Store
	records thread.Records // of the state that was loaded
	tables  map[string][]thread.Line
}

// Taken reports whether a thread of this id ever had a folder.
func (c *cold) Taken(id thread.ThreadID) bool {
	_, err := os.Lstat(c.store.Path(ThreadsDir + "/" + string(id)))
	return err == nil
}

// Archived returns the archived lines of a table in the order of their ids.
func (c *cold) Archived(table string) ([]thread.Line, error) {
	if c.tables == nil {
		if err := c.read(); err != nil {
			return nil, err
		}
	}
	return c.tables[table], nil
}

func (c *cold) read() error {
	last := map[string][]byte{}
	_, err := c.store.readArchive(func(a archived) { last[a.Record] = a.Value })
	if err != nil {
		return err
	}
	c.tables = map[string][]thread.Line{}
	for record, value := range last {
		table, id, _ := strings.Cut(record, "/")
		if !holds(c.records[table], id) {
			c.tables[table] = append(c.tables[table], thread.Line{ID: id, JSON: value})
		}
	}
	for _, lines := range c.tables {
		slices.SortFunc(lines, func(a, b thread.Line) int { return strings.Compare(a.ID, b.ID) })
	}
	return nil
}

// holds reports whether sorted lines have one of this id.
func holds(lines []thread.Line, id string) bool {
	i := sort.Search(len(lines), func(i int) bool { return lines[i].ID >= id })
	return i < len(lines) && lines[i].ID == id
}
