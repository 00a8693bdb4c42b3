package warnings_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/fact"
	"leslie/warnings"
)

func TestAnUnresolvedTargetMatchesTheContract(t *testing.T) {
	t.Parallel()
	w := warnings.TargetUnresolved.New(fact.Of("target", "thread-old"), fact.Of("reason", "file not found"))
	got, err := json.Marshal(warnings.List{w})
	require.NoError(t, err)
	assert.Equal(t, `[{"code":"W202","message":"Reference target 'thread-old' could not be resolved. `+
		`The reference was created but content cannot be accessed.",`+
		`"context":{"target":"thread-old","reason":"file not found"}}]`, string(got))
	assert.Equal(t, "Reference target corrupted", warnings.TargetUnresolved.Entry().Title)
}

func TestFillingAppearsOnlyInTheMessage(t *testing.T) {
	t.Parallel()
	w := warnings.SkippedFiles.NewFilled(fact.New(fact.Of("n", 2)), fact.Of("paths", []string{"a", "b"}))
	assert.Equal(t, "2 entries were left out: not regular files", w.Message)
	assert.Equal(t, fact.New(fact.Of("paths", []string{"a", "b"})), w.Context)
}

func TestAWarningListsOnlyTheFirstOfManyPaths(t *testing.T) {
	t.Parallel()
	paths := make([]string, warnings.MaxPaths+1)
	for i := range paths {
		paths[i] = strconv.Itoa(i)
	}
	all := warnings.ArtifactsChanged.NewOfPaths(paths[1:], nil, fact.Of("approvalId", "a"))
	assert.Equal(t, "20 artifacts changed since the approval was asked for", all.Message)
	assert.Equal(t, fact.New(fact.Of("approvalId", "a"), fact.Of("paths", paths[1:])), all.Context)

	some := warnings.ArtifactsChanged.NewOfPaths(paths, nil, fact.Of("approvalId", "a"))
	assert.Equal(t, "21 artifacts changed since the approval was asked for", some.Message)
	assert.Equal(t, fact.New(fact.Of("approvalId", "a"), fact.Of("paths", paths[:20]), fact.Of("total", 21), fact.Of("truncated", true)), some.Context)
	paths[0] = "another"
	named, _ := some.Context.Get("paths")
	assert.Equal(t, "0", named.([]string)[0], "it shares no memory")
}

func TestAWarningReadsBackFromJSON(t *testing.T) {
	t.Parallel()
	w := warnings.NotSettled.New(fact.Of("what", "fsync"), fact.Of("reason", "input/output error"))
	raw, err := json.Marshal(w)
	require.NoError(t, err)
	var back warnings.Warning
	require.NoError(t, json.Unmarshal(raw, &back))
	assert.Equal(t, w, back)
}

func TestAWarningSharesNoMemoryWithItsCaller(t *testing.T) {
	t.Parallel()
	facts := []fact.Fact{fact.Of("path", "log"), fact.Of("reason", "full")}
	w := warnings.LogUnwritable.New(facts...)
	facts[0] = fact.Of("path", "other")
	assert.Equal(t, "log", w.Context.Text("path"))
}

func TestAListContainsAWarningOnce(t *testing.T) {
	t.Parallel()
	agent := warnings.UntrustedCommand.New(fact.Of("path", "config.json"), fact.Of("key", "merge.agent"))
	validate := warnings.UntrustedCommand.New(fact.Of("path", "config.json"), fact.Of("key", "merge.validate"))
	failed := warnings.LogUnwritable.New(fact.Of("path", "log"), fact.Of("reason", "full"))
	var l warnings.List
	l.Add(failed, agent, failed)
	l.Add(validate, agent)
	assert.Equal(t, warnings.List{failed, agent, validate}, l, "in the order in which they arose; another context is another warning")
}

func TestTheTableIsSortedWithoutDuplicates(t *testing.T) {
	t.Parallel()
	rows := warnings.Table()
	require.NotEmpty(t, rows)
	for i := 1; i < len(rows); i++ {
		assert.Less(t, rows[i-1].Code, rows[i].Code)
	}
}

func TestEveryCodeHasARowUnderItsOwnName(t *testing.T) {
	t.Parallel()
	named := map[warnings.Code]string{}
	for _, e := range warnings.Table() {
		named[e.Code] = e.Name
		assert.Equal(t, e, e.Code.Entry(), "%s is found", e.Code)
	}
	assert.Equal(t, declaredCodes(t), named)
}

// declaredCodes reads warnings.go, so that the test notices a constant without a
// row.
func declaredCodes(t *testing.T) map[warnings.Code]string {
	file, err := parser.ParseFile(token.NewFileSet(), "warnings.go", nil, 0)
	require.NoError(t, err)
	out := map[warnings.Code]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, _ := spec.Type.(*ast.Ident); kind == nil || kind.Name != "Code" {
			return true
		}
		for i, name := range spec.Names {
			value, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
			require.NoError(t, err)
			assert.NotContains(t, out, warnings.Code(value), "%s names a number that is taken", name)
			out[warnings.Code(value)] = name.Name
		}
		return true
	})
	require.NotEmpty(t, out)
	return out
}

func TestEveryRowIsComplete(t *testing.T) {
	t.Parallel()
	kinds := map[string]warnings.Code{}
	for _, e := range warnings.Table() {
		assert.Regexp(t, regexp.MustCompile(`^W[1-9]\d\d$`), string(e.Code))
		assert.Regexp(t, regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`), e.Kind)
		assert.Empty(t, kinds[e.Kind], "%s: the kind %s is taken", e.Code, e.Kind)
		kinds[e.Kind] = e.Code
		assert.NotEmpty(t, e.Title, "%s", e.Code)
		assert.LessOrEqual(t, len(e.Title), 32, "%s: a title is short", e.Code)
		assert.NotEmpty(t, e.Template, "%s", e.Code)
		assert.NotEmpty(t, e.Context, "%s", e.Code)
		assert.True(t, strings.HasSuffix(e.Explanation, "."), "%s: a sentence ends: %q", e.Code, e.Explanation)
		assert.NotEmpty(t, e.Hint, "%s", e.Code)
		assert.False(t, strings.HasSuffix(e.Hint, "."), "%s: a hint is no sentence: %q", e.Code, e.Hint)
	}
}

// testdata/contract.tsv is the table promised to callers.
func TestTheTableKeepsTheContract(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	got.WriteString("code\tkind\ttemplate\tcontext\n")
	for _, e := range warnings.Table() {
		row := []string{string(e.Code), e.Kind, e.Template, strings.Join(e.Context, ",")}
		got.WriteString(strings.Join(row, "\t") + "\n")
	}
	want, err := os.ReadFile("testdata/contract.tsv")
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}

func TestAnUnlistedCodeReadsAsItsNumber(t *testing.T) {
	t.Parallel()
	assert.Equal(t, warnings.Warning{Code: "W999", Message: "W999", Context: fact.List{}}, warnings.Code("W999").New())
}

func TestMarkdownShowsEveryCode(t *testing.T) {
	t.Parallel()
	var b, again bytes.Buffer
	require.NoError(t, warnings.WriteMarkdown(&b))
	require.NoError(t, warnings.WriteMarkdown(&again))
	doc := b.String()
	assert.Equal(t, doc, again.String())
	for _, e := range warnings.Table() {
		assert.Equal(t, 1, strings.Count(doc, "\n### "+string(e.Code)+"\n"), "%s has one section", e.Code)
		assert.Equal(t, 1, strings.Count(doc, "\n| ["+string(e.Code)+"]("), "%s has one line in the overview", e.Code)
	}
	assert.Contains(t, doc, `
### W503

Log not writable: `+"`log_unwritable`"+`.

> The log could not be written: {reason}

What it means: The command worked; only its log line is missing.

What to do: Free space or fix permissions of the log's folder.

Context: `+"`path`, `reason`"+`
`)
}

func TestMarkdownReportsAFailedWrite(t *testing.T) {
	t.Parallel()
	assert.ErrorIs(t, warnings.WriteMarkdown(fullDisk{}), errFull)
}

var errFull = errors.New("full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
