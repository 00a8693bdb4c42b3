package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/page"
	"leslie/internal/external"
	"leslie/internal/fact"
	"leslie/thread"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                "",
		"plain ü 漢 \\ \"": "plain ü 漢 \\ \"",
		"a\nb\tc\r":       `a\nb\tc\r`,
		"\x1b[2J\x07":     `\x1b[2J\a`,
		"\u009b31m":       `\u009b31m`,
		"a\u202eb\u2066":  `a\u202eb\u2066`,
		"\u2028\u200b":    `\u2028\u200b`,
		"\x7f\x00":        `\x7f\x00`,
		"bad \xff utf-8":  "bad \uFFFD utf-8",
	} {
		assert.Equal(t, want, page.Escape(in), "%q", in)
	}
}

func TestContentIsSafeAtATerminalAndUnchangedElsewhere(t *testing.T) {
	t.Parallel()
	line := "+\tif \x1b[2J\r"
	terminal, pipe := &page.Page{Terminal: true}, &page.Page{}
	terminal.Content("", line)
	pipe.Content(cli.Green, line)
	assert.Equal(t, "+\tif \\x1b[2J\\r\n", terminal.String())
	assert.Equal(t, line+"\n", pipe.String(), "no colour, no escape")
	coloured := &page.Page{Terminal: true, Coloured: true}
	coloured.Content(cli.Green, "+x")
	assert.Equal(t, "\x1b[38;5;29m+x\x1b[0m\n", coloured.String())
}

// FuzzEscape: nothing that controls a terminal remains, and plain text is unchanged.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b]0;x\a", "\u009b", "\u202e", "\xff", "a\nb", "\\n", "é", "\U000e0001"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := page.Escape(s)
		require.True(t, utf8.ValidString(out))
		require.Equal(t, -1, strings.IndexFunc(out, fact.Hidden), "%q became %q", s, out)
		require.Equal(t, out, page.Escape(out))
		if utf8.ValidString(s) && strings.IndexFunc(s, fact.Hidden) < 0 {
			require.Equal(t, s, out)
		}
	})
}

// FuzzTextAnswers: no value starts a new line or controls the terminal, in any place.
func FuzzTextAnswers(f *testing.F) {
	f.Add("title\x1b[2J\nerror code=T901")
	f.Add("\xff\t\v\f\u0085")
	f.Fuzz(func(t *testing.T, s string) {
		p := &page.Page{}
		p.Line("%s", s)
		p.Field("name", s)
		p.Field("name", &s)
		p.Line("%s", thread.Status(s))
		p.Line("%v %d %t", errors.New(s), 1, true)
		p.Table("A B", [][]string{{s, s}, {"x", s}})
		lines := strings.Split(strings.TrimSuffix(p.String(), "\n"), "\n")
		want := 8
		if s == "" {
			want = 6
		}
		require.Len(t, lines, want, "%q", p.String())
		for _, l := range lines {
			require.Equal(t, -1, strings.IndexFunc(l, fact.Hidden), "%q", l)
		}
	})
}

func TestShellQuoteIsOneWord(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "it's", "a b", "$HOME", "`id`", "$(id)", "a\nb", `\`, `"`, "*", "~", "-x", "#x", "ü", "a;b", "!x", "=", "{a,b}"} {
		out, err := exec.Command("sh", "-c", "printf %s "+external.Word(s)).Output()
		require.NoError(t, err)
		assert.Equal(t, s, string(out))
	}
	assert.Equal(t, "p/sub-1", external.Word("p/sub-1"), "what needs no quotes has none")
}

// Anyone who can write the state can give it a valid checksum: no value in it controls
// the terminal, whatever its type.
func TestAForgedStateDoesNotSpeakWithTheTerminal(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "reference", "--from", "main", "--target", "part", "--binding", "live")
	b.must(t, "checkpoint", "main")
	b.must(t, "inject", "main", "--type", "data", "--content", "x")
	b.must(t, "transfer", "part", "--direction", "request_approval", "--scope", "deploy")
	b.must(t, "claim", "main")
	path := filepath.Join(b.Dir, ".leslie/thread_relations.json")
	state, err := os.ReadFile(path)
	require.NoError(t, err)
	forged := string(state)
	for _, value := range []string{
		`"status":"active"`, `"status":"waiting_human"`, `"binding":"live"`, `"kind":"request"`, `"type":"data"`, `"urgency":"next_step"`,
		`"executor":"agent"`, `"as":"user"`, `"objectiveId":"ship"`, `"target":"part"`, `"parentId":"main"`, `"inherit":"none"`, `"scope":["deploy"`,
	} {
		require.Contains(t, forged, value)
		end := strings.LastIndex(value, `"`)
		forged = strings.ReplaceAll(forged, value, value[:end]+`\u001b[2J\n`+value[end:])
	}
	at := strings.Index(forged, `"crc32c:`) + len(`"crc32c:`)
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum([]byte(forged[:at]), table), table, []byte(forged[at+8:]))
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, "%s%08x%s", forged[:at], sum, forged[at+8:]), 0o644))

	before := strings.Count(forged, `\u001b`)
	require.Greater(t, before, 12)
	for _, line := range []string{
		"status", "status main", "status part", "list", "objective list", "objective status ship", "reference list", "approvals", "approvals --all",
		"artifacts main", "wait main --timeout 1ms", "stats", "history", "checkpoint main", "rollback main --to nothing", "update main --tag +x", "suspend main",
		"resume main", "done main", "release main", "claim part", "inject main --type data --content y", "context main", "can deploy main", "merge list",
		"transfer main --direction handoff --to human", "transfer main --direction delegate --scope code_edit", "spawn --intent i --parent main --ref part",
	} {
		b.leslie(strings.Fields(line)...)
		for _, l := range strings.Split(b.out.String()+b.err.String(), "\n") {
			assert.Equal(t, -1, strings.IndexFunc(l, fact.Hidden), "%s: %q", line, l)
		}
	}
}
