package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"leslie/internal/acp"
)

func TestALimitIsToldFromOtherErrorsAndItsEndIsRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		limited bool
		left    time.Duration // 0: it does not say
	}{
		"Claude AI usage limit reached|1795442400":                            {true, time.Unix(1795442400, 0).Sub(now)},
		"You've hit your usage limit. Try again in 3 days 4 hours 2 minutes.": {true, 76*time.Hour + 2*time.Minute},
		"You have hit your limit, resets in 1h 30m":                           {true, 90 * time.Minute},
		"429 Too Many Requests":                                               {true, 0},
		"Resource_exhausted: quota exceeded, please retry in 41.5s":           {true, 41500 * time.Millisecond},
		"rate limit reached; it resets at 2026-11-23T13:00:00Z":               {true, time.Hour},
		`{"error":"rate_limit_error","retry_after": 30}`:                      {true, 30 * time.Second},
		"usage limit reached, try again in 900 days":                          {true, 0},
		"usage limit reached|1000000000":                                      {true, 0},
		"the model does not exist":                                            {false, 0},
		"the context window is full: prompt is too long (429000 tokens)":      {false, 0},
		"connection refused":                                                  {false, 0},
	}
	for said, want := range tests {
		data, _ := json.Marshal(map[string]string{"details": said})
		for _, err := range []*acp.Error{{Message: said}, {Message: "Internal error", Data: data}} {
			until, limited := limitOf(fmt.Errorf("lost: %w", err), now)
			assert.Equal(t, want.limited, limited, said)
			if want.left == 0 {
				assert.True(t, until.IsZero(), "%s: %s", said, until)
				continue
			}
			assert.Equal(t, want.left, until.Sub(now), said)
		}
	}
	_, limited := limitOf(errors.New("429"), now)
	assert.False(t, limited, "only an agent's answer counts")
}
