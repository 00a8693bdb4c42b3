package merge_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// twoConflicts is a file whose lines 2 and 4 are in conflict, as it is edited.
func twoConflicts(t *testing.T) (merge.Marked, []merge.Conflict) {
	t.Helper()
	base := files{"f.txt": "1\n2\n3\n4\n5\n"}
	p := planOf(t, input(files{"f.txt": "1\n2 m\n3\n4 m\n5\n"}, from{"a", base, files{"f.txt": "1\n2 a\n3\n4 a\n5\n"}}))
	require.Len(t, p.Conflicts, 2)
	return p.Marked("f.txt"), p.Conflicts
}

// block is the lines of conflict n, from 0, with their markers.
func block(m merge.Marked, n int) string {
	return "<<<<<<<" + strings.SplitAfter(strings.Split(string(m.Text), "<<<<<<<")[n+1], ">>>>>>> source a \"Title of a\" ")[0] +
		strings.SplitN(strings.Split(string(m.Text), ">>>>>>> source a \"Title of a\" ")[n+1], "\n", 2)[0] + "\n"
}

func TestARegionWithoutMarkersIsADecision(t *testing.T) {
	t.Parallel()
	m, conflicts := twoConflicts(t)
	one, two := block(m, 0), block(m, 1)
	text := string(m.Text)
	require.Equal(t, "1\n"+one+"3\n"+two+"5\n", text)
	for name, c := range map[string]struct {
		edited   string
		one, two any // the decision, nil for none
		whole    bool
	}{
		"nothing":                           {text, nil, nil, false},
		"one":                               {"1\nx\n3\n" + two + "5\n", "x\n", nil, false},
		"one, to nothing":                   {"1\n3\n" + two + "5\n", "", nil, false},
		"both":                              {"1\n2 m\n2 a\n3\ny\n5\n", "2 m\n2 a\n", "y\n", false},
		"one half":                          {strings.Replace(text, one, strings.SplitAfterN(one, "\n", 2)[1], 1), nil, nil, false},
		"outside":                           {"1!\n" + one + "3\n" + two + "5\n", nil, nil, false},
		"one and outside":                   {"0\n1\nx\n3\n" + two + "5!\n", "x\n", nil, false},
		"everything and outside":            {"1!\nx\n3\ny\n5\n", nil, "y\n", true},
		"one together with the line before": {"1!\nx\n3\n" + two + "5\n", nil, nil, false},
		"a bare underline":                  {"1\nTitle\n=======\n3\n" + two + "5\n", "Title\n=======\n", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := m.Edits([]byte(c.edited))
			want := map[string][]byte{}
			for i, text := range []any{c.one, c.two} {
				if text != nil {
					want[conflicts[i].ID] = []byte(text.(string))
				}
			}
			require.Len(t, got.Parts, len(want))
			for id, text := range want {
				assert.Equal(t, string(text), string(got.Parts[id]))
			}
			assert.Equal(t, c.whole, got.Whole != nil)
		})
	}
}

func TestMarkersThatAreLeftAreFoundByLine(t *testing.T) {
	t.Parallel()
	m, _ := twoConflicts(t)
	text := string(m.Text)
	assert.Equal(t, []int{2, 10}, m.Left(m.Text))
	assert.Empty(t, m.Left([]byte("1\n=======\n<<<<<<< HEAD\n")), "of somebody else")
	assert.Equal(t, []int{2, 4}, m.Left([]byte(strings.ReplaceAll(text, block(m, 0), "||||||| base spawn of a\n"))), "the base's marker")
	assert.Equal(t, []int{3, 9}, m.Left([]byte(strings.Replace(text, strings.SplitAfterN(block(m, 0), "\n", 2)[0], "", 1))), "without the first one")
}

// Where each edit is a decision, the rendering with these decisions is the edited file.
func TestWhatFollowsEditsIsTheEditedFile(t *testing.T) {
	t.Parallel()
	compared := 0
	for n := range uint64(lawCases) {
		c, other := generate(707, n), generate(708, n)
		base := files{"f.txt": string(c.base)}
		in := input(files{"f.txt": string(c.ours)}, from{"a", base, files{"f.txt": string(c.theirs)}})
		m := planOf(t, in).Marked("f.txt")
		var edited []byte // every second conflict is replaced by a line of another case
		left, replaced := m.Text, 0
		for i := int(n); ; i++ {
			at, end := bytes.Index(left, []byte("<<<<<<< target")), bytes.Index(left, []byte(">>>>>>> source"))
			if at < 0 || end < at {
				break
			}
			end += bytes.IndexByte(left[end:], '\n') + 1
			edited = append(edited, left[:at]...)
			if i%2 == 0 {
				edited = append(append(edited, bytes.SplitAfterN(other.ours, []byte("\n"), 2)[0]...), '\n')
				replaced++
			} else {
				edited = append(edited, left[at:end]...)
			}
			left = left[end:]
		}
		edited = append(edited, left...)
		parts := m.Edits(edited).Parts
		for id, text := range parts {
			in.Decisions[id] = merge.Decision{Take: merge.TakeText, Text: text}
		}
		if len(parts) == replaced && replaced > 0 {
			require.True(t, bytes.Equal(edited, planOf(t, in).Marked("f.txt").Text), "case %d", n)
			compared++
		}
	}
	t.Logf("%d of %d", compared, lawCases)
	assert.Greater(t, compared, lawCases/4)
}
