//go:build !linux

package store

// queues: what the queue does with a process that is stopped is not known here.
const queues = false
