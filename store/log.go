package store

import (
	"errors"
	"io/fs"
	"os"
)

// This file appends to the log, logs/leslie.log. It is no part of what the
// store promises: lines are written without lock or fsync, and nothing else
// depends on them.

const (
	logFile = "leslie.log"
	// logLimit is the size in bytes from which the log is rotated, once.
	logLimit = 10 << 20
)

// errNotLog says that something else stands in the log's place.
var errNotLog = errors.New("it is no regular file")

// AppendLog appends whole lines to the log, which it makes where it is missing.
// A log over 10 MiB becomes leslie.log.1 first. Links in its place are not
// followed. Errors: T505, T507.
func (s *Store) AppendLog(lines []byte) error {
	base, err := s.base()
	if err != nil {
		return cannotWrite(LogsDir, err)
	}
	defer base.Close()
	if err := base.Mkdir(LogsDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return cannotWrite(LogsDir, err)
	}
	folder, err := s.openFolder(LogsDir)
	if err != nil {
		return cannotWrite(LogsDir, err)
	}
	defer folder.Close()
	return cannotWrite(LogsDir+"/"+logFile, appendLines(folder, lines))
}

func appendLines(folder *os.Root, lines []byte) error {
	switch info, err := folder.Lstat(logFile); {
	case err == nil && !info.Mode().IsRegular():
		return errNotLog
	case err == nil && info.Size() > logLimit:
		if err := folder.Rename(logFile, logFile+".1"); err != nil {
			return err
		}
	}
	f, err := folder.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND|openCareful, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(lines); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
