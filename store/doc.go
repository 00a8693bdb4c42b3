// Package store rests a State and the threads' artifacts on disk, so that no
// crash, race, full disk or bad byte loses what was acknowledged or leaves it
// half done.
//
// # Words
//
//   - The state is everything live at one revision, one file.
//   - The backup is the state before the last write, a file of its own.
//   - The journal holds every operation, one line each; the archive holds the
//     records of archived threads.
//   - Whole: a state file whose checksum covers every other byte and fits. All
//     else (torn, edited, empty, missing, a folder) is not whole.
//   - The commit is the rename of a new state over the old one.
//   - Settled: what follows a commit is done as well (folder, files, journal,
//     answer). A commit that is not settled is finished by the next writer.
//   - A stage is a folder in tmp/ in which files wait for their operation; a
//     step renames them into place. Pending are the steps of the operation that
//     made the state.
//   - Quarantined are steps of earlier operations that cannot be carried out for now:
//     they stay in the state and are tried by each writer (quarantine.go).
//   - A blob is content under its SHA-256; a manifest is a list of paths and
//     blobs.
//   - Set aside: moved to NAME.set-aside-TIME because it was not whole.
//
// # The law
//
// There is one door to write (Update) and one to read (View). Who holds the
// lock may write; a reader takes no lock and writes nothing. Nothing is deleted
// that was not whole; nothing artifacts held is deleted that is not a blob. A
// load that fails never leads to a write. Every call that changes the disk is a
// step of type disk, so that a test can fail it or kill the process in front of
// it: no os.Rename elsewhere, except to take back a step that failed.
//
// # The order that matters
//
// Update, under the lock:
//
//  1. Load: main if it is whole and not older than the journal, else main or
//     backup rolled forward. Nothing was written yet: the lock comes before the
//     backup, so a torn main file can never be copied over a good one.
//  2. Settle what a dead process left: remove temporary names, make state and
//     backup two files, carry out pending steps, sweep stages that nobody holds,
//     append the state's operation to the journal, write the answer it owes.
//  3. Run the rules on a fresh State; check the expected revision.
//  4. Append records that leave the state to the archive, fsync.
//  5. Write the new state under a temporary name, fsync. What the operation staged
//     is on disk since before the lock (Call.Staged).
//  6. Give the old state, which was just found whole, the backup's name too; or,
//     after a recovery, move what was not whole aside and leave the backup alone.
//  7. Rename the new state over the old one: the commit. Fsync the folder.
//  8. Carry out the operation's steps, fsync their folders, keep what they
//     displaced as blobs.
//  9. Append the operation to the journal, fsync. Write the request's answer.
//
// Where an operation makes a few folders, or nothing, the fsyncs of 7 to 9 come at
// once behind them (settleAtOnce): the line then says what the steps were, and the
// next write has their folders on disk once more before its own commit.
//
// A failure in 1 to 6, or of the rename, is T505 and changes nothing; one behind
// it is W505 and undoes nothing.
//
// # Why a crash loses nothing
//
// Cut the list anywhere. Before 7 the state is the old file: the temporary name
// is removed by the next writer, archive lines do not count while the state
// holds their records, stages are swept, and a backup that is already the old
// state's second name is made a file of its own. After 7 the state is the new
// file, complete with its operation, its steps and its answer: step 2 of the
// next Update does what is left of 8 and 9, each part of which can be done again
// without effect. So a reader sees the state before or after, never between, and
// is told what is not in place yet (View.Undone). Threads' files lag behind the
// state between 7 and 8, so who reads both does so in Consistent, or in Settled
// when it is going to write.
//
// A power cut can take back only what no fsync followed. The state's bytes are
// on disk before its name is, its name before anything is moved away, and the
// answer is given after all of it and the journal's line: what was acknowledged
// without W505 is on disk. Of an operation that makes folders a power cut may keep the
// line and not the state's name: then the line is rolled forward, steps and all.
//
// Why a bad byte loses nothing: state N can be read from main, or from backup
// N-1 and line N of the journal, or from the lines 1 to N. The journal is at
// most one line behind the state, and that line lies in the state itself, so
// only a state that was never acknowledged, or was with W505, has no second
// place. Files that were not whole are moved aside by a writer, never by a
// reader, and the good backup is not touched until a whole state stands.
//
// # Read first
//
// store.go (the types), update.go and view.go (the doors), commit.go (the swap),
// recover.go (which state is the store's), then one idea a file: lock, layout,
// backup, journal, history, cursor, watch, archive, requests, pending, folders,
// consistent, stage, blobs, tree, doctor with its check_*.go, repair. docs/store.md has the schema of
// every file.
package store
