package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// This file finds the files of a transcript, and reads their lines from either end.

// Name is the file that has the newest entries.
const Name = "transcript.jsonl"

// full returns the name of a full file whose first entry has a number.
func full(first int64) string { return "transcript." + strconv.FormatInt(first, 10) + ".jsonl" }

// fullFiles returns the numbers of the first entries of full files, ascending.
func fullFiles(root *os.Root) ([]int64, error) {
	folder, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var found []int64
	for _, name := range names {
		digits := strings.TrimSuffix(strings.TrimPrefix(name, "transcript."), ".jsonl")
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && name == full(n) {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	return found, nil
}

// errNotRegular says that something else is in the place of a transcript.
var errNotRegular = errors.New("it is not a regular file")

// open opens a file of the folder; links and what is no regular file are refused.
func open(root *os.Root, name string, flag int) (*os.File, error) {
	info, err := root.Lstat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return root.OpenFile(name, flag, 0o600)
}

// forward calls fn with each whole line of a file from an offset on, without its newline,
// and sets the offset behind it first. A line that is too long is nil. torn: something
// that is no whole line follows.
func forward(f io.ReaderAt, offset *int64, fn func(line []byte) error) (torn bool, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(f, *offset, 1<<62-*offset), chunk)
	var long []byte // the beginning of a line that does not fit the buffer
	size := int64(0)
	for {
		part, err := in.ReadSlice('\n')
		size += int64(len(part))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if size <= mostLine {
				long = append(long, part...)
			}
			continue
		case errors.Is(err, io.EOF):
			return size > 0, nil
		case err != nil:
			return size > 0, err
		}
		line := part
		if size > int64(len(part)) {
			line = append(long, part...)
		}
		if size > mostLine {
			line = nil
		}
		*offset += size
		long, size = long[:0], 0
		if err := fn(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return false, err
		}
	}
}

// chunk is how many bytes are read at once.
const chunk = 64 << 10

// backward calls fn with each whole line of a file, the last one first, until it returns
// false. A line that is too long is nil. rest is how many bytes that are no whole line are
// at the end.
func backward(f io.ReaderAt, size int64, fn func(line []byte) (more bool)) (rest int64, err error) {
	var buf []byte // of the file, from at on; what is behind it was told
	over, at, ended := false, size, false
	for {
		i := bytes.LastIndexByte(buf, '\n')
		if i < 0 && at > 0 {
			if over = over || len(buf) > mostLine; over {
				buf = nil
			}
			step := min(at, max(chunk, int64(len(buf))))
			grown := make([]byte, step, step+int64(len(buf)))
			if _, err := f.ReadAt(grown, at-step); err != nil && !errors.Is(err, io.EOF) {
				return rest, err
			}
			buf, at = append(grown, buf...), at-step
			continue
		}
		line := buf[i+1:]
		if over {
			line = nil
		}
		switch {
		case !ended:
			rest, ended = size-at-int64(i)-1, true
		case !fn(line):
			return rest, nil
		}
		if i < 0 {
			return rest, nil
		}
		buf, over = buf[:i], false
	}
}
