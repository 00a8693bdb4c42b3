package cli

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file makes the tree of urfave.Commands that the library runs, each with its flags,
// its completion and its action. The library writes nothing to the process's streams:
// the help that it prints becomes the call's answer, and errors are returned.

// App is the urfave.App for this call's line. Each command has its own copy of the
// flags that all commands share, and the root has them only for a line without a
// command: if root and command both had them, the library would lose values.
func (c *Call) App(all []*Command) *urfave.App {
	root := &urfave.App{
		Name: "leslie", Usage: "split an objective into threads of work that people and agents share",
		Commands: c.tree(all),
		HideHelp: true, HideHelpCommand: true, HideVersion: true,
		Action: c.withoutCommand, OnUsageError: libraryFault,
		EnableBashCompletion: true, BashComplete: c.completer(all, nil, ""),
		Reader: c.Env.Stdin, Writer: &c.Printed, ErrWriter: io.Discard,
		ExitErrHandler: func(*urfave.Context, error) {}, // the renderer returns the exit status
		Compiled:       time.Unix(0, 0),                 // otherwise the library stats the program's file
	}
	if c.Line.Cmd == nil || c.Line.Asks() {
		root.Flags = globalFlags()
	}
	return root
}

// tree are the commands below the root.
func (c *Call) tree(all []*Command) []*urfave.Command {
	help := c.node("help", "show help for a command", func(cc *urfave.Context) error { return c.showHelp(cc, all) })
	help.BashComplete = c.completer(all, nil, "")
	out := []*urfave.Command{help}
	for _, cmd := range all {
		path := cmd.Path()
		if len(path) == 1 {
			out = append(out, c.leaf(all, cmd))
			continue
		}
		at := slices.IndexFunc(out, func(node *urfave.Command) bool { return node.Name == path[0] })
		if at < 0 {
			group := c.node(path[0], "", c.withoutCommand)
			group.BashComplete = c.completer(all, nil, path[0])
			at, out = len(out), append(out, group)
		}
		out[at].Subcommands = append(out[at].Subcommands, c.leaf(all, cmd))
	}
	return out
}

// node is a urfave.Command with the settings that all have in common.
func (c *Call) node(name, usage string, action urfave.ActionFunc) *urfave.Command {
	return &urfave.Command{
		Name: name, Usage: usage, Flags: globalFlags(), Action: action,
		HideHelp: true, HideHelpCommand: true, OnUsageError: libraryFault,
	}
}

// leaf is the urfave.Command of a command.
func (c *Call) leaf(all []*Command, cmd *Command) *urfave.Command {
	path := cmd.Path()
	node := c.node(path[len(path)-1], cmd.Summary, func(cc *urfave.Context) error { return c.act(cc, cmd) })
	node.Description = cmd.Detail
	node.Flags = cmd.AllFlags()
	node.BashComplete = c.completer(all, cmd, cmd.Name)
	return node
}

// libraryFault is T903 for a line that passed lint and that the library cannot read.
func libraryFault(_ *urfave.Context, err error, _ bool) error {
	return codes.InvalidArgument.Wrap(err, fact.Of("reason", strings.TrimSpace(err.Error())))
}

// withoutCommand answers a line without a command: with the version, or with its faults.
func (c *Call) withoutCommand(cc *urfave.Context) error {
	c.readFlags(cc)
	if !c.On("version") {
		return c.unknownCommand(cc)
	}
	if err := c.usageIgnoringEnv(); err != nil {
		return err
	}
	c.data = ownVersion(c.Env)
	return nil
}

// unknownCommand is T903 for a line that names no command.
func (c *Call) unknownCommand(cc *urfave.Context) error {
	if len(c.Faults) == 0 {
		c.Fault("command", cc.Args().First(), "there is no command "+strconv.Quote(cc.Args().First()))
	}
	return c.Usage()
}

// act runs a command. A line with faults gets here too: the command adds its own
// faults and returns one T903 for all of them.
func (c *Call) act(cc *urfave.Context, cmd *Command) (err error) {
	c.readFlags(cc)
	if c.Line.Cmd != cmd {
		return c.unknownCommand(cc)
	}
	if c.Env.Ready != nil {
		c.Env.Ready(cmd.Writes, cmd.Lasts)
	}
	if c.On("dry-run") {
		c.MeansNothing("with --dry-run", "request-id")
	}
	if c.data, err = cmd.Run(c); isNil(c.data) {
		c.data = nil
	}
	return err
}

// readFlags takes over the flags that the library has read. In a line of a batch, the flags
// of every command are the batch's.
func (c *Call) readFlags(cc *urfave.Context) {
	c.Flags = cc
	if c.Op == nil {
		c.Who = c.globals()
	}
}
