package screen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestANoticeIsThePublishedLine(t *testing.T) {
	t.Parallel()
	n := Notice{Kind: "error", Code: "T101", Message: "Thread 'x\x1b' not \"found\".", Facts: " threadId=x nearest=y"}
	assert.Equal(t, `error code=T101 msg="Thread 'x\x1b' not \"found\"." threadId=x nearest=y`, n.Draw())
	n.Colours = true
	assert.True(t, strings.HasPrefix(n.Draw(), "\x1b[38;5;131merror\x1b[0m\x1b[38;5;243m code=T101 msg=\"\x1b[0m\x1b[1mThread "), "the message stands out")
}

func TestWordsAreNotBroken(t *testing.T) {
	t.Parallel()
	const text = "Resolve each with leslie merge resolve, or edit a path/that/is/longer/than/the/row below, then continue"
	for width := 12; width < 110; width++ {
		rows := Labelled("hint:", text, width, false)
		for _, row := range rows {
			assert.LessOrEqual(t, cells(row), width, row)
		}
		if width > 2+35 { // the longest word and the indent
			assert.Equal(t, "hint: "+text, strings.Join(strings.Fields(strings.Join(rows, " ")), " "), "width %d", width)
		}
	}
	assert.Equal(t, []string{"hint: " + text}, Labelled("hint:", text, 0, false))
}
