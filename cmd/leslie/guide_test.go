package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheBlockTeachesEveryCommand(t *testing.T) {
	t.Parallel()
	block := guide(commands())
	for _, cmd := range commands() {
		assert.Contains(t, block, "leslie "+cmd.name)
	}
	assert.Less(t, len(block), 4000, "every agent pays for it in every session")
}

// FuzzWithGuide: whatever AGENTS.md holds, text outside the block stays byte for
// byte, there is a block of today in it, and a second run changes nothing.
func FuzzWithGuide(f *testing.F) {
	block := guide(commands())
	for _, s := range []string{
		"", "\n", "\r\n", " ", "text", "text\n", "text\r", "text\r\nmore\r\n", "a\r\nb\n", block, "x\n" + block + "\ny", strings.ReplaceAll(block, "\n", "\r\n"),
		guideBegin, guideEnd, guideBegin + guideEnd, guideEnd + guideBegin, guideBegin + guideBegin + "x" + guideEnd,
		"a" + guideBegin + " v0 -->\r\nold\r\n" + guideEnd + "b", oldBegin + oldEnd, oldBegin, oldEnd + oldBegin, "x" + oldBegin + "y\r\n" + oldEnd + "z",
		oldBegin + guideBegin + oldEnd + guideEnd, guideBegin + oldBegin + guideEnd + oldEnd, block + block, block + guideBegin, guideBegin + "\n" + block, "\xff\xfe", "\ufefftext",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, old []byte) {
		was := bytes.Clone(old)
		out := withGuide(old, commands())
		require.Equal(t, was, old, "the text that was read is left alone")
		fresh := []byte(block)
		at := bytes.Index(out, fresh)
		if at < 0 {
			fresh = bytes.ReplaceAll(fresh, []byte("\n"), []byte("\r\n"))
			at = bytes.Index(out, fresh)
		}
		require.GreaterOrEqual(t, at, 0, "the block is there")
		if !explains(old, out, fresh) {
			t.Fatalf("%q became %q: text outside the block was touched", old, out)
		}
		require.Equal(t, string(out), string(withGuide(out, commands())), "a second run changes nothing")
	})
}

// explains reports whether out is old with one block replaced by fresh, or with
// fresh and empty lines behind it, for one of the places where fresh stands.
func explains(old, out, fresh []byte) bool {
	for at := 0; at <= len(out); at++ {
		i := bytes.Index(out[at:], fresh)
		if i < 0 {
			return false
		}
		at += i
		before, after := out[:at], out[at+len(fresh):]
		if rest, ok := bytes.CutPrefix(before, old); ok && onlyNewlines(rest) && onlyNewlines(after) {
			return true
		}
		if len(before)+len(after) > len(old) || !bytes.HasPrefix(old, before) || !bytes.HasSuffix(old, after) {
			continue
		}
		gone := string(old[len(before) : len(old)-len(after)])
		for _, marks := range [][2]string{{guideBegin, guideEnd}, {oldBegin, oldEnd}} {
			if strings.HasPrefix(gone, marks[0]) && strings.HasSuffix(gone, marks[1]) && strings.Count(gone, marks[0]) == 1 && strings.Count(gone, marks[1]) == 1 {
				return true
			}
		}
	}
	return false
}

func onlyNewlines(b []byte) bool { return len(bytes.Trim(b, "\r\n")) == 0 }
