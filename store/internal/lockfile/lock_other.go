//go:build !linux

package lockfile

// queues: what the queue does with a process that is stopped is not known here.
const queues = false
