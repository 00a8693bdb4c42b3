package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/internal/app"
)

// This file answers shell completion. The shell runs the line so far with
// --generate-bash-completion at its end. The line includes the word at the cursor only
// if that begins with a dash; the shell selects the candidates that match the word.

// completionData are the candidates, one per line.
type completionData struct{ words []string }

func (d *completionData) Text(p *page) {
	for _, word := range d.words {
		p.line("%s", word)
	}
}

// complete offers candidates for the next word: after a flag its values, after a dash
// flags, otherwise subcommands and ids for the next operand, or flags if there is none.
// It reads the store if there is one. It reports no errors: nobody would see them.
func (c cliTree) complete(all []*command, cmd *command, group string) cli.BashCompleteFunc {
	return func(cc *cli.Context) {
		c.read(cc)
		subs := subNames(all, group)
		if group == "" {
			subs = append(topNames(all), slices.Sorted(maps.Keys(aliases()))...)
		}
		c.faults, c.who.format = nil, "text"
		c.data = &completionData{c.candidates(cmd, subs)}
	}
}

func (c cliTree) candidates(cmd *command, subs []string) []string {
	flags := globalFlags()
	if cmd != nil {
		flags = cmd.allFlags()
	}
	last := *c.line.last
	if name, long := strings.CutPrefix(last, "--"); strings.HasPrefix(last, "-") {
		if o := lookUp(flags, strings.TrimPrefix(name, "-"), long); o != nil && !o.value().toggle {
			return c.valuesOf(o.value())
		}
		return c.flagsLeft(flags)
	}
	at := len(c.line.operands)
	switch {
	case cmd == nil, c.line.help:
		return subs
	case at < len(cmd.operands):
		return append(subs, c.valuesOf(cmd.operands[at].value)...)
	case len(cmd.operands) > 0 && cmd.operands[len(cmd.operands)-1].many:
		return c.valuesOf(cmd.operands[len(cmd.operands)-1].value)
	}
	return append(subs, c.flagsLeft(flags)...)
}

// flagsLeft are the flags that can still be added to the line.
func (c cliTree) flagsLeft(flags []cli.Flag) []string {
	var out []string
	for _, o := range shownOptions(flags) {
		if o.value().repeats || !c.has(o.Name) {
			out = append(out, "--"+o.Name)
		}
	}
	return out
}

// valuesOf are the words of an enum, or the ids in the store.
func (c cliTree) valuesOf(v *value) []string {
	if v.ids == otherIDs {
		return v.words
	}
	project, err := app.Open(c.who.dir, c.env.app())
	if err != nil {
		return nil
	}
	// This call writes no log, and its warnings are dropped.
	ids, _ := app.KnownIDs(project.Call(c.ctx, c.caller(), app.Request{}), string(v.ids))
	return ids
}
