package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// People read help on narrow screens; only examples may be wider.
func TestHelpFitsAScreen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	topics := [][]string{{}, {"objective"}, {"help", "commands"}}
	for _, cmd := range commands() {
		topics = append(topics, cmd.path())
	}
	for _, topic := range topics {
		b.must(t, append(slices.Clone(topic), "--help")...)
		assert.NotContains(t, b.out.String(), "\n\n\n", "leslie help %q", topic)
		for line := range strings.Lines(b.out.String()) {
			line = strings.TrimSuffix(line, "\n")
			copied := strings.HasPrefix(line, "Example: ") || strings.HasPrefix(line, "  git config ")
			assert.True(t, copied || len([]rune(line)) <= helpWidth, "leslie help %q: %q", topic, line)
			assert.Equal(t, strings.TrimRight(line, " "), line, "leslie help %q", topic)
		}
	}
}

// The hint of a usage error is one line: the required parts of the usage line, and an
// example.
func TestTheUsageHintIsOneLine(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands() {
		hint := cmd.usageHint()
		assert.NotContains(t, hint, "\n", cmd.name)
		assert.Less(t, len(hint), 200, cmd.name)
		assert.Contains(t, hint, cmd.example)
	}
}

// A screen has 24 lines, one of them for the shell's prompt. Who opens the help of a
// command has a little more.
func TestHelpHasNoMoreLinesThanAScreen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lines := func(args ...string) (n int) {
		b.must(t, args...)
		for line := range strings.Lines(b.out.String()) {
			n += max(1, (len([]rune(strings.TrimSuffix(line, "\n")))+helpWidth-1)/helpWidth)
		}
		return n
	}
	assert.LessOrEqual(t, lines("help"), 23)
	for _, cmd := range commands() {
		assert.LessOrEqual(t, lines(append(cmd.path(), "--help")...), 30, cmd.name)
	}
}

func TestEveryCommandIsInOneGroupOfTheHelp(t *testing.T) {
	t.Parallel()
	var grouped, names []string
	for _, g := range helpGroups() {
		grouped = append(grouped, strings.Fields(g.names)...)
	}
	for _, cmd := range commands() {
		names = append(names, cmd.path()[0])
	}
	slices.Sort(names)
	assert.ElementsMatch(t, slices.Compact(names), grouped)
}
