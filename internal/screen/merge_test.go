package screen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"github.com/stretchr/testify/assert"

	"leslie/internal/screen"
)

func summary() screen.MergeSummary {
	files := []screen.MergeFile{
		{Path: "clean.md", Verb: "change", Note: "merged by lines"},
		{Path: "plan.md", Verb: "change", Decided: []string{"ours", "edited", "ours", "agent: theirs"}},
		{Path: "docs/a/very/long/path/to/計画/of/the/whole/project/design.md", Verb: "delete", Decided: []string{"theirs"}},
	}
	for i := range 12 {
		files = append(files, screen.MergeFile{Path: fmt.Sprintf("new-%d.md", i), Verb: "add", Note: "taken"})
	}
	return screen.MergeSummary{Files: files, Limit: 8, More: "diff shows all"}
}

func TestASummaryOfAMergeIsDrawnAsItWas(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, width := range []int{60, 100} {
		for _, colours := range []bool{false, true} {
			v := summary()
			v.Width, v.Colours = width, colours
			fmt.Fprintf(&b, "-- width %d, colours %t --\n%s\n", width, colours, strings.Join(v.Draw().Lines, "\n"))
		}
	}
	golden(t, "merge-summary", strings.ReplaceAll(b.String(), "\x1b", "␛"))
}

func TestNoLineOfASummaryIsWiderThanTheScreen(t *testing.T) {
	t.Parallel()
	for width := 40; width <= 120; width += 9 {
		v := summary()
		v.Width, v.Limit = width, 0
		d := v.Draw()
		assert.False(t, d.Shortened)
		for _, line := range d.Lines {
			assert.LessOrEqual(t, displaywidth.String(line), width, line)
		}
	}
}
