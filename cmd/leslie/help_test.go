package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/cmd/leslie/internal/cli"
)

// People read help on narrow screens; only examples may be wider.
func TestHelpFitsAScreen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	topics := [][]string{{}, {"objective"}, {"help", "commands"}}
	for _, cmd := range commands().All() {
		topics = append(topics, cmd.Path())
	}
	for _, topic := range topics {
		b.must(t, append(slices.Clone(topic), "--help")...)
		assert.NotContains(t, b.out.String(), "\n\n\n", "leslie help %q", topic)
		for line := range strings.Lines(b.out.String()) {
			line = strings.TrimSuffix(line, "\n")
			copied := strings.HasPrefix(line, "Example: ") || strings.HasPrefix(line, "  git config ")
			assert.True(t, copied || len([]rune(line)) <= cli.HelpWidth, "leslie help %q: %q", topic, line)
			assert.Equal(t, strings.TrimRight(line, " "), line, "leslie help %q", topic)
		}
	}
}

// The hint of a usage error is one line: the required parts of the usage line, and an
// example.
func TestTheUsageHintIsOneLine(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands().All() {
		hint := cmd.UsageHint()
		assert.NotContains(t, hint, "\n", cmd.Name)
		assert.Less(t, len(hint), 200, cmd.Name)
		assert.Contains(t, hint, cmd.Example)
	}
}

// A screen has 24 lines, one of them for the shell's prompt. Who opens the help of a
// command has a little more: 30, and one that says where to read on.
func TestHelpHasNoMoreLinesThanAScreen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lines := func(args ...string) (n int) {
		b.must(t, args...)
		for line := range strings.Lines(b.out.String()) {
			n += max(1, (len([]rune(strings.TrimSuffix(line, "\n")))+cli.HelpWidth-1)/cli.HelpWidth)
		}
		return n
	}
	assert.LessOrEqual(t, lines("help"), 23)
	for _, cmd := range commands().All() {
		assert.LessOrEqual(t, lines(append(cmd.Path(), "--help")...), 31, cmd.Name)
	}
}

func TestEveryCommandIsInOneGroupOfTheHelp(t *testing.T) {
	t.Parallel()
	var grouped, names []string
	for _, g := range cli.HelpGroups() {
		grouped = append(grouped, strings.Fields(g.Names)...)
	}
	for _, cmd := range commands().All() {
		names = append(names, cmd.Path()[0])
	}
	slices.Sort(names)
	assert.ElementsMatch(t, slices.Compact(names), grouped)
}
