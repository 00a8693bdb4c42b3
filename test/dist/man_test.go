package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"

	"leslie/test/harness"
)

var update = flag.Bool("update", false, "rewrite golden files")

// built builds leslie.
func built(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "leslie")
	require.NoError(t, harness.Build(path))
	return path
}

func manual(t *testing.T) (leslie string, pages map[string]string) {
	t.Helper()
	j := job{leslie: built(t), version: "v1.2.3", at: time.Unix(1_700_000_000, 0).UTC()}
	all, err := j.pages()
	require.NoError(t, err)
	pages = map[string]string{}
	for _, f := range all {
		pages[f.name] = string(f.data)
	}
	require.Len(t, pages, len(all))
	return j.leslie, pages
}

func TestTheManualHasEveryCommand(t *testing.T) {
	t.Parallel()
	leslie, pages := manual(t)
	names, err := harness.Commands(leslie)
	require.NoError(t, err)
	require.Greater(t, len(names), 60)
	firsts := map[string]bool{}
	for _, name := range names {
		first, _, _ := strings.Cut(name, " ")
		firsts[first] = true
		assert.Contains(t, pages["man1/leslie.1"], "\n\\fB"+text(name)+"\\fR\n", "leslie(1) lists it")
		assert.Contains(t, pages["man1/leslie-"+first+".1"], "\n.B "+text("leslie "+name)+"\n", "its page has its usage")
	}
	assert.Len(t, pages, len(firsts)+1)
	for _, s := range codes.ExitStatuses() {
		assert.NotRegexp(t, `^ `, s.Meaning, "exit status %d needs a meaning", s.Status)
	}

	for name, page := range pages {
		seen := map[string]bool{}
		for _, line := range strings.Split(page, "\n") {
			if strings.HasPrefix(line, ".SH ") || strings.HasPrefix(line, ".SS ") {
				assert.False(t, seen[line], "%s has the heading %q twice", name, line)
				seen[line] = true
			}
		}
	}

	const name = "leslie-checkpoint.1"
	golden := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(pages["man1/"+name]), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), pages["man1/"+name])
}

func TestNoTextIsARequest(t *testing.T) {
	t.Parallel()
	var m man
	m.section("X")
	m.paragraphs(".so /etc/passwd\n'so it's \\fBbold\n  leslie done --as-is `x` ~ ^\nend")
	assert.Equal(t, ".SH X\n\\&.so /etc/passwd\n.PP\n\\(aqso it\\(aqs \\efBbold\n.PP\n.RS 4\n.EX\nleslie done \\-\\-as\\-is \\(gax\\(ga \\(ti \\(ha\n.EE\n.RE\n.PP\nend\n", m.String())
}

// LESLIE_MAN_LINT=1 has man and mandoc look at all pages, as far as they are there.
func TestThePagesHaveNoFaults(t *testing.T) {
	if os.Getenv("LESLIE_MAN_LINT") == "" {
		t.Skip("LESLIE_MAN_LINT=1 formats all pages")
	}
	_, pages := manual(t)
	dir := t.TempDir()
	lints := 0
	for _, lint := range [][]string{{"mandoc", "-Tlint", "-Wwarning"}, {"man", "--warnings", "-l", "-Tutf8"}} {
		if _, err := exec.LookPath(lint[0]); err != nil {
			continue
		}
		lints++
		for name, page := range pages {
			path := filepath.Join(dir, filepath.Base(name))
			require.NoError(t, os.WriteFile(path, []byte(page), 0o600))
			cmd := exec.Command(lint[0], append(lint[1:], path)...)
			cmd.Env = append(cmd.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80", "MANPAGER=cat")
			var said strings.Builder
			if cmd.Stderr = &said; lint[0] == "mandoc" {
				cmd.Stdout = &said
			}
			assert.NoError(t, cmd.Run(), name)
			assert.Empty(t, said.String(), "%s says of %s", lint[0], name)
		}
	}
	assert.NotZero(t, lints, "neither man nor mandoc is there")
}
