package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLogLinesCannotBeForged(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.leslie("status", "main", "--actor", "x\ntime=2026-01-01T00:00:00Z level=error \x1b[2J", "-C", ".", "--bogus=\n1")
	raw, err := os.ReadFile(filepath.Join(b.Dir, ".leslie/logs/leslie.log"))
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(raw), "\n"))
	assert.NotContains(t, string(raw), "\x1b")
}

// Readers of the log's end need whole lines, whatever a message contains.
func TestALogLineStaysShort(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	long := strings.Repeat("\x00", 500<<10)
	for range 3 {
		b.leslie("status", "nobody", "--actor", long, "--bogus="+long, "--format", "json")
	}
	assert.Contains(t, b.out.String(), `"W104"`, "a caller's own lines are known by a long name, too")
	raw, err := os.ReadFile(filepath.Join(b.Dir, ".leslie/logs/leslie.log"))
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
			raw, err := os.ReadFile(filepath.Join(b.Dir, ".leslie/logs/leslie.log"))
			require.NoError(t, err)
			assert.Contains(t, string(raw), "time=2026-02-09T16:00:00Z "+tt.want+" msg=")
		})
	}
}
