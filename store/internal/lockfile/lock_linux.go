package lockfile

// queues says that the kernel's own queue for a lock is used. Linux takes a process
// that is stopped (Ctrl-Z) out of the queue until it goes on: it is not given a lock
// that it would then hold up everybody with.
const queues = true
