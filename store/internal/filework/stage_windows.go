package filework

// removeHeld is false: an open file cannot be removed, so the lock is released first.
// A process that opens the file in between makes the removal fail, and keeps the
// folder.
const removeHeld = false
