//go:build unix

package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHistoryMarksWhatIsUndone(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "update", "main", "--title", "One")
	b.must(t, "update", "main", "--title", "Two")
	b.must(t, "undo")
	b.must(t, "undo")
	b.must(t, "redo")
	for _, width := range []int{60, 80, 100} {
		s := openTerminal(t, b, width, 24)
		s.run("history")
		s.golden(fmt.Sprintf("history-undone-%d", width))
		assert.Equal(t, "dim", s.style("update (undone)"))
	}
	b.must(t, "history")
	assert.Contains(t, b.out.String(), "update (undone)", "on a pipe, too")
	assert.Contains(t, b.out.String(), "leslie undo takes back")
}
