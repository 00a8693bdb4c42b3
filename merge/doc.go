// Package merge says how several versions of one artifact become one.
//
// The law of the room: everything here is a pure function over bytes. No files,
// no clock, no randomness, no environment, and no state that outlives a call:
// the same versions give the same answer on every machine and in every run.
// Nothing is ever dropped in silence: each line that a version added stands in
// the merged text or in a conflict, and a merger that cannot prove its answer
// refuses and leaves the conflict as it was.
//
// # Words
//
//   - base: the version that all sides are known to have started from.
//   - side: a version that went on from the base. Of two sides the first is
//     ours (what the target holds), the second theirs (what a source brings).
//   - line: bytes up to and including a line feed; the last line of a text may
//     lack it. A carriage return is a byte of its line like any other.
//   - change: a run of base lines and the run of lines that one side put in its
//     place; either may be empty.
//   - hunk: a stretch of the merge. The hunks of a Result tile the base and
//     every side from the first line to the last. A hunk is kept (nobody
//     changed it), changed (one answer: a single side changed it, or several
//     made the very same change), in conflict, or settled.
//   - conflict: a hunk where changes of different sides overlap or touch. It is
//     data, not text: line ranges of the base and of every side.
//   - marker: a line of one repeated character and a name that fences off a
//     part of a conflict in a rendering for editors.
//   - merger (Merger): settles conflicts by a unit smaller than a line
//     and settles those where it can prove its answer.
//
// # The way of a text
//
// Texts cuts the versions into lines and numbers them (lines.go), diffs each
// side against the base (diff.go, with discard.go before the search of myers.go
// and slide.go after it), and groups changes that touch into hunks (text.go).
// Settle lets mergers look at what is left in conflict (finer.go): List
// reads it as Markdown items (list.go, item.go) and merges those (listmerge.go).
// Render writes the result, conflicts between markers (render.go).
//
// The line merge is measured against git merge-file --diff3: the tests generate
// three-way cases and compare byte for byte. Three of git's choices decide that:
// the order in which the search tries diagonals, which lines are left out of it,
// and where a change comes to stand that could stand in several places.
//
// # Several sources
//
// Sources with one common base are merged in one call of Texts, not one after
// the other: a diff may read a text that is already merged in another way than
// its parts, so that merging in turn can depend on the order. Texts cannot.
package merge
