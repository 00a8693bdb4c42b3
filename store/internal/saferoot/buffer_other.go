//go:build !linux

package saferoot

// Buffer returns memory for a file's content.
func Buffer(size int64) []byte { return make([]byte, size) }
