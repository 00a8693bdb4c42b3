package permit

import (
	"slices"
	"strings"

	"leslie/codes"
	"leslie/internal/external"
	"leslie/internal/fact"
)

// This file writes rules for a call that has been decided.

// Exactly returns the narrowest rules that allow a call: a command with exactly these
// words for each in the line, a file for each path, or a tool of an MCP server. Paths in a
// folder of the thread's own are named from there. Rules that ask or deny come before them
// (see Decide). Errors: T903 for what no such rule allows.
func Exactly(c Call) ([]Rule, error) {
	cannot := func(reason string) ([]Rule, error) {
		return nil, codes.InvalidArgument.New(fact.Of("reason", reason))
	}
	var texts []string
	switch {
	case c.Tool == Bash:
		line := parseShell(c.Command)
		if !line.plain || line.hidden || len(line.commands) == 0 {
			return cannot("a rule cannot name all that the line does (a substitution, a subshell, a variable that is set, a redirection into a file)")
		}
		for _, cmd := range line.commands {
			switch {
			case slices.ContainsFunc(cmd, func(w word) bool { return !w.known }):
				return cannot("a rule cannot name words that the shell makes something else of")
			case cmd.names():
				return cannot("no rule allows a command that leslie is to run")
			}
			words := make([]string, len(cmd))
			for i, w := range cmd {
				if c.Own {
					w.text = fromFolder(w.text, c.Dir)
				}
				words[i] = external.Word(w.text)
			}
			texts = append(texts, Bash+"("+strings.Join(words, " ")+")")
		}
	case c.Tool == Edit || c.Tool == Read:
		if len(c.Paths) == 0 {
			return cannot("it names no file")
		}
		for _, p := range c.Paths {
			if c.Tool == Edit && ofGit(p.Real) {
				return cannot("no rule about a file allows an edit in .git")
			}
			name := p.Real
			if c.Own {
				name = fromFolder(name, c.Dir)
			}
			texts = append(texts, c.Tool+"("+literally(name)+")")
		}
	case isMCP(c.Tool):
		texts = append(texts, c.Tool)
	default:
		return cannot("this is always asked, or leslie does not know the tool")
	}
	out := make([]Rule, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = Parse(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}
