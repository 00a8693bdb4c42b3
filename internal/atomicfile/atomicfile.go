// Package atomicfile replaces a file as a whole: a reader sees the old content or the
// new, and the new content is on disk before it gets the name.
//
// On unix it uses renameio. Windows, for which renameio does not build, has its own file,
// which says what it cannot promise.
//
// A killed process leaves a temporary file, whose name Temporary recognizes: a dot, the
// name of the file to be replaced, and a random number.
package atomicfile

import "strings"

// fewestDigits is the minimum number of digits in a temporary name. A random number of 63
// bits has fewer once in ten thousand million times.
const fewestDigits = 10

// Temporary reports whether a name is that of a temporary file. Call it only for folders
// in which nobody else uses such names, and remove files only while nobody else writes.
func Temporary(name string) bool {
	base := strings.TrimRight(name, "0123456789")
	return strings.HasPrefix(base, ".") && len(base) > 1 && len(name)-len(base) >= fewestDigits
}
