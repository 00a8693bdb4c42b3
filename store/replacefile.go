package store

import (
	"io/fs"

	"leslie/store/internal/saferoot"
)

// ReplaceFile gives a plain file outside any store new content and permissions; no
// reader sees half of it. If err is set, the file is unchanged and nothing temporary is
// left. If undurable is set, the file is replaced, and a power cut may undo that. There
// is no lock, so a process that is killed leaves its temporary file.
func ReplaceFile(path string, data []byte, perm fs.FileMode) (undurable, err error) {
	return saferoot.Disk{}.ReplaceFile(path, data, perm)
}
