// Package atomicfile replaces a file as a whole: whoever reads it sees the old
// content or the new, and the new content is on disk before it gets the name.
//
// On unix renameio does it. Windows, for which renameio does not build, has a file
// of its own; what it cannot promise is said there.
//
// A process that dies leaves a temporary file behind, whose name Temporary knows:
// a dot, the name of the file that was to be replaced, and a random number.
package atomicfile

import "strings"

// fewestDigits are the digits of a temporary name. A random number of 63 bits has
// fewer once in ten thousand million times.
const fewestDigits = 10

// Temporary reports whether a name is one of a temporary file. A caller asks only
// in folders where nobody else names files so, and removes them only while nobody
// else is writing.
func Temporary(name string) bool {
	base := strings.TrimRight(name, "0123456789")
	return strings.HasPrefix(base, ".") && len(base) > 1 && len(name)-len(base) >= fewestDigits
}
