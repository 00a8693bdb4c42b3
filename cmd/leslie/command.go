package main

import "strings"

// command is one thing leslie can do. The table of them (commands.go) feeds the
// parser, help, and the block that teaches agents.
type command struct {
	name     string // "reference list"
	summary  string // one line, a verb first
	detail   string // what help says beyond it
	example  string // one line that works
	operands []operandSpec
	flags    []flagSpec
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
		name := o.name
		if o.many {
			name += "..."
		}
		if o.optional {
			name = "[" + name + "]"
		}
		parts = append(parts, name)
	}
	for _, f := range cmd.flags {
		parts = append(parts, "["+f.synopsis()+"]")
	}
	return strings.Join(parts, " ")
}

// usageHint is what every T903 of the command says that knows no better.
func (cmd *command) usageHint() string {
	return "Usage: " + cmd.usageLine() + ". Example: " + cmd.example
}

func (f flagSpec) synopsis() string {
	s := "--" + f.name
	if f.kind != kindSwitch {
		s += " " + f.value
	}
	return s
}
