package store

import (
	"io/fs"
	"os"
	"path/filepath"
)

// This file replaces a plain file that lies in no store: merge-file's result.
// There is no lock here, so whoever is killed leaves the temporary file behind.

// ReplaceFile gives a file new content and permissions by way of a temporary file
// beside it, which must not exist yet; no reader sees half of it. With err the
// file is as it was and the temporary one is gone. With undurable the file is
// replaced, and a power cut may undo that.
func ReplaceFile(path, temporary string, data []byte, perm fs.FileMode) (undurable, err error) {
	return disk{}.replaceFile(path, temporary, data, perm)
}

func (d disk) replaceFile(path, temporary string, data []byte, perm fs.FileMode) (undurable, err error) {
	tmp := filepath.Join(filepath.Dir(path), temporary)
	err = d.write(tmp, os.O_EXCL, 0o600, data)
	if os.IsExist(err) {
		return nil, err // somebody else's
	}
	if err == nil {
		err = d.chmod(tmp, perm)
	}
	if err == nil {
		err = d.rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return nil, err
	}
	return d.syncDir(filepath.Dir(path)), nil
}
