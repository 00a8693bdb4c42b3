// Package state has the files by which a store survives: the state, its backup, the
// journal, the archive, and the stored answers of requests. Files reads them and changes
// nothing. Writer holds the store's lock and is the only way to change them.
//
// Loading (load.go) chooses the store's state, rolled forward if it has to be. A commit
// (commit.go) replaces it, and finishes what the operation has to do on the disk; what a
// dead process left to do is in pending.go. ahead.go has operations that other machines
// made and that are only in memory yet. The package comment of store says in which order all
// that happens, and why no crash loses anything.
package state
