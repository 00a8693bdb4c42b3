package toolserver

import (
	"slices"
	"strings"

	"leslie/internal/fact"
)

// This file tells a client, which may have no shell, of lines of the command as calls of its tools:
// "leslie done health" is "done {"thread":"health"}". A line that no tool carries out stays as it is.

// toolLine is a command whose lines a tool carries out.
type toolLine struct {
	command, tool string
	// operands are the arguments of its operands; the last takes all that are left if it is a list.
	operands []string
	// flags has the argument of each flag; with "=", the argument and the value that the flag means.
	flags map[string]string
	fixed map[string]any // arguments of every such line
}

func toolLines() []toolLine {
	thread := []string{"thread"}
	lands := map[string]string{"squash": "how=squash", "rebase": "how=rebase", "merge": "how=merge", "onto": "onto", "message": "message", "dry-run": "preview", "uncommitted": "uncommitted", "unread": "unread"}
	return []toolLine{
		{command: "context", tool: "context", operands: thread, flags: map[string]string{"thread": "thread"}},
		{command: "claim", tool: "claim_next", operands: thread, flags: map[string]string{"next": "", "take-over": "take_over", "reason": "reason"}},
		{command: "spawn", tool: "spawn", operands: []string{"intent"}, flags: map[string]string{"parent": "thread", "intent": "intent", "id": "id", "code": "code", "claim": "claim"}},
		{command: "status", tool: "status", operands: thread},
		{command: "list", tool: "status", flags: map[string]string{"ready": "show=ready", "mine": "show=mine"}, fixed: map[string]any{"show": "threads"}},
		{command: "reference refresh", tool: "reference", operands: []string{"refresh"}},
		{command: "reference", tool: "reference", flags: map[string]string{"from": "thread", "target": "target", "scope": "scope"}},
		{command: "diff", tool: "diff", operands: []string{"thread", "to"}, flags: map[string]string{"code": "only=code", "stat": "stat"}},
		{command: "inject", tool: "inject", operands: thread, flags: map[string]string{"content": "content", "type": "type", "urgency": "urgency"}},
		{command: "ask", tool: "ask", operands: thread, flags: map[string]string{"question": "question", "to": "to"}},
		{command: "answer", tool: "answer", operands: []string{"question", "text"}},
		{command: "comment resolve", tool: "comments", operands: []string{"resolve"}},
		{command: "comments", tool: "comments", operands: thread},
		{command: "wait", tool: "wait", operands: []string{"threads"}, flags: map[string]string{"until": "until"}},
		{command: "checkpoint", tool: "checkpoint", operands: thread},
		{command: "land", tool: "land", operands: []string{"threads"}, flags: lands},
		{command: "pull", tool: "merge", operands: thread, flags: map[string]string{"from": "sources", "scope": "scope"}},
		{command: "merge status", tool: "resolve", operands: []string{"merge"}, flags: map[string]string{"conflict": "conflict"}},
		{command: "merge resolve", tool: "resolve", operands: []string{"merge", "conflict"}, flags: map[string]string{"take": "take", "reason": "reason"}},
		{command: "merge continue", tool: "resolve", operands: []string{"merge"}, flags: map[string]string{"unread": "unread"}, fixed: map[string]any{"action": doApply}},
		{command: "merge abort", tool: "resolve", operands: []string{"merge"}, fixed: map[string]any{"action": doAbort}},
		{command: "merge", tool: "merge", flags: map[string]string{"sources": "sources", "target": "thread", "queue": "queue", "scope": "scope", "uncommitted": "uncommitted", "unread": "unread", "conflict-strategy": "strategy"}},
		{command: "release", tool: "transfer", operands: thread, flags: map[string]string{"reason": "reason"}, fixed: map[string]any{"direction": doRelease}},
		{command: "transfer", tool: "transfer", operands: thread, flags: map[string]string{"direction": "direction", "to": "to", "scope": "scope", "reason": "reason"}},
		{command: "done", tool: "done", operands: thread, flags: map[string]string{"uncommitted": "uncommitted", "no-commits": "no_commits"}},
		{command: "suspend", tool: "done", operands: thread, flags: map[string]string{"reason": "reason"}, fixed: map[string]any{"action": "suspend"}},
		{command: "cancel", tool: "done", operands: thread, flags: map[string]string{"reason": "reason"}, fixed: map[string]any{"action": "cancel"}},
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
		name, known := l.flags[flag]
		name, value, means := strings.Cut(name, "=")
		switch {
		case !known:
			return nil, false
		case name == "":
		case means:
			args[name] = value
		case kinds[name] == toggle:
			args[name] = true
		case i+1 == len(words):
			return nil, false
		default:
			i++
			set(name, words[i])
		}
	}
	return args, true
}

// ends are where a line ends within a text.
const ends = ";),:\n`"

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
		line := text
		for i := range text {
			if rest := text[i+1:]; strings.ContainsRune(ends, rune(text[i])) && (text[i] != ':' && text[i] != ',' || rest == "" || rest[0] == ' ' || rest[0] == '\n') ||
				text[i] == '.' && (rest == "" || rest[0] == ' ') {
				line = text[:i]
				break
			}
		}
		if call, ok := asCall(line); ok {
			b.WriteString(call)
		} else {
			b.WriteString(line)
		}
		text = text[len(line):]
	}
}
