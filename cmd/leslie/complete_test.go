package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
)

// offered returns the completions after these words.
func (b *bench) offered(t *testing.T, words ...string) []string {
	t.Helper()
	require.Zero(t, b.leslie(append(slices.Clone(words), cli.CompletionFlag)...), "%q %s%s", words, &b.out, &b.err)
	assert.Empty(t, b.err.String(), "nobody reads stderr there")
	return strings.Fields(b.out.String())
}

func TestCompletionOffersWhatMayComeNext(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "reference", "--from", "part", "--target", "main")
	ref := b.offered(t, "reference", "show")
	require.Len(t, ref, 1)
	assert.Regexp(t, "^ref-", ref[0])
	tests := []struct{ words, offered string }{
		{"objective", "create list status done cancel"},
		{"objective status", "ship"},
		{"status", "main part"},
		{"merge status", ""},
		{"approve", ""},
		{"can code_edit", "main part"},
		{"wait main", "main part"},
		{"spawn --inherit", "none full partial"},
		{"spawn --objective", "ship"},
		{"search --in", "titles intents artifacts history transcripts"},
		{"spawn --depends-on", "main part"},
		{"spawn --intent", ""},
		{"--format", "text json yaml table"},
		{"done main --as", "user agent system"},
		{"done main -C", ""},
		{"merge --target main --sources", "main part"},
		{"--format json status", "main part"},
		{"reference --from", "main part"},
		{"help objective", "create list status done cancel"},
		{"help status", ""},
	}
	for _, tt := range tests {
		assert.Equal(t, strings.Fields(tt.offered), b.offered(t, strings.Fields(tt.words)...), "leslie %s", tt.words)
	}
	var top []string
	for _, cmd := range commands().All() {
		top = append(top, cmd.Path()[0])
	}
	slices.Sort(top)
	top = append(slices.Compact(top), "help", "ls", "log", "new", "stop")
	for _, words := range []string{"", "help", "sp"} {
		assert.ElementsMatch(t, top, b.offered(t, strings.Fields(words)...), "leslie %s", words)
	}
}

func TestCompletionHasLabelsForAShellThatAsks(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.must(t, "spawn", "--title", "Bell \a and tab \t", "--intent", "x", "--id", "odd")
	b.Env.Getenv = func(key string) string { return map[string]string{"LESLIE_COMPLETION": "labels"}[key] }
	require.Zero(t, b.leslie("status", cli.CompletionFlag))
	assert.Contains(t, b.out.String(), "odd\tBell \\a and tab")
	b.out.Reset()
	require.Zero(t, b.leslie("objective", cli.CompletionFlag))
	assert.Contains(t, b.out.String(), "list\t")
	b.out.Reset()
	require.Zero(t, b.leslie(cli.CompletionFlag))
	assert.Contains(t, b.out.String(), "objective\tcreate, list, status, done, cancel\n")
	assert.Contains(t, b.out.String(), "ls\tlist threads")
}

// Every command offers its flags after a dash, except given flags that cannot be
// repeated.
func TestCompletionOffersTheFlagsOfEveryCommand(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	for _, cmd := range commands().All() {
		var want []string
		for _, o := range cli.ShownOptions(cmd.AllFlags()) {
			want = append(want, "--"+o.Name)
		}
		assert.ElementsMatch(t, want, b.offered(t, append(cmd.Path(), "--")...), cmd.Name)
		assert.ElementsMatch(t, want, b.offered(t, append(cmd.Path(), "-")...), cmd.Name)
	}
	left := b.offered(t, "spawn", "--intent", "x", "--tag", "a", "--t")
	assert.NotContains(t, left, "--intent")
	assert.Contains(t, left, "--tag")
	assert.Contains(t, left, "--title")
	assert.Contains(t, b.offered(t, "list"), "--ready", "there is no operand to name")
	assert.Contains(t, b.offered(t, "reference"), "refresh")
	assert.Contains(t, b.offered(t, "reference"), "--target")
}

// An incomplete line may have faults, and there may be no store: completion offers what
// it can, changes nothing and prints no error.
func TestCompletionNeverFailsAndChangesNothing(t *testing.T) {
	t.Parallel()
	empty := newBench(t)
	assert.Empty(t, empty.offered(t, "status"))
	assert.Contains(t, empty.offered(t, "--format", "json", "spawn", "--"), "--intent")

	b := newProject(t)
	b.vars["LESLIE_FORMAT"], b.vars["LESLIE_THREAD"], b.vars["CLAUDECODE"] = "xml", "../x", "1"
	before := tree(t, b.Dir)
	for _, words := range []string{
		"spawn --intent x", "spawn --nope", "spawn --inherit som --intent x", "done main", "done a/b c d", "lst", "--help", "spawn --help",
		"--version", "objective lst", "observe", "logs --follow", "batch", "doctor --repair", "init", "undo", "redo", "--dir nowhere status",
	} {
		b.offered(t, strings.Fields(words)...)
	}
	assert.Equal(t, before, tree(t, b.Dir))
	assert.NotContains(t, b.offered(t, "status"), "{", "a list is no document, whatever the environment says")
	assert.Contains(t, b.offered(t, "status"), "main")

	b.leslie("status", "--", "main", cli.CompletionFlag)
	assert.Contains(t, b.err.String(), "code=T903", "behind -- it is an operand")
}
