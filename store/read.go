package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// This file reads files that strangers may have put there: it does not follow links or
// wait for pipes.

// openRegular opens a regular file for reading. Errors: fs.ErrNotExist, damage
// for something else than a regular file, else what the system said.
func openRegular(path string) (*os.File, fs.FileInfo, error) {
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

func irregular(info fs.FileInfo) damage {
	switch {
	case info.IsDir():
		return "it is a folder"
	case info.Mode()&fs.ModeSymlink != 0:
		return "it is a link"
	}
	return "it is not a regular file"
}

// maxWhole is the size limit of files that are read as a whole, except the archive,
// which keeps growing. leslie writes no file near this size: a larger one is damaged,
// and reading it would exhaust the memory.
const maxWhole = 1 << 30

// readAhead is how much of a file is read at once by who reads it line by line.
const readAhead = 64 << 10

// readRegular is the whole content of a regular file.
func readRegular(path string) ([]byte, fs.FileInfo, error) {
	return readUpTo(path, maxWhole)
}

// readUpTo is readRegular with a limit of the caller's.
func readUpTo(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := openRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, info, damage("it is larger than 1 GiB")
	}
	data := room(info.Size())
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil // shorter than it was a moment ago: its checksum will tell
	}
	return data[:n], info, err
}
