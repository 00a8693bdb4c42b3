// Package mergecmd has the commands that merge and compare: merge, pull, diff and merge-file,
// and the questions that a merge asks a person.
package mergecmd
