package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"leslie/store/internal/saferoot"
)

// ReplaceFile gives a plain file outside any store new content and permissions; no
// reader sees half of it. If err is set, the file is unchanged and nothing temporary is
// left. If undurable is set, the file is replaced, and a power cut may undo that. There
// is no lock, so a process that is killed leaves its temporary file.
func ReplaceFile(path string, data []byte, perm fs.FileMode) (undurable, err error) {
	return saferoot.Disk{}.ReplaceFile(path, data, perm)
}

// PutFile is ReplaceFile for a file whose folders may be missing: they are made with
// folderPerm, and stay if the file cannot be written.
func PutFile(path string, data []byte, perm, folderPerm fs.FileMode) (undurable, err error) {
	disk := saferoot.Disk{}
	var missing []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := os.Mkdir(missing[i], folderPerm); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		undurable = errors.Join(undurable, disk.SyncDir(filepath.Dir(missing[i])))
	}
	unflushed, err := disk.ReplaceFile(path, data, perm)
	return errors.Join(undurable, unflushed), err
}

// RemoveFile removes a plain file outside any store. If undurable is set, a power cut may
// bring it back.
func RemoveFile(path string) (undurable, err error) {
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return saferoot.Disk{}.SyncDir(filepath.Dir(path)), nil
}
