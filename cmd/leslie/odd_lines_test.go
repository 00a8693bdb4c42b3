package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
)

// oddTexts are operands and values that nobody types and scripts pass: an unset variable,
// a lone dash, half a flag, bytes that are no text.
func oddTexts() []string {
	return []string{"", " ", "\n", "-", "--", "---", "=", "--=", "-=x", ",", "a,,b", "\x00", "\xff\xfe", "-\xff", "--\xff=\xff", "\x1b[31m", "-1"}
}

// assertEnvelope asserts what every line that asks for JSON is promised, however odd it is:
// one document, on stdout or for a stream that fails on stderr, which agrees with the exit
// status.
func assertEnvelope(t *testing.T, b *bench, all []*cli.Command, argv []string) {
	t.Helper()
	status := b.perform(context.Background(), all, argv...)
	raw := b.out.Bytes()
	if len(raw) == 0 && streams(argv) {
		raw = b.err.Bytes()
	}
	if !bytes.HasPrefix(raw, []byte("{")) {
		t.Fatalf("%.200q answers with exit status %d and no JSON: stdout %.200q, stderr %.200q", argv, status, b.out.String(), b.err.String())
	}
	a := document(t, raw)
	assert.Equal(t, status == 0, *a.Success, "%.200q: %.200s", argv, raw)
	assert.Equal(t, status == 0, a.Error == nil, "%.200q: %.200s", argv, raw)
	assert.False(t, a.Error != nil && a.Error.Code == "T901", "%.200q: %.200s", argv, raw)
}

func TestEveryOddLineGetsTheEnvelopeThatWasAskedFor(t *testing.T) {
	t.Parallel()
	others := []string{"mcp", "hook start", "hook stop", "completion"} // have a protocol of their own on stdout
	for _, cmd := range commands().All() {
		if slices.Contains(others, cmd.Name) {
			continue
		}
		t.Run(cmd.Name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for _, odd := range oddTexts() {
				lines := [][]string{{odd}, {odd, "a"}, {"a", odd}, {odd, odd, odd}}
				for _, o := range cli.Options(cmd.Flags) {
					lines = append(lines, []string{"--" + o.Name, odd}, []string{"--" + o.Name + "=" + odd})
				}
				for _, behind := range lines {
					assertEnvelope(t, b, []*cli.Command{cmd}, slices.Concat([]string{"--format", "json"}, cmd.Path(), behind))
				}
			}
		})
	}
}

func TestAnOperandThatIsEmptyIsTheOnlyFault(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"spawn ''":            "TEXT is empty",
		"spawn '' --id x":     "TEXT is empty",
		"merge '' main":       "SRC... TARGET is empty",
		"merge part ''":       "SRC... TARGET is empty",
		"merge part main,x":   `SRC... TARGET must be an id (a letter or digit, then letters, digits, '-', '_' and single '.' within; at most 64), not "main,x"`,
		"spawn '' --prio 2":   `there is no flag "--prio"; TEXT is empty`,
		"help ''":             `there is no command or topic ""`,
		"done ''":             "ID is empty",
		"done main ''":        "ID is empty",
		"pull '' --dry-run":   "ID is empty",
		"objective create ''": "TITLE is empty",
	}
	for line, want := range tests {
		b := newProject(t)
		argv := append(strings.Fields(line), "--format", "json")
		for i, word := range argv {
			argv[i] = strings.ReplaceAll(word, "''", "")
		}
		require.Equal(t, 2, b.leslie(argv...), line)
		assert.Equal(t, want, document(t, b.out.Bytes()).Error.Message, line)
	}
}

func TestAFlagIsKnownByAPartOfItsNameAndByItsValue(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"land a --strategy interactive": `there is no flag "--strategy" (did you mean --conflict-strategy?)`,
		"status --json":                 `there is no flag "--json" (did you mean --format json?)`,
		"land a --agent-first":          `there is no flag "--agent-first" (did you mean --conflict-strategy agent-first?)`,
		"land a --request":              `there is no flag "--request" (did you mean --request-id?)`,
		"run a --max":                   `there is no flag "--max"`, // several
	}
	for line, want := range tests {
		b := newProject(t)
		require.Equal(t, 2, b.leslie(append(strings.Fields(line), "--format", "yaml")...), line)
		assert.Contains(t, b.out.String(), want, line)
	}
}

func TestALongValueIsNotRepeatedWhole(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	long := strings.Repeat("x", 1<<20)
	for _, argv := range [][]string{
		{"list", long}, {"list", "--" + long}, {"list", "--limit", long}, {long}, {"objective", long}, {"done", long}, {"help", long},
		{"explain", long}, {"spawn", "x", "--ref", "main," + long}, {"status", "main", long}, {"artifacts", "--scope", long},
	} {
		b.leslie(append(argv, "--format", "json")...)
		assert.Less(t, b.out.Len(), 8<<10, "%.40q", argv)
	}
}

// FuzzEnvelope: whatever stands on a line that asks for JSON, the answer is a document. No
// command is carried out.
func FuzzEnvelope(f *testing.F) {
	for _, odd := range oddTexts() {
		for _, line := range []string{"%", "%\nlist", "objective\n%", "help\n%", "explain\n%", "list\n%", "merge\na\n%\nb", "spawn\n--tag\n%\n%", "update\n%\n--tag\n%", "--dir\n%\nlist", "--actor\n%\n%"} {
			f.Add(strings.ReplaceAll(line, "%", odd))
		}
	}
	f.Add(strings.Repeat("x", 1<<20))
	f.Add("--" + strings.Repeat("x", 1<<20))
	all := commands().All()
	for _, cmd := range all {
		cmd.Run = func(c *cli.Call) (cli.Data, error) { return nil, c.Usage() }
	}
	f.Fuzz(func(t *testing.T, text string) {
		argv := append([]string{"--format=json"}, strings.Split(text, "\n")...)
		if l := cli.ParseLine(all, argv); l.Last != nil || l.Has("debug") || slices.ContainsFunc(l.Flags, func(f cli.SetFlag) bool { return f.Name == "format" && f.Text != "json" }) {
			return
		}
		assertEnvelope(t, newBench(t), all, argv)
	})
}
