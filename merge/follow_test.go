package merge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func text(lines ...string) []byte { return []byte(strings.Join(lines, "\n") + "\n") }

func TestLinesAreFollowedThroughChanges(t *testing.T) {
	t.Parallel()
	from := text("a", "b", "c", "d", "e")
	for name, tt := range map[string]struct {
		to    []byte
		lines Range
		now   Range
		gone  bool
	}{
		"the same text":             {from, Range{2, 4}, Range{2, 4}, false},
		"lines before":              {text("x", "y", "a", "b", "c", "d", "e"), Range{2, 4}, Range{4, 6}, false},
		"lines between":             {text("a", "b", "x", "c", "d", "e"), Range{2, 4}, Range{2, 5}, false},
		"lines behind":              {text("a", "b", "c", "d", "e", "x"), Range{2, 4}, Range{2, 4}, false},
		"its first line went":       {text("a", "c", "d", "e"), Range{2, 4}, Range{2, 3}, false},
		"its last line changed":     {text("a", "b", "c", "D", "e"), Range{2, 4}, Range{2, 3}, false},
		"all changed":               {text("a", "B", "C", "D", "e"), Range{2, 4}, Range{}, true},
		"all went":                  {text("a", "e"), Range{2, 4}, Range{}, true},
		"an empty text":             {nil, Range{1, 5}, Range{}, true},
		"more lines than there are": {text("x", "a", "b", "c", "d", "e"), Range{4, 99}, Range{5, 6}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, gone := Follow(from, tt.to, tt.lines)
			assert.Equal(t, tt.gone, gone)
			assert.Equal(t, tt.now, now)
		})
	}
}

func TestLinesAreQuotedAsTheyAre(t *testing.T) {
	t.Parallel()
	quote, count := LinesOf([]byte("a\r\nb\nc"), Range{2, 3})
	assert.Equal(t, "b\nc", quote)
	assert.Equal(t, 3, count)
	quote, _ = LinesOf([]byte("a\n"), Range{2, 3})
	assert.Empty(t, quote)
}

// Whatever the texts: the lines that are found again are lines of both.
func FuzzFollow(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("x\nb\nc\n"), 1, 2)
	f.Add([]byte("a"), []byte("a\n"), 1, 1)
	f.Fuzz(func(t *testing.T, from, to []byte, first, last int) {
		if first < 1 || last < first || TooLargeToDiff(from) || TooLargeToDiff(to) {
			return
		}
		now, gone := Follow(from, to, Range{first, last})
		_, count := LinesOf(to, now)
		if gone {
			assert.Equal(t, Range{}, now)
			return
		}
		assert.True(t, 1 <= now.First && now.First <= now.Last && now.Last <= count, "%v of %d", now, count)
		was, _ := LinesOf(from, Range{first, last})
		there, _ := LinesOf(to, Range{now.First, now.First})
		assert.Contains(t, was, there, "the first line is one of them")
		if same, _ := Follow(from, from, Range{first, last}); same.First > 0 {
			assert.Equal(t, first, same.First)
		}
	})
}
