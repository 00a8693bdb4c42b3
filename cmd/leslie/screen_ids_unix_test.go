//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// atEachWidth runs a test on terminals of 60, 80 and 100 columns; its goldens are named
// NAME-COLUMNS.
func atEachWidth(t *testing.T, test func(t *testing.T, columns int, golden func(s *terminal, name string))) {
	t.Helper()
	t.Parallel()
	for _, columns := range []int{60, 80, 100} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			test(t, columns, func(s *terminal, name string) {
				t.Helper()
				s.golden(fmt.Sprintf("%s-%d", name, columns))
			})
		})
	}
}

func TestAnErrorListsWhatIsMeantForAPerson(t *testing.T) {
	atEachWidth(t, errorsListWhatIsMeant)
}

func errorsListWhatIsMeant(t *testing.T, columns int, golden func(*terminal, string)) {
	b := newProject(t)
	for _, id := range []string{"thread-one", "thread-two"} {
		b.must(t, "spawn", "--id", id, "--intent", "Write the "+id)
	}
	s := openTerminal(t, b, columns, 40)
	s.start("status", "thread-")
	assert.Equal(t, 11, s.wait())
	s.start("status", "thread-t")
	assert.Zero(t, s.wait())
	s.clear()
	b.must(t, "spawn", "--id", "thread-twin", "--intent", "Write it again")
	s.start("done", "thread-tw")
	assert.Equal(t, 11, s.wait())
	s.start("objective", "done", "ship")
	assert.Equal(t, 16, s.wait())
	s.start("spawn")
	assert.Equal(t, 2, s.wait())
	golden(s, "errors_list_what_is_meant")
}

func TestAPersonNeedNotNameTheOnlyOneThereIs(t *testing.T) {
	atEachWidth(t, theOnlyOneIsTaken)
}

func theOnlyOneIsTaken(t *testing.T, columns int, golden func(*terminal, string)) {
	b := newProject(t)
	s := openTerminal(t, b, columns, 40)
	s.run("objective", "status")
	s.start("merge", "status")
	assert.Equal(t, 2, s.wait())
	golden(s, "the_only_one_is_taken")

	s.clear()
	b.must(t, "transfer", "main", "--scope", "deploy")
	b.must(t, "transfer", "part", "--scope", "deploy")
	for _, line := range [][]string{{"deny"}, {"approve", "part"}, {"deny", "main"}} {
		s.start(line...)
		s.waitFor("Your decision?")
		s.send("quit\r")
		assert.Zero(t, s.wait())
	}
	golden(s, "without_the_id_of_a_request_it_asks")

	s.clear()
	b.must(t, "ask", "main", "--question", "Which port?", "--choice", "80", "--choice", "8080")
	b.must(t, "ask", "part", "--question", "Which host?")
	s.start("answer")
	s.waitFor("[?]:")
	s.send("3\r")
	s.waitFor("[?]:")
	s.send("2\r")
	s.waitFor("[?]:")
	s.send("?\r")
	s.waitFor("[?]:")
	s.send("later\r")
	assert.Zero(t, s.wait())
	s.start("answer", "part", "the one in Oslo")
	s.waitFor("[?]:")
	s.send("yes\r")
	assert.Zero(t, s.wait())
	golden(s, "without_the_id_of_a_question_it_asks")
}

func TestThePendingMergeNeedsNoIDFromAPerson(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	id := pendingMergeOf(t, b)
	s := openTerminal(t, b, 80, 24)
	s.run("merge", "status")
	assert.Contains(t, strings.Join(s.lines(), "\n"), id+" (into main) is the only pending merge")
	s.run("merge", "resolve", "--take", "ours")
	s.run("merge", "continue")
	b.must(t, "history", "--limit", "1", "--format", "json")
	assert.Contains(t, b.out.String(), `"operands":["`+id+`"]`)
	s.start("merge", "abort")
	assert.Equal(t, 2, s.wait())
	assert.Contains(t, strings.Join(s.lines(), "\n"), "the operand M is missing, and no merge is pending")
}

// TestALoneOperandIsTheTextOrThePath: a text is never taken for an id, and an id that is
// wrong never for a text.
func TestALoneOperandIsTheTextOrThePath(t *testing.T) {
	atEachWidth(t, loneOperands)
}

func loneOperands(t *testing.T, columns int, golden func(*terminal, string)) {
	b := newProject(t)
	s := openTerminal(t, b, columns, 60)
	b.must(t, "ask", "main", "--question", "Which port?")
	s.start("answer", "q-nothing")
	assert.Equal(t, 2, s.wait())
	s.run("answer", "part")
	for _, answer := range []string{"later", "yes"} {
		s.start("answer", "the one in Oslo")
		s.waitFor("[?]:")
		s.send(answer + "\r")
		assert.Zero(t, s.wait())
	}
	b.must(t, "ask", "main", "--question", "How few?", "--choice", "one", "--choice", "none")
	s.start("answer", "3 of them")
	assert.Equal(t, 2, s.wait())
	golden(s, "a_lone_text_is_the_answer")

	b = diverged(t)
	s = openTerminal(t, b, columns, 60)
	require.Equal(t, 13, b.leslie("merge", "--sources", "child", "--target", "main", "--as", "agent", "--actor", "bot"))
	s.start("merge", "resolve", "merge-nothing", "--take", "ours")
	assert.Equal(t, 13, s.wait())
	s.run("merge", "resolve", "plan.md", "--take", "theirs")
	golden(s, "a_lone_path_is_resolved")
}

func TestHelpFitsTheScreen(t *testing.T) {
	atEachWidth(t, func(t *testing.T, columns int, golden func(*terminal, string)) {
		s := openTerminal(t, newProject(t), columns, 44) // 60 columns break more lines
		for name, args := range map[string][]string{"help": {"help"}, "help-merge": {"help", "merge"}, "help-answer": {"answer", "--help"}} {
			s.clear()
			s.run(args...)
			assert.NotEmpty(t, s.lines()[0], "its beginning is still there")
			golden(s, name)
		}
	})
}

func TestNotesBreakBetweenWords(t *testing.T) {
	t.Parallel()
	b := diverged(t)
	s := openTerminal(t, b, 60, 60)
	s.start("merge", "child", "main")
	s.waitFor("[?]:")
	s.send("quit\r")
	assert.Equal(t, 13, s.wait())
	assert.Contains(t, s.lines(), "left pending; go on with leslie merge continue")
	b.asks(t, "child", "deploy")
	s.run("list")
	assert.Regexp(t, `1 approval: child asks for deploy: leslie approve\nappr-\d+$`, strings.Join(s.lines(), "\n"))
}
