package screen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/internal/screen"
)

const page = "# Title of `this`\n\nA paragraph of `some\nwords`, *and* a [link](code.md#here), an\n![image](a.png) left out.\n\n" +
	"- one thing that is longer than a line\n  - below it\n- two\n\n3. three\n\n```sh\nleslie spawn --code \"A title that is long\"   # x\n\n\tdone\n```\n\n" +
	"| Flag | What it does |\n|---|---|\n| `--by A` | only what A made, and nothing else |\n\n| | |\n|---|---|\n| a | b |\n\n<!-- no -->\n\n> said\n> twice\n"

func TestADocumentIsDrawnForATerminal(t *testing.T) {
	t.Parallel()
	refer := func(address string) string { return strings.TrimSuffix(address, ".md#here") }
	want := "# Title of `this`\n\nA paragraph of `some words`,\nand a link (`code`), an\nleft out.\n\n" +
		"- one thing that is longer\n  than a line\n  - below it\n- two\n\n3. three\n\n" +
		"    leslie spawn --code \"A title that is long\"   # x\n\n        done\n\n" +
		"Flag      What it does\n`--by A`  only what A made,\n          and nothing else\n\na  b\n\n| said twice"
	assert.Equal(t, want, strings.Join(screen.Markdown(page, 28, false, refer), "\n"))

	coloured := strings.Join(screen.Markdown(page, 28, true, refer), "\n")
	assert.Contains(t, coloured, "\x1b[1mTitle of \x1b[0m\x1b["+screen.SGRBlue+"mthis\x1b[0m\n")
	assert.Contains(t, coloured, "\x1b["+screen.SGRBlue+"m--by A\x1b[0m")
	assert.NotContains(t, coloured, "`")
}

func TestADocumentCannotActOnATerminal(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"a \x1b[2J b", "```\n\x1b[2J\n```", "`\x1b[2J`", "[\x1b[2J](x)", "| a |\n|-|\n| \x1b[2J |", "<https://x/\x1b[2J>", "# \x1b[2J", "- \x1b[2J", "> *\x1b[2J*"} {
		assert.NotContains(t, strings.Join(screen.Markdown(source, 40, false, func(string) string { return "" }), "\n"), "\x1b", "%q", source)
	}
}

// Whatever a document is, drawing it ends, and its lines fit.
func FuzzMarkdown(f *testing.F) {
	for _, source := range []string{page, "- a\n\n  b\n\nc", "1. a\n- b\n  ```\n  c", "|", "| a\n| b | c |\n|", "**", "*a", "[a](b", "![](", "> > > a", "<!--", "\\", "`a``b`", "#"} {
		f.Add(source, 30)
	}
	f.Fuzz(func(t *testing.T, source string, width int) {
		width = min(max(width, 1), 200)
		for _, line := range screen.Markdown(source, width, false, func(address string) string { return address }) {
			assert.NotContains(t, line, "\n")
			assert.NotContains(t, line, "\x1b")
		}
	})
}
