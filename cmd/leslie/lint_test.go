package main

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, argv string
		command    string
		flags      string // name=value of each, as parsed
		operands   string
		fields     string // of the faults
	}{
		{"nothing", "", "", "", "", ""},
		{"a command", "list", "list", "", "", ""},
		{"a flag behind its operand", "done main --reason r", "done", "reason=r", "main", ""},
		{"a flag in front of the command", "--format json status main", "status", "format=json", "main", ""},
		{"a flag between command and subcommand", "reference --from a list", "reference list", "from=a", "", ""},
		{"a command's own flag in front of it", "--intent x spawn", "spawn", "intent=x", "", ""},
		{"joined values", "spawn --intent=x=y --format=yaml", "spawn", "intent=x=y format=yaml", "", ""},
		{"a short flag", "-C d status", "status", "dir=d", "", ""},
		{"a short flag, joined", "-C=d status", "status", "dir=d", "", ""},
		{"a switch", "list --all", "list", "all=true", "", ""},
		{"a switch that is off", "list --all=false", "list", "all=false", "", ""},
		{"a value that begins with a dash", "update main --tag -old", "update", "tag=-old", "main", ""},
		{"a value that is a dash", "spawn --intent -", "spawn", "intent=-", "", ""},
		{"a flag given several times", "spawn --tag a --tag b --intent x", "spawn", "tag=a tag=b intent=x", "", ""},
		{"a global flag given twice: the last", "list --format json --format yaml", "list", "format=yaml", "", ""},
		{"everything behind -- is an operand", "objective create -- --format", "objective create", "", "--format", ""},
		{"flags end at --", "status -- main --format", "status", "", "main --format", "operand"},
		{"an operand that looks like a subcommand", "status list", "status", "", "list", ""},
		{"an id that begins like a number", "status 7x", "status", "", "7x", ""},
		{"a negative number is a value", "list --limit -1", "list", "", "", "--limit"},

		{"an unknown command", "lst", "", "", "", "command"},
		{"an alias", "ls --all", "list", "all=true", "", ""},
		{"an alias behind a flag", "--format json log", "history", "format=json", "", ""},
		{"a word that is an alias elsewhere", "status log", "status", "", "log", ""},
		{"an operand that stands for a flag", "new text --id x", "spawn", "id=x intent=text", "", ""},
		{"the operand and its flag", "spawn text --intent x", "spawn", "intent=x", "", "--intent"},
		{"two operands for one flag", "spawn two words", "spawn", "intent=two", "", "operand"},
		{"operands that stand for two flags", "merge a b,c t --dry-run", "merge", "dry-run=true target=t sources=a sources=b,c", "", ""},
		{"only one of them", "merge abc", "merge", "", "", "SRC... TARGET"},
		{"one of them and a flag", "merge abc --target t", "merge", "target=t", "", "--target"},
		{"a source that is like a subcommand", "merge lint main", "merge", "target=main sources=lint", "", ""},
		{"a misspelt subcommand with an operand and its flag", "merge resolv m --take ours", "", "", "", "subcommand"},

		{"an unknown flag", "list --al", "list", "", "", "--al"},
		{"an unknown flag takes the value that was meant for another", "--formt json list", "list", "", "", "--formt"},
		{"a flag of another command takes its value along", "status --intent x main", "status", "", "main", "--intent"},
		{"a line that begins with a bad flag names its command", "--intnt x done y", "done", "", "y", "--intnt"},
		{"an unknown flag that means no other takes none", "status --zzz main", "status", "", "main", "--zzz"},
		{"a group alone", "objective", "", "", "", "subcommand"},
		{"an unknown subcommand of a group", "objective lst", "", "", "", "subcommand"},
		{"an unknown subcommand of a command", "reference lst", "", "", "", "subcommand"},
		{"a command with operands takes any word", "status lst", "status", "", "lst", ""},
		{"behind -- a word is no subcommand", "reference -- list", "reference", "", "list", "operand"},
		{"an unknown subcommand behind a flag of its command", "merge --target a lst --sources b", "", "", "", "subcommand"},
		{"an unknown subcommand and an unknown flag", "merge lst --nope --format json", "", "format=json", "", "--nope subcommand"},
		{"a line to be completed", "spawn --intent x --generate-bash-completion", "spawn", "intent=x", "", ""},
		{"behind -- nothing is completed", "status -- a --generate-bash-completion", "status", "", "a --generate-bash-completion", "operand"},
		{"a flag whose name is being typed", "status -- --generate-bash-completion", "status", "", "", ""},
		{"a flag without its value", "spawn --intent", "spawn", "", "", "--intent"},
		{"a flag instead of a value", "spawn --intent --id x", "spawn", "id=x", "", "--intent"},
		{"a flag in front of --", "done --reason -- x", "done", "", "x", "--reason"},
		{"an own flag given twice", "done main --reason a --reason b", "done", "reason=b", "main", "--reason"},
		{"a switch with a value", "list --all=maybe", "list", "", "", "--all"},
		{"operands behind -- of their own", "diff a --stat -- b c", "diff", "stat=true", "a b c", ""},
		{"too many in front of --", "diff a b c -- d", "diff", "", "a b c d", "operand"},
		{"a switch of this command that takes a value of another", "transfer --wait 5m --direction handoff", "transfer", "wait=true direction=handoff", "5m", ""},
		{"a value in front of the command", "--wait 5m claim --next", "claim", "wait=5m next=true", "", ""},
		{"a switch in front of the command", "--wait transfer 5m", "transfer", "wait=true", "5m", ""},
		{"a value that is missing", "claim --next --wait --for 5m", "claim", "next=true for=5m", "", "--wait"},
		{"one operand too many", "status a b", "status", "", "a b", "operand"},
		{"a missing operand", "objective create", "objective create", "", "", "TITLE"},
		{"a bad value and a bad operand", "status a/b --format x", "status", "", "a/b", "--format ID"},
		{"a long flag with one dash", "list -format json", "list", "", "", "-format"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := lint(commands(), strings.Fields(tt.argv))
			name, flags, fields := "", []string{}, []string{}
			if l.cmd != nil {
				name = l.cmd.name
			}
			for _, f := range l.flags {
				flags = append(flags, f.Name+"="+f.text)
			}
			for _, f := range l.faults {
				fields = append(fields, f.Field)
			}
			assert.Equal(t, tt.command, name)
			assert.Equal(t, tt.flags, strings.Join(flags, " "))
			assert.Equal(t, tt.operands, strings.Join(l.operands, " "))
			assert.Equal(t, tt.fields, strings.Join(fields, " "))
			if l.cmd != nil && len(l.faults) == 0 && !l.asks() {
				assert.Equal(t, l.reading(), readBy(commands(), strings.Fields(tt.argv)), "the library reads it the same")
			}
		})
	}
}

// TestFlagsMayStandAnywhere puts a flag with its value at every place of every command's
// line: all lines mean the same.
func TestFlagsMayStandAnywhere(t *testing.T) {
	t.Parallel()
	all := commands()
	for _, cmd := range all {
		line := cmd.path()
		for _, o := range cmd.operands {
			if !o.dashed && o.sets == "" {
				line = append(line, cmp.Or(strings.Join(o.value.words[:min(1, len(o.value.words))], ""), "operand"))
			}
		}
		for _, o := range shownOptions(cmd.allFlags()) {
			if o.Name == "help" || o.Name == "version" {
				continue
			}
			value, flag := validText(t, o.value()), []string{"--" + o.Name}
			if o.TakesValue() {
				flag = append(flag, value)
			}
			for at := range len(line) + 1 {
				argv := slices.Insert(slices.Clone(line), at, flag...)
				assert.Empty(t, lint(all, argv).faults, "%s at %d of %v", flag, at, line)
				want := reading{cmd.name, []string{o.Name + "=" + value}, line[len(cmd.path()):]}
				assert.Equal(t, want, readBy(all, argv), "%q", argv)
			}
		}
	}
}

// TestAFlagsNameTakesAValueInAllCommandsOrInNone: lint determines where a flag's value
// ends before it knows the command. For an unclear one, what follows it determines it.
func TestAFlagsNameTakesAValueInAllCommandsOrInNone(t *testing.T) {
	t.Parallel()
	takes := map[string]bool{}
	for _, cmd := range commands() {
		for _, o := range options(cmd.allFlags()) {
			if unclear(o.Name) {
				continue
			}
			was, known := takes[o.Name]
			assert.True(t, !known || was == o.TakesValue(), "--%s is a switch here and takes a value there", o.Name)
			takes[o.Name] = o.TakesValue()
		}
	}
}

// validText returns a text that a value accepts.
func validText(t *testing.T, v *value) string {
	t.Helper()
	for _, text := range append(slices.Clone(v.words), "true", "some text", "some-id", "7", "90s", "-x", "claude", "titles", "T101", "run-a1b2") {
		if v.fault("", text) == nil {
			return text
		}
	}
	t.Fatalf("no text is one for %s", v.shown)
	return ""
}

// TestValuesOfEveryKind is the table of accepted values.
func TestValuesOfEveryKind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value     *value
		good, bad []string
	}{
		{anyText("T"), []string{"x", " x ", "-"}, []string{"", "  ", "\n"}},
		{texts("T"), []string{"a,b"}, []string{""}},
		{oneOf("one", "two"), []string{"one"}, []string{"", "One", "on", "one "}},
		{anID("ID", threadIDs), []string{"a", "7", "thread-x_Y", strings.Repeat("a", 64)}, []string{"", "-x", "_x", "a/b", "../x", "a b", "ä", strings.Repeat("a", 65), "a\n"}},
		{someIDs("ID,...", threadIDs), []string{"a", "a,b"}, []string{"", "a,", ",a", "a,,b", "a,../x", "a, b"}},
		{scopes("P,..."), []string{"a", "a,b/*", "**/*.md", "../x"}, []string{"", "a,", "[", `a\b`}},
		{aCount("N"), []string{"0", "7"}, []string{"", "-1", "1.5", "x", "9223372036854775808", "0x1"}},
		{aNumber("N"), []string{"1", "7"}, []string{"", "0", "-1", "1.5", "x"}},
		{aDuration(), []string{"1ms", "1h30m"}, []string{"", "0", "0s", "-1s", "5", "soon"}},
		{edits("+T|-T"), []string{"+x", "-x", "--"}, []string{"", "+", "-", "x", "+ "}},
		{aRun(), []string{"run-a1b2", "run-"}, []string{"", "a1b2", "run-a/b", "run- x"}},
		{aCapability(), []string{"code_edit", "git-push"}, []string{"", " ", "a b", "a,b", "-x"}},
		{capabilities(), []string{"deploy", "deploy,code_edit"}, []string{"", "deploy,", ",deploy", "a,,b", "a, b"}},
	}
	for _, tt := range tests {
		for _, text := range tt.good {
			assert.Nil(t, tt.value.fault("--flag", text), "%s takes %q", tt.value.shown, text)
			fresh := *tt.value
			require.NoError(t, fresh.Set(text))
			assert.Equal(t, []string{text}, fresh.given)
		}
		for _, text := range tt.bad {
			f := tt.value.fault("--flag", text)
			if assert.NotNil(t, f, "%s refuses %q", tt.value.shown, text) {
				assert.Equal(t, "--flag", f.Field)
				assert.Contains(t, f.Problem, "--flag ")
			}
			fresh := *tt.value
			require.Error(t, fresh.Set(text))
			assert.Empty(t, fresh.given)
		}
	}
}

// FuzzLint: no line makes lint panic, no operand is lost or moved, and the library reads
// a line without faults as lint does.
func FuzzLint(f *testing.F) {
	for _, cmd := range commands() {
		f.Add(strings.ReplaceAll(cmd.name+" a --format json", " ", "\n"))
		for _, o := range options(cmd.allFlags()) {
			f.Add(strings.ReplaceAll(cmd.name, " ", "\n") + "\n--" + o.Name + "\nx\n--" + o.Name + "=y")
		}
	}
	for _, s := range []string{"", "-", "--", "---", "=", "--=", "-=", "-C", "--\n--\n-C", "help\nhelp", "--help=false", "-h=true", "status\n-1", "objective\n--\ncreate", "spawn\n--\n00", "merge\na\n--\nb\nc", "\x00", "--format", "objective list"} {
		f.Add(s)
	}
	all := commands()
	f.Fuzz(func(t *testing.T, text string) {
		argv := strings.Split(text, "\n")
		l := lint(all, argv)
		if !inOrder(l.operands, argv) && !respelled(l.operands, argv) {
			t.Fatalf("operands %q are not those of %q in order", l.operands, argv)
		}
		if at := slices.Index(argv, "--"); at >= 0 && l.cmd != nil && len(l.faults) == 0 {
			behind := argv[at+1:]
			ends := len(l.operands) >= len(behind) && slices.Equal(l.operands[len(l.operands)-len(behind):], behind)
			if !ends && !becameFlags(l, behind) {
				t.Fatalf("operands %q do not end with what stands behind -- in %q", l.operands, argv)
			}
		}
		if l.cmd == nil || len(l.faults) > 0 || l.asks() {
			return
		}
		require.Equal(t, l.reading(), readBy(all, argv), "the library reads %q otherwise", argv)
	})
}

// becameFlags reports whether every operand is, or is in, the value of a flag for which it
// is short: spawn TEXT is spawn --intent TEXT.
func becameFlags(l line, operands []string) bool {
	return !slices.ContainsFunc(operands, func(operand string) bool {
		return !slices.ContainsFunc(l.flags, func(f setFlag) bool { return strings.Contains(f.text, operand) })
	})
}

// inOrder reports whether whole contains every part, in the same order.
func inOrder(parts, whole []string) bool {
	for _, p := range parts {
		i := slices.Index(whole, p)
		if i < 0 {
			return false
		}
		whole = whole[i+1:]
	}
	return true
}

// respelled reports whether the first part is the value of a flag that names an operand,
// in whole, and whole contains the others in order.
func respelled(parts, whole []string) bool {
	return len(parts) > 0 && slices.ContainsFunc(whole, func(arg string) bool {
		return arg == parts[0] || strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, "="+parts[0])
	}) && inOrder(parts[1:], whole)
}

func TestACommandIsMadeByItsName(t *testing.T) {
	t.Parallel()
	for _, m := range makers() {
		assert.Equal(t, m.name, m.make().name)
	}
	assert.Len(t, commandsFor([]string{"spawn", "--intent", "x"}), 1)
	assert.Len(t, commandsFor([]string{"merge", "list"}), 1)
	assert.Nil(t, commandsFor([]string{"--version"}))
	for _, argv := range [][]string{nil, {"lst"}, {"merge", "lst"}, {"spawn", "--nope"}, {"spawn", "--intent", "--approver"}, {"help", "spawn"}, {"spawn", "--help"}} {
		assert.Len(t, commandsFor(argv), len(makers()), "%q", argv)
	}
}
