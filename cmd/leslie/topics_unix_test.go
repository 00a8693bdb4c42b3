//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/docs"
)

// A person gets a document drawn for their terminal, in their pager; a program gets its Markdown.
func TestADocumentIsDrawnForAPerson(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	s := openTerminal(t, b, 70, 300)
	s.run("help", "topics", "observing")
	drawn := strings.Join(s.lines(), "\n")
	assert.True(t, strings.HasPrefix(drawn, "See what happens, wait, search\n\nWhat waits, what runs\n\n    $ leslie ask docs"), drawn[:200])
	assert.Contains(t, drawn, "\n    leslie wait docs lexer  ")
	assert.NotContains(t, drawn, "](")

	s = openTerminal(t, b, 70, 24, "LESLIE_PAGER=head -n 2")
	s.run("help", "topics", "observing")
	assert.Equal(t, "See what happens, wait, search", strings.Join(s.lines(), ""))

	text, _ := docs.Text("observing")
	b.must(t, "help", "topics", "observing")
	assert.Equal(t, text, b.out.String())
}
