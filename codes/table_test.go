package codes_test

import (
	"bytes"
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/codes"
)

func TestTheTableIsSortedWithoutDuplicates(t *testing.T) {
	t.Parallel()
	rows := codes.Table()
	require.NotEmpty(t, rows)
	for i := 1; i < len(rows); i++ {
		assert.Less(t, rows[i-1].Code, rows[i].Code)
	}
}

func TestEveryCodeHasARowUnderItsOwnName(t *testing.T) {
	t.Parallel()
	named := map[codes.Code]string{}
	for _, e := range codes.Table() {
		named[e.Code] = e.Name
		assert.Equal(t, e, e.Code.Entry(), "%s is found", e.Code)
	}
	declared := declaredCodes(t)
	require.NotEmpty(t, declared)
	assert.Equal(t, declared, named)
}

// declaredCodes reads codes.go, so that the test notices a constant without a row.
func declaredCodes(t *testing.T) map[codes.Code]string {
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	require.NoError(t, err)
	out := map[codes.Code]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			value, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
			require.NoError(t, err)
			assert.NotContains(t, out, codes.Code(value), "%s names a number that is taken", name)
			out[codes.Code(value)] = name.Name
		}
		return true
	})
	return out
}

func TestEveryRowIsComplete(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`^T[1-9]\d\d$`)
	snake := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	kinds := map[string]codes.Code{}
	for _, e := range codes.Table() {
		assert.Regexp(t, number, string(e.Code))
		assert.Regexp(t, snake, e.Kind, "%s", e.Code)
		assert.Empty(t, kinds[e.Kind], "%s: the kind %s is taken", e.Code, e.Kind)
		kinds[e.Kind] = e.Code

		assert.NotEmpty(t, e.Title, "%s", e.Code)
		assert.LessOrEqual(t, len(e.Title), 30, "%s: a title is short", e.Code)
		assert.False(t, strings.HasSuffix(e.Title, "."), "%s: a title is no sentence", e.Code)
		assert.NotEmpty(t, e.Template, "%s", e.Code)
		assert.NotEmpty(t, e.Hint, "%s", e.Code)
		assert.Contains(t, []int{1, 2, 3}, len(e.Causes), "%s", e.Code)
		for _, s := range append(slices.Clone(e.Causes), e.Unchanged, e.Explanation, e.NoNext) {
			assert.True(t, s == "" || strings.HasSuffix(s, "."), "%s: a sentence ends: %q", e.Code, s)
			assert.NotContains(t, s, "{", "%s: only templates are filled: %q", e.Code, s)
		}
		assert.True(t, strings.HasPrefix(e.Example, "leslie "), "%s: %q", e.Code, e.Example)
	}
}

func TestARetryableCodeSaysHowSoon(t *testing.T) {
	t.Parallel()
	for _, e := range codes.Table() {
		assert.Equal(t, e.Retryable, e.RetryAfterMs > 0, "%s", e.Code)
	}
}

func TestSubjectIsTheDetailKeyOfTheID(t *testing.T) {
	t.Parallel()
	want := map[codes.Code]string{
		codes.ThreadNotFound: "threadId", codes.MistakeLimit: "threadId", codes.NotWritable: "threadId",
		codes.Claimed: "threadId", codes.ScopeNotFound: "threadId", codes.UnreadMessages: "threadId", codes.CodeUnfinished: "threadId",
		codes.NoCode: "threadId", codes.Uncommitted: "threadId",
		codes.AlreadyExists: "", codes.StaleRevision: "", // any record: the detail is id itself
		codes.UndoConflict: "operationId", codes.OperationNotFound: "operationId",
		codes.CheckpointNotFound: "checkpointId",
		codes.TargetCorrupted:    "target", codes.ReferenceNotFound: "refId",
		codes.MergeNotFound: "mergeId", codes.MergePending: "mergeId",
		codes.ApprovalNotFound: "approvalId", codes.QuestionNotFound: "questionId", codes.QuestionAnswered: "questionId",
		codes.CommentNotFound: "commentId", codes.CommentsOpen: "threadId", codes.SourceUnread: "threadId",
		codes.PermissionDenied: "capability", codes.ApprovalDenied: "capability",
		codes.ObjectiveNotFound: "objectiveId", codes.ThreadsNotTerminated: "objectiveId", codes.ObjectiveDone: "objectiveId",
	}
	got := map[codes.Code]string{}
	for _, e := range codes.Table() {
		placeholder := cmp.Or(e.Placeholder, "id")
		if strings.Contains(e.Template, "{"+placeholder+"}") && (e.Subject != "" || placeholder == "id") {
			got[e.Code] = e.Subject
		} else {
			assert.Empty(t, e.Subject, "%s has no {%s} that Subject could fill", e.Code, placeholder)
		}
	}
	assert.Equal(t, want, got)
}

// Three codes have no next command in the table, because only the call knows the
// candidates, the capability, or its own line.
func TestARowHasANextCommandOrSaysWhyThereIsNone(t *testing.T) {
	t.Parallel()
	composed := []codes.Code{codes.AmbiguousID, codes.PermissionDenied, codes.Interrupted}
	for _, e := range codes.Table() {
		switch {
		case slices.Contains(composed, e.Code):
			assert.Empty(t, e.Next+e.NoNext, "%s is composed", e.Code)
		case e.Next == "":
			assert.NotEmpty(t, e.NoNext, "%s", e.Code)
		default:
			assert.Empty(t, e.NoNext, "%s", e.Code)
			assert.True(t, strings.HasPrefix(e.Next, "leslie "), "%s: %q", e.Code, e.Next)
			assert.NotContains(t, e.Next, "--force", "%s", e.Code)
			assert.NotContains(t, e.Next, "--repair", "%s", e.Code)
		}
	}
}

// testdata/contract.tsv is the table promised to callers. In its next column, ID,
// M and COMMAND represent the facts that fill the line.
func TestTheTableKeepsTheContract(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	got.WriteString("code\tkind\ttemplate\thint\tnext\trecoverable\tretryable\n")
	for _, e := range codes.Table() {
		row := []string{string(e.Code), e.Kind, e.Template, contractHint(e), contractNext(e), yn(e.Recoverable), yn(e.Retryable)}
		got.WriteString(strings.Join(row, "\t") + "\n")
	}
	want, err := os.ReadFile("testdata/contract.tsv")
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String())
}

// What is expected was decided code by code: a new code counts towards the mistake limit
// unless it is listed here and in its row.
func TestTheMistakeLimitCountsAllButWhatIsExpected(t *testing.T) {
	t.Parallel()
	var expected []string
	for _, e := range codes.Table() {
		if e.Expected {
			expected = append(expected, string(e.Code))
		}
	}
	assert.Equal(t, "T103 T108 T109 T113 T114 T117 T301 T302 T304 T401 T402 T404 T408 T409 T501 T503 T510 T511 "+
		"T705 T706 T707 T804 T805 T806 T904", strings.Join(expected, " "))
}

// contractHint is the row's hint, except for T903: the contract only describes
// that one, because each T903 has its own.
func contractHint(e codes.Entry) string {
	if e.Code == codes.InvalidArgument {
		return "the usage line and an example"
	}
	return e.Hint
}

func contractNext(e codes.Entry) string {
	switch {
	case e.NoNext != "":
		return "-"
	case e.Next == "":
		return "composed"
	}
	next := strings.NewReplacer("{mergeId}", "M", "{operation}", "COMMAND").Replace(e.Next)
	return regexp.MustCompile(`\{\w+\}`).ReplaceAllString(next, "ID")
}

func yn(b bool) string {
	if b {
		return "y"
	}
	return "n"
}

func TestTheLogTitleOfAFailedLockIsThePublishedOne(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "File lock failed", codes.LockFailed.Entry().Title)
}

func TestDetailsListsTheKeysThatFillARow(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"from", "to", "current", "threadId"}, codes.InvalidTransition.Entry().Details())
	assert.Equal(t, []string{"path", "threadId"}, codes.ScopeNotFound.Entry().Details())
	assert.Empty(t, codes.Interrupted.Entry().Details())
}

func TestAnUnlistedCodeHasTheRowOfUnknown(t *testing.T) {
	t.Parallel()
	assert.Equal(t, codes.Unknown.Entry(), codes.Code("T999").Entry())
	assert.Equal(t, codes.Unknown.Entry(), codes.Code("").Entry())
}

func TestTableReturnsACopy(t *testing.T) {
	t.Parallel()
	codes.Table()[0].Title = "changed"
	assert.Equal(t, "Thread not found", codes.Table()[0].Title)
}

func TestMarkdownShowsEveryCode(t *testing.T) {
	t.Parallel()
	var b, again bytes.Buffer
	require.NoError(t, codes.WriteMarkdown(&b))
	require.NoError(t, codes.WriteMarkdown(&again))
	doc := b.String()
	assert.Equal(t, doc, again.String())
	for _, e := range codes.Table() {
		assert.Equal(t, 1, strings.Count(doc, "\n### "+string(e.Code)+"\n"), "%s has one section", e.Code)
		assert.Equal(t, 1, strings.Count(doc, "\n| ["+string(e.Code)+"]("), "%s has one line in the overview", e.Code)
	}
	assert.Contains(t, doc, "| [T101](#t101) | `thread_not_found` | Thread '{threadId}' not found | 11 | yes | no | yes |\n")
	assert.Contains(t, doc, `
### T103

Mistake limit reached: `+"`mistake_limit`"+`, exit status 11.

> Thread '{threadId}' was suspended after {count} failed commands in a row. Only a person can resume it.

Causes:

- The same failing command was repeated without changing anything.
- A tool or a permission that the thread needs is missing.

What to do: Ask a person to review and resume it.

Next: none. A person has to review the failures before the thread continues.

Details: `+"`threadId`, `count`"+`

Example: `+"`leslie --as agent resume thread-xyz`"+`
`)
	assert.Contains(t, doc, "Next: `leslie status {threadId}`\n")
	assert.Contains(t, doc, "Next: depends on the call.\n")
	assert.NotContains(t, doc, "..\n", "no sentence ends twice")
}

func TestMarkdownReportsAFailedWrite(t *testing.T) {
	t.Parallel()
	assert.ErrorIs(t, codes.WriteMarkdown(fullDisk{}), errFull)
}

var errFull = errors.New("full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
