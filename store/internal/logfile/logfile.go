package logfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"

	"leslie/store/internal/lockfile"
	"leslie/store/internal/saferoot"
)

// Folder is the folder of the store with the log, Name the log in it. A rotated log has
// the name Name.1.
const (
	Folder = "logs"
	Name   = "leslie.log"

	// logLimit is the size in bytes from which the log is rotated, once.
	logLimit = 10 << 20
)

// Log is the log of the store on a disk. It is safe for concurrent use.
type Log struct {
	disk saferoot.Disk
	lock string
}

// On returns the log of a store, whose lock has that name in the store's folder.
func On(disk saferoot.Disk, lock string) Log { return Log{disk, lock} }

// ErrNotRegular says that something else is in the place of the log.
var ErrNotRegular = errors.New("it is not a regular file")

// AppendLog appends whole lines to the log, which it makes where it is missing.
// A log over 10 MiB becomes leslie.log.1 first. Links in its place are not
// followed. Errors: T505, T507.
func (l Log) AppendLog(lines []byte) error {
	base, err := l.disk.OpenBase()
	if err != nil {
		return saferoot.CannotWrite(Folder, err)
	}
	defer base.Close()
	if err := base.Mkdir(Folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return saferoot.CannotWrite(Folder, err)
	}
	folder, err := l.disk.OpenFolder(Folder)
	if err != nil {
		return saferoot.CannotWrite(Folder, err)
	}
	defer folder.Close()
	err = l.rotate(folder)
	if err == nil {
		err = appendLines(folder, lines)
	}
	return saferoot.CannotWrite(Folder+"/"+Name, err)
}

// LogTail returns the log's last whole lines, at most limit bytes of them; none
// where there is no log that can be read.
func (l Log) LogTail(limit int64) []byte {
	f, err := l.open(Name)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(info.Size()-limit, 0)
	data := make([]byte, info.Size()-from)
	n, _ := f.ReadAt(data, from)
	data = data[:n]
	if from > 0 {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return data
}

// Log yields the log's lines without their newlines, the oldest first: those of
// the rotated file, then those of the log. A missing log has none. Errors, which
// end it: T509, T904.
func (l Log) Log(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := saferoot.Stopped(ctx); err != nil {
			yield("", err)
			return
		}
		for _, name := range []string{Name + ".1", Name} {
			f, err := l.open(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				yield("", saferoot.CannotRead(Folder+"/"+name, err))
				return
			}
			more, err := scanLines(f, func(line string) bool { return yield(line, nil) })
			_ = f.Close()
			if err != nil {
				yield("", saferoot.CannotRead(Folder+"/"+name, err))
				return
			}
			if !more {
				return
			}
		}
	}
}

// maxLogLine is the longest line that is read, in bytes.
const maxLogLine = 1 << 20

// scanLines calls fn with each line until fn returns false. One that is too long
// for a line of leslie's is passed over.
func scanLines(r io.Reader, fn func(string) bool) (more bool, err error) {
	in, over := bufio.NewReaderSize(r, maxLogLine), false
	for {
		part, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			over = true
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return true, err
		case !over && len(part) > 0 && !fn(strings.TrimRight(string(part), "\r\n")):
			return false, nil
		case err != nil:
			return true, nil
		}
		over = false
	}
}

func (l Log) open(name string) (*os.File, error) {
	folder, err := l.disk.OpenFolder(Folder)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	f, _, err := saferoot.OpenIn(folder, name)
	return f, err
}

func appendLines(folder *os.Root, lines []byte) error {
	if info, err := folder.Lstat(Name); err == nil && !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	f, err := folder.OpenFile(Name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|saferoot.OpenFlags, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(lines); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// rotate gives a log that has grown large its other name. Two processes that
// did so at once would put the log that the first has just begun in the place of
// the one it has rotated; so it is done under the store's lock, and later where
// somebody else has that now.
func (l Log) rotate(folder *os.Root) error {
	large := func() bool {
		info, err := folder.Lstat(Name)
		return err == nil && info.Mode().IsRegular() && info.Size() > logLimit
	}
	if !large() {
		return nil
	}
	unlock := lockfile.AcquireNow(l.disk.Path(l.lock), os.O_RDWR|saferoot.OpenFlags)
	if unlock == nil {
		return nil
	}
	defer unlock()
	if !large() {
		return nil
	}
	return folder.Rename(Name, Name+".1")
}
