//go:build unix

package lab

import (
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// This file writes unique lines with a checksum, which shows whether a line is torn.

// WithChecksum appends a checksum to a line.
func WithChecksum(text string) string {
	return fmt.Sprintf("%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// intact reports whether a line ends with its checksum.
func intact(line string) bool {
	i := strings.LastIndexByte(line, ' ')
	return i > 0 && WithChecksum(line[:i]) == line
}

// Torn returns the first line of a text without its checksum, or "".
func Torn(text string) string {
	for line := range strings.Lines(text) {
		if !intact(line) {
			return line
		}
	}
	return ""
}

// Missing returns the first of the wanted lines that a text does not contain exactly
// once, and how often the text contains it.
func Missing(want []string, text string) (line string, times int) {
	have := map[string]int{}
	for line := range strings.Lines(text) {
		have[line]++
	}
	for _, line := range want {
		if n := have[line]; n != 1 {
			return line, n
		}
	}
	return "", 1
}

// Artifacts returns the files in a thread's folder, except leslie's own.
func Artifacts(root string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == "context" || rel == ".meta"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := os.ReadFile(name)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	return out, err
}
