//go:build !linux

package lockfile

// fileSystem names no file system: only Linux is asked.
func fileSystem(string) string { return "" }
