//go:build unix

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnErrorListsWhatIsMeantForAPerson(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	for _, id := range []string{"thread-one", "thread-two"} {
		b.must(t, "spawn", "--id", id, "--intent", "Write the "+id)
	}
	s := openTerminal(t, b, 80, 24)
	s.start("status", "thread-")
	assert.Equal(t, 11, s.wait())
	s.start("status", "thread-t")
	assert.Zero(t, s.wait())
	s.clear()
	b.must(t, "spawn", "--id", "thread-twin", "--intent", "Write it again")
	s.start("done", "thread-tw")
	assert.Equal(t, 11, s.wait())
	s.start("objective", "done", "ship")
	assert.Equal(t, 16, s.wait())
	s.start("spawn")
	assert.Equal(t, 2, s.wait())
	s.golden("errors_list_what_is_meant")
}
