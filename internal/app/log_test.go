package app

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/warnings"
)

// TestLogLines are the contract's specimens, through the handler.
func TestLogLines(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 9, 16, 0, 0, 123456789, time.FixedZone("CET", 3600)).Add(time.Hour)
	h := &logHandler{now: func() time.Time { now := at; at = at.Add(time.Second); return now }}
	log := slog.New(h)
	ctx := context.Background()
	log.LogAttrs(ctx, slog.LevelWarn, warnings.TargetUnresolved.Entry().Title,
		slog.String("code", "W202"), slog.String("threadId", "thread-abc"), slog.String("target", "thread-old"))
	lock := codes.LockFailed.New(fact.Of("attempts", 10), fact.Ms("duration", 21_300*time.Millisecond))
	attrs := []slog.Attr{slog.String("threadId", "thread-abc"), slog.String("code", string(lock.Code()))}
	for _, f := range lock.Facts() {
		attrs = append(attrs, slog.Any(f.Key, f.Value))
	}
	log.LogAttrs(ctx, slog.LevelError, lock.Code().Entry().Title, attrs...)
	want, err := os.ReadFile("testdata/log.txt")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(h.lines))
}
