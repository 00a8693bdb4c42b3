package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"leslie/store"
	"leslie/store/internal/state"
)

// This file checks the journal: which lines are damaged, which are missing, and
// whether it could still restore the state.
//
// A damaged line stays where it is, because journal and archive only grow. Whether
// anything was lost with it is a separate finding.

func (x *examination) journal() (err error) {
	var broken string
	if x.index, broken, err = x.files.IndexJournal(); err != nil {
		x.noJournal = true
		x.unreadableAt(store.JournalFile, err)
		return nil
	}
	if broken != "" {
		x.repairable("T502", store.JournalFile, broken, (*repairRun).journal)
	}
	if len(x.index.Bad) > 0 {
		x.note("T502", store.JournalFile, damagedLines(x.index.Bad))
	}
	if x.now == nil {
		return nil
	}
	if first, last := x.index.Gap(x.now.Revision, x.now.Operation); first > 0 {
		x.repairable("T502", store.JournalFile, "missing: "+state.OperationsOf(first, last), (*repairRun).baseline)
		return nil
	}
	differing, err := x.files.Contradicted(x.index, x.now.Image)
	if err != nil {
		x.unreadableAt(store.JournalFile, err)
	} else if len(differing) > 0 {
		x.repairable("T502", store.JournalFile, "it contradicts the state about "+some(differing), (*repairRun).baseline)
	}
	return nil
}

// damagedLines names the damaged lines of a file, by their numbers.
func damagedLines(lines []int) string {
	if len(lines) == 1 {
		return fmt.Sprintf("line %d is damaged, and is skipped", lines[0])
	}
	words := make([]string, len(lines))
	for i, n := range lines {
		words[i] = strconv.Itoa(n)
	}
	return fmt.Sprintf("%d lines are damaged, and are skipped: line %s", len(lines), some(words))
}

// some formats the first few of many words.
func some(words []string) string {
	const few = 5
	if len(words) <= few {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:few], ", "), len(words)-few)
}
