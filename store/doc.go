// Package store keeps a State and the threads' artifacts on disk, so that no crash,
// race, full disk or damaged byte loses acknowledged work or leaves it half done.
//
// # Terms
//
//   - The state is all live records at one revision, in one file.
//   - The backup is the state before the last write, in a file of its own.
//   - The journal has every operation, one line each; the archive has the records of
//     archived threads.
//   - Whole: a state file whose checksum matches. Anything else (torn, edited, empty,
//     missing, a folder) is not whole.
//   - The commit is the rename of a new state over the old one.
//   - Finished: everything after the commit is done, too (folder, files, journal,
//     answer). The next writer finishes a commit that is not finished.
//   - A stage is a folder in tmp/ in which files wait for their operation; steps
//     rename them into place. Pending are the steps of the operation that created the
//     state.
//   - Quarantined are steps of earlier operations that cannot be carried out for now:
//     they stay in the state, and each writer tries them again (package filework).
//   - A blob is content under its SHA-256; a manifest is a list of paths and blobs.
//   - Set aside: moved to NAME.set-aside-TIME because it was not whole.
//
// # Rules
//
// There is one way to write (Update) and one to read (View). Only the holder of the
// lock writes; a reader takes no lock and writes nothing. Nothing that was not whole
// is deleted, and no artifact content is deleted unless it is also a blob; only doctor
// --repair removes blobs, those that nothing names (package content). A failed load never
// leads to a write. Every call that changes the disk is a step of
// package saferoot, so that a test can make it fail or kill the process before it. There is no
// os.Rename elsewhere, except to revert a failed step.
//
// # The order of an update
//
// Update, under the lock:
//
//  1. Load: the main file if it is whole and not older than the journal, otherwise main
//     or backup rolled forward. Nothing has been written yet: the lock comes before the
//     backup, so a torn main file can never be copied over a good one.
//  2. Finish what a dead process left: remove temporary names, make state and backup two
//     files, carry out pending steps, remove stages that nobody holds, append the
//     state's operation to the journal, write its answer.
//  3. Run the rules on a fresh State; check the expected revision.
//  4. Append records that leave the state to the archive; fsync.
//  5. Write the new state under a temporary name; fsync. The operation's staged files
//     are on disk since before the lock (Call.Staged).
//  6. Give the old state, which was just verified, the backup's name as well; or, after a
//     recovery, move what was not whole aside and leave the backup alone.
//  7. Rename the new state over the old one: the commit. Fsync the folder.
//  8. Carry out the operation's steps, fsync their folders, save what they displaced as
//     blobs.
//  9. Append the operation to the journal; fsync. Write the request's answer.
//
// If an operation creates only a few folders, or nothing, the fsyncs of 7 to 9 run
// together at the end (finishAtOnce). The journal's line then contains the steps, and
// the next write syncs their folders again before its own commit.
//
// A failure in 1 to 6, or of the rename, is T505 and changes nothing. A later failure
// is W505 and reverts nothing.
//
// # Why a crash loses nothing
//
// Stop at any point of the list. Before 7 the state is the old file: the next writer
// removes the temporary name and the stages, archive lines do not count while the
// state has their records, and a backup that is already the old state's second name
// becomes a file of its own. After 7 the state is the new file, complete with its
// operation, its steps and its answer: step 2 of the next Update does the rest of 8
// and 9, and each part of it can be repeated without effect. So a reader sees the
// state before or after, never anything between, and learns what is not in place yet
// (View.Undone). Threads' files are behind the state between 7 and 8, so read both in
// ReadConsistent, or in ReadConsistentToWrite if you are going to write.
//
// A power cut can undo only what no fsync followed. The state's bytes are on disk
// before its name, its name before anything is displaced, and the answer comes after
// all of it and the journal's line: every change acknowledged without W505 is on disk.
// For an operation that creates folders, a power cut may keep the journal's line but
// not the state's name: then the line is rolled forward, including its steps.
//
// Why a damaged byte loses nothing: state N can be read from the main file, or from
// backup N-1 and line N of the journal, or from lines 1 to N. The journal is at most
// one line behind the state, and that line is in the state itself. So only a state
// that was never acknowledged, or acknowledged with W505, exists only once. A writer,
// never a reader, moves files aside that are not whole, and the good backup is not
// touched until a whole state exists.
//
// # Where to start reading
//
// store.go (the types), update.go and view.go (writing and reading), then package
// internal/state: its load.go chooses the store's state, commit.go replaces it, pending.go
// finishes what a dead process left. The other files here have one topic each: history,
// cursor, watch, requests, consistent, export. Package doctor checks and repairs a store.
// Below are packages: internal/saferoot (opening files, steps on the disk), internal/content
// (blobs), internal/scan (artifacts), internal/filework (stages, carrying out steps),
// internal/statefile, internal/journal and internal/archive (the forms of these files),
// internal/jsonl, internal/logfile, internal/lockfile. docs/internals/store.md describes the format of
// every file.
package store
