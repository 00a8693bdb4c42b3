package merge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// marked returns the rendering of the only file of a plan.
func marked(t *testing.T, in merge.Input) (*merge.Plan, merge.Marked) {
	t.Helper()
	p := planOf(t, in)
	require.Len(t, p.Files, 1)
	return p, p.Files[0].Marked(p.Conflicts)
}

func TestMarkersHaveNames(t *testing.T) {
	t.Parallel()
	p, m := marked(t, twoPlaces())
	a, b := p.Conflicts[0].ID, p.Conflicts[1].ID
	assert.Equal(t, "<<<<<<< target main f.md 1/2 "+a+"\nO\n||||||| base spawn of a\n1\n=======\nT\n>>>>>>> source a \"Title of a\" "+a+"\n"+
		"2\n3\n4\nnew\n6\n7\n8\n"+
		"<<<<<<< target main f.md 2/2 "+b+"\nP\n||||||| base spawn of a\n9\n=======\nQ\n>>>>>>> source a \"Title of a\" "+b+"\n", string(m.Text))
	assert.Equal(t, 7, m.Length)
}

func TestMarkersOfRemainingConflicts(t *testing.T) {
	t.Parallel()
	in := twoPlaces()
	p, all := marked(t, in)
	in.Decisions[p.Conflicts[0].ID] = merge.Decision{Take: "text", Text: []byte("<<<<<<<<< nine\n"), How: "user"}
	_, m := marked(t, in)
	assert.Equal(t, 10, m.Length, "longer than any run in an answer")
	assert.Contains(t, string(m.Text), "<<<<<<< target main f.md 2/2 "+p.Conflicts[1].ID+"\n")
	assert.NotContains(t, string(m.Text), p.Conflicts[0].ID)
	assert.False(t, all.Unmarked(all.Text))

	in.Decisions[p.Conflicts[0].ID] = merge.Decision{Take: "ours", How: "user"}
	_, m = marked(t, in)
	assert.False(t, m.Unmarked([]byte("<<<<<<< target main f.md 1/2 "+p.Conflicts[0].ID+"\n")), "a marker of a conflict decided since")
}

func TestMarkersOfThreeSources(t *testing.T) {
	t.Parallel()
	b := one("b\n")
	in := input(b, from{"one", b, one("1\n")}, from{"two", b, one("2\n")}, from{"three", b, one("3\n")})
	in.Sources[1].Title = ""
	p, m := marked(t, in)
	id := p.Conflicts[0].ID
	assert.Equal(t, "<<<<<<< source one \"Title of one\" f.md 1/1 "+id+"\n1\n||||||| base spawn of one\nb\n======= source two "+id+
		"\n2\n======= source three \"Title of three\" "+id+"\n3\n>>>>>>> source three \"Title of three\" "+id+"\n", string(m.Text))
	assert.False(t, m.Unmarked([]byte("======= source two "+id+"\n")))
	assert.True(t, m.Unmarked([]byte("=======\n")))
}

func TestNamesOnMarkersAreInert(t *testing.T) {
	t.Parallel()
	path := "a\n>>>>>>> b.md"
	in := input(files{path: "o\n"}, from{"a", files{path: "b\n"}, files{path: "t\n"}})
	in.Sources[0].Title = "evil\r\n>>>>>>> x\x1b[31m\u202e \u2028\x00 \"quoted\"" + strings.Repeat("long", 100)
	p, m := marked(t, in)
	text := string(m.Text)
	assert.Equal(t, 7, strings.Count(text, "\n"))
	for line := range strings.Lines(text) {
		assert.Less(t, len(line), 400)
	}
	for _, bad := range []string{"\x1b", "\u202e", "\u2028", "\x00", "\r", "\"quoted"} {
		assert.NotContains(t, text, bad)
	}
	assert.Contains(t, text, "<<<<<<< target main a >>>>>>> b.md 1/1 "+p.Conflicts[0].ID+"\n")
	assert.Contains(t, text, "source a \"evil >>>>>>> x [31m 'quoted'long")
	assert.False(t, m.Unmarked(m.Text))
}

func TestUnmarked(t *testing.T) {
	t.Parallel()
	p, m := marked(t, twoPlaces())
	id := p.Conflicts[0].ID
	for name, c := range map[string]struct {
		edited string
		want   bool
	}{
		"nothing":                 {"", true},
		"a clean text":            {"O\n2\nP\n", true},
		"all of them":             {string(m.Text), false},
		"the first":               {"<<<<<<< target main f.md 1/2 " + id + "\nO\n", false},
		"the base":                {"x\n||||||| base spawn of a\n", false},
		"the last, no newline":    {"x\n>>>>>>> source a \"Title of a\" " + id, false},
		"with CRLF":               {">>>>>>> source a \"Title of a\" " + id + "\r\n", false},
		"an underline":            {"Title\n=======\ntext\n", true},
		"somebody else's":         {"<<<<<<< HEAD\n", true},
		"within a line":           {"see <<<<<<< target main f.md 1/2 " + id + "\n", true},
		"longer":                  {"<<<<<<<< target main f.md 1/2 " + id + "\n", true},
		"the name of another one": {"<<<<<<< target main f.md 1/2 0123\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, m.Unmarked([]byte(c.edited)))
		})
	}
}

func TestMarkersAreLongerThanRunsInTheInputs(t *testing.T) {
	t.Parallel()
	in := input(one("k\n=======\no\n"), from{"a", one("k\n=======\nb\n"), one("k\n=======\nt\n")})
	_, m := marked(t, in)
	assert.Equal(t, 8, m.Length)
	assert.Equal(t, len("k\n=======\n"), strings.Index(string(m.Text), "<<<<<<<< target"))
}

func TestWholeFilesHaveNoMarkers(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]merge.Input{
		"deleted": input(one("o\n"), from{"a", one("b\n"), one("-")}),
		"binary":  input(one("\x00o"), from{"a", one("b\n"), one("t\n")}),
		"path":    input(files{"f.md@": ""}, from{"a", nil, one("t\n")}),
		"clean":   input(one("b\n"), from{"a", one("b\n"), one("t\n")}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m := marked(t, in)
			assert.Empty(t, m.Text)
			assert.True(t, m.Unmarked([]byte("<<<<<<< target main\n")))
		})
	}
}

func TestEveryFileHasItsOwnMarkers(t *testing.T) {
	t.Parallel()
	in := input(files{"a": "o\n", "b": "o\n"}, from{"x", files{"a": "b\n", "b": "b\n"}, files{"a": "t\n", "b": "t\n"}})
	p := planOf(t, in)
	require.Len(t, p.Files, 2)
	for i, c := range p.Files {
		m := c.Marked(p.Conflicts)
		assert.Contains(t, string(m.Text), "<<<<<<< target main "+c.Path+" 1/1 "+p.Conflicts[i].ID+"\n")
		other := p.Files[1-i].Marked(p.Conflicts)
		assert.True(t, m.Unmarked([]byte(strings.SplitAfter(string(other.Text), "\n")[0])))
		j := merge.Accept(c, p.Conflicts, merge.Work{Before: m.Text, After: []byte("o\nt\n")})
		require.Empty(t, j.Refused)
		require.Len(t, j.Accepted, 1)
		assert.Equal(t, p.Conflicts[i].ID, j.Accepted[0].ConflictID)
	}
}

// conflictMarked is the rendering of the only conflict of a plan.
func conflictMarked(t *testing.T, in merge.Input) (id string, m merge.Marked, err error) {
	t.Helper()
	p := planOf(t, in)
	require.Len(t, p.Conflicts, 1)
	m, err = p.Conflicts[0].Marked()
	return p.Conflicts[0].ID, m, err
}

func TestOneConflictIsShownBetweenMarkers(t *testing.T) {
	t.Parallel()
	b := one("a\nb\nc\n")
	in := input(b, from{"one", b, one("a\n1\nc\n")}, from{"two", b, one("a\n2\nc\n")})
	id, m, err := conflictMarked(t, in)
	require.NoError(t, err)
	assert.Equal(t, "<<<<<<< source one \"Title of one\" f.md 1/1 "+id+"\n1\n||||||| base spawn of one\nb\n=======\n2\n>>>>>>> source two \"Title of two\" "+id+"\n", string(m.Text),
		"a target that changed nothing is left out, as in the whole file")
	assert.False(t, m.Unmarked(m.Text))
	assert.True(t, m.Unmarked([]byte("1\n2\n")))

	in = input(one("ours\r\n"), from{"one", one("base\r\n"), one("======== 8\r\n")})
	id, m, err = conflictMarked(t, in)
	require.NoError(t, err)
	assert.Equal(t, "<<<<<<<<< target main f.md 1/1 "+id+"\r\nours\r\n||||||||| base spawn of one\r\nbase\r\n=========\r\n======== 8\r\n>>>>>>>>> source one \"Title of one\" "+id+"\r\n", string(m.Text))
}

func TestADeletedSideIsEmptyBetweenMarkers(t *testing.T) {
	t.Parallel()
	id, m, err := conflictMarked(t, input(one("ours\n"), from{"one", one("base\n"), one("-")}))
	require.NoError(t, err)
	assert.Equal(t, "<<<<<<< target main f.md 1/1 "+id+"\nours\n||||||| base spawn of one\nbase\n=======\n>>>>>>> source one \"Title of one\" "+id+"\n", string(m.Text))
}

func TestWhatIsNotShownAsTextHasNoMarkers(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]merge.Input{
		"binary":  input(one("\x00ours"), from{"one", one("\x00base"), one("\x00theirs")}),
		"deleted": input(one("\x00ours"), from{"one", one("\x00base"), one("-")}),
	} {
		_, _, err := conflictMarked(t, in)
		var why *merge.InvalidChoice
		assert.ErrorAs(t, err, &why, name)
	}
}
