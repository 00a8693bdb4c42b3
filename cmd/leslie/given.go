package main

// given is how a command reads its line: what was given, by the name of the
// flag. The parser (argv.go) has found the flags and checked their values, and a
// flag that takes one value stands in the line once. The methods are those of
// urfave/cli's Context, against which a test holds them; the library itself is no
// part of the program, since what it initialises costs more than most commands.
type given struct{ line *line }

// IsSet reports whether a flag was given.
func (g *given) IsSet(name string) bool { return len(g.StringSlice(name)) > 0 }

// String is a flag's value, "" when it was not given.
func (g *given) String(name string) string {
	for _, f := range g.line.flags {
		if f.spec.name == name {
			return f.value
		}
	}
	return ""
}

// Bool reports whether a switch was given, and not as off.
func (g *given) Bool(name string) bool { return g.String(name) == "true" }

// StringSlice is the values of a flag that may be given several times, in order.
func (g *given) StringSlice(name string) []string {
	var out []string
	for _, f := range g.line.flags {
		if f.spec.name == name {
			out = append(out, f.value)
		}
	}
	return out
}

// Args are the operands.
func (g *given) Args() operands { return g.line.operands }

// operands are the words of a line behind its command.
type operands []string

// Get is the i-th operand, "" when it was not given.
func (o operands) Get(i int) string {
	if i >= len(o) {
		return ""
	}
	return o[i]
}

// Slice is all of them.
func (o operands) Slice() []string { return o }
