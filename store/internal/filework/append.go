package filework

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"leslie/store/internal/saferoot"
	"leslie/store/internal/scan"
	"leslie/thread"
)

// This file appends a line to a file in a thread's folder, exactly once. The line
// itself shows whether the step was done: a step that finds it appends nothing. A
// process that dies while writing leaves part of the line; that part stays on its own
// line, and the complete line follows.

// oneLine reports whether an append step has one line for a file in a thread's folder.
func oneLine(step thread.Step) bool {
	inside := strings.HasPrefix(step.To, scan.Threads+"/") && strings.Count(step.To, "/") >= 2
	return inside && step.Line != "" && !strings.ContainsAny(step.Line, "\r\n")
}

// appendable returns nil if a line can be appended now, so that a file that cannot
// take one is reported before the commit. Errors: T505, T507.
func (w Work) appendable(rel string) error {
	f, err := w.openLines(rel, os.O_WRONLY|os.O_APPEND)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = f.Close()
	}
	return saferoot.CannotWrite(rel, err)
}

// openLines opens a regular file. It never follows a link or waits for a pipe. Errors:
// T507 for a link above it, saferoot.ErrNotRegular, fs.ErrNotExist unless flag creates
// it, the system's own.
func (w Work) openLines(rel string, flag int) (*os.File, error) {
	if err := w.Reach(path.Dir(rel)); err != nil {
		return nil, err
	}
	in, name := w.At(rel)
	f, _, err := saferoot.OpenWith(in, name, flag&^os.O_CREATE)
	if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
		return w.OpenFile(rel, flag|os.O_EXCL|saferoot.OpenFlags, 0o644)
	}
	return f, err
}

// appended reports whether the file has the line. A file that exists but cannot be
// read may have it, and must not get it twice. Errors: T509.
func (w Work) appended(step thread.Step) (bool, error) {
	f, err := w.openLines(step.To, os.O_RDONLY)
	if err == nil {
		defer f.Close()
		var has bool
		if has, err = holdsLine(f, step.Line); err == nil {
			return has, nil
		}
	}
	if saferoot.Uncertain(err) {
		return false, saferoot.CannotRead(step.To, err)
	}
	return false, nil
}

// holdsLine searches a text with lines of any length. A last line without a newline
// counts, because the next append adds the newline.
func holdsLine(r io.Reader, line string) (bool, error) {
	in := bufio.NewReader(r)
	rest, same := line, true
	for {
		chunk, err := in.ReadSlice('\n')
		text, ended := bytes.CutSuffix(chunk, []byte("\n"))
		if same {
			rest, same = strings.CutPrefix(rest, string(text))
		}
		over := err != nil && !errors.Is(err, bufio.ErrBufferFull)
		if (ended || over) && same && rest == "" {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if over {
			return false, err
		}
		if ended {
			rest, same = line, true
		}
	}
}

// appendLine appends the line; Sync makes it durable. Errors: T505, T507.
func (w Work) appendLine(step thread.Step) error {
	if err := w.Ensure(path.Dir(step.To)); err != nil {
		return err
	}
	return saferoot.CannotWrite(step.To, w.addLine(step))
}

func (w Work) addLine(step thread.Step) error {
	var f *os.File
	at := w.Path(step.To)
	err := w.Disk().Step(saferoot.ActCreate, at, func() (err error) {
		f, err = w.openLines(step.To, os.O_RDWR|os.O_APPEND|os.O_CREATE)
		return err
	})
	if err != nil {
		return err
	}
	w.Touch(path.Dir(step.To))
	if _, err = w.Disk().Extend(f, at, [][]byte{[]byte(step.Line)}); err != nil {
		_ = f.Close()
		return err
	}
	w.Appended(step.To, f)
	if w.Full() {
		return w.SyncFiles()
	}
	return nil
}

// syncLines makes an existing line durable, because its writer may have died before
// its fsync. A file that leslie may only read is skipped.
func (w Work) syncLines(rel string) error {
	f, err := w.openLines(rel, os.O_RDWR)
	if err != nil {
		return nil
	}
	defer f.Close()
	return w.Disk().Step(saferoot.ActSync, w.Path(rel), f.Sync)
}
