package store

import (
	"fmt"

	"leslie/store/internal/archive"
	"leslie/thread"
)

// This file checks the archive together with the journal, which has the same records:
// each can restore what the other lacks.

func (x *examination) archive() error {
	if x.store.irregular(ArchiveFile) {
		x.repairable("T502", ArchiveFile, "it is no file", (*repairRun).archive)
	}
	if x.now == nil {
		return nil
	}
	all, bad, err := x.store.compareArchive(x.now, x.movedOn)
	if err != nil {
		x.noArchive = true
		if !x.noJournal { // else reported already
			x.unreadableAt(ArchiveFile, err)
		}
		return nil
	}
	x.archived = all
	if bad > 0 && !x.store.irregular(ArchiveFile) {
		x.note("T502", ArchiveFile, damagedIn(bad)+", and skipped")
	}
	if len(all.Missing) > 0 {
		x.repairable("T502", ArchiveFile, "records that the journal archived are missing: "+recordsOf(all.Missing), (*repairRun).archive)
	}
	if len(all.Unjournaled) > 0 {
		x.repairable("T502", JournalFile, "it could not restore from the archive: "+recordsOf(all.Unjournaled), (*repairRun).baseline)
	}
	return nil
}

// damagedIn says how many lines of a file are damaged.
func damagedIn(lines int) string {
	if lines == 1 {
		return "1 line is damaged"
	}
	return fmt.Sprintf("%d lines are damaged", lines)
}

func recordsOf(lines []archive.Line) string {
	names := make([]string, len(lines))
	for i, a := range lines {
		names[i] = a.Record
	}
	return some(names)
}

// counters compares the objectives' counts with the archive.
func (x *examination) counters() error {
	if x.now == nil || x.noArchive {
		return nil
	}
	counts := map[thread.ObjectiveID]int{}
	for _, t := range x.records.threads {
		if t.archived {
			counts[t.record.ObjectiveID]++
		}
	}
	reported := false
	for _, o := range x.records.objectives {
		switch have := counts[o.ID]; {
		case have > o.Archived:
			x.repairable("T502", StateFile, fmt.Sprintf("the objective '%s' counts %d archived threads, but the archive has %d", o.ID, o.Archived, have), (*repairRun).counters)
		case have < o.Archived:
			reported = true
			x.permanent("T502", ArchiveFile, fmt.Sprintf("%d archived threads of the objective '%s' are missing, and the journal does not have them", o.Archived-have, o.ID))
		}
	}
	if lack := x.archived.Lack(); lack != "" && !reported {
		x.permanent("T502", ArchiveFile, lack+", and the journal does not have them")
	}
	return nil
}
