package logfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"leslie/store/internal/saferoot"
)

// This file follows the log: what was appended since the last look, across a
// rotation.

// Reader reads the log as it grows. It is for one goroutine, and must be
// closed.
type Reader struct {
	log  Log
	file *os.File // nil while there is no log
	part []byte   // of a line that is not whole yet
}

// FollowLog returns a reader of the log as it is now and as it grows; what was
// rotated away before is not part of it.
func (l Log) FollowLog() *Reader { return &Reader{log: l} }

// Lines returns the whole lines that were appended since the last call; the
// first call returns all. Errors: T509, T507.
func (r *Reader) Lines() ([]string, error) {
	var out []string
	for {
		lines, err := r.rest()
		if err != nil {
			return out, saferoot.CannotRead(Folder+"/"+Name, err)
		}
		out = append(out, lines...)
		fresh, err := r.log.open(Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return out, nil
		case err != nil:
			return out, saferoot.CannotRead(Folder+"/"+Name, err)
		case sameFile(r.file, fresh):
			_ = fresh.Close()
			return out, nil
		}
		// The log was rotated, or begun. The old one's last lines may have come
		// between the read and now.
		lines, _ = r.rest()
		out = append(out, lines...)
		r.Close()
		r.file, r.part = fresh, nil
	}
}

// rest reads what the file holds beyond what was read.
func (r *Reader) rest() ([]string, error) {
	if r.file == nil {
		return nil, nil
	}
	more, err := io.ReadAll(io.LimitReader(r.file, 2*logLimit))
	if err != nil {
		return nil, err
	}
	r.part = append(r.part, more...)
	var out []string
	for {
		line, rest, whole := bytes.Cut(r.part, []byte("\n"))
		if !whole {
			return out, nil
		}
		out, r.part = append(out, string(line)), rest
	}
}

func sameFile(a, b *os.File) bool {
	if a == nil {
		return false
	}
	one, err := a.Stat()
	if err != nil {
		return false
	}
	two, err := b.Stat()
	return err == nil && os.SameFile(one, two)
}

// Close ends the reading.
func (r *Reader) Close() {
	if r.file != nil {
		_ = r.file.Close()
		r.file = nil
	}
}
