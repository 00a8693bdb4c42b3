package threadcmd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
)

func TestAListSaysOfHoldersThatWereNotHeardOfSinceWhen(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)
	claim := &app.ClaimRecord{Holder: "worker", HeardAt: at, Silent: 42 * time.Minute}
	p := &page.Page{Now: func() time.Time { return at.Add(42 * time.Minute) }}
	assert.Equal(t, "worker (42 min ago)", holder(p, claim))
	assert.Equal(t, "worker", holder(p, &app.ClaimRecord{Holder: "worker", HeardAt: at, Silent: 59 * time.Second}))
	assert.Empty(t, holder(p, nil))
	assert.Equal(t, "2026-02-09T16:00:00Z", heard(p, claim).Text)
	assert.Equal(t, "last heard of 42 min ago", heardText(claim))
	assert.Equal(t, ", last heard of 42 min ago", silence(claim))
	assert.Empty(t, silence(nil))
	wide := &page.Page{Width: 80}
	assert.Equal(t, "worker (42 min ago)", holder(wide, claim))
	assert.Equal(t, "worker", holder(wide, &app.ClaimRecord{Holder: "worker", HeardAt: at, Silent: 9 * time.Minute}))
	p.Relative, p.Timed = true, true
	assert.Equal(t, "worker", holder(p, claim), "the column beside it says it")
	assert.Equal(t, "42 min ago", heard(p, claim).Text)
}
