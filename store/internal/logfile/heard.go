package logfile

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"strconv"
	"time"

	"leslie/store/internal/saferoot"
)

// This file keeps when those who hold threads were last heard of, so that one that is gone
// can be told from one that works. Each has a file whose modification time says it. A call
// changes no more than that, so it costs the same however long the history is. Nothing
// depends on it, so it is kept beside the log: what cannot be written or read is left out,
// and nothing is fsynced.

// HeardDir has a file for each actor that has claimed a thread, named by the SHA-256 of its
// name, with the name in it.
const HeardDir = Folder + "/" + Heard

const (
	// Heard is the name of HeardDir in the folder of the log.
	Heard = "heard"
	// heardAgain is how old a time has to be to be replaced.
	heardAgain = time.Second
	// heardFor is how long the file of an actor stays that is not heard of any more.
	heardFor = 90 * 24 * time.Hour
	// heardSweep is the file that says when files were last removed, once a day.
	heardSweep = HeardDir + "/.swept"
)

func heardFile(actor string) string {
	sum := sha256.Sum256([]byte(actor))
	return path.Join(HeardDir, hex.EncodeToString(sum[:]))
}

// Hear notes that an actor which has a file was heard of.
func (l Log) Hear(actor string, at time.Time) {
	rel := heardFile(actor)
	if was := l.disk.ChangedAt(rel); !was.IsZero() && at.Sub(was).Abs() >= heardAgain {
		_ = os.Chtimes(l.disk.Path(rel), at, at)
	}
}

// HearHolder notes that an actor was heard of, unless it was heard of later, and gives it a
// file.
func (l Log) HearHolder(actor string, at time.Time) {
	rel := heardFile(actor)
	if was := l.disk.ChangedAt(rel); !was.IsZero() {
		if at.Sub(was) >= heardAgain {
			_ = os.Chtimes(l.disk.Path(rel), at, at)
		}
		return
	}
	root, err := l.disk.Open()
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	if root.Ensure(HeardDir) != nil {
		return
	}
	l.makeHeard(root, rel, strconv.Quote(actor)+"\n", at)
	if swept := l.disk.ChangedAt(heardSweep); at.Sub(swept) >= 24*time.Hour {
		_ = root.Base().Remove(heardSweep)
		l.makeHeard(root, heardSweep, "", at)
		sweepHeard(root, at)
	}
}

func (l Log) makeHeard(root *saferoot.Root, rel, text string, at time.Time) {
	f, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL|saferoot.OpenFlags, 0o644)
	if err != nil {
		return
	}
	_, _ = f.WriteString(text)
	_ = f.Close()
	_ = os.Chtimes(l.disk.Path(rel), at, at)
}

// sweepHeard removes the files of those who were not heard of for long.
func sweepHeard(root *saferoot.Root, now time.Time) {
	names, _ := saferoot.ReadNames(root.Base(), HeardDir)
	for _, name := range names {
		rel := path.Join(HeardDir, name)
		if info, err := root.Lstat(rel); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > heardFor {
			_ = root.Base().Remove(rel)
		}
	}
}

// HeardOf returns when an actor was last heard of on this machine, the zero time for one that
// has no file.
func (l Log) HeardOf(actor string) time.Time { return l.disk.ChangedAt(heardFile(actor)) }
