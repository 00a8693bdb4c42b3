//go:build !linux

package store

// room is memory for a file's content.
func room(size int64) []byte { return make([]byte, size) }
