package main

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
	"leslie/cmd/leslie/internal/runcmd"
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
		{"what follows an unknown flag may be an operand", "status --zzz main", "status", "", "", "--zzz"},
		{"a word behind an unknown flag may be its value", "spawn --prio 2 --intent x", "spawn", "intent=x", "", "--prio"},
		{"or an operand", "objective done --zzz ship", "objective done", "", "", "--zzz"},
		{"in front of the command, too", "--prio 2 spawn --intent x", "spawn", "intent=x", "", "--prio"},
		{"a command is never the value of a flag", "--prio spawn --intent x", "spawn", "intent=x", "", "--prio"},
		{"a subcommand neither", "objective --foo list", "objective list", "", "", "--foo"},
		{"a switch of another command with a value", "spawn --ready yes --intent x", "spawn", "intent=x", "", "--ready"},
		{"several unknown flags with values", "spawn --prio 2 --deep 3 --intent x", "spawn", "intent=x", "", "--prio --deep"},
		{"a surplus operand is a fault all the same", "list --prio 2 3", "list", "", "3", "--prio operand"},
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
		{"a bad value and a bad operand", "status a//b --format x", "status", "", "a//b", "--format ID"},
		{"a long flag with one dash", "list -format json", "list", "", "", "-format"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := cli.ParseLine(commands().All(), strings.Fields(tt.argv))
			name, flags, fields := "", []string{}, []string{}
			if l.Cmd != nil {
				name = l.Cmd.Name
			}
			for _, f := range l.Flags {
				flags = append(flags, f.Name+"="+f.Text)
			}
			for _, f := range l.Faults {
				fields = append(fields, f.Field)
			}
			assert.Equal(t, tt.command, name)
			assert.Equal(t, tt.flags, strings.Join(flags, " "))
			assert.Equal(t, tt.operands, strings.Join(l.Operands, " "))
			assert.Equal(t, tt.fields, strings.Join(fields, " "))
			if l.Cmd != nil && len(l.Faults) == 0 && !l.Asks() {
				assert.Equal(t, readingOf(l), readBy(commands().All(), strings.Fields(tt.argv)), "the library reads it the same")
			}
		})
	}
}

// TestFlagsMayStandAnywhere puts a flag with its value at every place of every command's
// line: all lines mean the same.
func TestFlagsMayStandAnywhere(t *testing.T) {
	t.Parallel()
	all := commands().All()
	for _, cmd := range all {
		line := cmd.Path()
		for _, o := range cmd.Operands {
			if !o.Dashed && o.Sets == "" {
				line = append(line, cmp.Or(strings.Join(o.Value.Words[:min(1, len(o.Value.Words))], ""), "operand"))
			}
		}
		for _, o := range cli.ShownOptions(cmd.AllFlags()) {
			if o.Name == "help" || o.Name == "version" {
				continue
			}
			value, flag := validText(t, o.Typed()), []string{"--" + o.Name}
			if o.TakesValue() {
				flag = append(flag, value)
			}
			for at := range len(line) + 1 {
				argv := slices.Insert(slices.Clone(line), at, flag...)
				assert.Empty(t, cli.ParseLine(all, argv).Faults, "%s at %d of %v", flag, at, line)
				want := reading{cmd.Name, []string{o.Name + "=" + value}, line[len(cmd.Path()):]}
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
	for _, cmd := range commands().All() {
		for _, o := range cli.Options(cmd.AllFlags()) {
			if cli.AmbiguousFlag(o.Name) {
				continue
			}
			was, known := takes[o.Name]
			assert.True(t, !known || was == o.TakesValue(), "--%s is a switch here and takes a value there", o.Name)
			takes[o.Name] = o.TakesValue()
		}
	}
}

// validText returns a text that a value accepts.
func validText(t *testing.T, v *cli.Value) string {
	t.Helper()
	for _, text := range append(slices.Clone(v.Words), "true", "some text", "some-id", "7", "90s", "-x", "claude", "titles", "T101", "run-a1b2") {
		if v.Fault("", text) == nil {
			return text
		}
	}
	t.Fatalf("no text is one for %s", v.Shown)
	return ""
}

// TestValuesOfEveryKind is the table of accepted values.
func TestValuesOfEveryKind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value     *cli.Value
		good, bad []string
	}{
		{cli.Text("T"), []string{"x", " x ", "-"}, []string{"", "  ", "\n"}},
		{cli.Texts("T"), []string{"a,b"}, []string{""}},
		{cli.OneOf("one", "two"), []string{"one"}, []string{"", "One", "on", "one "}},
		{cli.ID("ID", cli.ThreadIDs), []string{"a", "7", "thread-x_Y", "leslie/a", strings.Repeat("a", 64)}, []string{"", "-x", "_x", "a//b", "/a", "../x", "a b", "ä", strings.Repeat("a", 65), "a\n"}},
		{cli.IDs("ID,...", cli.ThreadIDs), []string{"a", "a,b"}, []string{"", "a,", ",a", "a,,b", "a,../x", "a, b"}},
		{cli.Scopes("P,..."), []string{"a", "a,b/*", "**/*.md", "../x"}, []string{"", "a,", "[", `a\b`}},
		{cli.NonNegative("N"), []string{"0", "7"}, []string{"", "-1", "1.5", "x", "9223372036854775808", "0x1"}},
		{cli.Positive("N"), []string{"1", "7"}, []string{"", "0", "-1", "1.5", "x"}},
		{cli.Duration(), []string{"1ms", "1h30m"}, []string{"", "0", "0s", "-1s", "5", "soon"}},
		{cli.Edits("+T|-T", cli.TagNames), []string{"+x", "-x", "--"}, []string{"", "+", "-", "x", "+ "}},
		{runcmd.ARun(), []string{"run-a1b2", "run-"}, []string{"", "a1b2", "run-a/b", "run- x"}},
		{cli.Capability(), []string{"code_edit", "git-push"}, []string{"", " ", "a b", "a,b", "-x"}},
		{cli.Capabilities(), []string{"deploy", "deploy,code_edit"}, []string{"", "deploy,", ",deploy", "a,,b", "a, b"}},
	}
	for _, tt := range tests {
		for _, text := range tt.good {
			assert.Nil(t, tt.value.Fault("--flag", text), "%s takes %q", tt.value.Shown, text)
			fresh := *tt.value
			require.NoError(t, fresh.Set(text))
			assert.Equal(t, []string{text}, fresh.Given)
		}
		for _, text := range tt.bad {
			f := tt.value.Fault("--flag", text)
			if assert.NotNil(t, f, "%s refuses %q", tt.value.Shown, text) {
				assert.Equal(t, "--flag", f.Field)
				assert.Contains(t, f.Problem, "--flag ")
			}
			fresh := *tt.value
			require.Error(t, fresh.Set(text))
			assert.Empty(t, fresh.Given)
		}
	}
}

// FuzzLint: no line makes lint panic, no operand is lost or moved, and the library reads
// a line without faults as lint does.
func FuzzLint(f *testing.F) {
	for _, cmd := range commands().All() {
		f.Add(strings.ReplaceAll(cmd.Name+" a --format json", " ", "\n"))
		for _, o := range cli.Options(cmd.AllFlags()) {
			f.Add(strings.ReplaceAll(cmd.Name, " ", "\n") + "\n--" + o.Name + "\nx\n--" + o.Name + "=y")
		}
	}
	for _, s := range []string{"", "-", "--", "---", "=", "--=", "-=", "-C", "--\n--\n-C", "help\nhelp", "--help=false", "-h=true", "status\n-1", "objective\n--\ncreate", "spawn\n--\n00", "merge\na\n--\nb\nc", "\x00", "--format", "objective list"} {
		f.Add(s)
	}
	all := commands().All()
	f.Fuzz(func(t *testing.T, text string) {
		argv := strings.Split(text, "\n")
		l := cli.ParseLine(all, argv)
		if !inOrder(l.Operands, argv) && !respelled(l.Operands, argv) {
			t.Fatalf("operands %q are not those of %q in order", l.Operands, argv)
		}
		if at := slices.Index(argv, "--"); at >= 0 && l.Cmd != nil && len(l.Faults) == 0 {
			behind := argv[at+1:]
			ends := len(l.Operands) >= len(behind) && slices.Equal(l.Operands[len(l.Operands)-len(behind):], behind)
			if !ends && !becameFlags(l, behind) {
				t.Fatalf("operands %q do not end with what stands behind -- in %q", l.Operands, argv)
			}
		}
		if l.Cmd == nil || len(l.Faults) > 0 || l.Asks() {
			return
		}
		require.Equal(t, readingOf(l), readBy(all, argv), "the library reads %q otherwise", argv)
	})
}

// becameFlags reports whether every operand is, or is in, the value of a flag for which it
// is short: spawn TEXT is spawn --intent TEXT.
func becameFlags(l cli.Line, operands []string) bool {
	return !slices.ContainsFunc(operands, func(operand string) bool {
		return !slices.ContainsFunc(l.Flags, func(f cli.SetFlag) bool { return strings.Contains(f.Text, operand) })
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
	for _, m := range commands() {
		assert.Equal(t, m.Name, m.Make().Name)
	}
	assert.Len(t, commands().NeededFor([]string{"spawn", "--intent", "x"}), 1)
	assert.Len(t, commands().NeededFor([]string{"merge", "list"}), 1)
	assert.Nil(t, commands().NeededFor([]string{"--version"}))
	for _, argv := range [][]string{nil, {"lst"}, {"merge", "lst"}, {"spawn", "--nope"}, {"spawn", "--intent", "--approver"}, {"help", "spawn"}, {"spawn", "--help"}} {
		assert.Len(t, commands().NeededFor(argv), len(commands()), "%q", argv)
	}
}
