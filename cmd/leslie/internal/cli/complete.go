package cli

import (
	"embed"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"leslie/cmd/leslie/internal/page"
	"leslie/codes"
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

func (d completionScript) Text(p *page.Page) {
	p.Line("%s", page.Styled(strings.TrimSuffix(d.Script, "\n")))
}

// Completion is the command leslie completion.
func Completion() *Command {
	return &Command{
		Name: "completion", Summary: "print what a shell needs to complete lines of leslie",
		Detail: "Commands, flags, their values, and ids with their titles are completed. Add a line to the shell's " +
			"start-up file:\n" +
			"  bash  ~/.bashrc                   source <(leslie completion bash)\n" +
			"  zsh   ~/.zshrc, behind compinit   source <(leslie completion zsh)\n" +
			"  fish  ~/.config/fish/config.fish  leslie completion fish | source",
		Example:  "leslie completion bash",
		Operands: []Operand{{Value: OneOf("bash", "zsh", "fish").As("SHELL")}}, Run: runCompletion,
	}
}

func runCompletion(c *Call) (Data, error) {
	if err := c.Usage(); err != nil {
		return nil, err
	}
	shell := c.Operand(0)
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

func (d *completionData) Text(p *page.Page) {
	for _, one := range d.all {
		if d.labels && one.label != "" {
			p.Line("%s\t%s", one.word, one.label)
			continue
		}
		p.Line("%s", one.word)
	}
}

// completer offers candidates for the next word: after a flag its values, after a dash
// flags, otherwise subcommands and ids for the next operand, or flags if there is none.
// It reads the store if there is one. It reports no errors: nobody would see them.
func (c *Call) completer(all []*Command, cmd *Command, group string) urfave.BashCompleteFunc {
	return func(cc *urfave.Context) {
		c.readFlags(cc)
		subs := labelledNames(all, group, subNames(all, group))
		if group == "" {
			subs = labelledNames(all, "", append(topNames(all), aliasesOf(all)...))
		}
		c.Faults, c.Who.Format = nil, "text"
		c.data = &completionData{c.completions(cmd, subs), c.Env.Getenv("LESLIE_COMPLETION") == "labels"}
	}
}

// labelledNames are names of commands in a group, with their summaries; of a group, with
// its subcommands.
func labelledNames(all []*Command, group string, names []string) (out []candidate) {
	for _, name := range names {
		one := candidate{word: name}
		full := strings.TrimSpace(group + " " + ownName(all, name))
		if i := slices.IndexFunc(all, func(cmd *Command) bool { return cmd.Name == full }); i >= 0 {
			one.label = all[i].Summary
		} else {
			one.label = strings.Join(subNames(all, full), ", ")
		}
		out = append(out, one)
	}
	return out
}

func (c *Call) completions(cmd *Command, subs []candidate) []candidate {
	flags := globalFlags()
	if cmd != nil {
		flags = cmd.AllFlags()
	}
	last := *c.Line.Last
	if name, long := strings.CutPrefix(last, "--"); strings.HasPrefix(last, "-") {
		if o := lookUp(flags, strings.TrimPrefix(name, "-"), long); o != nil && !o.Typed().Toggle {
			return c.valuesOf(o.Typed())
		}
		return c.flagsLeft(flags)
	}
	at := len(c.Line.Operands)
	switch {
	case cmd == nil, c.Line.Help:
		return subs
	case at > 0:
		subs = nil // a subcommand comes first
	}
	switch {
	case at < len(cmd.Operands):
		return append(subs, c.valuesOf(cmd.Operands[at].Value)...)
	case len(cmd.Operands) > 0 && cmd.Operands[len(cmd.Operands)-1].Many:
		return c.valuesOf(cmd.Operands[len(cmd.Operands)-1].Value)
	}
	return append(subs, c.flagsLeft(flags)...)
}

// flagsLeft are the flags that can still be added to the line.
func (c *Call) flagsLeft(flags []Flag) (out []candidate) {
	for _, o := range ShownOptions(flags) {
		if o.Typed().repeats || !c.Has(o.Name) {
			out = append(out, candidate{"--" + o.Name, o.Usage})
		}
	}
	return out
}
