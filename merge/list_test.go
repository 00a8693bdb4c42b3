package merge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

func TestListResolvesWhatItCanProve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"both ticked, one each": {
			"- [ ] a\n- [ ] b\n", "- [x] a\n- [ ] b\n", "- [ ] a\n- [x] b\n", "- [x] a\n- [x] b\n"},
		"both ticked the same and more": {
			"- [ ] a\n- [ ] b\n", "- [x] a\n- [ ] b\n", "- [x] a\n- [x] b\n", "- [x] a\n- [x] b\n"},
		"one ticked, one unticked": {
			"- [ ] a\n- [x] b\n", "- [x] a\n- [x] b\n", "- [ ] a\n- [ ] b\n", "- [x] a\n- [ ] b\n"},
		"both appended": {
			"# P\n- a\n", "# P\n- a\n- b\n", "# P\n- a\n- c\n- d\n", "# P\n- a\n- b\n- c\n- d\n"},
		"ours come first, whatever they read": {
			"- a\n", "- a\n- z\n", "- a\n- b\n", "- a\n- z\n- b\n"},
		"both wrote the list": {
			"", "- a\n", "- b\n", "- a\n- b\n"},
		"the same item from both once": {
			"- a\n", "- a\n- b\n- c\n", "- a\n- c\n- d\n", "- a\n- b\n- c\n- d\n"},
		"ticked against appended": {
			"- [ ] a\n", "- [x] a\n", "- [ ] a\n- [ ] b\n", "- [x] a\n- [ ] b\n"},
		"ticked against inserted before": {
			"- [ ] a\n", "- [x] a\n", "- [ ] b\n- [ ] a\n", "- [ ] b\n- [x] a\n"},
		"sub-items go under their item": {
			"- a\n- b\n", "- a\n  - a1\n- b\n", "- a\n- c\n- b\n", "- a\n  - a1\n- c\n- b\n"},
		"and do so from either side": {
			"- a\n- b\n", "- a\n- c\n- b\n", "- a\n  - a1\n- b\n", "- a\n  - a1\n- c\n- b\n"},
		"equal sub-items under different items": {
			"- a\n", "- a\n- b\n  - tests\n", "- a\n- c\n  - tests\n", "- a\n- b\n  - tests\n- c\n  - tests\n"},
		"one side numbered on": {
			"1. a\n2. [ ] b\n", "1. a\n2. [x] b\n", "1. a\n2. [ ] b\n3. c\n", "1. a\n2. [x] b\n3. c\n"},
		"CRLF": {
			"- a\r\n", "- a\r\n- b\r\n", "- a\r\n- c\r\n", "- a\r\n- b\r\n- c\r\n"},
		"no final newline anywhere": {
			"- a", "- a\n- b", "- a\n- c", "- a\n- b\n- c"},
		"no final newline in the base": {
			"- [ ] a", "- [x] a", "- [ ] a\n- c\n", "- [x] a\n- c\n"},
		"a final newline that one side took away": {
			"- [ ] a\n", "- [x] a\n", "- [ ] a\n- b", "- [x] a\n- b"},
		"CRLF without a final newline": {
			"x\r\n- a", "x\r\n- a\r\n- b", "x\r\n- a\r\n- c", "x\r\n- a\r\n- b\r\n- c"},
		"before a heading": {
			"- a\n# H\n", "- a\n- b\n# H\n", "- a\n- c\n# H\n", "- a\n- b\n- c\n# H\n"},
		"before a paragraph": {
			"- a\n\ntext\n", "- a\n- b\n\ntext\n", "- a\n- c\n\ntext\n", "- a\n- b\n- c\n\ntext\n"},
		"after a closed code block": {
			"```\nx\n```\n- a\n", "```\nx\n```\n- a\n- b\n", "```\nx\n```\n- a\n- c\n", "```\nx\n```\n- a\n- b\n- c\n"},
		"after front matter and a comment": {
			"---\nk: v\n---\n<!-- c -->\n- a\n", "---\nk: v\n---\n<!-- c -->\n- a\n- b\n", "---\nk: v\n---\n<!-- c -->\n- a\n- c\n",
			"---\nk: v\n---\n<!-- c -->\n- a\n- b\n- c\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := merge.Text([]byte(c.base), []byte(c.ours), []byte(c.theirs))
			require.NotEmpty(t, r.Conflicts(), "the line merge alone cannot do it")
			r, verdicts := merge.Settle("plan/progress.md", r, merge.List)
			for _, v := range verdicts {
				assert.Empty(t, v.Refused)
				assert.Equal(t, "list", r.Hunks[v.Hunk].How)
			}
			got, _ := r.Merged()
			assert.Equal(t, c.want, string(got))
		})
	}
}

func TestListRefusesWhatItCannotProve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, ours, theirs, because string }{
		"removed against ticked": {
			"- [ ] a\n- [ ] b\n", "- [ ] b\n", "- [x] a\n- [ ] b\n", `one side removed, moved or reworded "- [ ] a"`},
		"removed against appended": {
			"- a\n- b\n", "- a\n", "- a\n- b\n- c\n", `one side removed, moved or reworded "- b"`},
		"reworded": {
			"- a\n", "- a bit\n", "- a\n- b\n", `one side removed, moved or reworded "- a"`},
		"both reworded": {
			"- a\n", "- a one\n", "- a two\n", `one side removed, moved or reworded "- a"`},
		"got a box": {
			"- a\n", "- [ ] a\n", "- a\n- b\n", `one side removed, moved or reworded "- a"`},
		"indented": {
			"- a\n- b\n", "- a\n  - b\n", "- a\n- b\n- c\n", `one side removed, moved or reworded "- b"`},
		"renumbered": {
			"1. a\n2. b\n", "1. a\n2. x\n3. b\n", "1. a\n2. b\n3. c\n", `one side removed, moved or reworded "2. b"`},
		"one box in two ways": {
			"- [ ] a\n", "- [x] a\n", "- [X] a\n", `"- [ ] a" was changed in two ways`},
		"added with two states": {
			"- a\n", "- a\n- [ ] b\n", "- a\n- [x] b\n", `"- [x] b" was added in two ways`},
		"added with different sub-items": {
			"- a\n", "- a\n- b\n  - c\n", "- a\n- b\n  - d\n", `"- b" was added in two ways`},
		"added in two places": {
			"- [ ] a\n", "- n\n- [x] a\n", "- [x] a\n- n\n", `"- n" was added in two places`},
		"items that read alike": {
			"- [ ] a\n- [ ] a\n", "- [x] a\n- [ ] a\n", "- [ ] a\n- [x] a\n", `"- [ ] a" occurs more than once`},
		"both numbered on": {
			"1. a\n", "1. a\n2. b\n", "1. a\n2. c\n", `several sides numbered items from "2. b" on`},
		"a paragraph": {
			"- a\n", "- a\ntext\n", "- a\n- b\n", `"text" is not a list item`},
		"a blank line": {
			"- a\n", "- a\n\n- b\n", "- a\n- c\n", `"" is not a list item`},
		"a rule": {
			"- a\n", "- a\n* * *\n", "- a\n- b\n", `"* * *" is not a list item`},
		"an item without text": {
			"- a\n", "- a\n- \n", "- a\n- b\n", `"- " is not a list item`},
		"an item that opens a code block": {
			"- a\n", "- a\n- ```sh\n", "- a\n- b\n", "\"- ```sh\" is not a list item"},
		"a sub-item below would change its parent": {
			"- a\n  - a1\n", "- a\n- b\n  - a1\n", "- a\n- c\n  - a1\n", `"  - a1" below would belong to another item`},
		"an added sub-item would change its parent": {
			"- a\n- z\n", "- a\n  - a1\n- b\n- z\n", "- a\n  - a2\n- c\n- z\n", `"  - a2" would belong to another item`},
		"a paragraph that belongs to the last item": {
			"- a\ntext\n", "- a\n- b\ntext\n", "- a\n- c\ntext\n", `"text" below may belong to an item`},
		"an indented paragraph below": {
			"- a\n\n  text\n", "- a\n- b\n\n  text\n", "- a\n- c\n\n  text\n", `"  text" below may belong to an item`},
		"lines that end differently": {
			"- a\n", "- a\n- b\r\n", "- a\n- c\n", "its line endings differ"},
		"a lone carriage return at the end": {
			"", "- a\r", "- b\r", "its line endings differ"},
		"a code block": {
			"```\n- a\n```\n", "```\n- a\n- b\n```\n", "```\n- a\n- c\n```\n", "it is in a code block, a comment or the front matter"},
		"a code block that never ends": {
			"~~~\n- a\n", "~~~\n- a\n- b\n", "~~~\n- a\n- c\n", "it is in a code block, a comment or the front matter"},
		"a comment": {
			"<!--\n- a\n-->\n", "<!--\n- a\n- b\n-->\n", "<!--\n- a\n- c\n-->\n", "it is in a code block, a comment or the front matter"},
		"front matter": {
			"---\n- a\n---\n", "---\n- a\n- b\n---\n", "---\n- a\n- c\n---\n", "it is in a code block, a comment or the front matter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := merge.Text([]byte(c.base), []byte(c.ours), []byte(c.theirs))
			settled, verdicts := merge.Settle("plan.md", r, merge.List)
			require.Len(t, verdicts, 1)
			assert.Equal(t, c.because, verdicts[0].Refused)
			assert.Equal(t, r.Hunks, settled.Hunks, "a refused conflict stays as it was")
		})
	}
}

func TestListRefusesFilesThatAreNotMarkdown(t *testing.T) {
	t.Parallel()
	r := merge.Text([]byte("- a\n"), []byte("- a\n- b\n"), []byte("- a\n- c\n"))
	for _, path := range []string{"list.yaml", "md", "a.md/list"} {
		_, verdicts := merge.Settle(path, r, merge.List)
		require.Len(t, verdicts, 1)
		assert.Equal(t, "the file is not Markdown", verdicts[0].Refused, path)
	}
	_, verdicts := merge.Settle("NOTES.MD", r, merge.List)
	assert.Empty(t, verdicts[0].Refused)
}

func TestListTakesManySidesInAnyOrder(t *testing.T) {
	t.Parallel()
	base := []byte("- [ ] a\n- [ ] b\n")
	one, two, three := []byte("- [x] a\n- [ ] b\n- one\n"), []byte("- [ ] a\n- [x] b\n- two\n"), []byte("- [ ] a\n- [ ] b\n- three\n")
	for _, sources := range [][][]byte{{one, two, three}, {three, two, one}, {two, one, three}} {
		r, _ := merge.Settle("p.md", merge.Texts(base, append([][]byte{base}, sources...)...), merge.List)
		got, clean := r.Merged()
		assert.True(t, clean)
		assert.Equal(t, "- [x] a\n- [x] b\n- one\n- three\n- two\n", string(got))
	}
}

func TestSettleAppliesEveryMergerToTheRest(t *testing.T) {
	t.Parallel()
	r := merge.Text([]byte("- a\nx\nb\n"), []byte("- a\n- b\nx\nY\n"), []byte("- a\n- c\nx\nZ\n"))
	require.Len(t, r.Conflicts(), 2)
	asked := 0
	rest := func(_ string, r *merge.Result) []merge.Verdict {
		asked = len(r.Conflicts())
		return []merge.Verdict{{Hunk: r.Conflicts()[0], How: "rest", Text: []byte("1\n")}, {Hunk: r.Conflicts()[1], How: "rest", Text: []byte("2\n")}}
	}
	settled, verdicts := merge.Settle("p.md", r, merge.List, rest)
	assert.Equal(t, 2, asked, "the list is followed by text, so List refuses both")
	assert.Len(t, verdicts, 4)
	got, clean := settled.Merged()
	assert.True(t, clean)
	assert.Equal(t, "- a\n1\nx\n2\n", string(got))
}
