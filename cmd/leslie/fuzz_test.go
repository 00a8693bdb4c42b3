package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
)

// FuzzReorder: wherever flags are before "--", the line means the same: the command, its
// flags and their values, its operands in order.
func FuzzReorder(f *testing.F) {
	for _, s := range []string{
		"spawn\n--intent\nDo it\n--tag\na\n--tag\nb\n--parent=main", "objective\ncreate\nA title\n--id\nx\n--format\njson",
		"merge\nresolve\nm\nplan.md\n--take\nboth\n--\n-x", "update\nx\n--tag\n-old\n--tag\n+new", "list\n--limit\n0\n--all\n-C\n..",
		"reference\n--from\na\n--target\nb\n--scope\nx/*,y", "status\n--\n--", "history\n-1", "merge\n--sources\na,b\n--target\nc\n--dry-run",
		"status\nx\n--no-input", "objective\nstatus\nx\n--debug", "--version", "list\n--version", "spawn\n--intent\n--approver", "merge\nlst", "merge\nlist", "spawn\n-C\n--x\n--intent\n-y",
	} {
		for seed := range uint64(10) {
			f.Add(s, seed)
		}
	}
	all := commands().All()
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		written := strings.Split(text, "\n")
		l := cli.ParseLine(all, written)
		alone := cli.ParseLine(commands().NeededFor(written), written)
		require.Equal(t, plainLine(l), plainLine(alone), "%q", written)
		if l.Cmd == nil || len(l.Faults) > 0 || l.Asks() {
			return
		}
		argv := shuffled(l, rand.New(rand.NewPCG(seed, 0)))
		require.Empty(t, cli.ParseLine(all, argv).Faults, "%q", argv)
		require.Equal(t, readingOf(l), readBy(all, argv), "%q", argv)
	})
}

// plainLine is a line without pointers.
func plainLine(l cli.Line) any {
	name := ""
	if l.Cmd != nil {
		name = l.Cmd.Name
	}
	return []any{name, l.Group, valuesOf(l), l.Operands, l.Help, l.Version, l.Last, l.Faults}
}

// shuffled returns a line with its flags between its words, in order. Operands that look
// like flags are after "--", with all that follow them.
func shuffled(l cli.Line, r *rand.Rand) (argv []string) {
	words, behind := l.Cmd.Path(), []string(nil)
	for i, o := range l.Operands {
		if cli.IsFlag(o) {
			behind = append([]string{"--"}, l.Operands[i:]...)
			break
		}
		words = append(words, o)
	}
	flags := l.Flags
	for len(words)+len(flags) > 0 {
		if len(flags) == 0 || len(words) > 0 && r.IntN(2) == 0 {
			argv, words = append(argv, words[0]), words[1:]
			continue
		}
		name, value := "--"+flags[0].Name, flags[0].Text
		switch {
		case !flags[0].TakesValue() && value == "true" && r.IntN(2) == 0:
			argv = append(argv, name)
		case flags[0].TakesValue() && value != "--" && !strings.HasPrefix(value, "--") && r.IntN(2) == 0:
			argv = append(argv, name, value)
		default:
			argv = append(argv, name+"="+value)
		}
		flags = flags[1:]
	}
	return append(argv, behind...)
}

func valuesOf(l cli.Line) (out []string) {
	for _, f := range l.Flags {
		out = append(out, f.Name+"="+f.Text)
	}
	return out
}
