package runcmd

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"leslie/internal/app/runs"
	"leslie/thread"
)

func TestEachRunHasALineThatIsDrawnAgain(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	at := time.Unix(1_700_000_000, 0)
	l := &runLines{out: &out, now: func() time.Time { return at }, columns: func() int { return 40 }, rows: func() int { return 6 }}
	said := func() string {
		text := out.String()
		out.Reset()
		return text
	}
	happens := func(id, kind, text string) string {
		tokens := int64(1200)
		l.happened(runs.Event{ThreadID: thread.ThreadID(id), Agent: "fake", Turn: 2, Kind: kind, Text: text, Used: thread.Use{Input: &tokens}})
		return said()
	}
	assert.Equal(t, "api  fake  turn 2  1200 tokens  ", happens("api", "turn", ""))
	assert.Empty(t, happens("api", "text", "I read "), "words are drawn ten times a second at most")
	at = at.Add(100 * time.Millisecond)
	assert.Equal(t, "\r\x1b[Kapi  fake  turn 2  1200 tokens  I read…", happens("api", "text", "the code\x1b]0;x\a"))
	assert.Equal(t, "\r\x1b[Kapi  fake  turn 2  1200 tokens  tool: …", happens("api", "tool", "Edit it"))
	assert.Equal(t, "\r\x1b[Kapi  fake  turn 2  1200 tokens  tool: …\ndocs  fake  turn 2  1200 tokens  ", happens("docs", "turn", ""))

	// What else is written comes in front of the lines.
	_, _ = l.Write([]byte("-- api: it asks\n"))
	assert.Equal(t, "\r\x1b[1A\x1b[J-- api: it asks\napi  fake  turn 2  1200 tokens  tool: …\ndocs  fake  turn 2  1200 tokens  ", said())
	assert.Equal(t, "\r\x1b[1A\x1b[Jdocs  fake  turn 2  1200 tokens  ", happens("api", "ended", "done"))
	for i := range 6 {
		happens(fmt.Sprint("more-", i), "turn", "")
	}
	text := happens("more-5", "tool", "x")
	assert.Contains(t, text, "and 4 more (leslie run list)", "there are never more than fit")
	assert.NotContains(t, text, "more-5")

	l.end()
	assert.Equal(t, "\r\x1b[3A\x1b[J", said())
	assert.Empty(t, happens("api", "turn", ""), "the runs are over")
	_, _ = l.Write([]byte("error\n"))
	assert.Equal(t, "error\n", said())
}
