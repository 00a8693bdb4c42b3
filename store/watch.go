package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"leslie/codes"
	"leslie/store/internal/saferoot"
)

// This file waits for a file of the store to change, using notifications of the system
// (inotify and equivalents). It watches the folder, not the file, because a rename
// replaces the state.
//
// Notifications are never trusted alone. Network file systems do not report changes by
// other machines, and a limit or a sandbox may forbid notifications: so there is a
// slow poll in addition to them, and a faster one instead of them.

const (
	// pollAlone is the poll interval without notifications.
	pollAlone = 500 * time.Millisecond
	// pollBeside is the poll interval with notifications.
	pollBeside = 2 * time.Second
	// headBytes includes the revision and the checksum of a state.
	headBytes = 128
)

// Watcher waits for one file of the store to change. It is for one goroutine,
// and must be closed.
type Watcher struct {
	path   string
	last   fingerprint
	notify *fsnotify.Watcher // nil: only the poll tells
	// unfollow ends the following of a project's log; nil if it has none.
	unfollow context.CancelFunc
}

// Watch starts to watch a file of the store, given with "/", which need not exist.
// Changes from now on end the next Next, so a caller watches first, then reads, and
// misses nothing. It never fails: without notifications, the file is polled. Whoever
// watches the state of a project on several machines follows its log, if nobody else does.
func (s *Store) Watch(rel string) *Watcher {
	w := &Watcher{path: s.Path(rel)}
	w.notify = notifier(filepath.Dir(w.path))
	w.last = fingerprintOf(w.path)
	if rel == StateFile && s.opts.Link != nil {
		var ctx context.Context
		ctx, w.unfollow = context.WithCancel(s.opts.Context)
		go s.Follow(ctx)
	}
	return w
}

// notifier returns notifications for a folder, nil if that is impossible.
func notifier(folder string) *fsnotify.Watcher {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return nil
	}
	if n.Add(folder) != nil {
		_ = n.Close()
		return nil
	}
	return n
}

// Close ends the watch.
func (w *Watcher) Close() {
	if w.unfollow != nil {
		w.unfollow()
		w.unfollow = nil
	}
	w.deafen()
}

// deafen ends the notifications.
func (w *Watcher) deafen() {
	if w.notify != nil {
		_ = w.notify.Close()
		w.notify = nil
	}
}

// Next returns when the file has changed since Watch or the last Next returned, or
// after limit if that is above zero. Several changes count as one. Errors: T904 when
// ctx ends.
func (w *Watcher) Next(ctx context.Context, limit time.Duration) error {
	var over <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	poll := time.NewTicker(w.pace())
	defer poll.Stop()
	for ctx.Err() == nil {
		if w.moved() {
			return nil
		}
		events, failures := w.heard()
		select {
		case <-ctx.Done():
		case <-over:
			return nil
		case <-poll.C:
		case <-events: // of any file of the folder
		case err := <-failures:
			// After an overflow it is only known that much has changed.
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				w.deafen()
				poll.Reset(w.pace())
			}
		}
	}
	return codes.Interrupted.Wrap(context.Cause(ctx))
}

// heard returns the notification channels, nil without notifications.
func (w *Watcher) heard() (<-chan fsnotify.Event, <-chan error) {
	if w.notify == nil {
		return nil, nil
	}
	return w.notify.Events, w.notify.Errors
}

func (w *Watcher) pace() time.Duration {
	if w.notify == nil {
		return pollAlone
	}
	return pollBeside
}

// moved reports whether the file has changed.
func (w *Watcher) moved() bool {
	now := fingerprintOf(w.path)
	was := w.last
	w.last = now
	return !now.equals(was)
}

// fingerprint distinguishes one content of a file from the next. Inode, size and time
// are not enough: on a fast disk three states can follow each other within one tick of
// its clock, and the third may get the inode of the first.
type fingerprint struct {
	info fs.FileInfo // nil: it could not be read
	head string      // of a state its revision and checksum
	err  string
}

func fingerprintOf(path string) fingerprint {
	f, info, err := saferoot.OpenRegular(path)
	if err != nil {
		return fingerprint{err: err.Error()}
	}
	defer f.Close()
	head := make([]byte, headBytes)
	n, _ := f.ReadAt(head, 0)
	return fingerprint{info: info, head: string(head[:n])}
}

func (m fingerprint) equals(o fingerprint) bool {
	if m.info == nil || o.info == nil {
		return m.info == o.info && m.err == o.err
	}
	return unwritten(m.info, o.info) && m.head == o.head
}

// unwritten reports whether two looks found the same file without a write in between,
// as far as inode, size and time show.
func unwritten(a, b fs.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
