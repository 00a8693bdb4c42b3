package doctor

import (
	"fmt"

	"leslie/store"
	"leslie/store/internal/archive"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file checks the archive together with the journal, which has the same records:
// each can restore what the other lacks.

func (x *examination) archive() error {
	if saferoot.Irregular(x.Store.Path(store.ArchiveFile)) {
		x.repairable("T502", store.ArchiveFile, "it is no file", (*repairRun).archive)
	}
	if x.now == nil {
		return nil
	}
	all, bad, err := x.files.CompareArchive(x.now, x.movedOn)
	if err != nil {
		x.noArchive = true
		if !x.noJournal { // else reported already
			x.unreadableAt(store.ArchiveFile, err)
		}
		return nil
	}
	x.archived = all
	if bad > 0 && !saferoot.Irregular(x.Store.Path(store.ArchiveFile)) {
		x.note("T502", store.ArchiveFile, archive.DamagedLines(bad)+", and skipped")
	}
	if len(all.Missing) > 0 {
		x.repairable("T502", store.ArchiveFile, "records that the journal archived are missing: "+recordsOf(all.Missing), (*repairRun).archive)
	}
	if len(all.Unjournaled) > 0 {
		x.repairable("T502", store.JournalFile, "it could not restore from the archive: "+recordsOf(all.Unjournaled), (*repairRun).baseline)
	}
	return nil
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
			x.repairable("T502", store.StateFile, fmt.Sprintf("the objective '%s' counts %d archived threads, but the archive has %d", o.ID, o.Archived, have), (*repairRun).counters)
		case have < o.Archived:
			reported = true
			x.permanent("T502", store.ArchiveFile, fmt.Sprintf("%d archived threads of the objective '%s' are missing, and the journal does not have them", o.Archived-have, o.ID))
		}
	}
	if lack := x.archived.Lack(); lack != "" && !reported {
		x.permanent("T502", store.ArchiveFile, lack+", and the journal does not have them")
	}
	return nil
}
