package store

import (
	"errors"
	"io"
	"io/fs"
	"iter"
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

const firstChunk = 64 << 10

// backwards yields the lines of a file from its end, without their newlines;
// empty ones are left out. It reads as much as is asked for: the cost does not
// grow with what lies before. A line is valid until the next one.
func backwards(f io.ReaderAt, size int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for at, err := range backwardsAt(f, size) {
			if !yield(at.line, err) {
				return
			}
		}
	}
}

// placed is a line and where it begins.
type placed struct {
	line []byte
	at   int64
}

// backwardsAt is backwards with the place of each line. It holds one chunk and
// one line, whatever lies before.
func backwardsAt(f io.ReaderAt, size int64) iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		var held []byte // the bytes from pos on that were not yielded
		pos, chunk := size, int64(firstChunk)
		for {
			start := lastNewline(held) + 1
			if start == 0 && pos > 0 {
				n := min(chunk, pos)
				more := make([]byte, n, n+int64(len(held)))
				if _, err := f.ReadAt(more, pos-n); err != nil && !errors.Is(err, io.EOF) {
					yield(placed{}, err)
					return
				}
				// Doubled as long as one line goes on, so that a long one is
				// not copied again for each chunk of it.
				held, pos, chunk = append(more, held...), pos-n, chunk*2
				continue
			}
			chunk = firstChunk
			if line := held[start:]; len(line) > 0 && !yield(placed{line, pos + int64(start)}, nil) {
				return
			}
			if start == 0 {
				return
			}
			held = held[:start-1]
		}
	}
}

func lastNewline(b []byte) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == '\n' {
			return i
		}
	}
	return -1
}
