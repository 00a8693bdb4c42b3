//go:build !linux

package harness

// MemoryDir is "": which folder is in memory is known on Linux alone.
func MemoryDir() string { return "" }
