package screen

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"leslie/thread"
)

// texts is a row of plain cells.
func texts(all ...string) []Cell {
	var row []Cell
	for _, one := range all {
		row = append(row, Text(one))
	}
	return row
}

func TestATableThatFitsIsDrawnAsItIs(t *testing.T) {
	t.Parallel()
	table := Table{
		Columns: []Column{{Name: "ID"}, {Name: "BY", DropOrder: 1}, {Name: "TITLE", Shrinks: true}},
		Rows:    [][]Cell{texts("a", "kim", "One"), texts("long", "", "Two words")},
	}
	assert.Equal(t, []string{"ID    BY   TITLE", "a     kim  One", "long  -    Two words"}, table.Draw(80, false))
}

func TestATextIsCutBeforeAColumnGoes(t *testing.T) {
	t.Parallel()
	table := Table{
		Columns: []Column{{Name: "ID"}, {Name: "EXECUTOR", DropOrder: 1}, {Name: "PARENT", DropOrder: 2}, {Name: "TITLE", Shrinks: true}},
		Rows:    [][]Cell{texts("t1", "agent", "t0", strings.Repeat("word ", 20))},
	}
	tests := []struct {
		width int
		want  string
	}{
		{60, "t1  agent     t0      word word word word word word word wo…"},
		{46, "t1  agent     t0      word word word word wor…"},
		{45, "t1  t0      word word word word word word wo…"},
		{35, "t1  word word word word word word …"},
		{20, "t1  word word word …"},
		{5, "t1"},
		{1, "…"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, table.Draw(tt.width, false)[1], "%d", tt.width)
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	table := Table{
		Columns: []Column{{Name: "THREAD"}, {Name: "STATUS"}, {Name: "PATH", Shrinks: true, CutStart: true}, {Name: "BY", DropOrder: 1}, {Name: "TITLE", Shrinks: true}},
		Rows: [][]Cell{
			texts("thread-a1b2c3d4", "waiting_human", "design/deep/plan.md", "kim", "日本語のタイトルは二つのセルを使います"),
			texts(strings.Repeat("x", 70), "active", "e\u0301.md", "", "👩\u200d💻 and 🇩🇪🇫🇷 and e\u0301e\u0301e\u0301"),
			texts("t", "", strings.Repeat("中/", 60), strings.Repeat("k", 40), "\x1b[2J\u202eevil\n"),
		},
	}
	for width := 1; width < 200; width++ {
		for _, one := range table.Draw(width, false) {
			assert.LessOrEqual(t, cells(one), width, "%d: %q", width, one)
		}
	}
}

// TestCutsAreMeasuredInCells has widths that are known from Unicode, not from the library.
func TestCutsAreMeasuredInCells(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text  string
		width int
		want  string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"中文字", 6, "中文字"},
		{"中文字", 5, "中文…"},
		{"中文字", 4, "中…"}, // half a character is none
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"👩\u200d💻👩\u200d💻", 4, "👩\u200d💻👩\u200d💻"},
		{"👩\u200d💻👩\u200d💻", 3, "👩\u200d💻…"},
		{"🇩🇪🇫🇷x", 5, "🇩🇪🇫🇷x"},
		{"🇩🇪🇫🇷x", 4, "🇩🇪…"},
		{"ab", 1, "…"},
		{"ab", 0, ""},
	}
	for _, tt := range tests {
		got := cut(tt.text, tt.width)
		if tt.width == 0 {
			got = strings.TrimSuffix(got, "…") // there is no room for it
		}
		assert.Equal(t, tt.want, got, "%q at %d", tt.text, tt.width)
	}
	assert.Equal(t, "…/plan.md", cutStart("design/deep/plan.md", 9))
	assert.Equal(t, "…字.md", cutStart("中文字.md", 7))
}

func TestOnlyTheJoinersOfEmojiStay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"👩\u200d💻 ❤\ufe0f\u200d🔥 👩🏽\u200d🚀": "👩\u200d💻 ❤\ufe0f\u200d🔥 👩🏽\u200d🚀",
		"a\u200db\u200d":                `a\u200db\u200d`,
		"💻\u200d\u202e":                 `💻\u200d\u202e`,
		"\x1b[31mred\x07\r\n\u2028\xff": `\x1b[31mred\a\r\n\u2028` + "\uFFFD",
		"line one\u200bline":            `line one\u200bline`,
	} {
		assert.Equal(t, want, visible(text))
	}
}

func TestColoursDoNotChangeTheWidthOfATable(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []Column{{Name: "STATUS"}, {Name: "TITLE", Shrinks: true}}}
	for _, s := range thread.Statuses() {
		table.Rows = append(table.Rows, []Cell{StatusCell(s), Text("\x1b[31mA long title of one thread")})
	}
	bare, coloured := table.Draw(30, false), table.Draw(30, true)
	for i := range coloured {
		without := strings.NewReplacer("\x1b[38;5;243m", "", "\x1b[38;5;29m", "", "\x1b[1m", "", "\x1b[0m", "").Replace(coloured[i])
		assert.Equal(t, bare[i], without)
	}
	assert.Contains(t, coloured[3], "\x1b[1mwaiting_human\x1b[0m")
	assert.NotContains(t, strings.Join(bare, ""), "\x1b")
}

func TestACommandGoesBelowItsRowAndIsNeverCut(t *testing.T) {
	t.Parallel()
	next := "leslie merge --sources thread-a1b2c3d4 --target thread-e5f6g7h8"
	table := Table{
		Columns: []Column{{}, {Shrinks: true}, {Below: true}},
		Rows:    [][]Cell{texts("  unmerged", "Write the tests of the parser", next)},
	}
	assert.Equal(t, []string{"  unmerged  Write the tests of the parser  " + next}, table.Draw(120, false))
	assert.Equal(t, []string{"  unmerged  Write the tests of the parser", "      " + next}, table.Draw(60, false))
	assert.Equal(t, []string{"  unmerged  Writ…", "      " + next}, table.Draw(17, false))
}

func TestRelativeTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		ago  time.Duration
		want string
	}{
		{0, "just now"},
		{59 * time.Second, "just now"},
		{-59 * time.Second, "just now"},
		{time.Minute, "1 min ago"},
		{3*time.Minute + 59*time.Second, "3 min ago"},
		{time.Hour, "1 h ago"},
		{23*time.Hour + 59*time.Minute, "23 h ago"},
		{2 * day, "2 d ago"},
		{59 * day, "59 d ago"},
		{60 * day, "2025-12-11"},
		{-5 * time.Minute, "in 5 min"},
		{-3 * day, "in 3 d"},
		{-60 * day, "2026-04-10"},
	} {
		assert.Equal(t, tt.want, Ago(now.Add(-tt.ago), now).Text)
	}
}

func TestAParagraphIsBrokenBetweenWords(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"  Which port should", "  the server use?", "", `  \x1b[2J`}, Paragraph("  ", "Which port should the server use?\n\n\x1b[2J", 20))
	assert.Equal(t, []string{"  中文字", "  中文字"}, Paragraph("  ", "中文字中文字", 9))
}

// BenchmarkAList draws a list of 1,000 threads.
func BenchmarkAList(b *testing.B) {
	table := Table{Columns: []Column{
		{Name: "THREAD"}, {Name: "STATUS"}, {Name: "EXECUTOR", DropOrder: 1}, {Name: "OBJECTIVE", DropOrder: 3}, {Name: "PARENT", DropOrder: 2},
		{Name: "UPDATED", DropOrder: 4}, {Name: "TITLE", Shrinks: true},
	}}
	now := time.Date(2026, 2, 9, 16, 0, 0, 0, time.UTC)
	for range 1000 {
		row := texts("thread-a1b2c3d4", "", "agent", "obj-a1b2c3d4", "thread-e5f6g7h8", "", "Write the parser and all of its tests, 日本語 too, and nothing else before the release")
		row[1], row[5] = StatusCell(thread.Active), Ago(now.Add(-time.Hour), now)
		table.Rows = append(table.Rows, row)
	}
	for b.Loop() {
		table.Draw(100, true)
	}
}
