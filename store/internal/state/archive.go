package state

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"leslie/internal/fact"
	"leslie/store/internal/archive"
	"leslie/store/internal/journal"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/thread"
	"leslie/warnings"
)

// This file reads and appends to the archive. Readers notice damaged or missing lines,
// look for missing records in the journal, warn (W502) and do not change the file;
// doctor --repair adds them.

// AppendArchive appends lines to the archive, durably. Errors: T505.
func (s *Writer) AppendArchive(lines []archive.Line) error {
	if len(lines) == 0 {
		return nil
	}
	sealed, err := archive.Seal(lines)
	if err != nil {
		return err
	}
	return s.AppendLines(ArchiveFile, sealed...)
}

// readArchive calls fn for the intact lines, oldest first, and returns the number of
// damaged ones. A missing archive is empty; one that is not a regular file counts as
// one damaged line. Errors: T509.
func (s *Files) readArchive(fn func(archive.Line)) (bad int, err error) {
	data, _, err := saferoot.ReadUpTo(s.Path(ArchiveFile), math.MaxInt64)
	var d saferoot.Damage
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case errors.As(err, &d):
		return 1, nil
	case err != nil:
		return 0, s.ReadFailed(err)
	}
	return archive.Read(data, fn), nil
}

// archiveSource implements thread.ArchiveSource. It reads the archive once, and only if needed.
type archiveSource struct {
	store  *Files
	now    *Loaded // its warnings get W502 for an archive that lacks records
	all    *archive.Records
	tables map[string][]thread.Line
	taken  map[thread.ThreadID]bool
	// folders are the names in the folder of the threads, by the name in lower case.
	folders map[string]thread.ThreadID
	// looked is how many ids were looked for by name instead.
	looked int
}

// Exists reports whether a thread with this id ever had a folder. It checks for the
// folder only once.
func (c *archiveSource) Exists(id thread.ThreadID) bool {
	taken, known := c.taken[id]
	if !known {
		_, err := os.Lstat(c.store.Path(scan.Threads + "/" + string(id)))
		taken = err == nil
		if c.taken == nil {
			c.taken = map[thread.ThreadID]bool{}
		}
		c.taken[id] = taken
	}
	return taken
}

// manyLooks is how many ids are looked for by name before it is cheaper to read all names.
const manyLooks = 16

// Alike returns the name of a folder of a thread that differs from an id in upper and lower
// case only, "" for none. For an id in lower case it looks for Name and NAME alone: most ids
// are, and reading all names would make each new thread cost more than the one before. A
// batch that makes many threads reads them all, once.
func (c *archiveSource) Alike(id thread.ThreadID) thread.ThreadID {
	text := string(id)
	if text == strings.ToLower(text) && c.looked < manyLooks {
		c.looked++
		for _, name := range []string{strings.ToUpper(text[:1]) + text[1:], strings.ToUpper(text)} {
			if name != text && c.Exists(thread.ThreadID(name)) {
				return thread.ThreadID(name)
			}
		}
		return ""
	}
	if c.folders == nil {
		c.folders = map[string]thread.ThreadID{}
		folder, err := os.Open(c.store.Path(scan.Threads))
		if err != nil {
			return "" // a new store, or one in which nothing can be made
		}
		defer folder.Close()
		names, _ := folder.Readdirnames(-1)
		for _, name := range names {
			c.folders[strings.ToLower(name)] = thread.ThreadID(name)
		}
	}
	return c.folders[strings.ToLower(text)]
}

// Archived returns the archived lines of a table in the order of their ids. Errors: T509.
func (s *Files) Archived(now *Loaded, table string) ([]thread.Line, error) {
	return (&archiveSource{store: s, now: now}).Archived(table)
}

// Archived returns the archived lines of a table in the order of their ids.
func (c *archiveSource) Archived(table string) ([]thread.Line, error) {
	err := c.read()
	return c.tables[table], err
}

// HasLine reports whether the archive has a line of a record, whether or not the line
// counts.
func (c *archiveSource) HasLine(table, id string) (bool, error) {
	if err := c.read(); err != nil {
		return false, err
	}
	return c.all.Has(table, id), nil
}

func (c *archiveSource) read() error {
	if c.tables != nil {
		return nil
	}
	all := archive.New(c.now.Records, c.now.Revision)
	bad, err := c.store.readArchive(all.Put)
	if err != nil {
		return err
	}
	if op := c.now.Operation; c.now.Tail < c.now.Revision && op.Adopts() { // which the archive gets after the commit
		own, err := op.All()
		if err != nil {
			return err
		}
		all.Add(archive.LinesOf(own.Archived, own.Seq))
	}
	if bad > 0 || all.Lack() != "" {
		if err := c.refill(all, bad); err != nil {
			return err
		}
	}
	c.all, c.tables = all, all.Tables()
	return nil
}

// refill searches the journal for what the archive lacks. Errors: T509.
func (c *archiveSource) refill(all *archive.Records, bad int) error {
	reason, replayed := cmp.Or(all.Lack(), archive.DamagedLines(bad)), 0
	operations, err := c.store.journaledArchive(c.now)
	if err != nil {
		return err
	}
	for _, lines := range operations {
		if all.Add(lines) {
			replayed++
		}
	}
	lost := all.Lack()
	if replayed == 0 && lost == "" {
		return nil // the damaged lines stood for nothing: an archiving that was cut off
	}
	c.now.Warnings.Add(warnings.Recovered.New(
		fact.Of("path", c.store.Relative(c.store.Path(ArchiveFile))),
		fact.Of("reason", reason),
		fact.Of("revision", c.now.Revision),
		fact.Of("replayed", replayed),
		fact.Of("lost", cmp.Or(lost, "nothing")),
	))
	return nil
}

// journaledArchive returns the archive's lines that the journal has, up to the state's
// operation, by their operations, oldest first. Errors: T509.
func (s *Files) journaledArchive(now *Loaded) (operations [][]archive.Line, err error) {
	next := now.Revision + 1
	take := func(e journal.Entry) bool {
		if e.Seq >= next { // written twice, or the store went back behind it
			return true
		}
		next = e.Seq
		if lines := e.ArchiveLines(); len(lines) > 0 {
			operations = append(operations, lines)
		}
		return true
	}
	if now.Operation != nil { // the journal may lack it
		own, err := now.Operation.All()
		if err != nil {
			return nil, err
		}
		take(own)
	}
	err = s.InJournal(func(j journal.File) error { return j.Newest(take) })
	slices.Reverse(operations)
	return operations, err
}

// CompareArchive compares archive and journal. Lines of operations after the state's
// count, unless a newer state exists by now; bad is the number of damaged lines.
// Errors: T509.
func (s *Files) CompareArchive(now *Loaded, movedOn func() bool) (all archive.Comparison, bad int, err error) {
	records := archive.New(now.Records, now.Revision)
	var later []archive.Line
	bad, err = s.readArchive(func(line archive.Line) {
		if line.Seq <= now.Revision {
			records.Put(line)
		} else {
			later = append(later, line)
		}
	})
	if err != nil {
		return all, bad, err
	}
	if len(later) > 0 && !movedOn() {
		for _, line := range later {
			records.Put(line)
		}
	}
	operations, err := s.journaledArchive(now)
	if err != nil {
		return all, bad, err
	}
	return records.Compare(operations), bad, nil
}
