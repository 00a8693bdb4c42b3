package main

// vocabulary is the flags that may be meant. Most lines name none but their own
// command's and those of every command, so the others are looked at last and put
// together only for a line that is wrong.
type vocabulary struct {
	all   []*command // whose flags may be meant
	cmd   *command   // the command of the line: looked at first, nil when unknown
	every []flagSpec // all of them, in order; nil before somebody asks
}

// ownFlags are those of a command, or of all where it is not known.
func ownFlags(all []*command, cmd *command) *vocabulary {
	if cmd == nil {
		return &vocabulary{all: all}
	}
	return &vocabulary{cmd: cmd}
}

// find returns the flag of this name. Commands that share a name of a flag agree
// on whether it takes a value, so it does not matter whose is found.
func (v *vocabulary) find(name string, long bool) (flagSpec, bool) {
	if v.cmd != nil {
		if spec, ok := lookUp(v.cmd.flags, name, long); ok {
			return spec, true
		}
		if spec, ok := lookUp(v.cmd.writeFlags(), name, long); ok {
			return spec, true
		}
	}
	if spec, ok := lookUp(globalFlags(), name, long); ok {
		return spec, true
	}
	for _, cmd := range v.all {
		if spec, ok := lookUp(cmd.flags, name, long); ok {
			return spec, true
		}
	}
	if v.all == nil {
		return flagSpec{}, false
	}
	return lookUp(writeFlags(), name, long)
}

// list is every flag: of the commands, of those that write, of all.
func (v *vocabulary) list() []flagSpec {
	switch {
	case v.every != nil:
	case v.all == nil:
		v.every = v.cmd.allFlags()
	default:
		for _, cmd := range v.all {
			v.every = append(v.every, cmd.flags...)
		}
		v.every = append(append(v.every, writeFlags()...), globalFlags()...)
	}
	return v.every
}
