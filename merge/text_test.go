package merge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// lines returns one line per character.
func lines(chars string) []byte {
	var out strings.Builder
	for _, c := range chars {
		out.WriteString(string(c) + "\n")
	}
	return []byte(out.String())
}

func TestTextMergesChangesThatDoNotTouch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"nothing":                       {"", "", "", ""},
		"no change":                     {"abc", "abc", "abc", "abc"},
		"only ours":                     {"abc", "aXc", "abc", "aXc"},
		"only theirs":                   {"abc", "abc", "abY", "abY"},
		"both, one line between":        {"abc", "Xbc", "abY", "XbY"},
		"the same change":               {"abc", "aXc", "aXc", "aXc"},
		"the same and one of its own":   {"abcde", "aXcde", "aXcdY", "aXcdY"},
		"both deleted alike":            {"abc", "ac", "ac", "ac"},
		"both wrote alike from nothing": {"", "ab", "ab", "ab"},
		"one emptied it":                {"abc", "", "abc", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, clean := merge.Text(lines(c.base), lines(c.ours), lines(c.theirs)).Merged()
			assert.True(t, clean)
			assert.Equal(t, string(lines(c.want)), string(got))
		})
	}
}

func TestTextConflictsWhereChangesTouch(t *testing.T) {
	t.Parallel()
	at := func(first, last int) merge.Range { return merge.Range{First: first, Last: last} }
	for name, c := range map[string]struct {
		base, ours, theirs       string
		inBase, inOurs, inTheirs merge.Range
	}{
		"the same line":                 {"abc", "aXc", "aYc", at(2, 2), at(2, 2), at(2, 2)},
		"lines next to each other":      {"abcd", "aXcd", "abYd", at(2, 3), at(2, 3), at(2, 3)},
		"two insertions in one place":   {"ab", "aXb", "aYZb", at(2, 1), at(2, 2), at(2, 3)},
		"an insertion next to a change": {"abc", "aXc", "abYc", at(2, 2), at(2, 2), at(2, 3)},
		"deleted against changed":       {"abc", "ac", "aYc", at(2, 2), at(2, 1), at(2, 2)},
		"one over two of the other":     {"abcde", "aXYZe", "aPcQe", at(2, 4), at(2, 4), at(2, 4)},
		"both from nothing":             {"", "X", "Y", at(1, 0), at(1, 1), at(1, 1)},
		"emptied against changed":       {"ab", "", "aY", at(1, 2), at(1, 0), at(1, 2)},
		"after a clean change":          {"abcde", "PQbcXe", "abcYe", at(4, 4), at(5, 5), at(4, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := merge.Text(lines(c.base), lines(c.ours), lines(c.theirs))
			_, clean := r.Merged()
			assert.False(t, clean)
			require.Len(t, r.Conflicts(), 1)
			h := r.Hunks[r.Conflicts()[0]]
			assert.Equal(t, c.inBase, h.Base)
			assert.Equal(t, []merge.Range{c.inOurs, c.inTheirs}, h.Sides)
			assert.Equal(t, []int{0, 1}, h.By)
		})
	}
}

func TestHunksCarryTextAndContext(t *testing.T) {
	t.Parallel()
	r := merge.Text(lines("abcdefgh"), lines("abXdefgH"), lines("abYdEfgJ"))
	require.Len(t, r.Conflicts(), 2)
	first, second := r.Conflicts()[0], r.Conflicts()[1]
	assert.Equal(t, "c\n", string(r.Base(first)))
	assert.Equal(t, "X\n", string(r.Side(first, 0)))
	assert.Equal(t, "Y\n", string(r.Side(first, 1)))

	before, after := r.Context(first, 3)
	assert.Equal(t, "a\nb\n", string(before))
	assert.Equal(t, "d\nE\nf\n", string(after), "the context is of the merged text")
	before, after = r.Context(second, 9)
	assert.Equal(t, "d\nE\nf\ng\n", string(before), "the context ends at the next conflict")
	assert.Empty(t, after)
}

func TestAnswersSettleConflicts(t *testing.T) {
	t.Parallel()
	r := merge.Text(lines("abcde"), lines("aXcPe"), lines("aYcQe"))
	require.Len(t, r.Conflicts(), 2)
	first, second := r.Conflicts()[0], r.Conflicts()[1]

	half := r.Answered(merge.Answer{Hunk: first, Text: []byte("one\n"), How: "user"})
	assert.Equal(t, []int{second}, half.Conflicts())
	assert.Len(t, r.Conflicts(), 2, "the merge itself stays as it was")

	whole := half.Answered(merge.Answer{Hunk: second, How: "user"}, merge.Answer{Hunk: first, Text: []byte("1\n"), How: "agent"},
		merge.Answer{Hunk: 0, Text: []byte("not asked"), How: "user"})
	got, clean := whole.Merged()
	assert.True(t, clean)
	assert.Equal(t, "a\n1\nc\ne\n", string(got))
	assert.Equal(t, "agent", whole.Hunks[first].How)
}

func TestTextsTakesManySides(t *testing.T) {
	t.Parallel()
	base := lines("abcdefg")
	got, clean := merge.Texts(base, base, lines("Xbcdefg"), lines("abYdefg"), lines("abcdefZ"), lines("Xbcdefg")).Merged()
	assert.True(t, clean)
	assert.Equal(t, string(lines("XbYdefZ")), string(got))

	r := merge.Texts(base, base, lines("abXdefg"), lines("abYdefZ"), lines("abcWefg"))
	require.Len(t, r.Conflicts(), 1)
	h := r.Hunks[r.Conflicts()[0]]
	assert.Equal(t, []int{1, 2, 3}, h.By, "the third source touches the conflict of the others")
	m := merge.Named("base", "main", "one", "two", "three")
	assert.Equal(t, "a\nb\n<<<<<<< one\nX\nd\n||||||| base\nc\nd\n======= two\nY\nd\n======= three\nc\nW\n>>>>>>> three\ne\nf\nZ\n",
		string(r.Render(m)))

	got, clean = merge.Texts(base).Merged()
	assert.True(t, clean, "without a side the base is the answer")
	assert.Equal(t, string(base), string(got))
}

func TestRenderWritesMarkers(t *testing.T) {
	t.Parallel()
	named := merge.Named("base", "ours", "theirs")
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"as git does": {"a\nb\n", "a\nX\n", "a\nY\n",
			"a\n<<<<<<< ours\nX\n||||||| base\nb\n=======\nY\n>>>>>>> theirs\n"},
		"an empty part": {"a\nb\n", "a\n", "a\nY\n",
			"a\n<<<<<<< ours\n||||||| base\nb\n=======\nY\n>>>>>>> theirs\n"},
		"CRLF": {"a\r\nb\r\n", "a\r\nX\r\n", "a\r\nY\r\n",
			"a\r\n<<<<<<< ours\r\nX\r\n||||||| base\r\nb\r\n=======\r\nY\r\n>>>>>>> theirs\r\n"},
		"no final newline": {"a\nb", "a\nX", "a\nY",
			"a\n<<<<<<< ours\nX\n||||||| base\nb\n=======\nY\n>>>>>>> theirs\n"},
		"longer than a run in the text": {"a\n=======\nb\n", "a\n=======\nX\n", "a\n=======\nY\n",
			"a\n=======\n<<<<<<<< ours\nX\n|||||||| base\nb\n========\nY\n>>>>>>>> theirs\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := merge.Text([]byte(c.base), []byte(c.ours), []byte(c.theirs))
			assert.Equal(t, c.want, string(r.Render(named)))
		})
	}
}

func TestRenderLabelsEveryConflict(t *testing.T) {
	t.Parallel()
	r := merge.Text(lines("abc"), lines("XbP"), lines("YbQ"))
	m := merge.Markers{Length: 7, Labels: func(n, total int) merge.Labels {
		return merge.Labels{Sides: []string{"ours " + strings.Repeat("I", n) + "/" + strings.Repeat("I", total), ""}}
	}}
	assert.Equal(t, "<<<<<<< ours I/II\nX\n|||||||\na\n=======\nY\n>>>>>>>\nb\n"+
		"<<<<<<< ours II/II\nP\n|||||||\nc\n=======\nQ\n>>>>>>>\n", string(r.Render(m)))
}

func TestRenderLeavesMarkersBareWithoutNames(t *testing.T) {
	t.Parallel()
	r := merge.Text(lines("a"), lines("X"), lines("Y"))
	want := "<<<<<<<\nX\n|||||||\na\n=======\nY\n>>>>>>>\n"
	assert.Equal(t, want, string(r.Render(merge.Markers{})))
	assert.Equal(t, want, string(r.Render(merge.Named(""))))
}

func TestKindsHaveNames(t *testing.T) {
	t.Parallel()
	for kind, want := range map[merge.HunkKind]string{merge.Kept: "kept", merge.Changed: "changed", merge.Conflicting: "conflict",
		merge.Settled: "settled", merge.HunkKind(9): "unknown"} {
		assert.Equal(t, want, kind.String())
	}
}

func TestMarkerLengthExceedsRunsInTheTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 7, "======\n": 7, "=======\n": 8, "a\n<<<<<<<<< x\n": 10, "x =========\n": 7, ">>>>>>>": 8,
		"<<<<===>>>>\n": 7} {
		assert.Equal(t, want, merge.MarkerLength([]byte("a\n"), []byte(text)), "%q", text)
	}
}

func TestLastLinesKeepTheirBytes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"none has a final newline": {"a\nb\nc", "X\nb\nc", "a\nb\nc", "X\nb\nc"},
		"ours took it away":        {"a\nb\nc\n", "a\nb\nc", "X\nb\nc\n", "X\nb\nc"},
		"theirs added it":          {"a\nb\nc", "X\nb\nc", "a\nb\nc\n", "X\nb\nc\n"},
		"CRLF against LF":          {"a\r\nb\r\nc\n", "X\nb\r\nc\n", "a\r\nb\r\nc\r\n", "X\nb\r\nc\r\n"},
		"a lone carriage return":   {"a\rb\nc\nd\n", "a\rb\nc\nD\n", "A\rb\nc\nd\n", "A\rb\nc\nD\n"},
		"bytes that are not UTF-8": {"\xff\nb\nc\n", "\xff\nb\nC\n", "\xfe\nb\nc\n", "\xfe\nb\nC\n"},
		"a NUL":                    {"\x00\nb\nc\n", "\x00\nb\nC\n", "a\x00\nb\nc\n", "a\x00\nb\nC\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, clean := merge.Text([]byte(c.base), []byte(c.ours), []byte(c.theirs)).Merged()
			assert.True(t, clean)
			assert.Equal(t, c.want, string(got))
		})
	}
}

func TestBinary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data string
		want bool
	}{
		"empty":               {"", false},
		"text":                {"naïve 行 🙂\r\n", false},
		"a NUL":               {"a\x00b", true},
		"a NUL at byte 8,000": {strings.Repeat("a", 7999) + "\x00", true},
		"a NUL after that":    {strings.Repeat("a", 8000) + "\x00", false},
		"Latin-1":             {"na\xefve", true},
		"cut within a rune":   {"行"[:2], true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, merge.Binary([]byte(c.data)))
		})
	}
}
