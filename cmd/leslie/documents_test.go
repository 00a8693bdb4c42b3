package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/docs"
	"leslie/internal/external"
)

// Every line of leslie that a document for users shows, in a block or in a sentence, is one that leslie has:
// its command, its flags and their values. test/proctest executes those of the kind console.
func TestLinesInDocumentsAreThoseOfLeslie(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	pages := map[string]string{"README": string(readme)}
	for _, topic := range docs.Topics() {
		if topic.Folder != "internals" && topic.Name != "codes" && topic.Name != "commands" {
			pages[topic.Name], _ = docs.Text(topic.Name)
		}
	}
	all, checked := commands().All(), 0
	for name, text := range pages {
		for _, line := range linesOf(text) {
			words, err := external.Split(line)
			require.NoError(t, err, "%s: %s", name, line)
			if n := slices.Index(words, "N"); n > 0 {
				words[n] = "1"
			}
			l := cli.ParseLine(all, words[1:])
			checked++
			if len(words) < 4 && !strings.Contains(line, "--") { // it may only name a command, or a group of them
				group := slices.ContainsFunc(all, func(c *cli.Command) bool { return c.Path()[0] == words[1] })
				assert.True(t, l.Help || l.Cmd != nil || group, "%s: %s", name, line)
				continue
			}
			assert.True(t, l.Help || l.Cmd != nil, "%s: %s", name, line)
			assert.Empty(t, l.Faults, "%s: %s", name, line)
		}
	}
	assert.Greater(t, checked, 300)
}

// linesOf are the lines of leslie in a document, without those that leave something out.
func linesOf(text string) (out []string) {
	block := regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```")
	command := regexp.MustCompile(`(?:^|&& |\| |; )(leslie [^|;&]*)`)
	take := func(line string) {
		line, _, _ = strings.Cut(line, "  #")
		line, _, _ = strings.Cut(line, " > ")
		if !strings.Contains(line, "...") && !strings.Contains(line, "[") && !strings.Contains(line, "$") && len(strings.Fields(line)) > 1 {
			out = append(out, strings.TrimSpace(line))
		}
	}
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		if m[1] != "" && m[1] != "sh" && m[1] != "console" {
			continue
		}
		for line := range strings.Lines(m[2]) {
			line, typed := strings.CutPrefix(strings.TrimSpace(line), "$ ")
			if m[1] != "console" || typed {
				for _, one := range command.FindAllStringSubmatch(line, -1) {
					take(one[1])
				}
			}
		}
	}
	prose := block.ReplaceAllString(text, "")
	for _, m := range regexp.MustCompile("`(leslie [^`\n]*(?:\n[^`\n]*)?)`").FindAllStringSubmatch(prose, -1) {
		for _, one := range command.FindAllStringSubmatch(strings.Join(strings.Fields(m[1]), " "), -1) {
			take(one[1])
		}
	}
	return out
}
