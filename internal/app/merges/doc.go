// Package merges merges threads, in a session or from a queue, and compares what versions of
// them hold.
package merges
