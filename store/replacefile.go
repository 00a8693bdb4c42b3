package store

import (
	"io/fs"
	"path/filepath"
)

// This file replaces a plain file outside any store: merge-file's result. There is no
// lock here, so a process that is killed leaves its temporary file.

// ReplaceFile gives a file new content and permissions; no reader sees half of it. If
// err is set, the file is unchanged and nothing temporary is left. If undurable is
// set, the file is replaced, and a power cut may undo that.
func ReplaceFile(path string, data []byte, perm fs.FileMode) (undurable, err error) {
	return disk{}.replaceFile(path, data, perm)
}

func (d disk) replaceFile(path string, data []byte, perm fs.FileMode) (undurable, err error) {
	folder := filepath.Dir(path)
	if err := d.replace(newFile{path: path, temp: folder, perm: perm, exact: true, parts: [][]byte{data}}); err != nil {
		return nil, err
	}
	return d.syncDir(folder), nil
}
