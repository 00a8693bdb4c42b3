package merge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// A line of a source is kept, changed into one that nobody had, or dropped.
func TestAReportSaysWhatBecameOfEachSourcesLines(t *testing.T) {
	t.Parallel()
	base := files{"plan.md": "one\ntwo\nthree\n", "gone.md": "x\n", "pic": "\x00a"}
	ours := files{"plan.md": "one\ntwo of main\nthree\n", "gone.md": "x\n", "pic": "\x00a"}
	a := from{"a", base, files{"plan.md": "one\ntwo of a\nthree\nfour of a\n", "gone.md": "x\ny\n", "pic": "\x00b", "new.md": "1\n2\n"}}
	b := from{"b", base, files{"plan.md": "one\ntwo\nthree\nfive of b\n", "gone.md": "x\n", "pic": "\x00a"}}
	for name, c := range map[string]struct {
		decide func(d merge.Conflict) merge.Decision
		a, b   merge.Contribution
	}{
		"both": {func(merge.Conflict) merge.Decision { return merge.Decision{Take: "both"} },
			merge.Contribution{Thread: "a", Files: 4, Kept: 5}, merge.Contribution{Thread: "b", Files: 1, Kept: 1}},
		"ours": {func(merge.Conflict) merge.Decision { return merge.Decision{Take: "ours"} },
			merge.Contribution{Thread: "a", Files: 4, Kept: 3, Dropped: 2}, merge.Contribution{Thread: "b", Files: 1, Dropped: 1}},
		"a text": {func(d merge.Conflict) merge.Decision {
			return merge.Decision{Take: "text", Text: []byte("said anew\n" + d.Sides[0].Text)}
		},
			merge.Contribution{Thread: "a", Files: 4, Kept: 3, Changed: 2}, merge.Contribution{Thread: "b", Files: 1, Changed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(ours, a, b)
			for _, d := range planOf(t, in).Conflicts {
				in.Decisions[d.ID] = c.decide(d)
			}
			p := planOf(t, in)
			require.Zero(t, p.Open())
			got, err := p.Report(in.Sources, in.Read)
			require.NoError(t, err)
			assert.Equal(t, []merge.Contribution{c.a, c.b}, got)
		})
	}
	open, err := planOf(t, input(ours, a, b)).Report(input(ours, a, b).Sources, input(ours, a, b).Read)
	require.NoError(t, err)
	assert.Equal(t, merge.Contribution{Thread: "a", Files: 3, Kept: 3}, open[0], "what is open is not counted")
}

// What a merger moves is still there.
func TestALineThatAMergerMovedIsKept(t *testing.T) {
	t.Parallel()
	base := files{"todo.md": "- [ ] a\n- [ ] b\n"}
	in := input(files{"todo.md": "- [x] a\n- [ ] b\n- m\n"}, from{"a", base, files{"todo.md": "- [ ] a\n- [x] b\n- n\n"}})
	p := planOf(t, in)
	got, err := p.Report(in.Sources, in.Read)
	require.NoError(t, err)
	assert.Equal(t, []merge.Contribution{{Thread: "a", Files: 1, Kept: 2}}, got)
	assert.Equal(t, &merge.ConflictResult{Text: "- [x] a\n- [x] b\n- m\n- n\n"}, p.Conflicts[0].Result)
}
