package cli

import (
	"slices"
	"strings"

	"leslie/cmd/leslie/internal/page"
)

// Command defines one command. The table of them (commands.go) is the source of the
// library's tree, the lint pass, help and completion.
type Command struct {
	Name     string // "reference list"
	alias    string // a short name, "" for none; the table of commands sets it
	Summary  string // one line that starts with a verb
	Detail   string // further paragraphs of help; help wraps them, except indented lines
	Example  string // one line that works
	Operands []Operand
	Flags    []Flag // each an *option
	// Further are flags of another command that this one takes, too, and FurtherSaid what help
	// says of them here.
	Further     []Flag
	FurtherSaid string
	// Unrecorded: its writes are not operations, so it has neither --request-id nor
	// --expect-revision and cannot be part of a batch.
	Unrecorded bool
	// OnlyWith is the flag without which a command that writes only reads.
	OnlyWith string
	// Writes: it has the flags of commands that write, and its data has "changed".
	Writes bool
	// Lasts: it goes on for as long as others work.
	Lasts bool
	// NamesThread: --thread on a line without operand is the operand, as in leslie 1.x.
	NamesThread bool
	// MarksSeen: what it shows to a thread's own agent counts as seen, so it matters who
	// calls it, although it only reads.
	MarksSeen bool
	// NotBatchable: it makes operations of its own, or plans against files that another
	// line may be about to change.
	NotBatchable bool
	// Streams reports whether the answer to a line is a stream instead of one document
	// (stream.go); nil means never.
	Streams func(Line) bool
	// Run runs it. It may add usage faults while it reads its options, and must call
	// c.usage() before it does anything else.
	Run func(c *Call) (Data, error)
}

// Operand is one operand of a command.
type Operand struct {
	*Value
	Optional bool
	// Speaks: if it is missing, it is the thread that the call speaks for (--thread).
	Speaks bool
	// Many: it can be repeated. Only the last operand can.
	Many bool
	// Meant: if it is missing, run finds out what is meant (Call.MeantRecord), or faults.
	Meant bool
	// Dashed: it comes after "--", and no other operand does. Only the last can be.
	Dashed bool
	// Sets is the flag that it stands for, "" for none: lint moves it there, so the
	// command, the journal and request ids know only the flag. LastSets is the flag of
	// the last one, if there are several: SRC... TARGET.
	Sets, LastSets string
}

// Data is what a command answers with: JSON by its tags, text by its method.
type Data interface {
	Text(p *page.Page)
}

// Path is the command's words.
func (cmd *Command) Path() []string { return strings.Fields(cmd.Name) }

// AllFlags are the command's own flags, then those of every command.
func (cmd *Command) AllFlags() []Flag {
	return slices.Concat(cmd.Flags, cmd.Further, cmd.writeFlags(writeFlags()), globalFlags())
}

// writeFlags are the command's share of the flags of commands that write.
func (cmd *Command) writeFlags(all []Flag) []Flag {
	switch {
	case !cmd.Writes:
		return nil
	case cmd.Unrecorded:
		return all[:1]
	}
	return all
}

// usageParts are the words of a usage line: the command with its operands and required
// flags, and its optional flags in brackets. The short line has operands instead of the
// flags that they stand for.
func (cmd *Command) usageParts(short bool) (required, optional []string) {
	required = append(required, "leslie", cmd.Name)
	var stoodFor []string
	for _, o := range cmd.Operands {
		name := o.Shown
		if o.Many && o.LastSets == "" {
			name += "..."
		}
		if o.Dashed {
			name = "-- " + name
		}
		if o.Optional && o.Sets == "" {
			name = "[" + name + "]"
		}
		if o.Sets != "" {
			if !short {
				continue
			}
			stoodFor = []string{o.Sets, o.LastSets}
		}
		required = append(required, name)
	}
	for _, o := range ShownOptions(cmd.Flags) {
		if o.Typed().Needed && !slices.Contains(stoodFor, o.Name) {
			required = append(required, o.synopsis())
		} else {
			optional = append(optional, "["+o.synopsis()+"]")
		}
	}
	return required, optional
}

// UsageLine is the usage line without the optional flags.
func (cmd *Command) UsageLine(short bool) string {
	required, optional := cmd.usageParts(short)
	if len(optional) > 0 {
		required = append(required, "[flags]")
	}
	return strings.Join(required, " ")
}

// UsageHint is the hint of a T903 that has no better one: one line.
func (cmd *Command) UsageHint() string {
	return "Usage: " + cmd.UsageLine(false) + ". Example: " + cmd.Example
}

// ThreadOperand is the operand of commands on one thread. If it is missing, it is the
// thread that the call speaks for.
func ThreadOperand() Operand { return Operand{Value: ID("ID", ThreadIDs), Speaks: true} }

// ListedThreads is the operand of lists of what belongs to threads; without it, they list that of all.
func ListedThreads() Operand {
	return Operand{Value: ID("ID", ThreadIDs), Optional: true, Many: true}
}
