package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/cmd/leslie/internal/cli"
)

// Whatever takes an existing thing completes. What is listed here takes something new, a
// text, a number or a file of the shell's own.
func TestEveryOperandAndFlagThatTakesAnExistingThingCompletes(t *testing.T) {
	t.Parallel()
	others := strings.Fields("TITLE TEXT T R N M D REV URL DIR FILE F|- PATH OURS BASE THEIRS WORD NAME C CMD B ID MODE AMOUNT D RULE NAME|ADDR NAME=HOST:PORT human|agent|NAME ACTOR REV|TIME TIME")
	for _, cmd := range commands().All() {
		check := func(name string, v *cli.Value) {
			if v.Toggle || v.Old != nil || v.IDs != cli.OtherIDs || v.Words != nil || v.Listed != nil {
				return
			}
			assert.Contains(t, others, v.Shown, "%s %s", cmd.Name, name)
		}
		for _, o := range cmd.Operands {
			check("", o.Value)
		}
		for _, o := range cli.ShownOptions(cmd.Flags) {
			check("--"+o.Name, o.Typed())
		}
	}
}

func TestCompletionOffersWhatThereIs(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.write(t, ".leslie/threads/main/docs/plan.md", "plan\n")
	b.must(t, "checkpoint", "main", "--name", "first", "--format", "json")
	point, _ := document(t, b.out.Bytes()).Data["checkpointId"].(string)
	b.must(t, "update", "main", "--tag", "+urgent")
	b.must(t, "inject", "main", "--content", "Mind the gap")
	b.must(t, "ask", "part", "--question", "Which?", "--choice", "red", "--choice", "blue", "--format", "json")
	question, _ := document(t, b.out.Bytes()).Data["questionId"].(string)
	merging := pendingMergeOf(t, b)
	b.must(t, "history", "--limit", "1", "--format", "json")
	items, _ := document(t, b.out.Bytes()).Data["items"].([]any)
	op := fmt.Sprint(items[0].(map[string]any)["operationId"])
	require.NotEmpty(t, op)
	tests := map[string][]string{
		"comment main": {"docs/plan.md", "plan.md"}, "diff main part": {"docs/plan.md", "plan.md"}, "artifacts main --scope": {"docs/plan.md"},
		"spawn --parent main --scope": {"docs/plan.md"}, "reference --from part --target main --scope": {"docs/plan.md"}, "merge main part --scope": {"docs/plan.md"},
		"rollback main": {point, "first"}, "rollback main --to": {point, "first"}, "--thread main rollback main": {point},
		"list --tag": {"urgent"}, "spawn --tag": {"urgent"}, "update main --tag": {"+urgent", "-urgent"}, "update part --depends-on": {"+main", "-main"},
		"inject --withdraw": {"inj-"}, "inject main --withdraw": {"inj-"}, "answer " + question + " --choice": {"red", "blue"}, "answer": {question},
		"merge resolve": {merging}, "merge resolve " + merging: {"plan.md"}, "merge status " + merging + " --conflict": {"plan.md"},
		"merge resolve " + merging + " --take": {"ours", "theirs", "part"}, "show": {"main", op, question}, "undo": {op}, "diff": {"main", merging},
		"can": {"code_edit"}, "transfer main --scope": {"deploy"}, "run main --agent": {"claude", "codex"}, "agents": {"claude"}, "spawn --base": {"main"},
		"explain": {"T101", "W105"}, "logs --code": {"T101", "W105"}, "observe --events": {"spawn", "merge"},
	}
	for words, wants := range tests {
		offered := b.offered(t, strings.Fields(words)...)
		for _, want := range wants {
			assert.True(t, slices.ContainsFunc(offered, func(one string) bool {
				return one == want || strings.HasSuffix(want, "-") && strings.HasPrefix(one, want)
			}),
				"leslie %s offers %s: %v", words, want, offered)
		}
	}
	assert.NotContains(t, b.offered(t, "comment", "part"), "docs/plan.md", "that is another thread's")
	assert.Empty(t, b.offered(t, "comment", "nobody"))
	require.NoError(t, os.MkdirAll(filepath.Join(b.Home, ".leslie"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(b.Home, ".leslie", "config.json"), []byte(`{"code": {"checks": {"fast": "true"}}}`), 0o600))
	assert.Equal(t, []string{"fast"}, b.offered(t, "spawn", "--accept"))
}
