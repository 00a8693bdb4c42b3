package fact_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/internal/fact"
)

func TestLogfmtReadsBackWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, values := range [][]string{
		{"plain", "T101"}, {"", ""}, {"with space", "a=b"}, {"quote \" and \\", "line\nbreak"}, {"Ünïcode", "\x1b[2J\x00"},
	} {
		want := fact.List{fact.Of("code", values[0]), fact.Of("reason", values[1])}
		got, ok := fact.ParseLogfmt(string(want.AppendLogfmt(nil)))
		assert.True(t, ok, values)
		assert.Equal(t, want, got)
	}
}

func TestLogfmtOfAnotherFormIsRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", " ", "word", "=x", `a="open`, `a="x"y`, `a=x"y`, `a b=c`, "a=\x01"} {
		_, ok := fact.ParseLogfmt(line)
		assert.False(t, ok, "%q", line)
	}
}

func FuzzParseLogfmt(f *testing.F) {
	f.Add("T101", `msg "x"`)
	f.Add("", "a=b c\n\x1b")
	f.Fuzz(func(t *testing.T, a, b string) {
		want := fact.List{fact.Of("a", a), fact.Of("b", b)}
		got, ok := fact.ParseLogfmt(string(want.AppendLogfmt(nil)))
		assert.True(t, ok)
		if a2, _ := got.Get("a"); len(got) == 2 {
			assert.Equal(t, a, a2)
		}
		fact.ParseLogfmt(a) // never panics
	})
}
