package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

// This file holds leslie's own reading of a line against urfave/cli, which knows
// nothing of it: whatever line the parser accepts, the library reads the same
// command, operands and values from it. The library itself is no part of the
// program: what it initialises costs more than most commands do.

func TestTheLibraryReadsEveryLineAsWeDo(t *testing.T) {
	t.Parallel()
	lines := []string{
		"list", "list --all=false --limit 0", "done main --reason r", "--format json status main", "-C d status",
		"spawn --tag a --intent=x=y --tag b,c --inherit partial --scope a,b --parent p", "update main --tag +a --tag -old",
		"objective create -- --format", "reference --from a list", "merge --sources a,b --target t --dry-run",
	}
	for _, text := range lines {
		l := parse(commands(), strings.Fields(text))
		require.Empty(t, l.faults, text)
		assert.Empty(t, differences(commands(), l), text)
	}
}

// differences are what the library reads otherwise.
func differences(all []*command, l line) []string {
	out := []string{"the library runs nothing"}
	err := libraryApp(all, func(cmd *command, c *cli.Context) error {
		out = nil
		if cmd.name != l.cmd.name {
			out = append(out, "it runs "+cmd.name)
		}
		ours := &given{&l}
		if !slices.Equal(c.Args().Slice(), ours.Args().Slice()) || c.Args().Get(0) != ours.Args().Get(0) {
			out = append(out, "operands")
		}
		for _, f := range cmd.allFlags() {
			same := c.IsSet(f.name) == ours.IsSet(f.name)
			switch {
			case f.kind == kindSwitch:
				same = same && c.Bool(f.name) == ours.Bool(f.name)
			case f.kind.repeats():
				same = same && slices.Equal(c.StringSlice(f.name), ours.StringSlice(f.name))
			default:
				same = same && c.String(f.name) == ours.String(f.name)
			}
			if !same {
				out = append(out, "--"+f.name)
			}
		}
		return nil
	}).Run(l.reordered())
	if err != nil {
		out = append(out, err.Error())
	}
	return out
}

// libraryApp builds the library's command tree: for each leaf its own flags, since a
// flag that stands on the libraryApp and on a command shadows itself there.
func libraryApp(all []*command, action func(*command, *cli.Context) error) *cli.App {
	quiet := func(_ *cli.Context, err error, _ bool) error { return err }
	root := &cli.App{
		Name: "leslie", HideHelp: true, HideVersion: true, HideHelpCommand: true,
		DisableSliceFlagSeparator: true,
		OnUsageError:              quiet,
		ExitErrHandler:            func(*cli.Context, error) {},
	}
	byName := map[string]*cli.Command{}
	for _, cmd := range all {
		leaf := &cli.Command{
			Name: cmd.path()[len(cmd.path())-1], HideHelp: true, HideHelpCommand: true, OnUsageError: quiet,
			Action: func(c *cli.Context) error { return action(cmd, c) },
		}
		for _, f := range cmd.allFlags() {
			leaf.Flags = append(leaf.Flags, f.cli())
		}
		byName[cmd.name] = leaf
		parent, _, nested := strings.Cut(cmd.name, " ")
		switch {
		case !nested:
			root.Commands = append(root.Commands, leaf)
		case byName[parent] == nil: // a group without an action of its own
			group := &cli.Command{Name: parent, HideHelp: true, HideHelpCommand: true, OnUsageError: quiet}
			byName[parent] = group
			root.Commands = append(root.Commands, group)
			fallthrough
		default:
			byName[parent].Subcommands = append(byName[parent].Subcommands, leaf)
		}
	}
	return root
}

// cli makes the library's flag. Values stay text there: leslie checks them
// itself, all at once.
func (f flagSpec) cli() cli.Flag {
	var aliases []string
	if f.short != "" {
		aliases = []string{f.short}
	}
	switch {
	case f.kind == kindSwitch:
		return &cli.BoolFlag{Name: f.name, Aliases: aliases, Usage: f.usage}
	case f.kind.repeats():
		return &cli.StringSliceFlag{Name: f.name, Aliases: aliases, Usage: f.usage}
	}
	return &cli.StringFlag{Name: f.name, Aliases: aliases, Usage: f.usage}
}

// reordered is the line as the library wants it: command, flags, operands.
func (l *line) reordered() []string {
	out := append([]string{"leslie"}, l.cmd.path()...)
	for _, f := range l.flags {
		out = append(out, "--"+f.spec.name+"="+f.value)
	}
	return append(append(out, "--"), l.operands...)
}
