// Package thread defines objectives, threads and references, and the rules for
// changing them.
//
// It does no IO: no files, no clock, no randomness, no environment. A rule is a
// method of State. It receives everything it needs, including a Stamp (which
// operation, when, by whom), and returns the changed record or a coded error. The
// caller must discard the State of a rule that failed; the store does so.
//
// Terms, beside those of docs/glossary.md:
//
//   - A record is one objective, thread, reference, approval or merge. It is stored
//     as one line of JSON and has the revision of its last change.
//   - A change is one record before and after an operation. The list of changes is
//     everything that an operation did: the journal keeps it, recovery replays it.
//   - The archive has the records of archived threads, which the State does not
//     contain. If a record names an id that is not in the State, that thread is
//     archived and therefore terminated.
//
// Start with records.go (the types), table.go (how records are stored and changed)
// and state.go; then each rule has its own file.
package thread
