package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"leslie/internal/fact"
	"leslie/store/internal/jsonl"
	"leslie/store/internal/saferoot"
	"leslie/thread"
	"leslie/warnings"
)

// This file implements the archive: the records of archived threads, one sealed line
// each, so that the cost of the state depends only on live threads.
//
// A record is appended durably before the state drops it. A crash in between leaves it
// in both, and then the state's record counts; the same is true for a thread whose
// archiving was undone. Of several lines for one record the last counts. References
// and grants count while their thread is archived, and only if they were archived with
// it the last time.
//
// Readers notice a damaged or missing line: objectives count their archived threads,
// and a line says how many lines of its operation follow. They look for missing
// records in the journal, which has the same records, warn (W502) and do not change
// the file; doctor --repair adds them.

// archived is one line of the archive.
type archived struct {
	Record string          `json:"record"` // TABLE/ID
	Value  json.RawMessage `json:"value"`
	Seq    thread.Revision `json:"seq"` // of the operation that archived it
	// Left is the number of following lines of the same operation.
	Left int `json:"left,omitempty"`
}

// archivedBy returns the lines that an operation writes.
func archivedBy(changes []thread.Change, seq thread.Revision) []archived {
	out := make([]archived, len(changes))
	for i, c := range changes {
		value := c.After
		if value == nil {
			value = c.Before
		}
		out[i] = archived{c.Record, value, seq, len(changes) - 1 - i}
	}
	return out
}

// appendArchive appends the records that an operation archives, durably.
func (s *Store) appendArchive(changes []thread.Change, seq thread.Revision) error {
	if len(changes) == 0 {
		return nil
	}
	lines := make([][]byte, 0, len(changes))
	for _, a := range archivedBy(changes, seq) {
		body, err := plainJSON(a)
		if err != nil {
			return err
		}
		lines = append(lines, jsonl.Seal(body))
	}
	return s.disk.AppendLines(ArchiveFile, lines...)
}

// readArchive calls fn for the intact lines, oldest first, and returns the number of
// damaged ones. A missing archive is empty; one that is not a regular file counts as
// one damaged line. Errors: T509.
func (s *Store) readArchive(fn func(archived)) (bad int, err error) {
	data, _, err := saferoot.ReadUpTo(s.Path(ArchiveFile), math.MaxInt64)
	var d saferoot.Damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case errors.As(err, &d):
		return 1, nil
	case err != nil:
		return 0, s.disk.ReadFailed(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		var a archived
		switch {
		case line == "":
		case !jsonl.Intact([]byte(line)) || json.Unmarshal([]byte(line), &a) != nil:
			bad++
		default:
			fn(a)
		}
	}
	return bad, nil
}

// archiveSource implements thread.Cold. It reads the archive once, and only if needed.
type archiveSource struct {
	store  *Store
	now    *loaded // its warnings get W502 for an archive that lacks records
	all    *stacks
	tables map[string][]thread.Line
	taken  map[thread.ThreadID]bool
}

// Exists reports whether a thread with this id ever had a folder. It checks for the
// folder only once.
func (c *archiveSource) Exists(id thread.ThreadID) bool {
	taken, known := c.taken[id]
	if !known {
		_, err := os.Lstat(c.store.Path(ThreadsDir + "/" + string(id)))
		taken = err == nil
		if c.taken == nil {
			c.taken = map[thread.ThreadID]bool{}
		}
		c.taken[id] = taken
	}
	return taken
}

// Archived returns the archived lines of a table in the order of their ids.
func (c *archiveSource) Archived(table string) ([]thread.Line, error) {
	err := c.read()
	return c.tables[table], err
}

// HasLine reports whether the archive has a line of a record, whether or not the line
// counts.
func (c *archiveSource) HasLine(table, id string) (bool, error) {
	err := c.read()
	if err != nil {
		return false, err
	}
	_, ok := c.all.last[table+"/"+id]
	return ok, nil
}

func (c *archiveSource) read() error {
	if c.tables != nil {
		return nil
	}
	all := newStacks(c.now)
	bad, err := c.store.readArchive(all.put)
	if err != nil {
		return err
	}
	if bad > 0 || all.lack() != "" {
		if err := c.refill(all, bad); err != nil {
			return err
		}
	}
	c.all, c.tables = all, all.tables()
	return nil
}

// refill searches the journal for what the archive lacks. Errors: T509.
func (c *archiveSource) refill(all *stacks, bad int) error {
	reason, replayed := cmp.Or(all.lack(), fmt.Sprintf("%d damaged lines", bad)), 0
	ops, err := c.archivings()
	if err != nil {
		return err
	}
	for _, e := range ops {
		if all.add(append(archivedBy(e.Archived, e.Seq), e.Archive...)) {
			replayed++
		}
	}
	lost := all.lack()
	if replayed == 0 && lost == "" {
		return nil // the damaged lines stood for nothing: an archiving that was cut off
	}
	c.now.warnings.Add(warnings.Recovered.New(
		fact.Of("path", c.store.disk.Relative(c.store.Path(ArchiveFile))),
		fact.Of("reason", reason),
		fact.Of("revision", c.now.revision),
		fact.Of("replayed", replayed),
		fact.Of("lost", cmp.Or(lost, "nothing")),
	))
	return nil
}

// archivings returns the operations up to the state's that archived records, oldest
// first. Errors: T509.
func (c *archiveSource) archivings() (ops []entry, err error) {
	next := c.now.revision + 1
	take := func(e entry) bool {
		if e.Seq < next { // else written twice, or the store went back behind it
			next = e.Seq
			if len(e.Archived)+len(e.Archive) > 0 {
				ops = append(ops, e)
			}
		}
		return true
	}
	if op := c.now.operation; op != nil {
		own, err := op.all()
		if err != nil {
			return nil, err
		}
		take(own) // the journal may lack it
	}
	j, err := c.store.openJournal()
	if err != nil {
		return nil, err
	}
	defer j.close()
	err = j.newest(take)
	slices.Reverse(ops)
	return ops, c.store.disk.ReadFailed(err)
}

// stacks has the archive's records, and what they say about each other.
type stacks struct {
	now   *loaded
	last  map[string]archived // by record
	lines map[archivedAt]bool
	left  map[thread.Revision]map[int]bool // which of an operation's lines are there
}

type archivedAt struct {
	record string
	seq    thread.Revision
}

func newStacks(now *loaded) *stacks {
	return &stacks{now: now, last: map[string]archived{}, lines: map[archivedAt]bool{}, left: map[thread.Revision]map[int]bool{}}
}

// put adds the next line of the archive.
func (all *stacks) put(a archived) {
	if a.Seq >= all.last[a.Record].Seq {
		all.last[a.Record] = a
	}
	all.lines[archivedAt{a.Record, a.Seq}] = true
	if all.left[a.Seq] == nil {
		all.left[a.Seq] = map[int]bool{}
	}
	all.left[a.Seq][a.Left] = true
}

// add adds the missing lines of an operation; some reports whether one of them counts.
func (all *stacks) add(lines []archived) (some bool) {
	for _, a := range lines {
		if !all.lines[archivedAt{a.Record, a.Seq}] {
			all.put(a)
			some = some || !all.live(a.Record)
		}
	}
	return some
}

func (all *stacks) live(record string) bool {
	table, id, _ := strings.Cut(record, "/")
	_, there := thread.LineOf(all.now.records[table], id)
	return there
}

// lack describes the missing records, "" if none is known to be missing.
func (all *stacks) lack() string {
	threads, parts := all.counted(), 0
	for record := range all.last {
		if strings.HasPrefix(record, thread.TableThreads+"/") && !all.live(record) {
			threads--
		}
	}
	for record, a := range all.last {
		if a.Left > 0 && a.Seq <= all.now.revision && !all.left[a.Seq][a.Left-1] && !all.live(record) {
			parts++
		}
	}
	switch {
	case threads > 0:
		return fmt.Sprintf("%d archived threads are missing", threads)
	case parts > 0:
		return fmt.Sprintf("references of %d archived threads are missing", parts)
	}
	return ""
}

// counted is how many threads the objectives count as archived.
func (all *stacks) counted() (n int) {
	for _, line := range all.now.records[thread.TableObjectives] {
		var o thread.Objective
		if json.Unmarshal(line.JSON, &o) == nil {
			n += o.Archived
		}
	}
	return n
}

// tables returns the records that are not in the state, ordered by id.
func (all *stacks) tables() map[string][]thread.Line {
	out := map[string][]thread.Line{}
	for record, a := range all.last {
		if table, id, _ := strings.Cut(record, "/"); !all.live(record) && all.wentWithItsThread(record, a) {
			out[table] = append(out[table], thread.Line{ID: id, JSON: a.Value})
		}
	}
	for _, lines := range out {
		slices.SortFunc(lines, func(a, b thread.Line) int { return strings.Compare(a.ID, b.ID) })
	}
	return out
}

// wentWithItsThread reports whether a reference or a grant was archived with its
// thread the last time: after an undo the thread may have come back, lost it, and been
// archived without it.
func (all *stacks) wentWithItsThread(record string, a archived) bool {
	table, _, _ := strings.Cut(record, "/")
	var owner struct {
		From     string `json:"from"`     // of a reference
		ThreadID string `json:"threadId"` // of a grant
	}
	if table != thread.TableReferences && table != thread.TableApprovals || json.Unmarshal(a.Value, &owner) != nil {
		return true
	}
	thread := thread.TableThreads + "/" + owner.From + owner.ThreadID
	own, known := all.last[thread]
	return !all.live(thread) && (!known || a.Seq >= own.Seq)
}
