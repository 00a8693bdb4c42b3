package main

import (
	"embed"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"leslie/codes"
	"leslie/internal/app"
)

// This file answers shell completion. The shell runs the line so far with
// --generate-bash-completion at its end. The line includes the word at the cursor only
// if that begins with a dash; the shell selects the candidates that match the word.

// completionScripts are what a shell reads to complete lines of leslie.
//
//go:embed completion
var completionScripts embed.FS

// completionScript is the answer of leslie completion.
type completionScript struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

func (d completionScript) Text(p *page) { p.line("%s", styled(strings.TrimSuffix(d.Script, "\n"))) }

func completionCommand() *command {
	return &command{
		name: "completion", summary: "print what a shell needs to complete lines of leslie",
		detail: "Commands, flags, their values, and ids with their titles are completed. Add a line to the shell's start-up file:\n" +
			"  bash  ~/.bashrc                   source <(leslie completion bash)\n" +
			"  zsh   ~/.zshrc, behind compinit   source <(leslie completion zsh)\n" +
			"  fish  ~/.config/fish/config.fish  leslie completion fish | source",
		example:  "leslie completion bash",
		operands: []operand{{value: oneOf("bash", "zsh", "fish").as("SHELL")}}, run: runCompletion,
	}
}

func runCompletion(c *call) (Data, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	shell := c.operand(0)
	script, err := completionScripts.ReadFile("completion/leslie." + shell)
	if err != nil {
		return nil, codes.Internal.Wrap(err)
	}
	return completionScript{shell, string(script)}, nil
}

// candidate is a word that may come next, and what it is about.
type candidate struct{ word, label string }

func wordsOnly(words []string) (out []candidate) {
	for _, word := range words {
		out = append(out, candidate{word: word})
	}
	return out
}

// completionData are the candidates, one per line; with labels, behind a tab, for a shell
// that asks for them.
type completionData struct {
	all    []candidate
	labels bool
}

func (d *completionData) Text(p *page) {
	for _, one := range d.all {
		if d.labels && one.label != "" {
			p.line("%s\t%s", one.word, one.label)
			continue
		}
		p.line("%s", one.word)
	}
}

// complete offers candidates for the next word: after a flag its values, after a dash
// flags, otherwise subcommands and ids for the next operand, or flags if there is none.
// It reads the store if there is one. It reports no errors: nobody would see them.
func (c cliTree) complete(all []*command, cmd *command, group string) cli.BashCompleteFunc {
	return func(cc *cli.Context) {
		c.read(cc)
		subs := labelledNames(all, group, subNames(all, group))
		if group == "" {
			subs = labelledNames(all, "", append(topNames(all), slices.Sorted(maps.Keys(aliases()))...))
		}
		c.faults, c.who.format = nil, "text"
		c.data = &completionData{c.candidates(cmd, subs), c.env.getenv("LESLIE_COMPLETION") == "labels"}
	}
}

// labelledNames are names of commands in a group, with their summaries; of a group, with
// its subcommands.
func labelledNames(all []*command, group string, names []string) (out []candidate) {
	for _, name := range names {
		one := candidate{word: name}
		full := strings.TrimSpace(group + " " + ownName(name))
		if i := slices.IndexFunc(all, func(cmd *command) bool { return cmd.name == full }); i >= 0 {
			one.label = all[i].summary
		} else {
			one.label = strings.Join(subNames(all, full), ", ")
		}
		out = append(out, one)
	}
	return out
}

func (c cliTree) candidates(cmd *command, subs []candidate) []candidate {
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
func (c cliTree) flagsLeft(flags []cli.Flag) (out []candidate) {
	for _, o := range shownOptions(flags) {
		if o.value().repeats || !c.has(o.Name) {
			out = append(out, candidate{"--" + o.Name, o.Usage})
		}
	}
	return out
}

// valuesOf are the words of an enum, or the ids in the store.
func (c cliTree) valuesOf(v *value) (out []candidate) {
	if v.ids == otherIDs {
		return wordsOnly(slices.Concat(v.words, v.listed))
	}
	project, err := app.Open(c.who.dir, ownCopy(c.call))
	if err != nil {
		return nil
	}
	// This call writes no log, and its warnings are dropped.
	known, _ := app.Known(project.Call(c.ctx, c.caller(), app.Request{}), string(v.ids))
	for _, one := range known {
		out = append(out, candidate{one.ID, one.Label})
	}
	return out
}
