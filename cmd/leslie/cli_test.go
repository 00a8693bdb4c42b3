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
	"github.com/urfave/cli/v2"
)

// reading is the meaning of a line: a command, its flags with their values in the order
// of the definition, its operands.
type reading struct {
	command  string
	flags    []string
	operands []string
}

// reading returns what lint found.
func (l line) reading() reading {
	r := reading{command: l.cmd.name, operands: append([]string{}, l.operands...)}
	for _, o := range options(l.cmd.allFlags()) {
		for _, f := range l.flags {
			if f.Name == o.Name {
				r.flags = append(r.flags, f.Name+"="+f.text)
			}
		}
	}
	return r
}

// call returns a call as its command gets it.
func (b *bench) call(t *testing.T, args ...string) *call {
	t.Helper()
	l := lint(commands(), args)
	l.cmd.run = func(*call) (Data, error) { return nil, nil }
	c := newCall(t.Context(), b.env, l)
	_, err := c.do([]*command{l.cmd})
	require.NoError(t, err)
	return c
}

// readBy returns what the library gives to a command, through the methods by which
// commands read it.
func readBy(all []*command, argv []string) (r reading) {
	reader := make([]*command, len(all))
	for i, cmd := range all {
		own := *cmd
		own.run = func(c *call) (Data, error) {
			r = reading{command: own.name, operands: append([]string{}, c.flags.Args().Slice()...)}
			for _, o := range options(own.allFlags()) {
				if c.has(o.Name) != c.flags.IsSet(o.Name) || !o.TakesValue() && c.on(o.Name) != c.flags.Bool(o.Name) || c.text(o.Name) != c.flags.String(o.Name) {
					r.flags = append(r.flags, "the ways to read --"+o.Name+" differ")
				}
				for _, text := range c.texts(o.Name) {
					r.flags = append(r.flags, o.Name+"="+text)
				}
			}
			return nil, nil
		}
		reader[i] = &own
	}
	silent := env{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }, login: func() string { return "" }, session: func() string { return "" }}
	c := newCall(context.Background(), silent, lint(reader, argv))
	_, _ = c.do(reader)
	return r
}

// All lines share the definitions.
func TestALineLeavesNothingToTheNext(t *testing.T) {
	t.Parallel()
	all := commands()
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
		all := commands()
		c := newCall(t.Context(), b.env, line{})
		err := cliTree{c}.app(all).RunContext(t.Context(), append([]string{"leslie"}, strings.Fields(text)...))
		require.Error(t, err, text)
		var coded cli.ExitCoder
		assert.NotErrorAs(t, err, &coded, "it would end the process")
		assert.Empty(t, c.printed.String(), text)
		assert.Empty(t, b.out.String()+b.err.String(), text)
	}
}

// A usage line shows optional parts in brackets, and a command refuses a line without the
// other parts.
func TestACommandRefusesALineWithoutWhatItsUsageRequires(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands() {
		b := newProject(t)
		b.leslie(append(cmd.path(), "--format", "json")...)
		var required, missing []string
		for _, o := range cmd.operands {
			if !o.optional {
				required = append(required, o.shown)
			}
		}
		for _, o := range options(cmd.flags) {
			if o.value().needed {
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
			assert.True(t, slices.Contains(missing, field), "%s: %s is required, and missed are %q", cmd.usageLine(false), field, missing)
		}
	}
}

// Every command is in the library's tree once, with the flags of its definition.
func TestTheTreeHoldsEveryCommand(t *testing.T) {
	t.Parallel()
	all := commands()
	c := newCall(t.Context(), newBench(t).env, line{})
	var names []string
	var walk func(prefix string, nodes []*cli.Command)
	walk = func(prefix string, nodes []*cli.Command) {
		for _, node := range nodes {
			name := strings.TrimSpace(prefix + " " + node.Name)
			assert.NotNil(t, node.Action, name)
			assert.NotNil(t, node.OnUsageError, name)
			assert.NotNil(t, node.BashComplete, name)
			assert.True(t, node.HideHelp, "%s: the library's help flag is shared by everybody", name)
			if cmd := named(all, name); cmd != nil {
				names = append(names, name)
				assert.Equal(t, cmd.summary, node.Usage)
				assert.Len(t, node.Flags, len(cmd.allFlags()))
			}
			walk(name, node.Subcommands)
		}
	}
	walk("", cliTree{c}.app(all).Commands)
	var want []string
	for _, cmd := range all {
		want = append(want, cmd.name)
	}
	assert.ElementsMatch(t, want, names)
}

// A line of a batch is read as it would be alone.
func TestALineOfABatchKeepsWhatItWasGiven(t *testing.T) {
	t.Parallel()
	c := newProject(t).call(t, "update", "main", "--tag", "+a", "--title", "T", "--tag=-b,c", "--lock-timeout", "1s")
	for range 2 {
		assert.Equal(t, []string{"+a", "-b,c"}, c.texts("tag"))
		assert.Equal(t, "T", c.text("title"))
		assert.False(t, c.has("branch"))
		assert.Nil(t, c.optional("branch"))
		assert.Equal(t, "main", c.operand(0))
		assert.Equal(t, "", c.operand(1))
		assert.Equal(t, time.Second, c.lockTimeout())
		keepGiven(c)
	}
}
