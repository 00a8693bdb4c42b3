package store

import "syscall"

// From so many bytes on a file is read into memory that was put into place
// beforehand, and from so many into huge pages: where each page is put into place
// when it is first touched, that takes longer than reading into it.
const (
	manyPages = 256 << 10
	hugePages = 4 << 20
)

// populate is MADV_POPULATE_WRITE (Linux 5.14).
const populate = 23

// room is memory for a file's content. A system that does not know the advice
// says so, and nothing is lost.
func room(size int64) []byte {
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
