package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"leslie/internal/app"
)

func TestProgressIsOneLineThatIsDrawnAfterASecond(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	at := time.Unix(1_700_000_000, 0)
	p := &progressLine{out: &out, now: func() time.Time { return at }, columns: func() int { return 40 }}
	said := func() string {
		text := out.String()
		out.Reset()
		return text
	}
	tell := func(after time.Duration, done int64) string {
		at = at.Add(after)
		p.tell(app.Progress{What: "importing", Done: done, Total: 10})
		return said()
	}
	assert.Empty(t, tell(0, 0), "it has only begun")
	assert.Empty(t, tell(999*time.Millisecond, 1))
	assert.Equal(t, "\rimporting, 2 of 10, 20 %, 4 s left\x1b[K", tell(time.Millisecond, 2))
	assert.Empty(t, tell(99*time.Millisecond, 3), "a line stands for a moment")
	assert.Equal(t, "\rimporting, 4 of 10, 40 %, 2 s left\x1b[K", tell(time.Millisecond, 4))

	_, _ = p.Write([]byte("leslie: something else\n"))
	assert.Equal(t, "\r\x1b[Kleslie: something else\n", said())
	_, _ = p.Write([]byte("more\n"))
	assert.Equal(t, "more\n", said())
	assert.Equal(t, "\rimporting, 5 of 10, 50 %, 2 s left\x1b[K", tell(time.Second/2, 5))

	// What comes next has a time of its own.
	p.tell(app.Progress{What: "writing", Done: 0, Total: 4})
	assert.Equal(t, "\rwriting, 0 of 4\x1b[K", said())

	c := &Call{}
	c.Env.Stderr = p
	c.endProgress()
	assert.Equal(t, "\r\x1b[K", said())
	assert.Empty(t, tell(time.Hour, 6), "the call is over")
	c.endProgress()
	assert.Empty(t, said())
	(&Call{}).endProgress()
}
