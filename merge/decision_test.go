package merge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

func TestDecisions(t *testing.T) {
	t.Parallel()
	text := [3]string{"k\nb\nk\n", "k\no\nk\n", "k\nt\nk\n"}
	for name, c := range map[string]struct {
		base, ours, theirs string
		take, text         string
		want               string // "?" when it does not fit
	}{
		"ours":                          {text[0], text[1], text[2], "ours", "", "k\no\nk\n"},
		"theirs":                        {text[0], text[1], text[2], "theirs", "", "k\nt\nk\n"},
		"base":                          {text[0], text[1], text[2], "base", "", "k\nb\nk\n"},
		"both":                          {text[0], text[1], text[2], "both", "", "k\no\nt\nk\n"},
		"a thread":                      {text[0], text[1], text[2], "a", "", "k\nt\nk\n"},
		"the target by name":            {text[0], text[1], text[2], "main", "", "k\no\nk\n"},
		"text":                          {text[0], text[1], text[2], "text", "x\n", "k\nx\nk\n"},
		"text without an end":           {text[0], text[1], text[2], "text", "x", "k\nx\nk\n"},
		"text without an end, CRLF":     {"k\r\nb\r\nk\r\n", "k\r\no\r\nk\r\n", "k\r\nt\r\nk\r\n", "text", "x", "k\r\nx\r\nk\r\n"},
		"no text":                       {text[0], text[1], text[2], "text", "", "k\nk\n"},
		"no choice":                     {text[0], text[1], text[2], "", "x", "?"},
		"another thread":                {text[0], text[1], text[2], "b", "", "?"},
		"keep of content":               {text[0], text[1], text[2], "keep", "", "?"},
		"delete of content":             {text[0], text[1], text[2], "delete", "", "?"},
		"both at the end of the file":   {"b", "o", "t", "both", "", "o\nt"},
		"text at the end of the file":   {"b", "o", "t", "text", "x", "x"},
		"keep of a changed file":        {"b\n", "o\n", "-", "keep", "", "o\n"},
		"keep of theirs":                {"b\n", "-", "+x t\n", "keep", "", "+x t\n"},
		"delete":                        {"b\n", "o\n", "-", "delete", "", "-"},
		"theirs is the deletion":        {"b\n", "o\n", "-", "theirs", "", "-"},
		"base of a changed file":        {"b\n", "o\n", "-", "base", "", "b\n"},
		"text for a deleted file":       {"b\n", "-", "t\n", "text", "x", "x"},
		"both of a deletion":            {"b\n", "o\n", "-", "both", "", "?"},
		"binary ours":                   {"b\n", "\x00o", "\x00t", "ours", "", "\x00o"},
		"binary theirs":                 {"b\n", "\x00o", "\x00t", "theirs", "", "\x00t"},
		"binary keep":                   {"b\n", "\x00o", "\x00t", "keep", "", "?"},
		"mode theirs":                   {"-", "x\n", "+x x\n", "theirs", "", "+x x\n"},
		"mode ours":                     {"-", "x\n", "+x x\n", "ours", "", "x\n"},
		"mode base":                     {"-", "x\n", "+x x\n", "base", "", "?"},
		"mode text":                     {"-", "x\n", "+x x\n", "text", "y", "?"},
		"mode delete":                   {"-", "x\n", "+x x\n", "delete", "", "?"},
		"base of two additions":         {"-", "x\n", "y\n", "base", "", ""},
		"the bit of a decided line":     {"b\n", "o\n", "+x t\n", "theirs", "", "+x t\n"},
		"base of a binary that had one": {"\x00b", "\x00o", "\x00t", "base", "", "\x00b"},
		"base of a binary without one":  {"-", "\x00o", "\x00t", "base", "", "?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(one(c.ours), from{"a", one(c.base), one(c.theirs)})
			in.Mergers = nil
			p := planOf(t, in)
			require.Len(t, p.Conflicts, 1)
			d := merge.Decision{Take: c.take, Text: []byte(c.text), How: "user"}
			in.Decisions[p.Conflicts[0].ID] = d
			decided := planOf(t, in)
			_, err := p.Decide(nil, p.Conflicts[0].ID, d)
			if c.want == "?" {
				assert.Equal(t, 1, decided.Open())
				assert.Equal(t, one(c.ours), after(t, in, decided))
				var unfit *merge.InvalidChoice
				require.ErrorAs(t, err, &unfit)
				assert.NotEmpty(t, unfit.Error())
				return
			}
			require.NoError(t, err)
			assert.Zero(t, decided.Open())
			assert.Equal(t, one(c.want), after(t, in, decided))
			assert.Equal(t, merge.Decided, decided.Files[0].How)
			assert.Equal(t, "user", decided.Conflicts[0].How)
			assert.Equal(t, c.want == c.ours, decided.Files[0].Idle())
		})
	}
}

func TestTheirsIsAmbiguousWithSeveralSources(t *testing.T) {
	t.Parallel()
	b := one("b\n")
	p := planOf(t, input(b, from{"one", b, one("x\n")}, from{"two", b, one("y\n")}))
	_, err := p.Decide(nil, "f.md", merge.Decision{Take: "theirs"})
	var unfit *merge.InvalidChoice
	require.ErrorAs(t, err, &unfit)
	assert.Equal(t, []string{"one", "two"}, unfit.Threads)
	assert.Contains(t, unfit.Error(), "name one of one, two")

	alike := planOf(t, input(one("o\n"), from{"one", b, one("x\n")}, from{"two", b, one("x\n")}))
	_, err = alike.Decide(nil, "f.md", merge.Decision{Take: "theirs"})
	require.NoError(t, err, "the sources bring one and the same text")

	kept := planOf(t, input(one("-"), from{"one", b, one("x\n")}, from{"two", b, one("y\n")}))
	_, err = kept.Decide(nil, "f.md", merge.Decision{Take: "keep"})
	require.ErrorAs(t, err, &unfit)
	assert.Equal(t, []string{"one", "two"}, unfit.Threads, "there is more than one version to keep")
}

// twoPlaces returns a merge with two conflicts and a clean change between them.
func twoPlaces() merge.Input {
	base := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	in := input(one("O\n2\n3\n4\n5\n6\n7\n8\nP\n"), from{"a", one(base), one("T\n2\n3\n4\nnew\n6\n7\n8\nQ\n")})
	in.Mergers = nil
	return in
}

func TestDecidingAPathKeepsWhatMergedCleanly(t *testing.T) {
	t.Parallel()
	in := twoPlaces()
	p := planOf(t, in)
	require.Len(t, p.Conflicts, 2)
	var err error
	in.Decisions, err = p.Decide(in.Decisions, "f.md", merge.Decision{Take: "ours", How: "user"})
	require.NoError(t, err)
	assert.Equal(t, one("O\n2\n3\n4\nnew\n6\n7\n8\nP\n"), after(t, in, planOf(t, in)))

	in.Decisions, err = p.Decide(in.Decisions, p.Conflicts[1].ID, merge.Decision{Take: "theirs", How: "user"})
	require.NoError(t, err)
	assert.Equal(t, one("O\n2\n3\n4\nnew\n6\n7\n8\nQ\n"), after(t, in, planOf(t, in)), "answering again replaces one answer")
}

func TestDecidingTheContentOfAPath(t *testing.T) {
	t.Parallel()
	in := twoPlaces()
	p := planOf(t, in)
	have, err := p.Decide(nil, p.Conflicts[0].ID, merge.Decision{Take: "ours"})
	require.NoError(t, err)
	whole, err := p.Decide(have, "f.md", merge.Decision{Take: "text", Text: []byte("all\n"), How: "user"})
	require.NoError(t, err)
	assert.Len(t, whole, 1, "it replaces the decisions about parts")
	assert.Len(t, have, 1, "what was handed in stays as it was")
	in.Decisions = whole
	decided := planOf(t, in)
	assert.Equal(t, []string{"f.md content 1/2 resolved", "f.md content 2/2 resolved"}, summary(decided))
	assert.Equal(t, one("all\n"), after(t, in, decided))
	assert.Equal(t, idsOf(p), idsOf(decided))

	in.Decisions, err = decided.Decide(whole, p.Conflicts[0].ID, merge.Decision{Take: "ours"})
	require.NoError(t, err)
	assert.Equal(t, 1, planOf(t, in).Open(), "a decision about a part replaces the one about the whole")

	moved := input(one("O\n2\nX\n4\n5\n6\n7\n8\nP\n"), from{"a", one("1\n2\n3\n4\n5\n6\n7\n8\n9\n"), one("T\n2\n3\n4\nnew\n6\n7\n8\nQ\n")})
	moved.Decisions = whole
	assert.Equal(t, 2, planOf(t, moved).Open(), "the target went on: its new line must not be lost to an old text")

	gone, err := p.Decide(nil, "f.md", merge.Decision{Take: "delete"})
	require.NoError(t, err)
	in.Decisions = gone
	assert.Equal(t, files{}, after(t, in, planOf(t, in)))

	_, err = p.Decide(nil, "other.md", merge.Decision{Take: "ours"})
	assert.Error(t, err)
}

func TestDecisionsSurvivePlanningAgain(t *testing.T) {
	t.Parallel()
	in := twoPlaces()
	p := planOf(t, in)
	var err error
	in.Decisions, err = p.Decide(nil, p.Conflicts[0].ID, merge.Decision{Take: "theirs", How: "user"})
	require.NoError(t, err)
	moved := input(one("top\nO\n2\n3\n4\n5\n6\n7\n8\nP\n"), from{"a", one("top\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"), one("top\nT\n2\n3\n4\nnew\n6\n7\n8\nQ\n")},
		from{"b", one("top\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"), one("top\n1\n2\n3\n4\n5\n6\n7\n8\nR\n")})
	moved.Decisions = in.Decisions
	again := planOf(t, moved)
	assert.Equal(t, []string{"f.md content 1/2 resolved", "f.md content 2/2 unresolved"}, summary(again))
	assert.Equal(t, p.Conflicts[0].ID, again.Conflicts[0].ID)
	assert.NotEqual(t, p.Conflicts[1].ID, again.Conflicts[1].ID, "another source joined the second")
}

func TestDecisionsOnCleanPathsAreVoid(t *testing.T) {
	t.Parallel()
	in := input(one("b\n"), from{"a", one("b\n"), one("t\n")})
	in.Decisions["f.md"] = merge.Decision{Take: "ours"}
	in.Decisions[""] = merge.Decision{Take: "ours"}
	assert.Equal(t, one("t\n"), after(t, in, planOf(t, in)))
}

func TestOursOfTwoAdditionsAddsNothing(t *testing.T) {
	t.Parallel()
	in := input(files{}, from{"a", nil, one("x\n")}, from{"b", nil, one("y\n")})
	p := planOf(t, in)
	var err error
	in.Decisions, err = p.Decide(nil, "f.md", merge.Decision{Take: "ours"})
	require.NoError(t, err)
	decided := planOf(t, in)
	assert.Equal(t, files{}, after(t, in, decided))
	assert.True(t, decided.Files[0].Idle())
	assert.False(t, decided.Files[0].Deletes())
}

func TestDecidingAPathLeavesWhatAMergerProved(t *testing.T) {
	t.Parallel()
	in := input(one("- a\n- o\n\ntext\n\nO\n"), from{"a", one("- a\n\ntext\n\nb\n"), one("- a\n- t\n\ntext\n\nT\n")})
	p := planOf(t, in)
	require.Equal(t, []string{"f.md content 1/2 resolved", "f.md content 2/2 unresolved"}, summary(p))
	var err error
	in.Decisions, err = p.Decide(nil, "f.md", merge.Decision{Take: "ours", How: "user"})
	require.NoError(t, err)
	assert.Equal(t, one("- a\n- o\n- t\n\ntext\n\nO\n"), after(t, in, planOf(t, in)))
}

func TestAModeConflictIsOnlyAboutTheExecutableBit(t *testing.T) {
	t.Parallel()
	in := input(one("b\n"), from{"a", one("b\n"), one("new\n")}, from{"e", nil, one("+x new\n")})
	p := planOf(t, in)
	require.Equal(t, []string{"f.md mode 1/1 unresolved"}, summary(p))
	_, err := p.Decide(nil, "f.md", merge.Decision{Take: "text", Text: []byte("x")})
	require.Error(t, err)
	in.Decisions, err = p.Decide(nil, "f.md", merge.Decision{Take: "ours", How: "user"})
	require.NoError(t, err)
	assert.Equal(t, one("new\n"), after(t, in, planOf(t, in)), "the bit of ours, the content that is new")

	in = input(files{}, from{"a", nil, one("x\n")}, from{"e", nil, one("+x x\n")})
	p = planOf(t, in)
	in.Decisions, err = p.Decide(nil, "f.md", merge.Decision{Take: "ours", How: "user"})
	require.NoError(t, err)
	assert.Equal(t, files{}, after(t, in, planOf(t, in)), "ours is no file at all")
}

func TestAChosenSideKeepsItsExecutableBit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ours, theirs, take, want string }{
		"ours, plain":        {"o\n", "+x t\n", "ours", "o\n"},
		"ours, executable":   {"+x o\n", "t\n", "ours", "+x o\n"},
		"the target's id":    {"o\n", "+x t\n", "main", "o\n"},
		"theirs, plain":      {"+x o\n", "t\n", "theirs", "t\n"},
		"theirs, executable": {"o\n", "+x t\n", "theirs", "+x t\n"},
		"both are no one's":  {"o\n", "+x t\n", "both", "+x o\nt\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(one(c.ours), from{"a", nil, one(c.theirs)})
			var err error
			in.Decisions, err = planOf(t, in).Decide(nil, "f.md", merge.Decision{Take: c.take, How: "user"})
			require.NoError(t, err)
			assert.Equal(t, one(c.want), after(t, in, planOf(t, in)))
		})
	}
}

func TestBothLeavesOutUnchangedSides(t *testing.T) {
	t.Parallel()
	b := one("k\nb\nk\n")
	in := input(b, from{"one", b, one("k\nx\nk\n")}, from{"two", b, one("k\ny\nk\n")}, from{"three", b, one("k\nx\nk\n")})
	var err error
	in.Decisions, err = planOf(t, in).Decide(nil, "f.md", merge.Decision{Take: "both", How: "user"})
	require.NoError(t, err)
	assert.Equal(t, one("k\nx\ny\nk\n"), after(t, in, planOf(t, in)))
}
