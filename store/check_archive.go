package store

import (
	"fmt"
	"maps"
	"slices"

	"leslie/store/internal/jsonl"
	"leslie/thread"
)

// This file checks the archive together with the journal, which has the same records:
// each can restore what the other lacks.

func (x *examination) archive() error {
	if x.store.irregular(ArchiveFile) {
		x.mendable("T502", ArchiveFile, "it is no file", (*mending).archive)
	}
	if x.now == nil {
		return nil
	}
	all, err := x.store.archiveOf(x.now, x.movedOn)
	if err != nil {
		x.noCold = true
		if !x.noHistory { // else told already
			x.cannotTell(ArchiveFile, err)
		}
		return nil
	}
	x.cold = all
	if all.bad > 0 && !x.store.irregular(ArchiveFile) {
		x.note("T502", ArchiveFile, fmt.Sprintf("%d damaged lines, which are skipped", all.bad))
	}
	if len(all.gone) > 0 {
		x.mendable("T502", ArchiveFile, "records that the journal archived are missing: "+recordsOf(all.gone), (*mending).archive)
	}
	if len(all.alone) > 0 {
		x.mendable("T502", JournalFile, "it could not restore from the archive: "+recordsOf(all.alone), (*mending).baseline)
	}
	return nil
}

func recordsOf(lines []archived) string {
	names := make([]string, len(lines))
	for i, a := range lines {
		names[i] = a.Record
	}
	return some(names)
}

// counters compares the objectives' counts with the archive.
func (x *examination) counters() error {
	if x.now == nil || x.noCold {
		return nil
	}
	counts := map[thread.ObjectiveID]int{}
	for _, t := range x.census.threads {
		if t.archived {
			counts[t.record.ObjectiveID]++
		}
	}
	told := false
	for _, o := range x.census.objectives {
		switch have := counts[o.ID]; {
		case have > o.Archived:
			x.mendable("T502", StateFile, fmt.Sprintf("the objective '%s' counts %d archived threads, but the archive has %d", o.ID, o.Archived, have), (*mending).counters)
		case have < o.Archived:
			told = true
			x.lasting("T502", ArchiveFile, fmt.Sprintf("%d archived threads of the objective '%s' are missing, and the journal does not have them", o.Archived-have, o.ID))
		}
	}
	if lack := x.cold.lack(); lack != "" && !told {
		x.lasting("T502", ArchiveFile, lack+", and the journal does not have them")
	}
	return nil
}

// wholeArchive has the archived records of archive and journal together.
type wholeArchive struct {
	*stacks
	bad   int        // damaged lines of the archive
	kept  []archived // the lines that count, in the order of their records
	gone  []archived // what the journal has and the archive lacks, by operation
	alone []archived // what the archive has and the journal lacks
}

// archiveOf reads archive and journal. Lines of operations after the state's count,
// unless a newer state exists by now. Errors: T509.
func (s *Store) archiveOf(now *loaded, movedOn func() bool) (all wholeArchive, err error) {
	all.stacks = newStacks(now)
	var later []archived
	all.bad, err = s.readArchive(func(a archived) {
		if a.Seq <= now.revision {
			all.put(a)
		} else {
			later = append(later, a)
		}
	})
	if err != nil {
		return all, err
	}
	if len(later) > 0 && !movedOn() {
		for _, a := range later {
			all.put(a)
		}
	}
	ops, err := (&archiveSource{store: s, now: now}).archivings()
	if err != nil {
		return all, err
	}
	journaled := map[archivedAt]bool{}
	for _, e := range ops {
		for _, lines := range [][]archived{archivedBy(e.Archived, e.Seq), e.Archive} {
			for _, a := range lines {
				journaled[archivedAt{a.Record, a.Seq}] = true
			}
			all.giveBack(lines)
		}
	}
	for _, record := range slices.Sorted(maps.Keys(all.last)) {
		if a := all.last[record]; !all.live(record) && all.wentWithItsThread(record, a) {
			all.kept = append(all.kept, a)
			if !journaled[archivedAt{record, a.Seq}] {
				all.alone = append(all.alone, a)
			}
		}
	}
	return all, nil
}

// giveBack adds journal lines that the archive lacks, with the others of their
// operation, because a line counts those that follow it.
func (all *wholeArchive) giveBack(lines []archived) {
	lacking := map[archivedAt]bool{}
	for _, a := range lines {
		if at := (archivedAt{a.Record, a.Seq}); !all.lines[at] && !all.live(a.Record) {
			lacking[archivedAt{seq: a.Seq}] = true
		}
	}
	for _, a := range lines {
		if lacking[archivedAt{seq: a.Seq}] {
			all.gone = append(all.gone, a)
			all.put(a)
		}
	}
}

// appendArchived puts lines back as they were. Errors: T505.
func (s *Store) appendArchived(lines []archived) error {
	sealed := make([][]byte, 0, len(lines))
	for _, a := range lines {
		body, err := plainJSON(a)
		if err != nil {
			return err
		}
		sealed = append(sealed, jsonl.Seal(body))
	}
	return s.disk.AppendLines(ArchiveFile, sealed...)
}
