package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	urfave "github.com/urfave/cli/v2"

	"leslie/cmd/leslie/internal/cli"
)

// reading is the meaning of a line: a command, its flags with their values in the order
// of the definition, its operands.
type reading struct {
	command  string
	flags    []string
	operands []string
}

// readingOf returns what lint found.
func readingOf(l cli.Line) reading {
	r := reading{command: l.Cmd.Name, operands: append([]string{}, l.Operands...)}
	for _, o := range cli.Options(l.Cmd.AllFlags()) {
		for _, f := range l.Flags {
			if f.Name == o.Name {
				r.flags = append(r.flags, f.Name+"="+f.Text)
			}
		}
	}
	return r
}

// call returns a call as its command gets it.
func (b *bench) call(t *testing.T, args ...string) *cli.Call {
	t.Helper()
	l := cli.ParseLine(commands().All(), args)
	l.Cmd.Run = func(*cli.Call) (cli.Data, error) { return nil, nil }
	c := cli.NewCall(t.Context(), b.Env, l)
	_, err := c.Do([]*cli.Command{l.Cmd})
	require.NoError(t, err)
	return c
}

// readBy returns what the library gives to a command, through the methods by which
// commands read it.
func readBy(all []*cli.Command, argv []string) (r reading) {
	reader := make([]*cli.Command, len(all))
	for i, cmd := range all {
		own := *cmd
		own.Run = func(c *cli.Call) (cli.Data, error) {
			r = reading{command: own.Name, operands: append([]string{}, c.Flags.Args().Slice()...)}
			for _, o := range cli.Options(own.AllFlags()) {
				if c.Has(o.Name) != c.Flags.IsSet(o.Name) || !o.TakesValue() && c.On(o.Name) != c.Flags.Bool(o.Name) || c.Text(o.Name) != c.Flags.String(o.Name) {
					r.flags = append(r.flags, "the ways to read --"+o.Name+" differ")
				}
				for _, text := range c.Texts(o.Name) {
					r.flags = append(r.flags, o.Name+"="+text)
				}
			}
			return nil, nil
		}
		reader[i] = &own
	}
	silent := cli.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }, Login: func() string { return "" }, Session: func() string { return "" }}
	c := cli.NewCall(context.Background(), silent, cli.ParseLine(reader, argv))
	_, _ = c.Do(reader)
	return r
}

// All lines share the definitions.
func TestALineLeavesNothingToTheNext(t *testing.T) {
	t.Parallel()
	all := commands().All()
	assert.Equal(t, []string{"intent=x", "tag=a", "tag=b,c"}, readBy(all, []string{"spawn", "--tag", "a", "--intent", "x", "--tag", "b,c"}).flags)
	assert.Equal(t, []string{"intent=y"}, readBy(all, []string{"spawn", "--intent", "y"}).flags)
	assert.Equal(t, []string{"label=a,b", "label=c"}, readBy(all, []string{"merge-file", "-L", "a,b", "x", "-L=c", "y", "z"}).flags, "a letter stands for the name, once")
}

// Without lint the library prints nothing and accepts no faulty line: it returns an
// error, and an unknown command never succeeds.
func TestTheLibraryAloneIsSilentAndRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"lst", "objective", "objective lst", "reference lst", "spawn --nope", "spawn --limit", "list --limit x", "list --all=maybe", "merge --format"} {
		b := newProject(t)
		all := commands().All()
		c := cli.NewCall(t.Context(), b.Env, cli.Line{})
		err := c.App(all).RunContext(t.Context(), append([]string{"leslie"}, strings.Fields(text)...))
		require.Error(t, err, text)
		var coded urfave.ExitCoder
		assert.NotErrorAs(t, err, &coded, "it would end the process")
		assert.Empty(t, c.Printed.String(), text)
		assert.Empty(t, b.out.String()+b.err.String(), text)
	}
}

// A usage line shows optional parts in brackets, and a command refuses a line without the
// other parts.
func TestACommandRefusesALineWithoutWhatItsUsageRequires(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands().All() {
		b := newProject(t)
		b.leslie(append(cmd.Path(), "--format", "json")...)
		var required, missing []string
		for _, o := range cmd.Operands {
			if !o.Optional {
				required = append(required, o.Shown)
			}
		}
		for _, o := range cli.Options(cmd.Flags) {
			if o.Typed().Needed {
				required = append(required, "--"+o.Name)
			}
		}
		if len(required) == 0 {
			continue
		}
		for _, f := range document(t, b.out.Bytes()).Error.Details["fields"].([]any) {
			missing = append(missing, f.(map[string]any)["field"].(string))
		}
		for _, field := range required {
			assert.True(t, slices.Contains(missing, field), "%s: %s is required, and missed are %q", cmd.UsageLine(false), field, missing)
		}
	}
}

// Every command is in the library's tree once, with the flags of its definition.
func TestTheTreeHoldsEveryCommand(t *testing.T) {
	t.Parallel()
	all := commands().All()
	c := cli.NewCall(t.Context(), newBench(t).Env, cli.Line{})
	var names []string
	var walk func(prefix string, nodes []*urfave.Command)
	walk = func(prefix string, nodes []*urfave.Command) {
		for _, node := range nodes {
			name := strings.TrimSpace(prefix + " " + node.Name)
			assert.NotNil(t, node.Action, name)
			assert.NotNil(t, node.OnUsageError, name)
			assert.NotNil(t, node.BashComplete, name)
			assert.True(t, node.HideHelp, "%s: the library's help flag is shared by everybody", name)
			if cmd := cli.FindCommand(all, name); cmd != nil {
				names = append(names, name)
				assert.Equal(t, cmd.Summary, node.Usage)
				assert.Len(t, node.Flags, len(cmd.AllFlags()))
			}
			walk(name, node.Subcommands)
		}
	}
	walk("", c.App(all).Commands)
	var want []string
	for _, cmd := range all {
		want = append(want, cmd.Name)
	}
	assert.ElementsMatch(t, want, names)
}

// A line of a batch is read as it would be alone.
func TestALineOfABatchKeepsWhatItWasGiven(t *testing.T) {
	t.Parallel()
	c := newProject(t).call(t, "update", "main", "--tag", "+a", "--title", "T", "--tag=-b,c", "--lock-timeout", "1s")
	for range 2 {
		assert.Equal(t, []string{"+a", "-b,c"}, c.Texts("tag"))
		assert.Equal(t, "T", c.Text("title"))
		assert.False(t, c.Has("branch"))
		assert.Nil(t, c.Optional("branch"))
		assert.Equal(t, "main", c.Operand(0))
		assert.Equal(t, "", c.Operand(1))
		assert.Equal(t, time.Second, c.LockTimeout())
		cli.KeepGiven(c)
	}
}
