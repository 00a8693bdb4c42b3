// Package scan lists, hashes and reads the artifacts of threads: the tree below
// threads/ID, without .meta and context, which belong to leslie. It compares them with
// manifests, and takes snapshots of them.
//
// People and agents write there with their own tools at any time, so a listed file may
// be gone or changed when it is read; that is not an error. If a file changes while it
// is read, what was read counts. Links are never followed, and nothing but a regular
// file is ever opened.
package scan
