package replica

import (
	"errors"
	"io/fs"
	"path"

	"leslie/store/internal/content"
	"leslie/store/internal/saferoot"
	"leslie/thread"
)

// This file keeps, for each thread, the list of the files that this machine published or
// fetched last. It tells what was changed here since.

// ListsDir has these lists, named after the threads.
const ListsDir = Dir + "/threads"

// ListOf is the list of a thread's files that this machine published or fetched last, empty
// if there is none. Errors: T509.
func ListOf(disk saferoot.Disk, id thread.ThreadID) (content.Manifest, error) {
	m, _, err := ReadList(disk, id)
	return m, err
}

// ReadList is ListOf; known is false if there is none. A damaged list is none: files are
// then compared with nothing, and none is overwritten.
func ReadList(disk saferoot.Disk, id thread.ThreadID) (m content.Manifest, known bool, err error) {
	if !saferoot.SingleName(string(id)) {
		return nil, false, nil
	}
	data, _, err := saferoot.ReadRegular(disk.Path(path.Join(ListsDir, string(id))))
	var d saferoot.Damage
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &d) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, disk.ReadFailed(err)
	}
	m, err = content.Decode(data)
	return m, err == nil, nil
}

// KeepList notes the list of files that a thread's folder has in common with the log.
// Errors: T505.
func KeepList(disk saferoot.Disk, id thread.ThreadID, m content.Manifest) error {
	data, err := m.Encode()
	if err != nil {
		return err
	}
	root, err := disk.Open()
	if err != nil {
		return disk.WriteFailed(err)
	}
	defer root.Close()
	if err := root.Ensure(ListsDir); err != nil {
		return err
	}
	return disk.Replace(path.Join(ListsDir, string(id)), data)
}
