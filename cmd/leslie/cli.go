package main

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/fact"
)

// This file makes the tree of cli.Commands that the library runs, each with its flags,
// its completion and its action. The library writes nothing to the process's streams:
// the help that it prints becomes the call's answer, and errors are returned.

// cliTree is the library's view of a call: the tree of commands that reads its line.
type cliTree struct{ *call }

// app is the cli.App for this call's line. Each command has its own copy of the
// flags that all commands share, and the root has them only for a line without a
// command: if root and command both had them, the library would lose values.
func (c cliTree) app(all []*command) *cli.App {
	root := &cli.App{
		Name: "leslie", Usage: "split an objective into threads of work that people and agents share",
		Commands: c.tree(all),
		HideHelp: true, HideHelpCommand: true, HideVersion: true,
		Action: c.root, OnUsageError: libraryFault,
		EnableBashCompletion: true, BashComplete: c.complete(all, nil, ""),
		Reader: c.env.stdin, Writer: &c.printed, ErrWriter: io.Discard,
		ExitErrHandler: func(*cli.Context, error) {}, // the renderer returns the exit status
		Compiled:       time.Unix(0, 0),              // otherwise the library stats the program's file
	}
	if c.line.cmd == nil || c.line.asks() {
		root.Flags = globalFlags()
	}
	return root
}

// tree are the commands below the root.
func (c cliTree) tree(all []*command) []*cli.Command {
	help := c.node("help", "show help for a command", func(cc *cli.Context) error { return help(c.call, cc, all) })
	help.BashComplete = c.complete(all, nil, "")
	out := []*cli.Command{help}
	for _, cmd := range all {
		path := cmd.path()
		if len(path) == 1 {
			out = append(out, c.leaf(all, cmd))
			continue
		}
		at := slices.IndexFunc(out, func(node *cli.Command) bool { return node.Name == path[0] })
		if at < 0 {
			group := c.node(path[0], "", c.root)
			group.BashComplete = c.complete(all, nil, path[0])
			at, out = len(out), append(out, group)
		}
		out[at].Subcommands = append(out[at].Subcommands, c.leaf(all, cmd))
	}
	return out
}

// node is a cli.Command with the settings that all have in common.
func (c cliTree) node(name, usage string, action cli.ActionFunc) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, Flags: globalFlags(), Action: action,
		HideHelp: true, HideHelpCommand: true, OnUsageError: libraryFault,
	}
}

// leaf is the cli.Command of a command.
func (c cliTree) leaf(all []*command, cmd *command) *cli.Command {
	path := cmd.path()
	node := c.node(path[len(path)-1], cmd.summary, func(cc *cli.Context) error { return c.act(cc, cmd) })
	node.Description = cmd.detail
	node.Flags = cmd.allFlags()
	node.BashComplete = c.complete(all, cmd, cmd.name)
	return node
}

// libraryFault is T903 for a line that passed lint and that the library cannot read.
func libraryFault(_ *cli.Context, err error, _ bool) error {
	return codes.InvalidArgument.Wrap(err, fact.Of("reason", strings.TrimSpace(err.Error())))
}

// root answers a line without a command: with the version, or with its faults.
func (c cliTree) root(cc *cli.Context) error {
	c.read(cc)
	if !c.on("version") {
		return c.unrouted(cc)
	}
	if err := c.lineUsage(); err != nil {
		return err
	}
	c.data = ownVersion()
	return nil
}

// unrouted is T903 for a line that names no command.
func (c cliTree) unrouted(cc *cli.Context) error {
	if len(c.faults) == 0 {
		c.fault("command", cc.Args().First(), "there is no command "+quoted(cc.Args().First()))
	}
	return c.usage()
}

// act runs a command. A line with faults gets here too: the command adds its own
// faults and returns one T903 for all of them.
func (c cliTree) act(cc *cli.Context, cmd *command) (err error) {
	c.read(cc)
	if c.line.cmd != cmd {
		return c.unrouted(cc)
	}
	if c.env.ready != nil {
		c.env.ready(cmd.writes, cmd.lasts)
	}
	if c.on("dry-run") {
		c.meansNothing("with --dry-run", "request-id")
	}
	if c.data, err = cmd.run(c.call); isNil(c.data) {
		c.data = nil
	}
	return err
}

// read takes over the flags that the library has read. In a line of a batch, the flags
// of every command are the batch's.
func (c cliTree) read(cc *cli.Context) {
	c.flags = cc
	if c.op == nil {
		c.who = c.globals()
	}
}
