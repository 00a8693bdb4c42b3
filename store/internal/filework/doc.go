// Package filework carries out the file-system work of operations.
//
// # Stages
//
// A Stage is the folder tmp/OP in which files wait for their operation. It is filled
// without the store's lock, and everything in it is durable before the operation is
// recorded.
//
// # Steps
//
// An operation's steps are recorded with the state before they start, so a process that
// holds the lock and finds them pending knows that their process is dead, and finishes
// them. Every step can be repeated:
//
//   - mkdir is done if the folder exists;
//   - place is done if the staged name is gone: a rename moved it;
//   - remove is done if the old content is in tmp/OP.displaced, or if that folder, which
//     was created before the commit, is gone;
//   - replace is done if the staged name is gone, which is removed last, and the file has
//     the content that the step names, or one that somebody saved since; a staged file
//     that is gone too early is restored from its blob;
//   - delete is done if nothing is there and nothing was displaced. Both check the file
//     before it is moved and again afterwards, and never take over a name that somebody
//     uses: what was saved since the plan stays where it is;
//   - append is done if the file has the line.
//
// Displaced content becomes blobs in that folder, which one rename then removes, as the
// last step: its absence says that everything is done, and nothing that somebody creates
// later at the same name is mistaken for what had to be removed. So no sweep removes the
// folders of an operation with pending work.
//
// # Quarantine
//
// A step that cannot be carried out must not block the store. Its thread's folder may be
// a link for a while, or without permission, or its name too long for this file system.
// Then Retry leaves the steps of that thread, or merge, to the state, with their
// operation and their stage, and every writer tries them again. They are never dropped.
package filework
