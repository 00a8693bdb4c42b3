package main

import (
	"bytes"
	"fmt"
	"strings"
)

// This file writes the block in AGENTS.md that teaches an agent the commands.
// It is made from the command table, so it cannot say what leslie does not do.

// guideVersion is the version of the block's wording: raised when an agent
// should read it anew.
const guideVersion = 1

const (
	guideBegin = "<!-- leslie:begin"
	guideEnd   = "<!-- leslie:end -->"
	// An earlier edition's block.
	oldBegin = "<leslie_system_guide>"
	oldEnd   = "</leslie_system_guide>"
)

// guide is the block.
func guide(all []*command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s v%d: this block is leslie's; leslie init rewrites it -->\n", guideBegin, guideVersion)
	b.WriteString(`## Working with leslie

This project splits its objectives into threads of work with ` + "`leslie`" + `. A thread has a folder of
artifacts (plans, designs, progress, notes) in ` + "`.leslie/threads/ID/`" + `: read and write files there with your own
tools, but never edit ` + "`.leslie/thread_relations.json`" + ` or other files of leslie's. Add ` + "`--format json`" + ` for answers
to parse; an error names its code, a hint and commands that lead on (` + "`leslie explain CODE`" + `). Set
` + "`LESLIE_THREAD=ID`" + ` to speak for your thread.

`)
	for _, cmd := range all {
		fmt.Fprintf(&b, "- `%s`: %s\n", cmd.shortUsage(), cmd.summary)
	}
	b.WriteString(guideEnd)
	return b.String()
}

// shortUsage is the command and its operands, without flags.
func (cmd *command) shortUsage() string {
	parts := []string{"leslie", cmd.name}
	for _, o := range cmd.operands {
		parts = append(parts, o.name)
	}
	return strings.Join(parts, " ")
}

// withGuide puts the block into a text: in place of an older one, else at the
// end. Everything outside the block stays as it is, line ends too.
func withGuide(old []byte, all []*command) []byte {
	block, newline := []byte(guide(all)), []byte("\n")
	// A carriage return at the very end would make a line end with the newline
	// that follows it.
	if bytes.Contains(old, []byte("\r\n")) || bytes.HasSuffix(old, []byte("\r")) {
		newline = []byte("\r\n")
		block = bytes.ReplaceAll(block, []byte("\n"), newline)
	}
	if at, end, ok := findBlock(old, guideBegin, guideEnd); ok {
		return splice(old, at, end, block)
	}
	if at, end, ok := findBlock(old, oldBegin, oldEnd); ok {
		return splice(old, at, end, block)
	}
	if len(old) == 0 {
		return append(append([]byte{}, block...), '\n')
	}
	out := append([]byte{}, old...)
	if !bytes.HasSuffix(out, newline) {
		out = append(out, newline...)
	}
	return append(append(append(out, newline...), block...), newline...)
}

func splice(old []byte, at, end int, block []byte) []byte {
	return append(append(append([]byte{}, old[:at]...), block...), old[end:]...)
}

// findBlock finds the first begin that is followed by its end: a begin without
// an end is somebody's text and stays.
func findBlock(text []byte, begin, end string) (from, to int, ok bool) {
	for from = 0; ; from++ {
		i := bytes.Index(text[from:], []byte(begin))
		if i < 0 {
			return 0, 0, false
		}
		from += i
		rest := text[from+len(begin):]
		close := bytes.Index(rest, []byte(end))
		if close < 0 {
			return 0, 0, false
		}
		if again := bytes.Index(rest, []byte(begin)); again < 0 || again > close {
			return from, from + len(begin) + close + len(end), true
		}
	}
}
