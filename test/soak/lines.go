//go:build unix

package main

import (
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// This file is about lines that are written once, and show when they are torn.

// withChecksum ends a line with its sum.
func withChecksum(text string) string {
	return fmt.Sprintf("%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// whole reports whether a line is one that was withChecksum.
func whole(line string) bool {
	i := strings.LastIndexByte(line, ' ')
	return i > 0 && withChecksum(line[:i]) == line
}

// torn is the first line of a text that nobody wrote, "" when there is none.
func torn(text string) string {
	for line := range strings.Lines(text) {
		if !whole(line) {
			return line
		}
	}
	return ""
}

// missing is the first of these lines that a text does not have exactly once, and
// how often it has it.
func missing(want []string, text string) (line string, times int) {
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

// artifacts are the files of a thread, without what leslie keeps there for itself.
func (p *project) artifacts(thread string) (map[string]string, error) {
	out := map[string]string{}
	root := p.path("threads/" + thread)
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
