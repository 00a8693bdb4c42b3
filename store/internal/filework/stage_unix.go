//go:build !windows

package filework

// removeHeld: a file may be removed while this process has it open and locked, so
// nobody can lock it in between.
const removeHeld = true
