package app

import (
	"leslie/internal/app/changes"
	"leslie/thread"
)

// What one operation does to the files of one thread: see package changes.
type (
	// ChangeSet is changes.Set.
	ChangeSet = changes.Set
	// FileChange is changes.File.
	FileChange = changes.File
)

// ChangeList is changes.List.
func ChangeList(blobs changes.Blobs, list thread.BlobID) ([]FileChange, error) {
	return changes.List(blobs, list)
}
