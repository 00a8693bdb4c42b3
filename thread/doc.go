// Package thread says what objectives, threads and references are and what may
// happen to them.
//
// It is pure: no files, no clock, no randomness, no environment. A rule is a
// method of State that takes what it needs, among it a Stamp (which operation,
// when, who), and answers with the changed record or a coded error. A rule that
// fails has changed nothing that a caller may keep: the store throws the State
// of a failed rule away.
//
// Words:
//
//   - An objective is a goal; a thread is one unit of work under one objective,
//     with a parent when it was spawned from another.
//   - A reference is a read-only tie from one thread to another's artifacts:
//     frozen (a snapshot taken now) or live (read where it stands).
//   - A record is one objective, thread, reference, approval or merge. It rests
//     as one line of JSON and carries the revision of its last change.
//   - An operation is one recorded change; its number is the store's revision.
//   - A change is one record before and after an operation. The list of them is
//     all that an operation did: the journal keeps it, recovery replays it.
//   - Cold is what the State does not hold: records of archived threads. An id
//     that a record names and the State lacks is archived, hence terminated.
//
// Read first: records.go (the nouns), table.go (how records rest and change),
// state.go, then one file a rule.
package thread
