package store

import "os"

// removeHeld is false: an open file cannot be removed. So the lock is released
// first; a maker that opens the file in between makes the removal fail, which
// leaves the folder to the maker.
const removeHeld = false

// syncInside does nothing: see atomicfile.SyncFolder.
func syncInside(*os.Root, string) error { return nil }
