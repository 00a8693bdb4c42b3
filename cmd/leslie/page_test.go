package main

import (
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                "",
		"plain ü 漢 \\ \"": "plain ü 漢 \\ \"",
		"a\nb\tc\r":       `a\nb\tc\r`,
		"\x1b[2J\x07":     `\x1b[2J\a`,
		"\u009b31m":       `\u009b31m`,
		"a\u202eb\u2066":  `a\u202eb\u2066`,
		"\u2028\u200b":    `\u2028\u200b`,
		"\x7f\x00":        `\x7f\x00`,
		"bad \xff utf-8":  "bad \uFFFD utf-8",
	} {
		assert.Equal(t, want, escape(in), "%q", in)
	}
}

// FuzzEscape: nothing that a terminal acts on survives, and plain text is left
// as it is.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b]0;x\a", "\u009b", "\u202e", "\xff", "a\nb", "\\n", "é", "\U000e0001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := escape(s)
		require.True(t, utf8.ValidString(out))
		require.Equal(t, -1, strings.IndexFunc(out, hidden), "%q became %q", s, out)
		require.Equal(t, out, escape(out))
		if utf8.ValidString(s) && strings.IndexFunc(s, hidden) < 0 {
			require.Equal(t, s, out)
		}
	})
}

// FuzzTextAnswers: no value makes a line of its own or speaks with the terminal,
// wherever it stands.
func FuzzTextAnswers(f *testing.F) {
	f.Add("title\x1b[2J\nerror code=T901")
	f.Add("\xff\t\v\f\u0085")
	f.Fuzz(func(t *testing.T, s string) {
		p := &page{}
		p.line("%s", s)
		p.field("name", s)
		p.field("name", &s)
		p.table("A B", [][]string{{s, s}, {"x", s}})
		lines := strings.Split(strings.TrimSuffix(p.String(), "\n"), "\n")
		want := 6
		if s == "" {
			want = 4
		}
		require.Len(t, lines, want, "%q", p.String())
		for _, l := range lines {
			require.Equal(t, -1, strings.IndexFunc(l, hidden), "%q", l)
		}
	})
}

func TestShellQuoteIsOneWord(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "it's", "a b", "$HOME", "`id`", "$(id)", "a\nb", `\`, `"`, "*", "~", "-x", "#x", "ü", "a;b", "!x", "=", "{a,b}"} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellQuote(s)).Output()
		require.NoError(t, err)
		assert.Equal(t, s, string(out))
	}
	assert.Equal(t, "p/sub-1", shellQuote("p/sub-1"), "what needs no quotes has none")
}

func TestListsAreCut(t *testing.T) {
	t.Parallel()
	three := []int{1, 2, 3}
	assert.Equal(t, items[int]{[]int{1, 2}, 3, true}, firstItems(three, 2))
	assert.Equal(t, items[int]{three, 3, false}, firstItems(three, 3))
	assert.Equal(t, items[int]{three, 3, false}, firstItems(three, 0))
	assert.Equal(t, items[int]{[]int{}, 0, false}, firstItems[int](nil, 0), "no items are an empty list, not null")
}
