package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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
	golden(t, "log.txt", string(h.lines))
}

func TestLogLinesCannotBeForged(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.leslie("status", "main", "--actor", "x\ntime=2026-01-01T00:00:00Z level=error \x1b[2J", "-C", ".", "--bogus=\n1")
	raw, err := os.ReadFile(filepath.Join(b.dir, ".leslie/logs/leslie.log"))
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(raw), "\n"))
	assert.NotContains(t, string(raw), "\x1b")
}

// What looks at the log's end wants whole lines there, whatever somebody said.
func TestALogLineStaysShort(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	long := strings.Repeat("\x00", 500<<10)
	for range 3 {
		b.leslie("status", "nobody", "--actor", long, "--bogus="+long, "--format", "json")
	}
	assert.Contains(t, b.out.String(), `"W104"`, "a caller's own lines are known by a long name, too")
	raw, err := os.ReadFile(filepath.Join(b.dir, ".leslie/logs/leslie.log"))
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		assert.Less(t, len(line), 32<<10)
	}
}

func TestAnswersLogTheirThread(t *testing.T) {
	t.Parallel()
	tests := []struct{ argv, want string }{
		{"reference --from part --target gone", "level=warn threadId=part code=W202"},
		{"reference --from part --target gone --thread main", "level=warn threadId=part code=W202"},
		{"spawn --intent x --id fresh --ref gone", "level=warn threadId=fresh code=W202"},
		{"archive main", "level=error threadId=main code=T102"},
		{"done --thread nobody", "level=error threadId=nobody code=T101"},
		{"list --thread part --bogus", "level=error threadId=part code=T903"},
		{"list --bogus", "level=error code=T903"},
	}
	for _, tt := range tests {
		t.Run(tt.argv, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			b.leslie(strings.Fields(tt.argv)...)
			raw, err := os.ReadFile(filepath.Join(b.dir, ".leslie/logs/leslie.log"))
			require.NoError(t, err)
			assert.Contains(t, string(raw), "time=2026-02-09T16:00:00Z "+tt.want+" msg=")
		})
	}
}
