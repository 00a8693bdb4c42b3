package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// command defines one command. The table of them (commands.go) is the source of the
// library's tree, the lint pass, help, completion, and the block in AGENTS.md.
type command struct {
	name     string // "reference list"
	summary  string // one line that starts with a verb
	detail   string // further paragraphs of help; help wraps them, except indented lines
	example  string // one line that works
	operands []operand
	flags    []cli.Flag // each an *option
	// unrecorded: its writes are not operations, so it has neither --request-id nor
	// --expect-revision and cannot be part of a batch.
	unrecorded bool
	// onlyWith is the flag without which a command that writes only reads.
	onlyWith string
	// writes: it has the flags of commands that write, and its data has "changed".
	writes bool
	// lasts: it goes on for as long as others work.
	lasts bool
	// namesThread: --thread on a line without operand is the operand, as in leslie 1.x.
	namesThread bool
	// marksSeen: what it shows to a thread's own agent counts as seen, so it matters who
	// calls it, although it only reads.
	marksSeen bool
	// notBatchable: it makes operations of its own, or plans against files that another
	// line may be about to change.
	notBatchable bool
	// streams reports whether the answer to a line is a stream instead of one document
	// (stream.go); nil means never.
	streams func(line) bool
	// hint is how the block in AGENTS.md shows the command to agents; they find a command
	// without a hint in the help.
	hint hint
	// run runs it. It may add usage faults while it reads its options, and must call
	// c.usage() before it does anything else.
	run func(c *call) (Data, error)
}

// operand is one operand of a command.
type operand struct {
	*value
	optional bool
	// speaks: if it is missing, it is the thread that the call speaks for (--thread).
	speaks bool
	// many: it can be repeated. Only the last operand can.
	many bool
	// meant: if it is missing, run finds out what is meant (meantRecord), or faults.
	meant bool
	// dashed: it comes after "--", and no other operand does. Only the last can be.
	dashed bool
	// sets is the flag that it stands for, "" for none: lint moves it there, so the
	// command, the journal and request ids know only the flag. lastSets is the flag of
	// the last one, if there are several: SRC... TARGET.
	sets, lastSets string
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

// writeFlags are the command's share of the flags of commands that write.
func (cmd *command) writeFlags(all []cli.Flag) []cli.Flag {
	switch {
	case !cmd.writes:
		return nil
	case cmd.unrecorded:
		return all[:1]
	}
	return all
}

// usageParts are the words of a usage line: the command with its operands and required
// flags, and its optional flags in brackets. The short line has operands instead of the
// flags that they stand for.
func (cmd *command) usageParts(short bool) (required, optional []string) {
	required = append(required, "leslie", cmd.name)
	var stoodFor []string
	for _, o := range cmd.operands {
		name := o.shown
		if o.many && o.lastSets == "" {
			name += "..."
		}
		if o.dashed {
			name = "-- " + name
		}
		if o.optional && o.sets == "" {
			name = "[" + name + "]"
		}
		if o.sets != "" {
			if !short {
				continue
			}
			stoodFor = []string{o.sets, o.lastSets}
		}
		required = append(required, name)
	}
	for _, o := range shownOptions(cmd.flags) {
		if o.value().needed && !slices.Contains(stoodFor, o.Name) {
			required = append(required, o.synopsis())
		} else {
			optional = append(optional, "["+o.synopsis()+"]")
		}
	}
	return required, optional
}

// usageLine is the usage line without the optional flags.
func (cmd *command) usageLine(short bool) string {
	required, optional := cmd.usageParts(short)
	if len(optional) > 0 {
		required = append(required, "[flags]")
	}
	return strings.Join(required, " ")
}

// usageHint is the hint of a T903 that has no better one: one line.
func (cmd *command) usageHint() string {
	return "Usage: " + cmd.usageLine(false) + ". Example: " + cmd.example
}
