package jsonl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASealedLineWithAnotherByteIsNotIntact(t *testing.T) {
	t.Parallel()
	line := Seal([]byte(`{"seq":1}`))
	assert.True(t, Intact(line))
	for i := range line {
		line[i] ^= 1
		assert.False(t, Intact(line), "byte %d", i)
		line[i] ^= 1
	}
	assert.False(t, Intact(line[:len(line)-1]))
	assert.False(t, Intact(nil))
}

func TestLinesAreReadBackwardsWhateverTheirLength(t *testing.T) {
	t.Parallel()
	for _, long := range []int{0, 1, firstChunk - 1, firstChunk, 3*firstChunk + 7} {
		want := []string{"first", strings.Repeat("x", long) + "y", "", "last"}
		for _, end := range []string{"", "\n"} {
			text := strings.Join(want, "\n") + end
			var got []string
			for line, err := range Backwards(strings.NewReader(text), int64(len(text))) {
				require.NoError(t, err)
				got = append(got, string(line))
			}
			assert.Equal(t, []string{"last", want[1], "first"}, got, "%d", long)
		}
	}
}

// counted says how much of a file was read.
type counted struct {
	*strings.Reader
	n int
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(b, at)
	c.n += n
	return n, err
}

func TestTheTailCostsTheSameHoweverLongTheHistory(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(fmt.Sprintf("%0200d\n", 1), 100_000)
	c := &counted{Reader: strings.NewReader(text)}
	for range Backwards(c, int64(len(text))) {
		break
	}
	assert.LessOrEqual(t, c.n, firstChunk)
}

// largest says how much of a file was read at once.
type largest struct {
	*strings.Reader
	n int
}

func (l *largest) ReadAt(b []byte, at int64) (int, error) {
	l.n = max(l.n, len(b))
	return l.Reader.ReadAt(b, at)
}

func TestReadingBackwardsHoldsNoMoreThanALineAndAChunk(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(fmt.Sprintf("%0200d\n", 1), 50_000)
	l := &largest{Reader: strings.NewReader(text)}
	at := int64(len(text))
	for p, err := range BackwardsAt(l, int64(len(text))) {
		require.NoError(t, err)
		at -= 201
		require.Equal(t, at, p.At)
	}
	assert.Zero(t, at)
	assert.LessOrEqual(t, l.n, 2*firstChunk)
}
