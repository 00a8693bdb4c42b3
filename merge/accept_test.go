package merge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"leslie/merge"
)

// says returns a resolution of conflict n, from 1.
type says struct {
	n                    int
	choice, text, reason string
}

// accept applies an agent's work to the only file of a plan. Without an edit, the file
// with markers stays unchanged.
func accept(t *testing.T, in merge.Input, edit func(marked string) string, words ...says) (*merge.Plan, merge.Judgement) {
	t.Helper()
	p, m := marked(t, in)
	w := merge.Work{Before: m.Text, After: m.Text}
	if edit != nil {
		w.After = []byte(edit(string(m.Text)))
	}
	for _, s := range words {
		id := "unknown"
		if s.n <= len(p.Conflicts) {
			id = p.Conflicts[s.n-1].ID
		}
		w.Resolutions = append(w.Resolutions, merge.Resolution{ConflictID: id, Choice: s.choice, Text: s.text, HasText: s.text != "", Reason: s.reason})
	}
	return p, merge.Accept(p.Files[0], p.Conflicts, w)
}

func wrote(text string) func(string) string { return func(string) string { return text } }

// wants checks a judgement: a refusal with this text, or otherwise this result.
func wants(t *testing.T, in merge.Input, j merge.Judgement, refused, result string) {
	t.Helper()
	if refused != "" {
		assert.Contains(t, j.Refused, refused)
		assert.True(t, strings.HasSuffix(j.Refused, "."), "%q is no sentence", j.Refused)
		assert.Empty(t, j.Accepted)
		return
	}
	require.Empty(t, j.Refused)
	for _, a := range j.Accepted {
		assert.Equal(t, merge.ByAgent, a.Decision.How)
		in.Decisions[a.ConflictID] = a.Decision
	}
	p := planOf(t, in)
	assert.Zero(t, p.Open(), "an accepted answer closes every conflict")
	assert.Equal(t, one(result), after(t, in, p))
}

func TestAcceptChecksPartsOfAFile(t *testing.T) {
	t.Parallel()
	good := "O\nT\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"
	for name, c := range map[string]struct {
		edit    func(string) string
		says    []says
		refused string
		want    string
	}{
		"the merged file":             {edit: wrote(good), want: good},
		"one line for both":           {edit: wrote("O T\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"), says: []says{{n: 1, reason: "one line says both"}}, want: "O T\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"},
		"choices":                     {says: []says{{1, "both", "", ""}, {2, "ours", "", "P is newer"}}, want: "O\nT\n2\n3\n4\nnew\n6\n7\n8\nP\n"},
		"texts":                       {says: []says{{1, "text", "T\nO", ""}, {2, "text", "Q\nP\n", ""}}, want: "T\nO\n2\n3\n4\nnew\n6\n7\n8\nQ\nP\n"},
		"the file stands above words": {edit: wrote(good), says: []says{{1, "ours", "", "x"}, {2, "theirs", "", "y"}}, want: good},
		"nothing done":                {refused: "(1 of 2) in f.md is not answered"},
		"one declined":                {says: []says{{1, "both", "", ""}}, refused: "(2 of 2) in f.md is not answered"},
		"a reason is no answer":       {says: []says{{1, "both", "", ""}, {2, "", "", "too hard"}}, refused: "(2 of 2) in f.md is not answered"},
		"all markers left":            {edit: func(m string) string { return "x\n" + m }, refused: "marker is left in line 2"},
		"one marker left": {edit: func(m string) string { return "O\nT\n" + m[strings.Index(m, "2\n3\n"):] },
			refused: "marker is left in line 10"},
		"a bare marker left":       {edit: wrote("<<<<<<<\nO\nT\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"), refused: "marker is left in line 1"},
		"an underline is none":     {edit: wrote("O\nT\n=======\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"), want: "O\nT\n=======\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"},
		"nor is a longer row":      {edit: wrote("O\nT\n<<<<<<<< 8\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"), want: "O\nT\n<<<<<<<< 8\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"},
		"a marker in a text":       {says: []says{{1, "text", "O\nT\n>>>>>>> x\n", ""}, {2, "both", "", ""}}, refused: "line 3 of the answer is a conflict marker"},
		"their line dropped":       {edit: wrote("O\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"), refused: `lost the line "T" of a`},
		"our line dropped":         {edit: wrote("O\nT\n2\n3\n4\nnew\n6\n7\n8\nQ\n"), refused: `lost the line "P" of main`},
		"dropped with a reason":    {edit: wrote("O\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"), says: []says{{n: 1, reason: "T was wrong"}}, want: "O\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"},
		"a reason for another one": {edit: wrote("O\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"), says: []says{{n: 2, reason: "T was wrong"}}, refused: `lost the line "T"`},
		"a blank reason":           {edit: wrote("O\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"), says: []says{{n: 1, reason: " \n"}}, refused: `lost the line "T"`},
		"a choice without reason":  {says: []says{{1, "ours", "", ""}, {2, "both", "", ""}}, refused: `lost the line "T" of a`},
		"base without reason":      {says: []says{{1, "base", "", ""}, {2, "both", "", ""}}, refused: `lost the line "O" of main`},
		"changed between": {edit: wrote("O\nT\n2\n3\n4\nold\n6\n7\n8\nP\nQ\n"),
			refused: "between two conflicts was changed"},
		"a clean line dropped":   {edit: wrote("O\nT\n2\n3\n4\n6\n7\n8\nP\nQ\n"), refused: "between two conflicts was changed"},
		"empty":                  {edit: wrote(""), refused: "between two conflicts"},
		"an unknown conflict":    {says: []says{{3, "ours", "", ""}}, refused: `answers "unknown", which is no open conflict of f.md`},
		"twice":                  {says: []says{{1, "ours", "", ""}, {1, "ours", "", ""}}, refused: "twice"},
		"a choice that misfits":  {says: []says{{1, "keep", "", ""}}, refused: "'keep' does not fit"},
		"a choice of no meaning": {says: []says{{1, "mine", "", ""}}, refused: "'mine' does not fit"},
		"text without text":      {says: []says{{1, "text", "", ""}}, refused: "no text"},
		"a thread is a choice":   {says: []says{{1, "a", "", "r"}, {2, "main", "", "r"}}, want: "T\n2\n3\n4\nnew\n6\n7\n8\nP\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := twoPlaces()
			_, j := accept(t, in, c.edit, c.says...)
			wants(t, in, j, c.refused, c.want)
		})
	}
}

func TestAcceptKeepsTheEdgesOfAFile(t *testing.T) {
	t.Parallel()
	in := input(one("top\nO\nend"), from{"a", one("top\nb\nend"), one("top\nT\nend")})
	for edit, refused := range map[string]string{
		"top\nO\nT\nend":      "",
		"TOP\nO\nT\nend":      "Line 1 of",
		"top\nO\nT\nEND":      "Line 4 of",
		"top\nO\nT\nend\n":    "Line 4 of",
		"top\nO\nT\nend\nx\n": "Line 5 of",
		"x\ntop\nO\nT\nend":   "Line 1 of",
		"top\n":               "Line 1 of",
		"top\nend":            "lost the line",
		"top\r\nO\nT\nend":    "Line 1 of",
	} {
		_, j := accept(t, in, wrote(edit))
		if refused == "" {
			wants(t, in, j, "", edit)
			in.Decisions = map[string]merge.Decision{}
			continue
		}
		assert.Contains(t, j.Refused, refused, "%q", edit)
	}
	overlap := input(one("x\nO\nx\n"), from{"a", one("x\nb\nx\n"), one("x\nT\nx\n")})
	_, j := accept(t, overlap, wrote("x\n"), says{n: 1, reason: "r"})
	assert.Contains(t, j.Refused, "outside the conflicts", "one line cannot stand before and after")
}

// around returns a merge with two conflicts and one line between them.
func around(between string) merge.Input {
	in := input(one("O\n"+between+"P\n"), from{"a", one("1\n" + between + "2\n"), one("T\n" + between + "Q\n")})
	in.Mergers = nil
	return in
}

func TestAcceptSplitsByTheTextBetweenConflicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		between, edit string
		says          []says
		refused       string
	}{
		"the line once":                  {"\n", "O\nT\n\nP\nQ\n", nil, ""},
		"the line twice":                 {"\n", "O\n\nT\n\nP\nQ\n", nil, "is ambiguous which lines"},
		"said again in words":            {"\n", "O\n\nT\n\nP\nQ\n", []says{{1, "text", "O\n\nT\n", ""}, {2, "both", "", ""}}, ""},
		"said otherwise in words":        {"\n", "O\n\nT\n\nP\nQ\n", []says{{1, "text", "O\nT\n", ""}, {2, "both", "", ""}}, "is ambiguous"},
		"one of two lines again":         {"x\n\n", "O\n\nT\nx\n\nP\nx\nQ\n", nil, ""},
		"lines that overlap with itself": {"x\nx\n", "O\nT\nx\nx\nx\nP\nQ\n", nil, "is ambiguous"},
		"gone":                           {"\n", "O\nT\nP\nQ\n", nil, "between two conflicts was changed"},
		"half of them":                   {"x\ny\n", "O\nT\nx\nP\nQ\n", nil, "between two conflicts was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := around(c.between)
			p, j := accept(t, in, wrote(c.edit), c.says...)
			require.Len(t, p.Conflicts, 2)
			wants(t, in, j, c.refused, c.edit)
		})
	}

	three := input(one("O\n-\nP\n-\nR\n"), from{"a", one("1\n-\n2\n-\n3\n"), one("T\n-\nQ\n-\nS\n")})
	three.Mergers = nil
	_, j := accept(t, three, wrote("O\nT\n-\nP\nQ\n-\nR\nS\n"))
	wants(t, three, j, "", "O\nT\n-\nP\nQ\n-\nR\nS\n")
	three.Decisions = map[string]merge.Decision{}
	_, j = accept(t, three, wrote("O\nT\n-\nP\n-\nQ\n-\nR\nS\n"))
	wants(t, three, j, "is ambiguous", "")
}

func TestAcceptCountsLines(t *testing.T) {
	t.Parallel()
	in := func() merge.Input {
		return input(one("k\n}\n}\nO\nk\n"), from{"a", one("k\n}\nb\nk\n"), one("k\nT\nk\n")})
	}
	for edit, refused := range map[string]string{
		"k\n}\nO\nT\nk\n":    "",
		"k\n}\n}\nO\nT\nk\n": "",
		"k\nO\nT\nk\n":       `lost the line "}" of main`,
	} {
		fresh := in()
		_, j := accept(t, fresh, wrote(edit))
		wants(t, fresh, j, refused, edit)
	}
	moved := input(one("a\nb\n}\n}\n"), from{"a", one("}\na\nb\n"), one("}\nX\nY\n")})
	_, j := accept(t, moved, wrote("a\nb\n}\nX\nY\n"))
	wants(t, moved, j, `lost the line "}" of main`, "")
	crlf := input(one("O"), from{"a", one("b\r\n"), one("T\r\n")})
	_, j = accept(t, crlf, wrote("O\nT\n"))
	wants(t, crlf, j, "", "O\nT\n")
}

func TestAcceptChecksOnlyOpenConflicts(t *testing.T) {
	t.Parallel()
	in := twoPlaces()
	p := planOf(t, in)
	in.Decisions[p.Conflicts[0].ID] = merge.Decision{Take: "ours", How: merge.ByAgent}
	edit := "O\n2\n3\n4\nnew\n6\n7\n8\nP\nQ\n"
	_, j := accept(t, in, wrote(edit))
	require.Len(t, j.Accepted, 1)
	assert.Equal(t, p.Conflicts[1].ID, j.Accepted[0].ConflictID)
	_, refused := accept(t, in, wrote(edit), says{n: 1, reason: "again"})
	assert.Contains(t, refused.Refused, "no open conflict")
	_, refused = accept(t, in, wrote("x"+edit))
	assert.Contains(t, refused.Refused, "Line 1 of", "what was decided is outside the conflicts")
	wants(t, in, j, "", edit)
	_, refused = accept(t, in, nil)
	assert.Contains(t, refused.Refused, "No conflict of f.md is open")
}

func TestAcceptedAnswersCarryReasons(t *testing.T) {
	t.Parallel()
	p, j := accept(t, twoPlaces(), nil, says{1, "ours", "", " O is right \n"}, says{2, "both", "", ""})
	assert.Equal(t, []merge.Accepted{
		{ConflictID: p.Conflicts[0].ID, Decision: merge.Decision{Take: "text", Text: []byte("O\n"), How: "agent", Reason: "O is right"}},
		{ConflictID: p.Conflicts[1].ID, Decision: merge.Decision{Take: "text", Text: []byte("P\nQ\n"), How: "agent"}}}, j.Accepted)
}

func TestAcceptKeepsJSONWhole(t *testing.T) {
	t.Parallel()
	in := func(path, base string) merge.Input {
		return input(files{path: "{\n\"a\": 1\n}\n"}, from{"a", files{path: base}, files{path: "{\n\"a\": 2\n}\n"}})
	}
	for name, c := range map[string]struct {
		path, theirs, edit string
		refused            bool
	}{
		"broken":               {"x.json", "", "{\n\"a\": 1\n\"a\": 2\n}\n", true},
		"whole":                {"x.json", "", "{\n\"a\": 3\n}\n", false},
		"capitals":             {"X.JSON", "", "{\n\"a\": 1\n\"a\": 2\n}\n", true},
		"no JSON file":         {"x.md", "", "{\n\"a\": 1\n\"a\": 2\n}\n", false},
		"a side was broken":    {"x.json", "{\n\"a\": 2,\n}\n", "{\n\"a\": 1\n\"a\": 2\n}\n", false},
		"and both ways to say": {"x.json", "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := in(c.path, "{\n\"a\": 0\n}\n")
			if c.theirs != "" {
				in = input(files{c.path: "{\n\"a\": 1\n}\n"}, from{"a", files{c.path: "{\n\"a\": 0\n}\n"}, files{c.path: c.theirs}})
			}
			edit, words := wrote(c.edit), []says{{n: 1, reason: "r"}}
			if c.edit == "" {
				edit, words = nil, []says{{1, "both", "", ""}}
			}
			_, j := accept(t, in, edit, words...)
			if c.refused {
				assert.Contains(t, j.Refused, "no longer valid JSON")
				return
			}
			assert.Empty(t, j.Refused)
		})
	}
}

func TestAcceptChecksWholeFiles(t *testing.T) {
	t.Parallel()
	different := func() merge.Input {
		return input(one("b\nc\n"), from{"a", one("b\n"), one("x\n")}, from{"e", one("c\n"), one("y\n")})
	}
	for name, c := range map[string]struct {
		in      merge.Input
		edit    func(string) string
		says    []says
		refused string
		want    string
	}{
		"keep":                      {in: input(one("o\n"), from{"a", one("b\n"), one("-")}), says: []says{{1, "keep", "", ""}}, want: "o\n"},
		"delete without reason":     {in: input(one("o\n"), from{"a", one("b\n"), one("-")}), says: []says{{1, "delete", "", ""}}, refused: `lost the line "o" of main`},
		"delete with reason":        {in: input(one("o\n"), from{"a", one("b\n"), one("-")}), says: []says{{1, "delete", "", "obsolete"}}, want: "-"},
		"theirs, a deletion":        {in: input(one("o\n"), from{"a", one("b\n"), one("-")}), says: []says{{1, "theirs", "", ""}}, refused: "lost the line"},
		"a deletion edited away":    {in: input(one("o\n"), from{"a", one("b\n"), one("-")}), edit: wrote("o\nx\n"), refused: "choose keep or delete"},
		"edited, and said so":       {in: input(one("o\n"), from{"a", one("b\n"), one("-")}), edit: wrote("o\nx\n"), says: []says{{1, "text", "", ""}}, want: "o\nx\n"},
		"edited, lines lost":        {in: input(one("o\n"), from{"a", one("b\n"), one("-")}), edit: wrote("x\n"), says: []says{{1, "text", "", ""}}, refused: "lost the line"},
		"nothing":                   {in: input(one("o\n"), from{"a", one("b\n"), one("-")}), refused: "is not answered"},
		"both":                      {in: input(one("o\n"), from{"a", one("b\n"), one("-")}), says: []says{{1, "both", "", ""}}, refused: "'both' does not fit"},
		"binary without reason":     {in: input(one("\x00o"), from{"a", one("b\n"), one("t\n")}), says: []says{{1, "ours", "", ""}}, refused: "cannot be shown; give a reason"},
		"binary with reason":        {in: input(one("\x00o"), from{"a", one("b\n"), one("t\n")}), says: []says{{1, "theirs", "", "the text is right"}}, want: "t\n"},
		"binary by text":            {in: input(one("\x00o"), from{"a", one("b\n"), one("t\n")}), says: []says{{1, "text", "x", "r"}}, refused: "cannot be answered by a text"},
		"binary edited":             {in: input(one("\x00o"), from{"a", one("b\n"), one("t\n")}), edit: wrote("x"), refused: "resolutions.json"},
		"binary deleted unseen":     {in: input(one("\x00o"), from{"a", one("b\n"), one("-")}), says: []says{{1, "delete", "", ""}}, refused: "cannot be shown"},
		"mode":                      {in: input(one("x\n"), from{"a", one("-"), one("+x x\n")}), says: []says{{1, "theirs", "", ""}}, want: "+x x\n"},
		"texts of different bases":  {in: different(), edit: wrote("x\ny\nb\nc\n"), want: "x\ny\nb\nc\n"},
		"a line of those lost":      {in: different(), edit: wrote("x\nb\nc\n"), refused: `lost the line "y" of e`},
		"ours of those":             {in: different(), says: []says{{1, "ours", "", ""}}, refused: "lost the line"},
		"theirs of those":           {in: different(), says: []says{{1, "theirs", "", "r"}}, refused: "name one of a, e"},
		"one of those, with reason": {in: different(), says: []says{{1, "e", "", "r"}}, want: "y\n"},
		"a path as it is":           {in: input(files{"f.md@": ""}, from{"a", nil, one("t\n")}), says: []says{{1, "ours", "", ""}}, want: "-"},
		"a path written through":    {in: input(files{"f.md@": ""}, from{"a", nil, one("t\n")}), says: []says{{1, "theirs", "", "r"}}, refused: "the path cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, j := accept(t, c.in, c.edit, c.says...)
			wants(t, c.in, j, c.refused, c.want)
		})
	}
}

func FuzzAccept(f *testing.F) {
	f.Add("k\nO\nk\n\nP\n", "k\nb\nk\n\nc\n", "k\nT\nk\n\nQ\n", "k\nO\nT\nk\n\nP\nQ\n", "both", "", "")
	f.Add("O\n\nP\n", "1\n\n2\n", "T\n\nQ\n", "O\n\nT\n\nP\nQ\n", "text", "O\nT", "because")
	f.Add("O\n=======\n", "b", "T\r\n", "", "ours", "x", "")
	f.Add("a\na\na\n", "a\na\n", "a\nb\na\n", "a\n", "theirs", "", "r")
	f.Fuzz(func(t *testing.T, ours, base, theirs, after, choice, text, reason string) {
		in := input(one(ours), from{"a", one(base), one(theirs)})
		in.Mergers = nil
		p := planOf(t, in)
		if p.Open() == 0 {
			return
		}
		c := p.Files[0]
		m := c.Marked(p.Conflicts)
		w := merge.Work{Before: m.Text, After: []byte(after)}
		for _, d := range p.Conflicts {
			w.Resolutions = append(w.Resolutions, merge.Resolution{ConflictID: d.ID, Choice: choice, Text: text, HasText: true, Reason: reason})
		}
		soundly(t, in, p, w)
		w.After = m.Text
		soundly(t, in, p, w)
		w.After, w.Resolutions = []byte(after), nil
		soundly(t, in, p, w)
	})
}

// soundly checks accepted answers independently of the judge.
func soundly(t *testing.T, in merge.Input, p *merge.Plan, w merge.Work) {
	t.Helper()
	c := p.Files[0]
	j := merge.Accept(c, p.Conflicts, w)
	if j.Refused != "" {
		require.Empty(t, j.Accepted)
		return
	}
	require.Len(t, j.Accepted, p.Open(), "every conflict has its answer")
	in.Decisions = map[string]merge.Decision{}
	for i, a := range j.Accepted {
		in.Decisions[a.ConflictID] = a.Decision
		if a.Decision.Reason != "" || p.Conflicts[i].Whole() {
			continue
		}
		for _, s := range p.Conflicts[i].Sides {
			was, is := counted([]byte(p.Conflicts[i].Base.Text)), counted(a.Decision.Text)
			for line := range counted([]byte(s.Text)) {
				require.True(t, was[line] > 0 || is[line] > 0, "%q was lost", line)
			}
		}
	}
	decided, err := merge.Make(in)
	require.NoError(t, err)
	require.Zero(t, decided.Open())
	if c.Merge == nil {
		return
	}
	require.True(t, c.Marked(p.Conflicts).Unmarked(decided.Files[0].Content))
	if string(w.After) != string(w.Before) {
		require.Equal(t, string(w.After), string(decided.Files[0].Content), "what is merged is what the agent wrote, byte for byte")
	}
}
