//go:build !windows

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAPersonSeesOneLineOfARunWhileItGoesOn(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.agents(t)
	b.write(t, "next.txt", "TALK[[40]] HANG[[]]") // what it is told in its second turn
	b.must(t, "spawn", "--intent", "USAGE[[1200 30 0.42]] RUN[[cat next.txt | leslie inject works --content -]]", "--id", "works", "--title", "Works")
	s := openTerminal(t, b, 60, 20)
	s.start("run", "works")
	s.waitFor("works  fake  turn 2")
	assert.Contains(t, strings.Join(s.lines(), "\n"), "works  fake  turn 2  1230 tokens, 0.42 USD")
	assert.NotContains(t, strings.Join(s.lines(), "\n"), "-- turn", "the line says it")
	b.must(t, "run", "stop", "works")
	assert.Equal(t, 17, s.wait())
	shown := strings.Join(s.lines(), "\n")
	assert.NotContains(t, shown, "works  fake  turn 2", "the line is gone")
	assert.Contains(t, shown, "somebody stopped it")

	// Without a terminal that can move its cursor each turn has a line that stays.
	b.must(t, "spawn", "--intent", "RUN[[leslie done]]", "--id", "plain", "--title", "Plain")
	dumb := openTerminal(t, b, 60, 20, "TERM=dumb")
	dumb.start("run", "plain")
	assert.Zero(t, dumb.wait())
	assert.Contains(t, strings.Join(dumb.lines(), "\n"), "-- turn 1")
}
