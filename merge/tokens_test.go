package merge_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/merge"
)

func TestTokensThatDifferAreFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to, want string }{
		{"the quick brown fox", "the quick red fox", "2-3>2-3"},
		{"a b c", "a b c", ""},
		{"", "a b", "0-0>0-2"},
		{"a b", "", "0-2>0-0"},
		{"a b c d", "x a b d y", "0-0>0-1 2-3>3-3 4-4>4-5"},
	} {
		from, to := strings.Fields(tt.from), strings.Fields(tt.to)
		var got []string
		var made []string
		at := 0
		for _, c := range merge.DiffTokens(from, to) {
			got = append(got, numbers(c.FromFirst, c.FromEnd)+">"+numbers(c.ToFirst, c.ToEnd))
			made = slices.Concat(made, from[at:c.FromFirst], to[c.ToFirst:c.ToEnd])
			at = c.FromEnd
		}
		assert.Equal(t, tt.want, strings.Join(got, " "), "%s -> %s", tt.from, tt.to)
		assert.Equal(t, tt.to, strings.Join(append(made, from[at:]...), " "), "the changes make the second of the first")
	}
}

func numbers(first, end int) string { return string(rune('0'+first)) + "-" + string(rune('0'+end)) }
