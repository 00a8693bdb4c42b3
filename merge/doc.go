// Package merge says how several trees of artifacts become one.
//
// It is pure: it works over bytes and fs.FS, asks nobody and writes nothing. A
// conflict is data; who resolves it (a person, an agent, a strategy) is an
// interface that other rooms implement.
//
// Words:
//
//   - base: the content that two sides are known to have had in common;
//   - ours: the target's content, theirs: a source's;
//   - hunk: a run of lines that differ from the base;
//   - conflict: a place where both sides changed the base differently;
//   - marker: a line that shows a conflict's borders to an editor.
//
// What a merge must never do: drop a side without a decision, overwrite in
// silence, or reach the target before all of it can.
package merge
