package store

import "github.com/fsnotify/fsnotify"

// What tests from outside have to know of the inside.
const (
	BusyFor   = busyFor
	BusyAmong = busyAmong
	DeadAfter = deadAfter
	Looks     = looks
	Gitignore = gitignore
)

// NewWatcher watches a file with these notifications.
func NewWatcher(path string, notify *fsnotify.Watcher) *Watcher {
	return &Watcher{path: path, last: fingerprintOf(path), notify: notify}
}

// Notifications are those of a watcher, nil if only the poll tells.
func (w *Watcher) Notifications() *fsnotify.Watcher { return w.notify }
