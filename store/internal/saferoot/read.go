package saferoot

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"leslie/store/internal/buffer"
)

// This file reads the files of the store's own folder, by their absolute paths.

// MaxWhole is the size limit of files that are read as a whole, except the archive,
// which keeps growing, in bytes. leslie writes no file near this size: a larger one is
// damaged, and reading it would exhaust the memory.
const MaxWhole = 1 << 30

// OpenRegular opens a regular file for reading. Errors: fs.ErrNotExist, Damage for
// anything but a regular file, otherwise the system's own.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, irregular(info)
	}
	f, err := openShared(path)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = irregular(info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func irregular(info fs.FileInfo) Damage {
	switch {
	case info.IsDir():
		return "it is a folder"
	case info.Mode()&fs.ModeSymlink != 0:
		return "it is a link"
	}
	return "it is not a regular file"
}

// ReadRegular returns the content of a regular file of up to MaxWhole bytes. Errors:
// as for OpenRegular; Damage also for a larger one.
func ReadRegular(path string) ([]byte, fs.FileInfo, error) { return ReadUpTo(path, MaxWhole) }

// ReadUpTo is ReadRegular with a limit of the caller's.
func ReadUpTo(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, info, Damage("it is larger than 1 GiB")
	}
	data := buffer.Make(info.Size())
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // shorter than it was a moment ago: its checksum will tell
	}
	return data[:n], info, err
}

// Exists reports whether something has a name, also a link that leads nowhere.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// IsFolder reports whether a real folder has a name.
func IsFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// Irregular reports whether a name exists and is not a regular file.
func Irregular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && !info.Mode().IsRegular()
}

// ChangedAt is when a regular file of the store was changed last, the zero time if there is
// none.
func (d Disk) ChangedAt(rel string) (at time.Time) {
	if info, err := os.Lstat(d.Path(rel)); err == nil && info.Mode().IsRegular() {
		at = info.ModTime().UTC()
	}
	return at
}
