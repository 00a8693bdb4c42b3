package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
		"write /tmp/x: disk quota exceeded":                                   {false, 0},
		"5-hour limit reached ∙ resets 3pm":                                   {true, 3 * time.Hour},
		"5-hour limit reached ∙ resets 11am":                                  {true, 23 * time.Hour},
		"You've hit your limit · resets 3pm (Europe/Berlin)":                  {true, 2 * time.Hour},
		"Your limit will reset at 3:30 p.m. (America/New_York). usage limit":  {true, 8*time.Hour + 30*time.Minute},
		"Weekly limit reached ∙ resets Nov 28, 1pm (UTC)":                     {true, 121 * time.Hour},
		"weekly limit reached, resets Nov. 28th at 1 pm UTC":                  {true, 121 * time.Hour},
		"usage limit; try again at Nov 28th, 2026 3:24 PM.":                   {true, 123*time.Hour + 24*time.Minute},
		"usage limit; try again at 3:24 PM.":                                  {true, 3*time.Hour + 24*time.Minute},
		"usage limit; try again in less than a minute":                        {true, time.Minute},
		"rate limit reached. Please try again in 3h 20m.":                     {true, 3*time.Hour + 20*time.Minute},
		"rate limit reached. Please try again later. It resets in 3h20m15s.":  {true, 3*time.Hour + 20*time.Minute + 15*time.Second},
		"Your quota will reset after 2h5m":                                    {true, 2*time.Hour + 5*time.Minute},
		"quota exhausted, available again in an hour":                         {true, time.Hour},
		"quota exhausted, available again in about 2 days and 3 hours":        {true, 51 * time.Hour},
		"quota exhausted; resets at 14:30 UTC":                                {true, 2*time.Hour + 30*time.Minute},
		"quota exhausted; resets at 14:30 UTC+2":                              {true, 30 * time.Minute},
		"quota exhausted; resets at 14:30 +01:00":                             {true, 90 * time.Minute},
		"quota exhausted; resets at 14:30 GMT-3":                              {true, 5*time.Hour + 30*time.Minute},
		"quota exhausted; resets 9:00 AM PST":                                 {true, 5 * time.Hour},
		"quota exhausted; resets at midnight Pacific time":                    {true, 20 * time.Hour},
		"quota exhausted; resets at noon":                                     {true, 24 * time.Hour},
		"quota exhausted until 2026-11-24 03:00 UTC":                          {true, 15 * time.Hour},
		"quota exhausted until 2026-11-24 03:00:30 +02:00":                    {true, 13*time.Hour + 30*time.Second},
		"quota exhausted until 2026-11-24":                                    {true, 12 * time.Hour},
		"quota exhausted; resets 26 November 2026 17:00 CET":                  {true, 76 * time.Hour},
		"quota exhausted; resets tomorrow at 9:00":                            {true, 21 * time.Hour},
		"quota exhausted; resets on Friday at 9am":                            {true, 93 * time.Hour},
		"quota exhausted; resets Mon 12:00am":                                 {true, 156 * time.Hour},
		"quota exhausted; resets Dec 1":                                       {true, 180 * time.Hour},
		"quota exhausted; resets Nov 1":                                       {true, 0},
		"quota exhausted; Retry-After: Wed, 25 Nov 2026 07:28:00 GMT":         {true, 43*time.Hour + 28*time.Minute},
		"quota exhausted; you have used 12 messages again":                    {true, 0},
		"at 2026-11-23T11:00:00Z: rate limit; resets at 2026-11-23T13:00:00Z": {true, time.Hour},
		"Limit reached (resets at 17:05)":                                     {true, 5*time.Hour + 5*time.Minute},
		"the recursion limit was reached":                                     {false, 0},
		"usage limit: resets on 2026-11-25 at 09:00 (Asia/Tokyo)":             {true, 36 * time.Hour},
		"usage limit: available after 25.11.2026 10:00":                       {true, 46 * time.Hour},
		"usage limit: resets 11/25/2026 9:00 AM":                              {true, 45 * time.Hour},
		"Rate limit exceeded, please wait 45 seconds":                         {true, 45 * time.Second},
		"rate limit: wait 5 minutes before retrying":                          {true, 5 * time.Minute},
		"usage limit. Your quota resets in 02:30:15":                          {true, 2*time.Hour + 30*time.Minute + 15*time.Second},
		"usage limit: refills in 3 hr. 20 min.":                               {true, 3*time.Hour + 20*time.Minute},
		"usage limit; expires at 16:00":                                       {true, 4 * time.Hour},
		"usage limit reached, resets at 1795442400":                           {true, time.Unix(1795442400, 0).Sub(now)},
		"weekly limit - resets at Fri, 27 Nov 2026 09:00:00 +0100":            {true, 92 * time.Hour},
		`{"error":{"type":"usage_limit_reached","resets_in_seconds":7200}}`:   {true, 2 * time.Hour},
		`quota: {"details":[{"retryDelay":"41s"}]}`:                           {true, 41 * time.Second},
	}
	for said, want := range tests {
		data, _ := json.Marshal(map[string]string{"details": said})
		answers := []*acp.Error{{Message: said}, {Message: "Internal error", Data: data}}
		if strings.Contains(said, "{") && !strings.Contains(said, "retry_after") { // only members are read
			answers = answers[1:]
		}
		for _, err := range answers {
			until, limited := LimitOf(fmt.Errorf("lost: %w", err), now)
			assert.Equal(t, want.limited, limited, said)
			if want.left == 0 {
				assert.True(t, until.IsZero(), "%s: %s", said, until)
				continue
			}
			assert.Equal(t, want.left, until.Sub(now), said)
		}
	}
	_, limited := LimitOf(errors.New("429"), now)
	assert.False(t, limited, "only an agent's answer counts")
}

func TestTheEndOfALimitIsTakenFromWhatAnAgentSaysOfItsUse(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	unix := now.Add(2 * time.Hour).Unix()
	tests := map[string]struct {
		usage, words, said string
		want               time.Duration
	}{
		"seconds":            {usage: fmt.Sprintf(`{"_claude/rateLimit":{"status":"rejected","resetsAt":%d}}`, unix), want: 2 * time.Hour},
		"milliseconds":       {usage: fmt.Sprintf(`{"rate_limit":{"reset_at":%d000}}`, unix), want: 2 * time.Hour},
		"a time stamp":       {usage: `{"limits":[{"resetTime":"2026-11-23T15:00:00+01:00"}]}`, want: 2 * time.Hour},
		"a while":            {usage: `{"resetsInSeconds":7200}`, want: 2 * time.Hour},
		"words":              {usage: `{"reset":"in 2h"}`, want: 2 * time.Hour},
		"the one that is up": {usage: `{"primary":{"usedPercent":100,"resetsAt":"2026-11-23T14:00:00Z"},"secondary":{"usedPercent":40,"resetsAt":"2026-11-26T14:00:00Z"}}`, want: 2 * time.Hour},
		"both are up":        {usage: `{"primary":{"usedPercent":100,"resetsAt":"2026-11-23T14:00:00Z"},"secondary":{"usedPercent":100,"resetsAt":"2026-11-24T14:00:00Z"}}`, want: 26 * time.Hour},
		"another is not up":  {usage: `{"status":"allowed","resetsAt":"2026-11-23T14:00:00Z"}`, said: "usage limit, resets in 3h", want: 3 * time.Hour},
		"all that is told":   {usage: `{"status":"allowed_warning","resetsAt":"2026-11-23T14:00:00Z"}`, want: 2 * time.Hour},
		"before the words":   {usage: `{"resetsAt":"2026-11-23T14:00:00Z"}`, said: "usage limit, resets in 3h", want: 2 * time.Hour},
		"it is over":         {usage: `{"resetsAt":"2026-11-23T10:00:00Z"}`, said: "usage limit, resets in 3h", want: 3 * time.Hour},
		"what it said":       {words: "You've hit your limit · resets 2pm (UTC)", want: 2 * time.Hour},
		"other words":        {words: "The store opens again at 2pm", want: 0},
		"nothing":            {usage: `{"quota":{"token_count":{"input_tokens":3}}}`, want: 0},
	}
	for name, test := range tests {
		said := test.said
		if said == "" {
			said = "usage limit reached"
		}
		until, limited := LimitSaid{json.RawMessage(test.usage), test.words}.Limit(&acp.Error{Message: said}, now)
		assert.True(t, limited, name)
		if test.want == 0 {
			assert.True(t, until.IsZero(), "%s: %s", name, until)
			continue
		}
		assert.Equal(t, test.want, until.Sub(now), name)
	}
}

func TestALimitWithWhichATurnEndsIsToldFromOtherWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		usage   string
		limited bool
	}{
		"You've hit your weekly limit · resets Jun 3 at 4pm (Europe/Berlin)":   {limited: true},
		"I look at the parser next.You’ve hit your session limit ∙ resets 3pm": {limited: true},
		"Claude AI usage limit reached|1795442400":                             {limited: true},
		"5-hour limit reached ∙ resets 3pm":                                    {limited: true},
		"You have reached your usage limit. Upgrade to continue.":              {limited: true},
		"You have exhausted your daily quota on this model.":                   {limited: true},
		"Usage limit exceeded.":                                                {usage: `{"status":"rejected","resetsAt":"2026-11-23T14:00:00Z"}`, limited: true},
		"The rate limit is tested now; all tests pass.":                        {},
		"When the limit is reached the server answers 429.":                    {},
		"The parser tells \"rate limit exceeded\" from other errors.":          {},
		"I hit a limit of the shell and used a file.":                          {},
		"": {},
		"You've hit your limit · resets 3pm. " + strings.Repeat("Then I went on to work. ", 20): {},
	}
	for words, want := range tests {
		said, limited := LimitSaid{json.RawMessage(want.usage), words}.Alone(now)
		assert.Equal(t, want.limited, limited, words)
		if limited {
			_, is := LimitOf(&acp.Error{Message: said}, now)
			assert.True(t, is, "the words are those of a limit: %s", said)
		}
	}
}

func FuzzLimits(f *testing.F) {
	f.Add("usage limit reached, resets Nov 28th, 2026 3:24 PM (America/New_York)", `{"resetsAt":1795442400}`)
	f.Add("quota; try again in 99999999999999999999 hours", `{"retryAfter":1e300,"a":"{\"resetsIn\":\"1e99 h\"}"}`)
	f.Add("rate limit resets 26 Nov 0000 25:61:99 UTC+99:99", `[[[[[[[[[{"reset":"x"}]]]]]]]]]`)
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, said, usage string) {
		until, _ := LimitSaid{json.RawMessage(usage), said}.Limit(&acp.Error{Message: "quota " + said, Data: json.RawMessage(usage)}, now)
		assert.True(t, until.IsZero() || until.After(now) && until.Sub(now) <= longestLimit, "%s", until)
	})
}
