package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
)

const commandsIntro = `# Commands

Every command, with its own flags. The flags of every command, and of every command that writes, are at the end; they can stand anywhere
on the line. ` + "`leslie help COMMAND` shows one, `leslie help how` says what to use for what. `make docs` writes this page." + `
`

// The document of the commands is what help says of them; go test ./cmd/leslie -run CommandsDocument -update
// (make docs) writes it.
func TestCommandsDocumentIsWhatHelpSays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var answer struct {
		Data struct {
			Commands []struct {
				Name, Group, Alias, Summary, Usage, Detail, Example string
				Flags                                               []commandFlag
			}
			Flags, WriteFlags []commandFlag
		}
	}
	b.must(t, "help", "commands", "--format", "json")
	require.NoError(t, json.Unmarshal(b.out.Bytes(), &answer))
	var out strings.Builder
	out.WriteString(commandsIntro)
	all := answer.Data.Commands
	for _, group := range cli.HelpGroups() {
		fmt.Fprintf(&out, "\n## %s\n", group.Title)
		for _, c := range all {
			if c.Group != group.Title {
				continue
			}
			fmt.Fprintf(&out, "\n### %s\n\n%s.\n\n```\n%s\n```\n", c.Name, upper(c.Summary), c.Usage)
			if c.Detail != "" {
				fmt.Fprintf(&out, "\n%s\n", plainMarkdown(c.Detail))
			}
			flagTable(&out, c.Flags)
			fmt.Fprintf(&out, "\nExample: `%s`\n", c.Example)
		}
	}
	out.WriteString("\n## Flags of every command\n")
	flagTable(&out, answer.Data.Flags)
	out.WriteString("\n## Flags of every command that writes\n")
	flagTable(&out, answer.Data.WriteFlags)

	name := filepath.Join("..", "..", "docs", "reference", "commands.md")
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(out.String()), 0o644))
	}
	got, err := os.ReadFile(name)
	require.NoError(t, err, "run `make docs`")
	assert.Equal(t, out.String(), string(got), "docs/reference/commands.md is out of date: run `make docs`")
	for _, c := range commands().All() {
		assert.True(t, slices.ContainsFunc(strings.Split(string(got), "\n"), func(line string) bool { return line == "### "+c.Name }), c.Name)
	}
}

type commandFlag struct{ Name, Short, Value, Usage string }

// flagTable writes flags as a table.
func flagTable(out *strings.Builder, flags []commandFlag) {
	if len(flags) == 0 {
		return
	}
	out.WriteString("\n| Flag | |\n|---|---|\n")
	for _, f := range flags {
		label := "--" + f.Name
		if f.Value != "" {
			label += " " + f.Value
		}
		fmt.Fprintf(out, "| `%s` | %s |\n", strings.ReplaceAll(label, "|", `\|`), plainMarkdown(strings.ReplaceAll(f.Usage, "|", `\|`)))
	}
}

// plainMarkdown is a text of help without what Markdown would take as a mark.
func plainMarkdown(text string) string {
	return strings.NewReplacer("*", `\*`, "<", `\<`, "_", `\_`).Replace(text)
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
