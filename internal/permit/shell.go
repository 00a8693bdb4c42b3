package permit

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// This file takes a line for a shell apart.

// maxLine is the length of the longest line that is taken apart, in bytes; a longer one
// is never plain.
const maxLine = 64 << 10

// Limits of looking into a line: shells within shells, lines for them, and words behind a
// program that starts another. A line beyond one of them is asked about.
const (
	maxNesting = 3
	maxScripts = 64
	maxStarted = 256
)

// shellLine is a line for a shell.
type shellLine struct {
	// commands are all that were found in it, also in substitutions and subshells.
	commands []command
	// plain: the line has nothing but these commands, one after the other, at once or
	// connected by pipes.
	plain bool
	// hidden: there is more in it than was looked at.
	hidden bool
}

// command is one simple command with its words, assignments first.
type command []word

// word is a word of a command. known: a shell makes nothing else of it. pattern: it makes
// names of files of it, and nothing else.
type word struct {
	text    string
	known   bool
	pattern bool
}

// parseShell takes a line apart. Where it is not valid, its words are looked at as they
// are.
func parseShell(line string) shellLine {
	out := parseOne(line)
	scripts := 0
	for next, depth := 0, 0; next < len(out.commands); depth++ {
		level := out.commands[next:]
		next = len(out.commands)
		for _, cmd := range level {
			out.hidden = out.hidden || len(cmd) > maxStarted && cmd.startsAnother()
			for _, inner := range cmd.scripts() {
				if scripts++; scripts > maxScripts || depth == maxNesting {
					out.hidden = true
					return out
				}
				found := parseOne(inner)
				out.commands = append(out.commands, found.commands...)
				out.hidden = out.hidden || found.hidden
			}
		}
	}
	return out
}

// parseOne takes a line apart, without those that it gives to another shell.
func parseOne(line string) shellLine {
	if len(line) > maxLine {
		return shellLine{commands: roughly(line[:maxLine]), hidden: true}
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return shellLine{commands: roughly(line)}
	}
	out := shellLine{plain: !strings.ContainsFunc(line, dropped)}
	for _, s := range file.Stmts {
		out.plain = out.plain && plainStatement(s)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			cmd := command{}
			for _, a := range n.Assigns {
				cmd = append(cmd, assignment(a))
			}
			for _, w := range n.Args {
				cmd = append(cmd, wordOf(w))
			}
			out.commands = append(out.commands, cmd)
		case *syntax.DeclClause: // export X=1
			cmd := command{{text: n.Variant.Value, known: true}}
			for _, a := range n.Args {
				cmd = append(cmd, assignment(a))
			}
			out.commands = append(out.commands, cmd)
		}
		return true
	})
	return out
}

// dropped reports whether the parser leaves a character out that a shell may not: a NUL,
// a carriage return, or another control character.
func dropped(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' }

// roughly splits what no shell would accept.
func roughly(line string) (out []command) {
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(";&|\n(){}`$<>", r) }) {
		var cmd command
		for _, text := range strings.Fields(part) {
			cmd = append(cmd, word{text: strings.Trim(text, `'"\`)})
		}
		if len(cmd) > 0 {
			out = append(out, cmd)
		}
	}
	return out
}

// plainStatement reports whether a statement is a simple command, or several that
// operators connect, and writes no file by a redirection.
func plainStatement(s *syntax.Stmt) bool {
	if s.Coprocess {
		return false
	}
	for _, r := range s.Redirs {
		if !harmless(r) {
			return false
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 || len(c.Args) == 0 || !wordOf(c.Args[0]).known {
			return false
		}
		return !slices.ContainsFunc(c.Args, func(w *syntax.Word) bool { return !plainParts(w.Parts) })
	case *syntax.BinaryCmd:
		return plainStatement(c.X) && plainStatement(c.Y)
	}
	return false
}

// harmless reports whether a redirection only joins two streams or drops one.
func harmless(r *syntax.Redirect) bool {
	if r.Hdoc != nil || r.Word == nil {
		return false
	}
	to := wordOf(r.Word)
	switch r.Op {
	case syntax.DplOut: // behind a blank, some shells take the number for a file's name
		joined := r.Word.Pos().Offset() == r.OpPos.Offset()+uint(len(">&"))
		return joined && to.known && (to.text == "1" || to.text == "2")
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn, syntax.RdrAll, syntax.AppAll:
		return to.known && to.text == "/dev/null"
	}
	return false
}

// plainParts reports whether parts of a word are text, quoted or not, or the value of a
// variable.
func plainParts(parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if !plainParts(p.Parts) {
				return false
			}
		case *syntax.ParamExp:
			if p.Param == nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func assignment(a *syntax.Assign) word {
	if a.Name == nil {
		if a.Value == nil {
			return word{}
		}
		return wordOf(a.Value)
	}
	w := word{known: true}
	if a.Value != nil {
		w = wordOf(a.Value)
	}
	return word{text: a.Name.Value + "=" + w.text, known: w.known}
}

// wordOf returns the text of a word without its quotes.
func wordOf(w *syntax.Word) word {
	out := word{known: true}
	only := true // patterns are all that is not known
	var b strings.Builder
	add := func(parts []syntax.WordPart, quoted bool) {
		for _, p := range parts {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(unescaped(p.Value, quoted))
				if !quoted && (strings.ContainsAny(p.Value, "*?[{") || strings.HasPrefix(p.Value, "~")) {
					out.known = false
					only = only && !strings.Contains(p.Value, "{") && !strings.HasPrefix(p.Value, "~")
				}
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
				out.known = out.known && !p.Dollar
				only = only && !p.Dollar
			default:
				out.known, only = false, false
			}
		}
	}
	for _, p := range w.Parts {
		if q, is := p.(*syntax.DblQuoted); is {
			add(q.Parts, true)
			continue
		}
		add([]syntax.WordPart{p}, false)
	}
	out.text = b.String()
	out.pattern = only && !out.known
	return out
}

// unescaped removes the backslashes that a shell removes.
func unescaped(s string, quoted bool) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// starts reports whether a command begins with exactly these words, as they stand.
func (cmd command) starts(words []string, exactly bool) bool {
	if len(cmd) < len(words) || exactly && len(cmd) != len(words) {
		return false
	}
	for i, w := range words {
		if cmd[i].text != w || !cmd[i].known {
			return false
		}
	}
	return true
}

// within returns the command with the paths in a folder named from there.
func (cmd command) within(dir string) command {
	out := slices.Clone(cmd)
	for i := range out {
		out[i].text = fromFolder(out[i].text, dir)
	}
	return out
}

// fromFolder returns a word that is a path in a folder, or an option with one, named from
// the folder; any other word unchanged.
func fromFolder(text, dir string) string {
	if !path.IsAbs(dir) || dir == "/" {
		return text
	}
	option, name := "", text
	if !strings.HasPrefix(text, "/") {
		at := strings.Index(text, "=/")
		if at < 0 {
			return text
		}
		option, name = text[:at+1], text[at+1:]
	}
	rest, inside := strings.CutPrefix(name, dir)
	if !inside || rest != "" && rest[0] != '/' || slices.Contains(strings.Split(rest, "/"), "..") {
		return text
	}
	return option + "." + rest
}

// runs reports whether a command runs what the words name, also where options come
// between them, or where another program starts it.
func (cmd command) runs(words []string, exactly bool) bool {
	return slices.ContainsFunc(cmd.programs(), func(c command) bool { return c.has(words, exactly) })
}

// has matches the words in their order; options, and what may be the value of one, may
// come between them.
func (cmd command) has(words []string, exactly bool) bool {
	if len(cmd) == 0 || path.Base(cmd[0].text) != path.Base(words[0]) {
		return false
	}
	next, option := 1, false
	for _, w := range cmd[1:] {
		switch {
		case next < len(words) && w.text == words[next]:
			next, option = next+1, false
		case strings.HasPrefix(w.text, "-"):
			option = true
		case option:
			option = false
		case next == len(words):
			return !exactly
		default:
			return false
		}
	}
	return next == len(words)
}

// startsAnother reports whether a command's arguments name another program.
func (cmd command) startsAnother() bool {
	if cmd = cmd.withoutAssignments(); len(cmd) == 0 {
		return false
	}
	switch path.Base(cmd[0].text) {
	case "env", "sudo", "doas", "nohup", "nice", "ionice", "time", "timeout", "xargs", "command", "exec", "builtin", "setsid", "stdbuf", "find", "watch",
		"busybox", "strace", "npx", "parallel":
		return true
	}
	return false
}

// programs returns the command without its assignments, and each that it may start.
func (cmd command) programs() []command {
	if cmd = cmd.withoutAssignments(); len(cmd) == 0 {
		return nil
	}
	out := []command{cmd}
	if cmd.startsAnother() {
		for i := 1; i < min(len(cmd), maxStarted); i++ {
			out = append(out, cmd[i:])
		}
	}
	return out
}

func (cmd command) withoutAssignments() command {
	for len(cmd) > 0 && isAssignment(cmd[0].text) {
		cmd = cmd[1:]
	}
	return cmd
}

func isAssignment(text string) bool {
	name, _, found := strings.Cut(text, "=")
	return found && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// scripts returns the lines that a command gives to another shell, not many more than
// maxScripts.
func (cmd command) scripts() (out []string) {
	for _, c := range cmd.programs() {
		if len(out) > maxScripts {
			return out
		}
		switch path.Base(c[0].text) {
		case "sh", "bash", "dash", "zsh", "ksh", "ash":
			for _, w := range c[1:min(len(c), maxStarted)] {
				if !strings.HasPrefix(w.text, "-") {
					out = append(out, w.text)
				}
			}
		case "eval":
			var words []string
			for _, w := range c[1:] {
				words = append(words, w.text)
			}
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

// decides says why a command is denied to every agent, "" if it is not: it calls leslie
// to decide what a person is asked, or to pass for a person.
func (cmd command) decides() string {
	const asPerson = "an agent must not pass for a person"
	for i, w := range cmd {
		if isPerson, is := strings.CutPrefix(w.text, "LESLIE_AS="); is && isPerson == "user" {
			return asPerson
		}
		if base := path.Base(w.text); base != "leslie" && base != "leslie.exe" {
			continue
		}
		after := cmd[i+1:]
		for k, w := range after {
			if w.text == "--as=user" || w.text == "--as" && k+1 < len(after) && after[k+1].text == "user" {
				return asPerson
			}
		}
		for k, w := range after {
			isOption := strings.HasPrefix(w.text, "-")
			if !isOption && slices.Contains([]string{"approve", "deny", "revoke"}, w.text) {
				return "only a person runs leslie " + w.text
			}
			if !isOption && (k == 0 || !strings.HasPrefix(after[k-1].text, "-")) {
				break // the command
			}
		}
	}
	return ""
}

// wipes says why a command is denied to every agent that would have git delete or put away
// what it ignores, and so the store, "" for any other.
func (cmd command) wipes() string {
	for _, c := range cmd.programs() {
		switch {
		case c.has([]string{"git", "clean"}, false):
			options := c.optionsOf("clean")
			if strings.ContainsAny(options.short, "xX") && !strings.Contains(options.short, "n") && !options.has("--dry-run") {
				return "git clean -x deletes what git ignores, the project's store " + storeName + " too; name the folders to delete instead"
			}
		case c.has([]string{"git", "stash"}, false):
			if options := c.optionsOf("stash"); strings.Contains(options.short, "a") || options.has("--all") {
				return "git stash --all puts away what git ignores, the project's store " + storeName + " too; commit on the branch instead"
			}
		}
	}
	return ""
}

// storeName is the folder of a project that has its records.
const storeName = ".leslie"

// options are those behind a command's name: the letters of short ones without their
// values, and the long ones.
type options struct {
	short string
	long  []string
}

// has reports whether a long option is there, shortened or whole.
func (o options) has(name string) bool {
	return slices.ContainsFunc(o.long, func(w string) bool { return len(w) > len("--n") && strings.HasPrefix(name, w) })
}

func (cmd command) optionsOf(name string) (o options) {
	at := slices.IndexFunc(cmd, func(w word) bool { return w.text == name })
	for _, w := range cmd[at+1:] {
		switch letters, short := strings.CutPrefix(w.text, "-"); {
		case w.text == "--":
			return o
		case strings.HasPrefix(w.text, "--"):
			o.long = append(o.long, w.text)
		case short:
			letters, _, _ = strings.Cut(letters, "e") // -e PATTERN
			letters, _, _ = strings.Cut(letters, "m") // -m TEXT
			o.short += letters
		}
	}
	return o
}

// names reports whether a command calls leslie and names a command that leslie is to run.
func (cmd command) names() bool {
	for i, w := range cmd {
		if base := path.Base(w.text); base != "leslie" && base != "leslie.exe" {
			continue
		}
		merges := slices.ContainsFunc(cmd[i+1:], func(w word) bool { return w.text == "merge" || w.text == "pull" })
		for _, w := range cmd[i+1:] {
			name, _, _ := strings.Cut(w.text, "=")
			if name == "--validate" || merges && (name == "--agent" || name == "--editor") {
				return true
			}
		}
	}
	return false
}
