// Package buffer makes memory for the content of large files.
package buffer

import "syscall"

// Files of at least this size are read into memory that is mapped beforehand, and of
// at least that size into huge pages: mapping each page on first access takes longer
// than reading into it.
const (
	manyPages = 256 << 10
	hugePages = 4 << 20
)

// populate is MADV_POPULATE_WRITE (Linux 5.14).
const populate = 23

// Make returns memory for a file's content. If the system does not know the advice,
// nothing is lost.
func Make(size int64) []byte {
	data := make([]byte, size)
	switch {
	case size >= hugePages:
		_ = syscall.Madvise(data, syscall.MADV_HUGEPAGE)
		_ = syscall.Madvise(data, populate)
	case size >= manyPages:
		_ = syscall.Madvise(data, populate)
	}
	return data
}
