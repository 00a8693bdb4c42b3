//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slow makes each look at the clock a second later than the one before.
const slow = testStep + "=1s"

// bigProject is a project with a few threads, each with a file and a checkpoint.
func bigProject(t *testing.T) *bench {
	t.Helper()
	b := newProject(t)
	for i := range 4 {
		id := "part" + strconv.Itoa(i)
		b.must(t, "spawn", "--intent", "x", "--id", id)
		b.write(t, ".leslie/threads/"+id+"/plan.md", "needle "+id+"\n")
		b.must(t, "checkpoint", id)
	}
	b.write(t, "issues.jsonl", `{"id":"fresh","title":"x"}`+"\n")
	b.write(t, "lines.jsonl", `["update","part0","--title","a"]`+"\n"+`["update","part1","--title","b"]`+"\n"+`["update","part2","--title","c"]`+"\n")
	return b
}

func TestLongCallsShowAPersonTheirProgress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		argv []string
		told []string // among what was drawn
		last string   // begins the last line of the screen
	}{
		"search": {[]string{"search", "needle"}, []string{"searching artifacts, 3 of 6, 50 %, 3 s left", "searching the history"}, "part3 "},
		"batch":  {[]string{"batch", "lines.jsonl"}, []string{"running the lines, 1 of 3, 33 %", "running the lines, 2 of 3, 66 %"}, "3 commands done, in one operation"},
		"doctor": {[]string{"doctor"}, []string{"checking the journal", "checking blobs, "}, "healthy"},
		"repair": {[]string{"doctor", "--repair"}, []string{"checking the journal", "checking the log"}, "healthy"},
		"report": {[]string{"report", "--html", "report.html"}, []string{"reading the history"}, "wrote report.html: "},
		"import": {[]string{"import", "issues.jsonl"}, []string{"reading, 1 kB of 1 kB, 100 %"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTerminal(t, bigProject(t), 80, 24, slow)
			s.run(c.argv...)
			drawn, _, _ := s.look()
			for _, line := range c.told {
				assert.Contains(t, drawn, line)
			}
			shown := s.lines()
			require.NotEmpty(t, shown)
			assert.True(t, strings.HasPrefix(shown[len(shown)-1], c.last), "%s", strings.Join(shown, "\n"))
			for _, word := range []string{"searching", "running", "checking", "reading", "writing", "% "} {
				assert.NotContains(t, strings.Join(shown, "\n"), word, "the line is gone")
			}

			// A quick call shows nothing.
			s = openTerminal(t, bigProject(t), 80, 24, testStep+"=1us")
			s.run(c.argv...)
			drawn, _, _ = s.look()
			for _, line := range c.told {
				assert.NotContains(t, drawn, line)
			}
		})
	}
}

// The answer of export goes to a file, its progress to the terminal, and that of its
// import, too.
func TestExportAndRestoreShowTheirProgress(t *testing.T) {
	t.Parallel()
	b := bigProject(t)
	s := openTerminal(t, b, 80, 24, slow)
	cmd := process(t, b, s.env, "export")
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `exec "$0" export > backup.jsonl`, cmd.Args[0]}
	s.startProcess(cmd)
	require.Zero(t, s.wait())
	drawn, _, _ := s.look()
	assert.Contains(t, drawn, "reading files, 3 of 6, 50 %, 3 s left")
	assert.Contains(t, drawn, "writing files, ")
	assert.Empty(t, strings.Join(s.lines(), "\n"), "the line is gone")

	other := newBench(t)
	other.must(t, "init", "--no-agents")
	backup, err := os.ReadFile(filepath.Join(b.Dir, "backup.jsonl"))
	require.NoError(t, err)
	other.write(t, "backup.jsonl", string(backup))
	s = openTerminal(t, other, 80, 24, slow)
	s.run("import", "backup.jsonl")
	drawn, _, _ = s.look()
	assert.Regexp(t, `reading, \d+ kB of \d+ kB, `, drawn)
	assert.Contains(t, drawn, "writing")
	assert.NotContains(t, strings.Join(s.lines(), "\n"), "writing")
}

func TestOnlyAPersonSeesProgress(t *testing.T) {
	t.Parallel()
	b := bigProject(t)
	for name, c := range map[string]struct {
		env  string
		argv []string
	}{
		"json":                     {"", []string{"search", "needle", "--format", "json"}},
		"an agent":                 {"CLAUDECODE=1", []string{"search", "needle"}},
		"as an agent":              {"", []string{"search", "needle", "--as", "agent"}},
		"a stream on the terminal": {"", []string{"export"}},
	} {
		s := openTerminal(t, b, 80, 24, slow, c.env)
		s.run(c.argv...)
		drawn, _, _ := s.look()
		assert.NotContains(t, drawn, "searching", name)
		assert.NotContains(t, drawn, "reading files", name)
	}
}
