// Package merge merges several versions of artifacts into one.
//
// Everything here is a pure function over bytes: no files, no clock, no randomness,
// no environment, and no state that outlives a call. The same versions give the same
// result on every machine and in every run. Nothing is dropped silently: each line
// that a version added is in the merged text or in a conflict, and a merger that
// cannot prove its answer refuses and leaves the conflict unchanged.
//
// # Terms
//
//   - base: the version from which all sides are known to be derived.
//   - side: a version derived from the base. Of two sides the first is ours (the
//     target's), the second theirs (a source's).
//   - line: bytes up to and including a line feed; the last line of a text may lack
//     it. A carriage return is an ordinary byte of its line.
//   - change: a run of base lines, and the run of lines with which one side replaced
//     it; either may be empty.
//   - hunk: a section of the merge. The hunks of a Result cover the base and every
//     side completely, in order. A hunk is kept (no side changed it), changed (one
//     side changed it, or several made the same change), in conflict, or settled.
//   - conflict: a hunk in which changes of different sides overlap or touch. It is
//     data, not text: line ranges of the base and of every side.
//   - marker: a line of one repeated character and a name that delimits a part of a
//     conflict in a rendering for editors.
//   - merger (Merger): resolves conflicts by a unit other than lines, such as list
//     items, if it can prove its answer.
//
// # How texts are merged
//
// Texts splits the versions into lines and numbers them (lines.go), diffs each side
// against the base (diff.go, with discard.go before the search of myers.go and
// slide.go after it), and groups touching changes into hunks (text.go). Settle
// applies mergers to the remaining conflicts (merger.go): List reads them as
// Markdown items (list.go, item.go) and merges the items (listmerge.go), Table as
// rows (table.go). Render writes the result with conflicts between markers (render.go).
// Diff shows the line diff of two texts as diff -u does (unified.go).
//
// The tests compare the line merge with git merge-file --diff3 byte for byte, on
// generated three-way cases. Equality depends on three choices of git: the order in
// which the search tries diagonals, which lines it discards, and where it puts a
// change with several possible positions.
//
// # Several sources
//
// One call of Texts merges all sources with a common base. Merging them one after
// the other could depend on their order, because a diff may align an already merged
// text differently than its parts. Texts does not depend on the order.
package merge
