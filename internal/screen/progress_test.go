package screen

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestProgressSaysWhatHowMuchAndHowLong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p     Progress
		taken time.Duration
		width int
		want  string
	}{
		{Progress{What: "importing"}, time.Second, 80, "importing"},
		{Progress{What: "importing", Done: 12}, time.Second, 80, "importing, 12"},
		{Progress{What: "importing", Total: 12}, time.Second, 80, "importing, 0 of 12"},
		{Progress{What: "importing", Done: 3, Total: 12}, 2 * time.Second, 80, "importing, 3 of 12, 25 %, 6 s left"},
		{Progress{What: "importing", Done: 12, Total: 12}, 2 * time.Second, 80, "importing, 12 of 12, 100 %"},
		{Progress{What: "importing", Done: 13, Total: 12}, 2 * time.Second, 80, "importing, 13 of 12, 100 %"},
		{Progress{What: "reading", Done: 1, Total: 2_300_000, Unit: Bytes}, time.Millisecond, 80, "reading, 1 kB of 2.3 MB, 0 %, 39 min left"},
		{Progress{What: "reading", Done: 2_000_000_000, Total: 4_000_000_000, Unit: Bytes}, 2 * time.Hour, 80, "reading, 2.0 GB of 4.0 GB, 50 %, 2 h left"},
		{Progress{What: "checking blobs", Done: 64, Total: 256, Unit: Shares}, 30 * time.Second, 80, "checking blobs, 25 %, 90 s left"},
		{Progress{What: "importing", Done: 3, Total: 12}, 2 * time.Second, 35, "importing, 3 of 12, 25 %, 6 s left"},
		{Progress{What: "importing", Done: 3, Total: 12}, 2 * time.Second, 34, "importing, 3 of 12, 25 %"},
		{Progress{What: "importing", Done: 3, Total: 12}, 2 * time.Second, 24, "importing, 3 of 12"},
		{Progress{What: "importing", Done: 3, Total: 12}, 2 * time.Second, 10, "importing"},
		{Progress{What: "importing", Done: 3, Total: 12}, 2 * time.Second, 5, "imp…"},
	} {
		got := c.p.Line(c.taken, c.width)
		assert.Equal(t, c.want, got)
		assert.Less(t, cells(got), c.width)
	}
}
