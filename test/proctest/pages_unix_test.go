//go:build !windows

package proctest

import (
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file executes the documents: each line after "$ " in a block of the kind console, in the order of the
// page, in a repository with one commit, and compares what is printed with what the page shows; ids, times and
// commits aside. A comment <!-- first: LINES --> is what a reader does that the page does not show, and
// <!-- agent: LINES --> what the page's agent does; it plays claude.
//
// `go test ./test/proctest -run Pages -update` (make docs) writes the answers anew.
var update = flag.Bool("update", false, "write the answers in the documents anew")

// pages are the documents that people follow line by line.
func pages(t *testing.T) (out []string) {
	t.Helper()
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/guides/*.md", "docs/concepts/*.md", "docs/reference/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		require.NoError(t, err)
		out = append(out, found...)
	}
	require.Greater(t, len(out), 15)
	return out
}

func TestPagesShowRealAnswers(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	for _, name := range pages(t) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if !strings.Contains(string(text), "```console\n") {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			p := newPlayer(t)
			played := p.page(string(text))
			if *update && p.differs {
				require.NoError(t, os.WriteFile(name, []byte(played), 0o644))
			}
		})
	}
}

// TestTheAgentOfTheDocumentsRuns runs the program that the documents show as one that leslie can start.
func TestTheAgentOfTheDocumentsRuns(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "internals", "agents-cases.md"))
	require.NoError(t, err)
	program := regexp.MustCompile("(?s)```sh\n(#!/bin/sh\n.*?)```").FindStringSubmatch(string(text))
	require.NotNil(t, program)
	p := newPlayer(t)
	agent := filepath.Join(p.home, "my-agent")
	p.write(agent, program[1])
	require.NoError(t, os.Chmod(agent, 0o755))
	p.write(filepath.Join(p.home, ".leslie", "config.json"), `{"run": {"agent": "mine", "agents": {"mine": {"command": ["`+agent+`"]}}}}`)
	p.shell("leslie init --no-agents")
	assert.Contains(t, p.shell("leslie agents --check mine"), "ready in")
	assert.Contains(t, p.shell("leslie run --new 'List the files' --id files"), "of files  done\nagent mine, 1 turn\nits code: 1 commit, 1 file +2 -0, not landed")
	p.shell("leslie land files")
	assert.Equal(t, "files.txt\nmain.js\n", p.shell("cat files.txt"))
}

// player plays a page.
type player struct {
	t         *testing.T
	home, dir string
	ids       map[string]string // that leslie gave, by those that the page shows in their places
	shows     map[string]string // the other way round
	given     []string          // the ids that leslie gave, in order
	differs   bool              // the page shows something else
}

// newPlayer makes a home and a repository with one commit.
func newPlayer(t *testing.T) *player {
	p := &player{t, t.TempDir(), filepath.Join(t.TempDir(), "project"), map[string]string{}, map[string]string{}, nil, false}
	p.write(filepath.Join(p.home, ".gitconfig"), "[user]\n\tname = Ann\n\temail = ann@example.org\n[advice]\n\tdetachedHead = false\n")
	p.write(filepath.Join(p.dir, "main.js"), "export function main() {\n\tserve()\n}\n")
	p.shell("git init -q -b main && git add . && git commit -q -m first")
	return p
}

func (p *player) write(name, text string) {
	require.NoError(p.t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(p.t, os.WriteFile(name, []byte(text), 0o644))
}

// page plays the blocks and comments of a page, and returns it with the answers that came.
func (p *player) page(text string) string {
	part := regexp.MustCompile("(?s)```console\n(.*?)```|<!-- (first|agent): (.*?) -->")
	var out strings.Builder
	done := 0
	for _, at := range part.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(text[done:at[0]])
		done = at[1]
		if at[2] >= 0 {
			out.WriteString("```console\n" + p.block(text[at[2]:at[3]]) + "```")
			continue
		}
		out.WriteString(text[at[0]:at[1]])
		switch lines := text[at[6]:at[7]]; text[at[4]:at[5]] {
		case "first":
			p.shell("set -e; " + lines)
		case "agent":
			p.agent(lines)
		}
	}
	return out.String() + text[done:]
}

// agent configures an agent that does some lines in each turn; AGAIN is set after the first.
func (p *player) agent(lines string) {
	p.write(filepath.Join(p.home, "agent.sh"), "AGAIN=$1\n"+lines+"\n")
	script := "RUN[[sh " + filepath.Join(p.home, "agent.sh")
	binary, err := os.Executable()
	require.NoError(p.t, err)
	config, err := json.Marshal(map[string]any{"run": map[string]any{"agent": "claude", "agents": map[string]any{"claude": map[string]any{
		"command": []string{binary},
		"env":     map[string]string{"PROCTEST_AGENT": "1", "FAKE": "modes", "FAKE_STATE": p.t.TempDir(), "FAKE_PROMPT": "USAGE[[1000 200 0.25]] " + script + "]] STOP[[1]] " + script + " again]]"},
	}}}})
	require.NoError(p.t, err)
	p.write(filepath.Join(p.home, ".leslie", "config.json"), string(config))
}

// block plays the lines of a block, compares their answers, and returns it with the answers that came.
func (p *player) block(block string) string {
	calls := regexp.MustCompile(`(?m)^\$ .*\n`).FindAllStringIndex(block, -1)
	if len(calls) == 0 { // "laptop$ ": TestTwoMachines... plays it
		return block
	}
	var out strings.Builder
	for i, at := range calls {
		end := len(block)
		if i+1 < len(calls) {
			end = calls[i+1][0]
		}
		line, want := block[at[0]+2:at[1]], block[at[1]:end]
		typed := madeID.ReplaceAllStringFunc(line, func(id string) string { return cmp.Or(p.ids[id], p.newest(id), id) })
		got := p.shown(p.shell(typed))
		p.match(madeID, want, got)
		p.match(commitID, want, got)
		if *update { // the whole page, if anything differs: ids and commits are the same throughout
			p.differs = p.differs || timeless(want) != timeless(got)
			line, want = typed, got
		}
		assert.Equal(p.t, timeless(want), timeless(got), line)
		p.given = append(p.given, madeID.FindAllString(got, -1)...)
		out.WriteString("$ " + line + want)
	}
	return out.String()
}

// match notes which id or commit stands for one that the page shows: the same one throughout.
func (p *player) match(of *regexp.Regexp, want, got string) {
	shown, given := of.FindAllString(want, -1), of.FindAllString(got, -1)
	for i := range min(len(shown), len(given)) {
		is, known := p.ids[shown[i]]
		was, stood := p.shows[given[i]]
		if known && is != given[i] || stood && was != shown[i] {
			assert.True(p.t, *update, "the page shows %s where it showed another one before", shown[i])
			p.differs = true
		}
		p.ids[shown[i]], p.shows[given[i]] = given[i], shown[i]
	}
}

// newest is the last id of a kind that leslie gave; a page that is written anew names ids that nobody knows.
func (p *player) newest(id string) string {
	kind, _, _ := strings.Cut(id, "-")
	for i := len(p.given) - 1; *update && i >= 0; i-- {
		if strings.HasPrefix(p.given[i], kind+"-") {
			return p.given[i]
		}
	}
	return ""
}

// shown is an answer as a page has it.
func (p *player) shown(answer string) string {
	binary, err := os.Executable()
	require.NoError(p.t, err)
	if answer != "" && !strings.HasSuffix(answer, "\n") {
		answer += "\n"
	}
	return strings.NewReplacer(p.dir, "~/project", filepath.Dir(p.dir), "~", p.home, "~", binary, "claude-code-acp", "fake 1.0", "claude-code 1.0").Replace(answer)
}

// madeID is an id that leslie makes.
var madeID = regexp.MustCompile(`\b(obj|op|q|c|run|merge|appr|ckpt|inj|ref)-[a-z0-9]{8}\b`)

// commitID is the beginning of one, as answers show it.
var commitID = regexp.MustCompile(`\b[0-9a-f]{12}\b`)

// shell runs lines as a person would, with leslie in the path. They may fail: pages show errors, too.
func (p *player) shell(lines string) string {
	cmd := exec.Command("sh", "-c", lines)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + p.home, "LESLIE_ACTOR=ann"}
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// timeless leaves out what differs each time: times, ids, commits, how long something took.
func timeless(s string) string {
	s = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`).ReplaceAllString(s, "TIME")
	s = madeID.ReplaceAllString(s, "$1-ID")
	s = regexp.MustCompile(`\b\d+ ms\b`).ReplaceAllString(s, "N ms")
	s = regexp.MustCompile(`(?m)^revision: \d+$`).ReplaceAllString(s, "revision: N") // what leslie itself records counts
	s = regexp.MustCompile(`retryAfterMs=\d+`).ReplaceAllString(s, "retryAfterMs=N")
	s = regexp.MustCompile(`(?m)^(~/project\S*) +[0-9a-f]{7} `).ReplaceAllString(s, "$1 COMMIT ")
	s = regexp.MustCompile(`  +`).ReplaceAllString(s, "  ") // columns are as wide as what differs
	return regexp.MustCompile(`\b([0-9a-f]{40}|[0-9a-f]{12}|[0-9a-f]{8})\b`).ReplaceAllString(s, "COMMIT")
}
