package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/docs"
)

// Every line that a wish names is one that leslie has, so nobody is sent to a wrong one.
func TestEveryWishLeadsToLinesThatThereAre(t *testing.T) {
	t.Parallel()
	all, words := commands().All(), map[string]bool{}
	b := newBench(t)
	b.must(t, "help", "how")
	how := strings.Join(strings.Fields(b.out.String()), " ")
	for _, w := range cli.Wishes() {
		_, ok := docs.Text(w.Topic)
		assert.True(t, ok, "%s: there is no document %q", w.Title, w.Topic)
		for _, line := range w.Lines {
			if strings.HasPrefix(line, "git ") {
				continue
			}
			l := cli.ParseLine(all, strings.Fields(line)[1:])
			assert.True(t, l.Help || l.Cmd != nil, line)
			assert.Empty(t, l.Faults, line)
		}
		assert.Contains(t, how, strings.TrimPrefix(w.Lines[0], "leslie "))
		for _, word := range strings.Fields(w.Words) {
			assert.False(t, words[word], "%q stands for two wishes", word)
			words[word] = true
			if _, isDocument := docs.Text(word); !isDocument {
				b.must(t, "help", word)
				assert.Contains(t, b.out.String(), "\n  "+w.Lines[0]+"\n", word)
			}
			status := b.leslie(word)
			require.Equal(t, 2, status, "leslie %s", word)
			assert.Contains(t, b.err.String(), w.Lines[0], "leslie %s", word)
			next := nextOf(b.err.String())
			require.NotEmpty(t, next, "leslie %s", word)
			l := cli.ParseLine(all, strings.Fields(next)[1:])
			assert.Empty(t, l.Faults, next)
			assert.True(t, l.Help || l.Cmd != nil && !l.Cmd.Writes, "%q is not safe to run unchanged", next)
		}
	}
}

// nextOf is the first line that an error in text names as the next one.
func nextOf(text string) string {
	_, rest, _ := strings.Cut(text, "next: ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}
