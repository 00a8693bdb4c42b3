//go:build unix

package main

import (
	"regexp"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests answer questions with a person at a real pseudo-terminal.

const askAnswer = "Your answer, 1 to 2? [l]ater [q]uit [?]:"

// asked lets a thread ask and returns the id of the question.
func (b *bench) asked(t *testing.T, id, question string, choices ...string) string {
	t.Helper()
	line := []string{"ask", id, "--question", question, "--format", "json", "--as", "agent", "--actor", "bot"}
	for _, choice := range choices {
		line = append(line, "--choice", choice)
	}
	b.must(t, line...)
	return regexp.MustCompile("q-[0-9a-z]+").FindString(b.out.String())
}

// replies returns the answers to all questions, "" for those that are open.
func (b *bench) replies(t *testing.T) map[string]string {
	t.Helper()
	b.must(t, "questions", "--all", "--format", "json")
	out := map[string]string{}
	items, _ := document(t, b.out.Bytes()).Data["items"].([]any)
	for _, item := range items {
		q, _ := item.(map[string]any)
		answer, _ := q["answer"].(string)
		question, _ := q["question"].(string)
		out[question] = answer
	}
	return out
}

// Without the id of a question nothing is answered that was not shown.
func TestAnswerWithoutTheIDOfAQuestionShowsAndAsks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		args  []string
		lines []string
		want  map[string]string
		left  string
	}{
		{"one after the other", nil, []string{"blue", "Oslo", "l"}, map[string]string{"Which?": "blue", "Where?": "Oslo", "When?": ""}, "1 still open"},
		{"a number, and what was not offered", nil, []string{"3", "green", "?", "", "1", "q"}, map[string]string{"Which?": "red", "Where?": "", "When?": ""}, "2 still open"},
		{"quit", nil, []string{"quit"}, map[string]string{"Which?": "", "Where?": "", "When?": ""}, "3 still open"},
		{"the terminal is closed", nil, []string{"2", "\x04"}, map[string]string{"Which?": "blue", "Where?": "", "When?": ""}, "2 still open"},
		{"those of a thread", []string{"part"}, []string{"Bergen"}, map[string]string{"Which?": "", "Where?": "Bergen", "When?": ""}, "no open questions"},
		{"a prefix of a thread", []string{"par"}, []string{"Bergen"}, map[string]string{"Which?": "", "Where?": "Bergen", "When?": ""}, "no open questions"},
		{"a text is confirmed", []string{"the one in Oslo"}, []string{"l", "y"}, map[string]string{"Which?": "", "Where?": "", "When?": "the one in Oslo"}, "2 still open"},
		{"a text for a thread", []string{"part", "Bergen"}, []string{"yes"}, map[string]string{"Which?": "", "Where?": "Bergen", "When?": ""}, "no open questions"},
		{"a choice is confirmed", []string{"--choice", "2"}, []string{"y"}, map[string]string{"Which?": "blue", "Where?": "", "When?": ""}, "2 still open"},
		{"another answer", []string{"None of them", "--other"}, []string{"y"}, map[string]string{"Which?": "None of them", "Where?": "", "When?": ""}, "2 still open"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newProject(t)
			b.asked(t, "main", "Which?", "red", "blue")
			b.asked(t, "part", "Where?")
			b.asked(t, "main", "When?")
			shown, status := typing(t, b, []string{noColours}, tt.lines, append([]string{"answer"}, tt.args...)...)
			assert.Zero(t, status, shown)
			assert.Equal(t, tt.want, b.replies(t), shown)
			assert.Contains(t, shown, tt.left)
			b.requireOneOperationEach(t)
		})
	}
}

// An answer to the only question that there is has to be one that was offered, too.
func TestAnAnswerThatWasNotOfferedIsRefusedBeforeItIsConfirmed(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.asked(t, "main", "Which?", "red", "blue")
	for _, line := range [][]string{{"answer", "green"}, {"answer", "3"}, {"answer", "--choice", "green"}, {"answer", "main", "green"}} {
		shown, status := typing(t, b, []string{noColours}, nil, line...)
		assert.Equal(t, 2, status, shown)
		assert.Contains(t, shown, "was not offered: choose red, blue")
	}
	shown, status := typing(t, b, []string{noColours}, []string{"q"}, "answer")
	assert.Zero(t, status, shown)
	assert.Contains(t, shown, "Which?\n    1. red\n    2. blue\n"+askAnswer)
	shown, status = typing(t, b, []string{noColours}, nil, "answer", "part")
	assert.Zero(t, status, shown)
	assert.Contains(t, shown, "no open questions")
	assert.Equal(t, map[string]string{"Which?": ""}, b.replies(t))
}

// A person may make the terminal narrower while they are asked.
func TestAPromptFitsATerminalThatWasResized(t *testing.T) {
	t.Parallel()
	b := newProject(t)
	b.asked(t, "main", "Which?", "red", "blue")
	s := openTerminal(t, b, 100, 24, noColours)
	s.start("answer")
	s.waitFor("[?]:")
	require.NoError(t, pty.Setsize(s.keys, &pty.Winsize{Cols: 40, Rows: 24}))
	s.send("green\r")
	s.waitFor("[?]:")
	written, _, _ := s.look()
	assert.Contains(t, written, "was not offered: choose red,\n  blue")
	s.send("q\r")
	assert.Zero(t, s.wait())
}
