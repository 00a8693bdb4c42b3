package screen_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/internal/screen"
	"leslie/merge"
)

var update = flag.Bool("update", false, "write the golden drawings anew")

// golden compares drawings with testdata/NAME.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "if it is meant to change: go test ./internal/screen -update")
}

// conflictsOf returns the conflicts of a merge of child into main, and the plan.
func conflictsOf(t *testing.T, path, base, ours, theirs string) []merge.Conflict {
	t.Helper()
	texts := map[string][]byte{}
	file := func(text string) merge.File {
		if text == "" {
			return merge.File{}
		}
		hash := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		texts[hash] = []byte(text)
		return merge.File{Hash: hash, Size: int64(len(text))}
	}
	tree := func(text string) merge.Tree {
		if f := file(text); f.There() {
			return merge.Tree{Files: map[string]merge.File{path: f}}
		}
		return merge.Tree{}
	}
	was := merge.Base{File: file(base), From: "spawn of child"}
	plan, err := merge.Make(merge.Input{
		Target: "main", Tree: tree(ours), Read: func(hash string) ([]byte, error) { return texts[hash], nil },
		Sources: []merge.Source{{ID: "child", Title: "Design API", Tree: tree(theirs), Base: func(string) merge.Base { return was }}},
	})
	require.NoError(t, err)
	require.NotEmpty(t, plan.Conflicts)
	return plan.Conflicts
}

func numbered(n int, change string, at int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if i == at {
			b.WriteString(change + "\n")
			continue
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// drawn has one conflict of every sort.
func drawn(t *testing.T) map[string]screen.Conflict {
	t.Helper()
	long := func(word string) string {
		return strings.Repeat("so it goes on and on, ", 20) + "until the " + word + " comes, " + strings.Repeat("and goes on again, ", 20) + "to the end\n"
	}
	one := func(path, base, ours, theirs string) screen.Conflict {
		return screen.Conflict{Conflict: conflictsOf(t, path, base, ours, theirs)[0], Number: 3, Total: 11, Titles: map[string]string{"main": "The main thread"}}
	}
	out := map[string]screen.Conflict{
		"content":       one("plan.md", "one\ntwo words here\nthree\n", "one\ntwo words there\nthree\n", "one\ntwo other words here\nthree\n"),
		"added":         one("plan.md", "one\nthree\n", "one\nours\nthree\n", "one\ntheirs\nthree\n"),
		"dropped":       one("plan.md", "one\ntwo\nthree\n", "one\nthree\n", "one\ntwo of child\nthree\n"),
		"modify-delete": one("plan.md", "one\ntwo\n", "", "one\ntwo of child\n"),
		"add-add":       one("new.md", "", "ours\n", "theirs\n"),
		"binary":        one("logo.png", "\x00base", "\x00ours!", "\x00theirs"),
		"long line":     one("plan.md", long("winter"), long("summer"), long("night")),
		"long side":     one("plan.md", numbered(60, "", 0), "", numbered(60, "changed \x1b[2J here", 30)),
		"wide":          one("計画.md", "一\n今日は東京へ行きます、明日は大阪へ行きます、そして京都へ行きます\n三\n", "一\n今日は名古屋へ行きます、明日は大阪へ行きます、そして京都へ行きます\n三\n", "一\n👩‍💻 今日は休みます é\n三\n"),
		"line ends":     one("plan.md", "one\r\ntwo\r\n", "one\r\ntwo of main\r\n", "one\r\ntwo of child"),
		"tabs":          one("main.go", "func f() {\n\treturn 1\n}\n", "func f() {\n\treturn 2\n}\n", "func f() {\n\treturn\t3\n}\n"),
	}
	binary := out["binary"]
	saved := time.Date(2026, 11, 22, 20, 15, 0, 0, time.UTC)
	binary.Files, binary.Base = []screen.File{{Size: 6, Modified: saved}, {Size: 1234567, Modified: saved.Add(time.Hour)}}, screen.File{Size: 5}
	out["binary"] = binary
	decided := out["content"]
	decided.Decided = "theirs"
	out["decided"] = decided
	return out
}

func TestConflictsAreDrawnAsTheyWere(t *testing.T) {
	t.Parallel()
	for name, v := range drawn(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			v.More = "v shows all"
			for _, width := range []int{60, 100} {
				for _, colours := range []bool{false, true} {
					v.Width, v.Colours = width, colours
					fmt.Fprintf(&b, "-- width %d, colours %t --\n%s\n", width, colours, strings.Join(v.Draw().Lines, "\n"))
				}
			}
			golden(t, "conflict-"+strings.ReplaceAll(name, " ", "-"), strings.ReplaceAll(b.String(), "\x1b", "␛"))
		})
	}
}

func TestNoLineOfAConflictIsWiderThanTheScreen(t *testing.T) {
	t.Parallel()
	for name, v := range drawn(t) {
		for _, all := range []bool{false, true} {
			for width := 20; width <= 120; width += 7 {
				v.Width, v.All = width, all
				for _, line := range v.Draw().Lines {
					assert.LessOrEqual(t, displaywidth.String(line), width, "%s: %s", name, line)
					assert.NotContains(t, line, "\x1b", "nothing that a file has speaks with the terminal")
				}
			}
		}
	}
}

func TestWhatALongSideLeavesOutCanBeSeen(t *testing.T) {
	t.Parallel()
	v := drawn(t)["long side"]
	v.Width = 80
	short := v.Draw()
	assert.True(t, short.Shortened)
	assert.Contains(t, strings.Join(short.Lines, "\n"), "changed", "what is changed is not left out")
	v.All = true
	whole := v.Draw()
	assert.False(t, whole.Shortened)
	for i := 1; i <= 60; i++ {
		if i != 30 {
			assert.Contains(t, whole.Lines, fmt.Sprintf("    line %d", i))
		}
	}
}

// A side may have the very lines that stand around a conflict.
func TestCommonLinesCannotBeTakenForASide(t *testing.T) {
	t.Parallel()
	v := screen.Conflict{Conflict: conflictsOf(t, "plan.md", "same\nbase\nsame\n", "same\nsame\nsame\n", "same\nother\nsame\n")[0], Width: 80}
	lines := v.Draw().Lines
	assert.Contains(t, lines, "  │ same")
	assert.Contains(t, lines, "  > same")
}
