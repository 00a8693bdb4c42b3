package main

import (
	"slices"
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
	operands []operand
	flags    []cli.Flag // each an *option
	// unrecorded: what it writes is no operation of its own, so there is nothing that
	// --request-id or --expect-revision could be about, or that could be part of a batch.
	unrecorded bool
	// onlyWith is the flag without which a command that writes only looks.
	onlyWith string
	// writes: it has the flags of writing commands and its data says whether
	// something changed.
	writes bool
	// alone: it makes operations of its own, or plans against files that another
	// line may be about to change. It is no line of a batch.
	alone bool
	// streams: whether a line is answered by a stream in place of one document
	// (stream.go); nil: never.
	streams func(line) bool
	// teach says how AGENTS.md tells agents of the command; they find one without
	// a lesson by help.
	teach lesson
	// run does it. It may add usage faults while it reads its options, and must
	// ask c.usage() before it does anything else.
	run func(c *call) (Data, error)
}

// operand is one operand of a command.
type operand struct {
	*value
	optional bool
	// speaks: a missing operand is the thread that the call speaks for.
	speaks bool
	// many: it may be given several times; only the last operand may.
	many bool
}

// Data is what a command answers with: JSON by its tags, text by its method.
type Data interface {
	Text(p *page)
}

// path is the command's words.
func (cmd *command) path() []string { return strings.Fields(cmd.name) }

// allFlags are the command's own flags, then those of every command.
func (cmd *command) allFlags() []cli.Flag {
	return slices.Concat(cmd.flags, cmd.writeFlags(writeFlags()), globalFlags())
}

// writeFlags are those of the flags of commands that write which the command has.
func (cmd *command) writeFlags(all []cli.Flag) []cli.Flag {
	switch {
	case !cmd.writes:
		return nil
	case cmd.unrecorded:
		return all[:1]
	}
	return all
}

// usageParts are the command, its operands and its flags as a usage line shows them; what
// may be left out is in brackets.
func (cmd *command) usageParts() (required, optional []string) {
	required = append(required, "leslie", cmd.name)
	for _, o := range cmd.operands {
		name := o.shown
		if o.many {
			name += "..."
		}
		if o.optional {
			name = "[" + name + "]"
		}
		required = append(required, name)
	}
	for _, o := range options(cmd.flags) {
		if o.value().needed {
			required = append(required, o.synopsis())
		} else {
			optional = append(optional, "["+o.synopsis()+"]")
		}
	}
	return required, optional
}

// usageLine is the command with what it needs.
func (cmd *command) usageLine() string {
	required, optional := cmd.usageParts()
	if len(optional) > 0 {
		required = append(required, "[flags]")
	}
	return strings.Join(required, " ")
}

// usageScreen is the command with every flag of its own, as help shows it.
func (cmd *command) usageScreen() string {
	required, optional := cmd.usageParts()
	return wrapped(append(required, optional...), helpWidth-len("Usage: "), "       ")
}

// usageHint is what every T903 of the command says that knows no better: one line.
func (cmd *command) usageHint() string {
	return "Usage: " + cmd.usageLine() + ". Example: " + cmd.example
}
