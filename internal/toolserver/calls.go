package toolserver

import (
	"slices"
	"strings"

	"leslie/internal/fact"
	"leslie/thread"
)

// This file tells a client, which may have no shell, of lines of the command as calls of its tools:
// "leslie done health" is "done {"thread":"health"}". A line that no tool carries out stays as it is.

// toolLine is a command whose lines a tool carries out. A flag is the tool's argument of the same name,
// with "_" for "-".
type toolLine struct {
	command, tool string
	// operands are the arguments of its operands; the last takes all that are left if it is a list.
	operands []string
	// flags has the argument of each flag that has another name, "" for none; with "=", the argument and
	// the value that the flag means.
	flags map[string]string
	fixed map[string]any // arguments of every such line
}

func toolLines() []toolLine {
	type flags = map[string]string
	type fixed = map[string]any
	own, merge := []string{"thread"}, []string{"merge"}
	return []toolLine{
		{command: "context", tool: "context", operands: own},
		{command: "claim", tool: "claim_next", operands: own, flags: flags{"next": ""}},
		{command: "spawn", tool: "spawn", operands: []string{"intent"}, flags: flags{"parent": "thread"}},
		{command: "status", tool: "status", operands: own},
		{command: "list", tool: "status", flags: flags{"ready": "show=ready", "mine": "show=mine"}, fixed: fixed{"show": "threads"}},
		{command: "reference refresh", tool: "reference", operands: []string{"refresh"}},
		{command: "reference", tool: "reference", flags: flags{"from": "thread"}},
		{command: "diff", tool: "diff", operands: []string{"thread", "to"}, flags: flags{"code": "only=code"}},
		{command: "inject", tool: "inject", operands: own},
		{command: "ask", tool: "ask", operands: own},
		{command: "answer", tool: "answer", operands: []string{"question", "text"}},
		{command: "comment resolve", tool: "comments", operands: []string{"resolve"}},
		{command: "comments", tool: "comments", operands: own},
		{command: "wait", tool: "wait", operands: []string{"threads"}},
		{command: "checkpoint", tool: "checkpoint", operands: own},
		{command: "land", tool: "land", operands: []string{"threads"},
			flags: flags{"squash": "how=squash", "rebase": "how=rebase", "merge": "how=merge", "dry-run": "preview"}},
		{command: "pull", tool: "merge", operands: own, flags: flags{"from": "sources"}},
		{command: "merge status", tool: "resolve", operands: merge},
		{command: "merge resolve", tool: "resolve", operands: []string{"merge", "conflict"}},
		{command: "merge continue", tool: "resolve", operands: merge, fixed: fixed{"action": doApply}},
		{command: "merge abort", tool: "resolve", operands: merge, fixed: fixed{"action": doAbort}},
		{command: "merge", tool: "merge", flags: flags{"target": "thread", "conflict-strategy": "strategy"}},
		{command: "release", tool: "transfer", operands: own, fixed: fixed{"direction": doRelease}},
		{command: "transfer", tool: "transfer", operands: own},
		{command: "done", tool: "done", operands: own},
		{command: "suspend", tool: "done", operands: own, fixed: fixed{"action": string(thread.Suspend)}},
		{command: "cancel", tool: "done", operands: own, fixed: fixed{"action": string(thread.Cancel)}},
	}
}

const program = "leslie "

// asCall returns the call of a tool that does what a line of the command does; ok is false if none does.
func asCall(line string) (call string, ok bool) {
	rest, ok := strings.CutPrefix(line, program)
	if !ok {
		return "", false
	}
	if strings.ContainsAny(rest, `'"\$`) { // a shell takes it apart
		return "", false
	}
	words := strings.Fields(rest)
	for _, l := range toolLines() {
		named := strings.Fields(l.command)
		if len(words) < len(named) || !slices.Equal(words[:len(named)], named) {
			continue
		}
		args, ok := l.arguments(words[len(named):])
		if !ok {
			return "", false
		}
		raw, err := fact.JSON(args)
		return l.tool + " " + string(raw), err == nil
	}
	return "", false
}

// arguments are those of the tool for the words behind the command; ok is false if one of them has none.
func (l toolLine) arguments(words []string) (args map[string]any, ok bool) {
	args = map[string]any{}
	for name, value := range l.fixed {
		args[name] = value
	}
	kinds := map[string]kind{}
	for _, t := range tools() {
		for _, a := range t.arguments {
			if t.name == l.tool {
				kinds[a.name] = a.kind
			}
		}
	}
	set := func(name, value string) {
		if kinds[name] == list {
			all, _ := args[name].([]string)
			args[name] = append(all, strings.Split(value, ",")...)
		} else {
			args[name] = value
		}
	}
	operand := 0
	for i := 0; i < len(words); i++ {
		flag, isFlag := strings.CutPrefix(words[i], "--")
		if !isFlag {
			if operand == len(l.operands) {
				return nil, false
			}
			set(l.operands[operand], words[i])
			if kinds[l.operands[operand]] != list {
				operand++
			}
			continue
		}
		name, other := l.flags[flag]
		if !other {
			name = strings.ReplaceAll(flag, "-", "_")
		}
		name, value, means := strings.Cut(name, "=")
		switch of := kinds[name]; {
		case other && name == "":
		case means:
			args[name] = value
		case of == toggle:
			args[name] = true
		case of != text && of != list, i+1 == len(words):
			return nil, false
		default:
			i++
			set(name, words[i])
		}
	}
	return args, true
}

// lineEnd is where a line of the command that a text begins with ends: with the line of the text, at a
// mark that no line has, or at one that a space follows.
func lineEnd(text string) int {
	for i := range len(text) {
		switch text[i] {
		case '\n', ')', ';', '`':
			return i
		case ',', ':', '.':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' {
				return i
			}
		}
	}
	return len(text)
}

// inCalls returns a text in which lines of the command are calls of tools, where they can be.
func inCalls(text string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, program)
		if at < 0 {
			return b.String() + text
		}
		b.WriteString(text[:at])
		text = text[at:]
		line := text[:lineEnd(text)]
		if call, ok := asCall(line); ok {
			b.WriteString(call)
		} else {
			b.WriteString(line)
		}
		text = text[len(line):]
	}
}
