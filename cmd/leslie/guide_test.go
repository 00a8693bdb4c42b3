package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/guide"
	"leslie/docs"
)

// Every agent pays for it in every session.
func TestTheBlockIsShort(t *testing.T) {
	t.Parallel()
	block := guide.Block()
	assert.LessOrEqual(t, strings.Count(block, "\n")+1, 40)
	assert.LessOrEqual(t, len(strings.Fields(block)), 500)
	for line := range strings.Lines(block) {
		assert.LessOrEqual(t, len(line), 140)
	}
}

// What was cut from the block is in the page to which it leads.
func TestThePageForAgentsNamesWhatTheyNeed(t *testing.T) {
	t.Parallel()
	text, ok := docs.Text("working")
	require.True(t, ok)
	assert.Contains(t, guide.Block(), "`leslie help working`")
	requireCommands(t, text)
	for _, line := range []string{
		"claim", "context", "list", "renew", "release", "objective create", "spawn", "reference", "reference refresh", "artifacts", "show",
		"diff", "publish", "transfer", "ask", "approvals", "can", "comment resolve", "inject", "wait", "observe", "status", "merge",
		"merge status", "merge resolve", "merge continue", "merge land", "pull", "land", "drop", "checkpoint", "rollback", "undo", "redo",
		"done", "cancel", "suspend", "history", "explain",
	} {
		assert.Contains(t, text, "leslie "+line, "the page does not show %s to agents", line)
	}
	for _, rule := range []string{"LESLIE_ACTOR", "git stash", "git clean -x", "--request-id", "--expect-revision", "W105", "W112", "T113", "T117",
		".leslie/merges/MERGE/work/", "plan-ID.md", "--inherit partial", "--depends-on"} {
		assert.Contains(t, text, rule)
	}
	assert.Contains(t, text, "An inherited `plan.md` or `progress.md` is its author's")
}

// requireCommands asserts that every line of leslie in a text is valid: a command of the
// table, with its flags.
func requireCommands(t *testing.T, text string) {
	t.Helper()
	lines := regexp.MustCompile("(?m)`leslie\\s+([^`]+)`|^    leslie ([^#\n]+)").FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, lines)
	for _, m := range lines {
		l := cli.ParseLine(commands().All(), strings.Fields(m[1]+m[2]))
		if l.Help {
			continue
		}
		require.NotNil(t, l.Cmd, "there is no command: leslie %s", m[1]+m[2])
		assert.Empty(t, l.Faults, "leslie %s", m[1]+m[2])
	}
}

func TestEveryCommandThatTheBlockNamesIsThere(t *testing.T) {
	t.Parallel()
	requireCommands(t, guide.Block())
}

// FuzzWithGuide: whatever AGENTS.md contains, text outside the block stays byte for byte,
// the result has a current block, and a second run changes nothing.
func FuzzWithGuide(f *testing.F) {
	block := guide.Block()
	for _, s := range []string{
		"", "\n", "\r\n", " ", "text", "text\n", "text\r", "text\r\nmore\r\n", "a\r\nb\n", block, "x\n" + block + "\ny", strings.ReplaceAll(block, "\n", "\r\n"),
		guide.Begin, guide.End, guide.Begin + guide.End, guide.End + guide.Begin, guide.Begin + guide.Begin + "x" + guide.End,
		"a" + guide.Begin + " v0 -->\r\nold\r\n" + guide.End + "b", guide.OldBegin + guide.OldEnd, guide.OldBegin, guide.OldEnd + guide.OldBegin, "x" + guide.OldBegin + "y\r\n" + guide.OldEnd + "z",
		guide.OldBegin + ">" + guide.OldEnd + "\n" + block, block + "\n" + guide.OldBegin + " v=1>" + guide.OldEnd, guide.OldBegin + guide.OldEnd + "a" + guide.OldBegin + guide.OldEnd,
		guide.OldBegin + guide.Begin + guide.OldEnd + guide.End, guide.Begin + guide.OldBegin + guide.End + guide.OldEnd, block + block, block + guide.Begin, guide.Begin + "\n" + block, "\xff\xfe", "\ufefftext",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, old []byte) {
		was := bytes.Clone(old)
		out := guide.Update(old)
		require.Equal(t, was, old, "the text that was read is left alone")
		fresh := []byte(block)
		at := bytes.Index(out, fresh)
		if at < 0 {
			fresh = bytes.ReplaceAll(fresh, []byte("\n"), []byte("\r\n"))
			at = bytes.Index(out, fresh)
		}
		require.GreaterOrEqual(t, at, 0, "the block is there")
		if !explains(old, out, fresh) && !explains(stripped(old), out, fresh) {
			t.Fatalf("%q became %q: text outside the block was touched", old, out)
		}
		require.Equal(t, string(out), string(guide.Update(out)), "a second run changes nothing")
	})
}

// explains reports whether out is old with one block replaced by fresh, or with fresh and
// empty lines after it.
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
		for _, marks := range [][2]string{{guide.Begin, guide.End}, {guide.OldBegin, guide.OldEnd}} {
			if strings.HasPrefix(gone, marks[0]) && strings.HasSuffix(gone, marks[1]) && strings.Count(gone, marks[0]) == 1 && strings.Count(gone, marks[1]) == 1 {
				return true
			}
		}
	}
	return false
}

// stripped is a text without the blocks of the Node edition that stand outside of one of
// this edition, or behind another of their own.
func stripped(old []byte) []byte {
	at, end, ok := guide.FindBlock(old, guide.Begin, guide.End)
	if !ok {
		at, end, ok = guide.FindBlock(old, guide.OldBegin, guide.OldEnd)
	}
	if !ok {
		return old
	}
	return slices.Concat(guide.WithoutOld(old[:at]), old[at:end], guide.WithoutOld(old[end:]))
}

func TestABlockOfTheNodeEditionIsReplacedWhereverItStands(t *testing.T) {
	t.Parallel()
	theirs := "<leslie_system_guide version=\"2.0.0\" description=\"Usage\">\nleslie spawn\n</leslie_system_guide>"
	block := guide.Block()
	for old, want := range map[string]string{
		"# Mine\n\n" + theirs + "\n\nmore\n":                "# Mine\n\n" + block + "\n\nmore\n",
		theirs + "\ntext\n" + block + "\n":                  "\ntext\n" + block + "\n",
		"text\n" + block + "\n" + theirs + "\nmore\n":       "text\n" + block + "\n\nmore\n",
		theirs + "\n" + theirs + "\n":                       block + "\n\n",
		"text about <leslie_system_guide version=1> only\n": "text about <leslie_system_guide version=1> only\n\n" + block + "\n",
	} {
		assert.Equal(t, want, string(guide.Update([]byte(old))))
	}
}

func onlyNewlines(b []byte) bool { return len(bytes.Trim(b, "\r\n")) == 0 }

// A child must know that the plan that it inherited is not its own.
func TestTheBlockSaysWhoseAnInheritedPlanIs(t *testing.T) {
	t.Parallel()
	block := guide.Block()
	assert.Contains(t, block, "inherited ones are their author's")
	assert.Contains(t, block, "`plan-ID.md`")
}
