// Package merges has the use cases of merges: begin one, decide its conflicts, go on with it,
// give it up, put it into the queue and work that off, pull, and compare what versions of threads
// hold. Each opens a session of package merging, which plans, asks, records and applies; package
// landing brings code to a branch by the same sessions, and completes what has landed.
package merges
