//go:build !linux

// Package buffer makes memory for the content of large files.
package buffer

// Make returns memory for a file's content.
func Make(size int64) []byte { return make([]byte, size) }
