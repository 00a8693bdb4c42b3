package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	all := commands()
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		written := strings.Split(text, "\n")
		l := lint(all, written)
		alone := lint(commandsFor(written), written)
		require.Equal(t, plainLine(l), plainLine(alone), "%q", written)
		if l.cmd == nil || len(l.faults) > 0 || l.asks() {
			return
		}
		argv := shuffled(l, rand.New(rand.NewPCG(seed, 0)))
		require.Empty(t, lint(all, argv).faults, "%q", argv)
		require.Equal(t, l.reading(), readBy(all, argv), "%q", argv)
	})
}

// plainLine is a line without pointers.
func plainLine(l line) any {
	name := ""
	if l.cmd != nil {
		name = l.cmd.name
	}
	return []any{name, l.group, valuesOf(l), l.operands, l.help, l.version, l.last, l.faults}
}

// shuffled returns a line with its flags between its words, in order. Operands that look
// like flags are after "--", with all that follow them.
func shuffled(l line, r *rand.Rand) (argv []string) {
	words, behind := l.cmd.path(), []string(nil)
	for i, o := range l.operands {
		if isFlag(o) {
			behind = append([]string{"--"}, l.operands[i:]...)
			break
		}
		words = append(words, o)
	}
	flags := l.flags
	for len(words)+len(flags) > 0 {
		if len(flags) == 0 || len(words) > 0 && r.IntN(2) == 0 {
			argv, words = append(argv, words[0]), words[1:]
			continue
		}
		name, value := "--"+flags[0].Name, flags[0].text
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

func valuesOf(l line) (out []string) {
	for _, f := range l.flags {
		out = append(out, f.Name+"="+f.text)
	}
	return out
}
