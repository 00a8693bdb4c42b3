// Package doctor checks a store and repairs it.
//
// A check waits for no lock and writes nothing. Each family of checks has its own file,
// check_*.go: what it checks, what it reports, and how to repair it. repair.go carries out
// the repairs under the store's lock: it moves damaged files aside and deletes nothing but
// blobs that nothing names. remotecheck.go reads all that the log of a project on several
// machines has.
package doctor
