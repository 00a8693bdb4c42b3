package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// command is one thing leslie can do. The table of them (commands.go) feeds the
// parser, help, and the block that teaches agents.
type command struct {
	name     string // "reference list"
	summary  string // one line, a verb first
	detail   string // what help says beyond it
	example  string // one line that works
	operands []operandSpec
	flags    []flagSpec
	// unrecorded: it writes without making an operation, so there is nothing that
	// --request-id or --expect-revision could be about.
	unrecorded bool
	// writes: it has the flags of writing commands and its data says whether
	// something changed.
	writes bool
	// run does it. It may add usage faults while it reads its options, and must
	// ask c.usage() before it does anything else.
	run func(c *call) (Data, error)
}

// Data is what a command answers with: JSON by its tags, text by its method.
type Data interface {
	Text(p *page)
}

// path is the command's words.
func (cmd *command) path() []string { return strings.Fields(cmd.name) }

// allFlags are the command's own flags, then those of every command.
func (cmd *command) allFlags() []flagSpec {
	all := append([]flagSpec{}, cmd.flags...)
	return append(append(all, cmd.writeFlags()...), globalFlags()...)
}

// writeFlags are the flags that the command has because it writes.
func (cmd *command) writeFlags() []flagSpec {
	switch {
	case !cmd.writes:
		return nil
	case cmd.unrecorded:
		return writeFlags()[:1]
	}
	return writeFlags()
}

// usageLine is the command as help and T903 show it.
func (cmd *command) usageLine() string {
	parts := []string{"leslie", cmd.name}
	for _, o := range cmd.operands {
		if o.optional {
			parts = append(parts, "["+o.name+"]")
		} else {
			parts = append(parts, o.name)
		}
	}
	for _, f := range cmd.flags {
		parts = append(parts, "["+f.synopsis()+"]")
	}
	return strings.Join(parts, " ")
}

func (f flagSpec) synopsis() string {
	s := "--" + f.name
	if f.kind != kindSwitch {
		s += " " + f.value
	}
	return s
}

// app builds the library's command tree: for each leaf its own flags, since a
// flag that stands on the app and on a command shadows itself there.
func app(all []*command, action func(*command, *cli.Context) error) *cli.App {
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
